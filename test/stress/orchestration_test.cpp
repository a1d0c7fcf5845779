// A small runtime drives thousands of orchestrations while its connections die at any moment:
// fan-out with joins, cancelled activities, timers, sub-orchestrations and continue-as-new. Every
// instance completes exactly once, with the output that a plain function computes.
//
// Table done is written in the transaction of the ack that completes an instance: it tells what
// happened even where a client lost its connection and does not know.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>
#include <mutex>
#include <thread>

#include "client.hpp"
#include "tree.hpp"

namespace belay::test::stress {
namespace {

using std::to_string;

// ---------------------------------------------------------------- the threads of the runtime

// What the clients know, gathered from all threads.
struct Ledger : Complaints {
    std::atomic<int64_t> turns = 0;       // turns whose ack succeeded
    std::atomic<int64_t> activities = 0;  // activities likewise
    std::atomic<int64_t> lost_leases = 0;
    std::atomic<int64_t> unknown = 0;  // acks whose connection was lost
    std::atomic<int64_t> drops = 0;
    std::atomic<int64_t> losses = 0;

    void complete(const std::string& instance) {
        const std::lock_guard lock(mutex);
        ++completed[instance];
    }
    std::map<std::string, int> completed;  // acks that completed it, as far as clients know
};

class Dispatcher {
 public:
    Dispatcher(Cluster* cluster, Ledger* ledger, uint64_t seed, const std::atomic<bool>* stop)
        : client_(cluster, "SET application_name = 'runtime'", stop),
          ledger_(*ledger),
          random_(seed),
          stop_(*stop) {}

    void run_turns() {
        loop([this] { return turn(); });
    }
    void run_activities() {
        loop([this] { return activity(); });
    }

 private:
    template <typename Step>
    void loop(Step step) {
        while (!stop_) {
            if (!step()) {
                std::this_thread::sleep_for(std::chrono::milliseconds(random_.number(1, 10)));
            }
        }
        ledger_.losses += client_.losses();
    }

    // Runs statements that may fail only because the connection or a lease was lost.
    Answer ask(const std::string& sql) {
        Answer answer = client_.ask(sql);
        if (!answer.ok() && !answer.lost) {
            if (answer.sqlstate == "QB001") {
                ++ledger_.lost_leases;
            } else {
                ledger_.complain(answer.sqlstate + " " + answer.message + " in " + sql);
            }
        }
        return answer;
    }

    // Leases are short: a worker that dies leaves its work to the others.
    std::string lease() { return to_string(random_.number(200, 900)); }

    bool turn() {
        const Answer answer = ask(tree::fetch_turn_sql("app", lease()));
        if (!answer.ok() || answer.rows.empty()) {
            return false;
        }
        const tree::Fetched fetched = tree::read_turn(answer.rows[0]);
        if (fetched.has_gap()) {
            ledger_.complain("history of " + fetched.instance + " has a gap");
        }
        const std::string& token = fetched.token;
        const tree::Decision turn = tree::decide(fetched);
        const std::string ack = turn.ack_sql("app", token);
        std::string sql = ack;
        if (turn.completes) {
            sql += "; INSERT INTO done VALUES ('" + fetched.instance + "')";
        }
        if (!survives(token, sql, "orchestration_item", "orchestration_item_lock")) {
            return true;
        }
        const Answer acked = ask(sql);
        ledger_.unknown += acked.lost ? 1 : 0;
        if (acked.ok()) {
            ++ledger_.turns;
            if (turn.completes) {
                ledger_.complete(fetched.instance);
            }
            expect_dead(token, ack);
        }
        return true;
    }

    bool activity() {
        const Answer answer = ask(tree::fetch_activity_sql("app", lease()));
        if (!answer.ok() || answer.rows.empty()) {
            return false;
        }
        const auto& row = answer.rows[0];
        const std::string token = row.at(0).value_or("");
        const std::string sql = tree::ack_activity_sql("app", row);
        if (!survives(token, sql, "work_item", "work_item_lock")) {
            return true;
        }
        const Answer acked = ask(sql);
        ledger_.unknown += acked.lost ? 1 : 0;
        if (acked.ok()) {
            ++ledger_.activities;
            expect_dead(token, sql);
        }
        return true;
    }

    // What may happen between fetch and ack. False if the ack is not to be sent.
    bool survives(const std::string& token, const std::string& ack_sql, const std::string& what,
                  const std::string& lock) {
        const std::string quoted_token = "'" + token + "'";
        if (random_.in_thousand(5)) {  // the process dies
            ++ledger_.drops;
            client_.drop();
            return false;
        }
        if (random_.in_thousand(5)) {  // it dies in the transaction of the ack
            ++ledger_.drops;
            (void)ask("BEGIN; " + ack_sql);
            client_.drop();
            return false;
        }
        if (random_.in_thousand(5)) {  // the application changes its mind
            (void)ask("BEGIN; " + ack_sql);
            (void)ask("ROLLBACK");
        }
        if (random_.in_thousand(20)) {
            static constexpr const char* kHow[] = {"", ", 5", ", 30, true", ", NULL, true"};
            (void)ask("SELECT app.abandon_" + what + "(" + quoted_token +
                      kHow[random_.number(0, 3)] + ")");
            return false;
        }
        if (random_.in_thousand(20)) {
            return ask("SELECT app.renew_" + lock + "(" + quoted_token + ", 500)").ok();
        }
        if (random_.in_thousand(3)) {  // it sleeps through its lease; whether it lost it, it learns
            std::this_thread::sleep_for(std::chrono::milliseconds(random_.number(100, 1000)));
        }
        return true;
    }

    // A token opens once.
    void expect_dead(const std::string& token, const std::string& ack_sql) {
        if (random_.in_thousand(10)) {
            const Answer again = client_.ask(ack_sql);
            if (again.ok()) {
                ledger_.complain("acked twice with token " + token);
            } else if (!again.lost && again.sqlstate != "QB001") {
                ledger_.complain(again.sqlstate + " " + again.message + " in " + ack_sql);
            }
        }
    }

    Client client_;
    Ledger& ledger_;
    Random random_;
    const std::atomic<bool>& stop_;
};

// ---------------------------------------------------------------- the test

class Orchestrations : public testing::Test {
 protected:
    Orchestrations()
        : cluster_({.preload = true, .conf = {"max_connections = 120", kLogPrefix}}),
          random_(run_seed()) {
        Conn conn = cluster_.connect();
        conn.exec("CREATE EXTENSION belay");
        conn.exec("SELECT belay.create_hub('app')");
        conn.exec("CREATE TABLE done (instance_id text NOT NULL)");
    }

    // Starts the roots, some with a message ahead of their start: it waits aside and comes along.
    void start_roots(int64_t first, int64_t end) {
        const std::atomic<bool> never = false;
        Client client(&cluster_, "SELECT 1", &never);
        for (; first < end; first += 100) {
            const std::string series = "generate_series(" + to_string(first) + ", " +
                                       to_string(std::min(end, first + 100) - 1) + ") AS n";
            for (const std::string& sql :
                 {"SELECT count(app.raise_event('i' || n, 'early')) FROM " + series +
                      " WHERE n % 10 = 0",
                  "SELECT count(app.start_orchestration('Tree', n || ',0,0,0,0,0,-', 'i' || n, "
                  "'1')) FROM " +
                      series}) {
                const Answer answer = client.ask(sql);
                if (!answer.ok()) {
                    ledger_.complain(answer.message + " in " + sql);
                }
            }
        }
    }

    // Kills connections of the runtime, and sends events that no orchestration waits for.
    void disturb(Client* client, int64_t roots) {
        if (random_.in_thousand(500)) {
            (void)client->ask(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = "
                "'runtime' ORDER BY random() LIMIT 1");
        }
        (void)client->ask("SELECT app.raise_event('i' || " +
                          to_string(random_.number(0, roots - 1)) + ", 'poke', '', " +
                          (random_.in_thousand(500) ? "true" : "false") + ")");
        std::this_thread::sleep_for(std::chrono::milliseconds(random_.number(20, 120)));
    }

    // True while something happens. A run that stands still for long is stuck.
    bool is_moving(const std::string& progress) {
        if (progress != last_progress_) {
            last_progress_ = progress;
            still_ = Stopwatch();
        }
        return still_.seconds() < 60;
    }

    void run_all(int64_t roots, int dispatchers, int workers) {
        tree::Outcome total{0, 0, 0};
        for (int64_t n = 0; n < roots; ++n) {
            const tree::Outcome one = tree::expected_outcome(n, 0);
            total = {0, total.instances + one.instances, total.executions + one.executions};
        }
        start_roots(0, roots / 2);

        const Stopwatch watch;
        std::atomic<bool> stop = false;
        std::vector<std::thread> threads;
        for (int i = 0; i < dispatchers + workers; ++i) {
            threads.emplace_back([&, i, seed = run_seed() + 1 + static_cast<uint64_t>(i)] {
                Dispatcher dispatcher(&cluster_, &ledger_, seed, &stop);
                if (i < dispatchers) {
                    dispatcher.run_turns();
                } else {
                    dispatcher.run_activities();
                }
            });
        }
        // The other half comes while the first is at work.
        std::thread starting([&] { start_roots(roots / 2, roots); });

        const std::atomic<bool> never = false;
        Client client(&cluster_, "SELECT 1", &never);
        bool all_done = false;
        while (!all_done && !ledger_.has_complaints()) {
            const Answer left = client.ask(
                "SELECT count(*), (SELECT count(*) FROM app.messages), (SELECT count(*) FROM "
                "app.work_items), (SELECT last_value FROM app.instance_locks_no) FROM done");
            if (!left.ok()) {
                continue;
            }
            const auto& row = left.rows[0];
            all_done = row[0] == to_string(total.instances) && row[1] == "0" && row[2] == "0";
            if (!all_done && row[0] != to_string(total.instances)) {
                disturb(&client, roots);
            }
            std::string progress;
            for (int i = 0; i < 3; ++i) {
                progress += *row[static_cast<std::size_t>(i)] + " ";
            }
            if (!is_moving(progress)) {
                ledger_.complain(
                    "stuck: completed, messages, activities, locks granted: " + progress + *row[3]);
            }
        }
        stop = true;
        starting.join();
        for (auto& thread : threads) {
            thread.join();
        }
        const double seconds = watch.seconds();
        check(roots, total);
        std::cout << "  " << roots << " roots, " << total.instances << " instances, "
                  << total.executions << " executions; " << ledger_.turns << " turns, "
                  << ledger_.activities << " activities, "
                  << static_cast<int64_t>(static_cast<double>(ledger_.turns) / seconds)
                  << " turns/s; leases lost " << ledger_.lost_leases << ", connections killed "
                  << ledger_.losses << ", dropped " << ledger_.drops << ", acks of unknown outcome "
                  << ledger_.unknown << "\n";
    }

    void check(int64_t roots, const tree::Outcome& total) {
        for (const auto& complaint : ledger_.complaints) {
            ADD_FAILURE() << complaint;
        }
        Conn conn = cluster_.connect();
        const auto expect_none = [&conn](const char* what, const std::string& sql) {
            const Rows rows = conn.exec(sql + " LIMIT 5");
            for (int i = 0; i < rows.size(); ++i) {
                ADD_FAILURE() << what << ": " << rows.at(i, 0).value_or("NULL");
            }
        };
        expect_none("left message", "SELECT instance_id || ' ' || work_item FROM app.messages");
        expect_none("left activity", "SELECT work_item FROM app.work_items");
        expect_none("dead letter", "SELECT work_item FROM app.dead_letters");
        expect_none("not completed",
                    "SELECT instance_id FROM app.instances JOIN app.executions USING (instance_id) "
                    "WHERE execution_id = current_execution_id AND status <> 'Completed'");
        expect_none("not continued",
                    "SELECT instance_id FROM app.instances JOIN app.executions USING (instance_id) "
                    "WHERE execution_id < current_execution_id AND status <> 'ContinuedAsNew'");
        expect_none("history with gaps",
                    "SELECT instance_id FROM app.history GROUP BY instance_id, execution_id "
                    "HAVING min(event_id) <> 1 OR max(event_id) <> count(*)");
        expect_none("not one terminal event",
                    "SELECT instance_id FROM app.history GROUP BY instance_id HAVING count(*) "
                    "FILTER (WHERE event_type = 'OrchestrationCompleted') <> 1");
        expect_none("not one end of an execution",
                    "SELECT instance_id FROM app.history GROUP BY instance_id, execution_id HAVING "
                    "count(*) FILTER (WHERE event_type IN ('OrchestrationCompleted', "
                    "'OrchestrationContinuedAsNew')) <> 1");
        expect_none("answered twice",
                    "SELECT instance_id FROM app.history WHERE event_data::json ->> "
                    "'source_event_id' <> '0' GROUP BY instance_id, execution_id, "
                    "event_data::json ->> 'source_event_id' HAVING count(*) <> 1");
        expect_none("wrong parent",
                    "SELECT instance_id FROM app.instances WHERE parent_instance_id IS DISTINCT "
                    "FROM substring(instance_id from '^(.*)::')");
        expect_none("completed twice",
                    "SELECT instance_id FROM done GROUP BY 1 HAVING count(*) <> 1");
        expect_none("live lock",
                    "SELECT instance_id FROM app.instance_lock_states WHERE locked_until > "
                    "extract(epoch FROM clock_timestamp()) * 1000 + 2000");
        EXPECT_EQ(conn.value("SELECT count(*) FROM done"), to_string(total.instances));
        EXPECT_EQ(conn.value("SELECT count(*) FROM app.instances"), to_string(total.instances));
        EXPECT_EQ(conn.value("SELECT count(*) FROM app.executions"), to_string(total.executions));
        for (const auto& [instance, acks] : ledger_.completed) {
            EXPECT_EQ(acks, 1) << instance;
        }

        const Rows outputs = conn.exec(
            "SELECT substring(instance_id from 2), output FROM app.executions WHERE instance_id "
            "NOT LIKE '%::%' AND status = 'Completed'");
        EXPECT_EQ(outputs.size(), roots);
        for (int i = 0; i < outputs.size(); ++i) {
            const int64_t n = std::stoll(outputs.at(i, 0).value_or(""));
            EXPECT_EQ(outputs.at(i, 1).value_or(""), to_string(tree::expected_outcome(n, 0).output))
                << "instance i" << n;
        }
        for (const auto& line : unexpected_errors(cluster_.log(), {"QB001", "57P01", "08006"})) {
            ADD_FAILURE() << line;
        }
    }

    Cluster cluster_;
    Random random_;
    Ledger ledger_;
    std::string last_progress_;
    Stopwatch still_;
};

// A root has 2.6 descendants on average: 500 instances over 8 connections, or 10,000 over 32.
TEST_F(Orchestrations, EveryInstanceCompletesOnce) {
    if (is_long()) {
        run_all(2800, 18, 14);
    } else {
        run_all(140, 5, 3);
    }
}

}  // namespace
}  // namespace belay::test::stress
