// Rows of tables instances and executions: read them, and write what an ack says of them.
//
// Touches  <hub>.instances, <hub>.executions
// Locks    the rows that it writes, and waits for them: other calls may be pruning or deleting
// Must not decide what an ack means for a row: core/transitions/turn.hpp does
#include "store/instances.hpp"

#include "core/time.hpp"
#include "store/rows/execution.hpp"
#include "store/rows/instance.hpp"
#include "store/turn_rows.hpp"

namespace belay::store {

namespace {

ScanKeys execution_keys(std::string_view instance_id, int64 execution_id) {
    return instance_keys(instance_id).int8(execution_id);
}

// Of table.row.
std::optional<Pin> pin_of(const Table& executions) {
    const auto major = get(executions, execution::kMajor);
    const auto minor = get(executions, execution::kMinor);
    const auto patch = get(executions, execution::kPatch);
    return major && minor && patch ? std::optional(Pin{*major, *minor, *patch}) : std::nullopt;
}

// Changes the row of an instance, if there is one; fill(changes) says how, and whether a column of
// an index changes.
template <typename Fill>
bool change_instance(Table* table, std::string_view instance_id, Fill fill) {
    const auto find = [=] { return find_one(table, kByKey, instance_keys(instance_id)); };
    return change_found(table, find, [&]() -> NewVersion {
        Changes changes;
        const bool moved = fill(&changes);
        return {changed_row(*table, &changes), moved};
    });
}

// What every ack writes.
void put_execution(const Table& table, int64 execution_id, int64 now, Changes* changes,
                   NotedInstance* noted) {
    const int64 before = get(table, instance::kCurrentExecutionId);
    const int64 after = core::current_execution(before, execution_id);
    changes->put(instance::kCurrentExecutionId, after)
        .put(instance::kUpdatedAt, core::ms_to_pg_us(now));
    noted->has_execution = before == execution_id;
    noted->is_latest = after == execution_id;
}

// A call that writes an instance or its executions holds its exclusion: no other inserts them.
void insert_instance(Table* table, std::string_view instance_id, std::string_view name,
                     std::string_view version, std::optional<std::string_view> parent,
                     int64 execution_id, int64 now) {
    NewRow row;
    row.put(instance::kInstanceId, instance_id)
        .put(instance::kName, name)
        .put(instance::kVersion, version)
        .put(instance::kCurrentExecutionId, execution_id)
        .put(instance::kParentId, parent)
        .put(instance::kCustomStatusVersion, 0)
        .timestamp(instance::kCreatedAt, now)
        .timestamp(instance::kUpdatedAt, now);
    (void)insert_row(table, &row);
}

std::optional<core::Outcome> outcome_of(const ExecutionChange& change, int64 now) {
    return change.status ? std::optional(core::outcome_of(*change.status, change.output, now))
                         : std::nullopt;
}

std::optional<TimestampTz> stored_time(std::optional<int64> ms) {
    return ms ? std::optional(core::ms_to_pg_us(*ms)) : std::nullopt;
}

void insert_execution(Table* table, std::string_view instance_id, int64 execution_id,
                      const ExecutionChange& change, int64 now) {
    const core::Outcome outcome = outcome_of(change, now).value_or(core::Outcome{});
    NewRow row;
    row.put(execution::kInstanceId, instance_id)
        .put(execution::kExecutionId, execution_id)
        .put(execution::kStatus, outcome.status)
        .put(execution::kOutput, outcome.output)
        .timestamp(execution::kStartedAt, now)
        .put(execution::kCompletedAt, stored_time(outcome.completed_at));
    if (change.pin) {
        row.put(execution::kMajor, change.pin->major)
            .put(execution::kMinor, change.pin->minor)
            .put(execution::kPatch, change.pin->patch);
    }
    (void)insert_row(table, &row);
}

NewVersion changed_execution(const Table& table, const ExecutionChange& change, int64 now) {
    Changes changes;
    if (const auto outcome = outcome_of(change, now)) {
        changes.put(execution::kStatus, outcome->status)
            .put(execution::kOutput, outcome->output)
            .put(execution::kCompletedAt, stored_time(outcome->completed_at));
    }
    if (change.pin) {
        changes.put(execution::kMajor, change.pin->major)
            .put(execution::kMinor, change.pin->minor)
            .put(execution::kPatch, change.pin->patch);
    }
    return {changed_row(table, &changes), change.status.has_value()};
}

}  // namespace

std::optional<Instance> read_instance(Tables& tables, std::string_view instance_id, bool with_pin) {
    pass_turn_faults();
    auto found = reading(tables, TableId::kInstances, [&](Table& table) -> std::optional<Instance> {
        if (!find_one(&table, kByKey, instance_keys(instance_id))) {
            return std::nullopt;
        }
        return Instance{.name = get(table, instance::kName),
                        .version = get(table, instance::kVersion),
                        .current_execution_id = get(table, instance::kCurrentExecutionId),
                        .pin = std::nullopt};
    });
    if (found && with_pin) {
        found->pin = reading(tables, TableId::kExecutions, [&](Table& table) {
            return find_one(&table, kByKey,
                            execution_keys(instance_id, found->current_execution_id))
                       ? pin_of(table)
                       : std::nullopt;
        });
    }
    return found;
}

void hold_parent(Tables& tables, std::string_view instance_id) {
    pass_turn_faults();
    with_table(tables, TableId::kInstances, RowExclusiveLock, [&](Table& table) {
        (void)lock_found(&table, LockTupleKeyShare, LockWaitBlock,
                         [&] { return find_one(&table, kByKey, instance_keys(instance_id)); });
    });
}

NotedInstance upsert_instance(Tables& tables, std::string_view instance_id, std::string_view name,
                              std::string_view version, std::optional<std::string_view> parent,
                              int64 execution_id, int64 now) {
    pass_turn_faults();
    return with_table(tables, TableId::kInstances, RowExclusiveLock, [&](Table& table) {
        NotedInstance noted{.exists = true,
                            .created = false,
                            .has_execution = false,
                            .is_latest = true,
                            .name = name};
        noted.created = !change_instance(&table, instance_id, [&](Changes* changes) {
            bool orphan = false;
            (void)column(table, instance::kParentId, &orphan);
            const bool adopted = core::adopts(!orphan, parent.has_value());
            changes->put(instance::kName, name).put(instance::kVersion, version);
            put_execution(table, execution_id, now, changes, &noted);
            if (adopted) {
                changes->put(instance::kParentId, parent);
            }
            return adopted;
        });
        if (noted.created) {
            insert_instance(&table, instance_id, name, version, parent, execution_id, now);
        }
        return noted;
    });
}

NotedInstance touch_instance(Tables& tables, std::string_view instance_id, int64 execution_id,
                             int64 now) {
    pass_turn_faults();
    return with_table(tables, TableId::kInstances, RowExclusiveLock, [&](Table& table) {
        NotedInstance noted{};
        noted.exists = change_instance(&table, instance_id, [&](Changes* changes) {
            put_execution(table, execution_id, now, changes, &noted);
            noted.name = get(table, instance::kName);
            return false;
        });
        return noted;
    });
}

void set_custom_status(Tables& tables, std::string_view instance_id,
                       std::optional<std::string_view> status) {
    pass_turn_faults();
    with_table(tables, TableId::kInstances, RowExclusiveLock, [&](Table& table) {
        (void)change_instance(&table, instance_id, [&](Changes* changes) {
            changes->put(instance::kCustomStatus, status)
                .put(instance::kCustomStatusVersion,
                     get(table, instance::kCustomStatusVersion) + 1);
            return false;
        });
    });
}

std::optional<CustomStatus> read_custom_status(Tables& tables, std::string_view instance_id) {
    pass_turn_faults();
    return reading(tables, TableId::kInstances, [&](Table& table) {
        return find_one(&table, kByKey, instance_keys(instance_id))
                   ? std::optional(CustomStatus{get(table, instance::kCustomStatus),
                                                get(table, instance::kCustomStatusVersion)})
                   : std::nullopt;
    });
}

NotedExecution upsert_execution(Tables& tables, std::string_view instance_id, int64 execution_id,
                                const ExecutionChange& change, int64 now) {
    pass_turn_faults();
    return with_table(tables, TableId::kExecutions, RowExclusiveLock, [&](Table& table) {
        const auto find = [&] {
            return find_one(&table, kByKey, execution_keys(instance_id, execution_id));
        };
        NotedExecution noted{};
        if (change.status || change.pin || change.renew) {
            noted.created = !change_found(&table, find, [&] {
                if (change.status) {
                    noted.status = get(table, execution::kStatus);
                }
                return changed_execution(table, change, now);
            });
        } else {
            renew_snapshot(&table);
            noted.created = !find();
        }
        if (noted.created) {
            noted.status = std::nullopt;  // one that is gone
            insert_execution(&table, instance_id, execution_id, change, now);
        }
        return noted;
    });
}

std::optional<int64> latest_execution(Tables& tables, std::string_view instance_id) {
    pass_turn_faults();
    return reading(tables, TableId::kExecutions, [&](Table& table) -> std::optional<int64> {
        if (!find_last(&table, kByKey, instance_keys(instance_id))) {
            return std::nullopt;
        }
        return get(table, execution::kExecutionId);
    });
}

}  // namespace belay::store
