// Api duroxide-pg over the wire: an application with a role and a pool of its own, parameters and
// results in binary, as its driver sends and asks for them; in the schema public too; before and
// after dump and restore.
#include <gtest/gtest.h>
#include <endian.h>

#include <chrono>
#include <cstring>
#include <stdexcept>

#include "cluster.hpp"

namespace belay::test {
namespace {

// ---- The driver ----

constexpr Oid kBool = 16;
constexpr Oid kInt8 = 20;
constexpr Oid kInt4 = 23;
constexpr Oid kText = 25;
constexpr Oid kTextArray = 1009;
constexpr Oid kTimestamptz = 1184;
constexpr Oid kVoid = 2278;
constexpr Oid kJsonb = 3802;

std::string big_endian(int64_t value, int size) {
    const uint64_t swapped = htobe64(static_cast<uint64_t>(value));
    return {reinterpret_cast<const char*>(&swapped) + (8 - size), static_cast<size_t>(size)};
}

// A parameter: its type and its binary form, or null.
struct Param {
    Oid type;
    std::optional<std::string> bytes;
};

Param int8(std::optional<int64_t> value) {
    return {kInt8, value ? std::optional(big_endian(*value, 8)) : std::nullopt};
}
Param int4(std::optional<int> value) {
    return {kInt4, value ? std::optional(big_endian(*value, 4)) : std::nullopt};
}
Param boolean(bool value) {
    return {kBool, std::string(1, value ? '\1' : '\0')};
}
Param text(std::optional<std::string> value) {
    return {kText, std::move(value)};
}
Param jsonb(const std::string& value) {
    return {kJsonb, "\1" + value};
}
Param texts(const std::vector<std::string>& values) {
    std::string bytes =
        big_endian(values.empty() ? 0 : 1, 4) + big_endian(0, 4) + big_endian(kText, 4);
    if (!values.empty()) {
        bytes += big_endian(static_cast<int64_t>(values.size()), 4) + big_endian(1, 4);
    }
    for (const auto& value : values) {
        bytes += big_endian(static_cast<int64_t>(value.size()), 4) + value;
    }
    return {kTextArray, bytes};
}
Param timestamptz_ms(int64_t ms) {
    constexpr int64_t kEpochOffsetMs = 946684800000;
    return {kTimestamptz, big_endian((ms - kEpochOffsetMs) * 1000, 8)};
}

// What a statement answered: rows in binary, or the error.
struct Answer {
    std::unique_ptr<PGresult, void (*)(PGresult*)> result;

    std::string sqlstate() const {
        const char* state = PQresultErrorField(result.get(), PG_DIAG_SQLSTATE);
        return state == nullptr ? "" : state;
    }
    std::string message() const {
        const char* message = PQresultErrorField(result.get(), PG_DIAG_MESSAGE_PRIMARY);
        return message == nullptr ? "" : message;
    }
    int size() const { return PQntuples(result.get()); }
    bool is_null(int column, int row = 0) const {
        return PQgetisnull(result.get(), row, column) != 0;
    }
    std::vector<Oid> types() const {
        std::vector<Oid> types;
        for (int i = 0; i < PQnfields(result.get()); ++i) {
            types.push_back(PQftype(result.get(), i));
        }
        return types;
    }
    std::string bytes(int column, Oid type, int row = 0) const {
        if (size() <= row || PQftype(result.get(), column) != type || is_null(column, row)) {
            throw std::runtime_error("no such value: " + message());
        }
        return {PQgetvalue(result.get(), row, column),
                static_cast<size_t>(PQgetlength(result.get(), row, column))};
    }
    std::string text(int column, int row = 0) const { return bytes(column, kText, row); }
    std::string jsonb(int column, int row = 0) const {
        return bytes(column, kJsonb, row).substr(1);
    }
    int64_t int8(int column, int row = 0) const {
        uint64_t value;
        std::memcpy(&value, bytes(column, kInt8, row).data(), sizeof value);
        return static_cast<int64_t>(be64toh(value));
    }
    int int4(int column, int row = 0) const {
        uint32_t value;
        std::memcpy(&value, bytes(column, kInt4, row).data(), sizeof value);
        return static_cast<int>(be32toh(value));
    }
    bool boolean(int column, int row = 0) const { return bytes(column, kBool, row)[0] != 0; }
};

// ---- The application ----

int64_t now_ms() {
    using std::chrono::milliseconds;
    return std::chrono::duration_cast<milliseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

// Calls go round the connections of its pool.
class Application {
 public:
    Application(Cluster& cluster, const std::string& database, const std::string& user,
                std::string schema)
        : schema_(std::move(schema)) {
        for (int i = 0; i < 3; ++i) {
            pool_.push_back(cluster.connect(database, user));
        }
    }

    // %s in the statement is the schema.
    Answer call(std::string sql, const std::vector<Param>& params = {}) {
        for (size_t at; (at = sql.find("%s")) != std::string::npos;) {
            sql.replace(at, 2, schema_);
        }
        std::vector<Oid> types;
        std::vector<const char*> values;
        std::vector<int> lengths;
        for (const auto& param : params) {
            types.push_back(param.type);
            values.push_back(param.bytes ? param.bytes->data() : nullptr);
            lengths.push_back(param.bytes ? static_cast<int>(param.bytes->size()) : 0);
        }
        const std::vector<int> binary(params.size(), 1);
        next_ = (next_ + 1) % pool_.size();
        return {{PQexecParams(pool_[next_].raw(), sql.c_str(), static_cast<int>(params.size()),
                              types.data(), values.data(), lengths.data(), binary.data(), 1),
                 &PQclear}};
    }

    // What it does when it starts; false if it would have to migrate.
    bool start_up() {
        if (schema_ != "public") {
            succeed(call("CREATE SCHEMA IF NOT EXISTS %s"));
        }
        succeed(
            call("CREATE TABLE IF NOT EXISTS %s._duroxide_migrations (version BIGINT PRIMARY KEY, "
                 "name TEXT NOT NULL, applied_at TIMESTAMPTZ DEFAULT CURRENT_TIMESTAMP)"));
        const Answer versions =
            call("SELECT version FROM %s._duroxide_migrations ORDER BY version");
        for (int i = 0; i < 21; ++i) {
            if (versions.size() <= i || versions.int8(0, i) != i + 1) {
                return false;
            }
        }
        return call(
                   "SELECT EXISTS(SELECT 1 FROM information_schema.tables WHERE table_schema = $1 "
                   "AND table_name = 'instances')",
                   {text(schema_)})
            .boolean(0);
    }

    void enqueue(const std::string& instance, const std::string& item) {
        succeed(call(
            "SELECT %s.enqueue_orchestrator_work($1, $2, $3, $4, $5, $6)",
            {text(instance), text(item), timestamptz_ms(now_ms()), text({}), text({}), int8({})}));
    }
    Answer fetch_turn() {
        Answer turn = call("SELECT * FROM %s.fetch_orchestration_item($1, $2, $3, $4)",
                           {int8(now_ms()), int8(5000), int8(0), int8(1030)});
        const std::vector<Oid> wanted = {kText,  kText, kText, kInt8, kJsonb,
                                         kJsonb, kText, kInt4, kJsonb};
        EXPECT_EQ(turn.types(), wanted) << turn.message();
        return turn;
    }
    Answer ack_turn(const std::string& token, const std::string& delta, const std::string& work,
                    const std::string& metadata) {
        return call("SELECT %s.ack_orchestration_item($1, $2, $3, $4, $5, $6, $7, $8)",
                    {text(token), int8(now_ms()), int8(1), jsonb(delta), jsonb(work), jsonb("[]"),
                     jsonb(metadata), jsonb("[]")});
    }
    Answer fetch_work() {
        Answer work = call("SELECT * FROM %s.fetch_work_item($1, $2, $3, $4, $5, $6)",
                           {int8(now_ms()), int8(30000), text("w1"), int8(30000), texts({"gpu"}),
                            text("default_and")});
        const std::vector<Oid> wanted = {kText, kText, kInt4};
        EXPECT_EQ(work.types(), wanted) << work.message();
        return work;
    }

    static void succeed(const Answer& answer) {
        if (!answer.sqlstate().empty()) {
            throw std::runtime_error(answer.message());
        }
    }

 private:
    std::string schema_;
    std::vector<Conn> pool_;
    size_t next_ = 0;
};

std::string start_item(const std::string& instance) {
    return R"({"StartOrchestration":{"instance":")" + instance +
           R"(","orchestration":"Bill","input":"{}","version":null,"parent_instance":null,)"
           R"("parent_id":null,"execution_id":1}})";
}

// The first turn of an instance, with one activity.
void run_first_turn(Application& app, const std::string& instance) {
    app.enqueue(instance, start_item(instance));
    const Answer turn = app.fetch_turn();
    ASSERT_EQ(turn.size(), 1);
    EXPECT_EQ(turn.text(0), instance);
    EXPECT_EQ(turn.text(1), "Bill");
    EXPECT_EQ(turn.text(2), "unknown");
    EXPECT_EQ(turn.int8(3), 1);
    EXPECT_EQ(turn.jsonb(4), "[]");
    EXPECT_EQ(turn.int4(7), 1);
    EXPECT_EQ(turn.jsonb(8), "{}");
    const std::string token = turn.text(6);
    EXPECT_EQ(app.call("SELECT %s.renew_orchestration_item_lock($1, $2, $3)",
                       {text(token), int8(now_ms()), int8(5)})
                  .types(),
              std::vector<Oid>{kVoid});
    Application::succeed(app.ack_turn(
        token,
        R"([{"event_id":1,"event_type":"Event","event_data":"{\"event_id\":1,\"type\":\"OrchestrationStarted\",\"name\":\"Bill\",\"version\":\"1.0.0\",\"input\":\"{}\"}"},
            {"event_id":2,"event_type":"Event","event_data":"{\"event_id\":2,\"type\":\"ActivityScheduled\",\"name\":\"Charge\",\"input\":\"9\"}"}])",
        R"([{"ActivityExecute":{"instance":")" + instance +
            R"(","execution_id":1,"id":2,"name":"Charge","input":"9","session_id":"s1","tag":"gpu"}}])",
        R"({"orchestration_name":"Bill","orchestration_version":"1.0.0","status":null,"output":null,"parent_instance_id":null,
            "pinned_duroxide_version":{"major":0,"minor":1,"patch":30},"custom_status_action":"set","custom_status_value":"charging",
            "kv_mutations":[{"action":"set","key":"k","value":"v","last_updated_at_ms":7}]})"));
}

// Its activity and its last turn.
void run_to_end(Application& app, const std::string& instance) {
    const Answer work = app.fetch_work();
    ASSERT_EQ(work.size(), 1);
    EXPECT_NE(work.text(0).find(instance), std::string::npos);
    Application::succeed(app.call("SELECT %s.renew_work_item_lock($1, $2, $3)",
                                  {text(work.text(1)), int8(now_ms()), int8(0)}));
    const std::vector<Param> ack = {text(work.text(1)), text(instance),
                                    text(R"({"ActivityCompleted":{"instance":")" + instance +
                                         R"(","execution_id":1,"id":2,"result":"ok"}})"),
                                    int8(now_ms())};
    Application::succeed(app.call("SELECT %s.ack_worker($1, $2, $3, $4)", ack));
    const Answer again = app.call("SELECT %s.ack_worker($1, $2, $3, $4)", ack);
    EXPECT_EQ(again.sqlstate(), "QB001");
    EXPECT_EQ(again.message(), "Worker queue item not found or already processed");

    const Answer turn = app.fetch_turn();
    ASSERT_EQ(turn.size(), 1);
    EXPECT_EQ(turn.text(2), "1.0.0");
    EXPECT_NE(turn.jsonb(4).find("ActivityScheduled"), std::string::npos);
    EXPECT_NE(turn.jsonb(5).find("ActivityCompleted"), std::string::npos);
    const std::string metadata =
        R"({"orchestration_name":null,"orchestration_version":null,"status":"Completed","output":"ok","parent_instance_id":null,
            "pinned_duroxide_version":null,"custom_status_action":null,"custom_status_value":null,"kv_mutations":[]})";
    Application::succeed(app.ack_turn(
        turn.text(6),
        R"([{"event_id":3,"event_type":"Event","event_data":"{\"event_id\":3,\"type\":\"OrchestrationCompleted\",\"output\":\"ok\"}"}])",
        "[]", metadata));
    const Answer late = app.ack_turn(turn.text(6), "[]", "[]", metadata);
    EXPECT_EQ(late.sqlstate(), "QB001");
    EXPECT_EQ(late.message(), "Invalid lock token");
}

// What its management reads tell of a finished instance, in the types that it decodes.
void expect_finished(Application& app, const std::string& instance) {
    const Answer info = app.call("SELECT * FROM %s.get_instance_info($1)", {text(instance)});
    const std::vector<Oid> info_types = {kText,        kText, kText, kInt8, kTimestamptz,
                                         kTimestamptz, kText, kText, kText};
    EXPECT_EQ(info.types(), info_types);
    EXPECT_EQ(info.text(6), "Completed");
    EXPECT_EQ(info.text(7), "ok");
    EXPECT_TRUE(info.is_null(8));
    const Answer execution =
        app.call("SELECT * FROM %s.get_execution_info($1, $2)", {text(instance), int8(1)});
    const std::vector<Oid> execution_types = {kInt8,        kText,        kText,
                                              kTimestamptz, kTimestamptz, kInt8};
    EXPECT_EQ(execution.types(), execution_types);
    EXPECT_EQ(execution.int8(5), 3);
    const Answer status =
        app.call("SELECT * FROM %s.get_custom_status($1, $2)", {text(instance), int8(0)});
    EXPECT_EQ(status.text(0), "charging");
    EXPECT_EQ(status.int8(1), 1);
    const Answer value =
        app.call("SELECT * FROM %s.get_kv_value($1, $2)", {text(instance), text("k")});
    EXPECT_EQ(value.text(0), "v");
    EXPECT_TRUE(value.boolean(1));
    const Answer stats = app.call("SELECT * FROM %s.get_instance_stats($1)", {text(instance)});
    EXPECT_TRUE(stats.boolean(0));
    EXPECT_EQ(stats.int8(1), 3);
    EXPECT_EQ(stats.int8(4), 1);
    EXPECT_EQ(
        app.call("SELECT event_data FROM %s.history WHERE instance_id = $1 AND execution_id = $2 "
                 "ORDER BY event_id",
                 {text(instance), int8(1)})
            .size(),
        3);
    EXPECT_EQ(app.call("SELECT %s.latest_execution_id($1)", {text(instance)}).int8(0), 1);
    EXPECT_TRUE(app.call("SELECT %s.get_parent_id($1)", {text(instance)}).is_null(0));
    EXPECT_EQ(app.call("SELECT * FROM %s.prune_executions($1, $2, $3)",
                       {text(instance), int4(1), int8({})})
                  .int8(0),
              1);
    EXPECT_EQ(app.call("SELECT * FROM %s.get_queue_depths($1)", {int8(now_ms())}).int8(1), 0);
}

class Api : public testing::Test {
 protected:
    static void SetUpTestSuite() {
        cluster = new Cluster();
        cluster->connect().exec("CREATE ROLE hub_owner LOGIN; CREATE ROLE application LOGIN");
    }
    static void TearDownTestSuite() {
        delete cluster;
        cluster = nullptr;
    }

    // A database of hub_owner with the extension.
    static void make_database(const std::string& name) {
        cluster->connect().exec("CREATE DATABASE " + name + " OWNER hub_owner TEMPLATE template0");
        Conn there = cluster->connect(name);
        there.exec("CREATE EXTENSION belay; GRANT USAGE ON LANGUAGE belay TO hub_owner");
    }

    // What the owner of a hub does for an application (CP-2).
    static void make_hub(const std::string& database, const std::string& schema, bool adopt) {
        Conn owner = cluster->connect(database, "hub_owner");
        owner.exec("SELECT belay.create_hub('" + schema + "', 'duroxide-pg', " +
                   (adopt ? "true" : "false") + ")");
        owner.exec("SELECT belay.grant_hub('" + schema +
                   "', 'application', l) FROM unnest('{worker,operator}'::text[]) AS l");
        owner.exec("GRANT CREATE ON SCHEMA " + schema + " TO application");
        owner.exec("GRANT CREATE ON DATABASE " + database + " TO application");
    }

    static Cluster* cluster;
};

Cluster* Api::cluster = nullptr;

// CP-1: from start-up to the deletion of its instance, over the connections of a pool, with the
// real clock.
TEST_F(Api, ApplicationRunsUnchanged) {
    make_database("plain");
    make_hub("plain", "orders", false);
    Application app(*cluster, "plain", "application", "orders");
    ASSERT_TRUE(app.start_up());
    EXPECT_EQ(app.fetch_turn().size(), 0);
    EXPECT_EQ(app.fetch_work().size(), 0);
    run_first_turn(app, "ord-7");
    run_to_end(app, "ord-7");
    expect_finished(app, "ord-7");
    EXPECT_EQ(app.call("SELECT %s.cleanup_orphaned_sessions($1)", {int8(now_ms())}).int8(0), 0);
    EXPECT_EQ(app.call("SELECT %s.renew_session_lock($1, $2, $3, $4)",
                       {texts({"w1", "w2"}), int8(now_ms()), int8(30000), int8(300000)})
                  .int8(0),
              1);
    const Answer deleted = app.call("SELECT * FROM %s.delete_instances_atomic($1, $2)",
                                    {texts({"ord-7"}), boolean(false)});
    EXPECT_EQ(deleted.int8(0), 1);
    EXPECT_EQ(deleted.int8(2), 3);
    EXPECT_EQ(app.call("SELECT instance_id FROM %s.list_instances()").size(), 0);
    // Only the owner removes the hub (CP-2).
    EXPECT_EQ(app.call("SELECT %s.cleanup_schema()").sqlstate(), "42501");
}

// An application that names no schema uses public, which its owner lets become a hub.
TEST_F(Api, PublicCanBeItsSchema) {
    make_database("without_schema");
    make_hub("without_schema", "public", true);
    Application app(*cluster, "without_schema", "application", "public");
    ASSERT_TRUE(app.start_up());
    run_first_turn(app, "ord-7");
    run_to_end(app, "ord-7");
    expect_finished(app, "ord-7");
    Conn owner = cluster->connect("without_schema", "hub_owner");
    EXPECT_EQ(owner.exec("SELECT * FROM belay.check_hub('public')").size(), 0);
    owner.exec("SELECT public.cleanup_schema()");
    EXPECT_EQ(
        owner.value("SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace"),
        "0");
    EXPECT_EQ(owner.value("SELECT count(*) FROM pg_namespace WHERE nspname = 'public'"), "1");
}

// A dump carries the hub with its work, its grants and its ledger as the owner left it (CP-3).
TEST_F(Api, DumpAndRestore) {
    make_database("source");
    make_hub("source", "orders", false);
    {
        Conn owner = cluster->connect("source", "hub_owner");
        owner.exec(
            "INSERT INTO orders._duroxide_migrations (version, name) VALUES (22, 'by hand')");
        Application app(*cluster, "source", "application", "orders");
        ASSERT_TRUE(app.start_up());
        run_first_turn(app, "ord-7");
        run_first_turn(app, "ord-8");
        EXPECT_EQ(app.fetch_work().size(), 1);  // a lease that the restored hub does not know
    }
    const std::string dump = cluster->file("api.dump");
    cluster->run({"pg_dump", "-Fc", "-U", "hub_owner", "-n", "orders", "-f", dump, "source"});
    make_database("restored");
    cluster->connect().exec("GRANT CREATE ON DATABASE restored TO application");
    cluster->run({"pg_restore", "--exit-on-error", "-U", "hub_owner", "-d", "restored", dump});

    Conn owner = cluster->connect("restored", "hub_owner");
    EXPECT_EQ(owner.exec("SELECT * FROM belay.check_hub('orders')").size(), 0);
    EXPECT_EQ(owner.value("SELECT api FROM belay.hubs WHERE name = 'orders'"), "duroxide-pg");
    owner.exec("SELECT belay.upgrade_hub('orders')");
    EXPECT_EQ(
        owner.value("SELECT count(*) || ' ' || max(version) FROM orders._duroxide_migrations"),
        "22 22");
    Application app(*cluster, "restored", "application", "orders");
    ASSERT_TRUE(app.start_up());
    run_to_end(app, "ord-7");
    run_to_end(app, "ord-8");
    expect_finished(app, "ord-7");
    expect_finished(app, "ord-8");
}

}  // namespace
}  // namespace belay::test
