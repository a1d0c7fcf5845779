// Random, mutated and hostile arguments for every function of hubs and of schema belay: the server
// lives on, its errors are those that callers may expect, and the hubs stay whole.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
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
    // Faults would strike anywhere; the handler and what takes internals cannot be called.
    const Rows rows = conn.exec(
        "SELECT n.nspname, p.proname, p.prokind, l.lanname, "
        "(SELECT string_agg(format_type(t, NULL), '|' ORDER BY nr) FROM unnest(p.proargtypes) WITH "
        "ORDINALITY AS a (t, nr)) "
        "FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace JOIN pg_language AS l "
        "ON l.oid = p.prolang "
        "WHERE n.nspname IN ('f', 'd', 'belay') AND p.proname <> ALL "
        "('{inject_fault,call_handler}') "
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
        conn_.exec("SET statement_timeout = '5s'");
    }

    Outcome call(const std::string& sql, const std::vector<Value>& values, int format = 0) {
        std::vector<const char*> texts;
        std::vector<int> lengths;
        std::vector<int> formats;
        for (const auto& value : values) {
            texts.push_back(value ? value->c_str() : nullptr);
            lengths.push_back(value ? static_cast<int>(value->size()) : 0);
            formats.push_back(format);
        }
        PGresult* result = PQexecParams(conn_.raw(), sql.c_str(), static_cast<int>(values.size()),
                                        nullptr, texts.data(), lengths.data(), formats.data(), 0);
        const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
        Outcome outcome{state != nullptr ? state : "", PQresultErrorMessage(result), "", ""};
        PQclear(result);
        if (PQstatus(conn_.raw()) != CONNECTION_OK) {
            outcome = {"08006", PQerrorMessage(conn_.raw()), "", ""};
        }
        return outcome;
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
    const int rounds = long_form() ? 400 : 25;
    const auto deadline = std::chrono::steady_clock::now() +
                          (long_form() ? std::chrono::hours(2) : std::chrono::minutes(2));
    std::map<std::string, int> seen;
    std::map<std::string, int> wrong;
    std::vector<std::string> recent;
    int calls = 0;
    for (int round = 0; round < rounds && std::chrono::steady_clock::now() < deadline; ++round) {
        conn_.exec(std::string("SET belay.fast_path = ") + (values.once_in(2) ? "on" : "off"));
        for (const Function& function : all) {
            std::string sql = function.call;
            std::vector<Value> arguments;
            for (const auto& type : function.types) {
                arguments.push_back(values.of(type));
                sql += (arguments.size() > 1 ? ", $" : "$") + std::to_string(arguments.size()) +
                       "::" + type;
            }
            sql += ")";
            // What changes the hub for good is kept now and then, so that calls meet many states.
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
        conn_.exec("SET statement_timeout = '5s'");
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
