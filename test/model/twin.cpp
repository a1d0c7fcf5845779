#include "twin.hpp"

#include <algorithm>
#include <cctype>
#include <memory>
#include <set>
#include <sstream>
#include <tuple>

#include "core/token.hpp"

namespace belay::test::model {

namespace {

// Times of the server's clock, in ms. Those of the tests are far from it.
constexpr int64_t kServerFrom = 1'600'000'000'000;
constexpr int64_t kServerTo = 2'000'000'000'000;

constexpr std::size_t kIdLength = 36;
// The time and the version of an id that the server has made.
constexpr std::size_t kIdTime = 15;

std::string shown(const Text& field) {
    return field ? *field : "NULL";
}

bool is_server_time(const Text& field) {
    if (!field || field->size() != 13 || field->find_first_not_of("0123456789") != field->npos) {
        return false;
    }
    const int64_t ms = std::stoll(*field);
    return ms >= kServerFrom && ms < kServerTo;
}

// The same but for the random bits.
bool same_lease(const std::string& ours, const std::string& its) {
    if (auto a = core::decode_work_token(ours), b = core::decode_work_token(its); a && b) {
        a->nonce_hi = b->nonce_hi;
        a->nonce_lo = b->nonce_lo;
        return *a == *b;
    }
    if (auto a = core::decode_turn_token(ours), b = core::decode_turn_token(its); a && b) {
        a->nonce_hi = b->nonce_hi;
        a->nonce_lo = b->nonce_lo;
        return *a == *b;
    }
    return false;
}

// The id that a claim returns, without its random bits.
std::string_view without_nonce(std::string_view lease_id) {
    constexpr std::size_t kNonce = 32;
    const std::size_t colon = lease_id.rfind(':');
    return lease_id.starts_with("belay:") && colon + 1 + kNonce == lease_id.size()
               ? lease_id.substr(0, colon)
               : lease_id;
}

std::string field_of(const PGresult* result, int field) {
    const char* text = PQresultErrorField(result, field);
    return text != nullptr ? text : "";
}

// Whether a uuid begins there.
bool is_id_at(std::string_view text, std::size_t at) {
    if (text.size() - at < kIdLength) {
        return false;
    }
    for (std::size_t i = 0; i < kIdLength; ++i) {
        const char c = text[at + i];
        const bool hyphen = i == 8 || i == 13 || i == 18 || i == 23;
        if (hyphen ? c != '-' : std::isxdigit(static_cast<unsigned char>(c)) == 0) {
            return false;
        }
    }
    return true;
}

template <typename Names>
std::string with_ids(std::string_view text, const Names& ids) {
    std::string out;
    std::size_t copied = 0;
    for (std::size_t at = 0; at + kIdLength <= text.size();) {
        if (!is_id_at(text, at)) {
            ++at;
            continue;
        }
        const auto known = ids.find(text.substr(at, kIdLength));
        if (known != ids.end()) {
            out += text.substr(copied, at - copied);
            out += known->second;
            copied = at + kIdLength;
        }
        at += kIdLength;
    }
    out += text.substr(copied);
    return out;
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
        lines.push_back(line);
    }
    std::sort(lines.begin(), lines.end());
    return lines;
}

}  // namespace

Twin::Twin(Cluster* cluster, const std::string& database)
    : cluster_(cluster), database_(database), observer_(cluster->connect(database)) {}

void Twin::connect(int clients, const std::string& settings) {
    for (int i = 0; i < clients; ++i) {
        clients_.push_back(cluster_->connect(database_));
        clients_.back().exec(settings);
        prepare_tables(&clients_.back());
    }
}

// The twin's token for ours; what is none, or was made up, stays as it is. An item that changes its
// slot takes the token of a lease that is over along: only the random bits are as they were given.
std::string Twin::token(const std::string& ours) const {
    if (const auto known = tokens_.find(ours); known != tokens_.end()) {
        return known->second;
    }
    auto moved = core::decode_work_token(ours);
    const auto nonce = moved ? nonces_.find({moved->nonce_hi, moved->nonce_lo}) : nonces_.end();
    if (nonce == nonces_.end()) {
        return ours;
    }
    std::tie(moved->nonce_hi, moved->nonce_lo) = nonce->second;
    std::string its(core::kWorkTokenChars, ' ');
    core::encode(*moved, its.data());
    return its;
}

// Tokens stand in quotes, of SQL or of JSON.
std::string Twin::translated(const std::string& sql) const {
    std::string text;
    std::size_t at = 0;
    while (at <= sql.size()) {
        const std::size_t end = std::min(sql.find_first_of("'\"", at), sql.size());
        text += token(sql.substr(at, end - at));
        if (end < sql.size()) {
            text += sql[end];
        }
        at = end + 1;
    }
    return with_ids(text, ids_);
}

std::string Twin::with_our_ids(std::string_view its) const {
    return with_ids(its, our_ids_);
}

bool Twin::pair_tokens(const std::string& ours, const std::string& its) {
    if (!same_lease(ours, its)) {
        return false;
    }
    if (const auto a = core::decode_work_token(ours), b = core::decode_work_token(its); a && b) {
        nonces_.emplace(Nonce(a->nonce_hi, a->nonce_lo), Nonce(b->nonce_hi, b->nonce_lo));
    }
    const auto [known, is_new] = tokens_.emplace(ours, its);
    return is_new || known->second == its;
}

bool Twin::pair_ids(const std::string& ours, const std::string& its) {
    if (ours.size() != kIdLength || its.size() != kIdLength || !is_id_at(ours, 0) ||
        !is_id_at(its, 0) || ours[kIdTime - 1] != '7' ||
        ours.compare(0, kIdTime, its, 0, kIdTime) != 0) {
        return false;
    }
    const bool is_new = ids_.emplace(ours, its).second;
    return our_ids_.emplace(its, ours).second && is_new;
}

std::string Twin::difference(const Answer& ours, const Answer& its) {
    if (ours.sqlstate != its.sqlstate || ours.message != with_our_ids(its.message) ||
        ours.detail != with_our_ids(its.detail) || ours.hint != with_our_ids(its.hint)) {
        return "  one:   " + ours.sqlstate + " " + ours.message + " " + ours.detail +
               "\n  other: " + its.sqlstate + " " + its.message + " " + its.detail + "\n";
    }
    if (ours.rows.size() != its.rows.size()) {
        return "  one:   " + std::to_string(ours.rows.size()) +
               " rows\n  other: " + std::to_string(its.rows.size()) + " rows\n";
    }
    std::string text;
    for (std::size_t row = 0; row < ours.rows.size(); ++row) {
        const auto& a = ours.rows[row];
        const auto& b = its.rows[row];
        for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
            const bool same = i < a.size() && i < b.size() &&
                              (a[i] == b[i] || (is_server_time(a[i]) && is_server_time(b[i])) ||
                               (a[i] && b[i] &&
                                (without_nonce(*a[i]) == without_nonce(with_our_ids(*b[i])) ||
                                 pair_tokens(*a[i], *b[i]) || pair_ids(*a[i], *b[i]))));
            if (!same) {
                text += "  row " + std::to_string(row) +
                        ", one:   " + (i < a.size() ? shown(a[i]) : "no column") + "\n  row " +
                        std::to_string(row) +
                        ", other: " + (i < b.size() ? shown(b[i]) : "no column") + "\n";
            }
        }
    }
    return text;
}

Answer ask(Conn& conn, const std::string& sql) {
    const std::unique_ptr<PGresult, void (*)(PGresult*)> result(PQexec(conn.raw(), sql.c_str()),
                                                                &PQclear);
    Answer answer;
    const auto status = PQresultStatus(result.get());
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
        answer.sqlstate = field_of(result.get(), PG_DIAG_SQLSTATE);
        answer.message = field_of(result.get(), PG_DIAG_MESSAGE_PRIMARY);
        answer.detail = field_of(result.get(), PG_DIAG_MESSAGE_DETAIL);
        answer.hint = field_of(result.get(), PG_DIAG_MESSAGE_HINT);
        if (answer.sqlstate.empty()) {
            answer.sqlstate = "08006";
        }
        return answer;
    }
    for (int row = 0; row < PQntuples(result.get()); ++row) {
        auto& fields = answer.rows.emplace_back();
        for (int column = 0; column < PQnfields(result.get()); ++column) {
            fields.push_back(PQgetisnull(result.get(), row, column)
                                 ? Text()
                                 : Text(PQgetvalue(result.get(), row, column)));
        }
    }
    return answer;
}

// A view, so that its plan can be kept: it is read after every step.
void make_table_view(Conn* conn) {
    conn->exec(R"sql(
DO $do$
DECLARE
    v_query text;
BEGIN
    SELECT string_agg(format('SELECT %L AS name, (SELECT string_agg(r::text, E''\n'' ORDER BY r::text'
                             ' COLLATE "C") FROM (SELECT %s FROM app.%I) AS r) AS content',
                             t.relname, t.columns, t.relname), ' UNION ALL ' ORDER BY t.relname)
      INTO v_query
      FROM (SELECT c.relname,
                   string_agg(CASE a.atttypid
                              WHEN 'timestamptz'::regtype THEN
                                  format('CASE WHEN %1$I > %2$L AND %1$I < %3$L'
                                         ' THEN %4$L ELSE %1$I::text END', a.attname,
                                         '2020-01-01', '2033-01-01', 'by the server')
                              WHEN 'bigint'::regtype THEN
                                  format('CASE WHEN %1$I > 1600000000000 AND %1$I < 2000000000000'
                                         ' THEN -1 ELSE %1$I END', a.attname)
                              ELSE quote_ident(a.attname) END, ', ' ORDER BY a.attnum) AS columns
              FROM pg_class AS c
              JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
             WHERE c.relnamespace = 'app'::regnamespace AND c.relkind = 'r'
               AND a.attname NOT IN ('nonce_hi', 'nonce_lo', 'lease_nonce', 'mark', 'secret', 'uuid', 'source_uuid')
               AND a.atttypid <> 'xid8'::regtype
             GROUP BY c.relname) AS t;
    EXECUTE 'CREATE VIEW shown_tables AS ' || v_query;
END
$do$)sql");
}

void prepare_tables(Conn* conn) {
    conn->exec("PREPARE shown_tables AS SELECT name, content FROM shown_tables");
}

std::string difference_of_tables(Conn* ours, const Twin& twin, Conn* its) {
    constexpr const char* kAll = "EXECUTE shown_tables";
    const Rows a = ours->exec(kAll);
    const Rows b = its->exec(kAll);
    std::string text;
    for (int row = 0; row < std::max(a.size(), b.size()); ++row) {
        if (row >= a.size() || row >= b.size() || a.at(row, 0) != b.at(row, 0)) {
            return "  the tables are not the same\n";
        }
        if (a.at(row, 1) == b.at(row, 1)) {
            continue;
        }
        const auto one = lines_of(a.at(row, 1).value_or(""));
        const auto other = lines_of(twin.with_our_ids(b.at(row, 1).value_or("")));
        if (one == other) {
            continue;
        }
        const std::multiset<std::string> in_one(one.begin(), one.end());
        const std::multiset<std::string> in_other(other.begin(), other.end());
        const std::string name = a.at(row, 0).value_or("");
        for (const auto& line : one) {
            if (!in_other.contains(line)) {
                text += "  " + name + ", one:   " + line + "\n";
            }
        }
        for (const auto& line : other) {
            if (!in_one.contains(line)) {
                text += "  " + name + ", other: " + line + "\n";
            }
        }
        if (text.empty()) {
            text = "  " + name + " has other numbers of rows\n";
        }
    }
    return text;
}

}  // namespace belay::test::model
