// The owner of a hub can replace its views and functions. For any user of the tool, the owner's
// code runs with the owner's rights.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "programs.hpp"

namespace belay::test {
namespace {

class HostileOwner : public WithPrograms {
 protected:
    // A hub of another role, which has replaced everything in it by code that tells whose rights it
    // has, and tries to get more.
    void SetUp() override {
        WithPrograms::SetUp();
        auto conn = cluster->connect();
        conn.exec(
            "CREATE ROLE evil; GRANT USAGE ON LANGUAGE belay TO evil; "
            "GRANT CREATE ON DATABASE postgres TO evil; CREATE ROLE member LOGIN IN ROLE evil; "
            "CREATE ROLE grantee LOGIN; CREATE ROLE super LOGIN SUPERUSER; "
            "SET ROLE evil; SELECT belay.create_hub('theirs'); "
            "SELECT belay.grant_hub('theirs', 'grantee', 'operator')");
        conn.exec(R"(CREATE FUNCTION theirs.spy() RETURNS boolean LANGUAGE plpgsql AS $$
            BEGIN
                BEGIN
                    RESET ROLE;
                EXCEPTION WHEN OTHERS THEN
                    NULL;
                END;
                RAISE WARNING 'spy runs as %', current_user;
                RETURN true;
            END $$)");
        conn.exec(R"(DO $do$
            DECLARE
                def text;
                v record;
                columns text;
            BEGIN
                FOR def IN SELECT pg_get_functiondef(p.oid) FROM pg_proc p
                           JOIN pg_language l ON l.oid = p.prolang
                           WHERE p.pronamespace = 'theirs'::regnamespace AND l.lanname = 'belay'
                           AND p.prokind = 'f' LOOP
                    def := replace(def, 'LANGUAGE belay', 'LANGUAGE plpgsql');
                    EXECUTE regexp_replace(def, 'AS \$function\$.*\$function\$',
                        $f$AS 'BEGIN PERFORM theirs.spy(); RAISE EXCEPTION $q$replaced$q$; END'$f$);
                END LOOP;
                FOR v IN SELECT oid, relname FROM pg_class
                         WHERE relnamespace = 'theirs'::regnamespace AND relkind = 'v' LOOP
                    SELECT string_agg(format('NULL::%s%s AS %I', format_type(atttypid, atttypmod),
                                             CASE WHEN attcollation <> 0 THEN
                                             format(' COLLATE %s', attcollation::regcollation) END,
                                             attname), ', ' ORDER BY attnum)
                    INTO columns FROM pg_attribute WHERE attrelid = v.oid AND attnum > 0;
                    EXECUTE format('CREATE OR REPLACE VIEW theirs.%I AS SELECT %s WHERE theirs.spy()',
                                   v.relname, columns);
                END LOOP;
            END $do$)");
    }
    void TearDown() override {
        cluster->connect().exec(
            "DROP SCHEMA theirs CASCADE; DROP OWNED BY evil, grantee; "
            "DROP ROLE member, grantee, super, evil");
        WithPrograms::TearDown();
    }

    static Ran as(const std::string& role, std::vector<std::string> words,
                  const std::string& settings = "") {
        words.insert(words.begin(), {"belay", "--hub", "theirs", "--dsn",
                                     cluster->conninfo() + " user=" + role + settings});
        return run(words);
    }

    // Every command that calls a function or reads a view of a hub.
    static std::vector<std::vector<std::string>> commands() {
        return {
            {"top", "--once"},
            {"instances"},
            {"show", "x"},
            {"history", "x"},
            {"explain", "x"},
            {"explain", "1", "--item"},
            {"tasks"},
            {"task", "0190c2a4-0000-7000-8000-0000000000ff"},
            {"queues"},
            {"flows"},
            {"flow", "0190c2a4-0000-7000-8000-0000000000ff"},
            {"schedules", "list"},
            {"waitpoints", "0190c2a4-0000-7000-8000-0000000000ff"},
            {"queue"},
            {"subscriptions"},
            {"events", "x"},
            {"dead-letters", "list"},
            {"dead-letters", "show", "1"},
            {"start", "Bill"},
            {"send", "mail", "hello"},
            {"status", "0190c2a4-0000-7000-8000-0000000000ff"},
            {"await", "0190c2a4-0000-7000-8000-0000000000ff", "--timeout", "1ms"},
            {"replay-history", "--plugin", beside("libreplay_plugin.so"), "--instance", "x"},
            {"replay-history", "--plugin", beside("libreplay_plugin.so")},
            {"versions"},
            {"raise", "x", "paid", "--early"},
            {"cancel", "x", "--instance", "--early"},
            {"cancel", "0190c2a4-0000-7000-8000-0000000000ff", "--task"},
            {"cancel", "0190c2a4-0000-7000-8000-0000000000ff", "--flow"},
            {"revoke", "0190c2a4-0000-7000-8000-0000000000ff"},
            {"replay", "0190c2a4-0000-7000-8000-0000000000ff"},
            {"replay", "--queue", "mail"},
            {"priority", "0190c2a4-0000-7000-8000-0000000000ff", "1"},
            {"signal", "0190c2a4-0000-7000-8000-0000000000ff",
             "0190c2a4-0000-7000-8000-0000000000fe", "yes", "--token", "t"},
            {"approve", "0190c2a4-0000-7000-8000-0000000000ff",
             "0190c2a4-0000-7000-8000-0000000000fe", "yes"},
            {"schedules", "pause", "x"},
            {"schedules", "resume", "x"},
            {"pause"},
            {"resume"},
            {"pause", "--queue", "mail"},
            {"resume", "--queue", "mail"},
            {"dead-letters", "redrive", "1"},
            {"dead-letters", "redrive", "--all"},
            {"dead-letters", "discard", "1"},
        };
    }
};

// Every command that runs a worker.
const std::vector<std::vector<std::string>> kWorkers = {
    {"run-worker", "--shell", "true", "--count", "1"},
    {"receive", "mail", "--exec", "true", "--count", "1"},
    {"demo-load", "--seconds", "1"},
};

TEST_F(HostileOwner, NeverHasTheRightsOfTheToolsUser) {
    for (const char* role : {"super", "member"}) {
        for (const auto& words : commands()) {
            const Ran ran = as(role, words);
            EXPECT_NE(ran.err.find("spy runs as evil"), std::string::npos)
                << role << " " << testing::PrintToString(words) << ran.err;
            EXPECT_EQ(ran.err.find(std::string("spy runs as ") + role), std::string::npos)
                << role << " " << testing::PrintToString(words) << ran.err;
        }
        // A worker waits, which is impossible with the owner's rights.
        for (const auto& words : kWorkers) {
            const Ran ran = as(role, words);
            EXPECT_EQ(ran.code, 2) << testing::PrintToString(words);
            EXPECT_NE(ran.err.find("more rights than the owner"), std::string::npos) << ran.err;
            EXPECT_EQ(ran.err.find("spy runs"), std::string::npos) << ran.err;
        }
    }
}

TEST_F(HostileOwner, IsNotReachedThroughARoleThatASuperuserHasSet) {
    // The owner's code could set the role back.
    const Ran ran = as("super", {"queues"}, " options='-c role=grantee'");
    EXPECT_EQ(ran.code, 1);
    EXPECT_NE(ran.err.find("a superuser has set the role"), std::string::npos) << ran.err;
    EXPECT_EQ(ran.err.find("spy runs"), std::string::npos) << ran.err;
    // As the owner is the same: the owner's code could return to super.
    const Ran owner = as("super", {"queues"}, " options='-c role=evil'");
    EXPECT_NE(owner.err.find("spy runs as evil"), std::string::npos) << owner.err;
    EXPECT_EQ(owner.err.find("spy runs as super"), std::string::npos) << owner.err;
}

// A role with nothing but a level has nothing that the owner could use.
TEST_F(HostileOwner, RunsAsAPlainGrantee) {
    const Ran ran = as("grantee", {"queues"});
    EXPECT_NE(ran.err.find("spy runs as grantee"), std::string::npos) << ran.err;
}

// With the owner's rights a superuser sees and does what the owner could.
TEST_F(WithPrograms, SuperusersUseHubsOfOthers) {
    auto conn = cluster->connect();
    conn.exec(
        "CREATE ROLE them; GRANT USAGE ON LANGUAGE belay TO them; GRANT CREATE ON DATABASE "
        "postgres TO them; SET ROLE them; SELECT belay.create_hub('their 100% \"hub\"'); "
        "RESET ROLE");
    Hub hub(connection_, "their 100% \"hub\"", server_clock(), Rights::kOwner);
    const Json payload = {{"a", "100%s $1 'x' \\ ä"}, {"n", nullptr}};
    const auto created = hub.tasks().create({.queue = "mail", .payload = payload});
    const auto tasks = hub.tasks().list({.queue = "mail"});
    ASSERT_EQ(tasks.size(), 1u);
    EXPECT_EQ(tasks[0].id, created.id);
    EXPECT_EQ(tasks[0].worker, std::nullopt);
    EXPECT_EQ(hub.tasks().get(created.id)->at("payload"), payload);
    EXPECT_EQ(hub.queues().depths().at(0).ready, 1);
    EXPECT_EQ(hub.tasks().force_cancel(created.id).public_state, PublicState::kCancelled);
    EXPECT_TRUE(hub.tasks().list({.queue = "none"}).empty());
    // Errors are the server's own.
    try {
        hub.tasks().replay(Uuid("0190c2a4-0000-7000-8000-0000000000ff"));
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.sqlstate(), "QB002");
    }
    EXPECT_THROW(hub.provider().wait_for_work({"worker"}, Milliseconds(1)), Error);
    // Nor is the clock set in a transaction that has the session's rights.
    Hub timed(connection_, "their 100% \"hub\"", TestClock(from_ms(1000)).clock(), Rights::kOwner);
    try {
        (void)Queue(timed, "mail").send("hello");
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.sqlstate(), "0A000");
    }
    EXPECT_EQ(run({"belay", "--hub", "their 100% \"hub\"", "queues"}).code, 0);
    conn.exec(
        "SELECT belay.drop_hub('their 100% \"hub\"', true); DROP OWNED BY them; DROP ROLE them");
}

}  // namespace
}  // namespace belay::test
