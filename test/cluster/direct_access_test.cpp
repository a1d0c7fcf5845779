// What direct access leaves behind: indexes and heap as the server's own checks want them, logical
// decoding that tells all of it, and a price of a fetch that does not grow with the dead rows.
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <map>
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

// Sends a message to one of a few instances, and takes some turn: to its end, back, or not at all.
void take_turn(Conn* conn, std::mt19937* random) {
    const std::string instance = "i" + to_string((*random)() % 20);
    (void)conn->error_of("SELECT app.start_orchestration('O', '', '" + instance + "', '1.0')");
    const Rows rows = conn->exec(
        "SELECT lock_token, instance_id, execution_id, json_array_length(history) "
        "FROM app.fetch_orchestration_item(100)");
    if (rows.size() == 0) {
        return;
    }
    const std::string token = rows.at(0, 0).value_or("");
    const std::string execution = rows.at(0, 2).value_or("1");
    const std::string event = to_string(std::stoi(rows.at(0, 3).value_or("0")) + 1);
    const auto way = (*random)() % 8;
    if (way == 0) {
        (void)conn->error_of("SELECT app.abandon_orchestration_item('" + token + "', 1)");
    } else if (way == 1) {
        (void)conn->error_of("SELECT app.renew_orchestration_item_lock('" + token + "', 50)");
    } else if (way > 2) {
        (void)conn->error_of(
            "SELECT app.ack_orchestration_item('" + token + "', " + execution +
            ", '[{\"event_id\":" + event +
            ",\"event_data\":\"{}\"}]', NULL, '[{\"ExternalRaised\":{\"instance\":\"" +
            rows.at(0, 1).value_or("") + "\",\"name\":\"n\"}}]', '" +
            (way == 3 ? R"({"status":"Completed"})"
             : way == 4
                 ? R"({"kv_mutations":[{"action":"clear_all"}]})"
                 : R"({"orchestration_name":"O","orchestration_version":"1.0",)"
                   R"("kv_mutations":[{"action":"set","key":"k)" +
                       to_string((*random)() % 3) + R"(","value":"v","last_updated_at_ms":1}]})") +
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
        "'lock_token', f.lock_token)) FILTER (WHERE length(f.work_item) % 5 <> 0), '[]') "
        "FROM app.fetch_work_items(100, p_max_items => 70) AS f))");
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
    const auto way = (*random)() % 8;
    const std::string call = way == 0   ? "fail_task(" + lease + ", 'transient', 'again')"
                             : way == 1 ? "fail_task(" + lease + ", 'permanent', 'never')"
                             : way == 2 ? "renew_task(" + lease + ", 500)"
                             : way == 3 ? "release_task(" + lease + ", 5)"
                                        : "complete_task(" + lease + ", '{}')";
    (void)conn->error_of("SELECT app." + call);
}

// The tables of a hub as a consumer has them that knows only the decoded changes: rows by key.
class Replica {
 public:
    // Decodes from now on. What the tables hold already is read.
    explicit Replica(Conn* conn) {
        const Rows tables = conn->exec(
            "SELECT quote_ident(c.relname), quote_ident(a.attname), a.attnum = ANY (i.indkey) FROM "
            "pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT "
            "a.attisdropped JOIN pg_index AS i ON i.indrelid = c.oid AND i.indisprimary WHERE "
            "c.relkind = 'r' AND c.relnamespace = 'app'::regnamespace ORDER BY c.relname, "
            "a.attnum");
        for (int i = 0; i < tables.size(); ++i) {
            Table& table = tables_[tables.at(i, 0).value_or("")];
            table.columns.push_back(tables.at(i, 1).value_or(""));
            if (tables.at(i, 2).value_or("") == "t") {
                table.key.push_back(table.columns.back());
            }
        }
        decodes_ =
            conn->error_of("SELECT pg_create_logical_replication_slot('load', 'test_decoding')")
                .empty();
        for (auto& [name, table] : tables_) {
            table.rows = rows_of(conn, name, table);
        }
    }

    // Applies what has been committed since the last call.
    void follow(Conn* conn) {
        if (!decodes_) {
            return;
        }
        const Rows lines = conn->exec(
            "SELECT data, lsn - '0/0' FROM pg_logical_slot_get_changes('load', NULL, NULL)");
        int begin = 0;
        for (int i = 0; i < lines.size(); ++i) {
            const std::string line = lines.at(i, 0).value_or("");
            if (line.starts_with("BEGIN")) {
                begin = i;
            } else if (line.starts_with("COMMIT")) {
                // After a crash a slot repeats what it has told already.
                const int64_t end = std::stoll(lines.at(i, 1).value_or("0"));
                for (int at = begin + 1; end > last_ && at < i; ++at) {
                    apply(lines.at(at, 0).value_or(""));
                }
                last_ = std::max(last_, end);
            }
        }
    }

    // No session writes meanwhile.
    void expect_same(Conn* conn) {
        if (!decodes_) {
            return;
        }
        for (const auto& [name, table] : tables_) {
            const RowsByKey rows = rows_of(conn, name, table);
            int wrong = 0;
            for (const auto& [key, row] : rows) {
                const auto own = table.rows.find(key);
                wrong += own == table.rows.end() || own->second != row ? 1 : 0;
            }
            EXPECT_EQ(wrong, 0) << name << ": rows that were not decoded as they are";
            EXPECT_EQ(table.rows.size(), rows.size()) << name;
        }
    }

    int64_t changes(const std::string& name) const { return tables_.at(name).changes; }
    bool decodes() const { return decodes_; }

 private:
    using Row = std::map<std::string, std::string>;  // without nulls
    using RowsByKey = std::map<std::string, Row>;
    struct Table {
        std::vector<std::string> columns;
        std::vector<std::string> key;
        RowsByKey rows;
        int64_t changes = 0;
    };

    static std::string key_of(const Table& table, const Row& row) {
        std::string key;
        for (const auto& column : table.key) {
            key += row.at(column) + "|";
        }
        return key;
    }

    static RowsByKey rows_of(Conn* conn, const std::string& name, const Table& table) {
        std::string list;
        for (const auto& column : table.columns) {
            list += (list.empty() ? "" : ", ") + column + "::text";
        }
        RowsByKey rows;
        const Rows read = conn->exec("SELECT " + list + " FROM app." + name);
        for (int i = 0; i < read.size(); ++i) {
            Row row;
            for (std::size_t column = 0; column < table.columns.size(); ++column) {
                if (const auto value = read.at(i, static_cast<int>(column))) {
                    row[table.columns[column]] = *value;
                }
            }
            rows[key_of(table, row)] = row;
        }
        return rows;
    }

    // "table app.t: UPDATE: old-key: a[integer]:1 new-tuple: a[integer]:2 b[text]:'it''s'"
    void apply(const std::string& line) {
        static const std::string kStart = "table app.";
        if (!line.starts_with(kStart)) {
            return;
        }
        const auto colon = line.find(": ");
        const auto found = tables_.find(line.substr(kStart.size(), colon - kStart.size()));
        if (found == tables_.end()) {
            return;  // has no key: its changes could not be applied
        }
        Table& table = found->second;
        ++table.changes;
        const auto after = line.find(": ", colon + 2);
        const std::string what = line.substr(colon + 2, after - colon - 2);
        std::string_view rest = std::string_view(line).substr(after + 2);
        std::optional<Row> old;
        if (rest.starts_with("old-key: ")) {
            rest.remove_prefix(9);
            old = read_row(&rest);
            rest.remove_prefix(std::string_view("new-tuple: ").size());
        }
        Row row = read_row(&rest);
        expect(rest.empty(), line);
        if (what == "INSERT") {
            expect(table.rows.emplace(key_of(table, row), row).second, line);
        } else if (what == "DELETE") {
            expect(table.rows.erase(key_of(table, row)) == 1, line);
        } else if (what == "UPDATE") {
            const auto own = table.rows.find(key_of(table, old ? *old : row));
            if (own == table.rows.end()) {
                expect(false, line);
                return;
            }
            for (auto& [column, value] : row) {
                if (value == kUnchanged) {
                    value = own->second.at(column);
                }
            }
            table.rows.erase(own);
            expect(table.rows.emplace(key_of(table, row), row).second, line);
        } else {
            expect(false, line);
        }
    }

    // Of changes that do not fit the rows only the first are of interest.
    void expect(bool fits, const std::string& line) {
        if (!fits && ++misfits_ <= 20) {
            ADD_FAILURE() << line;
        }
    }

    // Columns up to the end, or to "new-tuple: ".
    static Row read_row(std::string_view* rest) {
        Row row;
        while (!rest->empty() && !rest->starts_with("new-tuple: ")) {
            const auto bracket = rest->find('[');
            const std::string column(rest->substr(0, bracket));
            rest->remove_prefix(rest->find("]:", bracket) + 2);
            std::optional<std::string> value;
            if (rest->starts_with('\'')) {
                std::size_t end = 1;
                for (value.emplace(); (*rest)[end] != '\'' || rest->substr(end).starts_with("''");
                     ++end) {
                    *value += (*rest)[end];
                    end += (*rest)[end] == '\'' ? 1 : 0;
                }
                rest->remove_prefix(end + 1);
            } else {
                value = rest->substr(0, rest->find(' '));
                rest->remove_prefix(value->size());
                if (*value == "null") {
                    value.reset();
                }
            }
            if (value) {
                row[column] = *value;
            }
            if (rest->starts_with(' ')) {
                rest->remove_prefix(1);
            }
        }
        return row;
    }

    static constexpr const char* kUnchanged = "unchanged-toast-datum";

    std::map<std::string, Table> tables_;
    bool decodes_ = false;
    int64_t last_ = 0;  // where the last transaction ended that was applied
    int misfits_ = 0;
};

// What a client of the load does, again and again.
void use_all_queues(Conn* conn, std::mt19937* random, const std::string& owner) {
    const std::string instance =
        (*random)() % 2 == 0 ? "NULL" : "'i" + to_string((*random)() % 100) + "'";
    const std::string session =
        (*random)() % 4 == 0 ? "'s" + to_string((*random)() % 10) + "'" : "NULL";
    conn->exec("SELECT app.enqueue_worker_work('{\"ActivityExecute\":{\"x\":\"' || repeat('x', " +
               to_string((*random)() % 2000) + ") || '\"}}', " + instance + ", 1, 1, " + session +
               ")");
    const bool undone = (*random)() % 8 == 0;
    conn->exec(undone ? "BEGIN; SAVEPOINT a" : "SELECT 1");
    const Rows rows =
        conn->exec("SELECT lock_token FROM app.fetch_work_item(100, '" + owner + "')");
    const std::string token = rows.size() == 0 ? "" : rows.at(0, 0).value_or("");
    if (undone) {
        conn->exec((*random)() % 2 == 0 ? "ROLLBACK" : "ROLLBACK TO a; COMMIT");
    } else if (!token.empty()) {
        const auto way = (*random)() % 4;
        const std::string call = way == 0   ? "abandon_work_item('" + token + "', 1)"
                                 : way == 1 ? "renew_work_item_lock('" + token + "', 50)"
                                            : "ack_worker('" + token + "')";
        (void)conn->error_of("SELECT app." + call);
    }
    take_turn(conn, random);
    take_task(conn, random);
    if ((*random)() % 16 == 0) {
        take_batch(conn);
    }
}

// After a session was killed: waits until the server has noticed and ended this one. It takes new
// sessions until then. False if the session had ended by itself before; one that was killed is
// listed until the server starts anew.
bool ends_after_kill(Conn* conn, const std::string& pid) {
    try {
        while (conn->value("SELECT count(*) FROM pg_stat_activity, pg_sleep(0.01) WHERE pid = " +
                           pid) == "1") {
        }
        return false;
    } catch (const std::runtime_error&) {
        return true;
    }
}

// Clients that use all queues and are killed at any moment: asked to end, or with the whole server.
TEST(DirectAccess, LeavesSoundIndexesUnderLoadAndKills) {
    Cluster cluster(
        {.preload = true,
         .conf = {"autovacuum_naptime = 1s", "max_connections = 40", "wal_level = logical"}});
    Conn main = cluster.connect();
    main.exec("CREATE EXTENSION belay; SELECT belay.create_hub('app')");
    if (!has_extension(&main, "amcheck")) {
        GTEST_SKIP() << "this PostgreSQL has no amcheck";
    }
    main.exec("CREATE EXTENSION amcheck");
    Replica replica(&main);
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
                    while (!stop) {
                        use_all_queues(&conn, &random, "w" + to_string(i));
                        ++calls;
                    }
                } catch (const std::exception&) {
                    // Killed: the next connection continues.
                }
            }
        });
    }
    std::mt19937 random(1000);
    const std::string victim =
        " FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() "
        "ORDER BY random() LIMIT 1";
    const int seconds = is_long() ? 600 : 8;
    int crashes = 0;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
    // On a slow machine longer: no run goes without a crash.
    for (int i = 1; crashes == 0 || std::chrono::steady_clock::now() < end; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(250));
        if (i % 10 != 0) {
            main.exec("SELECT pg_terminate_backend(pid)" + victim);
        } else if (i % 20 != 0) {
            replica.follow(&main);
        } else if (const Rows rows = main.exec("SELECT pid" + victim); rows.size() == 1) {
            const std::string pid = rows.at(0, 0).value_or("");
            kill(std::stoi(pid), SIGKILL);
            if (ends_after_kill(&main, pid)) {
                cluster.wait_ready();
                main = cluster.connect();
                ++crashes;
            }
        }
    }
    stop = true;
    for (auto& thread : threads) {
        thread.join();
    }
    EXPECT_GT(calls, 100);

    // Duties wait; what they did before is in the log by then.
    const Rows tables = main.exec(
        "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'app'::regnamespace "
        "ORDER BY oid");
    std::string lock;
    for (int i = 0; i < tables.size(); ++i) {
        lock += (i == 0 ? "BEGIN; LOCK TABLE app." : ", app.") + tables.at(i, 0).value_or("");
    }
    // A duty may lock two of them in another order.
    std::string error = main.error_of(lock + " IN SHARE MODE");
    while (error == "40P01") {
        main.exec("ROLLBACK");
        error = main.error_of(lock + " IN SHARE MODE");
    }
    ASSERT_EQ(error, "");
    Conn reader = cluster.connect();
    reader.exec("SELECT pg_logical_emit_message(true, 'test', 'flushes all before it')");
    replica.follow(&reader);
    replica.expect_same(&reader);
    main.exec("COMMIT");
    // What direct access writes.
    int64_t changes = 0;
    for (const char* table : {"worker_queue", "orchestrator_queue", "instance_locks", "instances",
                              "executions", "history_turns", "tasks", "attempts", "kv_store",
                              "kv_delta", "outbox_events", "queues"}) {
        if (replica.decodes()) {
            EXPECT_GT(replica.changes(table), 0) << table;
            changes += replica.changes(table);
        }
    }
    std::cout << "  " << calls << " rounds, " << crashes << " crashes, " << changes
              << " decoded changes\n";

    const Rows indexes = main.exec(
        "SELECT c.relname FROM pg_class AS c JOIN pg_am AS a ON a.oid = c.relam WHERE c.relkind = "
        "'i' AND a.amname = 'btree' AND c.relnamespace = 'app'::regnamespace");
    EXPECT_GT(indexes.size(), 24);
    for (int i = 0; i < indexes.size(); ++i) {
        const std::string index = indexes.at(i, 0).value_or("");
        EXPECT_EQ(main.error_of("SELECT bt_index_check('app." + index + "', true)"), "") << index;
        EXPECT_EQ(main.error_of("SELECT bt_index_parent_check('app." + index + "', true, true)"),
                  "")
            << index;
    }
    for (int i = 0; i < tables.size(); ++i) {
        const std::string table = tables.at(i, 0).value_or("");
        EXPECT_EQ(main.value("SELECT count(*) FROM verify_heapam('app." + table + "')"), "0")
            << table;
    }
    EXPECT_EQ(main.value("SELECT count(*) FROM belay.check_hub('app')"), "0");
    // All that is there can be fetched, however often it was before.
    main.exec("SELECT belay.set_hub_option('app', 'max_attempts', 'off')");
    main.exec("SELECT pg_sleep(0.2); DELETE FROM app.sessions");
    const int left = std::stoi(main.value("SELECT count(*) FROM app.work_items"));
    int fetched = 0;
    for (int more = 1; more > 0; fetched += more) {
        more =
            std::stoi(main.value("SELECT count(*) FROM app.fetch_work_items(600000, 'last', "
                                 "p_max_items => 1000)"));
    }
    EXPECT_EQ(fetched, left);
}

// FP-3: what is remembered of a row's place may be wrong: the table was written anew, shortened, or
// the row has moved.
TEST(DirectAccess, FindsRowsThatHaveMoved) {
    Cluster cluster({.preload = true, .conf = {"autovacuum = off"}});
    Conn conn = cluster.connect();
    conn.exec("CREATE EXTENSION belay; SELECT belay.create_hub('app')");
    const std::string add = "SELECT app.enqueue_worker_work('{\"ActivityExecute\":{}}')";
    const auto fetch = [&conn] {
        return conn.value("SELECT lock_token FROM app.fetch_work_item(600000)");
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
            "SELECT count(app.ack_worker(lock_token)) FROM app.fetch_work_items("
            "600000, p_max_items => 500)");
        conn.exec(add);
        const std::string token = fetch();
        conn.exec(change);
        EXPECT_EQ(conn.error_of("SELECT app.renew_work_item_lock('" + token + "', 600000)"), "")
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
TEST(DirectAccess, FetchCostsTheSameBehindDeadRows) {
    Cluster cluster({.preload = true, .conf = {"autovacuum = off"}});
    Conn conn = cluster.connect();
    conn.exec("CREATE EXTENSION belay; SELECT belay.create_hub('app')");
    const auto pages = [&conn] {
        conn.exec("SELECT app.enqueue_worker_work('{\"ActivityExecute\":{}}')");
        const std::string plan = conn.value(
            "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, COSTS OFF, FORMAT JSON) SELECT app.ack_worker("
            "lock_token) FROM app.fetch_work_item(60000, 'me')");
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
        EXPECT_EQ(conn.value("SELECT count(app.ack_worker(lock_token)) FROM "
                             "app.fetch_work_items(60000, p_max_items => " +
                             to_string(kBatch) + ")"),
                  to_string(kBatch));
    }
    EXPECT_LE(pages(), fresh + 20);
    old.exec("COMMIT");
}

}  // namespace
}  // namespace belay::test
