// Eight workers, operators and duties do random operations on the same tasks, under a test
// clock: no task ever has two leases, every end of a task has one completion event, and attempts
// and counters add up (TM-3). Queue b never has more active tasks than its limit (LI-1), queue c
// has one that comes and goes (LI-3), and tasks wait for signals (SU-20).
//
// What happened is told by the outbox: with all topics on, each event is written under the lock of
// its task, so the order of positions is the order of things per task.
#include <gtest/gtest.h>

#include <iostream>
#include <mutex>
#include <thread>

#include "client.hpp"

namespace belay::test::stress {
namespace {

using std::to_string;

constexpr int kWorkers = 8;
constexpr int kLimit = 3;  // of queue b

struct Shared : TaskGame {
    std::vector<std::string> ids;
};

struct Lease {
    std::string task;
    std::string epoch;
};

class Worker {
 public:
    Worker(Cluster* cluster, Shared* shared, int number, uint64_t seed,
           const std::atomic<bool>* stop)
        : client_(cluster, "SELECT 1", stop), shared_(*shared), number_(number), random_(seed) {}

    void run(int steps) {
        for (int i = 0; i < steps; ++i) {
            step();
        }
    }

 private:
    std::string now() { return to_string(shared_.clock += random_.number(0, 20)); }

    Answer ask(const std::string& sql) { return shared_.ask(&client_, sql); }
    std::string some_id() {
        const std::lock_guard lock(shared_.mutex);
        return shared_.ids.empty() ? ""
                                   : shared_.ids[static_cast<std::size_t>(random_.number(
                                         0, static_cast<int64_t>(shared_.ids.size()) - 1))];
    }

    void create() {
        const int64_t at = shared_.clock;
        std::string item = R"({"queue":")" + std::string(1, "abc"[random_.number(0, 2)]) + "\"";
        if (random_.in_thousand(300)) {
            item += R"(,"capabilities":["gpu"])";
        }
        if (random_.in_thousand(200)) {
            item += ",\"delay_ms\":" + to_string(random_.number(1, 300));
        }
        if (random_.in_thousand(200)) {
            item += ",\"deadline_ms\":" + to_string(at + random_.number(100, 3000));
        }
        if (random_.in_thousand(100)) {
            item += ",\"dedup_key\":\"k" + to_string(random_.number(1, 5)) +
                    "\",\"dedup_window_ms\":200";
        }
        item += ",\"priority\":" + to_string(random_.number(0, 3)) +
                R"(,"policy":{"max_attempts":3,"max_replays":4,"max_reclaims":2)"
                R"(,"backoff":{"kind":"fixed","delay_ms":20,"jitter":0.5})" +
                (random_.in_thousand(300) ? R"(,"on_lease_expiry":"retry")" : "") +
                (random_.in_thousand(300) ? R"(,"attempt_timeout_ms":150)" : "") + "}}";
        const Answer made =
            ask("SELECT task_id FROM app.create_tasks('[" + item + "]', " + to_string(at) + ")");
        const std::lock_guard lock(shared_.mutex);
        for (const auto& row : made.rows) {
            shared_.ids.push_back(*row[0]);
        }
    }

    void keep(const Answer& claimed) {
        for (const auto& row : claimed.rows) {
            leases_.push_back({*row[0], *row[1]});
        }
    }

    std::string claim_terms() {
        return "'w', 'w-" + to_string(number_) + "', " +
               (random_.in_thousand(500) ? "NULL" : "'{a,b}'") + ", " +
               (random_.in_thousand(600) ? "'{gpu}'" : "'{}'") + ", " +
               to_string(random_.number(20, 300)) + ", " + to_string(random_.number(1, 3)) +
               ", NULL, " + now();
    }

    // A worker renews what it has, and does not know what it has lost.
    void renew_all() {
        std::string ids;
        std::string epochs;
        for (const Lease& lease : leases_) {
            ids += (ids.empty() ? "'" : ", '") + lease.task + "'";
            epochs += (epochs.empty() ? "" : ", ") + lease.epoch;
        }
        ask("SELECT * FROM app.renew_tasks(ARRAY[" + ids + "]::uuid[], ARRAY[" + epochs +
            "]::bigint[], 200, " + now() + ")");
    }

    void work() {
        if (leases_.empty()) {
            return;
        }
        const auto place =
            leases_.begin() + random_.number(0, static_cast<int64_t>(leases_.size()) - 1);
        const Lease lease = *place;
        const std::string which = "'" + lease.task + "', " + lease.epoch;
        bool over = true;
        switch (random_.number(0, 11)) {
            case 0:
                renew_all();
                return;
            case 1:
                over = !ask("SELECT * FROM app.renew_task(" + which + ", 200, " + now() + ")").ok();
                break;
            case 2:
                over = !ask("SELECT * FROM app.progress_task(" + which +
                            ", 50, 'half', '{}', NULL, " + now() + ")")
                            .ok();
                break;
            case 3:
            case 4:
                ask("SELECT * FROM app.complete_task(" + which + ", '1', p_now_ms => " + now() +
                    ")");
                break;
            case 5:
                leases_.erase(place);
                keep(ask("SELECT task_id, lease_epoch FROM app.complete_and_claim(" + which +
                         ", '2', " + claim_terms() + ")"));
                return;
            case 6:
                ask("SELECT * FROM app.fail_task(" + which + ", '" +
                    (random_.in_thousand(700)   ? "transient"
                     : random_.in_thousand(500) ? "permanent"
                                                : "cancelled") +
                    "', p_now_ms => " + now() + ")");
                break;
            case 7:
                ask("SELECT * FROM app.delay_task(" + which + ", " +
                    to_string(random_.number(0, 100)) + ", p_now_ms => " + now() + ")");
                break;
            case 8:
                ask("SELECT * FROM app.release_task(" + which + ", p_now_ms => " + now() + ")");
                break;
            case 9:
            case 10:
                over = suspend(which);
                break;
            default:
                ask("SELECT * FROM app.cancel_task('" + lease.task +
                    "', 'by its holder', 'lease_holder', " + lease.epoch + ", " + now() + ")");
                break;
        }
        if (over) {
            leases_.erase(place);
        }
    }

    // Whether the task sleeps, or the lease was gone.
    bool suspend(const std::string& which) {
        if (random_.in_thousand(300)) {
            return !ask("SELECT * FROM app.create_waitpoint(" + which + ", 'early', NULL, " +
                        now() + ")")
                        .ok();
        }
        static constexpr const char* kOnTimeout[] = {"fail", "cancel", "expire", "auto_resume",
                                                     "escalate"};
        const std::string timeout =
            random_.in_thousand(600)
                ? ",\"timeout_at_ms\":" + to_string(shared_.clock + random_.number(100, 400)) +
                      ",\"on_timeout\":\"" + kOnTimeout[random_.number(0, 4)] + "\""
                : "";
        const Answer answer =
            ask("SELECT result FROM app.suspend_task(" + which +
                R"(, '{"waitpoints":[{"key":"a"},{"key":"b"}],"condition":{"count":{"n":2,"of":)" +
                (random_.in_thousand(500) ? R"("waitpoints")" : R"("signals")") + "}}" + timeout +
                "}', " + now() + ")");
        return !answer.ok() || *answer.rows[0][0] == "suspended";
    }

    // No more tasks of queue b are active than its limit, in any snapshot.
    void check_limit() {
        const Answer active =
            ask("SELECT count(*) FROM app.tasks WHERE queue = 'b' AND state = 'active'");
        if (active.ok() && std::stoi(*active.rows[0][0]) > kLimit) {
            shared_.complain(*active.rows[0][0] + " tasks of queue b are active");
        }
    }

    void operate() {
        const std::string some = some_id();
        if (some.empty()) {
            return;
        }
        const std::string id = "'" + some + "'";
        switch (random_.number(0, 7)) {
            case 0:
                ask("SELECT * FROM app.cancel_task(" + id + ", p_now_ms => " + now() + ")");
                break;
            case 1:
                ask("SELECT * FROM app.revoke_lease(" + id + ", p_now_ms => " + now() + ")");
                break;
            case 2:
                ask("SELECT * FROM app.change_priority(" + id + ", " +
                    to_string(random_.number(0, 9)) + ", " + now() + ")");
                break;
            case 3:
            case 4:
            case 5:
                ask("SELECT s.* FROM (SELECT task_id, id FROM app.waitpoints WHERE closed_at_ms IS "
                    "NULL ORDER BY md5(id::text || " +
                    now() + ") LIMIT 1) AS w, app.approve_task(w.task_id, w.id, 'go', NULL, " +
                    now() + ") AS s");
                break;
            case 6:
                ask(random_.in_thousand(500)
                        ? "SELECT * FROM app.resume_task(" + id + ", p_now_ms => " + now() + ")"
                        : "SELECT app.set_queue('c', '{\"concurrency\":" +
                              (random_.in_thousand(300) ? std::string("null")
                                                        : to_string(random_.number(1, 4))) +
                              "}')");
                break;
            default:
                ask("SELECT * FROM app.replay_task(" + id + ", p_now_ms => " + now() + ")");
                break;
        }
    }

    void step() {
        const auto chance = random_.number(1, 100);
        if (chance <= 15) {
            create();
        } else if (chance <= 35) {
            keep(ask("SELECT task_id, lease_epoch FROM app.claim_tasks(" + claim_terms() + ")"));
            check_limit();
        } else if (chance <= 75) {
            work();
        } else if (chance <= 90) {
            operate();
        } else {
            ask("SELECT * FROM app.reconcile('{lease_expiry,deadlines,due_timers}', p_now_ms => " +
                now() + ")");
        }
    }

    Client client_;
    Shared& shared_;
    int number_;
    Random random_;
    std::vector<Lease> leases_;
};

// Goes through the events of each task in order, and complains.
constexpr const char* kVerify = R"sql(
CREATE FUNCTION verify() RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    e record;
    task text := '';
    held bigint;     -- the epoch of the lease that is held
    last bigint;     -- the greatest epoch so far
    ended boolean;   -- the task is terminal
BEGIN
    FOR e IN SELECT *, (details ->> 'lease_epoch')::bigint AS epoch FROM app.outbox_events
              WHERE topic <> 'operator' OR type = 'replayed' ORDER BY subject, position LOOP
        IF e.subject <> task THEN
            task := e.subject; held := NULL; last := -1; ended := false;
        END IF;
        IF e.type = 'replayed' THEN
            IF NOT ended THEN RETURN NEXT task || ' was replayed before its end'; END IF;
            ended := false;
        ELSIF ended THEN
            RETURN NEXT format('%s: %s after its end', task, e.type);
        ELSIF e.type IN ('acquired', 'reclaimed') THEN
            IF held IS NOT NULL THEN RETURN NEXT format('%s has two leases, %s and %s', task, held, e.epoch); END IF;
            IF e.epoch <= last THEN RETURN NEXT format('%s: epoch %s after %s', task, e.epoch, last); END IF;
            held := e.epoch; last := e.epoch;
        ELSIF e.topic = 'lease' THEN
            IF held IS DISTINCT FROM e.epoch THEN RETURN NEXT format('%s: %s of lease %s, held is %s', task, e.type, e.epoch, held); END IF;
            IF e.type <> 'renewed' THEN held := NULL; END IF;
        ELSE
            held := NULL; ended := true; last := greatest(last, e.epoch);
        END IF;
    END LOOP;
    -- Every end has one completion event, and a replay leaves an end behind.
    RETURN QUERY SELECT format('%s: %s completions, %s replays, %s', t.id, t.c, t.replay_count, t.state) 
        FROM (SELECT x.id, x.state, x.terminal_at_ms, x.replay_count, coalesce(o.c, 0) AS c FROM app.tasks AS x
                LEFT JOIN (SELECT subject, count(*) AS c FROM app.outbox_events WHERE topic = 'completion' GROUP BY subject) AS o ON o.subject = x.id::text) AS t
        WHERE t.c <> t.replay_count + CASE WHEN t.terminal_at_ms IS NULL THEN 0 ELSE 1 END;
    RETURN QUERY SELECT object || ' ' || problem FROM app.check_tasks();
END $$
)sql";

TEST(Tasks, SurviveEverybody) {
    const uint64_t seed = run_seed();
    const int steps = is_long() ? 20000 : 400;
    Cluster cluster({.preload = true,
                     .conf = {"belay.reconcile_interval = 0", "synchronous_commit = off",
                              "max_connections = 40", kLogPrefix}});
    Conn main = cluster.connect();
    main.exec("CREATE EXTENSION belay");
    main.exec("SELECT belay.create_hub('app')");
    main.exec("SELECT belay.set_hub_option('app', 'max_clock_skew', '0')");
    main.exec("SELECT belay.set_hub_option('app', 'events', 'lease,operator,completion')");
    main.exec("SELECT app.set_queue('b', '{\"concurrency\":" + to_string(kLimit) + "}')");
    main.exec(kVerify);
    Shared shared;
    const std::atomic<bool> never = false;
    std::vector<std::thread> threads;
    for (int i = 0; i < kWorkers; ++i) {
        threads.emplace_back([&, i] {
            Worker(&cluster, &shared, i, seed + static_cast<uint64_t>(i), &never).run(steps);
        });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    std::string complaints;
    for (const auto& complaint : shared.complaints) {
        complaints += complaint + "\n";
    }
    EXPECT_EQ(complaints, "") << "seed " << seed;
    EXPECT_EQ(
        main.value("SELECT string_agg(v, E'\n') FROM (SELECT * FROM verify() LIMIT 20) AS x (v)"),
        "")
        << "seed " << seed;
    std::cout << shared.calls << " calls, " << shared.refused << " refused, "
              << main.value("SELECT count(*) FROM app.tasks") << " tasks, "
              << main.value("SELECT count(*) FROM app.outbox_events") << " events\n";
    // Nothing is stuck: left alone, every task comes to its end.
    main.exec(
        "SELECT app.set_queue(l, '{\"concurrency\":null}') FROM unnest('{b,c}'::text[]) AS l");
    for (int round = 0;
         round < 50 &&
         main.value("SELECT count(*) FROM app.tasks WHERE terminal_at_ms IS NULL") != "0";
         ++round) {
        const std::string now = to_string(shared.clock += 100000);
        main.exec("SELECT app.reconcile('{lease_expiry,deadlines,due_timers}', p_now_ms => " + now +
                  ")");
        main.exec("SELECT app.resume_task(id, p_now_ms => " + now +
                  ") FROM app.tasks WHERE state = 'suspended'");
        main.exec("SELECT app.complete_task(task_id, lease_epoch, NULL, p_now_ms => " + now +
                  ") FROM app.claim_tasks('w', 'last', NULL, '{gpu}', 30000, 1000, NULL, " + now +
                  ")");
    }
    EXPECT_EQ(main.value("SELECT count(*) FROM app.tasks WHERE terminal_at_ms IS NULL"), "0");
    EXPECT_EQ(
        main.value("SELECT string_agg(v, E'\n') FROM (SELECT * FROM verify() LIMIT 20) AS x (v)"),
        "");
}

// A claim costs the same, however many tasks that the worker may not run stand before its own
// (TQ-6).
TEST(Tasks, ClaimsAreFlat) {
    const int64_t unfit = is_long() ? 1'000'000 : 50'000;
    Cluster cluster({.preload = true,
                     .conf = {"belay.reconcile_interval = 0", "synchronous_commit = off",
                              "autovacuum = off", kLogPrefix}});
    Conn main = cluster.connect();
    main.exec("CREATE EXTENSION belay");
    main.exec("SELECT belay.create_hub('app')");
    main.exec("SELECT belay.set_hub_option('app', 'max_clock_skew', '0')");
    main.exec(R"sql(
        CREATE FUNCTION cost() RETURNS bigint LANGUAGE plpgsql AS $$
        DECLARE
            plan json;
            least bigint;
        BEGIN
            FOR n IN 1..5 LOOP
                PERFORM app.create_task('mine', p_capabilities => '{cpu}', p_now_ms => 1000);
                EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT json) SELECT * FROM app.claim_tasks(''w'', ''i'', ''{mine}'', ''{cpu}'', p_now_ms => 1000)' INTO plan;
                least := LEAST(least, (plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::bigint + (plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::bigint);
            END LOOP;
            RETURN least;
        END $$)sql");
    const auto alone = std::stoll(main.value("SELECT cost()"));
    main.exec("SELECT app.create_task('mine', p_capabilities => '{gpu}', p_now_ms => 1000)");
    main.exec(R"sql(
        INSERT INTO app.tasks (id, slot, cap_set, priority, available_at_ms, created_at_ms, updated_at_ms, state, queue, kind, tags, lease_epoch,
            start_delay_ms, attempt_index, attempt_leases, retry_count, reclaim_count, replay_count, held, pending_attempt)
        SELECT gen_random_uuid(), 0, CASE WHEN n % 2 = 0 THEN s.id ELSE 0 END, 9000, 0, 0, 0, 'ready', CASE WHEN n % 2 = 0 THEN 'mine' ELSE 'other' END,
               '', '{}', 0, 0, 0, 0, 0, 0, 0, false, 'initial'
          FROM generate_series(1, )sql" +
              to_string(unfit) + ") AS n, app.capability_sets AS s WHERE s.tokens = '{gpu}'");
    const auto behind = std::stoll(main.value("SELECT cost()"));
    std::cout << unfit << " unfit tasks: " << alone << " blocks without, " << behind << " with\n";
    // Deeper indexes cost a block or two for each probe.
    EXPECT_LE(behind, alone + 20);
}

}  // namespace
}  // namespace belay::test::stress
