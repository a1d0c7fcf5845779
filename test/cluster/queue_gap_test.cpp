// Gaps of turns and tasks: dead rows cost a fetch nothing, and every row that appears among them is
// found.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <regex>

#include "cluster.hpp"

namespace belay::test {
namespace {

using std::to_string;

constexpr int kDead = 100'000;

// The pages that a statement touches.
int pages(Conn* conn, const std::string& statement) {
    const std::string plan =
        conn->value("EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, COSTS OFF, FORMAT JSON) " + statement);
    int sum = 0;
    for (const char* kind : {"Hit", "Read"}) {
        std::smatch found;
        std::regex_search(plan, found,
                          std::regex("\"Shared " + std::string(kind) + " Blocks\": ([0-9]+)"));
        sum += std::stoi(found[1]);
    }
    return sum;
}

class QueueGaps : public ::testing::Test {
 protected:
    QueueGaps()
        : cluster_({.preload = true,
                    .conf = {"autovacuum = off", "max_prepared_transactions = 20",
                             "belay.reconcile_interval = 0"}}),
          conn_(cluster_.connect()) {
        conn_.exec("CREATE EXTENSION belay; SELECT belay.create_hub('app')");
        conn_.exec("SELECT belay.set_hub_option('app', 'max_clock_skew', '0')");
    }

    // The instance of the next turn, "" if there is none. Its lease is long.
    std::string fetch(int64_t now = 3000) {
        const Rows rows = conn_.exec(
            "SELECT instance_id, lock_token FROM app.fetch_orchestration_item(86400000, p_now_ms "
            "=> " +
            to_string(now) + ")");
        token_ = rows.size() == 0 ? "" : rows.at(0, 1).value_or("");
        return rows.size() == 0 ? "" : rows.at(0, 0).value_or("");
    }
    std::string ack_sql(int64_t now = 3000) const {
        return "SELECT app.ack_orchestration_item('" + token_ +
               "', 1, '[]', '[]', '[]', "
               "'{\"orchestration_name\":\"O\",\"orchestration_version\":\"1\",\"status\":"
               "\"Completed\"}', p_now_ms => " +
               to_string(now) + ")";
    }
    static std::string start(const std::string& instance, int64_t at) {
        return "SELECT app.start_orchestration('O', '', '" + instance + "', '1', 0, " +
               to_string(at) + ")";
    }
    // Turns of all times from 1000 to 2000 that are over, and a walk over what is left of them.
    void make_turn_gap() {
        static int round = 0;
        ++round;
        constexpr int kTurns = 100;
        const Conn old = old_snapshot();
        for (int i = 0; i <= kTurns; ++i) {
            conn_.exec(start("g" + to_string(round) + " " + to_string(i), 1000 + i * 10));
        }
        for (int i = 0; i <= kTurns; ++i) {
            ASSERT_EQ(fetch().substr(0, 1), "g");
            conn_.exec(ack_sql());
        }
        ASSERT_EQ(fetch(), "");
        ASSERT_EQ(fetch(), "");
    }
    // Ends the turn that was fetched.
    void end_turn() { conn_.exec(ack_sql()); }

    // The kind of the task that is claimed next, "" if there is none.
    std::string claim(int64_t now = 3000, int64_t lease = 86400000) {
        const Rows rows = conn_.exec(
            "SELECT kind, task_id, lease_epoch FROM app.claim_tasks('w', 'i', '{l}', p_lease_ms "
            "=> " +
            to_string(lease) + ", p_now_ms => " + to_string(now) + ")");
        if (rows.size() == 0) {
            return "";
        }
        task_ = rows.at(0, 1).value_or("");
        epoch_ = rows.at(0, 2).value_or("");
        return rows.at(0, 0).value_or("");
    }
    std::string of_lease(const std::string& verb, const std::string& more = "") const {
        return "SELECT app." + verb + "('" + task_ + "', " + epoch_ + more + ", p_now_ms => 3000)";
    }
    static std::string create(const std::string& kind, int priority, const std::string& more = "") {
        return "SELECT app.create_task('l', p_kind => '" + kind + "', p_priority => " +
               to_string(priority) + more + ", p_now_ms => 1000)";
    }
    // Tasks of priorities 9 and 0 that are over: a range between two others lies in a gap.
    void make_task_gap() {
        constexpr int kTasks = 50;
        const Conn old = old_snapshot();
        for (int i = 0; i < 2 * kTasks; ++i) {
            conn_.exec(create("g", i < kTasks ? 9 : 0));
        }
        for (int i = 0; i < 2 * kTasks; ++i) {
            ASSERT_EQ(claim(), "g");
            conn_.exec(of_lease("complete_task"));
        }
        ASSERT_EQ(claim(), "");
        ASSERT_EQ(claim(), "");
    }

    // While it is there, no dead entry of an index can be removed or marked.
    Conn old_snapshot() {
        Conn conn = cluster_.connect();
        conn.exec("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1");
        return conn;
    }

    Conn other() { return cluster_.connect(); }

    Cluster cluster_;
    Conn conn_;
    std::string token_;
    std::string task_;
    std::string epoch_;
};

// ---------------------------------------------------------------- cost

// IX-5: the fetch of a turn, with a leased one in front of all the dead rows.
TEST_F(QueueGaps, TurnCostsTheSameBehindDeadRows) {
    const std::string next =
        "SELECT * FROM app.fetch_orchestration_item(86400000, p_now_ms => 3000)";
    conn_.exec(start("leased", 1000));
    ASSERT_EQ(fetch(), "leased");
    conn_.exec(start("busy", 1001));
    const auto measure = [&](int number) {
        conn_.exec(start("m" + to_string(number), 2000 + number));
        return pages(&conn_, next);
    };
    conn_.exec(start("warm", 1500));
    (void)fetch();  // busy
    conn_.exec("SELECT app.ack_orchestration_item('" + token_ +
               "', 1, '[]', '[]', '[]', "
               "'{\"orchestration_name\":\"O\",\"orchestration_version\":\"1\",\"status\":"
               "\"Running\"}', p_now_ms => 3000)");
    (void)fetch();  // warm
    (void)measure(0);
    const int fresh = measure(1);
    const Conn old = old_snapshot();
    constexpr int kBatch = 1000;
    for (int i = 0; i < kDead / kBatch; ++i) {
        conn_.exec(
            "SELECT count(app.raise_event('busy', 'e', '', false, 1600)) FROM "
            "generate_series(1, " +
            to_string(kBatch) + ")");
        ASSERT_EQ(fetch(), "busy");
        conn_.exec("SELECT app.ack_orchestration_item('" + token_ +
                   "', 1, '[]', '[]', '[]', '{}', p_now_ms => 3000)");
    }
    (void)measure(2);
    EXPECT_LE(measure(3), fresh + 30);
}

// IX-5: the claim of a task behind dead ones of two priorities, and of one that was delayed.
TEST_F(QueueGaps, TaskCostsTheSameBehindDeadRows) {
    const auto measure = [&](const std::string& queues, int priority, const std::string& more) {
        conn_.exec(create("m", priority, more));
        return pages(&conn_, "SELECT * FROM app.claim_tasks('w', 'i', " + queues +
                                 ", p_lease_ms => 86400000, p_now_ms => 3000)");
    };
    const std::string soon = ", p_delay_ms => 900";
    const auto all = [&] {
        return std::vector<int>{measure("'{l}'", 5, ""), measure("'{l}'", 0, ""),
                                measure("NULL", 5, ""), measure("'{l}'", 5, soon)};
    };
    (void)all();
    const std::vector<int> fresh = all();
    const Conn old = old_snapshot();
    constexpr int kBatch = 1000;
    for (int i = 0; i < kDead / kBatch; ++i) {
        conn_.exec(
            "SELECT count(*) FROM app.create_tasks((SELECT jsonb_agg(jsonb_build_object("
            "'queue', 'l', 'priority', n % 2 * 9, 'delay_ms', n % 4 / 3 * 500)) FROM "
            "generate_series(1, " +
            to_string(kBatch) + ") AS n), 1000)");
        ASSERT_EQ(conn_.value("SELECT count(*) FROM app.claim_tasks('w', 'i', '{l}', p_lease_ms => "
                              "86400000, p_max_items => 1000, p_now_ms => 3000)"),
                  to_string(kBatch));
    }
    (void)all();
    const std::vector<int> behind = all();
    for (std::size_t i = 0; i < fresh.size(); ++i) {
        EXPECT_LE(behind[i], fresh[i] + 60) << i;
    }
}

// ---------------------------------------------------------------- what appears in a gap

TEST_F(QueueGaps, TurnThatIsCommittedLate) {
    Conn late = other();
    late.exec("BEGIN; " + start("late", 1500));
    Conn partly = other();
    partly.exec("BEGIN; SAVEPOINT a; " + start("undone", 1501) + "; ROLLBACK TO a; SAVEPOINT b; " +
                start("partly", 1502) + "; RELEASE b");
    make_turn_gap();
    late.exec("COMMIT");
    EXPECT_EQ(fetch(), "late");
    partly.exec("COMMIT");
    EXPECT_EQ(fetch(), "partly");
    EXPECT_EQ(fetch(), "");
}

TEST_F(QueueGaps, TurnThatIsPrepared) {
    Conn first = other();
    first.exec("BEGIN; " + start("before", 1500) + "; PREPARE TRANSACTION 'before'");
    make_turn_gap();
    Conn second = other();
    second.exec("BEGIN; " + start("after", 1501) + "; PREPARE TRANSACTION 'after'");
    EXPECT_EQ(fetch(), "");
    EXPECT_EQ(fetch(), "");
    conn_.exec("COMMIT PREPARED 'after'");
    EXPECT_EQ(fetch(), "after");
    end_turn();
    EXPECT_EQ(fetch(), "");
    conn_.exec("COMMIT PREPARED 'before'");
    EXPECT_EQ(fetch(), "before");
}

TEST_F(QueueGaps, TurnsOfManyPreparedTransactions) {
    make_turn_gap();
    constexpr int kMany = 15;  // more than a cursor keeps
    for (int i = 0; i < kMany; ++i) {
        other().exec("BEGIN; " + start("p" + to_string(i), 1500 + i) + "; PREPARE TRANSACTION 'p" +
                     to_string(i) + "'");
        EXPECT_EQ(fetch(), "");
    }
    for (int i = kMany - 1; i >= 0; --i) {
        conn_.exec("COMMIT PREPARED 'p" + to_string(i) + "'");
        EXPECT_EQ(fetch(), "p" + to_string(i));
    }
}

TEST_F(QueueGaps, TurnPreparedBeforeARestart) {
    other().exec("BEGIN; " + start("before", 1500) + "; PREPARE TRANSACTION 'before'");
    cluster_.restart();
    conn_ = cluster_.connect();
    make_turn_gap();
    conn_.exec("COMMIT PREPARED 'before'");
    EXPECT_EQ(fetch(), "before");
}

TEST_F(QueueGaps, TurnThatComesBackAfterADelay) {
    conn_.exec(start("back", 900));
    ASSERT_EQ(fetch(1400), "back");
    const std::string token = token_;
    make_turn_gap();
    other().exec("SELECT app.abandon_orchestration_item('" + token + "', 100, p_now_ms => 1400)");
    EXPECT_EQ(fetch(), "back");
}

TEST_F(QueueGaps, TurnThatIsGivenBack) {
    conn_.exec(start("leased", 1500));
    ASSERT_EQ(fetch(), "leased");
    const std::string token = token_;
    make_turn_gap();
    Conn worker = other();
    worker.exec("BEGIN; SELECT app.abandon_orchestration_item('" + token +
                "', p_now_ms => 3000); ROLLBACK");
    EXPECT_EQ(fetch(), "");
    worker.exec("SELECT app.abandon_orchestration_item('" + token + "', p_now_ms => 3000)");
    EXPECT_EQ(fetch(), "leased");
}

TEST_F(QueueGaps, TurnThatWasParked) {
    conn_.exec("SELECT app.raise_event('orphan', 'e', '', false, 1500)");
    ASSERT_EQ(fetch(), "");
    make_turn_gap();
    other().exec(
        "SELECT app.append_history('orphan', 1, '[{\"event_id\":1,\"event_data\":\"{}\"}]')");
    EXPECT_EQ(fetch(), "orphan");
}

TEST_F(QueueGaps, TurnThatChangesItsSlot) {
    Conn owner = other();
    // An instance that is not in slot 0 of 4.
    conn_.exec(start("i", 1500));
    owner.exec("SELECT belay.set_hub_option('app', 'slot_count', '4')");
    for (int i = 0; conn_.value("SELECT slot FROM app.orchestrator_queue") == "0"; ++i) {
        ASSERT_NE(fetch(), "");
        end_turn();
        conn_.exec(start("i" + to_string(i), 1500));
    }
    const std::string waits = conn_.value("SELECT instance_id FROM app.orchestrator_queue");
    // No session serves its slot meanwhile, and slot 0 has a gap where it will be.
    const Conn old = old_snapshot();
    constexpr int kTurns = 400;
    for (int i = 0; i < kTurns; ++i) {
        conn_.exec(start("g" + to_string(i), 1300 + i));
    }
    const std::string next =
        "SELECT lock_token FROM app.fetch_orchestration_item("
        "86400000, p_slots => '{0}', p_now_ms => 3000)";
    int ended = 0;
    for (Rows rows = conn_.exec(next); rows.size() == 1; rows = conn_.exec(next)) {
        token_ = rows.at(0, 0).value_or("");
        conn_.exec(ack_sql());
        ++ended;
    }
    ASSERT_GT(ended, 65);
    owner.exec("SELECT belay.set_hub_option('app', 'slot_count', '1')");
    for (int i = ended; i < kTurns; ++i) {
        const std::string found = fetch();
        if (found == waits) {
            return;
        }
        end_turn();
    }
    EXPECT_EQ(fetch(), waits);
}

TEST_F(QueueGaps, TurnOfTheSameTransaction) {
    make_turn_gap();
    conn_.exec("BEGIN; " + start("own", 1500));
    EXPECT_EQ(fetch(), "own");
    conn_.exec("ROLLBACK");
    conn_.exec("BEGIN; SAVEPOINT a; " + start("undone", 1500) + "; ROLLBACK TO a");
    EXPECT_EQ(fetch(), "");
    conn_.exec("COMMIT");
}

// What a transaction has deleted it does not see itself; rolled back, it is there again.
TEST_F(QueueGaps, TurnWhoseEndIsRolledBack) {
    for (const char* undo : {"ROLLBACK", "ROLLBACK TO a; COMMIT"}) {
        conn_.exec(start(undo, 1500));
        ASSERT_EQ(conn_.value("SELECT instance_id FROM app.fetch_orchestration_item("
                              "1000, p_now_ms => 3000)"),
                  undo);
        token_ =
            conn_.value("SELECT lock_token FROM app.instance_lock_states WHERE instance_id = '" +
                        std::string(undo) + "'");
        const std::string held = token_;
        make_turn_gap();
        token_ = held;
        conn_.exec("BEGIN; SAVEPOINT a; " + ack_sql());
        EXPECT_EQ(fetch(3500), "");
        EXPECT_EQ(fetch(3500), "");
        conn_.exec(undo);
        EXPECT_EQ(fetch(4001), undo);
        end_turn();
    }
}

// A direct write to the table is not noted in the gaps; the duty finds it.
TEST_F(QueueGaps, TurnWrittenByHand) {
    conn_.exec(start("hand", 5000));
    make_turn_gap();
    conn_.exec("UPDATE app.orchestrator_queue SET visible_at = to_timestamp(1.5)");
    EXPECT_EQ(fetch(), "");
    EXPECT_EQ(conn_.value("SELECT rows FROM app.reconcile(p_duties => '{cursor_repair}')"), "1");
    EXPECT_EQ(fetch(), "hand");
}

TEST_F(QueueGaps, TaskThatIsCommittedLate) {
    Conn late = other();
    late.exec("BEGIN; " + create("late", 5));
    Conn partly = other();
    partly.exec("BEGIN; SAVEPOINT a; " + create("undone", 4) + "; ROLLBACK TO a; SAVEPOINT b; " +
                create("partly", 4) + "; RELEASE b");
    make_task_gap();
    late.exec("COMMIT");
    EXPECT_EQ(claim(), "late");
    partly.exec("COMMIT");
    EXPECT_EQ(claim(), "partly");
    EXPECT_EQ(claim(), "");
}

TEST_F(QueueGaps, TaskThatIsPrepared) {
    other().exec("BEGIN; " + create("before", 5) + "; PREPARE TRANSACTION 'before'");
    other().exec("BEGIN; " + create("delayed", 5, ", p_delay_ms => 1") +
                 "; PREPARE TRANSACTION 'delayed'");
    make_task_gap();
    other().exec("BEGIN; " + create("after", 5) + "; PREPARE TRANSACTION 'after'");
    EXPECT_EQ(claim(), "");
    EXPECT_EQ(claim(), "");
    for (const char* name : {"after", "before"}) {
        conn_.exec("COMMIT PREPARED '" + std::string(name) + "'");
        EXPECT_EQ(claim(), name);
    }
    conn_.exec("COMMIT PREPARED 'delayed'");
    conn_.exec("SELECT app.reconcile(p_duties => '{cursor_repair}')");  // tells of its due time
    EXPECT_EQ(claim(), "delayed");
}

// Each way in which a task becomes ready again, or first.
TEST_F(QueueGaps, TaskThatBecomesReady) {
    const auto expect = [this](const char* name, const std::function<void(Conn*)>& before,
                               const std::function<void(Conn*)>& after, int64_t at = 3000) {
        SCOPED_TRACE(name);
        Conn conn = other();
        before(&conn);
        const std::string task = task_;
        const std::string epoch = epoch_;
        make_task_gap();
        task_ = task;
        epoch_ = epoch;
        after(&conn);
        EXPECT_EQ(claim(at), name);
        conn_.exec(of_lease("complete_task"));
        EXPECT_EQ(claim(), "");
    };
    const auto claimed = [this](const char* name, const std::string& policy = "") {
        return [this, name, policy](Conn* conn) {
            conn->exec(create(name, 5, policy));
            ASSERT_EQ(claim(), name);
        };
    };
    const auto nothing = [](Conn*) {};
    expect("created", nothing, [](Conn* conn) { conn->exec(create("created", 5)); });
    expect("released", claimed("released"),
           [this](Conn* conn) { conn->exec(of_lease("release_task")); });
    expect("rolled back", claimed("rolled back"), [this](Conn* conn) {
        conn->exec("BEGIN; " + of_lease("release_task") + "; ROLLBACK");
        EXPECT_EQ(claim(), "");
        conn->exec(of_lease("release_task"));
    });
    expect("delayed", claimed("delayed"), [this](Conn* conn) {
        conn->exec("SELECT app.release_task('" + task_ + "', " + epoch_ + ", 500, 1500)");
    });
    expect("revoked", claimed("revoked"), [this](Conn* conn) {
        conn->exec("SELECT app.revoke_lease('" + task_ + "', p_now_ms => 3000)");
    });
    expect("failed", claimed("failed", ", p_policy => '{\"max_attempts\":3}'"), [this](Conn* conn) {
        conn->exec("SELECT app.fail_task('" + task_ + "', " + epoch_ +
                   ", 'transient', p_retry_after_ms => 1, p_now_ms => 1500)");
    });
    expect(
        "expired",
        [this](Conn* conn) {
            conn->exec(create("expired", 5));
            ASSERT_EQ(claim(1000, 4000), "expired");  // a claim takes back what is over
        },
        [](Conn* conn) {
            conn->exec("SELECT app.reconcile(p_duties => '{lease_expiry}', p_now_ms => 5100)");
        },
        6000);
    expect(
        "priority",
        [](Conn* conn) { conn->exec(create("priority", 0, ", p_available_at_ms => 4000")); },
        [](Conn* conn) {
            conn->exec("SELECT app.reconcile(p_duties => '{due_timers}', p_now_ms => 4000)");
            conn->exec(
                "SELECT app.change_priority((SELECT id FROM app.tasks WHERE kind = "
                "'priority'), 5, 3000)");
        });
    expect(
        "replayed",
        [this, &claimed](Conn* conn) {
            claimed("replayed")(conn);
            conn->exec(of_lease("complete_task"));
        },
        [this](Conn* conn) {
            conn->exec("SELECT app.replay_task('" + task_ + "', p_now_ms => 3000)");
        });
    expect(
        "resumed",
        [this, &claimed](Conn* conn) {
            claimed("resumed")(conn);
            conn->exec(
                "SELECT app.suspend_task('" + task_ + "', " + epoch_ +
                ", '{\"waitpoints\":[{\"key\":\"k\"}],\"condition\":\"operator_only\"}', 3000)");
        },
        [this](Conn* conn) {
            conn->exec("SELECT app.resume_task('" + task_ + "', p_now_ms => 3000)");
        });
    expect("member", nothing, [](Conn* conn) {
        conn->exec(
            "SELECT app.create_flow('{\"tasks\":[{\"key\":\"a\",\"queue\":\"l\",\"kind\":"
            "\"member\",\"priority\":5}]}', 1000)");
    });
    expect(
        "second",
        [this](Conn* conn) {
            conn->exec(
                "SELECT app.create_flow('{\"tasks\":[{\"key\":\"a\",\"queue\":\"l\",\"kind\":"
                "\"first\",\"priority\":5},{\"key\":\"b\",\"queue\":\"l\",\"kind\":\"second\","
                "\"priority\":5,\"after\":[\"a\"]}]}', 1000)");
            ASSERT_EQ(claim(), "first");
        },
        [this](Conn* conn) {
            conn->exec(of_lease("complete_task"));
            conn->exec("SELECT app.reconcile(p_now_ms => 3000)");
        });
}

TEST_F(QueueGaps, TaskThatChangesItsSlot) {
    conn_.exec(create("waits", 5));
    conn_.exec("SELECT belay.set_hub_option('app', 'slot_count', '4')");
    while (conn_.value("SELECT slot FROM app.tasks WHERE state = 'ready'") == "0") {
        ASSERT_EQ(claim(), "waits");
        conn_.exec(of_lease("complete_task"));
        conn_.exec(create("waits", 5));
    }
    const Conn old = old_snapshot();
    for (int i = 0; i < 400; ++i) {
        conn_.exec(create("g", i % 2 * 9));
    }
    const std::string slot_0 =
        "SELECT count(*) FROM app.claim_tasks('w', 'i', '{l}', p_lease_ms => 500, p_max_items => "
        "1000, "
        "p_slots => '{0}', p_now_ms => 3000)";
    ASSERT_GT(std::stoi(conn_.value(slot_0)), 65);
    ASSERT_EQ(conn_.value(slot_0), "0");
    ASSERT_EQ(conn_.value(slot_0), "0");
    conn_.exec("SELECT app.cancel_task(id, p_now_ms => 3000) FROM app.tasks WHERE kind = 'g'");
    conn_.exec("SELECT belay.set_hub_option('app', 'slot_count', '1')");
    EXPECT_EQ(claim(), "waits");
}

// What a transaction has claimed leaves the index, as far as it can see; rolled back, it is there.
TEST_F(QueueGaps, TaskWhoseClaimIsRolledBack) {
    make_task_gap();
    for (const char* undo : {"ROLLBACK", "ROLLBACK TO a; COMMIT"}) {
        conn_.exec(create("undone", 5));
        conn_.exec("BEGIN; SAVEPOINT a");
        EXPECT_EQ(claim(), "undone");
        EXPECT_EQ(claim(), "");
        EXPECT_EQ(claim(), "");
        conn_.exec(undo);
        EXPECT_EQ(claim(), "undone");
        EXPECT_EQ(claim(), "");
    }
    conn_.exec("BEGIN; " + create("own", 5));
    EXPECT_EQ(claim(), "own");
    conn_.exec("ROLLBACK");
    EXPECT_EQ(claim(), "");
}

TEST_F(QueueGaps, TaskWrittenByHand) {
    conn_.exec(create("hand", 5, ", p_available_at_ms => 9000"));
    make_task_gap();
    conn_.exec("UPDATE app.tasks SET state = 'ready', available_at_ms = 1500 WHERE kind = 'hand'");
    EXPECT_EQ(claim(), "");
    EXPECT_EQ(conn_.value("SELECT rows FROM app.reconcile(p_duties => '{cursor_repair}')"), "1");
    EXPECT_EQ(claim(), "hand");
}

}  // namespace
}  // namespace belay::test
