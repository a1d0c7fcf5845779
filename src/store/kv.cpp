// Rows of tables kv_store and kv_delta: write changes of an instance's state, merge and read them.
//
// Touches  <hub>.kv_store, <hub>.kv_delta
// Locks    the rows that it writes, and waits for them; a call that writes state of an instance
//          holds the exclusion of the instance
// Must not decide what an ack changes
#include "store/kv.hpp"

#include "pg/datum.hpp"
#include "pg/list.hpp"
#include "store/rows/kv.hpp"
#include "store/statements.hpp"
#include "store/turn_rows.hpp"

namespace belay::store {

namespace {

constexpr auto kReadValue = query<In<Text, Text>, Out<Maybe<Text>>>(R"sql(
    SELECT d.value
      FROM {hub}.kv_delta AS d
     WHERE d.instance_id {=} $1 AND d.key {=} $2
    UNION ALL
    SELECT s.value
      FROM {hub}.kv_store AS s
     WHERE s.instance_id {=} $1 AND s.key {=} $2
     LIMIT 1
)sql");

constexpr auto kReadValues = query<In<Text>, Listing>(R"sql(
    SELECT d.key, d.value
      FROM {hub}.kv_delta AS d
     WHERE d.instance_id {=} $1 AND d.value IS NOT NULL
    UNION ALL
    SELECT s.key, s.value
      FROM {hub}.kv_store AS s
     WHERE s.instance_id {=} $1
       AND NOT EXISTS (SELECT 1
                         FROM {hub}.kv_delta AS d
                        WHERE d.instance_id {=} $1 AND d.key {=} s.key)
     ORDER BY 1
)sql");

// Both tables have the same key.
ScanKeys value_keys(std::string_view instance_id, std::string_view key) {
    return instance_keys(instance_id).text(key);
}

// Holds the row of a key, if there is one.
bool hold_value(Table* table, std::string_view instance_id, std::string_view key,
                LockTupleMode mode) {
    return lock_found(table, mode, LockWaitBlock,
                      [=] { return find_one(table, kByKey, value_keys(instance_id, key)); });
}

// Visits the rows of an instance, each held.
template <typename Visit>
void each_value(Table* table, std::string_view instance_id, LockTupleMode mode, Visit visit) {
    hold_each(
        table, mode, instance_keys(instance_id), [] { return true; }, visit);
}

void insert_delta(Table* table, std::string_view instance_id, std::string_view key,
                  std::optional<std::string_view> value, int64 updated_at) {
    NewRow row;
    row.put(changed::kInstanceId, instance_id)
        .put(changed::kKey, key)
        .put(changed::kValue, value)
        .put(changed::kLastUpdatedAt, updated_at);
    (void)insert_row(table, &row);
}

void change_delta(Table* table, std::optional<std::string_view> value, int64 updated_at) {
    Changes changes;
    changes.put(changed::kValue, value).put(changed::kLastUpdatedAt, updated_at);
    change_held_row(table, changed_row(*table, &changes));
}

void delete_held(const Table& table) {
    if (!delete_row(table, true)) {
        elog(ERROR, "a value changed while it was held");
    }
}

void put_store(Tables& tables, std::string_view instance_id, std::string_view key,
               std::string_view value, int64 execution_id, int64 updated_at) {
    with_table(tables, TableId::kKvStore, RowExclusiveLock, [&](Table& table) {
        if (hold_value(&table, instance_id, key, LockTupleNoKeyExclusive)) {
            Changes changes;
            changes.put(kept::kValue, value)
                .put(kept::kExecutionId, execution_id)
                .put(kept::kLastUpdatedAt, updated_at);
            change_held_row(&table, changed_row(table, &changes));
            return;
        }
        NewRow row;
        row.put(kept::kInstanceId, instance_id)
            .put(kept::kKey, key)
            .put(kept::kValue, value)
            .put(kept::kExecutionId, execution_id)
            .put(kept::kLastUpdatedAt, updated_at);
        (void)insert_row(&table, &row);
    });
}

void delete_from_store(Tables& tables, std::string_view instance_id, std::string_view key) {
    with_table(tables, TableId::kKvStore, RowExclusiveLock, [&](Table& table) {
        if (hold_value(&table, instance_id, key, LockTupleExclusive)) {
            delete_held(table);
        }
    });
}

}  // namespace

void put_delta(Tables& tables, std::string_view instance_id, std::string_view key,
               std::optional<std::string_view> value, int64 updated_at) {
    pass_turn_faults();
    with_table(tables, TableId::kKvDelta, RowExclusiveLock, [&](Table& table) {
        if (hold_value(&table, instance_id, key, LockTupleNoKeyExclusive)) {
            change_delta(&table, value, updated_at);
        } else {
            insert_delta(&table, instance_id, key, value, updated_at);
        }
    });
}

void clear_delta(Tables& tables, std::string_view instance_id, int64 now) {
    pass_turn_faults();
    writing(tables, TableId::kKvDelta, [&](Table& table) {
        each_value(&table, instance_id, LockTupleNoKeyExclusive,
                   [&] { change_delta(&table, std::nullopt, now); });
    });
    looking(tables, TableId::kKvStore, [&](Table& store) {
        IndexScanDesc scan = begin_scan(&store, kByKey, instance_keys(instance_id));
        while (next_row(store, scan)) {
            CHECK_FOR_INTERRUPTS();
            const auto key = get(store, kept::kKey);
            with_table(tables, TableId::kKvDelta, RowExclusiveLock, [&](Table& table) {
                use_active_snapshot(&table);
                if (!find_one(&table, kByKey, value_keys(instance_id, key))) {
                    insert_delta(&table, instance_id, key, std::nullopt, now);
                }
            });
        }
        index_endscan(scan);
    });
}

void merge_delta(Tables& tables, std::string_view instance_id, int64 execution_id) {
    pass_turn_faults();
    writing(tables, TableId::kKvDelta, [&](Table& table) {
        each_value(&table, instance_id, LockTupleExclusive, [&] {
            const auto key = get(table, changed::kKey);
            if (const auto value = get(table, changed::kValue)) {
                put_store(tables, instance_id, key, *value, execution_id,
                          get(table, changed::kLastUpdatedAt));
            } else {
                delete_from_store(tables, instance_id, key);
            }
            delete_held(table);
        });
    });
}

std::span<const KeptValue> read_store(Tables& tables, std::string_view instance_id) {
    pass_turn_faults();
    return reading(tables, TableId::kKvStore, [&](Table& table) {
        pg::List<KeptValue> found;
        IndexScanDesc scan = begin_scan(&table, kByKey, instance_keys(instance_id));
        while (next_row(table, scan)) {
            CHECK_FOR_INTERRUPTS();
            bool null = false;
            found.add({.key = get(table, kept::kKey),
                       .value = datumCopy(column(table, kept::kValue, &null), false, -1),
                       .updated_at = get(table, kept::kLastUpdatedAt)});
        }
        index_endscan(scan);
        return found.span();
    });
}

std::optional<std::string_view> read_value(const Hub& hub, std::string_view instance_id,
                                           std::string_view key) {
    return run_one(hub, kReadValue, instance_id, key).value_or(std::nullopt);
}

Listing read_values(const Hub& hub, std::string_view instance_id) {
    return run(hub, kReadValues, instance_id);
}

}  // namespace belay::store
