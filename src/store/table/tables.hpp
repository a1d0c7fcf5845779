// The tables of one call.
//
// The handler makes a Tables for each call (the worker for each portion of a duty) and closes it at
// the end. Each hot table, and each index of it, is opened once, when it is first needed. Whether
// direct access serves the table is decided then: the call is refused otherwise, before it has
// written into it.
//
// The references belong to the call's resource owner, not to that of a subtransaction: what is
// opened inside of pg::keep_if stays open behind it, whether it is kept or undone. After an error
// that pg::try_in_subtransaction has caught, a Tables that was used inside must not be used again:
// such a body gets one of its own, with with_tables.
#pragma once

#include "pg/boundary.hpp"
#include "pg/pg.hpp"
#include "store/hub.hpp"

namespace belay::store {

struct Table;
struct DeferredRows;  // store/deferred.hpp

class Tables {
 public:
    explicit Tables(const Hub& of)
        : hub(of), owner_(CurrentResourceOwner), memory_(CurrentMemoryContext) {}

    const Hub& hub;

    // For functions that access no hot table directly.
    operator const Hub&() const { return hub; }

    // The table, with at least that lock. Raises QB018 table_altered if its owner has changed it in
    // a way that is not served.
    Table& open(TableId id, LOCKMODE mode);

    // Raises QB018 if the table is not served. It is locked already.
    void check(TableId id) {
        if (!hub.tables[static_cast<int>(id)].known || hub.stale) [[unlikely]] {
            (void)open(id, RowExclusiveLock);
        }
    }

    // Closes what is open; locks stay. A table that is needed later is opened again.
    void close();

    // Where rows wait that are to be written together; null: each is written at once.
    DeferredRows* deferred = nullptr;

 private:
    Table* open_[static_cast<int>(TableId::kCount)]{};
    ResourceOwner owner_;
    MemoryContext memory_;
};

// Lends body the tables of a hub.
template <pg::JumpSafe Body>
auto with_tables(const Hub& hub, Body body) {
    Tables tables(hub);
    static_assert(pg::JumpSafe<Tables>);
    if constexpr (std::is_void_v<std::invoke_result_t<Body, Tables&>>) {
        body(tables);
        tables.close();
    } else {
        auto result = body(tables);
        static_assert(pg::JumpSafe<decltype(result)>);
        tables.close();
        return result;
    }
}

}  // namespace belay::store
