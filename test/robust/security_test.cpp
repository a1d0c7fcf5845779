// Who may call what; text that would do harm if it were taken for SQL; names that need quotes.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "values.hpp"

namespace belay::test::robust {
namespace {

Cluster::Options quiet() {
    return {.preload = true, .conf = {"belay.reconcile_interval = 0", "autovacuum = off"}};
}

std::set<std::string> split(const std::string& words) {
    std::set<std::string> all;
    for (std::size_t at = 0; at < words.size();) {
        const auto end = std::min(words.find(' ', at), words.size());
        if (end > at) {
            all.insert(words.substr(at, end - at));
        }
        at = end + 1;
    }
    return all;
}

// ---------------------------------------------------------------- rights

// Which levels may call a function. c client, w worker, o operator,
// m monitor; only the owner where there is none.
struct Grant {
    const char* levels;
    const char* functions;
};

constexpr Grant kGrants[] = {
    // Enqueue, start, raise, cancel by message; tasks and flows; waiting.
    {"cwo",
     "enqueue_worker_work enqueue_worker_items enqueue_orchestrator_work "
     "enqueue_orchestrator_items "
     "start_orchestration raise_event cancel_instance create_task create_tasks create_flow "
     "add_task_to_flow add_edge set_join seal_flow deliver_signal send_to_hub receive_intents "
     "send send_many start raise cancel"},
    // Reads by id.
    {"cwom",
     "get_custom_status get_execution_info get_flow get_instance_info get_kv_all_values "
     "get_kv_value "
     "get_parent_id get_task latest_execution_id upstream_results status await_result "
     "wait_for_work"},
    // Fetch, claim, ack, renew, abandon, slots, guard, sessions; cancel of a task with its lease.
    {"wo",
     "fetch_work_item fetch_work_items ack_worker ack_workers ack_and_fetch_work_item "
     "renew_work_item_lock renew_work_item_locks abandon_work_item fetch_orchestration_item "
     "ack_orchestration_item abandon_orchestration_item renew_orchestration_item_lock "
     "append_history settle_and_fetch_work_items settle_and_claim_tasks ack_and_fetch_turns "
     "settle_turns_and_work "
     "claim_tasks complete_and_claim complete_task fail_task delay_task release_task progress_task "
     "renew_task renew_tasks suspend_task create_waitpoint cancel_task ack_cancel_member "
     "acquire_slots release_slots guard guard_task renew_session_lock cleanup_orphaned_sessions "
     "read_events ack_events receive extend complete fail release progress complete_and_receive "
     "settle_and_receive await"},
    // Histories, which a worker replays, and signals that it was sent.
    {"wom", "fetch_history fetch_history_with_execution list_signals read_history"},
    // Cancel, revoke, replay, pause, dead letters, delete, prune, reconcile.
    {"o",
     "approve_task cancel_activities cancel_flow change_priority create_schedule "
     "create_subscription "
     "delete_flow delete_instance delete_instances_atomic delete_instances_bulk delete_task "
     "cancel_instances cancel_tasks discard_dead_letter discard_dead_letters drop_schedule "
     "drop_subscription list_dead_letters list_work_items "
     "pause_hub pause_queue pause_schedule prune_executions prune_executions_bulk reconcile "
     "redrive_dead_letter redrive_dead_letters replay_task replay_tasks resume_hub resume_queue "
     "resume_schedule "
     "resume_task revoke_lease set_queue retry terminate browse_dead_letters browse_messages "
     "browse_work_items"},
    // Views and reads only.
    {"om",
     "check_tasks explain_claim explain_fetch explain_waits explain_work_item next_times "
     "get_instance_stats "
     "get_instance_tree "
     "get_queue_depths "
     "get_system_metrics list_children list_executions list_expired_leases list_flows "
     "list_instances list_instances_by_status list_schedules list_tasks list_waitpoints "
     "browse_events browse_flows browse_history browse_instances browse_tasks find glance "
     "stat_series "
     "list_owners list_queues read_body"},
    // The keys of waitpoints; everything at once.
    {"", "seed_waitpoint_key rotate_waitpoint_key cleanup_schema"},
};

// Functions of schema belay: every role may call them, and each looks at the caller itself, but for
// these.
constexpr const char* kNotForAll =
    "inject_fault quarantined_hubs remove_hub_place set_hub_place start_worker stop_worker "
    "stat_reset worker_rows";
// Those that only a hub's owner succeeds with.
constexpr const char* kForOwners[] = {
    "drop_hub('f', true)",
    "upgrade_hub('f')",
    "check_hub('f')",
    "run_as_owner('f', 'SELECT 1')",
    "set_hub_option('f', 'slot_count', '2')",
    "grant_hub('f', 'stranger', 'client')",
    "revoke_hub('f', 'stranger', 'client')",
    "new_incarnation('f')",
    "create_hub_link('f', 'x', 'far')",
    "drop_hub_link('f', 'x')",
    "create_hub('mine')",
};

const std::map<char, std::string> kRoles = {
    {'c', "a_client"}, {'w', "a_worker"}, {'o', "an_operator"}, {'m', "a_monitor"}};

class Rights : public ::testing::Test {
 protected:
    Rights() : cluster_(quiet()), conn_(cluster_.connect()) {
        conn_.exec(
            "CREATE EXTENSION belay; CREATE EXTENSION postgres_fdw; CREATE SERVER far FOREIGN DATA "
            "WRAPPER postgres_fdw; CREATE ROLE the_owner; CREATE ROLE stranger; "
            "GRANT USAGE ON LANGUAGE belay TO the_owner; GRANT CREATE ON DATABASE postgres TO "
            "the_owner");
        conn_.exec(
            "SET ROLE the_owner; SELECT belay.create_hub('f'), belay.create_hub('d', "
            "'duroxide-pg'); RESET ROLE");
        const std::map<char, std::string> levels = {
            {'c', "client"}, {'w', "worker"}, {'o', "operator"}, {'m', "monitor"}};
        for (const auto& [letter, role] : kRoles) {
            conn_.exec("CREATE ROLE " + role);
            for (const char* hub : {"f", "d"}) {
                conn_.exec(std::string("SELECT belay.grant_hub('") + hub + "', '" + role + "', '" +
                           levels.at(letter) + "')");
            }
        }
        // Sees the schema, and has nothing else.
        conn_.exec("GRANT USAGE ON SCHEMA f, d TO stranger");
    }

    // The SQLSTATE of a statement by a role; nothing of it stays.
    std::string as(const std::string& role, const std::string& sql, bool in_transaction = true) {
        conn_.exec("SET ROLE " + role);
        if (in_transaction) {
            conn_.exec("BEGIN");
        }
        const Outcome outcome = attempt(conn_, sql);
        if (in_transaction) {
            conn_.exec("ROLLBACK");
        }
        conn_.exec("RESET ROLE");
        return outcome.sqlstate;
    }

    Cluster cluster_;
    Conn conn_;
};

TEST_F(Rights, OfEveryFunctionAtEveryLevel) {
    std::map<std::string, std::string> wanted;
    for (const Grant& grant : kGrants) {
        for (const auto& function : split(grant.functions)) {
            EXPECT_TRUE(wanted.emplace(function, grant.levels).second) << function << " twice";
        }
    }
    std::set<std::string> met;
    conn_.exec("SET statement_timeout = '10s'");
    for (const std::string hub : {"f", "d"}) {
        const Rows rows = conn_.exec(
            "SELECT p.proname, p.prokind, (SELECT string_agg('NULL::' || format_type(t, NULL), ', "
            "') FROM "
            "unnest(p.proargtypes) AS t), p.oid FROM pg_proc AS p WHERE p.pronamespace = '" +
            hub + "'::regnamespace");
        for (int i = 0; i < rows.size(); ++i) {
            const std::string name = *rows.at(i, 0);
            met.insert(name);
            if (!wanted.contains(name)) {
                ADD_FAILURE() << "the table has no levels for " << name;
                continue;
            }
            const bool procedure = *rows.at(i, 1) == "p";
            const std::string call = (procedure ? "CALL " : "SELECT * FROM ") + hub + "." + name +
                                     "(" + rows.at(i, 2).value_or("") + ")";
            const auto check = [&](const std::string& role, bool may) {
                SCOPED_TRACE(role + ": " + call);
                EXPECT_EQ(conn_.value("SELECT has_function_privilege('" + role + "', " +
                                      *rows.at(i, 3) + ", 'EXECUTE')"),
                          may ? "t" : "f");
                const std::string state = as(role, call, !procedure);
                EXPECT_EQ(state != "42501", may) << state;
            };
            for (const auto& [letter, role] : kRoles) {
                check(role, wanted[name].find(letter) != std::string::npos);
            }
            check("stranger", false);
            check("the_owner", true);
        }
    }
    for (const auto& [name, levels] : wanted) {
        EXPECT_TRUE(met.contains(name)) << "no hub has " << name;
    }
}

TEST_F(Rights, OfAdministration) {
    const Rows rows = conn_.exec(
        "SELECT p.oid, p.proname FROM pg_proc AS p WHERE p.pronamespace = 'belay'::regnamespace");
    const auto kept = split(kNotForAll);
    for (int i = 0; i < rows.size(); ++i) {
        EXPECT_EQ(conn_.value("SELECT has_function_privilege('stranger', " + *rows.at(i, 0) +
                              ", 'EXECUTE')"),
                  kept.contains(*rows.at(i, 1)) ? "f" : "t")
            << *rows.at(i, 1);
    }
    for (const char* call : kForOwners) {
        const std::string sql = std::string("SELECT * FROM belay.") + call;
        for (const auto& [letter, role] : kRoles) {
            EXPECT_EQ(as(role, sql), "42501") << role << " " << call;
        }
        EXPECT_EQ(as("stranger", sql), "42501") << call;
        EXPECT_NE(as("the_owner", sql),
                  std::string(call).starts_with("create_hub_link") ? "" : "42501")
            << call;
    }
    // Neither tables nor sequences, for any role but the owner; no view of the owner's for others.
    const std::string rights =
        "SELECT string_agg(c.relname, ' ') FROM pg_class AS c WHERE c.relnamespace IN "
        "('f'::regnamespace, "
        "'d'::regnamespace) AND c.relkind IN ('r', 'S') AND (c.relkind = 'r' AND "
        "has_table_privilege('%', c.oid, "
        "'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER') OR c.relkind = 'S' AND "
        "has_sequence_privilege('%', c.oid, 'USAGE, SELECT, UPDATE')) AND c.relname NOT IN "
        "('executions', "
        "'instances', '_duroxide_migrations')";
    std::vector<std::string> roles = {"stranger"};
    for (const auto& [letter, role] : kRoles) {
        roles.push_back(role);
    }
    for (const auto& role : roles) {
        std::string sql = rights;
        for (std::size_t at; (at = sql.find('%')) != std::string::npos;) {
            sql.replace(at, 1, role);
        }
        EXPECT_EQ(conn_.value(sql), "") << role;
        for (const char* view :
             {"work_items", "messages", "instance_lock_states", "waitpoint_keys"}) {
            EXPECT_EQ(as(role, std::string("SELECT * FROM f.") + view), "42501")
                << role << " " << view;
        }
    }
    // Of api belay not even those that api duroxide-pg lets its clients read.
    for (const auto& role : roles) {
        for (const char* table : {"executions", "history", "instances"}) {
            EXPECT_EQ(as(role, std::string("SELECT * FROM f.") + table), "42501")
                << role << " " << table;
        }
    }
}

// ---------------------------------------------------------------- text that is taken for SQL

// Every literal of every call, one after another, replaced by every hostile text; in the short form
// by some of them.
TEST(Injection, ThroughEveryText) {
    const auto seed = seed_of_run();
    SCOPED_TRACE("BELAY_SEED=" + std::to_string(seed));
    std::mt19937_64 random(seed);
    Cluster cluster(quiet());
    Conn conn = cluster.connect();
    conn.exec("CREATE EXTENSION belay");
    const Words words = make_full_hub(conn, "f");
    conn.exec("SET statement_timeout = '10s'");
    const std::string before = digest(conn, "f");
    const auto relations = [&conn] {
        return conn.value("SELECT count(*) FROM pg_class") + " " +
               conn.value("SELECT count(*) FROM pg_proc") + " " +
               conn.value("SELECT count(*) FROM pg_roles");
    };
    const std::string objects = relations();
    std::vector<std::string> statements;
    for (const Call& call : writing_calls()) {
        statements.push_back(statement_of(call, "f", words));
    }
    for (const char* reading : {"SELECT * FROM f.list_instances('a', 'b', 'c', NULL, NULL, 'd')",
                                "SELECT * FROM f.get_kv_value('a', 'b')",
                                "SELECT * FROM f.list_instances_by_status('a')",
                                "SELECT * FROM f.get_instance_info('a')",
                                "SELECT * FROM f.get_instance_tree('a')",
                                "SELECT * FROM f.fetch_history('a')",
                                "SELECT * FROM f.list_dead_letters('a', 'b', 'c')",
                                "SELECT * FROM f.explain_fetch('a')",
                                "SELECT * FROM f.list_expired_leases('a')",
                                "SELECT * FROM f.guard('a')",
                                "SELECT * FROM f.list_tasks('{\"queue\":\"a\"}')",
                                "SELECT * FROM f.explain_claim('<01>', '{a}')",
                                "SELECT belay.create_hub('a')",
                                "SELECT belay.create_hub('a', 'b')",
                                "SELECT belay.drop_hub('a')",
                                "SELECT belay.upgrade_hub('a')",
                                "SELECT * FROM belay.check_hub('a')",
                                "SELECT belay.set_hub_option('f', 'a', 'b')",
                                "SELECT belay.set_hub_option('f', 'events', 'a')",
                                "SELECT belay.set_hub_option('f', 'task_retention', 'a')",
                                "SELECT belay.set_hub_option('a', 'b', 'c')",
                                "SELECT belay.grant_hub('f', 'a', 'client')",
                                "SELECT belay.grant_hub('a', 'postgres', 'client')",
                                "SELECT belay.revoke_hub('f', 'a', 'client')",
                                "SELECT belay.new_incarnation('a')",
                                "SELECT belay.create_hub_link('f', 'a', 'b')",
                                "SELECT belay.drop_hub_link('f', 'a')",
                                "SELECT belay.set_hub_place('a', 'b', 1)",
                                "SELECT belay.remove_hub_place('a')",
                                "SELECT * FROM belay.hub_location('a')",
                                "SELECT belay.family_hub('a', 'b')",
                                "SELECT belay.family_hub_of('a', 2, 'b')",
                                "SELECT belay.instance_key('a')",
                                "SELECT belay.inject_fault('a', 0)",
                                "SELECT 'a'::belay.hub_mark"}) {
        statements.push_back(filled(reading, "f", words));
    }
    int calls = 0;
    std::map<std::string, int> wrong;
    for (const auto& statement : statements) {
        // One literal in turn; a JSON text as a whole, and the first word inside it.
        for (std::size_t at = 0; (at = statement.find('\'', at)) != std::string::npos;) {
            const auto end = statement.find('\'', at + 1);
            const std::string literal = statement.substr(at + 1, end - at - 1);
            const auto inner = literal.find(":\"");
            for (const auto& text : hostile_texts()) {
                if (!long_form() && random() % 6 != 0) {
                    continue;
                }
                std::vector<std::string> replacements = {escaped(text, '\'')};
                if (inner != std::string::npos &&
                    text.find_first_of("\"\\\n\x01") == std::string::npos) {
                    const auto close = literal.find('"', inner + 2);
                    replacements.push_back(literal.substr(0, inner + 2) + escaped(text, '\'') +
                                           literal.substr(close));
                }
                for (const auto& replacement : replacements) {
                    const std::string sql =
                        statement.substr(0, at + 1) + replacement + statement.substr(end);
                    conn.exec("BEGIN");
                    const Outcome outcome = attempt(conn, sql);
                    ++calls;
                    ASSERT_NE(outcome.sqlstate, "08006") << sql;
                    // A hub of that name can be made, a role of it may not exist; all else is
                    // refused as what it is: no syntax error, no unknown table, nothing internal.
                    if (outcome.sqlstate.starts_with("XX") ||
                        (outcome.sqlstate.starts_with("42") && outcome.sqlstate != "42501" &&
                         outcome.sqlstate != "42704")) {
                        if (++wrong[outcome.sqlstate + statement] == 1) {
                            ADD_FAILURE()
                                << outcome.sqlstate << " " << outcome.message << ": " << sql;
                        }
                    }
                    conn.exec("ROLLBACK");
                }
            }
            at = end + 1;
        }
    }
    EXPECT_GT(calls, 1000);
    EXPECT_EQ(digest(conn, "f"), before);
    EXPECT_EQ(relations(), objects);
    EXPECT_EQ(complaints(conn, "f"), "");
}

// What was stored is hostile: functions that read it later treat it as data.
TEST(Injection, ThroughWhatIsStored) {
    Cluster cluster(quiet());
    Conn conn = cluster.connect();
    conn.exec(
        "CREATE EXTENSION belay; SELECT belay.create_hub('f'), belay.set_hub_option('f', "
        "'max_clock_skew', '0')");
    int n = 0;
    int stored = 0;
    for (const auto& text : hostile_texts()) {
        SCOPED_TRACE(text);
        const std::string literal = "'" + escaped(text, '\'') + "'";
        const std::string json = "to_jsonb(" + literal + "::text)";
        ++n;
        conn.exec("SELECT f.start_orchestration(" + literal + ", " + literal + ", " + literal +
                  ", '1', 0, 1000)");
        const std::string turn =
            conn.value("SELECT lock_token FROM f.fetch_orchestration_item(1000, p_now_ms => 1000)");
        conn.exec(
            "SELECT f.ack_orchestration_item('" + turn +
            "', 1, jsonb_build_array(jsonb_build_object('event_id', 1, "
            "'event_type', " +
            literal + "::text, 'event_data', jsonb_build_object('type', 'KeyValueSet', 'key', " +
            literal + "::text, 'value', " + literal +
            "::text)::text)), jsonb_build_array(jsonb_build_object('ActivityExecute', "
            "jsonb_build_object('instance', " +
            literal + "::text, 'execution_id', 1, 'id', 1, 'session_id', " + literal +
            "::text))), '[]', jsonb_build_object('orchestration_name', " + literal +
            "::text, 'orchestration_version', " + literal +
            "::text, 'status', 'Completed', 'output', " + literal + "::text), p_now_ms => 1000)");
        EXPECT_EQ(conn.value("SELECT instance_id FROM f.get_instance_info(" + literal +
                             ") AS i (instance_id)"),
                  text);
        EXPECT_EQ(conn.value("SELECT v FROM f.get_kv_value(" + literal + ", " + literal +
                             ") AS k (v, found)"),
                  text);
        EXPECT_EQ(conn.value("SELECT t FROM f.get_instance_tree(" + literal + ") AS k (t, p, d)"),
                  text);
        const std::string work = conn.value("SELECT lock_token FROM f.fetch_work_item(1000, " +
                                            literal + ", 1000, p_now_ms => 1000)");
        conn.exec("SELECT f.ack_worker('" + work + "', NULL, NULL, 1000)");
        // Names of queues, keys and the like have rules of their own: refused, or taken as they
        // are.
        const auto store = [&](const std::string& sql) {
            const Outcome outcome = attempt(conn, sql);
            EXPECT_TRUE(outcome.ok() || outcome.sqlstate == "QB006")
                << outcome.sqlstate << " " << outcome.message << ": " << sql;
            stored += outcome.ok() ? 1 : 0;
            return outcome.ok();
        };
        const std::string id = id_of(n < 10 ? "0" + std::to_string(n) : std::to_string(n));
        if (store("SELECT f.create_task(" + literal + ", " + json + ", '" + id + "', p_kind => " +
                  literal + ", p_dedup_key => " + literal + ", p_now_ms => 1000)")) {
            EXPECT_EQ(conn.value("SELECT task_id FROM f.claim_tasks(" + literal + ", " + literal +
                                 ", ARRAY[" + literal + "], p_now_ms => 1000)"),
                      id);
            EXPECT_EQ(conn.value("SELECT f.get_task('" + id + "') ->> 'queue'"), text);
            store("SELECT f.fail_task('" + id + "', 1, 'permanent', " + literal + ", " + json +
                  ", p_now_ms => 1000)");
        }
        store(
            "SELECT f.create_flow(jsonb_build_object('tasks', jsonb_build_array(jsonb_build_object("
            "'key', " +
            literal + "::text, 'queue', " + literal + "::text))), 1000)");
        store("SELECT f.create_schedule(" + literal +
              ", '* * * * *', jsonb_build_object('queue', " + literal +
              "::text), p_now_ms => 1000)");
        if (store("SELECT f.create_subscription(" + literal + ", NULL, 'start')")) {
            store("SELECT * FROM f.read_events(" + literal + ", 100, 1000, 1000)");
        }
        store(
            "SELECT f.send_to_hub('nowhere', 'orchestrator', jsonb_build_object('CancelInstance', "
            "jsonb_build_object('instance', " +
            literal + "::text))::text)");
        store("SELECT f.pause_hub('worker', " + literal + "); SELECT f.resume_hub('worker')");
        store("SELECT f.acquire_slots(" + literal + ", 'worker', 1, 1000, 1000), f.release_slots(" +
              literal + ", 'worker')");
    }
    EXPECT_GT(stored, 6 * n);
    // Everything that reads, and every duty.
    conn.exec("SELECT * FROM f.reconcile(p_now_ms => 100000000)");
    const Rows views = conn.exec(
        "SELECT c.oid::regclass FROM pg_class AS c WHERE c.relkind = 'v' AND c.relnamespace IN "
        "('f'::regnamespace, 'belay'::regnamespace)");
    for (int i = 0; i < views.size(); ++i) {
        conn.exec("SELECT * FROM " + *views.at(i, 0));
    }
    conn.exec("SELECT belay.metrics()");
    conn.exec("SELECT f.delete_instances_bulk('{}'), f.prune_executions_bulk('{}')");
    EXPECT_EQ(complaints(conn, "f"), "");
    EXPECT_GT(n, 20);
}

// Hubs and roles with names that need quotes.
TEST(Names, ThatNeedQuotes) {
    Cluster cluster(quiet());
    Conn conn = cluster.connect();
    conn.exec("CREATE EXTENSION belay");
    std::vector<std::string> names = {"a\"b",
                                      "Select",
                                      "with space",
                                      "select",
                                      "$1",
                                      "%s%n",
                                      "a'; DROP TABLE x; --",
                                      "{hub}",
                                      "@hub@",
                                      "back\\slash",
                                      "\xc3\xa9t\xc3\xa9 \xf0\x9f\x98\x80",
                                      "1",
                                      "a.b",
                                      std::string(63, 'x')};
    int nth = 0;
    for (const auto& name : names) {
        SCOPED_TRACE(name);
        const Words words = make_full_hub(conn, name);
        EXPECT_EQ(complaints(conn, name), "");
        const auto run = [&](const std::string& sql) {
            return conn.value(filled(sql, name, words));
        };
        EXPECT_EQ(run("SELECT count(*) FROM belay.hubs WHERE name = '<hub>'"), "1");
        run("SELECT belay.upgrade_hub('<hub>')");
        conn.exec("CREATE ROLE " + quoted(name.substr(0, 60) + "!"));
        for (const char* level : {"client", "worker", "operator", "monitor"}) {
            run("SELECT belay.grant_hub('<hub>', '" + escaped(name.substr(0, 60) + "!", '\'') +
                "', '" + level + "')");
        }
        EXPECT_EQ(run("SELECT has_schema_privilege('" + escaped(name.substr(0, 60) + "!", '\'') +
                      "', '<hub>', 'USAGE')"),
                  "t");
        run("SELECT belay.set_hub_option('<hub>', 'task_retention', '1 h')");
        // In the short form one call of three. All is taken back.
        for (const Call& call : writing_calls()) {
            if (!long_form() && nth++ % 3 != 0) {
                continue;
            }
            conn.exec("BEGIN");
            const Outcome outcome = attempt(conn, statement_of(call, name, words));
            EXPECT_TRUE(outcome.ok())
                << call.verb << " " << outcome.sqlstate << " " << outcome.message;
            conn.exec("ROLLBACK");
        }
        EXPECT_EQ(complaints(conn, name), "");
        run("SELECT belay.revoke_hub('<hub>', '" + escaped(name.substr(0, 60) + "!", '\'') +
            "', 'operator')");
        run("SELECT belay.new_incarnation('<hub>')");
        EXPECT_NE(conn.value("SELECT belay.metrics()").find("hub=\""), std::string::npos);
        run("SELECT belay.drop_hub('<hub>', true)");
        EXPECT_EQ(run("SELECT count(*) FROM pg_namespace WHERE nspname = '<hub>'"), "0");
    }
}

}  // namespace
}  // namespace belay::test::robust
