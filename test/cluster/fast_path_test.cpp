// What direct access leaves behind: indexes and heap as the server's own checks want them, the same
// logical decoding as SQL, and a price of a fetch that does not grow with the dead rows.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <random>
#include <regex>
#include <thread>

#include "cluster.hpp"

namespace belay::test {
namespace {

using std::to_string;

bool is_long() {
    const char* text = std::getenv("BELAY_LONG");
    return text != nullptr && std::string(text) == "1";
}

bool has_extension(Conn* conn, const std::string& name) {
    return conn->value("SELECT count(*) FROM pg_available_extensions WHERE name = '" + name +
                       "'") == "1";
}

// One life of a few items: all operations, HOT and not, inline and out of line. The time is fixed.
void play(Conn* conn, const std::string& hub) {
    const auto at = [&hub](const std::string& call) { return "SELECT " + hub + "." + call; };
    const std::string big =
        "(SELECT '{\"ActivityExecute\":{\"x\":\"' || string_agg(md5(n::text), '') || '\"}}' FROM "
        "generate_series(1, 300) AS n)";
    conn->exec(at("enqueue_worker_work('{\"ActivityExecute\":{}}', 1000)"));
    conn->exec(at("enqueue_worker_work(" + big + ", 1000, 'i', 1, 2, 's', 't')"));
    conn->exec(
        at("enqueue_worker_items('[{\"work_item\":{\"ActivityExecute\":{}}},"
           "{\"work_item\":{\"ActivityExecute\":{}},\"delay_ms\":5,\"instance_id\":\"i\"}]'"
           ", 1000)"));
    std::string token;
    const auto fetch = [&](int now, const std::string& more) {
        token = conn->value("SELECT out_lock_token FROM " + hub + ".fetch_work_item(" +
                            to_string(now) + ", 1000" + more + ")");
    };
    fetch(1001, "");
    conn->exec(at("renew_work_item_lock('" + token + "', 1002, 3000)"));
    conn->exec(at("abandon_work_item('" + token + "', 1003)"));
    fetch(1004, ", 'me'");
    conn->exec(at("abandon_work_item('" + token + "', 1005, 20)"));
    fetch(1006, ", 'me', NULL, '{t}', 'any'");
    conn->exec(at("ack_worker('" + token + "', NULL, NULL, 1007)"));
    conn->exec("SELECT count(*) FROM " + hub + ".fetch_work_items(1100, 1000, p_max_items => 10)");
    // A page that is full: not every lease update can be HOT.
    conn->exec("BEGIN; SELECT " + hub +
               ".enqueue_worker_work('{\"ActivityExecute\":{}}', 1200, 'i', n, n) FROM "
               "generate_series(1, 200) AS n; SELECT count(*) FROM " +
               hub + ".fetch_work_items(1201, 1000, p_max_items => 200); COMMIT");
}

// The life of an instance: born, renewed, given back, with activities, messages and state, and its
// end. The time is fixed.
void play_turns(Conn* conn, const std::string& hub) {
    std::string token;
    const auto fetch = [&](int now) {
        token = conn->value("SELECT out_lock_token FROM " + hub + ".fetch_orchestration_item(" +
                            to_string(now) + ", 1000)");
        ASSERT_NE(token, "");
    };
    const auto ack = [&](int now, int event, const std::string& data, const std::string& metadata) {
        const std::string id = to_string(event);
        conn->exec("SELECT " + hub + ".ack_orchestration_item('" + token + "', " + to_string(now) +
                   ", 1, jsonb_build_array(jsonb_build_object('event_id', " + id +
                   ", 'event_type', 'T', 'event_data', json_build_object('x', " + data +
                   ")::text)), '[{\"ActivityExecute\":{\"instance\":\"o\",\"execution_id\":1,"
                   "\"id\":" +
                   id +
                   "}}]', '[{\"ExternalRaised\":{\"instance\":\"o\",\"name\":\"n\"}},"
                   "{\"StartOrchestration\":{\"instance\":\"child" +
                   id + "\",\"orchestration\":\"c\",\"parent_instance\":\"o\"}}]', '" + metadata +
                   "')");
    };
    conn->exec("SELECT " + hub + ".start_orchestration('O', '', 'o', '1.0', p_now_ms => 1000)");
    fetch(1001);
    conn->exec("SELECT " + hub + ".renew_orchestration_item_lock('" + token + "', 1002, 2000)");
    ack(1003, 1, "'short'", R"({"orchestration_name":"O","orchestration_version":"1.0"})");
    fetch(1004);
    conn->exec("SELECT " + hub + ".abandon_orchestration_item('" + token + "', 1005)");
    fetch(1006);
    ack(1007, 2, "(SELECT string_agg(md5(n::text), '') FROM generate_series(1, 300) AS n)", "{}");
    fetch(1008);
    ack(1009, 3, "'more'", R"({"status":"Completed","output":"done"})");
}

// What a slot has decoded, without what must differ: the hub's name, the transaction's number, the
// random halves of tokens.
std::string decoded(Conn* conn, const std::string& slot, const std::string& hub) {
    const Rows rows =
        conn->exec("SELECT data FROM pg_logical_slot_get_changes('" + slot + "', NULL, NULL)");
    std::string text;
    for (int i = 0; i < rows.size(); ++i) {
        const std::string line = rows.at(i, 0).value_or("");
        if (line.find(hub + ".") != std::string::npos &&
            line.find(".outbox_events") == std::string::npos) {
            text += line + "\n";
        }
    }
    text = std::regex_replace(text, std::regex(hub + "\\."), "hub.");
    return std::regex_replace(text, std::regex("nonce_(hi|lo)\\[bigint\\]:-?[1-9][0-9]*"), "nonce");
}

TEST(FastPath, IsDecodedAsSqlIs) {
    Cluster cluster({.preload = true, .conf = {"belay.reconcile_interval = 0"}});
    Conn conn = cluster.connect();
    conn.exec("CREATE EXTENSION belay");
    if (!conn.error_of("SELECT pg_create_logical_replication_slot('s', 'test_decoding')").empty()) {
        GTEST_SKIP() << "this PostgreSQL has no test_decoding";
    }
    for (const char* identity : {"DEFAULT", "FULL", "NOTHING"}) {
        std::string texts[2];
        for (const bool direct : {false, true}) {
            const std::string hub = direct ? "direct" : "sql";
            conn.exec("SELECT belay.drop_hub(name, true) FROM belay.hubs WHERE name = '" + hub +
                      "'");
            conn.exec("SELECT belay.create_hub('" + hub + "')");
            conn.exec("SELECT belay.set_hub_option('" + hub + "', 'max_clock_skew', '0')");
            for (const char* table : {"worker_queue", "orchestrator_queue", "instance_locks",
                                      "instances", "executions", "history"}) {
                conn.exec("ALTER TABLE " + hub + "." + table + " REPLICA IDENTITY " + identity);
            }
            (void)decoded(&conn, "s", hub);
            conn.exec(std::string("SET belay.fast_path = ") + (direct ? "on" : "off"));
            play(&conn, hub);
            play_turns(&conn, hub);
            texts[direct ? 1 : 0] = decoded(&conn, "s", hub);
        }
        EXPECT_NE(texts[0], "");
        EXPECT_EQ(texts[0], texts[1]) << identity;
    }
}

// Sends a message to one of a few instances, and takes some turn: to its end, back, or not at all.
void take_turn(Conn* conn, std::mt19937* random) {
    const std::string instance = "i" + to_string((*random)() % 20);
    (void)conn->error_of("SELECT app.start_orchestration('O', '', '" + instance + "', '1.0')");
    const Rows rows = conn->exec(
        "SELECT out_lock_token, out_instance_id, out_execution_id, json_array_length(out_history) "
        "FROM app.fetch_orchestration_item(NULL, 100)");
    if (rows.size() == 0) {
        return;
    }
    const std::string token = rows.at(0, 0).value_or("");
    const std::string execution = rows.at(0, 2).value_or("1");
    const std::string event = to_string(std::stoi(rows.at(0, 3).value_or("0")) + 1);
    const auto way = (*random)() % 8;
    if (way == 0) {
        (void)conn->error_of("SELECT app.abandon_orchestration_item('" + token + "', NULL, 1)");
    } else if (way == 1) {
        (void)conn->error_of("SELECT app.renew_orchestration_item_lock('" + token + "', NULL, 50)");
    } else if (way > 2) {
        (void)conn->error_of(
            "SELECT app.ack_orchestration_item('" + token + "', NULL, " + execution +
            ", '[{\"event_id\":" + event +
            ",\"event_data\":\"{}\"}]', NULL, '[{\"ExternalRaised\":{\"instance\":\"" +
            rows.at(0, 1).value_or("") + "\",\"name\":\"n\"}}]', '" +
            (way == 3 ? R"({"status":"Completed"})"
                      : R"({"orchestration_name":"O","orchestration_version":"1.0"})") +
            "')");
    }
}

// Some items at once: in, out, and most of them done.
void take_batch(Conn* conn) {
    conn->exec(
        "SELECT app.enqueue_worker_items((SELECT jsonb_agg(jsonb_build_object('work_item', "
        "jsonb_build_object('ActivityExecute', jsonb_build_object('x', repeat('x', n * 7))))) FROM "
        "generate_series(1, 70) AS n))");
    conn->exec(
        "SELECT count(*) FROM app.ack_workers((SELECT coalesce(jsonb_agg(jsonb_build_object("
        "'lock_token', f.out_lock_token)) FILTER (WHERE length(f.out_work_item) % 5 <> 0), '[]') "
        "FROM app.fetch_work_items(NULL, 100, p_max_items => 70) AS f))");
}

// A task, and some end of an attempt.
void take_task(Conn* conn, std::mt19937* random) {
    conn->exec("SELECT app.create_task('l', '{}', p_priority => " + to_string((*random)() % 3) +
               ")");
    const Rows rows = conn->exec(
        "SELECT task_id, lease_epoch FROM app.claim_tasks('w', 'w-1', '{l}', p_lease_ms => 1000)");
    if (rows.size() == 0) {
        return;
    }
    const std::string lease =
        "'" + rows.at(0, 0).value_or("") + "', " + rows.at(0, 1).value_or("0");
    const auto way = (*random)() % 4;
    const std::string call = way == 0   ? "fail_task(" + lease + ", 'transient', 'again')"
                             : way == 1 ? "fail_task(" + lease + ", 'permanent', 'never')"
                                        : "complete_task(" + lease + ", '{}')";
    (void)conn->error_of("SELECT app." + call);
}

// Clients that use all queues and are killed at any moment.
TEST(FastPath, LeavesSoundIndexesUnderLoadAndKills) {
    Cluster cluster(
        {.preload = true,
         .conf = {"autovacuum_naptime = 1s", "max_connections = 40", "wal_level = logical"}});
    Conn main = cluster.connect();
    main.exec("CREATE EXTENSION belay; SELECT belay.create_hub('app')");
    if (!has_extension(&main, "amcheck")) {
        GTEST_SKIP() << "this PostgreSQL has no amcheck";
    }
    main.exec("CREATE EXTENSION amcheck");
    const bool decodes =
        main.error_of("SELECT pg_create_logical_replication_slot('load', 'test_decoding')").empty();
    constexpr int kClients = 8;
    std::atomic<bool> stop = false;
    std::atomic<int64_t> calls = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < kClients; ++i) {
        threads.emplace_back([&, i] {
            std::mt19937 random(static_cast<unsigned>(i));
            while (!stop) {
                try {
                    Conn conn = cluster.connect();
                    conn.exec(std::string("SET belay.fast_path = ") + (i % 4 == 0 ? "off" : "on"));
                    std::string token;
                    while (!stop) {
                        const std::string instance =
                            random() % 2 == 0 ? "NULL" : "'i" + to_string(random() % 100) + "'";
                        const std::string session =
                            random() % 4 == 0 ? "'s" + to_string(random() % 10) + "'" : "NULL";
                        conn.exec(
                            "SELECT app.enqueue_worker_work('{\"ActivityExecute\":{\"x\":\"' "
                            "|| repeat('x', " +
                            to_string(random() % 2000) + ") || '\"}}', NULL, " + instance +
                            ", 1, 1, " + session + ")");
                        const bool undone = random() % 8 == 0;
                        conn.exec(undone ? "BEGIN; SAVEPOINT a" : "SELECT 1");
                        const Rows rows = conn.exec(
                            "SELECT out_lock_token FROM app.fetch_work_item(NULL, 100, 'w" +
                            to_string(i) + "')");
                        token = rows.size() == 0 ? "" : rows.at(0, 0).value_or("");
                        if (undone) {
                            conn.exec(random() % 2 == 0 ? "ROLLBACK" : "ROLLBACK TO a; COMMIT");
                        } else if (!token.empty()) {
                            const auto way = random() % 4;
                            const std::string call =
                                way == 0   ? "abandon_work_item('" + token + "', NULL, 1)"
                                : way == 1 ? "renew_work_item_lock('" + token + "', NULL, 50)"
                                           : "ack_worker('" + token + "')";
                            (void)conn.error_of("SELECT app." + call);
                        }
                        take_turn(&conn, &random);
                        take_task(&conn, &random);
                        if (random() % 16 == 0) {
                            take_batch(&conn);
                        }
                        ++calls;
                    }
                } catch (const std::exception&) {
                    // Killed: the next connection goes on.
                }
            }
        });
    }
    const int seconds = is_long() ? 600 : 8;
    for (int i = 0; i < seconds * 4; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(250));
        main.exec(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = "
            "'client backend' AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1");
    }
    stop = true;
    for (auto& thread : threads) {
        thread.join();
    }
    EXPECT_GT(calls, 100);
    for (const char* index : {"worker_queue_pkey",
                              "worker_queue_activity",
                              "worker_queue_session",
                              "orchestrator_queue_pkey",
                              "orchestrator_queue_claim",
                              "orchestrator_queue_parked",
                              "orchestrator_queue_parent",
                              "instance_locks_pkey",
                              "instances_pkey",
                              "instances_parent",
                              "instances_created",
                              "executions_pkey",
                              "executions_completed",
                              "history_pkey",
                              "tasks_pkey",
                              "tasks_claim",
                              "tasks_due",
                              "tasks_expiry",
                              "tasks_terminal_at",
                              "attempts_pkey",
                              "outbox_events_pkey",
                              "kv_store_pkey",
                              "kv_delta_pkey",
                              "lanes_pkey"}) {
        EXPECT_EQ(main.error_of("SELECT bt_index_parent_check('app." + std::string(index) +
                                "', true, true)"),
                  "")
            << index;
    }
    if (decodes) {
        main.exec(
            "CREATE TEMP TABLE decoded AS SELECT data FROM pg_logical_slot_get_changes('load', "
            "NULL, NULL)");
    }
    for (const char* table : {"worker_queue", "orchestrator_queue", "instance_locks", "instances",
                              "executions", "history", "tasks", "attempts"}) {
        EXPECT_EQ(
            main.value("SELECT count(*) FROM verify_heapam('app." + std::string(table) + "')"), "0")
            << table;
        // What was decoded of the load adds up to what is there.
        const std::string of = "data LIKE 'table app." + std::string(table) + ": ";
        if (decodes) {
            EXPECT_EQ(
                main.value("SELECT (SELECT count(*) FROM app." + std::string(table) +
                           ") - count(*) FILTER (WHERE " + of +
                           "INSERT:%') + count(*) FILTER (WHERE " + of + "DELETE:%') FROM decoded"),
                "0")
                << table;
        }
    }
    EXPECT_EQ(main.value("SELECT count(*) FROM belay.check_hub('app')"), "0");
    // All that is there can be fetched.
    main.exec("SELECT pg_sleep(0.2); DELETE FROM app.sessions");
    const int left = std::stoi(main.value("SELECT count(*) FROM app.work_items"));
    int fetched = 0;
    for (int more = 1; more > 0; fetched += more) {
        more =
            std::stoi(main.value("SELECT count(*) FROM app.fetch_work_items(NULL, 600000, 'last', "
                                 "p_max_items => 1000)"));
    }
    EXPECT_EQ(fetched, left);
}

// FP-4: what is remembered of a row's place may be wrong: the table was written anew, shortened, or
// the row has moved.
TEST(FastPath, FindsRowsThatHaveMoved) {
    Cluster cluster({.preload = true, .conf = {"autovacuum = off"}});
    Conn conn = cluster.connect();
    conn.exec("CREATE EXTENSION belay; SELECT belay.create_hub('app')");
    const std::string add = "SELECT app.enqueue_worker_work('{\"ActivityExecute\":{}}')";
    const auto fetch = [&conn] {
        return conn.value("SELECT out_lock_token FROM app.fetch_work_item(NULL, 600000)");
    };
    for (const std::string& change :
         {std::string("VACUUM FULL app.worker_queue"),
          std::string("CLUSTER app.worker_queue USING worker_queue_pkey"),
          std::string("VACUUM (TRUNCATE) app.worker_queue"), std::string("CHECKPOINT"),
          std::string("UPDATE app.worker_queue SET work_item = work_item || repeat(' ', 3000)")}) {
        conn.exec(
            "SELECT count(app.enqueue_worker_work('{\"ActivityExecute\":{}}')) FROM "
            "generate_series(1, 500)");
        conn.exec(
            "SELECT count(app.ack_worker(out_lock_token)) FROM app.fetch_work_items(NULL, "
            "600000, p_max_items => 500)");
        conn.exec(add);
        const std::string token = fetch();
        conn.exec(change);
        EXPECT_EQ(conn.error_of("SELECT app.renew_work_item_lock('" + token + "', NULL, 600000)"),
                  "")
            << change;
        EXPECT_EQ(conn.error_of("SELECT app.ack_worker('" + token + "')"), "") << change;
        EXPECT_EQ(conn.error_of("SELECT app.ack_worker('" + token + "')"), "QB001") << change;
        conn.exec(add);
        conn.exec(change);
        const std::string next = fetch();
        EXPECT_NE(next, "") << change;
        EXPECT_EQ(conn.error_of("SELECT app.ack_worker('" + next + "')"), "") << change;
    }
    EXPECT_EQ(conn.value("SELECT count(*) FROM app.work_items"), "0");
}

// Rows that are dead but still seen by an old snapshot cannot be removed; a fetch begins behind
// them.
TEST(FastPath, FetchCostsTheSameBehindDeadRows) {
    const char* path = std::getenv("BELAY_FAST_PATH");
    if (path != nullptr && std::string(path) == "off") {
        GTEST_SKIP() << "without cursors it does not";
    }
    Cluster cluster({.preload = true, .conf = {"autovacuum = off"}});
    Conn conn = cluster.connect();
    conn.exec("CREATE EXTENSION belay; SELECT belay.create_hub('app')");
    const auto pages = [&conn] {
        conn.exec("SELECT app.enqueue_worker_work('{\"ActivityExecute\":{}}')");
        const std::string plan = conn.value(
            "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, COSTS OFF, FORMAT JSON) SELECT app.ack_worker("
            "out_lock_token) FROM app.fetch_work_item(NULL, 60000, 'me')");
        std::smatch hit;
        std::regex_search(plan, hit, std::regex("\"Shared Hit Blocks\": ([0-9]+)"));
        return std::stoi(hit[1]);
    };
    (void)pages();
    const int fresh = pages();
    Conn old = cluster.connect();
    old.exec("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1");
    constexpr int kBatch = 1000;
    for (int i = 0; i < 100; ++i) {
        conn.exec(
            "SELECT count(app.enqueue_worker_work('{\"ActivityExecute\":{}}')) FROM "
            "generate_series(1, " +
            to_string(kBatch) + ")");
        EXPECT_EQ(conn.value("SELECT count(app.ack_worker(out_lock_token)) FROM "
                             "app.fetch_work_items(NULL, 60000, p_max_items => " +
                             to_string(kBatch) + ")"),
                  to_string(kBatch));
    }
    EXPECT_LE(pages(), fresh + 20);
    old.exec("COMMIT");
}

}  // namespace
}  // namespace belay::test
