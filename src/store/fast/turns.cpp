#include "store/fast/turns.hpp"

#include <algorithm>

#include "core/hash.hpp"
#include "core/time.hpp"
#include "pg/datum.hpp"
#include "pg/list.hpp"
#include "store/fast/columns.hpp"
#include "store/fast/direct_table.hpp"
#include "store/fast/lend.hpp"
#include "store/fast/live_walk.hpp"
#include "store/fast/pass_faults.hpp"

namespace belay::store::direct {

namespace {

// ---------------------------------------------------------------- messages

const message::Row& message_row(const DirectTable& table) {
    return fixed_columns<message::Row>(table);
}

bool is_visible(const DirectTable& table, int64 now) {
    return message_row(table).visible_at <= core::ms_to_pg_us(now);
}

// The messages of a slot that are not parked, up to now.
struct MessageStream {
    const Hub& hub;
    int16 slot;
    TimestampTz now;

    pg::GapKey key() const { return message_gaps(hub, slot); }
    IndexScanDesc open(DirectTable* table, const core::QueuePlace& from) const {
        return begin_place_scan(table, kClaimIndex, ScanKeys().int2(slot), TIMESTAMPTZOID,
                                F_TIMESTAMPTZ_CMP,
                                TimestampTzGetDatum(core::unordered(from.parts[0])), INT8OID,
                                F_BTINT8CMP, Int64GetDatum(core::unordered(from.parts[1])));
    }
    IndexScanDesc open_rest(DirectTable*, const core::QueuePlace&) const { return nullptr; }
    core::QueuePlace place(IndexScanDesc scan) const {
        return message_place(DatumGetTimestampTz(key_column(scan, 2)),
                             DatumGetInt64(key_column(scan, 3)));
    }
    bool ends(const core::QueuePlace& place) const { return core::unordered(place.parts[0]) > now; }

    static constexpr int kClaimIndex = 1;
};

// ---------------------------------------------------------------- locks

ScanKeys lock_keys(std::string_view instance_id) {
    ScanKeys keys;
    keys.int8(core::instance_key(instance_id)).text(instance_id);
    return keys;
}

bool is_live(const DirectTable& table, int64 now) {
    const auto& row = fixed_columns<lock::Row>(table);
    return row.locked_until > now && row.lease_inc == table.hub.incarnation;
}

InstanceLock read_lock(const DirectTable& table) {
    const auto& row = fixed_columns<lock::Row>(table);
    return {.instance_key = row.instance_key,
            .instance_id = *text_column(table, lock::kInstanceId),
            .lock_no = row.lock_no,
            .lease = {.locked_until = row.locked_until,
                      .incarnation = row.lease_inc,
                      .nonce_hi = row.nonce_hi,
                      .nonce_lo = row.nonce_lo}};
}

// Changes the lock row of an instance, which this transaction holds. change(row) gets its columns.
template <typename Change>
bool change_lock(const Hub& hub, std::string_view instance_id, Change change) {
    return writing(hub, pg::FaultPoint::kFastpathTurn, DirectId::kInstanceLocks,
                   [&](DirectTable& table) {
                       if (!find_one(&table, 0, lock_keys(instance_id))) {
                           elog(ERROR, "the lock of an instance vanished while it was held");
                       }
                       HeapTuple version = copy_row(table);
                       change(fixed_columns<lock::Row>(version));
                       change_held_row(&table, version);
                       return true;
                   })
        .value_or(false);
}

// ---------------------------------------------------------------- instances

ScanKeys text_key(std::string_view id) {
    ScanKeys keys;
    keys.text(id);
    return keys;
}

// The pin of an execution, if it has one.
std::optional<Pin> read_pin(DirectTable* executions, std::string_view instance_id,
                            int64 execution_id) {
    if (!find_one(executions, 0, text_key(instance_id).int8(execution_id))) {
        return std::nullopt;
    }
    int32 parts[3];
    for (int i = 0; i < 3; ++i) {
        bool null = false;
        parts[i] = DatumGetInt32(
            column(*executions, static_cast<AttrNumber>(execution::kMajor + i), &null));
        if (null) {
            return std::nullopt;
        }
    }
    return Pin{parts[0], parts[1], parts[2]};
}

}  // namespace

bool try_insert_message(const Hub& hub, const MessageRow& row, const NewMessage& message) {
    Relation heap = open_for_direct_access(hub, DirectId::kOrchestratorQueue);
    if (heap == nullptr) {
        return false;
    }
    pass_faults(pg::FaultPoint::kFastpathEnqueue);
    NewRow values;
    values.int8(message::kInstanceKey, row.instance_key)
        .int8(message::kId, row.id)
        .timestamp(message::kVisibleAt, message.visible_at)
        .timestamp(message::kCreatedAt, message.created_at)
        .int8(message::kLockNo, 0)
        .int4(message::kAttemptCount, 0)
        .int2(message::kSlot, row.slot)
        .set(message::kKind, CharGetDatum(row.kind))
        .set(message::kParked, BoolGetDatum(false))
        .text(message::kInstanceId, message.instance_id)
        .text(message::kParentId, row.parent_id)
        .text(message::kWorkItem, message.work_item);
    CommandCounterIncrement();
    with_direct(hub, DirectId::kOrchestratorQueue, heap,
                [&values](DirectTable& table) { (void)insert_row(&table, &values); });
    return true;
}

pg::GapKey message_gaps(const Hub& hub, int16 slot) {
    return pg::gap_key(hub.relations.orchestrator_queue, 0, slot);
}

Answer<std::span<const WaitingMessage>> peek_messages(const Hub& hub, std::span<const int16> slots,
                                                      int64 after_visible_at, int64 after_id,
                                                      const pg::Clock& clock, bool with_pins,
                                                      int limit) {
    Relation locks_heap = open_for_direct_access(hub, DirectId::kInstanceLocks);
    Relation heap =
        locks_heap == nullptr ? nullptr : open_for_direct_access(hub, DirectId::kOrchestratorQueue);
    if (heap == nullptr) {
        if (locks_heap != nullptr) {
            table_close(locks_heap, NoLock);
        }
        return std::nullopt;
    }
    pass_faults(pg::FaultPoint::kFastpathTurn);
    bool plain = true;
    pg::List<WaitingMessage> waiting;
    const auto after = message_place(after_visible_at, after_id);
    const auto look_at = [&](DirectTable* table, DirectTable* locks, int16 slot) {
        int left = limit;
        int64 now = 0;
        MessageStream stream{hub, slot, 0};
        // The clock comes last: no message is newer than it.
        const auto refresh = [&, table, locks] {
            renew_snapshot(table);
            use_active_snapshot(locks);
            now = clock.now();
            stream.now = core::ms_to_pg_us(now);
        };
        const auto visit = [&] {
            const message::Row& row = message_row(*table);
            const auto instance_id = *text_column(*table, message::kInstanceId);
            if (find_one(locks, 0, lock_keys(instance_id)) && is_live(*locks, now)) {
                return true;
            }
            const auto instance = with_pins ? direct::read_instance(hub, instance_id)
                                            : std::optional<std::optional<Instance>>();
            plain = plain && (!with_pins || instance);
            waiting.add({.slot = row.slot,
                         .visible_at = row.visible_at,
                         .id = row.id,
                         .instance_id = instance_id,
                         .pin = instance && *instance ? (*instance)->pin : std::nullopt});
            return --left > 0;
        };
        // Nobody writes messages by hand, as one might set a task's priority.
        return walk_live(table, stream, after, refresh, visit, core::Gaps::kLeast);
    };
    with_direct(hub, DirectId::kOrchestratorQueue, heap, [&](DirectTable& table) {
        with_direct(hub, DirectId::kInstanceLocks, locks_heap, [&](DirectTable& locks) {
            for (const int16 slot : slots) {
                const int before = waiting.count;
                while (look_at(&table, &locks, slot) == WalkEnd::kMissed) {
                    waiting.count = before;
                }
            }
        });
    });
    if (!plain) {
        return std::nullopt;
    }
    return std::span<const WaitingMessage>(waiting.items, static_cast<std::size_t>(waiting.count));
}

int64 repair_message_gaps(const Hub& hub, int64 age_ms) {
    constexpr int kMost = 1024;
    auto* keys = static_cast<pg::GapKey*>(palloc(sizeof(pg::GapKey) * kMost));
    const int count = pg::gaps_to_check(hub.relations.orchestrator_queue, age_ms, keys, kMost);
    if (count == 0) {
        return 0;
    }
    return writing(hub, pg::FaultPoint::kFastpathTurn, DirectId::kOrchestratorQueue,
                   [&](DirectTable& table) {
                       int64 repaired = 0;
                       for (int i = 0; i < count; ++i) {
                           repaired +=
                               repair_gaps(&table, MessageStream{hub, keys[i].slot, PG_INT64_MAX});
                       }
                       return repaired;
                   })
        .value_or(0);
}

Answer<std::span<const BatchMessage>> visible_messages(const Hub& hub, std::string_view instance_id,
                                                       int64 now, int64 after_id, int64 limit) {
    return reading(
        hub, pg::FaultPoint::kFastpathTurn, DirectId::kOrchestratorQueue, [&](DirectTable& table) {
            pg::List<BatchMessage> found;
            ScanKeys keys;
            keys.int8(core::instance_key(instance_id)).int8_from(after_id);
            IndexScanDesc scan = begin_scan(&table, 0, keys);
            while (found.count < limit && next_row(table, scan)) {
                CHECK_FOR_INTERRUPTS();
                const message::Row& row = message_row(table);
                if (row.id == after_id || !is_visible(table, now) ||
                    !text_is(table, message::kInstanceId, instance_id)) {
                    continue;
                }
                bool null = false;
                const Datum text = column(table, message::kWorkItem, &null);
                found.add({.id = row.id,
                           .bytes = static_cast<int64>(toast_raw_datum_size(text)) - VARHDRSZ,
                           .attempt = row.attempt_count});
            }
            index_endscan(scan);
            return std::span<const BatchMessage>(found.items,
                                                 static_cast<std::size_t>(found.count));
        });
}

Answer<std::span<const LeasedMessage>> lease_messages(const Hub& hub, std::string_view instance_id,
                                                      std::span<const int64> ids, int64 lock_no) {
    return writing(
        hub, pg::FaultPoint::kFastpathTurn, DirectId::kOrchestratorQueue, [&](DirectTable& table) {
            auto* leased =
                static_cast<LeasedMessage*>(palloc(sizeof(LeasedMessage) * (ids.size() + 1)));
            std::size_t count = 0;
            std::size_t at = 0;  // ids are in order, as the scan is
            ScanKeys keys;
            keys.int8(core::instance_key(instance_id)).int8_from(ids.empty() ? 0 : ids.front());
            IndexScanDesc scan = begin_scan(&table, 0, keys);
            while (at < ids.size() && next_row(table, scan)) {
                CHECK_FOR_INTERRUPTS();
                const int64 id = message_row(table).id;
                while (at < ids.size() && ids[at] < id) {
                    ++at;
                }
                if (at == ids.size() || ids[at] != id ||
                    !text_is(table, message::kInstanceId, instance_id)) {
                    continue;
                }
                const int32 attempt = core::next_attempt(message_row(table).attempt_count);
                const std::string_view work_item = *text_column(table, message::kWorkItem);
                HeapTuple version = copy_row(table);
                fixed_columns<message::Row>(version)->lock_no = lock_no;
                fixed_columns<message::Row>(version)->attempt_count = attempt;
                if (try_change_row(&table, version)) {
                    leased[count++] = {.id = id, .attempt = attempt, .work_item = work_item};
                }
            }
            index_endscan(scan);
            return std::span<const LeasedMessage>(leased, count);
        });
}

Answer<bool> delete_leased(const Hub& hub, int64 instance_key, int64 lock_no, int64 now) {
    return writing(
        hub, pg::FaultPoint::kFastpathTurn, DirectId::kOrchestratorQueue, [&](DirectTable& table) {
            while (true) {
                bool others = false;
                bool changed = false;
                IndexScanDesc scan = begin_scan(&table, 0, ScanKeys().int8(instance_key));
                while (!changed && next_row(table, scan)) {
                    CHECK_FOR_INTERRUPTS();
                    if (message_row(table).lock_no != lock_no) {
                        others = others || is_visible(table, now);
                    } else {
                        changed = !delete_row(table, true);
                    }
                }
                index_endscan(scan);
                if (!changed) {
                    return others;
                }
                renew_snapshot(&table);  // somebody changed one meanwhile
            }
        });
}

Answer<bool> try_hold_instance(const Hub& hub, std::string_view instance_id, int64 now) {
    return writing(
        hub, pg::FaultPoint::kFastpathTurn, DirectId::kInstanceLocks, [&](DirectTable& table) {
            return lock_found(&table, LockTupleNoKeyExclusive, LockWaitSkip, [&] {
                return find_one(&table, 0, lock_keys(instance_id)) && !is_live(table, now);
            });
        });
}

Answer<std::optional<InstanceLock>> hold_turn(const Hub& hub, const core::TurnToken& token,
                                              LockWaitPolicy policy) {
    return writing(
        hub, pg::FaultPoint::kFastpathTurn, DirectId::kInstanceLocks, [&](DirectTable& table) {
            const bool held = lock_found(&table, LockTupleExclusive, policy, [&] {
                IndexScanDesc scan = begin_scan(&table, 0, ScanKeys().int8(token.instance_key));
                bool found = false;
                while (!found && next_row(table, scan)) {
                    found = fixed_columns<lock::Row>(table).lock_no == token.lock_no;
                }
                index_endscan(scan);
                return found;
            });
            return held ? std::optional(read_lock(table)) : std::nullopt;
        });
}

bool try_grant(const Hub& hub, std::string_view instance_id, const core::TurnToken& token,
               int64 now, int64 locked_until) {
    return change_lock(hub, instance_id, [&](lock::Row* row) {
        row->locked_until = locked_until;
        row->locked_at = now;
        row->lock_no = token.lock_no;
        row->nonce_hi = token.nonce_hi;
        row->nonce_lo = token.nonce_lo;
        row->lease_inc = token.incarnation;
    });
}

bool try_set_deadline(const Hub& hub, const InstanceLock& lock, int64 locked_until) {
    return change_lock(hub, lock.instance_id,
                       [locked_until](lock::Row* row) { row->locked_until = locked_until; });
}

bool try_release(const Hub& hub, const InstanceLock& lock) {
    return change_lock(hub, lock.instance_id, [](lock::Row* row) {
        row->locked_until = 0;
        row->lock_no = 0;
        row->nonce_hi = 0;
        row->nonce_lo = 0;
        row->lease_inc = 0;
    });
}

bool try_delete(const Hub& hub, const InstanceLock& lock) {
    return writing(hub, pg::FaultPoint::kFastpathTurn, DirectId::kInstanceLocks,
                   [&](DirectTable& table) {
                       if (!find_one(&table, 0, lock_keys(lock.instance_id)) ||
                           !delete_row(table, true)) {
                           elog(ERROR, "the lock of an instance vanished while it was held");
                       }
                       return true;
                   })
        .value_or(false);
}

Answer<std::optional<Instance>> read_instance(const Hub& hub, std::string_view instance_id) {
    Relation executions_heap = open_for_direct_access(hub, DirectId::kExecutions, AccessShareLock);
    if (executions_heap == nullptr) {
        return std::nullopt;
    }
    const auto found =
        reading(hub, pg::FaultPoint::kFastpathTurn, DirectId::kInstances,
                [&](DirectTable& table) -> std::optional<Instance> {
                    if (!find_one(&table, 0, text_key(instance_id))) {
                        return std::nullopt;
                    }
                    return Instance{
                        .name = *text_column(table, instance::kName),
                        .version = text_column(table, instance::kVersion),
                        .current_execution_id = int8_column(table, instance::kCurrentExecutionId),
                        .pin = std::nullopt};
                });
    if (!found || !*found) {
        table_close(executions_heap, NoLock);
        return found;
    }
    Instance instance = **found;
    instance.pin = with_direct(
        hub, DirectId::kExecutions, executions_heap,
        [&](DirectTable& executions) {
            use_active_snapshot(&executions);
            return read_pin(&executions, instance_id, instance.current_execution_id);
        },
        AccessShareLock);
    return std::optional(instance);
}

Answer<bool> touch_instance(const Hub& hub, std::string_view instance_id, int64 execution_id,
                            int64 now) {
    bool busy = false;
    const auto touched =
        writing(hub, pg::FaultPoint::kFastpathTurn, DirectId::kInstances, [&](DirectTable& table) {
            if (!find_one(&table, 0, text_key(instance_id))) {
                return false;
            }
            const int64 current =
                std::max(int8_column(table, instance::kCurrentExecutionId), execution_id);
            Changes changes;
            changes.set(instance::kCurrentExecutionId, Int64GetDatum(current))
                .set(instance::kUpdatedAt, TimestampTzGetDatum(core::ms_to_pg_us(now)));
            busy = !try_change_row(&table, changed_row(table, &changes));  // then SQL waits
            return true;
        });
    return busy ? std::nullopt : touched;
}

bool try_rename_instance(const Hub& hub, std::string_view instance_id, std::string_view name,
                         std::string_view version, std::optional<std::string_view> parent,
                         int64 execution_id, int64 now) {
    return writing(
               hub, pg::FaultPoint::kFastpathTurn, DirectId::kInstances,
               [&](DirectTable& table) {
                   if (!find_one(&table, 0, text_key(instance_id))) {
                       return false;
                   }
                   bool orphan = false;
                   (void)column(table, instance::kParentId, &orphan);
                   Changes changes;
                   changes.set(instance::kName, pg::text_datum(name))
                       .set(instance::kVersion, pg::text_datum(version))
                       .set(instance::kCurrentExecutionId,
                            Int64GetDatum(std::max(
                                int8_column(table, instance::kCurrentExecutionId), execution_id)))
                       .set(instance::kUpdatedAt, TimestampTzGetDatum(core::ms_to_pg_us(now)));
                   const bool adopted = orphan && parent;
                   if (adopted) {
                       changes.set(instance::kParentId, pg::text_datum(*parent));
                   }
                   return try_change_row(&table, changed_row(table, &changes), adopted);
               })
        .value_or(false);
}

namespace {

// Whoever writes executions of the instance holds its exclusion: nobody else inserts this one.
void insert_execution(DirectTable* table, std::string_view instance_id, int64 execution_id,
                      const ExecutionChange& change, int64 now) {
    NewRow row;
    row.text(execution::kInstanceId, instance_id)
        .int8(execution::kExecutionId, execution_id)
        .text(execution::kStatus, change.status.value_or("Running"))
        .timestamp(execution::kStartedAt, now)
        .int8(execution::kEventCount, change.new_events);
    if (change.status) {
        row.text(execution::kOutput, change.output);
    }
    if (change.terminal) {
        row.timestamp(execution::kCompletedAt, now);
    }
    if (change.pin) {
        row.int4(execution::kMajor, change.pin->major)
            .int4(execution::kMinor, change.pin->minor)
            .int4(execution::kPatch, change.pin->patch);
    }
    (void)insert_row(table, &row);
}

}  // namespace

bool try_upsert_execution(const Hub& hub, std::string_view instance_id, int64 execution_id,
                          const ExecutionChange& change, int64 now) {
    return writing(hub, pg::FaultPoint::kFastpathTurn, DirectId::kExecutions,
                   [&](DirectTable& table) {
                       if (!find_one(&table, 0, text_key(instance_id).int8(execution_id))) {
                           insert_execution(&table, instance_id, execution_id, change, now);
                           return true;
                       }
                       if (!change.status && !change.pin && change.new_events == 0) {
                           return true;
                       }
                       Changes changes;
                       if (change.status) {
                           changes.set(execution::kStatus, pg::text_datum(*change.status))
                               .set(execution::kOutput,
                                    change.output ? pg::text_datum(*change.output) : 0,
                                    !change.output)
                               .set(execution::kCompletedAt,
                                    TimestampTzGetDatum(core::ms_to_pg_us(now)), !change.terminal);
                       }
                       if (change.pin) {
                           changes.set(execution::kMajor, Int32GetDatum(change.pin->major))
                               .set(execution::kMinor, Int32GetDatum(change.pin->minor))
                               .set(execution::kPatch, Int32GetDatum(change.pin->patch));
                       }
                       changes.set(execution::kEventCount,
                                   Int64GetDatum(int8_column(table, execution::kEventCount) +
                                                 change.new_events));
                       return try_change_row(&table, changed_row(table, &changes),
                                             change.status.has_value());
                   })
        .value_or(false);
}

Answer<std::optional<ExecutionMark>> read_execution_mark(const Hub& hub,
                                                         std::string_view instance_id,
                                                         int64 execution_id) {
    const auto status =
        looking(hub, pg::FaultPoint::kFastpathTurn, DirectId::kExecutions, [&](DirectTable& table) {
            return find_one(&table, 0, text_key(instance_id).int8(execution_id))
                       ? text_column(table, execution::kStatus)
                       : std::nullopt;
        });
    if (!status) {
        return std::nullopt;
    }
    return looking(hub, pg::FaultPoint::kFastpathTurn, DirectId::kInstances,
                   [&](DirectTable& table) -> std::optional<ExecutionMark> {
                       if (!find_one(&table, 0, text_key(instance_id))) {
                           return std::nullopt;
                       }
                       return ExecutionMark{.status = *status,
                                            .current_execution_id =
                                                int8_column(table, instance::kCurrentExecutionId),
                                            .name = *text_column(table, instance::kName)};
                   });
}

Answer<bool> has_store(const Hub& hub, std::string_view instance_id) {
    return reading(hub, pg::FaultPoint::kFastpathTurn, DirectId::kKvStore,
                   [&](DirectTable& table) { return find_one(&table, 0, text_key(instance_id)); });
}

Answer<bool> has_delta(const Hub& hub, std::string_view instance_id) {
    return writing(hub, pg::FaultPoint::kFastpathTurn, DirectId::kKvDelta,
                   [&](DirectTable& table) { return find_one(&table, 0, text_key(instance_id)); });
}

Answer<std::span<const StoredEvent>> read_events(const Hub& hub, std::string_view instance_id,
                                                 int64 execution_id, int64 after_event_id,
                                                 int64 limit) {
    return reading(hub, pg::FaultPoint::kFastpathTurn, DirectId::kHistory, [&](DirectTable& table) {
        pg::List<StoredEvent> found;
        ScanKeys keys = text_key(instance_id);
        keys.int8(execution_id).int8_from(after_event_id);
        IndexScanDesc scan = begin_scan(&table, 0, keys);
        while (found.count < limit && next_row(table, scan)) {
            CHECK_FOR_INTERRUPTS();
            const int64 id = int8_column(table, event::kEventId);
            if (id == after_event_id) {
                continue;
            }
            bool null = false;
            found.add({id, datumCopy(column(table, event::kData, &null), false, -1)});
        }
        index_endscan(scan);
        return std::span<const StoredEvent>(found.items, static_cast<std::size_t>(found.count));
    });
}

Answer<bool> has_event_from(const Hub& hub, std::string_view instance_id, int64 execution_id,
                            int64 event_id) {
    return writing(hub, pg::FaultPoint::kFastpathTurn, DirectId::kHistory, [&](DirectTable& table) {
        ScanKeys keys = text_key(instance_id);
        return find_one(&table, 0, keys.int8(execution_id).int8_from(event_id));
    });
}

bool try_insert_events(const Hub& hub, std::string_view instance_id, int64 execution_id,
                       const NewEvents& events, int64 now) {
    return writing(hub, pg::FaultPoint::kFastpathTurn, DirectId::kHistory,
                   [&](DirectTable& table) {
                       const Datum instance = pg::text_datum(instance_id);
                       const auto fill = [&](std::size_t i, NewRow* row) {
                           row->set(event::kInstanceId, instance)
                               .int8(event::kExecutionId, execution_id)
                               .int8(event::kEventId, events.ids[i])
                               .text(event::kType, events.types[i])
                               .text(event::kData, events.texts[i])
                               .timestamp(event::kCreatedAt, now);
                       };
                       insert_rows(&table, events.ids.size(), fill,
                                   [](std::size_t, const ItemPointerData&) {});
                       return true;
                   })
        .value_or(false);
}

}  // namespace belay::store::direct
