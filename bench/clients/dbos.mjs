// DBOS: workflows of so many steps, so many at once. The only measurement is workflow.
import { DBOS } from '@dbos-inc/dbos-sdk';

import { equal, main, measurement, now, print, query, settings } from './common.mjs';

await main(async () => {
    if (measurement !== 'workflow') {
        throw new Error(`no measurement ${measurement}`);
    }
    const host = encodeURIComponent(process.env.PGHOST);
    DBOS.setConfig({
        name: 'bench',
        systemDatabaseUrl: `postgresql://${process.env.PGUSER}@localhost/${process.env.PGDATABASE}?host=${host}`,
        systemDatabasePoolSize: settings.connections,
        logLevel: 'error',
    });
    const steps = new Array(settings.steps).fill(0);
    const workflow = DBOS.registerWorkflow(
        async (n) => {
            let sum = n;
            for (let i = 0; i < steps.length; ++i) {
                sum = await DBOS.runStep(async () => {
                    steps[i] += 1;
                    return sum + 1;
                }, { name: `step${i}` });
            }
            return sum;
        },
        { name: 'bench' },
    );
    await DBOS.launch();

    let count = 0;
    const loop = async (end) => {
        while (now() < end) {
            const n = ++count;
            equal('the sum of a workflow', await workflow(n), n + steps.length);
        }
    };
    const run = (ms) => Promise.all(Array.from({ length: settings.handlers }, () => loop(now() + ms)));
    await run(500);
    const warmUp = count;
    const begin = now();
    const cpu = process.cpuUsage();
    await run(settings.seconds * 1000);
    const ms = now() - begin;
    const { user, system } = process.cpuUsage(cpu);
    print('rate', ((count - warmUp) * 1000) / ms);
    print('cpu_us', (user + system) / (count - warmUp));

    for (const ran of steps) {
        equal('runs of a step', ran, count);
    }
    const [ended] = await query("SELECT count(*) FROM dbos.workflow_status WHERE status = 'SUCCESS'");
    equal('workflows ended', ended.count, count);
    const [recorded] = await query('SELECT count(*) FROM dbos.operation_outputs');
    equal('steps recorded', recorded.count, steps.length * count);
});
