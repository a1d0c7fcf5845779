// A call of a hub function: which verb, which hub, its arguments and its answer.
#pragma once

#include "core/levels.hpp"
#include "ops/enter.hpp"
#include "pg/clock.hpp"
#include "pg/pg.hpp"
#include "store/table/tables.hpp"

namespace belay::entry {

struct Call;

// What a verb does to the hub: reads run with the caller's snapshot and work on a standby; a wait
// ends the caller's transaction and enters the hub by itself.
enum class Access : uint8 { kRead, kWrite, kWait };

// The apis whose hubs have a function of the verb, as bits.
inline constexpr uint8 kOnlyBelay = 1 << static_cast<int>(store::Api::kBelay);
inline constexpr uint8 kOnlyDuroxidePg = 1 << static_cast<int>(store::Api::kDuroxidePg);
inline constexpr uint8 kEveryApi = kOnlyBelay | kOnlyDuroxidePg;

inline constexpr int8 kClockLast = -1;

// What the handler may call. arguments and result are the only signature it accepts: the owner of a
// hub may write any CREATE FUNCTION ... LANGUAGE belay, and a wrong type must not reach the verb.
struct Verb {
    const char* name;
    Datum (*call)(const Call&);
    int16 min_args;  // older hubs declare fewer arguments
    const char* arguments;
    const char* result;
    Access access;
    uint8 levels;  // bits of core::Level
    uint8 apis = kEveryApi;
    // Where p_now_ms is among the arguments, if not last: so in functions of duroxide-pg.
    int8 clock_at = kClockLast;
};

// What is known of one hub function, kept for the session until something changes.
struct Site {
    Oid function;  // the key of the cache
    uint64 generation;
    const Verb* verb;
    Oid schema;
    TupleDesc row;       // of a function that returns rows; made at the first need
    Oid row_type;        // a composite type that it returns; 0: its own columns, which never change
    uint64 row_version;  // of that type, as the type cache counts
};

// One call, decoded by the verb's entry function.
struct Call {
    store::Tables& tables;
    const store::Hub& hub;
    FunctionCallInfo fcinfo;
    Site* site;
    MemoryContext result_memory;  // outlives the call's own memory
    Oid caller;                   // who called: the rest runs with the rights of the hub's owner

    // Arguments by position, where the clock is the last one, wherever the function declares it.
    // NULL and an argument that an older hub does not declare are the same.
    bool has(int i) const { return i < PG_NARGS() && !PG_ARGISNULL(at(i)); }
    std::optional<std::string_view> text(int i) const;
    std::string_view required_text(int i, const char* name) const;  // NULL is QB006
    std::string_view required_name(int i, const char* name) const;  // likewise
    std::optional<int64> int8(int i) const;
    std::optional<int32> int4(int i) const;
    std::optional<bool> boolean(int i) const;
    std::optional<pg_uuid_t> uuid(int i) const;
    pg_uuid_t required_uuid(int i, const char* name) const;  // NULL is QB006
    Jsonb* jsonb(int i) const;                               // null for NULL
    // Elements that are NULL come as 0.
    std::span<const Datum> texts(int i, const char* name) const;
    // Elements of any other type; none for NULL.
    std::span<const NullableDatum> elements(int i, const char* name, Oid type) const;

    // The call's clock, from the argument p_now_ms at that position.
    pg::Clock clock(int p_now_ms) const;
    // The same without the check of its distance from the server's, which the operation makes.
    pg::Clock unchecked_clock(int p_now_ms) const;

    // The clock of a call without such an argument; again with and without that check.
    pg::Clock clock() const;
    pg::Clock unchecked_clock() const;

    // The argument p_slots.
    ops::SlotFilter slots(int i) const;

    // Answers.
    // One row, or none: cheaper than a set, for calls that return at most one.
    Datum one_row(const Datum* values, const bool* nulls) const;
    Datum no_row() const;
    // Looks up what one_row needs to know of the function: it may be gone later.
    void prepare_row() const;
    // The set that rows are added to; return nothing() after it.
    struct Set {
        Tuplestorestate* store;
        TupleDesc row;

        // tuplestore_putvalues only reads them.
        void add(const Datum* values, const bool* nulls) const {
            tuplestore_putvalues(store, row, const_cast<Datum*>(values), const_cast<bool*>(nulls));
        }
        // Rows whose columns are the function's own: a Listing of an ops function.
        template <typename Listing>
        void add_rows(const Listing& rows) const {
            if (rows.count == 0) {
                return;
            }
            Datum values[Listing::kMostColumns];
            bool nulls[Listing::kMostColumns];
            rows.check(row);
            for (uint64 at = 0; at < rows.count; ++at) {
                rows.get(at, values, nulls);
                add(values, nulls);
            }
        }
    };
    Set set() const;
    Datum nothing() const { return static_cast<Datum>(0); }
    Datum null() const;
    Datum answer(std::string_view text) const;

 private:
    // Where the function declares the argument.
    int at(int i) const {
        const int clock = site->verb->clock_at;
        if (clock == kClockLast || i < clock) {
            return i;
        }
        return i == PG_NARGS() - 1 ? clock : i + 1;
    }
};

// The set that a function of schema belay answers with; return 0 after it.
Call::Set answer_rows(FunctionCallInfo fcinfo);

// The verbs, sorted by name.
std::span<const Verb> verbs();

// The verb of that name, or null.
const Verb* find_verb(std::string_view name);
// Whether it returns no row where others would wait for a lock on tables.
bool never_waits(const Verb& verb);

}  // namespace belay::entry
