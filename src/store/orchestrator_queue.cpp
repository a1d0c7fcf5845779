// Rows of table orchestrator_queue: send, find, lease, release, set aside and delete messages.
//
// Touches  <hub>.orchestrator_queue, <hub>.dead_letters; to read, <hub>.instance_locks
// Locks    messages, without waiting unless a function says so
// Must not decide what becomes of a message: core/transitions/turn.hpp does
#include "store/orchestrator_queue.hpp"

#include "core/time.hpp"
#include "pg/list.hpp"
#include "shmem/counters.hpp"
#include "shmem/gaps.hpp"
#include "store/dead_letters.hpp"
#include "store/instances.hpp"
#include "store/table/walk.hpp"
#include "store/turn_rows.hpp"
#include "store/waking.hpp"

namespace belay::store {

namespace {

// ---------------------------------------------------------------- the claim order

gaps::Key gaps_of(const Hub& hub, int16 slot) {
    return gaps::key_of(hub.relations.orchestrator_queue, 0, slot);
}

// The place of a message in the claim order of its slot; visible_at as stored.
core::QueuePlace place_of(TimestampTz visible_at, int64 id) {
    return {{core::ordered(visible_at), core::ordered(id), 0, 0}};
}

// The messages of a slot that are not parked, up to now.
struct MessageStream {
    const Hub& hub;
    int16 slot;
    TimestampTz now;

    gaps::Key key() const { return gaps_of(hub, slot); }
    IndexScanDesc open(Table* table, const core::QueuePlace& from) const {
        return begin_place_scan(table, message::kByClaim, ScanKeys().int2(slot), TIMESTAMPTZOID,
                                F_TIMESTAMPTZ_CMP,
                                TimestampTzGetDatum(core::unordered(from.parts[0])), INT8OID,
                                F_BTINT8CMP, Int64GetDatum(core::unordered(from.parts[1])));
    }
    IndexScanDesc open_rest(Table*, const core::QueuePlace&) const { return nullptr; }
    core::QueuePlace place(IndexScanDesc scan) const {
        return place_of(DatumGetTimestampTz(key_column(scan, 2)),
                        DatumGetInt64(key_column(scan, 3)));
    }
    bool ends(const core::QueuePlace& place) const { return core::unordered(place.parts[0]) > now; }
};

// The claim index gets an entry of table.row.
void publish_message(const Table& table, TimestampTz visible_at) {
    const message::Row& row = message_row(table);
    gaps::appeared(gaps_of(table.hub, row.slot), place_of(visible_at, row.id));
}

// ---------------------------------------------------------------- rows

// A version of table.row in that state.
HeapTuple version_of(const Table& table, const core::Message& state) {
    HeapTuple version = copy_row(table);
    auto* row = fixed_columns<message::Row>(version);
    row->visible_at = state.visible_at;
    row->lock_no = state.lock_no;
    row->attempt_count = state.attempt;
    row->parked = state.parked;
    return version;
}

ScanKeys keys_from(std::string_view instance_id, int64 from) {
    ScanKeys keys;
    keys.int8(core::instance_key(instance_id)).int8_from(from);
    return keys;
}

bool is_of(const Table& table, std::string_view instance_id) {
    return text_is(table, message::kInstanceId, instance_id);
}

// Visits the messages of an instance in the order of their ids, from one on, while visit() wants
// more.
template <typename Visit>
void each_message(Table* table, std::string_view instance_id, int64 from, Visit visit) {
    IndexScanDesc scan = begin_scan(table, kByKey, keys_from(instance_id, from));
    bool more = true;
    while (more && next_row(*table, scan)) {
        CHECK_FOR_INTERRUPTS();
        more = !is_of(*table, instance_id) || visit();
    }
    index_endscan(scan);
}

// The parent that a start message names, if it can be an instance id at all.
std::optional<std::string_view> parent_of(const NewMessage& message) {
    constexpr std::size_t kMaxId = 1024;
    if (message.kind != core::ItemKind::kStartOrchestration) {
        return std::nullopt;
    }
    const auto item = core::parse_work_item(message.work_item, nullptr);
    const auto parent = item ? core::json::find(item->body, "parent_instance") : std::nullopt;
    if (!parent || parent->kind != core::json::Kind::kString) {
        return std::nullopt;
    }
    auto* out = static_cast<char*>(palloc(core::json::decoded_bound(*parent) + 1));
    const auto decoded = core::json::decode(*parent, out);
    if (decoded.size == 0 || decoded.size > kMaxId || decoded.has_nul) {
        return std::nullopt;
    }
    return std::string_view(out, decoded.size);
}

}  // namespace

int64 insert_message(Tables& tables, const NewMessage& message) {
    pass_turn_faults(pg::FaultPoint::kHotTableEnqueue);
    const Hub& hub = tables.hub;
    const int64 id = nextval_internal(hub.relations.orchestrator_queue_id, false);
    const auto slot = static_cast<int16>(
        core::slot_of(message.instance_id, static_cast<int32>(hub.options[Option::kSlotCount])));
    NewRow row;
    row.put(message::kInstanceKey, core::instance_key(message.instance_id))
        .put(message::kId, id)
        .timestamp(message::kVisibleAt, message.visible_at)
        .timestamp(message::kCreatedAt, message.created_at)
        .put(message::kLockNo, 0)
        .put(message::kAttemptCount, 0)
        .put(message::kSlot, slot)
        .put(message::kKind, static_cast<char>(core::message_kind(message.kind)))
        .put(message::kParked, false)
        .put(message::kInstanceId, message.instance_id)
        .put(message::kParentId, parent_of(message))
        .put(message::kWorkItem, message.work_item);
    with_table(tables, TableId::kOrchestratorQueue, RowExclusiveLock,
               [&row](Table& table) { (void)insert_row(&table, &row); });
    gaps::appeared(gaps_of(hub, slot), place_of(core::ms_to_pg_us(message.visible_at), id));
    wake_fetchers(orchestrator_channel(hub), message.visible_at, id);
    counters::add(hub.schema, counters::Queue::kOrchestrator, counters::Counter::kEnqueued);
    return id;
}

// ---------------------------------------------------------------- finding messages

namespace {

struct Peek {
    Tables& tables;
    const pg::Clock& clock;
    core::QueuePlace after;
    bool with_instances;
    int limit;
    pg::List<WaitingMessage> found;
};

// Adds the messages of a slot whose instance is free. kMissed: they are not all.
WalkEnd peek_slot(Peek* peek, Table* table, Table* locks, int16 slot) {
    int left = peek->limit;
    int64 now = 0;
    MessageStream stream{table->hub, slot, 0};
    // The clock comes last: no message is newer than it.
    const auto refresh = [&] {
        renew_snapshot(table);
        use_active_snapshot(locks);
        now = peek->clock.now();
        stream.now = core::ms_to_pg_us(now);
    };
    const auto visit = [&] {
        const auto instance_id = get(*table, message::kInstanceId);
        const bool has_lock_row = find_one(locks, kByKey, lock_keys(instance_id));
        if (has_lock_row && !core::is_free(lock_of(*locks), table->hub.incarnation, now)) {
            return true;
        }
        const auto instance =
            peek->with_instances ? read_instance(peek->tables, instance_id) : std::nullopt;
        const message::Row& row = message_row(*table);
        peek->found.add(
            {.slot = row.slot,
             .visible_at = row.visible_at,
             .id = row.id,
             .instance_id = instance_id,
             .lock_row = has_lock_row ? std::optional(locks->row->tts_tid) : std::nullopt,
             .name = instance ? std::optional(instance->name) : std::nullopt,
             .pin = instance ? instance->pin : std::nullopt});
        return --left > 0;
    };
    // Messages are never changed by hand, unlike, say, a task's priority.
    return walk_live(table, stream, peek->after, refresh, visit, core::Gaps::kLeast);
}

}  // namespace

std::span<const WaitingMessage> peek_messages(Tables& tables, std::span<const int16> slots,
                                              int64 after_visible_at, int64 after_id,
                                              const pg::Clock& clock, bool with_instances,
                                              int limit, LOCKMODE mode) {
    pass_turn_faults();
    Peek peek{.tables = tables,
              .clock = clock,
              .after = place_of(after_visible_at, after_id),
              .with_instances = with_instances,
              .limit = limit,
              .found = {}};
    with_table(tables, TableId::kOrchestratorQueue, mode, [&](Table& table) {
        with_table(tables, TableId::kInstanceLocks, mode, [&](Table& locks) {
            for (const int16 slot : slots) {
                const int before = peek.found.count;
                while (peek_slot(&peek, &table, &locks, slot) == WalkEnd::kMissed) {
                    peek.found.count = before;
                }
            }
        });
    });
    return peek.found.span();
}

int64 repair_message_gaps(Tables& tables, int64 age_ms) {
    constexpr int kMost = 1024;
    auto* keys = static_cast<gaps::Key*>(palloc(sizeof(gaps::Key) * kMost));
    const int count = gaps::to_check(tables.hub.relations.orchestrator_queue, age_ms, keys, kMost);
    if (count == 0) {
        return 0;
    }
    pass_turn_faults();
    return writing(tables, TableId::kOrchestratorQueue, [&](Table& table) {
        int64 repaired = 0;
        for (int i = 0; i < count; ++i) {
            repaired += repair_gaps(&table, MessageStream{table.hub, keys[i].slot, PG_INT64_MAX});
        }
        return repaired;
    });
}

std::span<const BatchMessage> visible_messages(Tables& tables, std::string_view instance_id,
                                               int64 now, int64 after_id, int64 limit) {
    pass_turn_faults();
    return reading(tables, TableId::kOrchestratorQueue, [&](Table& table) {
        pg::List<BatchMessage> found;
        each_message(&table, instance_id, after_id, [&] {
            const core::Message message = message_of(table);
            const int64 id = message_row(table).id;
            if (id != after_id && core::is_visible(message, now)) {
                bool null = false;
                const Datum text = column(table, message::kWorkItem, &null);
                found.add({.id = id,
                           .bytes = static_cast<int64>(toast_raw_datum_size(text)) - VARHDRSZ,
                           .attempt = message.attempt,
                           .row = table.row->tts_tid});
            }
            return found.count < limit;
        });
        return std::span<const BatchMessage>(found.span());
    });
}

Arrivals read_arrivals(Tables& tables, std::string_view instance_id, int64 now) {
    pass_turn_faults();
    return reading(tables, TableId::kOrchestratorQueue, [&](Table& table) {
        Arrivals found{};
        each_message(&table, instance_id, PG_INT64_MIN, [&] {
            const core::Message message = message_of(table);
            const bool visible = core::is_visible(message, now);
            const bool starts = core::is_start(message);
            if (visible && starts && !found.start) {
                found.start = {message_row(table).id, get(table, message::kWorkItem)};
            }
            found.start_queued = found.start_queued || starts;
            found.others_queued =
                found.others_queued || (visible && !core::can_be_dropped(message, now));
            return !found.start || !found.others_queued;
        });
        return found;
    });
}

bool has_start(Tables& tables, std::string_view instance_id) {
    pass_turn_faults();
    return reading(tables, TableId::kOrchestratorQueue, [&](Table& table) {
        bool found = false;
        each_message(&table, instance_id, PG_INT64_MIN, [&] {
            found = core::is_start(message_of(table));
            return !found;
        });
        return found;
    });
}

// ---------------------------------------------------------------- turns

std::span<const LeasedMessage> lease_messages(Tables& tables, std::string_view instance_id,
                                              std::span<const BatchMessage> messages,
                                              int64 lock_no) {
    pass_turn_faults();
    return writing(tables, TableId::kOrchestratorQueue, [&](Table& table) {
        auto* leased =
            static_cast<LeasedMessage*>(palloc(sizeof(LeasedMessage) * (messages.size() + 1)));
        std::size_t count = 0;
        for (const BatchMessage& seen : messages) {
            CHECK_FOR_INTERRUPTS();
            const auto is_it = [&] {
                return message_row(table).id == seen.id && is_of(table, instance_id);
            };
            const ScanKeys key = ScanKeys().int8(core::instance_key(instance_id)).int8(seen.id);
            if (!(find_at(table, seen.row) && is_it()) &&
                !(find_one(&table, kByKey, key) && is_it())) {
                continue;
            }
            const core::Message message = core::leased(message_of(table), lock_no);
            const std::string_view work_item = get(table, message::kWorkItem);
            if (try_change_row(&table, version_of(table, message)) == TM_Ok) {
                leased[count++] = {
                    .id = seen.id, .attempt = message.attempt, .work_item = work_item};
                wakeups::taken_row(orchestrator_channel(table.hub), static_cast<uint64>(seen.id));
            }
        }
        return std::span<const LeasedMessage>(leased, count);
    });
}

void delete_leased(Tables& tables, int64 instance_key, int64 lock_no, int64 now) {
    pass_turn_faults();
    const wakeups::Channel channel = orchestrator_channel(tables);
    const uint64 version = wakeups::queue_version(channel);
    const bool others = writing(tables, TableId::kOrchestratorQueue, [&](Table& table) {
        while (true) {
            bool others_wait = false;
            bool changed = false;
            IndexScanDesc scan = begin_scan(&table, kByKey, ScanKeys().int8(instance_key));
            while (!changed && next_row(table, scan)) {
                CHECK_FOR_INTERRUPTS();
                const core::Message message = message_of(table);
                if (message.lock_no != lock_no) {
                    others_wait = others_wait || core::is_visible(message, now);
                } else {
                    changed = !delete_row(table, true);
                }
            }
            index_endscan(scan);
            if (!changed) {
                return others_wait;
            }
            renew_snapshot(&table);  // one was changed meanwhile
        }
    });
    // What is sent while this transaction is open meets a lock: a call that looks for it learns
    // when the lock is gone.
    if (others) {
        wakeups::ready(channel);
    } else {
        wakeups::freed(channel, version);
    }
}

void release_leased(Tables& tables, int64 instance_key, int64 lock_no, bool ignore_attempt,
                    std::optional<int64> visible_at) {
    pass_turn_faults();
    writing(tables, TableId::kOrchestratorQueue, [&](Table& table) {
        const auto is_leased = [&] { return message_row(table).lock_no == lock_no; };
        hold_each(&table, LockTupleNoKeyExclusive, ScanKeys().int8(instance_key), is_leased, [&] {
            const core::Message message =
                core::released(message_of(table), ignore_attempt, visible_at);
            if (visible_at) {
                publish_message(table, message.visible_at);
            }
            change_held_row(&table, version_of(table, message), visible_at.has_value());
        });
    });
    // Messages that came meanwhile can be fetched at once, whenever these return.
    wakeups::ready(orchestrator_channel(tables));
    wake_fetchers(orchestrator_channel(tables), visible_at.value_or(0));
}

// ---------------------------------------------------------------- set aside

void drop_queue_messages(Tables& tables, std::string_view instance_id, int64 now) {
    pass_turn_faults();
    writing(tables, TableId::kOrchestratorQueue, [&](Table& table) {
        bool started = false;
        each_message(&table, instance_id, PG_INT64_MIN, [&] {
            started = core::is_start(message_of(table));
            return !started;
        });
        if (started) {
            return;
        }
        each_message(&table, instance_id, PG_INT64_MIN, [&] {
            if (core::can_be_dropped(message_of(table), now)) {
                (void)delete_row(table, false);
            }
            return true;
        });
    });
}

bool dead_letter_message(Tables& tables, std::string_view instance_id, int64 id, int64 now) {
    pass_turn_faults();
    const auto dead =
        writing(tables, TableId::kOrchestratorQueue,
                [instance_id, id](Table& table) -> std::optional<NewDeadLetter> {
                    const ScanKeys keys = ScanKeys().int8(core::instance_key(instance_id)).int8(id);
                    if (!find_one(&table, kByKey, keys) || !is_of(table, instance_id)) {
                        return std::nullopt;
                    }
                    const NewDeadLetter letter{.queue = "orchestrator",
                                               .source_id = id,
                                               .instance_id = instance_id,
                                               .execution_id = std::nullopt,
                                               .activity_id = std::nullopt,
                                               .session_id = std::nullopt,
                                               .tag = std::nullopt,
                                               .work_item = get(table, message::kWorkItem),
                                               .attempts = message_row(table).attempt_count,
                                               .reason = "max_attempts",
                                               .detail = std::nullopt,
                                               .enqueued_at = message_row(table).created_at};
                    return delete_row(table, false) ? std::optional(letter) : std::nullopt;
                });
    if (!dead) {
        return false;
    }
    (void)insert_dead_letter(tables, *dead, now);
    counters::add(tables.hub.schema, counters::Queue::kOrchestrator,
                  counters::Counter::kDeadLettered);
    return true;
}

void park_messages(Tables& tables, std::string_view instance_id, int64 now) {
    pass_turn_faults();
    writing(tables, TableId::kOrchestratorQueue, [&](Table& table) {
        each_message(&table, instance_id, PG_INT64_MIN, [&] {
            const core::Message message = message_of(table);
            if (core::can_be_parked(message, now)) {
                (void)try_change_row(&table, version_of(table, core::with_parked(message, true)),
                                     true);
            }
            return true;
        });
    });
}

bool unpark_messages(Tables& tables, std::string_view instance_id) {
    pass_turn_faults();
    return writing(tables, TableId::kOrchestratorQueue, [&](Table& table) {
        bool found = false;
        each_message(&table, instance_id, PG_INT64_MIN, [&] {
            const core::Message message = message_of(table);
            if (message.parked &&
                try_change_row(&table, version_of(table, core::with_parked(message, false)),
                               true) == TM_Ok) {
                publish_message(table, message.visible_at);
                found = true;
            }
            return true;
        });
        return found;
    });
}

void settle_parked(Tables& tables, std::string_view instance_id, int64 lock_no) {
    pass_turn_faults();
    writing(tables, TableId::kOrchestratorQueue, [&](Table& table) {
        const auto is_other = [&] {
            return message_row(table).lock_no != lock_no && is_of(table, instance_id);
        };
        hold_each(&table, LockTupleNoKeyExclusive, keys_from(instance_id, PG_INT64_MIN), is_other,
                  [&] {
                      const core::Message message = message_of(table);
                      if (message.parked) {
                          publish_message(table, message.visible_at);
                          change_held_row(
                              &table, version_of(table, core::with_parked(message, false)), true);
                      }
                  });
    });
}

}  // namespace belay::store
