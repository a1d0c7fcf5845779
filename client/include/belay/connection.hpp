// A connection to PostgreSQL, with typed parameters and results.
//
// Values reach the server as parameters, in binary form, and never as a part of the SQL text.
//
// What happens when something breaks:
// - 40001 and 40P01: call() runs the statement at most three times in all, with short random
//   pauses, then throws with retry_exhausted(). Not inside a transaction: its owner decides.
// - A connection that is lost (08xxx, 57P0x) is made again, for at most reconnect_timeout. Whether
//   the statement is then repeated depends on its Effect. Inside a transaction nothing is repeated;
//   every statement fails until rollback().
// - A prepared statement that the server does not know (26000) or that another client of a pooler
//   has prepared (42P05) was not executed: the statement is run again, not prepared. Inside a
//   transaction it fails.
// - A hub that another server has (QB017): the connection is made anew to the place that the error
//   names, and the statement is run there, over at most three servers. Inside a transaction it
//   fails with Error::elsewhere(), and the next transaction begins there. A connection with a
//   password goes only to servers that redirect_hosts allows.
// - A connection that broke while it was idle is noticed before a statement is sent, so an idle
//   program does not see a restart of the server.
//
// Thread-safety: none. One thread at a time uses a connection and its results; interrupts may be
// signalled from any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "belay/error.hpp"
#include "belay/types.hpp"

struct pg_conn;    // libpq's PGconn
struct pg_result;  // libpq's PGresult

namespace belay {

// The line of the application that makes a call, for Error::where().
using Where = SourceLocation;

// JSON as text that goes into a parameter of type jsonb, digit by digit as it is.
struct JsonText {
    std::string text = "null";
};

// One parameter: a value of a known type, or a null of it. Made implicitly from strings, numbers,
// booleans, Json, JsonText, Uuid, Time (as a bigint of milliseconds), words of the server, vectors
// of strings, integers, booleans, JsonText and Uuid, vectors of optional strings, bigints and
// JsonText, and optionals of all these. Throws Error (22021) for Json that is not UTF-8.
class Param {
 public:
    Param(const char* text) : Param(std::string_view(text)) {}
    Param(const std::string& text) : Param(std::string_view(text)) {}
    Param(std::string_view text);
    Param(const JsonText& json);
    // Exactly Json: nearly everything converts to it.
    template <std::same_as<Json> T>
    Param(const T& json) : Param(json_text(json)) {}
    Param(const std::vector<JsonText>& jsons);
    Param(const std::vector<std::string>& texts);
    Param(const std::vector<std::int32_t>& numbers);
    Param(const std::vector<std::int64_t>& numbers);
    Param(const std::vector<bool>& flags);
    Param(const std::vector<std::optional<JsonText>>& jsons);
    Param(const std::vector<std::optional<std::string>>& texts);
    Param(const std::vector<std::optional<std::int64_t>>& numbers);
    Param(const Uuid& uuid);
    Param(const std::vector<Uuid>& uuids);
    Param(double number);
    Param(Time time) : Param(to_ms(time)) {}
    template <typename Enum>
    Param(const Word<Enum>& word) : Param(word.text()) {}
    template <std::integral T>
    Param(T number) {
        if constexpr (std::is_same_v<T, bool>) {
            set_bool(number);
        } else if constexpr (sizeof(T) <= 4 && std::is_signed_v<T>) {
            set_int4(number);
        } else {
            set_int8(static_cast<std::int64_t>(number));
        }
    }
    template <typename T>
    Param(const std::optional<T>& value) : Param(value ? Param(*value) : Param(T{})) {
        is_null_ = !value.has_value();
    }

    unsigned type() const { return type_; }  // the type's oid
    bool is_null() const { return is_null_; }
    const std::string& bytes() const { return bytes_; }  // as the binary protocol has it

 private:
    static JsonText json_text(const Json& json);
    void set_bool(bool value);
    void set_int4(std::int32_t value);
    void set_int8(std::int64_t value);

    unsigned type_ = 0;
    bool is_null_ = false;
    std::string bytes_;
};

using Params = std::vector<Param>;

// The rows that a statement returned. Cheap to copy; copies share the rows.
class Result {
 public:
    explicit Result(pg_result* result);  // takes ownership

    int size() const;
    bool empty() const { return size() == 0; }
    int columns() const;
    std::int64_t affected() const;  // rows that an INSERT, UPDATE or DELETE touched

    bool is_null(int row, int column) const;

    // The field as T: std::string, std::string_view (valid as long as a copy of the result lives),
    // integers, double, bool, Json, Uuid, Time (of a number of milliseconds), a word of the server,
    // or an optional of these. Throws Error for a null that T cannot hold, for a text that is no T,
    // and for a field that does not exist.
    template <typename T>
    T get(int row, int column) const;

    pg_result* raw() const { return result_.get(); }  // libpq's object

 private:
    std::string_view text(int row, int column) const;  // throws for a null

    std::shared_ptr<pg_result> result_;
};

// What repeating a statement would mean, after its outcome got lost with the connection.
enum class Effect {
    kRepeatable,  // nothing: it is repeated. Reads, but also renewals, and fetches: a lease whose
                  // answer was lost expires.
    kAck,         // it names a lease: it is repeated, and a QB001, QB012 or QB013 of the repetition
                  // is reported as outcome_unknown()
    kGiveBack,    // as kAck, but that the lease is gone is what was wanted, and no error
    kWrite,       // something twice: it is not repeated, but reported as outcome_unknown()
};

// Ends a statement early, from any thread; see Connection::call_until. Stays signalled until reset.
class Interrupt {
 public:
    Interrupt();
    ~Interrupt();
    Interrupt(const Interrupt&) = delete;
    Interrupt& operator=(const Interrupt&) = delete;

    void signal() noexcept;  // safe in a signal handler
    void reset() noexcept;

    int descriptor() const { return read_; }  // readable while it is signalled

 private:
    int read_ = -1;
    int write_ = -1;
};

// Ends the patience of connections that share it, once and for all. From its time on a connection
// that is lost is tried to be made again once; after the first of these attempts that has failed,
// no connection that shares the limit is made any more, and calls fail at once. Thread-safe.
class ReconnectLimit {
 public:
    using Steady = std::chrono::steady_clock;

    // The first call counts. Safe in a signal handler.
    void set(Steady::time_point time) noexcept {
        Steady::rep none = kNone;
        time_.compare_exchange_strong(none, time.time_since_epoch().count());
    }

    // time_point::max() if it is not set.
    Steady::time_point time() const noexcept {
        return Steady::time_point(Steady::duration(time_.load()));
    }

    // An attempt to connect has failed. It counts if the limit has passed.
    void note_failure() noexcept {
        if (Steady::now() >= time()) {
            gave_up_ = true;
        }
    }
    bool gave_up() const noexcept { return gave_up_; }

 private:
    static constexpr Steady::rep kNone = Steady::duration::max().count();
    static_assert(std::atomic<Steady::rep>::is_always_lock_free);

    std::atomic<Steady::rep> time_ = kNone;
    std::atomic<bool> gave_up_ = false;
};

struct ConnectionOptions {
    // As libpq understands it: "host=... dbname=...", a URI, or "" for the environment.
    std::string conninfo = {};
    // Keep statements prepared, under names that are hashes of text and types. Behind a pooler that
    // changes servers between transactions and does not know prepared statements (pgbouncer before
    // 1.21) switch it off: a connection that finds out by itself (26000, 42P05) prepares nothing
    // more and runs the statement again, but cannot do that inside a transaction.
    bool prepare = true;
    // Sets belay.async_leases: a fetch or renewal does not wait for the disk.
    bool async_leases = true;
    // How long a lost connection is tried to be made again before the call fails.
    std::chrono::milliseconds reconnect_timeout{30000};
    // Ends that earlier. Worker, Dispatcher, Runtime and EventReader set it when they are to stop;
    // those that are given none make one of their own.
    std::shared_ptr<ReconnectLimit> reconnect_limit = {};
    // Go to the server that has the hub, if another one was asked.
    bool follow_redirects = true;
    // The servers that may be sent this connection's password in that way: names, or domains with a
    // leading dot. The first server, and those of its domain, are always among them:
    // db1.example.com and db2.example.com share one. A bare name and example.com have none to
    // share.
    std::vector<std::string> redirect_hosts = {};
    // Gets the server's notices; by default they are dropped.
    std::function<void(std::string_view)> on_notice = {};
};

class Connection;

// What connects to another server with all else as it is: to the place of a hub, as
// belay.hub_locations says. first is a connection with these options to their own server. Throws
// Error if it has a password that redirect_hosts does not allow to go there.
ConnectionOptions options_at(const ConnectionOptions& options, const Connection& first,
                             const HubPlace& place, Where where = Where::current());

class Connection {
 public:
    // Connects. Throws at once if that is not possible.
    explicit Connection(ConnectionOptions options = {}, Where where = Where::current());

    // Uses a connection that belongs to the caller and outlives this object. No setting of it is
    // changed, it is not closed, and not made again if it is lost.
    static Connection borrow(pg_conn* conn);

    Connection(Connection&&) noexcept;
    Connection& operator=(Connection&&) noexcept;
    ~Connection();

    // Runs one statement: exactly one round trip, and one more when it is prepared, which happens
    // once per statement and connection.
    Result call(Effect effect, std::string_view sql, const Params& params = {},
                Where where = Where::current());

    // call() of a statement that may write, for the application's own SQL.
    Result exec(std::string_view sql, const Params& params = {}, Where where = Where::current()) {
        return call(Effect::kWrite, sql, params, where);
    }

    // As call() of a read, but comes back without a result soon after the interrupt is signalled;
    // the statement is then cancelled. An interrupt that is signalled already cancels at once.
    std::optional<Result> call_until(const Interrupt& interrupt, std::string_view sql,
                                     const Params& params = {}, Where where = Where::current());

    // Sends all statements together and waits for all answers: one round trip. They are one
    // transaction: if one fails, its error is thrown and none has happened.
    struct Statement {
        std::string sql;
        Params params;
    };
    std::vector<Result> pipeline(const std::vector<Statement>& statements,
                                 Where where = Where::current());

    // Runs body() in a transaction and returns what it returns. Commits if it returns, rolls back
    // if it throws. Body runs once: what to do about retryable() is the caller's decision. If the
    // connection breaks during the commit, the error says outcome_unknown(). Does not nest.
    template <typename Body>
    auto with_transaction(Body&& body, Where where = Where::current())
        -> std::invoke_result_t<Body> {
        begin(where);
        try {
            if constexpr (std::is_void_v<std::invoke_result_t<Body>>) {
                std::forward<Body>(body)();
                commit(where);
            } else {
                auto value = std::forward<Body>(body)();
                commit(where);
                return value;
            }
        } catch (...) {
            rollback();
            throw;
        }
    }

    // The parts of with_transaction, for those who cannot use it. rollback() never fails: it closes
    // a connection that cannot roll back. It may be called without a transaction.
    void begin(Where where = Where::current());
    void commit(Where where = Where::current());
    void rollback() noexcept;

    bool in_transaction() const;
    bool broken() const;

    // Closes the connection and makes a new one, at once; an open transaction is lost.
    void reconnect(Where where = Where::current());

    // Changes ConnectionOptions::reconnect_timeout; returns what it was.
    std::chrono::milliseconds set_reconnect_timeout(std::chrono::milliseconds timeout);

    int backend_pid() const;

    // Whether the last call was repeated because the connection was lost with an outcome unknown.
    bool was_repeated() const;

    // How often this object has waited for the server.
    std::uint64_t round_trips() const;

    // A note on the server, until the connection to it ends: whether something is so; none if that
    // is not known. For Hub.
    std::optional<bool> remembered(const std::string& fact) const;
    void remember(const std::string& fact, bool is_so);

    // libpq's object, for what this class does not have. Changes with every reconnect.
    pg_conn* raw() const;

 private:
    struct Impl;
    explicit Connection(std::unique_ptr<Impl> impl);

    // pipeline() on the server of the present.
    std::vector<Result> send_together(const std::vector<Statement>& statements, const Where& where);

    std::unique_ptr<Impl> impl_;
};

template <typename T>
struct IsOptional : std::false_type {};
template <typename T>
struct IsOptional<std::optional<T>> : std::true_type {};

// Reads text as PostgreSQL prints it. Throws Error if it is no T.
Json parse_json(std::string_view text);
std::int64_t parse_integer(std::string_view text, std::int64_t min, std::int64_t max);
double parse_double(std::string_view text);
bool parse_bool(std::string_view text);

template <typename T>
T Result::get(int row, int column) const {
    if constexpr (IsOptional<T>::value) {
        if (is_null(row, column)) {
            return std::nullopt;
        }
        return get<typename T::value_type>(row, column);
    } else if constexpr (std::is_same_v<T, bool>) {
        return parse_bool(text(row, column));
    } else if constexpr (std::is_integral_v<T>) {
        static_assert(std::is_signed_v<T>, "PostgreSQL's integers have signs");
        return static_cast<T>(parse_integer(text(row, column), std::numeric_limits<T>::min(),
                                            std::numeric_limits<T>::max()));
    } else if constexpr (std::is_floating_point_v<T>) {
        return static_cast<T>(parse_double(text(row, column)));
    } else if constexpr (std::is_same_v<T, Json>) {
        return parse_json(text(row, column));
    } else if constexpr (std::is_same_v<T, Time>) {
        return from_ms(get<std::int64_t>(row, column));
    } else {
        return T(text(row, column));
    }
}

}  // namespace belay
