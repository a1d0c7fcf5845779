// Hubs that this version and earlier ones have made, in test/frozen/<version>/<api>.sql: this
// version serves them as they are, upgrades them, and their work continues. As long as this version
// is not tagged, `make freeze-hub` makes its hubs anew after every change of what a hub consists
// of.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "cluster.hpp"
#include "hub_shape.hpp"

namespace belay::test {
namespace {

namespace fs = std::filesystem;

std::string frozen_directory() {
    const char* root = std::getenv("BELAY_ROOT");
    if (root == nullptr) {
        throw std::runtime_error("BELAY_ROOT is not set");
    }
    return std::string(root) + "/test/frozen";
}

struct Frozen {
    std::string version;
    std::string api;

    std::string file(const std::string& ending = ".sql") const {
        return frozen_directory() + "/" + version + "/" + api + ending;
    }
    // What its clients do, and what that prints.
    std::string work() const { return frozen_directory() + "/work_" + api + ".sql"; }
    std::string expected() const { return frozen_directory() + "/work_" + api + ".out"; }
    friend std::ostream& operator<<(std::ostream& out, const Frozen& frozen) {
        return out << frozen.version << ", api " << frozen.api;
    }
};

std::vector<Frozen> frozen_hubs() {
    std::vector<Frozen> all;
    for (const auto& version : fs::directory_iterator(frozen_directory())) {
        if (version.is_directory()) {
            for (const auto& file : fs::directory_iterator(version)) {
                if (file.path().extension() == ".sql") {
                    all.push_back({version.path().filename(), file.path().stem()});
                }
            }
        }
    }
    return all;
}

std::string text_of(const std::string& file) {
    std::ifstream in(file);
    std::string text((std::istreambuf_iterator<char>(in)), {});
    EXPECT_FALSE(text.empty()) << file;
    return text;
}

constexpr const char* kDatabase = "frozen";

// A server with the frozen hub in a database, as a restore leaves it.
class FrozenHub {
 public:
    explicit FrozenHub(const Frozen& frozen)
        : frozen_(frozen), cluster_({.preload = true, .conf = {"belay.reconcile_interval = 0"}}) {
        make_upgrade_roles(cluster_);
        make_upgrade_database(cluster_, kDatabase);
        cluster_.run({"psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-1", "-o", "/dev/null", "-d",
                      kDatabase, "-f", frozen.file()});
    }

    Conn connect(const std::string& user = "postgres") { return cluster_.connect(kDatabase, user); }

    // From now on the hub has always been here, as with an upgrade in place: its leases are live.
    void put_in_place() {
        connect().exec(R"sql(
            UPDATE old.belay_hub
               SET mark = format('%s/%s/%s/%s', (SELECT system_identifier FROM pg_control_system()),
                                 (SELECT timeline_id FROM pg_control_checkpoint()),
                                 (SELECT oid FROM pg_database WHERE datname = current_database()),
                                 'old'::regnamespace::oid)::text::belay.hub_mark
        )sql");
    }

    bool is_current() {
        return connect().value("SELECT is_current FROM belay.hubs WHERE name = 'old'") == "t";
    }

    // What a hub of this version consists of, in another database.
    std::vector<std::string> wanted_shape() {
        make_upgrade_database(cluster_, "fresh");
        Conn owner = cluster_.connect("fresh", "upgrade_owner");
        owner.exec("SELECT belay.create_hub('old', '" + frozen_.api + "')");
        for (const std::string level : {"client", "worker", "operator", "monitor"}) {
            owner.exec("SELECT belay.grant_hub('old', 'upgrade_" + level + "', '" + level + "')");
        }
        Conn fresh = cluster_.connect("fresh");
        return shape(fresh);
    }

    void expect_whole(const std::vector<std::string>& wanted) {
        Conn conn = connect();
        const auto found = shape(conn);
        for (const auto& line : wanted) {
            EXPECT_TRUE(std::binary_search(found.begin(), found.end(), line)) << "lacks " << line;
        }
        for (const auto& line : found) {
            EXPECT_TRUE(std::binary_search(wanted.begin(), wanted.end(), line)) << "has " << line;
        }
        const Rows rows = conn.exec("SELECT object, problem FROM belay.check_hub('old', 'all')");
        for (int row = 0; row < rows.size(); ++row) {
            ADD_FAILURE() << rows.at(row, 0).value_or("") << ": " << rows.at(row, 1).value_or("");
        }
    }

    // Clients with leases and roles of the frozen hub use it, and see what they always saw.
    void expect_work_continues() {
        const std::string output = cluster_.run(
            {"psql", "-X", "-qAt", "-v", "ON_ERROR_STOP=1", "-d", kDatabase, "-f", frozen_.work()});
        EXPECT_EQ(output, text_of(frozen_.expected()));
    }

    // What programs that were written for the frozen hub call and read is there: each function with
    // its arguments, others only behind them and with a default, and the same results. Views may
    // have further columns.
    void expect_surface() {
        Conn conn = connect();
        conn.exec(
            "CREATE TEMP TABLE frozen (kind text, name text, arguments text[], required int, "
            "results text[])");
        PQclear(PQexec(conn.raw(), "COPY frozen FROM STDIN"));
        const std::string rows = text_of(frozen_.file(".surface"));
        ASSERT_EQ(PQputCopyData(conn.raw(), rows.data(), static_cast<int>(rows.size())), 1);
        ASSERT_EQ(PQputCopyEnd(conn.raw(), nullptr), 1);
        while (PGresult* result = PQgetResult(conn.raw())) {
            EXPECT_EQ(PQresultStatus(result), PGRES_COMMAND_OK) << PQresultErrorMessage(result);
            PQclear(result);
        }
        const Rows missing = conn.exec(
            "WITH current AS (" + text_of(frozen_directory() + "/surface.sql") +
            ") SELECT f::text FROM frozen AS f WHERE NOT EXISTS (SELECT 1 FROM current AS c "
            "WHERE c.kind = f.kind AND c.name = f.name "
            "AND c.arguments[1:cardinality(f.arguments)] = f.arguments "
            "AND c.required <= f.required "
            "AND CASE f.kind WHEN 'view' THEN c.results[1:cardinality(f.results)] "
            "ELSE c.results END = f.results)");
        for (int row = 0; row < missing.size(); ++row) {
            ADD_FAILURE() << "clients of " << frozen_ << " miss "
                          << missing.at(row, 0).value_or("");
        }
    }

 private:
    Frozen frozen_;
    Cluster cluster_;
};

class FrozenHubs : public testing::TestWithParam<Frozen> {};

// HB-5: a hub of an earlier version, or of this one, is served without an upgrade. One that has
// this version consists of what create_hub makes: a change of that is either an upgrade step, or
// made before the version is tagged and frozen again.
TEST_P(FrozenHubs, AreServedAsTheyAre) {
    FrozenHub hub(GetParam());
    hub.put_in_place();
    if (hub.is_current()) {
        SCOPED_TRACE("if the version is not tagged yet: make freeze-hub");
        hub.expect_whole(hub.wanted_shape());
    }
    hub.expect_work_continues();
}

// HB-5: upgraded in place, it is what create_hub makes, has the same rows, and its leases are live.
TEST_P(FrozenHubs, AreUpgradedAndContinue) {
    FrozenHub hub(GetParam());
    hub.put_in_place();
    Conn conn = hub.connect();
    auto before = contents(conn);
    before.erase("belay_hub");
    hub.expect_surface();
    hub.connect("upgrade_owner").exec("SELECT belay.upgrade_hub('old')");
    hub.expect_surface();
    const auto wanted = hub.wanted_shape();
    hub.expect_whole(wanted);
    const auto after = contents(conn);
    for (const auto& [table, rows] : before) {
        EXPECT_EQ(after.at(table), rows) << table;
    }
    hub.expect_work_continues();
    hub.expect_whole(wanted);
}

INSTANTIATE_TEST_SUITE_P(All, FrozenHubs, testing::ValuesIn(frozen_hubs()), [](const auto& info) {
    std::string name = info.param.version + "_" + info.param.api;
    std::replace_if(
        name.begin(), name.end(), [](char c) { return !isalnum(c); }, '_');
    return name;
});

constexpr int64_t kFrozenAt = 1767225600000;

// IC-2: restored elsewhere it begins a new incarnation: the leases of old are lost, and the work is
// leased again.
TEST(FrozenElsewhere, LosesItsLeasesAndNothingElse) {
    for (const Frozen& frozen : frozen_hubs()) {
        if (frozen.api != "belay") {
            continue;
        }
        SCOPED_TRACE(frozen);
        FrozenHub hub(frozen);
        Conn conn = hub.connect();
        const std::string token = conn.value("SELECT value FROM kept.entries WHERE what = 'work'");
        const std::string at = std::to_string(kFrozenAt + 60000);
        EXPECT_EQ(conn.error_of("SELECT old.ack_worker('" + token + "', p_now_ms => " + at + ")"),
                  "QB001");
        EXPECT_EQ(conn.value("SELECT work_item::jsonb #>> '{ActivityExecute,id}' FROM "
                             "old.fetch_work_item(60000, p_now_ms => " +
                             at + ")"),
                  "2");
        EXPECT_EQ(conn.value("SELECT incarnation FROM old.belay_hub"), "2");
        EXPECT_EQ(conn.value("SELECT count(*) FROM old.claim_tasks('w', 'i', '{mail,progress}', "
                             "p_max_items => 9, p_now_ms => " +
                             at + ")"),
                  "2");
    }
}

// The freeze misses no kind of row: every table has one, and every state that rows can be in.
TEST(FrozenRows, AreOfEveryKind) {
    for (const Frozen& frozen : frozen_hubs()) {
        if (frozen.api != "belay") {
            continue;
        }
        SCOPED_TRACE(frozen);
        FrozenHub hub(frozen);
        Conn conn = hub.connect();
        for (const auto& [table, rows] : contents(conn)) {
            EXPECT_FALSE(rows.empty()) << table;
        }
        const std::map<std::string, std::string> kinds = {
            {"task_states.state",
             "active,blocked,cancelled,completed,delayed,expired,failed,ready,skipped,suspended"},
            {"flow_summary.state", "cancelled,completed,failed,open,running"},
            {"groups.state", "impossible,open,satisfied"},
            {"executions.status", "Completed,ContinuedAsNew,Failed,Running"},
            {"cascade_queue.what", "dispatch,sibling_cancel"},
            {"messages.lock_token IS NULL", "false,true"},
            {"work_items.lock_token IS NULL", "false,true"},
            {"intents.queue", "orchestrator,worker"},
            {"dead_letter_summary.queue", "orchestrator,worker"},
            {"waitpoint_keys.signs", "false,true"},
        };
        for (const auto& [column, values] : kinds) {
            const auto dot = column.find('.');
            EXPECT_EQ(conn.value("SELECT string_agg(v, ',' ORDER BY v COLLATE \"C\") FROM (SELECT "
                                 "DISTINCT (" +
                                 column.substr(dot + 1) + ")::text FROM old." +
                                 column.substr(0, dot) + ") AS d (v)"),
                      values)
                << column;
        }
    }
}

}  // namespace
}  // namespace belay::test
