// Random, mutated and hostile arguments for every function of hubs and of schema belay: the server
// lives on, its errors are those that callers may expect, and the hubs stay whole.
#include <gtest/gtest.h>

#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>

#include "values.hpp"

namespace belay::test::robust {
namespace {

struct Function {
    std::string call;  // CALL or SELECT, up to the arguments
    std::string name;
    std::vector<std::string> types;
    bool of_hub;
    bool waits;
};

std::vector<Function> functions(Conn& conn) {
    // Faults would strike anywhere; a family can have a thousand hubs; the handler and what takes
    // internals cannot be called.
    const Rows rows = conn.exec(
        "SELECT n.nspname, p.proname, p.prokind, l.lanname, "
        "(SELECT string_agg(format_type(t, NULL), '|' ORDER BY nr) FROM unnest(p.proargtypes) WITH "
        "ORDINALITY AS a (t, nr)) "
        "FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace JOIN pg_language AS l "
        "ON l.oid = p.prolang "
        "WHERE n.nspname IN ('f', 'd', 'belay') AND p.proname <> ALL "
        "('{inject_fault,call_handler,create_hub_family}') "
        "AND 'internal'::regtype <> ALL (p.proargtypes) ORDER BY n.nspname, p.proname, "
        "p.oid::regprocedure::text");
    std::vector<Function> all;
    for (int i = 0; i < rows.size(); ++i) {
        Function function;
        const bool procedure = *rows.at(i, 2) == "p";
        function.name = *rows.at(i, 0) + "." + *rows.at(i, 1);
        function.call = (procedure ? "CALL " : "SELECT * FROM ") + function.name + "(";
        function.of_hub = *rows.at(i, 3) == "belay";
        function.waits = procedure;
        std::string types = rows.at(i, 4).value_or("");
        while (!types.empty()) {
            const auto bar = types.find('|');
            function.types.push_back(types.substr(0, bar));
            types = bar == std::string::npos ? "" : types.substr(bar + 1);
        }
        all.push_back(function);
    }
    return all;
}

// What a caller may see. Not XX: something in here went wrong; not 23: a rule that only a table
// knew; not 42 but for rights and names of roles: SQL that should have been qualified or quoted.
bool is_allowed(const std::string& sqlstate) {
    static const char* const kClasses[] = {"QB", "22", "25", "53", "54", "55", "0A", "40"};
    static const char* const kStates[] = {"42501", "42704", "57014"};
    const auto begins = [&](const char* with) { return sqlstate.rfind(with, 0) == 0; };
    return sqlstate.empty() || std::any_of(std::begin(kClasses), std::end(kClasses), begins) ||
           std::any_of(std::begin(kStates), std::end(kStates), begins);
}

std::string shown(const std::string& sql, const std::vector<Value>& values) {
    std::string text = sql;
    for (const auto& value : values) {
        text += "\n  " + (value ? "'" + value->substr(0, 400) + "'" : "NULL");
    }
    return text;
}

bool under_valgrind() {
    const char* given = std::getenv("BELAY_VALGRIND");
    return given != nullptr && *given != '\0';
}

// What a process of the server may grow to over a whole run, shared memory included. What valgrind
// keeps of each byte counts, too.
long most_kb() {
    constexpr long kMostKb = 512 * 1024;
    return kMostKb * (under_valgrind() ? 4 : 1);
}

// statement_timeout, and how long a call may take that it ends. Only a call that cannot be
// cancelled takes longer, however busy the machine is.
constexpr const char* kTimeout = "SET statement_timeout = '5s'";
constexpr auto kPatience = std::chrono::seconds(90);

// The most memory that the process has ever had; 0 if it is gone.
long peak_kb(pid_t process) {
    std::ifstream status("/proc/" + std::to_string(process) + "/status");
    std::string word;
    while (status >> word) {
        if (word == "VmHWM:") {
            long kb = 0;
            status >> kb;
            return kb;
        }
    }
    return 0;
}

int rounds_of_run() {
    if (const char* given = std::getenv("BELAY_FUZZ_ROUNDS"); given != nullptr && *given != '\0') {
        return std::atoi(given);
    }
    return long_form() ? 400 : 25;
}

class Fuzz : public ::testing::Test {
 protected:
    Fuzz()
        : cluster_({.preload = true,
                    .conf = {"belay.reconcile_interval = 0", "autovacuum = off",
                             "log_min_messages = fatal", "log_min_error_statement = panic"}}),
          conn_(cluster_.connect()) {
        conn_.exec("CREATE EXTENSION belay");
        words_ = make_full_hub(conn_, "f");
        others_ = make_duroxide_hub(conn_, "d");
        conn_.exec(kTimeout);
    }

    // Calls, and watches the process meanwhile: one that eats all memory or cannot be cancelled is
    // killed, so that the call is known and the machine lives on.
    Outcome call(const std::string& sql, const std::vector<Value>& values, int format = 0) {
        std::vector<const char*> texts;
        std::vector<int> lengths;
        std::vector<int> formats;
        for (const auto& value : values) {
            texts.push_back(value ? value->c_str() : nullptr);
            lengths.push_back(value ? static_cast<int>(value->size()) : 0);
            formats.push_back(format);
        }
        PQsendQueryParams(conn_.raw(), sql.c_str(), static_cast<int>(values.size()), nullptr,
                          texts.data(), lengths.data(), formats.data(), 0);
        watch(sql, values);
        PGresult* result = PQgetResult(conn_.raw());
        while (PGresult* more = PQgetResult(conn_.raw())) {
            PQclear(more);
        }
        const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
        Outcome outcome{state != nullptr ? state : "", PQresultErrorMessage(result), "", ""};
        PQclear(result);
        if (PQstatus(conn_.raw()) != CONNECTION_OK) {
            outcome = {"08006", PQerrorMessage(conn_.raw()), "", ""};
        }
        EXPECT_LT(peak_kb(conn_.backend_pid()), most_kb()) << shown(sql, values);
        return outcome;
    }

    // Until the answer is there.
    void watch(const std::string& sql, const std::vector<Value>& values) {
        const auto deadline = std::chrono::steady_clock::now() + kPatience;
        while (PQisBusy(conn_.raw()) != 0) {
            pollfd answer{PQsocket(conn_.raw()), POLLIN, 0};
            (void)poll(&answer, 1, 50);
            const bool grown = peak_kb(conn_.backend_pid()) >= most_kb();
            if (grown || std::chrono::steady_clock::now() > deadline) {
                ADD_FAILURE() << (grown ? "takes too much memory:\n" : "cannot be cancelled:\n")
                              << shown(sql, values);
                (void)kill(conn_.backend_pid(), SIGKILL);
                return;
            }
            if (PQconsumeInput(conn_.raw()) == 0) {
                return;
            }
        }
    }

    // The processes of the server that no call goes to.
    void check_others() {
        const Rows rows = conn_.exec("SELECT pid, backend_type FROM pg_stat_activity");
        for (int i = 0; i < rows.size(); ++i) {
            ASSERT_LT(peak_kb(std::atoi(rows.at(i, 0)->c_str())), most_kb())
                << rows.at(i, 1).value_or("") << " takes too much memory";
        }
    }

    Cluster cluster_;
    Conn conn_;
    Words words_;
    Words others_;
};

TEST_F(Fuzz, NothingButExpectedErrors) {
    const auto seed = seed_of_run();
    SCOPED_TRACE("BELAY_SEED=" + std::to_string(seed));
    std::cout << "BELAY_SEED=" << seed << std::endl;
    Values values(seed, words_, others_);
    const auto all = functions(conn_);
    ASSERT_GT(all.size(), 200u);
    const int rounds = rounds_of_run();
    const auto deadline = std::chrono::steady_clock::now() +
                          (long_form() ? std::chrono::hours(2) : std::chrono::minutes(2));
    std::map<std::string, int> seen;
    std::map<std::string, int> wrong;
    std::vector<std::string> recent;
    int calls = 0;
    for (int round = 0; round < rounds && std::chrono::steady_clock::now() < deadline; ++round) {
        for (const Function& function : all) {
            std::string sql = function.call;
            std::vector<Value> arguments;
            values.begin_call();
            for (const auto& type : function.types) {
                arguments.push_back(values.of(type));
                sql += (arguments.size() > 1 ? ", $" : "$") + std::to_string(arguments.size()) +
                       "::" + type;
            }
            sql += ")";
            // What changes the hub permanently is kept now and then, so that calls meet many
            // states.
            const bool keep =
                function.of_hub && function.name != "d.cleanup_schema" && values.once_in(4);
            if (!function.waits) {
                conn_.exec("BEGIN");
            }
            const Outcome outcome = call(sql, arguments);
            ++calls;
            ++seen[outcome.sqlstate];
            // The server's own check, as of any language.
            const bool by_oid = function.name == "belay.validator" && outcome.sqlstate == "42883";
            if (!is_allowed(outcome.sqlstate) && !by_oid && ++wrong[function.name] == 1) {
                ADD_FAILURE() << outcome.sqlstate << " " << outcome.message << "\n"
                              << shown(sql, arguments);
            }
            ASSERT_NE(outcome.sqlstate, "08006");
            if (!function.waits) {
                const Outcome end = attempt(conn_, keep && outcome.ok() ? "COMMIT" : "ROLLBACK");
                ASSERT_TRUE(is_allowed(end.sqlstate)) << end.sqlstate << " " << end.message << "\n"
                                                      << shown(sql, arguments);
            }
            if (keep && outcome.ok()) {
                recent.push_back(shown(sql, arguments));
            }
        }
        conn_.exec("SET statement_timeout = 0");
        for (const char* hub : {"f", "d"}) {
            std::string history;
            for (std::size_t i = recent.size() > 60 ? recent.size() - 60 : 0; i < recent.size();
                 ++i) {
                history += recent[i].substr(0, 600) + "\n";
            }
            ASSERT_EQ(complaints(conn_, hub), "") << history;
        }
        check_others();
        conn_.exec(kTimeout);
        recent.clear();
    }
    std::cout << calls << " calls:";
    for (const auto& [state, count] : seen) {
        std::cout << " " << (state.empty() ? "ok" : state) << " " << count;
    }
    std::cout << std::endl;
    EXPECT_GT(seen[""], calls / 20) << "hardly any call succeeds";
    EXPECT_GT(seen["QB006"], 0);
    EXPECT_GT(seen["QB001"], 0);
}

// As much as a call takes, and more: memory stays bounded, and statement_timeout ends the call.
TEST_F(Fuzz, LargeArguments) {
    const std::string texts = "(SELECT array_agg('t' || n) FROM generate_series(1, 10000) AS n)";
    const std::string ids =
        "(SELECT jsonb_build_object('instance_ids', jsonb_agg('t' || n)) FROM generate_series(1, "
        "10000) AS n)";
    const auto objects = [](const std::string& members, int count) {
        return "(SELECT jsonb_agg(jsonb_build_object(" + members + ")) FROM generate_series(1, " +
               std::to_string(count) + ") AS n)";
    };
    const auto suspend = [](const std::string& condition) {
        return "SELECT * FROM f.suspend_task('" + id_of("01") +
               "', 1, jsonb_build_object('waitpoints', (SELECT jsonb_agg(jsonb_build_object('key', "
               "'k' || n)) FROM generate_series(1, 1000) AS n), 'condition', " +
               condition + "), 1200)";
    };
    const std::string count =
        "jsonb_build_object('count', jsonb_build_object('n', 1, 'of', 'signals', 'keys', (SELECT "
        "jsonb_agg('k' || n) FROM generate_series(1, 1000) AS n)))";
    const std::pair<std::string, std::string> calls[] = {
        {"", "SELECT * FROM f.fetch_work_item(1000, 'o', 1000, " + texts +
                 ", 'tags', p_now_ms => 1000)"},
        {"", "SELECT * FROM f.fetch_work_items(1000, 'o', 1000, " + texts +
                 ", 'default_and', 1000, p_now_ms => 1000)"},
        {"", "SELECT * FROM f.fetch_work_item(1000, NULL, NULL, " + texts +
                 " || 'one more'::text, 'tags', p_now_ms => 1000)"},
        {"", "SELECT * FROM f.delete_instances_atomic(" + texts + ", true)"},
        {"", "SELECT * FROM f.delete_instances_atomic(" + texts + " || " + texts + ", true)"},
        {"", "SELECT * FROM f.delete_instances_bulk(" + ids + ")"},
        {"", "SELECT * FROM f.prune_executions_bulk(" + ids + R"(, '{"keep_last":1}'))"},
        {"", "SELECT * FROM f.renew_session_lock(" + texts + ", 1000, 1000, p_now_ms => 1000)"},
        {"", "SELECT * FROM f.renew_work_item_locks(" + texts + ", 1000, p_now_ms => 1000)"},
        {"",
         "SELECT * FROM f.renew_tasks((SELECT array_agg(gen_random_uuid()) FROM "
         "generate_series(1, 10000)), (SELECT array_agg(n::bigint) FROM generate_series(1, "
         "10000) AS n), 1000, 1000)"},
        {"", "SELECT * FROM f.claim_tasks('w', 'i', (" + texts + ")[1:1000], p_now_ms => 1200)"},
        {"", "SELECT * FROM f.cancel_activities(" +
                 objects("'instance', 't' || n, 'execution_id', 1, 'activity_id', n", 10000) + ")"},
        {"", "SELECT * FROM f.ack_workers(" + objects("'lock_token', 't' || n", 10000) + ", 1000)"},
        {"", "SELECT * FROM f.append_history('big', 1, " +
                 objects("'event_id', n, 'event_data', '{}'", 100000) + ")"},
        {"", "SELECT * FROM f.enqueue_worker_items(" +
                 objects("'work_item', '{\"ActivityExecute\":{}}'::jsonb", 10000) + ", 1000)"},
        {"", "SELECT * FROM f.create_tasks(" + objects("'queue', 'l' || n", 10000) + ", 1200)"},
        {"", "SELECT * FROM f.create_flow(jsonb_build_object('tasks', " +
                 objects("'key', 'k' || n, 'queue', 'l', 'after', CASE WHEN n > 9 THEN "
                         "(SELECT jsonb_agg('k' || m) FROM generate_series(1, 9) AS m) END",
                         10000) +
                 "), 1200)"},
        {"", suspend(count)},
        // Very many keys; very many conditions.
        {"", suspend("jsonb_build_object('count', jsonb_build_object('n', 1, 'of', 'signals', "
                     "'keys', (SELECT jsonb_agg('k1'::text) FROM generate_series(1, 200000))))")},
        {"", suspend("jsonb_build_object('all', (SELECT jsonb_agg(" + count +
                     ") FROM generate_series(1, 200)))")},
        // A downtime of ages, and all that has fallen due since.
        {"SELECT f.create_schedule('ages', '0 0 * * *', '{\"queue\":\"x\"}', 'UTC', 'all', "
         "p_now_ms => 1000)",
         "SELECT * FROM f.reconcile('{schedules}', p_now_ms => 8210298412800000)"},
        {"", "SELECT * FROM f.reconcile(p_now_ms => 8210298412800000)"},
        {"",
         "SELECT * FROM f.reconcile((SELECT array_agg('due_timers'::text) FROM "
         "generate_series(1, 10000)), p_now_ms => 1200)"},
        {"INSERT INTO f.dead_letters SELECT 10000 + n, 'worker', n, 'x', 1, 1, NULL, NULL, "
         "'{\"ActivityExecute\":{}}', 3, 'max_attempts', NULL, 'epoch', 'epoch' FROM "
         "generate_series(1, 50000) AS n",
         "SELECT * FROM f.reconcile('{dead_letters}', p_now_ms => 8210298412800000)"},
    };
    for (const auto& [before, sql] : calls) {
        conn_.exec("BEGIN");
        if (!before.empty()) {
            conn_.exec(before);
        }
        const Outcome outcome = call(sql, {});
        ASSERT_TRUE(is_allowed(outcome.sqlstate))
            << outcome.sqlstate << " " << outcome.message << "\n"
            << sql;
        conn_.exec("ROLLBACK");
    }
    ASSERT_EQ(complaints(conn_, "f"), "");
    std::cout << "peak " << peak_kb(conn_.backend_pid()) / 1024 << " MB" << std::endl;
}

// Bytes for the binary input of a hub mark, and verbs that do not exist.
TEST_F(Fuzz, TypeAndLanguage) {
    const auto seed = seed_of_run();
    SCOPED_TRACE("BELAY_SEED=" + std::to_string(seed));
    Values values(seed, words_, others_);
    for (int i = 0; i < 500; ++i) {
        std::string bytes(values.below(40), '\0');
        for (char& byte : bytes) {
            byte = static_cast<char>(values.below(256));
        }
        const Outcome binary = call("SELECT $1::belay.hub_mark", {bytes}, 1);
        ASSERT_TRUE(is_allowed(binary.sqlstate) || binary.sqlstate == "08P01")
            << binary.sqlstate << binary.message;
        const Outcome text = call("SELECT $1::belay.hub_mark", {values.of("belay.hub_mark")});
        ASSERT_TRUE(is_allowed(text.sqlstate)) << text.sqlstate << text.message;
    }
    for (int i = 0; i < 200; ++i) {
        const Value verb = values.of("text");
        char* literal =
            PQescapeLiteral(conn_.raw(), verb.value_or("").c_str(), verb.value_or("").size());
        if (literal == nullptr) {
            continue;  // not UTF-8
        }
        const Outcome outcome = attempt(
            conn_,
            std::string("CREATE FUNCTION f.x(text) RETURNS void LANGUAGE belay AS ") + literal);
        PQfreemem(literal);
        ASSERT_TRUE(is_allowed(outcome.sqlstate) || outcome.sqlstate == "42883" ||
                    outcome.sqlstate == "42P13")
            << outcome.sqlstate << outcome.message;
    }
}

}  // namespace
}  // namespace belay::test::robust
