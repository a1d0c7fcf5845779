// BullMQ on the Redis server whose socket REDIS_SOCKET names. SYSTEM is a value of its setting
// appendfsync: always or everysec.
import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';

import { main, measure, payload, system } from './common.mjs';

const name = 'bench';
const connect = () => new Redis({ path: process.env.REDIS_SOCKET, maxRetriesPerRequest: null });

await main(async () => {
    const redis = connect();
    await redis.flushall();
    await redis.config('SET', 'appendfsync', system);
    const queue = new Queue(name, { connection: connect() });

    await measure({
        enqueue: (first, count) =>
            queue.addBulk(Array.from({ length: count }, (_, i) => ({ name: 'job', data: payload(first + i) }))),
        async clients(count) {
            const own = Array.from({ length: count }, () => new Queue(name, { connection: connect() }));
            await Promise.all(own.map((client) => client.waitUntilReady()));
            return own.map((client) => (job) => client.add('job', payload(job)));
        },
        async work(handlers, effects, handler) {
            const worker = new Worker(name, ({ data }) => handler(data.n), {
                connection: connect(),
                concurrency: handlers,
                removeOnComplete: { count: 0 },
                removeOnFail: { count: 0 },
            });
            worker.on('completed', () => effects.complete());
            worker.on('failed', (_job, error) => effects.fail(error));
            worker.on('error', (error) => effects.fail(error));
            await worker.waitUntilReady();
            return () => worker.close();
        },
        settled: (effects, jobs) => effects.reach('completed', jobs),
        settledOne: (effects, jobs) => effects.reach('completed', jobs),
        async unfinished() {
            const counts = await queue.getJobCounts();
            return Object.values(counts).reduce((sum, count) => sum + count, 0);
        },
        filled: async () => {},
    });
});
