// What the programs of all peers share: settings, effects, figures.
//
//     node PEER.mjs SYSTEM MEASUREMENT [NAME=NUMBER]...
import pg from 'pg';

export const [, , system, measurement, ...words] = process.argv;

export const settings = {};
for (const word of words) {
    const [, name, value] = /^(\w+)=(\d+)$/.exec(word) ?? [];
    if (name === undefined) {
        throw new Error(`not NAME=NUMBER: ${word}`);
    }
    settings[name] = Number(value);
}

export const batchSize = 1000;
const warmUp = 10;
const betweenJobsMs = 10;
const tooLongMs = 600_000;
const padding = 'x'.repeat(80);

export const now = () => performance.now();
export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
export const payload = (n) => ({ n, padding });
export const print = (name, value) => console.log(`${name} ${value.toFixed(3)}`);

const cpuMs = () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
};

const percentile = (values, share) =>
    [...values].sort((a, b) => a - b)[Math.floor(share * (values.length - 1))];

// Counts how often each job was run and how many completions are known.
export class Effects {
    constructor(jobs) {
        this.runs = new Uint8Array(jobs);
        this.count = 0;
        this.completed = 0;
        this.waiting = [];
    }

    run(job) {
        if (this.count === 0) {
            this.beganAt = now();
            this.cpuAtBegin = cpuMs();
        }
        this.runs[job] += 1;
        this.count += 1;
        this.changed();
    }

    complete() {
        this.completed += 1;
        this.changed();
    }

    changed() {
        while (this.waiting.length > 0 && this[this.waiting[0].what] >= this.waiting[0].wanted) {
            this.waiting.shift().resolve();
        }
    }

    fail(error) {
        this.failure ??= error;
        for (const { reject } of this.waiting.splice(0)) {
            reject(error);
        }
    }

    // Waits until so many jobs were run ('count') or are known to be completed ('completed').
    async reach(what, wanted) {
        if (this.failure) {
            throw this.failure;
        }
        if (this[what] >= wanted) {
            return;
        }
        let timer;
        const reached = new Promise((resolve, reject) => {
            this.waiting.push({ what, wanted, resolve, reject });
            timer = setTimeout(() => reject(new Error('the jobs were not done in time')), tooLongMs);
        });
        await reached.finally(() => clearTimeout(timer));
    }

    check(jobs) {
        for (let i = 0; i < this.runs.length; ++i) {
            if (this.runs[i] !== (i < jobs ? 1 : 0)) {
                throw new Error(`job ${i} was run ${this.runs[i]} times`);
            }
        }
        if (this.count !== jobs) {
            throw new Error(`${this.count} runs of ${jobs} jobs`);
        }
    }

    report(jobs) {
        const ms = now() - this.beganAt;
        const cpu = cpuMs() - this.cpuAtBegin;
        print('rate', (jobs * 1000) / ms);
        print('cpu_us', (cpu * 1000) / jobs);
        print('cores', cpu / ms);
    }
}

export function equal(what, found, expected) {
    if (Number(found) !== expected) {
        throw new Error(`${what}: ${found} instead of ${expected}`);
    }
}

// ---- PostgreSQL. The pool of these calls is not the one that a peer works with. ----

let observer;
export async function query(sql, values) {
    observer ??= new pg.Pool({ max: 1 });
    return (await observer.query(sql, values)).rows;
}

// Looks until the condition holds: for peers that do not tell when a completion is committed.
export async function until(condition, pauseMs) {
    const end = now() + tooLongMs;
    while (!(await condition())) {
        if (now() > end) {
            throw new Error('the jobs were not completed in time');
        }
        if (pauseMs > 0) {
            await sleep(pauseMs);
        }
    }
}

// ---- The measurements. A peer gives:
//
// enqueue(first, count)                jobs in one call
// clients(count)                       functions that enqueue one job each, with a connection of their own
// work(handlers, effects, handler)     starts a worker; returns a function that stops it
// settled(effects, jobs)               waits until the completions of all jobs are committed
// settledOne(effects, jobs)            the same, for one job on an idle queue
// unfinished()                         number of jobs in the queue
// filled()                             called when the queue is filled
export async function measure(peer) {
    const measurements = { drain, enqueue_bulk, enqueue_single, latency, fairness };
    if (!(measurement in measurements)) {
        throw new Error(`no measurement ${measurement}`);
    }
    await measurements[measurement](peer);
}

async function drain(peer) {
    const { jobs, handlers, ms } = settings;
    const effects = new Effects(jobs);
    for (let first = 0; first < jobs; first += batchSize) {
        await peer.enqueue(first, Math.min(batchSize, jobs - first));
    }
    equal('jobs enqueued', await peer.unfinished(), jobs);
    await peer.filled();
    const stop = await peer.work(handlers, effects, async (job) => {
        effects.run(job);
        if (ms > 0) {
            await sleep(ms);
        }
    });
    await peer.settled(effects, jobs);
    effects.report(jobs);
    await stop();
    effects.check(jobs);
    equal('jobs left', await peer.unfinished(), 0);
}

async function enqueue_bulk(peer) {
    const { jobs } = settings;
    await peer.enqueue(0, batchSize);
    const begin = now();
    const cpu = cpuMs();
    for (let first = 0; first < jobs; first += batchSize) {
        await peer.enqueue(first, Math.min(batchSize, jobs - first));
    }
    print('rate', (jobs * 1000) / (now() - begin));
    print('cpu_us', ((cpuMs() - cpu) * 1000) / jobs);
    equal('jobs enqueued', await peer.unfinished(), jobs + batchSize);
}

async function enqueue_single(peer) {
    const clients = await peer.clients(settings.clients);
    await Promise.all(clients.map((enqueue) => enqueue(0)));
    let count = 0;
    const begin = now();
    const cpu = cpuMs();
    const end = begin + settings.seconds * 1000;
    await Promise.all(
        clients.map(async (enqueue) => {
            while (now() < end) {
                await enqueue(++count);
            }
        }),
    );
    print('rate', (count * 1000) / (now() - begin));
    print('cpu_us', ((cpuMs() - cpu) * 1000) / count);
    equal('jobs enqueued', await peer.unfinished(), count + clients.length);
}

async function latency(peer) {
    const jobs = settings.samples + warmUp;
    const effects = new Effects(jobs);
    const [enqueue] = await peer.clients(1);
    const stop = await peer.work(settings.handlers, effects, async (job) => effects.run(job));
    const times = [];
    for (let job = 0; job < jobs; ++job) {
        await sleep(betweenJobsMs);
        const begin = now();
        await enqueue(job);
        await peer.settledOne(effects, job + 1);
        times.push(now() - begin);
    }
    await stop();
    effects.check(jobs);
    equal('jobs left', await peer.unfinished(), 0);
    times.splice(0, warmUp);
    print('p50_ms', percentile(times, 0.5));
    print('p99_ms', percentile(times, 0.99));
}

async function fairness(peer) {
    const { ready, bursts, workers, handlers, ms, seconds } = settings;
    const allHandlers = workers * handlers;
    const effects = new Effects(bursts * ready + ready + (seconds * 2 * allHandlers * 1000) / ms);
    let firstBegin;
    let lastEnd;
    let busy = 0;
    const handler = async (job) => {
        const begin = now();
        effects.run(job);
        await sleep(ms);
        lastEnd = now();
        firstBegin = Math.min(firstBegin, begin);
        busy += lastEnd - begin;
    };
    const stops = [];
    for (let i = 0; i < workers; ++i) {
        stops.push(await peer.work(handlers, effects, handler));
    }
    await sleep(200);

    const ideal = Math.ceil(ready / allHandlers) * ms;
    let enqueued = 0;
    const shares = [];
    for (let i = 0; i < bursts; ++i) {
        await sleep(betweenJobsMs);
        firstBegin = Infinity;
        await peer.enqueue(enqueued, ready);
        enqueued += ready;
        await peer.settled(effects, enqueued);
        shares.push((100 * ideal) / (lastEnd - firstBegin));
    }
    print('share', percentile(shares, 0.5));

    const begin = now();
    busy = 0;
    while (now() < begin + seconds * 1000) {
        const wanted = effects.count + ready;
        if (wanted > enqueued) {
            const first = enqueued;
            enqueued = wanted;
            await peer.enqueue(first, wanted - first);
        } else {
            await sleep(1);
        }
    }
    print('steady', (100 * busy) / (now() - begin) / allHandlers);
    await peer.settled(effects, enqueued);
    await Promise.all(stops.map((stop) => stop()));
    effects.check(enqueued);
    equal('jobs left', await peer.unfinished(), 0);
}

// Runs a program, and ends it even if its peer leaves connections open.
export async function main(body) {
    try {
        await body();
        process.exit(0);
    } catch (error) {
        console.error(error);
        process.exit(1);
    }
}
