// A hostile owner: code that is attached to the owner's tables runs with the owner's rights,
// whichever role calls, also a superuser or the background worker; and for any change of the tables
// the server lives on.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "scenario.hpp"

namespace belay::test::robust {
namespace {

// Raises ELEVA if it has more rights than the owner, or gets them.
constexpr const char* kLair = R"(
CREATE SCHEMA lair;
CREATE TABLE lair.log (who name, session name);
CREATE SEQUENCE lair.visits;  -- not taken back with the transaction
CREATE FUNCTION lair.seize(statement text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE statement;
    RAISE SQLSTATE 'ELEVA' USING MESSAGE = 'done: ' || statement;
EXCEPTION
    WHEN SQLSTATE 'ELEVA' THEN RAISE;
    WHEN OTHERS THEN NULL;
END $$;
CREATE FUNCTION lair.spy() RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('lair.asleep', true) = 'yes' THEN  -- while the trap is set
        RETURN true;
    END IF;
    PERFORM pg_catalog.nextval('lair.visits');
    IF current_user <> 'the_owner' THEN
        RAISE SQLSTATE 'ELEVA' USING MESSAGE = 'runs as ' || current_user;
    END IF;
    PERFORM lair.seize('SET LOCAL ROLE none'), lair.seize(pg_catalog.format('SET LOCAL ROLE %I', session_user)),
            lair.seize('SET LOCAL SESSION AUTHORIZATION DEFAULT'), lair.seize('ALTER ROLE the_owner SUPERUSER'),
            lair.seize('CREATE TEMPORARY TABLE mine (x int)'), lair.seize('DECLARE c CURSOR WITH HOLD FOR SELECT 1');
    RETURN true;
END $$;
CREATE FUNCTION lair.spy_immutable() RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN lair.spy(); END $$;
CREATE FUNCTION lair.spy_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM lair.spy();
    RETURN COALESCE(new, old);
END $$;
CREATE FUNCTION lair.note_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO lair.log VALUES (current_user, session_user);
    PERFORM lair.spy();
    RETURN COALESCE(new, old);
END $$;
)";

// What is done to each table: %T is the table, %N its name, %Q its name in quotes.
struct Attack {
    const char* name;
    const char* ddl;
};

constexpr Attack kAttacks[] = {
    {"triggers for each row",
     "CREATE TRIGGER spy BEFORE INSERT OR UPDATE OR DELETE ON %T FOR EACH ROW EXECUTE FUNCTION "
     "lair.spy_row()"},
    {"triggers for each statement",
     "CREATE TRIGGER spy AFTER INSERT OR UPDATE OR DELETE ON %T EXECUTE FUNCTION lair.spy_row()"},
    {"deferred triggers",
     "CREATE CONSTRAINT TRIGGER spy AFTER INSERT OR UPDATE OR DELETE ON %T DEFERRABLE INITIALLY "
     "DEFERRED FOR EACH ROW EXECUTE FUNCTION lair.spy_row()"},
    {"row security",
     "ALTER TABLE %T ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY; CREATE POLICY spy ON %T "
     "USING (lair.spy()) WITH CHECK (lair.spy())"},
    {"row security that hides all",
     "ALTER TABLE %T ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY"},
    {"checks", "ALTER TABLE %T ADD CHECK (lair.spy())"},
    {"index expressions", "CREATE INDEX ON %T ((lair.spy_immutable()))"},
    {"partial indexes", "CREATE INDEX ON %T ((1)) WHERE lair.spy_immutable()"},
    {"rules",
     "CREATE RULE a AS ON INSERT TO %T DO ALSO SELECT lair.spy(); CREATE RULE b AS ON UPDATE TO %T "
     "DO ALSO SELECT lair.spy(); "
     "CREATE RULE c AS ON DELETE TO %T DO ALSO SELECT lair.spy()"},
    {"rules that do nothing",
     "CREATE RULE b AS ON UPDATE TO %T DO INSTEAD NOTHING; CREATE RULE c AS ON DELETE TO %T DO "
     "INSTEAD NOTHING"},
    {"defaults", "ALTER TABLE %T ADD COLUMN spy boolean DEFAULT lair.spy()"},
    {"generated columns",
     "ALTER TABLE %T ADD COLUMN spy boolean GENERATED ALWAYS AS (lair.spy_immutable()) STORED"},
    {"children", "CREATE TABLE lair.\"child of %N\" () INHERITS (%T)"},
    {"views in their place",
     "ALTER TABLE %T RENAME TO \"old %N\"; CREATE VIEW %T AS SELECT * FROM <hub>.\"old %N\" WHERE "
     "lair.spy()"},
    {"other types",
     "DO $$ DECLARE c record; BEGIN FOR c IN SELECT attname, atttypid FROM pg_attribute WHERE "
     "attrelid = '%T'::regclass AND attnum > 0 AND "
     "NOT attisdropped AND atttypid IN ('int8'::regtype, 'int4'::regtype, 'text'::regtype, "
     "'bool'::regtype) LOOP "
     "BEGIN EXECUTE format('ALTER TABLE %T ALTER COLUMN %I TYPE %s', c.attname, CASE "
     "c.atttypid::regtype::text WHEN 'bigint' THEN 'numeric' "
     "WHEN 'integer' THEN 'int8' WHEN 'boolean' THEN 'text' ELSE 'varchar' END); EXCEPTION WHEN "
     "OTHERS THEN NULL; END; END LOOP; END $$"},
    {"nulls where none may be",
     "DO $$ DECLARE c name; BEGIN FOR c IN SELECT attname FROM pg_attribute WHERE attrelid = "
     "'%T'::regclass AND attnum > 0 AND attnotnull LOOP "
     "BEGIN EXECUTE format('ALTER TABLE %T ALTER COLUMN %I DROP NOT NULL', c); EXECUTE "
     "format('UPDATE %T SET %I = NULL', c); "
     "EXCEPTION WHEN OTHERS THEN NULL; END; END LOOP; END $$"},
    {"columns gone",
     "DO $$ DECLARE c name; BEGIN SELECT attname INTO c FROM pg_attribute WHERE attrelid = "
     "'%T'::regclass AND attnum > 1 AND NOT attisdropped LIMIT 1; "
     "EXECUTE format('ALTER TABLE %T DROP COLUMN %I CASCADE', c); EXCEPTION WHEN OTHERS THEN NULL; "
     "END $$"},
    {"nonsense in rows",
     "DO $$ DECLARE c record; BEGIN FOR c IN SELECT attname, atttypid::regtype::text AS t FROM "
     "pg_attribute WHERE attrelid = '%T'::regclass AND attnum > 0 AND "
     "NOT attisdropped LOOP BEGIN EXECUTE format('UPDATE %T SET %I = %L', c.attname, CASE c.t WHEN "
     "'bigint' THEN '9223372036854775807' WHEN 'integer' "
     "THEN '-2147483648' WHEN 'text' THEN 'no such word' WHEN 'jsonb' THEN '[[[1]]]' WHEN "
     "'timestamp with time zone' THEN 'infinity' END); "
     "EXCEPTION WHEN OTHERS THEN NULL; END; END LOOP; END $$"},
    // From PostgreSQL 18 on NOT NULL is a constraint, too, which a column of a key has to keep.
    {"no keys",
     "DO $$ DECLARE c name; BEGIN FOR c IN SELECT conname FROM pg_constraint WHERE conrelid = "
     "'%T'::regclass AND contype <> 'n' LOOP "
     "EXECUTE format('ALTER TABLE %T DROP CONSTRAINT %I CASCADE', c); END LOOP; END $$"},
    {"gone", "DROP TABLE %T CASCADE"},
};

constexpr const char* kAdministration[] = {
    "SELECT * FROM belay.check_hub('f')",
    "SELECT belay.set_hub_option('f', 'task_retention', '5 s')",
    "SELECT belay.set_hub_option('f', 'slot_count', '3')",
    "SELECT belay.upgrade_hub('f')",
    "SELECT belay.grant_hub('f', 'an_operator', 'worker')",
    "SELECT belay.new_incarnation('f')",
    "SELECT * FROM belay.hubs",
    "SELECT * FROM belay.hub_options",
    "SELECT * FROM belay.pg_stat_belay_hub",
    "SELECT * FROM belay.hub_sizes",
    "SELECT belay.metrics()",
    "SELECT belay.drop_hub('f', true)",
};

void replace_all(std::string* text, const std::string& what, const std::string& with) {
    for (std::size_t at = 0; (at = text->find(what, at)) != std::string::npos; at += with.size()) {
        text->replace(at, what.size(), with);
    }
}

class HostileOwner : public ::testing::Test {
 protected:
    HostileOwner()
        : cluster_(
              {.preload = true,
               .conf = {"belay.reconcile_interval = 0", "autovacuum = off",
                        "log_min_error_statement = panic", "max_locks_per_transaction = 2000"}}),
          conn_(cluster_.connect()) {
        conn_.exec(
            "CREATE EXTENSION belay; CREATE ROLE the_owner; CREATE ROLE an_operator; GRANT USAGE "
            "ON LANGUAGE belay TO the_owner; "
            "GRANT CREATE, TEMPORARY ON DATABASE postgres TO the_owner");
        conn_.exec("SET ROLE the_owner");
        conn_.exec(kLair);
        words_ = make_full_hub(conn_, "f");
        conn_.exec("SELECT belay.grant_hub('f', 'an_operator', 'operator')");
        conn_.exec("RESET ROLE");
        const Rows rows = conn_.exec(
            "SELECT relname FROM pg_class WHERE relnamespace = 'f'::regnamespace AND relkind = 'r' "
            "ORDER BY 1");
        for (int i = 0; i < rows.size(); ++i) {
            tables_.push_back(*rows.at(i, 0));
        }
    }

    std::string ddl_for(const Attack& attack, const std::string& table) const {
        std::string ddl = filled(attack.ddl, "f", {});
        replace_all(&ddl, "%T", "f." + table);
        replace_all(&ddl, "%N", table);
        return ddl;
    }

    Cluster cluster_;
    Conn conn_;
    Words words_;
    std::vector<std::string> tables_;
};

TEST_F(HostileOwner, GainsNothing) {
    ASSERT_GT(tables_.size(), 30u);
    ASSERT_EQ(attempt(conn_, "SELECT lair.spy()").sqlstate, "ELEVA") << "the trap does not work";
    std::vector<std::string> calls;
    for (const Call& call : writing_calls()) {
        calls.push_back(statement_of(call, "f", words_));
    }
    std::size_t nth = 0;
    int made = 0;
    int failed = 0;
    for (const Attack& attack : kAttacks) {
        SCOPED_TRACE(attack.name);
        conn_.exec("BEGIN; SET LOCAL ROLE the_owner; SET LOCAL lair.asleep = 'yes'");
        int applied = 0;
        for (const auto& table : tables_) {
            conn_.exec("SAVEPOINT s");
            if (attempt(conn_, ddl_for(attack, table)).ok()) {
                ++applied;
                conn_.exec("RELEASE s");
            } else {
                conn_.exec("ROLLBACK TO s");
            }
        }
        conn_.exec("SET LOCAL lair.asleep = 'no'");
        EXPECT_GT(applied, 20) << "hardly a table takes it";
        const auto call_as = [&](const char* role, const std::string& sql) {
            conn_.exec(std::string("SAVEPOINT s; SET LOCAL ROLE ") + role);
            const Outcome outcome = attempt(conn_, sql);
            ASSERT_NE(outcome.sqlstate, "08006") << sql;
            EXPECT_NE(outcome.sqlstate, "ELEVA") << role << ": " << sql << ": " << outcome.message;
            ++made;
            failed += outcome.ok() ? 0 : 1;
            conn_.exec("ROLLBACK TO s");
        };
        // In the short form each attack meets a third of the calls, the next one another third.
        ++nth;
        for (const auto& sql : calls) {
            ++nth;
            if (long_form() || nth % 3 == 0) {
                call_as("postgres", sql);
            }
            if (long_form() || nth % 12 == 0) {
                call_as("an_operator", sql);
            }
            ASSERT_FALSE(HasFailure());
        }
        for (const char* sql : kAdministration) {
            call_as("postgres", sql);
        }
        conn_.exec("ROLLBACK");
        ASSERT_FALSE(HasFailure());
    }
    EXPECT_GT(made, 1000);
    EXPECT_GT(failed, 0);
    EXPECT_GT(std::stoll(conn_.value("SELECT last_value FROM lair.visits")), 1000)
        << "hardly any of the owner's code has run";
    EXPECT_EQ(complaints(conn_, "f"), "");
    EXPECT_EQ(conn_.value("SELECT rolsuper FROM pg_roles WHERE rolname = 'the_owner'"), "f");
}

// The background worker is a superuser.
TEST_F(HostileOwner, GainsNothingFromTheWorker) {
    conn_.exec("SET ROLE the_owner; SET lair.asleep = 'yes'");
    // What a duty deletes. Tables that are accessed directly are refused with a trigger, so the
    // owner's code never runs there; the letters are deleted by a statement.
    conn_.exec("SELECT belay.set_hub_option('f', 'dead_letter_retention', '0')");
    conn_.exec(
        "INSERT INTO f.dead_letters (id, queue, source_id, work_item, attempt_count, reason, "
        "enqueued_at, dead_at) VALUES (77, 'worker', 77, '{}', 1, 'max_attempts', 'epoch', "
        "'epoch')");
    for (const auto& table : tables_) {
        conn_.exec("CREATE TRIGGER spy BEFORE INSERT OR UPDATE OR DELETE ON f." + table +
                   " FOR EACH ROW EXECUTE FUNCTION lair.note_row()");
        conn_.exec("ALTER TABLE f." + table + " ADD CHECK (lair.spy())");
    }
    conn_.exec("TRUNCATE lair.log; RESET ROLE; RESET lair.asleep");
    cluster_.configure("belay.reconcile_interval = 100ms");
    conn_.exec("SELECT pg_reload_conf()");
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    // Of the worker, not of our own session's calls: there are none.
    while (conn_.value("SELECT count(*) FROM lair.log") == "0" &&
           std::chrono::steady_clock::now() < deadline) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    EXPECT_NE(conn_.value("SELECT count(*) FROM lair.log"), "0") << "the worker changed nothing";
    EXPECT_EQ(conn_.value("SELECT string_agg(DISTINCT who::text, ' ') FROM lair.log"), "the_owner");
    EXPECT_EQ(conn_.value("SELECT count(*) FROM belay.workers WHERE last_error ~ 'runs as|done:'"),
              "0");
    EXPECT_EQ(conn_.value("SELECT rolsuper FROM pg_roles WHERE rolname = 'the_owner'"), "f");
}

}  // namespace
}  // namespace belay::test::robust
