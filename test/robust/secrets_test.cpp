// Tokens cannot be guessed, and neither they nor keys and passwords get where they do not belong:
// the server's log, errors, events, views and functions of any level.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <set>
#include <thread>

#include "scenario.hpp"

namespace belay::test::robust {
namespace {

Cluster::Options quiet() {
    return {.preload = true,
            .conf = {"belay.reconcile_interval = 0", "autovacuum = off",
                     // All that the server and belay say of themselves, without the statements.
                     "log_min_messages = debug1", "log_min_error_statement = panic",
                     "log_error_verbosity = verbose", "log_statement = none",
                     "log_parameter_max_length_on_error = 0"}};
}

// 128 bits from a strong source: no two nonces alike, each bit as often 1 as 0, no bit that follows
// another.
TEST(Tokens, CannotBeGuessed) {
    Cluster cluster(quiet());
    Conn conn = cluster.connect();
    conn.exec("CREATE EXTENSION belay; SELECT belay.create_hub('f')");
    constexpr int kItems = 3000;
    conn.exec(
        "SELECT f.enqueue_worker_items((SELECT "
        "jsonb_agg('{\"work_item\":{\"ActivityExecute\":{}}}'::jsonb) FROM generate_series(1, " +
        std::to_string(kItems) + ")))");
    for (int i = 0; i < kItems; i += 1000) {
        conn.exec(
            "SELECT count(*) FROM f.fetch_work_items(60000, p_max_items => 1000, p_now_ms => "
            "(extract(epoch FROM clock_timestamp()) * "
            "1000)::bigint)");
    }
    const Rows rows =
        conn.exec("SELECT nonce_hi, nonce_lo FROM f.worker_queue WHERE locked_until > 0");
    ASSERT_EQ(rows.size(), kItems);
    std::set<std::pair<std::int64_t, std::int64_t>> all;
    std::vector<std::vector<bool>> bits;
    for (int i = 0; i < rows.size(); ++i) {
        const std::int64_t hi = std::stoll(*rows.at(i, 0));
        const std::int64_t lo = std::stoll(*rows.at(i, 1));
        all.emplace(hi, lo);
        std::vector<bool> row;
        for (const auto half : {static_cast<std::uint64_t>(hi), static_cast<std::uint64_t>(lo)}) {
            for (int bit = 0; bit < 64; ++bit) {
                row.push_back((half >> bit & 1) != 0);
            }
        }
        bits.push_back(row);
    }
    EXPECT_EQ(all.size(), static_cast<std::size_t>(kItems));
    const double limit = 6.5 * std::sqrt(kItems) / 2;  // far beyond any chance
    for (std::size_t bit = 0; bit < 128; ++bit) {
        int ones = 0;
        int kept = 0;    // like the same bit of the nonce before
        int paired = 0;  // like the next bit of the same nonce
        for (std::size_t i = 0; i < bits.size(); ++i) {
            ones += bits[i][bit] ? 1 : 0;
            kept += i > 0 && bits[i][bit] == bits[i - 1][bit] ? 1 : 0;
            paired += bits[i][bit] == bits[i][(bit + 1) % 128] ? 1 : 0;
        }
        EXPECT_NEAR(ones, kItems / 2.0, limit) << "bit " << bit;
        EXPECT_NEAR(kept, kItems / 2.0, limit) << "bit " << bit;
        EXPECT_NEAR(paired, kItems / 2.0, limit) << "bit " << bit;
    }
    // A token with a changed bit is rejected.
    const std::string token = conn.value("SELECT lock_token FROM f.work_items LIMIT 1");
    int refused = 0;
    for (std::size_t i = 0; i < token.size(); ++i) {
        std::string other = token;
        other[i] = other[i] == 'A' ? 'B' : 'A';
        refused +=
            attempt(
                conn,
                "SELECT f.renew_work_item_lock('" + other +
                    "', 1000, p_now_ms => (extract(epoch FROM clock_timestamp()) * 1000)::bigint)")
                        .sqlstate == "QB001"
                ? 1
                : 0;
    }
    EXPECT_EQ(refused, static_cast<int>(token.size()));
}

class Secrets : public ::testing::Test {
 protected:
    Secrets() : cluster_(quiet()), conn_(cluster_.connect()) {
        conn_.exec("CREATE EXTENSION belay; CREATE EXTENSION postgres_fdw");
        words_ = make_full_hub(conn_, "f");
        conn_.exec(
            "CREATE SERVER far FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '127.0.0.1', port "
            "'1', dbname 'x'); "
            "CREATE USER MAPPING FOR postgres SERVER far OPTIONS (user 'me', password 'open "
            "sesame'); "
            "SELECT belay.create_hub_link('f', 'elsewhere', 'far')");
        conn_.exec("SELECT f.send_to_hub('elsewhere', 'worker', '{\"ActivityExecute\":{}}')");
        secret_ = conn_.value("SELECT encode(secret, 'hex') FROM f.waitpoint_keys LIMIT 1");
    }

    // What must not be seen, with its name. A token's first characters tell the item; the rest is
    // the secret.
    std::map<std::string, std::string> hidden() const {
        std::map<std::string, std::string> all = {{"password", "open sesame"},
                                                  {"key", secret_.substr(0, 24)}};
        for (const char* name : {"turn", "work1", "work2", "work3", "signal"}) {
            const std::string& token = words_.at(name);
            all[name] = token.substr(token.size() - 16);
        }
        return all;
    }

    void expect_hidden(const std::string& text, const std::string& where) {
        for (const auto& [name, secret] : hidden()) {
            EXPECT_EQ(text.find(secret), std::string::npos) << name << " in " << where;
        }
    }

    Cluster cluster_;
    Conn conn_;
    Words words_;
    std::string secret_;
};

TEST_F(Secrets, AreNotInErrorsOrTheLog) {
    ASSERT_GE(secret_.size(), 64u);
    // Each token in each call, right, wrong, late and of another kind.
    int errors = 0;
    for (const char* word : {"turn", "work1", "work2", "signal", "upto"}) {
        const std::string token = words_.at(word);
        for (const std::string& text : {token, token + "x", "x" + token}) {
            for (const char* call :
                 {"ack_worker('%', NULL, NULL, 900000)",
                  "renew_work_item_lock('%', 5, p_now_ms => 900000)",
                  "abandon_work_item('%', p_now_ms => 900000)",
                  "ack_and_fetch_work_item('%', NULL, NULL, 5, p_now_ms => 900000)",
                  "ack_orchestration_item('%', 2, '[]', '[]', '[]', '{}', p_now_ms => 900000)",
                  "renew_orchestration_item_lock('%', 5, p_now_ms => 900000)",
                  "abandon_orchestration_item('%', p_now_ms => 900000)", "guard('%')",
                  "ack_events('taken', '%', 900000)",
                  "deliver_signal('<08>', '<waitpoint>', '%x', '{}', 1200)",
                  "deliver_signal('<09>', '<waitpoint>', '%', '{}', 1200)",
                  "ack_workers('[{\"lock_token\":\"%\",\"completion_json\":{}}]', 900000)",
                  "renew_work_item_locks(ARRAY['%'], 5, p_now_ms => 900000)",
                  "ack_worker('%', 'x', '{\"no\":{}}', 2000)",
                  "ack_orchestration_item('%', -1, '[]', '[]', '[]', '{}', p_now_ms => 2000)",
                  "get_instance_info('%')", "pause_queue('%')"}) {
                std::string sql = call;
                sql.replace(sql.find('%'), 1, text);
                conn_.exec("BEGIN");
                const Outcome outcome =
                    attempt(conn_, filled("SELECT * FROM <hub>." + sql, "f", words_));
                errors += outcome.ok() ? 0 : 1;
                // A name that the caller has chosen may be repeated to the caller.
                if (!sql.starts_with("get_instance_info") && !sql.starts_with("pause_queue")) {
                    expect_hidden(outcome.message + outcome.detail + outcome.hint, sql);
                }
                conn_.exec("ROLLBACK");
            }
        }
    }
    EXPECT_GT(errors, 50);
    conn_.exec("SELECT f.rotate_waitpoint_key('k2', decode('" + secret_ + "', 'hex') || 'x', 0)");
    attempt(conn_, "SELECT f.seed_waitpoint_key('k2', decode('" + secret_ + "', 'hex'))");
    attempt(conn_, "SELECT f.seed_waitpoint_key('short', substr(decode('" + secret_ +
                       "', 'hex'), 1, 20))");
    attempt(conn_, "SELECT belay.create_hub_link('f', 'elsewhere', 'far')");
    // The relay tries to go there, and cannot.
    cluster_.configure("belay.reconcile_interval = 100ms");
    conn_.exec("SELECT pg_reload_conf()");
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    const std::string tried =
        "SELECT count(*) FROM f.intents WHERE attempts > 0 AND last_error IS NOT NULL";
    while (conn_.value(tried) == "0" && std::chrono::steady_clock::now() < deadline) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    EXPECT_NE(conn_.value(tried), "0");
    const std::string log = cluster_.log();
    EXPECT_NE(log.find("QB001"), std::string::npos) << "the log has no errors";
    expect_hidden(log, "the log");
    expect_hidden(conn_.value("SELECT string_agg(a::text, '') FROM pg_stat_activity AS a WHERE pid "
                              "<> pg_backend_pid()"),
                  "pg_stat_activity");
}

TEST_F(Secrets, AreNotSeenAtAnyLevel) {
    conn_.exec(
        "CREATE ROLE a_worker; CREATE ROLE a_monitor; CREATE ROLE an_operator; CREATE ROLE "
        "a_client; CREATE ROLE stranger; "
        "SELECT belay.grant_hub('f', 'a_worker', 'worker'), belay.grant_hub('f', 'a_monitor', "
        "'monitor'), "
        "belay.grant_hub('f', 'an_operator', 'operator'), belay.grant_hub('f', 'a_client', "
        "'client')");
    const Rows readers = conn_.exec(
        "SELECT p.proname, (SELECT string_agg(CASE format_type(t, NULL) WHEN 'text' THEN "
        "'''turn''' WHEN 'uuid' THEN '''" +
        id_of("08") +
        "''' WHEN 'jsonb' THEN '''{}''' WHEN 'integer' THEN '100' ELSE 'NULL' END || '::' || "
        "format_type(t, NULL), ', ' ORDER BY n) "
        "FROM unnest(p.proargtypes) WITH ORDINALITY AS a (t, n)) FROM pg_proc AS p WHERE "
        "p.pronamespace = 'f'::regnamespace AND p.provolatile = 's'");
    ASSERT_GT(readers.size(), 25);
    std::vector<std::string> queries;
    for (int i = 0; i < readers.size(); ++i) {
        queries.push_back("f." + *readers.at(i, 0) + "(" + readers.at(i, 1).value_or("") + ")");
    }
    for (const char* id : {"01", "09", "11"}) {
        queries.push_back("f.get_task('" + id_of(id) + "')");
    }
    queries.push_back("f.list_waitpoints('" + id_of("09") + "')");
    queries.push_back("f.list_signals('" + id_of("09") + "')");
    queries.push_back("f.list_work_items('{}')");
    queries.push_back("f.read_events('free', 1000, 1000, 2000)");
    const Rows relations = conn_.exec(
        "SELECT c.oid::regclass FROM pg_class AS c WHERE c.relkind IN ('v', 'r') AND "
        "c.relnamespace IN ('f'::regnamespace, 'belay'::regnamespace)");
    for (int i = 0; i < relations.size(); ++i) {
        queries.push_back(*relations.at(i, 0));
    }
    int seen = 0;
    for (const char* role : {"a_client", "a_worker", "a_monitor", "an_operator", "stranger"}) {
        for (const auto& query : queries) {
            conn_.exec(std::string("BEGIN; SET LOCAL ROLE ") + role);
            PGresult* result =
                PQexec(conn_.raw(), ("SELECT q::text FROM " + query + " AS q").c_str());
            std::string text;
            for (int row = 0; row < PQntuples(result); ++row) {
                text += std::string(PQgetvalue(result, row, 0)) + "\n";
            }
            seen += text.empty() ? 0 : 1;
            PQclear(result);
            conn_.exec("ROLLBACK");
            expect_hidden(text, query + " of " + role);
        }
    }
    EXPECT_GT(seen, 40);
    // Nor in what others can read, for any option of the owner.
    expect_hidden(conn_.value("SELECT string_agg(e::text, '') FROM f.outbox_events AS e"),
                  "events");
}

}  // namespace
}  // namespace belay::test::robust
