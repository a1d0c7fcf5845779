// pg-boss. SYSTEM is plain (a work() per handler) or batch (fetch() and complete() by hundreds).
import PgBoss from 'pg-boss';

import { main, measure, payload, query, system, until } from './common.mjs';

const batch = 100;
const loops = 8; // that fetch, run and complete a batch at a time; its pool has 10 connections
const queue = 'bench';

async function makeBoss(max) {
    // No schedules and no maintenance: they would only be in the way here.
    const boss = new PgBoss({ max, schedule: false, supervise: false, host: process.env.PGHOST });
    await boss.start();
    return boss;
}

const unfinished = async () =>
    (await query("SELECT count(*) FROM pgboss.job WHERE name = $1 AND state < 'completed'", [queue]))[0].count;
const isEmpty = async () => Number(await unfinished()) === 0;

const workers = {
    // A worker sleeps for the rest of its polling interval after each job, unless it is notified.
    async plain(handlers, effects, handler) {
        const boss = await makeBoss(10);
        boss.on('error', (error) => effects.fail(error));
        for (let i = 0; i < handlers; ++i) {
            const id = await boss.work(queue, { pollingIntervalSeconds: 0.5 }, async ([job]) => {
                boss.notifyWorker(id);
                await handler(job.data.n);
            });
        }
        return () => boss.stop({ graceful: false, wait: true });
    },

    async batch(handlers, effects, handler) {
        const boss = await makeBoss(10);
        boss.on('error', (error) => effects.fail(error));
        let stopping = false;
        const loop = async () => {
            while (!stopping) {
                const jobs = await boss.fetch(queue, { batchSize: batch });
                if (jobs.length === 0) {
                    await new Promise((resolve) => setTimeout(resolve, 5));
                    continue;
                }
                await Promise.all(jobs.map(({ data }) => handler(data.n)));
                await boss.complete(queue, jobs.map(({ id }) => id));
            }
        };
        const running = Array.from({ length: Math.max(loops, Math.ceil(handlers / batch)) }, loop);
        Promise.all(running).catch((error) => effects.fail(error));
        return async () => {
            stopping = true;
            await Promise.all(running);
            await boss.stop({ graceful: false, wait: true });
        };
    },
};

await main(async () => {
    if (!(system in workers)) {
        throw new Error(`no system ${system}`);
    }
    const boss = await makeBoss(1);
    await boss.createQueue(queue);

    await measure({
        enqueue: (first, count) =>
            boss.insert(Array.from({ length: count }, (_, i) => ({ name: queue, data: payload(first + i) }))),
        async clients(count) {
            const own = [];
            for (let i = 0; i < count; ++i) {
                own.push(await makeBoss(1));
            }
            return own.map((client) => (job) => client.send(queue, payload(job)));
        },
        work: workers[system],
        // It does not tell when a completion is committed.
        async settled(effects, jobs) {
            await effects.reach('count', jobs);
            await until(isEmpty, 5);
        },
        async settledOne(effects, jobs) {
            await effects.reach('count', jobs);
            await until(isEmpty, 0);
        },
        unfinished,
        filled: () => query('VACUUM ANALYZE'),
    });
});
