// Table tasks, as claims see it: the walks over its streams, and the leases that claims give.
//
// Touches  <hub>.tasks, by direct access; reads <hub>.queues and <hub>.capability_sets
// Locks    tasks, never waiting for one
// Must not decide what a lease makes of a task: core/transitions/task.hpp does
#include "store/task_claims.hpp"

#include <algorithm>

#include "core/time.hpp"
#include "pg/datum.hpp"
#include "pg/durable.hpp"
#include "pg/list.hpp"
#include "store/queues.hpp"
#include "store/statements.hpp"
#include "store/table/walk.hpp"
#include "store/task_rows.hpp"
#include "store/waking.hpp"

namespace belay::store {

namespace {

// $1 queues, $2 capabilities. A row per set that fits; a queue without one has a row with null.
constexpr auto kFits = statement<In<ListOf<Text>, ListOf<Text>>, Out<Text, Maybe<int32>>>(R"sql(
    SELECT n.queue, s.id
      FROM pg_catalog.unnest($1) AS n(queue)
      LEFT JOIN {hub}.capability_sets AS s ON s.queue {=} n.queue AND s.tokens {<@} $2
     WHERE NOT EXISTS (SELECT 1 FROM {hub}.queues AS l WHERE l.name {=} n.queue AND l.paused)
)sql");

// Whether a task of the hub has ever asked for capabilities: a row that any transaction has
// inserted has a page.
bool has_capability_sets(const Hub& hub) {
    const Relation sets = table_open(hub.relations.capability_sets, AccessShareLock);
    const bool has_pages = RelationGetNumberOfBlocks(sets) > 0;
    table_close(sets, NoLock);
    return has_pages;
}

// ---------------------------------------------------------------- streams

// The id of which these are the halves, in the current memory context.
pg_uuid_t* id_of(uint64 high, uint64 low) {
    auto* id = static_cast<pg_uuid_t*>(palloc(sizeof(pg_uuid_t)));
    const uint64 halves[] = {pg_hton64(high), pg_hton64(low)};
    memcpy(id->data, halves, sizeof halves);
    return id;
}

// ROW(available_at_ms, id) >= the place, behind keys.
IndexScanDesc scan_from(Table* table, int index, const ScanKeys& keys, uint64 available_at,
                        uint64 high, uint64 low) {
    return begin_place_scan(table, index, keys, INT8OID, F_BTINT8CMP,
                            Int64GetDatum(core::unordered(available_at)), UUIDOID, F_UUID_CMP,
                            UUIDPGetDatum(id_of(high, low)));
}

// Ready tasks of a queue, slot and set of capabilities, the highest priority first.
struct ReadyStream {
    const Hub& hub;
    TaskStream stream;

    gaps::Key key() const { return ready_gaps(hub, stream); }
    ScanKeys prefix() const {
        ScanKeys keys;
        return keys.text(stream.queue).int2(stream.slot).int4(stream.cap_set);
    }
    IndexScanDesc open(Table* table, const core::QueuePlace& from) const {
        if (from == core::kQueueStart) {
            return begin_place_scan(table, task::kByClaim, prefix());
        }
        return scan_from(table, task::kByClaim, prefix().int4(priority_of(from)), from.parts[1],
                         from.parts[2], from.parts[3]);
    }
    // A place names one priority: the lower ones are another scan.
    IndexScanDesc open_rest(Table* table, const core::QueuePlace& from) const {
        if (from == core::kQueueStart) {
            return nullptr;
        }
        return begin_place_scan(
            table, task::kByClaim,
            prefix().add(BTLessStrategyNumber, F_INT4LT, Int32GetDatum(priority_of(from))));
    }
    core::QueuePlace place(IndexScanDesc scan) const {
        // At once: behind a text each column is found by a walk over those before it.
        Datum keys[kMaxKeys];
        bool nulls[kMaxKeys];
        index_deform_tuple(scan->xs_itup, scan->xs_itupdesc, keys, nulls);
        return ready_place(
            {DatumGetInt32(keys[3]), DatumGetInt64(keys[4]), *DatumGetUUIDP(keys[5])});
    }
    bool ends(const core::QueuePlace&) const { return false; }

    static int32 priority_of(const core::QueuePlace& place) {
        return static_cast<int32>(-core::unordered(place.parts[0]));
    }
};

// Delayed tasks, up to a time; the first entry behind it is noted.
struct DelayedStream {
    const Hub& hub;
    int64 until = core::kNever;
    int64* behind = nullptr;

    gaps::Key key() const { return delayed_gaps(hub); }
    IndexScanDesc open(Table* table, const core::QueuePlace& from) const {
        return scan_from(table, task::kByDue, {}, from.parts[0], from.parts[1], from.parts[2]);
    }
    IndexScanDesc open_rest(Table*, const core::QueuePlace&) const { return nullptr; }
    core::QueuePlace place(IndexScanDesc scan) const {
        return delayed_place(
            {0, DatumGetInt64(key_column(scan, 1)), *DatumGetUUIDP(key_column(scan, 2))});
    }
    bool ends(const core::QueuePlace& place) const {
        const int64 at = core::unordered(place.parts[0]);
        if (at > until) {
            *behind = at;
        }
        return at > until;
    }
};

bool is_over(const Table& table, int64 now) {
    const auto deadline = get(table, task::kDeadline);
    return deadline && *deadline <= now;
}

// Walks over a stream until the walk has missed nothing. begin() forgets what an earlier walk
// found.
template <typename Stream, typename Begin, typename Visit>
WalkEnd walk_all(Table* table, const Stream& stream, const core::QueuePlace& after, Begin begin,
                 Visit visit) {
    while (true) {
        begin();
        const WalkEnd end = walk_live(
            table, stream, after, [table] { renew_snapshot(table); }, visit);
        if (end != WalkEnd::kMissed) {
            return end;
        }
    }
}

// Adds up to limit tasks of the stream behind a place to found, as make() says.
template <typename T, typename Make>
void peek_stream(Table* table, const ReadyStream& stream, const core::QueuePlace& after, int64 now,
                 int limit, pg::List<T>* found, Make make) {
    const int before = found->count;
    (void)walk_all(
        table, stream, after, [&] { found->count = before; },
        [&] {
            if (!is_over(*table, now)) {
                found->add(make(place_of(*table)));
            }
            return found->count - before < limit;
        });
}

// ---------------------------------------------------------------- timeouts

// What claims know of the queues of the tasks that they hold: read once.
struct QueueTimeouts {
    struct TaskQueue {
        std::string_view name;
        std::optional<int64> ms;
    };
    Tables& tables;
    pg::List<TaskQueue> queues{};

    std::optional<int64> find(std::string_view name) {
        for (const TaskQueue& queue : queues) {
            if (queue.name == name) {
                return queue.ms;
            }
        }
        const auto queue = read_queue(tables, name);
        return queues.add({name, queue ? timeout_in(queue->policy).ms : std::nullopt}).ms;
    }
};

// ---------------------------------------------------------------- holding

// A task that was just held; whether it has a timeout of its own.
struct HeldRow {
    HeldTask task;
    bool own_timeout;
};

HeldRow read_held(const Table& table, const core::TaskLife& life, std::string_view queue) {
    const Timeout timeout = timeout_in(get(table, task::kPolicy));
    return {{.id = get(table, task::kId),
             .tid = table.row->tts_tid,
             .life = life,
             .attempt_timeout = timeout.ms,
             .queue = queue},
            timeout.given};
}

// Adds the timeouts of queues where a task has none of its own.
std::span<const HeldTask> with_timeouts(Tables& tables, std::span<const HeldRow> rows) {
    QueueTimeouts of_queues{tables};
    pg::List<HeldTask> tasks;
    for (const HeldRow& row : rows) {
        HeldTask& task = tasks.add(row.task);
        if (!row.own_timeout) {
            task.attempt_timeout = of_queues.find(task.queue);
        }
    }
    return tasks.span();
}

// The name of table.row's queue; most often it is that of the task before.
std::string_view queue_of_row(const Table& table, std::optional<std::string_view> before) {
    return before && text_is(table, task::kQueue, *before) ? *before : get(table, task::kQueue);
}

// ---------------------------------------------------------------- leases

Datum value_or_null(const Columns& columns, AttrNumber number) {
    return columns.nulls[number - 1] ? 0 : columns.values[number - 1];
}

// What a claim reports of the version that it has written.
ClaimedTask read_claimed(const Columns& columns, const LeaseGrant& grant,
                         const core::TaskLife& life) {
    const auto value = [&columns](AttrNumber number) { return value_or_null(columns, number); };
    ClaimedTask claimed{.id = grant.task.id,
                        .life = life,
                        .nonce = grant.nonce,
                        .flow_id = std::nullopt,
                        .queue = value(task::kQueue),
                        .kind = value(task::kKind),
                        .payload = value(task::kPayload),
                        .tags = value(task::kTags),
                        .checkpoint = value(task::kCheckpoint),
                        .flow_key = value(task::kFlowKey),
                        .last_error = 0};
    if (const Datum flow = value(task::kFlowId)) {
        claimed.flow_id = *DatumGetUUIDP(flow);
    }
    if (const Datum failure_class = value(task::kFailureClass)) {
        const Datum message = value(task::kFailureMessage);
        const Datum details = value(task::kFailureDetails);
        claimed.last_error = JsonbPGetDatum(
            error_json(pg::text_view(failure_class),
                       message == 0 ? std::nullopt : std::optional(pg::text_view(message)),
                       details == 0 ? nullptr : DatumGetJsonbP(details)));
    }
    return claimed;
}

// A claimer's names as they are stored.
struct StoredClaimer {
    Datum worker;
    Datum instance;
};
StoredClaimer stored(const Claimer& claimer) {
    return {pg::text_datum(claimer.worker), pg::text_datum(claimer.instance)};
}

struct Lease {
    TM_Result result;  // of the write
    ClaimedTask claimed;
};

// Writes the lease into table.row, as write(before, after, changes) does that.
template <typename Write>
Lease lease_row(const LeaseGrant& grant, const StoredClaimer& claimer, Write write) {
    const core::TaskLife after = core::claimed(grant.task.life, grant.terms, grant.now);
    Changes changes;
    changes.put(task::kLeaseNonce, grant.nonce)
        .set(task::kLeaseOwner, claimer.instance)
        .set(task::kLeaseWorker, claimer.worker)
        .set(task::kAttemptWorker, claimer.worker)
        .set(task::kAttemptInstance, claimer.instance);
    const WrittenLife written = write(grant.task.life, after, &changes);
    if (written.result != TM_Ok) {
        return {written.result, {}};
    }
    return {TM_Ok, read_claimed(written.columns, grant, after)};
}

ClaimedTask lease_held(Table* table, const LeaseGrant& grant, const StoredClaimer& claimer) {
    (void)find_held_task(table, grant.task.id, grant.task.tid);
    return lease_row(grant, claimer,
                     [table](const auto& before, const auto& after, Changes* changes) {
                         return write_held_life(table, before, after, changes);
                     })
        .claimed;
}

// What waiting sessions have to know of a claim: it has the tasks, and their leases end at the
// earliest then.
struct ClaimNotes {
    std::optional<std::string_view> queue{};
    int64 queue_end = core::kNever;
    int64 first_end = core::kNever;

    void add(const Hub& hub, const LeaseGrant& grant, const ClaimedTask& claimed) {
        wake_task_waiters(hub, grant.task.id);
        wake_flow_waiters(hub, claimed.flow_id);
        if (queue != grant.task.queue) {
            end_queue(hub);
            queue = grant.task.queue;
        }
        queue_end = std::min(queue_end, grant.terms.until);
    }
    void end_queue(const Hub& hub) {
        if (queue) {
            wakeups::held(queue_channel(hub, *queue));
            // A lease that is over is taken back by the next claim: who waits for the queue has to
            // wake up.
            wakeups::due(queue_channel(hub, *queue), queue_end);
            first_end = std::min(first_end, queue_end);
            queue_end = core::kNever;
        }
    }
    void end(const Hub& hub) {
        if (queue) {
            end_queue(hub);
            wakeups::held(all_queues_channel(hub));
            wakeups::due(all_queues_channel(hub), first_end);
            wakeups::due(task_lease_channel(hub), first_end);
        }
    }
};

}  // namespace

bool TaskPlace::before(const TaskPlace& other) const {
    if (priority != other.priority) {
        return priority > other.priority;
    }
    if (available_at != other.available_at) {
        return available_at < other.available_at;
    }
    return memcmp(id.data, other.id.data, UUID_LEN) < 0;
}

// ---------------------------------------------------------------- looking

std::span<const std::string_view> ready_queues(Tables& tables, std::string_view after,
                                               std::optional<std::string_view> up_to, int limit) {
    pass_task_faults();
    return writing(tables, TableId::kTasks, [&](Table& table) {
        pg::List<std::string_view> queues;
        IndexScanDesc scan =
            pg::begin_index_scan(table.heap, index_at(&table, task::kByClaim), table.snapshot, 1);
        scan->xs_want_itup = true;
        std::string_view last = after;
        const auto queue = [scan] { return pg::text_view(key_column(scan, 1)); };
        skip_scan(
            scan,
            [&] {
                ScanKeys keys;
                keys.add(BTGreaterStrategyNumber, F_TEXT_GT, pg::text_datum(last));
                index_rescan(scan, keys.keys, keys.count, nullptr, 0);
            },
            [&] { return queue() == last; },
            [&] {
                last = ValueOf<TEXTOID>::load(key_column(scan, 1));
                if (!up_to || last <= *up_to) {
                    queues.add(last);
                }
                return (!up_to || last < *up_to) && queues.count < limit;
            });
        index_endscan(scan);
        return queues.span();
    });
}

std::span<const TaskStream> fitting_streams(Tables& tables,
                                            std::span<const std::string_view> queues,
                                            std::span<const std::string_view> capabilities,
                                            std::span<const int16> slots) {
    if (queues.empty()) {
        return {};
    }
    if (!has_capability_sets(tables)) {
        pg::List<TaskStream> streams;
        for (const auto queue : queues) {
            const auto settings = read_queue(tables, queue);
            if (!settings || !settings->paused) {
                for (const int16 slot : slots) {
                    streams.add({queue, slot, 0});
                }
            }
        }
        return streams.span();
    }
    const auto rows = run(tables.hub, kFits, queues, capabilities);
    // Each queue has its set 0 beside those found; the rows of a queue come together.
    auto* streams =
        static_cast<TaskStream*>(palloc(sizeof(TaskStream) * (2 * rows.count * slots.size() + 1)));
    std::size_t count = 0;
    std::optional<std::string_view> before;
    for (const auto [queue, cap_set] : rows) {
        const bool first = queue != before;
        before = queue;
        for (const int16 slot : slots) {
            if (first) {
                streams[count++] = {queue, slot, 0};
            }
            if (cap_set) {
                streams[count++] = {queue, slot, *cap_set};
            }
        }
    }
    return {streams, count};
}

std::span<const TaskPeek> peek_heads(Tables& tables, std::span<const TaskStream> streams, int64 now,
                                     int limit) {
    pass_task_faults();
    pg::List<TaskPeek> found;
    with_table(tables, TableId::kTasks, RowExclusiveLock, [&](Table& table) {
        for (std::size_t i = 0; i < streams.size(); ++i) {
            peek_stream(&table, ReadyStream{table.hub, streams[i]}, core::kQueueStart, now, limit,
                        &found, [i](const TaskPlace& place) {
                            return TaskPeek{static_cast<int>(i), place};
                        });
        }
    });
    return found.span();
}

std::span<const TaskPlace> peek_behind(Tables& tables, const TaskStream& stream,
                                       const TaskPlace& after, int64 now, int limit) {
    pass_task_faults();
    pg::List<TaskPlace> found;
    with_table(tables, TableId::kTasks, RowExclusiveLock, [&](Table& table) {
        peek_stream(&table, ReadyStream{table.hub, stream}, ready_place(after), now, limit, &found,
                    [](const TaskPlace& place) { return place; });
    });
    return found.span();
}

DueLook peek_due(Tables& tables, const std::optional<TaskPlace>& after, int64 now, int limit) {
    pass_task_faults();
    pg::List<DueTaskPeek> found;
    int64 behind = core::kNever;
    const WalkEnd end = with_table(tables, TableId::kTasks, RowExclusiveLock, [&](Table& table) {
        return walk_all(
            &table, DelayedStream{table.hub, now, &behind},
            after ? delayed_place(*after) : core::kQueueStart,
            [&] {
                found.count = 0;
                behind = core::kNever;
            },
            [&] {
                const auto before = found.count == 0
                                        ? std::nullopt
                                        : std::optional(found.items[found.count - 1].stream.queue);
                found.add({{queue_of_row(table, before), get(table, task::kSlot),
                            get(table, task::kCapSet)},
                           place_of(table),
                           is_over(table, now)});
                return found.count < limit;
            });
    });
    const bool more = end == WalkEnd::kStopped;
    return {found.span(), more, more ? now : behind};
}

// ---------------------------------------------------------------- holding

namespace {

// What became of a task of a walk over heads, and whether the walk continues.
struct Visit {
    TM_Result result;  // of locking or writing its row
    bool goes_on;
};

// Walks over the tasks of a stream that may be claimed, and again if nothing was taken but another
// version may be ready, too.
template <typename Take, typename HasTaken>
void walk_heads(Table* table, const TaskStream& stream, int64 now, bool* lost, Take take,
                HasTaken has_taken) {
    bool again = true;
    while (again) {
        bool changed = false;
        const WalkEnd end = walk_live(
            table, ReadyStream{table->hub, stream}, core::kQueueStart,
            [table] { renew_snapshot(table); },
            [&] {
                const core::TaskLife life = life_of(*table);
                if (!core::is_claimable(life, now)) {
                    return true;
                }
                const Visit visit = take(life);
                changed = changed || visit.result == TM_Updated;
                *lost = *lost || visit.result != TM_Ok;
                return visit.goes_on;
            });
        again = !has_taken() && (changed || end == WalkEnd::kMissed);
        CHECK_FOR_INTERRUPTS();
    }
}

}  // namespace

std::span<const HeldTask> hold_heads(Tables& tables, const TaskStream& stream, int64 now, int limit,
                                     bool* lost) {
    pass_task_faults();
    pg::List<HeldRow> held;
    with_table(tables, TableId::kTasks, RowExclusiveLock, [&](Table& table) {
        walk_heads(
            &table, stream, now, lost,
            [&](const core::TaskLife& life) {
                const TM_Result result = lock_row(table, LockTupleNoKeyExclusive, LockWaitSkip);
                if (result == TM_Ok) {
                    held.add(read_held(table, life, stream.queue));
                }
                return Visit{result, held.count < limit};
            },
            [&held] { return held.count > 0; });
    });
    return with_timeouts(tables, held.span());
}

std::span<const HeldTask> hold_eligible(Tables& tables, std::span<const pg_uuid_t> ids, int64 now) {
    pass_task_faults();
    pg::List<HeldRow> held;
    writing(tables, TableId::kTasks, [&](Table& table) {
        for (const pg_uuid_t& id : ids) {
            while (find_task(&table, id)) {
                const core::TaskLife life = life_of(table);
                if (!core::is_claimable(life, now)) {
                    break;
                }
                const TM_Result result = lock_row(table, LockTupleNoKeyExclusive, LockWaitSkip);
                if (result == TM_Ok) {
                    const auto before = held.count == 0
                                            ? std::nullopt
                                            : std::optional(held.items[held.count - 1].task.queue);
                    held.add(read_held(table, life, queue_of_row(table, before)));
                }
                if (result != TM_Updated) {
                    break;
                }
                renew_snapshot(&table);  // another version may be eligible, too
            }
            CHECK_FOR_INTERRUPTS();
        }
    });
    return with_timeouts(tables, held.span());
}

// ---------------------------------------------------------------- writing

std::span<const ClaimedTask> acquire(Tables& tables, std::span<const LeaseGrant> grants,
                                     const Claimer& claimer) {
    // After a crash no other lease may be given under these epochs.
    pg::flush_at_commit();
    pass_task_faults();
    auto* claimed = static_cast<ClaimedTask*>(palloc(sizeof(ClaimedTask) * (grants.size() + 1)));
    const StoredClaimer by = stored(claimer);
    writing(tables, TableId::kTasks, [&](Table& table) {
        for (std::size_t i = 0; i < grants.size(); ++i) {
            claimed[i] = lease_held(&table, grants[i], by);
        }
    });
    ClaimNotes notes;
    for (std::size_t i = 0; i < grants.size(); ++i) {
        notes.add(tables, grants[i], claimed[i]);
    }
    notes.end(tables);
    return {claimed, grants.size()};
}

std::span<const AcquiredTask> acquire_heads(Tables& tables, const TaskStream& stream, int64 now,
                                            int limit, const Claimer& claimer, const Lessor& lessor,
                                            bool* lost) {
    const std::optional<int64> timeout = QueueTimeouts{tables}.find(stream.queue);
    pass_task_faults();
    const StoredClaimer by = stored(claimer);
    // Large elements: a list that grows would copy them again and again.
    const int room = std::clamp(limit, 1, 128);
    pg::List<AcquiredTask> acquired{
        static_cast<AcquiredTask*>(palloc(sizeof(AcquiredTask) * static_cast<Size>(room))), 0,
        room};
    with_table(tables, TableId::kTasks, RowExclusiveLock, [&](Table& table) {
        walk_heads(
            &table, stream, now, lost,
            [&](const core::TaskLife& life) {
                HeldRow row = read_held(table, life, stream.queue);
                if (!row.own_timeout) {
                    row.task.attempt_timeout = timeout;
                }
                const auto grant = lessor.grant(lessor.claim, row.task);
                if (!grant) {
                    return Visit{TM_Ok, true};
                }
                const Lease lease = lease_row(
                    *grant, by, [&table](const auto& before, const auto& after, Changes* changes) {
                        return try_write_life(&table, before, after, changes);
                    });
                if (lease.result == TM_Ok) {
                    acquired.add({lease.claimed, *grant});
                }
                return Visit{lease.result, acquired.count < limit};
            },
            [&acquired] { return acquired.count > 0; });
    });
    if (acquired.count > 0) {
        pg::flush_at_commit();
    }
    ClaimNotes notes;
    for (const AcquiredTask& task : acquired) {
        notes.add(tables, task.grant, task.claimed);
    }
    notes.end(tables);
    return acquired.span();
}

int64 promote_due(Tables& tables, int64 now, int limit) {
    pass_task_faults();
    struct Promoted {
        core::TaskLife life;
        TaskStream stream;
        pg_uuid_t id;
    };
    pg::List<Promoted> promoted;
    with_table(tables, TableId::kTasks, RowExclusiveLock, [&](Table& table) {
        int64 behind = core::kNever;
        (void)walk_all(
            &table, DelayedStream{table.hub, now, &behind}, core::kQueueStart, [] {},
            [&] {
                const core::TaskLife life = life_of(table);
                if (lock_row(table, LockTupleNoKeyExclusive, LockWaitSkip) == TM_Ok) {
                    const core::TaskLife after = core::promoted(life, now);
                    promoted.add({after,
                                  {get(table, task::kQueue), get(table, task::kSlot),
                                   get(table, task::kCapSet)},
                                  get(table, task::kId)});
                    Changes none;
                    (void)write_life(&table, life, after, &none);
                }
                return promoted.count < limit;
            });
    });
    for (const Promoted& task : promoted) {
        publish_place(tables, task.life, task.stream, task.id);
        wake_claimers(tables, task.stream.queue, task.life);
        publish_held(tables, task.stream.queue);
        wake_task_waiters(tables, task.id);
    }
    return promoted.count;
}

int64 next_delayed(Tables& tables) {
    pass_task_faults();
    std::optional<int64> first;
    with_table(tables, TableId::kTasks, RowExclusiveLock, [&](Table& table) {
        (void)walk_all(
            &table, DelayedStream{table.hub}, core::kQueueStart, [&] { first = std::nullopt; },
            [&] {
                first = get(table, task::kAvailableAt);
                return false;
            });
    });
    return first.value_or(core::kNever);
}

int64 repair_task_gaps(Tables& tables, int64 age_ms) {
    constexpr int kMost = 1024;
    auto* keys = static_cast<gaps::Key*>(palloc(sizeof(gaps::Key) * kMost));
    const int count = gaps::to_check(tables.hub.relations.tasks, age_ms, keys, kMost);
    if (count == 0) {
        return 0;
    }
    pass_task_faults();
    return writing(tables, TableId::kTasks, [&](Table& table) {
        int64 repaired = 0;
        for (int i = 0; i < count; ++i) {
            const gaps::Key& key = keys[i];
            const TaskStream stream{{key.queue, key.queue_size}, key.slot, key.set};
            repaired += key.stream == kReadyStream
                            ? repair_gaps(&table, ReadyStream{table.hub, stream})
                            : repair_gaps(&table, DelayedStream{table.hub});
        }
        return repaired;
    });
}

}  // namespace belay::store
