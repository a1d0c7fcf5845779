// A connection to a server: statements, their repetition, transactions, pipelines, and the way to
// the server that a hub has gone to.
//
// May touch: one libpq connection. Must not: know what a statement means; the calls say whether it
// may be repeated.
#include "belay/connection.hpp"

#include <libpq-fe.h>
#include <poll.h>

#include <cerrno>
#include <algorithm>
#include <random>
#include <thread>
#include <unordered_map>

#include "conninfo.hpp"
#include "max_bytes.hpp"
#include "retry.hpp"

namespace belay {
namespace {

// The lease that the statement names is gone.
bool is_lease_lost(std::string_view sqlstate) {
    return sqlstate == "QB001" || sqlstate == "QB012" || sqlstate == "QB013";
}

bool is_connection_state(std::string_view sqlstate) {
    return sqlstate.starts_with("08") || sqlstate.starts_with("57P0");
}

std::string field_of(const PGresult* result, int code) {
    const char* text = PQresultErrorField(result, code);
    return text != nullptr ? text : "";
}

std::string trimmed(std::string text) {
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) {
        text.pop_back();
    }
    return text;
}

struct FinishConn {
    bool owned = true;
    void operator()(PGconn* conn) const {
        if (owned) {
            PQfinish(conn);
        }
    }
};
using ConnPointer = std::unique_ptr<PGconn, FinishConn>;

struct ClearResult {
    void operator()(PGresult* result) const { PQclear(result); }
};
using ResultPointer = std::unique_ptr<PGresult, ClearResult>;

// The 128-bit FNV-1a hash of bytes, as hexadecimal digits.
std::string fnv1a_128(std::string_view bytes) {
    __extension__ using Hash = unsigned __int128;
    constexpr Hash kPrime = (Hash{1} << 88) + 0x13b;
    Hash hash = (Hash{0x6c62272e07bb0142} << 64) + 0x62b821756295c58d;
    for (const char byte : bytes) {
        hash = (hash ^ static_cast<unsigned char>(byte)) * kPrime;
    }
    std::string digits;
    for (int shift = 124; shift >= 0; shift -= 4) {
        digits += "0123456789abcdef"[static_cast<unsigned>(hash >> shift) & 0xf];
    }
    return digits;
}

bool is_success(const PGresult* result) {
    const auto status = PQresultStatus(result);
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || status == PGRES_EMPTY_QUERY;
}

}  // namespace

struct Connection::Impl {
    ConnectionOptions options;
    bool borrowed = false;
    ConnPointer conn = ConnPointer(nullptr);
    // A transaction was lost with its connection: nothing runs until its owner has rolled back.
    bool doomed = false;
    // The last error was about a prepared statement, came before the execution, and is worth
    // another run.
    bool stale = false;
    // A run of the present call before the last one may have taken effect.
    bool unknown = false;
    Servers servers = {};
    // The first server, as libpq names it.
    std::string first_host = {};
    bool has_password = false;
    // By text and types. A statement that the server could not use any more is prepared under the
    // name of the next generation.
    struct Prepared {
        bool made = false;
        int generation = 0;
    };
    std::unordered_map<std::string, Prepared> prepared = {};
    std::unordered_map<std::string, bool> facts = {};
    std::uint64_t round_trips = 0;
    std::minstd_rand random{std::random_device{}()};

    bool in_transaction() const {
        if (doomed) {
            return true;
        }
        if (!conn) {
            return false;
        }
        const auto status = PQtransactionStatus(conn.get());
        return status == PQTRANS_INTRANS || status == PQTRANS_INERROR || status == PQTRANS_ACTIVE;
    }

    void drop() {
        prepared.clear();
        facts.clear();
        if (!borrowed) {
            conn.reset();
        }
    }

    // Throws what a failed connection attempt says.
    void connect(const Where& where) {
        drop();
        const auto& limit = options.reconnect_limit;
        if (limit && limit->gave_up()) {
            throw_lost("the server is gone, and reconnect_limit has passed", false, where);
        }
        const Conninfo conninfo(options.conninfo, servers.place());
        ConnPointer made(PQconnectdbParams(conninfo.keywords.data(), conninfo.values.data(), 1));
        if (!made) {
            throw std::bad_alloc();
        }
        ++round_trips;
        if (PQstatus(made.get()) != CONNECTION_OK) {
            if (limit) {
                limit->note_failure();
            }
            throw Error({.message = trimmed(PQerrorMessage(made.get())), .connection_lost = true},
                        where);
        }
        PQsetNoticeProcessor(
            made.get(),
            [](void* self, const char* text) noexcept {
                const auto& hook = static_cast<Impl*>(self)->options.on_notice;
                if (hook) {
                    hook(text);
                }
            },
            this);
        if (options.async_leases) {
            ++round_trips;
            const ResultPointer set(PQexec(made.get(), "SET belay.async_leases = on"));
            if (PQstatus(made.get()) != CONNECTION_OK) {
                throw Error({.message = "the connection was lost while it was set up",
                             .connection_lost = true},
                            where);
            }
        }
        conn = std::move(made);
        if (!servers.place()) {
            first_host = PQhost(conn.get());
            has_password = std::string_view(PQpass(conn.get())) != "";
        }
    }

    // Whether the server may see what this connection has.
    bool may_go_to(const HubPlace& to) const {
        return !has_password || is_trusted(to.host, first_host, options.redirect_hosts);
    }

    // What an error says of the hub's place is where the next statement goes, if it may.
    void note_place(const Error& error) {
        servers.note(error, options.conninfo, [this](const HubPlace& to) {
            return !borrowed && options.follow_redirects && may_go_to(to);
        });
    }

    // Makes the connection again, with pauses, until the deadline.
    void connect_patiently(const Where& where) {
        const auto deadline = std::chrono::steady_clock::now() + options.reconnect_timeout;
        const auto& limit = options.reconnect_limit;
        for (int n = 0;; ++n) {
            try {
                connect(where);
                return;
            } catch (const Error& error) {
                const auto pause = reconnect_pause(n);
                const auto next = std::chrono::steady_clock::now() + pause;
                if (next >= deadline || (limit && next >= limit->time())) {
                    ErrorFacts facts = error.facts();
                    facts.timed_out = true;
                    throw Error(std::move(facts), where);
                }
                servers.go_home();  // the first server may know another one by now
                std::this_thread::sleep_for(pause);
            }
        }
    }

    // True if the server has closed an idle connection, or said that it will.
    bool died_idle() {
        if (!conn || PQstatus(conn.get()) != CONNECTION_OK) {
            return true;
        }
        pollfd socket{PQsocket(conn.get()), POLLIN, 0};
        if (::poll(&socket, 1, 0) <= 0) {
            return false;
        }
        // A notice or a changed setting is read and answered by libpq; the end of the stream is
        // not there until all of that was read.
        if (PQconsumeInput(conn.get()) == 0 || PQstatus(conn.get()) != CONNECTION_OK) {
            return true;
        }
        PQisBusy(conn.get());
        socket.revents = 0;
        return ::poll(&socket, 1, 0) > 0 && PQconsumeInput(conn.get()) == 0;
    }

    [[noreturn]] void throw_lost(const std::string& message, bool unknown, const Where& where) {
        throw Error({.message = message, .connection_lost = true, .outcome_unknown = unknown},
                    where);
    }

    // A connection that can take a statement.
    void make_ready(const Where& where) {
        if (doomed) {
            throw_lost("the transaction was lost with its connection", false, where);
        }
        const bool was_in_transaction = in_transaction();
        if (!was_in_transaction && servers.change()) {
            drop();
        }
        if (!died_idle()) {
            return;
        }
        doomed = was_in_transaction;
        drop();
        if (doomed) {
            throw_lost("the transaction was lost with its connection", false, where);
        }
        if (borrowed) {
            throw_lost("the borrowed connection is lost", false, where);
        }
        connect_patiently(where);
    }

    // What the server's answer says, as an error.
    [[noreturn]] void throw_failed(const PGresult* result, bool was_in_transaction,
                                   const Where& where) {
        ErrorFacts facts{.message = field_of(result, PG_DIAG_MESSAGE_PRIMARY),
                         .sqlstate = field_of(result, PG_DIAG_SQLSTATE),
                         .detail = field_of(result, PG_DIAG_MESSAGE_DETAIL),
                         .hint = field_of(result, PG_DIAG_MESSAGE_HINT)};
        if (facts.message.empty()) {
            facts.message = trimmed(PQerrorMessage(conn.get()));
        }
        if (PQstatus(conn.get()) != CONNECTION_OK || is_connection_state(facts.sqlstate)) {
            facts.connection_lost = true;
            facts.outcome_unknown = !was_in_transaction;
            doomed = was_in_transaction;
            drop();
        }
        const Error error(facts, where);
        note_place(error);
        if (servers.misses_hub()) {
            // As of a server that is away: nothing has happened, and another one may be asked.
            facts.connection_lost = true;
            throw Error(std::move(facts), where);
        }
        throw error;
    }

    // As throw_failed, of a statement that has not been run yet: nothing can have happened.
    [[noreturn]] void throw_unprepared(const PGresult* result, bool was_in_transaction,
                                       const Where& where) {
        try {
            throw_failed(result, was_in_transaction, where);
        } catch (const Error& error) {
            ErrorFacts facts = error.facts();
            facts.outcome_unknown = false;
            throw Error(std::move(facts), where);
        }
    }

    // Waits for the answer; cancels the statement once the interrupt is signalled. True if it was.
    bool await(const Interrupt& interrupt) {
        const std::unique_ptr<PGcancel, void (*)(PGcancel*)> cancel(PQgetCancel(conn.get()),
                                                                    &PQfreeCancel);
        bool interrupted = false;
        while (PQisBusy(conn.get()) != 0) {
            pollfd sources[2] = {{PQsocket(conn.get()), POLLIN, 0},
                                 {interrupted ? -1 : interrupt.descriptor(), POLLIN, 0}};
            // The server may see a cancel before it sees the statement, and ignores it then: it is
            // repeated.
            const int ready = ::poll(sources, 2, interrupted ? 20 : -1);
            if (ready < 0 && errno != EINTR) {
                break;
            }
            if (ready == 0 || (ready > 0 && sources[1].revents != 0)) {
                interrupted = true;
                char text[256];
                PQcancel(cancel.get(), text, sizeof text);
            }
            if (ready > 0 && sources[0].revents != 0 && PQconsumeInput(conn.get()) == 0) {
                break;
            }
        }
        return interrupted;
    }

    // The last answer to what was sent; null if none came.
    PGresult* last_answer() {
        PGresult* last = nullptr;
        while (PGresult* result = PQgetResult(conn.get())) {
            if (last != nullptr && PQresultStatus(last) == PGRES_FATAL_ERROR) {
                PQclear(result);
                continue;
            }
            PQclear(last);
            last = result;
            // libpq repeats this one for as long as it is asked.
            const auto status = PQresultStatus(result);
            if (status == PGRES_COPY_IN || status == PGRES_COPY_OUT || status == PGRES_COPY_BOTH) {
                break;
            }
        }
        return last;
    }

    // The name of a prepared statement. Behind a pooler that changes servers between transactions
    // another client may have given a name to a server: the same name is always the same text with
    // the same types.
    static std::string name_of(const std::string& key, int generation) {
        return "belay_" + fnv1a_128(key) +
               (generation == 0 ? "" : "_" + std::to_string(generation));
    }

    // The server has a statement that we have not prepared (42P05), or does not have one that we
    // have (26000): it is not the server of before, or a DISCARD ALL was run. Nothing was
    // executed. From now on this connection sends the text each time.
    void stop_preparing(bool was_in_transaction) {
        options.prepare = false;
        prepared.clear();
        stale = !was_in_transaction;
    }

    // Runs a statement once. No result: it was interrupted.
    std::optional<Result> run_once(std::string_view sql, const Params& params,
                                   const Interrupt* interrupt, const Where& where) {
        const bool was_in_transaction = in_transaction();
        std::vector<unsigned> types;
        std::vector<const char*> values;
        std::vector<int> lengths;
        const std::vector<int> formats(params.size(), 1);
        std::string key(sql);
        for (const auto& param : params) {
            if (param.bytes().size() > kMaxBytes) {
                throw Error({.message = "a parameter is larger than 1 GiB", .sqlstate = "54000"},
                            where);
            }
            types.push_back(param.type());
            values.push_back(param.is_null() ? nullptr : param.bytes().data());
            lengths.push_back(static_cast<int>(param.bytes().size()));
            key += '\0';
            key += std::to_string(param.type());
        }
        const int count = static_cast<int>(params.size());
        const std::string text(sql);
        std::string name;  // "" if it is not prepared
        int sent = 0;
        if (options.prepare) {
            Prepared& statement = prepared[key];
            name = name_of(key, statement.generation);
            if (!statement.made) {
                ++round_trips;
                const ResultPointer made(
                    PQprepare(conn.get(), name.c_str(), text.c_str(), count, types.data()));
                if (!made || !is_success(made.get())) {
                    if (field_of(made.get(), PG_DIAG_SQLSTATE) == "42P05") {
                        stop_preparing(was_in_transaction);
                    }
                    throw_unprepared(made.get(), was_in_transaction, where);
                }
                statement.made = true;
            }
            ++round_trips;
            sent = PQsendQueryPrepared(conn.get(), name.c_str(), count, values.data(),
                                       lengths.data(), formats.data(), 0);
        } else {
            ++round_trips;
            sent = PQsendQueryParams(conn.get(), text.c_str(), count, types.data(), values.data(),
                                     lengths.data(), formats.data(), 0);
        }
        const bool interrupted = sent == 1 && interrupt != nullptr && await(*interrupt);
        ResultPointer result(last_answer());
        if (!result) {
            throw_no_answer(was_in_transaction, where);
        }
        if (is_success(result.get())) {
            return Result(result.release());
        }
        const std::string sqlstate = field_of(result.get(), PG_DIAG_SQLSTATE);
        if (interrupted && sqlstate == "57014") {
            return std::nullopt;
        }
        if (sqlstate == "26000" && !name.empty() &&
            field_of(result.get(), PG_DIAG_MESSAGE_PRIMARY).find(name) != std::string::npos) {
            stop_preparing(was_in_transaction);
        } else if (!name.empty() &&
                   field_of(result.get(), PG_DIAG_SOURCE_FUNCTION) == "RevalidateCachedQuery") {
            // Its columns have changed (upgrade_hub).
            prepared[key] = {.made = false, .generation = prepared[key].generation + 1};
            stale = !was_in_transaction;
        }
        throw_failed(result.get(), was_in_transaction, where);
    }

    // Nothing came, not even an error: the connection broke, or another result is not yet read.
    [[noreturn]] void throw_no_answer(bool was_in_transaction, const Where& where) {
        const std::string message = trimmed(PQerrorMessage(conn.get()));
        if (PQstatus(conn.get()) == CONNECTION_OK) {
            throw Error({.message = message}, where);
        }
        doomed = was_in_transaction;
        drop();
        throw_lost(message, !was_in_transaction, where);
    }

    // Runs a statement as its effect allows.
    std::optional<Result> run(Effect effect, std::string_view sql, const Params& params,
                              const Interrupt* interrupt, const Where& where) {
        unknown = false;
        int stales = 0;
        int losses = 0;
        int hops = 0;
        for (int runs = 1;;) {
            try {
                make_ready(where);
            } catch (const Error& error) {
                ErrorFacts facts = error.facts();
                facts.outcome_unknown = unknown && effect == Effect::kAck;
                throw Error(std::move(facts), where);
            }
            const bool was_in_transaction = in_transaction();
            stale = false;
            try {
                return run_once(sql, params, interrupt, where);
            } catch (const Error& error) {
                if (was_in_transaction) {
                    throw;
                }
                ErrorFacts facts = error.facts();
                if (error.connection_lost()) {
                    ++losses;
                    const bool repeat = effect != Effect::kWrite || !error.outcome_unknown();
                    unknown = unknown || error.outcome_unknown();
                    if (borrowed || !repeat || losses == kMaxRuns) {
                        facts.outcome_unknown = unknown && effect != Effect::kRepeatable;
                        throw Error(std::move(facts), where);
                    }
                } else if (error.retryable()) {
                    if (runs == kMaxRuns) {
                        facts.retry_exhausted = true;
                        throw Error(std::move(facts), where);
                    }
                    std::this_thread::sleep_for(
                        retry_pause(runs++, std::uniform_real_distribution<>(0, 1)(random)));
                } else if (servers.is_redirected()) {
                    if (++hops > kMaxHops) {
                        servers.stay();
                        throw;
                    }
                } else if (unknown && is_lease_lost(facts.sqlstate) &&
                           effect == Effect::kGiveBack) {
                    return Result(PQmakeEmptyPGresult(conn.get(), PGRES_TUPLES_OK));
                } else if (unknown && is_lease_lost(facts.sqlstate) && effect == Effect::kAck) {
                    facts.outcome_unknown = true;
                    throw Error(std::move(facts), where);
                } else if (!stale || ++stales == kMaxRuns) {
                    throw;
                }
            }
        }
    }

    // BEGIN, COMMIT and ROLLBACK, once.
    ResultPointer run_plain(const char* sql) {
        ++round_trips;
        return ResultPointer(PQexec(conn.get(), sql));
    }
};

Connection::Connection(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Connection::Connection(Connection&&) noexcept = default;
Connection& Connection::operator=(Connection&&) noexcept = default;
Connection::~Connection() = default;

Connection::Connection(ConnectionOptions options, Where where) : impl_(std::make_unique<Impl>()) {
    impl_->options = std::move(options);
    impl_->connect(where);
}

Connection Connection::borrow(pg_conn* conn) {
    auto impl = std::make_unique<Impl>();
    impl->borrowed = true;
    impl->conn = ConnPointer(conn, FinishConn{.owned = false});
    // Names of statements could meet the owner's.
    impl->options.prepare = false;
    return Connection(std::move(impl));
}

Result Connection::call(Effect effect, std::string_view sql, const Params& params, Where where) {
    return *impl_->run(effect, sql, params, nullptr, where);
}

std::optional<Result> Connection::call_until(const Interrupt& interrupt, std::string_view sql,
                                             const Params& params, Where where) {
    return impl_->run(Effect::kRepeatable, sql, params, &interrupt, where);
}

std::vector<Result> Connection::pipeline(const std::vector<Statement>& statements, Where where) {
    for (int hops = 0;;) {
        const bool was_in_transaction = in_transaction();
        try {
            return send_together(statements, where);
        } catch (const Error&) {
            if (was_in_transaction || !impl_->servers.is_redirected() || ++hops > kMaxHops) {
                throw;
            }
        }
    }
}

std::vector<Result> Connection::send_together(const std::vector<Statement>& statements,
                                              const Where& where) {
    impl_->make_ready(where);
    const bool was_in_transaction = in_transaction();
    PGconn* conn = impl_->conn.get();
    if (PQenterPipelineMode(conn) == 0) {
        throw Error({.message = trimmed(PQerrorMessage(conn))}, where);
    }
    ++impl_->round_trips;
    // A failure to send shows in the answers.
    for (const auto& [sql, params] : statements) {
        std::vector<unsigned> types;
        std::vector<const char*> values;
        std::vector<int> lengths;
        const std::vector<int> formats(params.size(), 1);
        for (const auto& param : params) {
            types.push_back(param.type());
            values.push_back(param.is_null() ? nullptr : param.bytes().data());
            lengths.push_back(static_cast<int>(param.bytes().size()));
        }
        PQsendQueryParams(conn, sql.c_str(), static_cast<int>(params.size()), types.data(),
                          values.data(), lengths.data(), formats.data(), 0);
    }
    PQpipelineSync(conn);
    std::vector<Result> results;
    ResultPointer failed;
    for (std::size_t i = 0; i < statements.size(); ++i) {
        ResultPointer result(PQgetResult(conn));
        if (result && is_success(result.get())) {
            results.emplace_back(result.release());
        } else if (!failed) {
            failed = std::move(result);
            if (!failed) {
                break;
            }
        }
        if (PQstatus(conn) != CONNECTION_OK) {
            break;
        }
        ResultPointer end(PQgetResult(conn));
    }
    if (PQstatus(conn) == CONNECTION_OK) {
        ResultPointer sync(PQgetResult(conn));
        PQexitPipelineMode(conn);
    }
    if (failed) {
        impl_->throw_failed(failed.get(), was_in_transaction, where);
    }
    if (results.size() != statements.size()) {
        impl_->throw_no_answer(was_in_transaction, where);
    }
    return results;
}

void Connection::begin(Where where) {
    if (in_transaction()) {
        throw Error({.message = "the connection is in a transaction already", .sqlstate = "25001"},
                    where);
    }
    for (int losses = 0;;) {
        impl_->make_ready(where);
        const ResultPointer result = impl_->run_plain("BEGIN");
        if (result && is_success(result.get())) {
            return;
        }
        try {
            impl_->throw_failed(result.get(), false, where);
        } catch (const Error& error) {
            // Nothing has happened yet: another connection serves as well.
            if (!error.connection_lost() || impl_->borrowed || ++losses == kMaxRuns) {
                throw;
            }
        }
    }
}

void Connection::commit(Where where) {
    if (impl_->doomed) {
        impl_->throw_lost("the transaction was lost with its connection", false, where);
    }
    if (!in_transaction()) {
        throw Error({.message = "there is no transaction to commit", .sqlstate = "25P01"}, where);
    }
    const ResultPointer result = impl_->run_plain("COMMIT");
    if (!result || !is_success(result.get())) {
        // Not as a part of the transaction: it may have been committed.
        impl_->throw_failed(result.get(), false, where);
    }
    if (std::string_view(PQcmdStatus(result.get())) != "COMMIT") {
        throw Error(
            {.message = "the transaction had failed and was rolled back", .sqlstate = "25P02"},
            where);
    }
}

void Connection::rollback() noexcept {
    if (impl_->doomed) {
        impl_->doomed = false;
        return;
    }
    if (!in_transaction()) {
        return;
    }
    const ResultPointer result = impl_->run_plain("ROLLBACK");
    if (!result || !is_success(result.get())) {
        impl_->drop();
    }
}

bool Connection::in_transaction() const {
    return impl_->in_transaction();
}

bool Connection::broken() const {
    return impl_->doomed || !impl_->conn || PQstatus(impl_->conn.get()) != CONNECTION_OK;
}

void Connection::reconnect(Where where) {
    if (impl_->borrowed) {
        throw Error({.message = "a borrowed connection is made by its owner"}, where);
    }
    impl_->doomed = false;
    impl_->connect(where);
}

std::chrono::milliseconds Connection::set_reconnect_timeout(std::chrono::milliseconds timeout) {
    return std::exchange(impl_->options.reconnect_timeout, timeout);
}

int Connection::backend_pid() const {
    return impl_->conn ? PQbackendPID(impl_->conn.get()) : 0;
}

bool Connection::was_repeated() const {
    return impl_->unknown;
}

std::uint64_t Connection::round_trips() const {
    return impl_->round_trips;
}

std::optional<bool> Connection::remembered(const std::string& fact) const {
    const auto known = impl_->facts.find(fact);
    return known == impl_->facts.end() ? std::nullopt : std::optional(known->second);
}

void Connection::remember(const std::string& fact, bool is_so) {
    impl_->facts[fact] = is_so;
}

pg_conn* Connection::raw() const {
    return impl_->conn.get();
}

}  // namespace belay
