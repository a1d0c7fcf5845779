// graphile-worker. SYSTEM is plain (its defaults) or batch (what its documentation gives for throughput).
import { Logger, makeWorkerUtils, run } from 'graphile-worker';
import pg from 'pg';

import { main, measure, payload, query, system, until } from './common.mjs';

const modes = {
    plain: {},
    batch: { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 },
};
const logger = new Logger(() => () => {});

function makePool(max) {
    const pool = new pg.Pool({ max });
    const tell = (error) => console.error(error);
    pool.on('error', tell);
    pool.on('connect', (client) => client.on('error', tell));
    return pool;
}

const unfinished = async () =>
    (await query('SELECT count(*) FROM graphile_worker._private_jobs'))[0].count;
const isEmpty = async () =>
    (await query('SELECT NOT EXISTS (SELECT FROM graphile_worker._private_jobs) AS yes'))[0].yes;

await main(async () => {
    if (!(system in modes)) {
        throw new Error(`no system ${system}`);
    }
    const utils = await makeWorkerUtils({ pgPool: makePool(1), logger });
    await utils.migrate();

    await measure({
        enqueue: (first, count) =>
            utils.addJobs(
                Array.from({ length: count }, (_, i) => ({ identifier: 'bench', payload: payload(first + i) })),
            ),
        async clients(count) {
            const own = [];
            for (let i = 0; i < count; ++i) {
                own.push(await makeWorkerUtils({ pgPool: makePool(1), logger }));
            }
            return own.map((client) => (job) => client.addJob('bench', payload(job)));
        },
        async work(handlers, effects, handler) {
            // "10 or concurrentJobs + 2, whichever is larger"; the server has no more than 100 for it.
            const maxPoolSize = Math.min(100, Math.max(10, handlers + 2));
            const runner = await run({
                preset: { worker: { concurrentJobs: handlers, maxPoolSize, ...modes[system] } },
                pgPool: makePool(maxPoolSize),
                taskList: { bench: ({ n }) => handler(n) },
                parsedCronItems: [],
                noHandleSignals: true,
                logger,
            });
            for (const event of ['pool:fatalError', 'worker:fatalError', 'job:error']) {
                runner.events.on(event, ({ error }) => effects.fail(error));
            }
            return () => runner.stop();
        },
        // It tells when a handler has ended, but not when the completion is committed.
        async settled(effects, jobs) {
            await effects.reach('count', jobs);
            await until(isEmpty, 2);
        },
        async settledOne(effects, jobs) {
            await effects.reach('count', jobs);
            await until(isEmpty, 0);
        },
        unfinished,
        filled: () => query('VACUUM ANALYZE'),
    });
});
