// ER-4: every call is one unit. Each verb is run once for every call that it makes into the store,
// with that call failing: the error is the injected one, the tables are as before, and so is what
// belay keeps in shared memory. It ends with the run in which no call was left to fail.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <random>
#include <set>

#include "scenario.hpp"

namespace belay::test::robust {
namespace {

constexpr int kMostCalls = 2000;
constexpr const char* kFault = "injected fault at \"store.call\"";

Cluster::Options quiet() {
    return {.preload = true, .conf = {"belay.reconcile_interval = 0", "autovacuum = off"}};
}

void arm(Conn& conn, int skip) {
    conn.exec("SELECT belay.inject_fault('store.call', 1, " + std::to_string(skip) + ")");
}

// Whether the fault still waits; it does no more.
bool disarm(Conn& conn) {
    const bool armed =
        conn.value("SELECT count FROM belay.faults() WHERE point = 'store.call'") != "0";
    conn.exec("SELECT belay.inject_fault('store.call', 0, 0)");
    return armed;
}

// Names of verbs that a hub has and that may write, as their functions' declarations tell.
std::set<std::string> writing_verbs(Conn& conn, const std::string& hub) {
    const Rows rows = conn.exec(
        "SELECT p.prosrc FROM pg_proc AS p JOIN pg_language AS l ON l.oid = p.prolang WHERE "
        "l.lanname = "
        "'belay' AND p.provolatile = 'v' AND p.prokind = 'f' AND p.pronamespace = '" +
        hub + "'::regnamespace");
    std::set<std::string> names;
    for (int i = 0; i < rows.size(); ++i) {
        names.insert(*rows.at(i, 0));
    }
    return names;
}

// What can be had from a hub now, as sorted text; everything is taken back.
std::string takings(Conn& conn, const std::string& hub) {
    std::vector<std::string> got;
    conn.exec("BEGIN");
    const auto drain = [&](const std::string& sql) {
        for (int i = 0; i < 100; ++i) {
            const Rows rows = conn.exec(filled(sql, hub, {}));
            if (rows.size() == 0) {
                return;
            }
            for (int row = 0; row < rows.size(); ++row) {
                got.push_back(rows.at(row, 0).value_or("none"));
            }
        }
        ADD_FAILURE() << "there is no end to " << sql;
    };
    drain("SELECT work_item FROM <hub>.fetch_work_item(1000, 'thief', 1000, p_now_ms => 150000)");
    drain("SELECT instance_id FROM <hub>.fetch_orchestration_item(1000, p_now_ms => 150000)");
    drain(
        "SELECT task_id FROM <hub>.claim_tasks('w', 'i', NULL, '{gpu,a,b,c,x}', p_now_ms => 1200)");
    conn.exec("ROLLBACK");
    std::sort(got.begin(), got.end());
    std::string text;
    for (const auto& line : got) {
        text += line + "\n";
    }
    return text;
}

enum class Undo { kTransaction, kSavepoint };

// Lets call number nth of the statement fail. False: it was not reached, and nothing is left of the
// success either.
bool fails_at(Conn& conn, const std::string& hub, const std::string& statement, int nth, Undo undo,
              const std::string& before) {
    arm(conn, nth);
    conn.exec("BEGIN");
    if (undo == Undo::kSavepoint) {
        conn.exec("SAVEPOINT s");
    }
    const Outcome outcome = attempt(conn, statement);
    if (outcome.ok()) {
        EXPECT_TRUE(disarm(conn)) << "somebody swallowed the failure of call " << nth;
        EXPECT_NE(digest(conn, hub), before) << "it does nothing";
        conn.exec("ROLLBACK");
        EXPECT_EQ(digest(conn, hub), before) << "something is left of a success";
        return false;
    }
    EXPECT_EQ(outcome.message, kFault) << outcome.sqlstate << " " << outcome.detail;
    if (undo == Undo::kSavepoint) {
        conn.exec("ROLLBACK TO s");
        EXPECT_EQ(digest(conn, hub), before) << "call " << nth << ", in the transaction";
        conn.exec("COMMIT");
    } else {
        conn.exec("ROLLBACK");
    }
    EXPECT_FALSE(disarm(conn));
    EXPECT_EQ(digest(conn, hub), before) << "call " << nth;
    return true;
}

// How many calls there were to fail. Every other one ends the transaction; first: the others.
int fail_each(Conn& conn, const std::string& hub, const std::string& statement, bool first) {
    const std::string before = digest(conn, hub);
    int nth = 0;
    while (fails_at(conn, hub, statement, nth,
                    (nth % 2 == 0) == first ? Undo::kTransaction : Undo::kSavepoint, before)) {
        if (::testing::Test::HasFailure() || ++nth > kMostCalls) {
            ADD_FAILURE() << statement;
            break;
        }
    }
    return nth;
}

// Each failure is undone with its savepoint in one run and with its transaction in the other.
class NthCall : public ::testing::TestWithParam<bool> {};

TEST_P(NthCall, LeavesNothingBehind) {
    Cluster cluster(quiet());
    Conn conn = cluster.connect();
    conn.exec("CREATE EXTENSION belay");
    const Words words = make_full_hub(conn, "f");
    const Words duroxide_words = make_duroxide_hub(conn, "d");

    std::set<std::string> covered = {"guard", "guard_task"};  // of the next test
    for (const Call& call : writing_calls()) {
        covered.insert(call.verb);
    }
    for (const auto& verb : writing_verbs(conn, "f")) {
        EXPECT_TRUE(covered.contains(verb)) << "no call of " << verb;
    }
    for (const Call& call : writing_duroxide_calls()) {
        covered.insert(call.verb);
    }
    for (const auto& verb : writing_verbs(conn, "d")) {
        EXPECT_TRUE(covered.contains(verb)) << "no call of " << verb;
    }

    const std::string there = takings(conn, "f");
    EXPECT_GT(std::count(there.begin(), there.end(), '\n'), 12) << there;

    int failures = 0;
    for (const Call& call : writing_calls()) {
        SCOPED_TRACE(std::string(call.verb) + "(" + call.arguments + ")");
        const int failed = fail_each(conn, "f", statement_of(call, "f", words), GetParam());
        EXPECT_GT(failed, 0);
        failures += failed;
        ASSERT_FALSE(HasFailure());
    }
    for (const Call& call : writing_duroxide_calls()) {
        SCOPED_TRACE(call.verb);
        failures += fail_each(conn, "d", statement_of(call, "d", duroxide_words), GetParam());
        ASSERT_FALSE(HasFailure());
    }
    std::cout << failures << " failures" << std::endl;

    // Nothing is stranded, for this session and for another.
    EXPECT_EQ(complaints(conn, "f"), "");
    EXPECT_EQ(complaints(conn, "d"), "");
    EXPECT_EQ(takings(conn, "f"), there);
    Conn other = cluster.connect();
    EXPECT_EQ(takings(other, "f"), there);
    EXPECT_EQ(other.value("CALL f.wait_for_work('{worker}', 0)"), "worker");
    EXPECT_EQ(other.value("CALL f.wait_for_work('{orchestrator}', 0)"), "orchestrator");
    EXPECT_EQ(other.value("SELECT waiters FROM belay.shared_memory()"), "0");
    // And the tokens of before are good.
    const std::string renewals =
        "SELECT count(*) FROM f.renew_work_item_locks(ARRAY['<work1>', '<work2>', '<work3>'], "
        "1000, p_now_ms => 2000) WHERE renewed";
    EXPECT_EQ(other.value(filled(renewals, "f", words)), "3");
    other.exec(filled(
        "SELECT f.ack_orchestration_item('<turn>', 2, '[]', '[]', '[]', '{}', p_now_ms => 2000)",
        "f", words));
}

INSTANTIATE_TEST_SUITE_P(Undone, NthCall, ::testing::Bool(), [](const auto& info) {
    return info.param ? "TransactionFirst" : "SavepointFirst";
});

// A guard reads its lease once more when the transaction commits. If it cannot, nothing commits.
TEST(NthCallAtCommit, LeavesNothingBehind) {
    Cluster cluster(quiet());
    Conn conn = cluster.connect();
    conn.exec("CREATE EXTENSION belay");
    const Words words = make_full_hub(conn, "f");
    for (const char* guard : {"guard('<work1>')", "guard('<turn>')", "guard_task('<01>', 1)"}) {
        SCOPED_TRACE(guard);
        // A guard goes by the server's clock; these leases are live by a chosen one.
        conn.exec("UPDATE f.worker_queue SET locked_until = 9000000000000 WHERE locked_until > 0");
        conn.exec(
            "UPDATE f.instance_locks SET locked_until = 9000000000000 WHERE locked_until > 0");
        conn.exec(
            "UPDATE f.tasks SET lease_until_ms = 9000000000000 WHERE lease_until_ms IS NOT NULL");
        const std::string transaction = filled(std::string("BEGIN; SELECT <hub>.") + guard +
                                                   "; SELECT <hub>.raise_event('i', 'n'); COMMIT",
                                               "f", words);
        const std::string before = digest(conn, "f");
        int nth = 0;
        while (true) {
            arm(conn, nth);
            const Outcome outcome = attempt(conn, transaction);
            if (outcome.ok()) {
                break;
            }
            EXPECT_EQ(outcome.message, kFault) << outcome.sqlstate;
            if (PQtransactionStatus(conn.raw()) != PQTRANS_IDLE) {
                conn.exec("ROLLBACK");
            }
            ASSERT_EQ(digest(conn, "f"), before) << "call " << nth;
            ASSERT_LT(++nth, kMostCalls);
        }
        EXPECT_GE(nth, 3);  // the guard, the event, the end
        EXPECT_TRUE(disarm(conn));
        EXPECT_NE(digest(conn, "f"), before);
    }
    EXPECT_EQ(complaints(conn, "f"), "");
}

// What the catalogs have of hubs: schemas, functions, tables and views, with their rights.
std::string catalogs(Conn& conn) {
    return conn.value(
        "SELECT md5(string_agg(line, '|' ORDER BY line COLLATE \"C\")) FROM ("
        "SELECT concat_ws(' ', p.oid::regprocedure, p.proowner, p.proacl, p.prosrc) FROM pg_proc "
        "AS p "
        "JOIN pg_language AS l ON l.oid = p.prolang WHERE l.lanname = 'belay' UNION ALL "
        "SELECT concat_ws(' ', c.oid::regclass, c.relowner, c.relacl, c.relkind) FROM pg_class AS "
        "c "
        "WHERE c.relnamespace >= 16384 UNION ALL "
        "SELECT concat_ws(' ', n.nspname, n.nspowner, n.nspacl) FROM pg_namespace AS n UNION ALL "
        "SELECT p::text FROM belay.hub_places AS p UNION ALL "
        "SELECT m::text FROM belay.hub_families AS m UNION ALL "
        "SELECT version::text FROM old.belay_hub) AS v "
        "(line)");
}

// The functions of schema belay make, change and drop hubs with many statements. Which of them
// fails makes no difference. All of them in the long form, else a part that the seed chooses.
TEST(NthCallOfAdministration, LeavesNothingBehind) {
    const auto seed = seed_of_run();
    SCOPED_TRACE("BELAY_SEED=" + std::to_string(seed));
    std::mt19937_64 random(seed);
    Cluster cluster(quiet());
    Conn conn = cluster.connect();
    conn.exec("CREATE EXTENSION belay");
    make_full_hub(conn, "f");
    conn.exec("SELECT belay.create_hub('small')");
    conn.exec("SELECT belay.create_hub('old')");
    conn.exec("DROP FUNCTION old.list_expired_leases");  // an upgrade brings it back
    conn.exec(
        "CREATE ROLE nobody_yet; CREATE ROLE client_already; CREATE EXTENSION postgres_fdw; "
        "CREATE SERVER far FOREIGN DATA WRAPPER postgres_fdw; "
        "SELECT belay.grant_hub('f', 'client_already', 'operator'), "
        "belay.create_hub_link('f', 'linked', 'far')");
    const char* calls[] = {
        "SELECT belay.set_hub_option('f', 'slot_count', '4')",
        "SELECT belay.set_hub_option('f', 'events', NULL)",
        "SELECT belay.new_incarnation('f')",
        "SELECT belay.new_incarnation()",
        "SELECT belay.create_hub_link('f', 'other', 'far')",
        "SELECT belay.drop_hub_link('f', 'linked')",
        "SELECT belay.grant_hub('f', 'nobody_yet', 'operator')",
        "SELECT belay.revoke_hub('f', 'client_already', 'operator')",
        "SELECT belay.upgrade_hub('old')",
        "SELECT belay.drop_hub('f', true)",
        "SELECT belay.drop_hub('small')",
        "SELECT belay.create_hub('new')",
        "SELECT belay.create_hub('new', 'duroxide-pg')",
        "SELECT belay.set_hub_place('f', 'far', 5432)",
        "SELECT belay.set_hub_place('unknown', 'far', 5432)",
        "CALL belay.create_hub_family('family', 1)",
    };
    for (const char* call : calls) {
        SCOPED_TRACE(call);
        const std::string rows = digest(conn, "f");
        const std::string objects = catalogs(conn);
        int nth = 0;
        int failures = 0;
        while (true) {
            arm(conn, nth);
            conn.exec("BEGIN");
            const Outcome outcome = attempt(conn, call);
            if (outcome.ok()) {
                EXPECT_TRUE(disarm(conn));
                EXPECT_TRUE(catalogs(conn) != objects || digest(conn, "f") != rows);
            } else {
                EXPECT_EQ(outcome.message, kFault) << outcome.sqlstate;
            }
            conn.exec("ROLLBACK");
            ASSERT_EQ(digest(conn, "f"), rows) << "call " << nth;
            ASSERT_EQ(catalogs(conn), objects) << "call " << nth;
            if (outcome.ok()) {
                break;
            }
            ++failures;
            // The first few are different in kind; then come many of a kind.
            nth += long_form() || nth < 4 ? 1 : 1 + static_cast<int>(random() % 40);
            ASSERT_LT(nth, kMostCalls);
        }
        EXPECT_GT(failures, 0);
        conn.exec("SELECT belay.inject_fault('store.call', 0, 0)");
    }
    for (const char* hub : {"f", "small"}) {
        EXPECT_EQ(complaints(conn, hub), "");
    }
}

}  // namespace
}  // namespace belay::test::robust
