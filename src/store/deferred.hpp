// Rows that a call adds for each of many tasks, and that nothing in it reads: they are written
// together, those that share a page in one WAL record.
//
// Touches  nothing by itself; <hub>.attempts and <hub>.outbox_events when they are written
#pragma once

#include "pg/list.hpp"
#include "store/table/table.hpp"

namespace belay::store {

struct DeferredRows {
    pg::List<NewRow> attempts;
    pg::List<NewRow> events;
};

namespace detail {

inline void write_deferred(Tables& tables, TableId id, const pg::List<NewRow>& rows) {
    if (rows.count == 0) {
        return;
    }
    with_table(tables, id, RowExclusiveLock, [&rows](Table& table) {
        insert_rows(
            &table, static_cast<std::size_t>(rows.count),
            [&rows](std::size_t i, NewRow* row) { *row = rows.items[i]; },
            [](std::size_t, const ItemPointerData&) {});
    });
}

}  // namespace detail

// Adds a row now, or to those that wait.
inline void add_row(Tables& tables, TableId id, pg::List<NewRow> DeferredRows::*list, NewRow* row) {
    if (tables.deferred != nullptr) {
        (void)(tables.deferred->*list).add(*row);
        return;
    }
    with_table(tables, id, RowExclusiveLock,
               [row](Table& table) { (void)insert_row(&table, row); });
}

// Runs body; the rows of attempts and events that it adds are written behind it. They refer to
// memory that has to live until then.
template <pg::JumpSafe Body>
void deferring_rows(Tables& tables, Body body) {
    DeferredRows rows{};
    tables.deferred = &rows;
    body();
    tables.deferred = nullptr;
    detail::write_deferred(tables, TableId::kAttempts, rows.attempts);
    detail::write_deferred(tables, TableId::kOutboxEvents, rows.events);
}

}  // namespace belay::store
