// A call of a hub function: which verb, which hub, its arguments and its answer.
#pragma once

#include "core/levels.hpp"
#include "ops/enter.hpp"
#include "pg/clock.hpp"
#include "pg/pg.hpp"
#include "store/hub.hpp"

namespace belay::entry {

struct Verb;

// What is known of one hub function, kept for the session until something changes.
struct Site {
    Oid function;  // the key of the cache
    uint64 generation;
    const Verb* verb;
    Oid schema;
    TupleDesc row;  // of a function that returns rows; made at the first need, the same for ever
};

// One call, decoded by the verb's entry function.
struct Call {
    const store::Hub& hub;
    FunctionCallInfo fcinfo;
    Site* site;
    MemoryContext result_memory;  // outlives the call's own memory
    Oid caller;                   // who called: the rest runs with the rights of the hub's owner

    // Arguments by position. NULL and an argument that an older hub does not declare are the same.
    bool has(int i) const { return i < PG_NARGS() && !PG_ARGISNULL(i); }
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

    // The call's clock, from the argument p_now_ms at that position.
    pg::Clock clock(int p_now_ms) const;
    // The same without the check of its distance from the server's, which the operation makes.
    pg::Clock unchecked_clock(int p_now_ms) const;

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
        // Rows whose columns are the function's own: of an ops function that lists.
        template <typename Rows>
        void add_rows(const Rows& rows) const {
            constexpr int kMostColumns = 32;
            Datum values[kMostColumns];
            bool nulls[kMostColumns];
            for (uint64 at = 0; at < rows.count; ++at) {
                for (int column = 0; column < row->natts; ++column) {
                    nulls[column] = rows.is_null(at, column + 1);
                    values[column] =
                        nulls[column]
                            ? 0
                            : rows.datum(at, column + 1, TupleDescAttr(row, column)->atttypid);
                }
                add(values, nulls);
            }
        }
    };
    Set set() const;
    Datum nothing() const { return static_cast<Datum>(0); }
    Datum null() const;
    Datum answer(std::string_view text) const;
};

// The set that a function of schema belay answers with; return 0 after it.
Call::Set answer_rows(FunctionCallInfo fcinfo);

// What a verb does to the hub: reads run with the caller's snapshot and work on a standby; a wait
// ends the caller's transaction and enters the hub by itself.
enum class Access : uint8 { kRead, kWrite, kWait };

// The apis whose hubs have a function of the verb, as bits.
inline constexpr uint8 kOnlyBelay = 1 << static_cast<int>(store::Api::kBelay);
inline constexpr uint8 kOnlyDuroxidePg = 1 << static_cast<int>(store::Api::kDuroxidePg);
inline constexpr uint8 kEveryApi = kOnlyBelay | kOnlyDuroxidePg;

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
};

// The verbs, sorted by name.
std::span<const Verb> verbs();

// The verb of that name, or null.
const Verb* find_verb(std::string_view name);

}  // namespace belay::entry
