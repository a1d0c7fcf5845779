#include "store/fast/tasks.hpp"

#include <algorithm>
#include <charconv>

#include "core/time.hpp"
#include "pg/datum.hpp"
#include "pg/jsonb.hpp"
#include "pg/list.hpp"
#include "store/fast/columns.hpp"
#include "store/fast/live_walk.hpp"

namespace belay::store::direct {

namespace {

constexpr pg::FaultPoint kPoint = pg::FaultPoint::kFastpathTask;

// Changes a task that this transaction holds. change(table, changes) may refuse: then SQL serves.
template <typename Change>
bool change_task(const Hub& hub, const pg_uuid_t& id, bool moved, Change change) {
    return writing(hub, kPoint, DirectId::kTasks,
                   [&](DirectTable& table) {
                       ScanKeys keys;
                       Changes changes;
                       if (!find_one(&table, 0, keys.uuid(id)) || !change(table, &changes)) {
                           return false;
                       }
                       change_held_row(&table, changed_row(table, &changes), moved);
                       return true;
                   })
        .value_or(false);
}

bool is_null(const DirectTable& table, AttrNumber number) {
    bool null = false;
    (void)column(table, number, &null);
    return null;
}

void set_text(Changes* changes, AttrNumber number, std::optional<std::string_view> text) {
    changes->set(number, text ? pg::text_datum(*text) : 0, !text);
}

void set_jsonb(Changes* changes, AttrNumber number, Jsonb* value) {
    changes->set(number, value != nullptr ? JsonbPGetDatum(value) : 0, value == nullptr);
}

// ---------------------------------------------------------------- streams

constexpr int kClaimIndex = 1;
constexpr int kDueIndex = 2;
constexpr uint8 kReadyStream = 0;
constexpr uint8 kDelayedStream = 1;

uint64 half_of(const pg_uuid_t& id, int half) {
    uint64 bytes;
    memcpy(&bytes, id.data + 8 * half, sizeof bytes);
    return pg_ntoh64(bytes);
}

// The id of which these are the halves, in the current memory context.
pg_uuid_t* id_of(uint64 high, uint64 low) {
    auto* id = static_cast<pg_uuid_t*>(palloc(sizeof(pg_uuid_t)));
    const uint64 halves[] = {pg_hton64(high), pg_hton64(low)};
    memcpy(id->data, halves, sizeof halves);
    return id;
}

// ROW(available_at_ms, id) >= the place, behind keys.
IndexScanDesc scan_from(DirectTable* table, int index, const ScanKeys& keys, uint64 available_at,
                        uint64 high, uint64 low) {
    return begin_place_scan(table, index, keys, INT8OID, F_BTINT8CMP,
                            Int64GetDatum(core::unordered(available_at)), UUIDOID, F_UUID_CMP,
                            UUIDPGetDatum(id_of(high, low)));
}

// Ready tasks of a lane, slot and set of capabilities, the highest priority first.
struct ReadyStream {
    const Hub& hub;
    TaskStream stream;

    pg::GapKey key() const { return ready_gaps(hub, stream); }
    ScanKeys prefix() const {
        ScanKeys keys;
        return keys.text(stream.lane).int2(stream.slot).int4(stream.cap_set);
    }
    IndexScanDesc open(DirectTable* table, const core::QueuePlace& from) const {
        if (from == core::kQueueStart) {
            return begin_place_scan(table, kClaimIndex, prefix());
        }
        return scan_from(table, kClaimIndex, prefix().int4(priority_of(from)), from.parts[1],
                         from.parts[2], from.parts[3]);
    }
    // A place names one priority: the lower ones are another scan.
    IndexScanDesc open_rest(DirectTable* table, const core::QueuePlace& from) const {
        if (from == core::kQueueStart) {
            return nullptr;
        }
        return begin_place_scan(
            table, kClaimIndex,
            prefix().add(BTLessStrategyNumber, F_INT4LT, Int32GetDatum(priority_of(from))));
    }
    core::QueuePlace place(IndexScanDesc scan) const {
        return ready_place({DatumGetInt32(key_column(scan, 4)), DatumGetInt64(key_column(scan, 5)),
                            *DatumGetUUIDP(key_column(scan, 6))});
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

    pg::GapKey key() const { return delayed_gaps(hub); }
    IndexScanDesc open(DirectTable* table, const core::QueuePlace& from) const {
        return scan_from(table, kDueIndex, {}, from.parts[0], from.parts[1], from.parts[2]);
    }
    IndexScanDesc open_rest(DirectTable*, const core::QueuePlace&) const { return nullptr; }
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

TaskPlace place_of_row(const DirectTable& table) {
    bool null = false;
    return {DatumGetInt32(column(table, task::kPriority, &null)),
            int8_column(table, task::kAvailableAt),
            *DatumGetUUIDP(column(table, task::kId, &null))};
}

bool is_past_deadline(const DirectTable& table, int64 now) {
    return !is_null(table, task::kDeadline) && int8_column(table, task::kDeadline) <= now;
}

// Adds up to limit tasks of the stream behind a place to found, as make() says.
template <typename T, typename Make>
void peek_stream(DirectTable* table, const ReadyStream& stream, const core::QueuePlace& after,
                 int64 now, int limit, pg::List<T>* found, Make make) {
    const int before = found->count;
    WalkEnd end = WalkEnd::kMissed;
    while (end == WalkEnd::kMissed) {
        found->count = before;
        end = walk_live(
            table, stream, after, [table] { renew_snapshot(table); },
            [&] {
                if (!is_past_deadline(*table, now)) {
                    found->add(make(place_of_row(*table)));
                }
                return found->count - before < limit;
            });
    }
}

std::optional<int64> optional_int8(const DirectTable& table, AttrNumber number) {
    bool null = false;
    const Datum value = column(table, number, &null);
    return null ? std::nullopt : std::optional(DatumGetInt64(value));
}

int32 int4_column(const DirectTable& table, AttrNumber number) {
    bool null = false;
    return DatumGetInt32(column(table, number, &null));
}

template <typename Parse>
auto word_column(const DirectTable& table, AttrNumber number, Parse parse) {
    const std::string_view word = *text_column(table, number);
    const auto parsed = parse(word);
    if (!parsed) {
        Rows::raise_unknown_word(word);
    }
    return *parsed;
}

// table.row, of a task in no flow.
Task read_lone_task(const DirectTable& table) {
    bool null = false;
    Task read{};
    read.id = *DatumGetUUIDP(column(table, task::kId, &null));
    read.lane = *text_column(table, task::kLane);
    read.kind = *text_column(table, task::kKind);
    read.dedup_key = text_column(table, task::kDedupKey);
    read.state = word_column(table, task::kState, core::parse_task_state);
    read.pending = word_column(table, task::kPending, core::parse_pending);
    read.priority = int4_column(table, task::kPriority);
    read.attempt_index = int4_column(table, task::kAttemptIndex);
    read.attempt_leases = int4_column(table, task::kAttemptLeases);
    read.retry_count = int4_column(table, task::kRetryCount);
    read.reclaim_count = int4_column(table, task::kReclaimCount);
    read.replay_count = int4_column(table, task::kReplayCount);
    read.lease_epoch = int8_column(table, task::kLeaseEpoch);
    read.lease_until = optional_int8(table, task::kLeaseUntil);
    read.lease_check = optional_int8(table, task::kLeaseCheck);
    const Datum nonce = column(table, task::kLeaseNonce, &null);
    read.lease_nonce = null ? std::nullopt : std::optional(*DatumGetUUIDP(nonce));
    read.available_at = optional_int8(table, task::kAvailableAt);
    read.deadline = optional_int8(table, task::kDeadline);
    read.attempt_started = optional_int8(table, task::kAttemptStarted);
    read.attempt_deadline = optional_int8(table, task::kAttemptDeadline);
    read.lease_owner = text_column(table, task::kLeaseOwner);
    read.lease_worker = text_column(table, task::kLeaseWorker);
    read.attempt_kind = text_column(table, task::kAttemptKind);
    read.attempt_worker = text_column(table, task::kAttemptWorker);
    read.attempt_instance = text_column(table, task::kAttemptInstance);
    read.cancel_reason = text_column(table, task::kCancelReason);
    read.cancelled_by = text_column(table, task::kCancelledBy);
    const Datum policy = column(table, task::kPolicy, &null);
    read.policy = null ? nullptr : DatumGetJsonbPCopy(policy);
    read.held = DatumGetBool(column(table, task::kHeld, &null));
    return read;
}

void set_failure(Changes* changes, const Failure& failure) {
    set_text(changes, task::kFailureClass, core::name_of(failure.failure_class));
    set_text(changes, task::kFailureMessage, failure.message);
    set_jsonb(changes, task::kFailureDetails, failure.details);
}

JsonbValue json_text(std::string_view text) {
    JsonbValue value{};
    value.type = jbvString;
    value.val.string.val = const_cast<char*>(text.data());
    value.val.string.len = static_cast<int>(text.size());
    return value;
}

// {"class", "message", "details"}, as jsonb_build_object makes it.
Jsonb* error_of(std::string_view failure_class, std::optional<std::string_view> message,
                Jsonb* of_details) {
    JsonbParseState* state = nullptr;
    (void)pushJsonbValue(&state, WJB_BEGIN_OBJECT, nullptr);
    const auto add = [&state](std::string_view name, JsonbValue value) {
        JsonbValue key = json_text(name);
        (void)pushJsonbValue(&state, WJB_KEY, &key);
        (void)pushJsonbValue(&state, WJB_VALUE, &value);
    };
    JsonbValue null{};
    null.type = jbvNull;
    JsonbValue details = null;
    if (of_details != nullptr) {
        details.type = jbvBinary;
        details.val.binary.data = &of_details->root;
        details.val.binary.len = static_cast<int>(VARSIZE(of_details) - VARHDRSZ);
    }
    add("class", json_text(failure_class));
    add("message", message ? json_text(*message) : null);
    add("details", details);
    return JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, nullptr));
}

Jsonb* error_of(const Failure& failure) {
    return error_of(core::name_of(failure.failure_class), failure.message, failure.details);
}

// ---------------------------------------------------------------- leases

// A column of the answer of a claim: the task's, or one that is made up.
struct ClaimColumn {
    Oid type;
    AttrNumber of_task;  // 0: made up
};
constexpr ClaimColumn kClaimColumns[] = {
    {UUIDOID, task::kId},
    {TEXTOID, task::kLane},
    {TEXTOID, task::kKind},
    {JSONBOID, task::kPayload},
    {JSONBOID, task::kTags},
    {INT4OID, task::kPriority},
    {INT4OID, task::kAttemptIndex},
    {TEXTOID, task::kPending},
    {INT4OID, task::kRetryCount},
    {INT4OID, task::kReclaimCount},
    {INT4OID, task::kReplayCount},
    {INT8OID, task::kLeaseEpoch},
    {TEXTOID, 0},
    {INT8OID, task::kLeaseUntil},
    {INT8OID, task::kAttemptDeadline},
    {INT8OID, task::kDeadline},
    {JSONBOID, task::kCheckpoint},
    {JSONBOID, 0},
    {UUIDOID, task::kFlowId},
    {TEXTOID, task::kFlowKey},
    {JSONBOID, 0},
    {JSONBOID, 0},
    {INT8OID, task::kAvailableAt},
};
constexpr int kClaimKey = 12;  // secret_lease_id
constexpr int kLastError = 17;

// Made once for the session.
TupleDesc claim_row() {
    static constinit TupleDesc row = nullptr;
    if (row == nullptr) {
        MemoryContext old = MemoryContextSwitchTo(CacheMemoryContext);
        TupleDesc made = CreateTemplateTupleDesc(std::size(kClaimColumns));
        for (std::size_t i = 0; i < std::size(kClaimColumns); ++i) {
            TupleDescInitEntry(made, static_cast<AttrNumber>(i + 1), "column",
                               kClaimColumns[i].type, -1, 0);
        }
        row = made;
        MemoryContextSwitchTo(old);
    }
    return row;
}

// What a claim tells of a version of a task's row.
HeapTuple claimed_row(const DirectTable& table, HeapTuple version) {
    NewRow of;
    heap_deform_tuple(version, RelationGetDescr(table.heap), of.values, of.nulls);
    const auto value = [&of](AttrNumber number) { return of.values[number - 1]; };
    Datum values[std::size(kClaimColumns)];
    bool nulls[std::size(kClaimColumns)];
    for (std::size_t i = 0; i < std::size(kClaimColumns); ++i) {
        const AttrNumber number = kClaimColumns[i].of_task;
        nulls[i] = number == 0 || of.nulls[number - 1];
        values[i] = nulls[i] ? 0 : value(number);
    }
    values[kClaimKey] = CStringGetTextDatum(
        secret_lease_id(table.hub, {.task = *DatumGetUUIDP(value(task::kId)),
                                    .attempt_index = DatumGetInt32(value(task::kAttemptIndex)),
                                    .epoch = DatumGetInt64(value(task::kLeaseEpoch)),
                                    .nonce = *DatumGetUUIDP(value(task::kLeaseNonce))}));
    nulls[kClaimKey] = false;
    if (!of.nulls[task::kFailureClass - 1]) {
        values[kLastError] = JsonbPGetDatum(error_of(
            pg::text_view(value(task::kFailureClass)),
            of.nulls[task::kFailureMessage - 1]
                ? std::nullopt
                : std::optional(pg::text_view(value(task::kFailureMessage))),
            of.nulls[task::kFailureDetails - 1] ? nullptr
                                                : DatumGetJsonbP(value(task::kFailureDetails))));
        nulls[kLastError] = false;
    }
    return heap_form_tuple(claim_row(), values, nulls);
}

// The row with a lease on it.
void set_lease(const DirectTable& table, const LeaseGrant& grant, Datum worker,
               Datum worker_instance, int64 now, Changes* changes) {
    const auto pending = word_column(table, task::kPending, core::parse_pending);
    const bool begins = pending == core::Pending::kInitial || pending == core::Pending::kRetry ||
                        pending == core::Pending::kReplay;
    changes->set(task::kState, pg::text_datum(core::name_of(core::TaskState::kActive)))
        .set(task::kLeaseEpoch, Int64GetDatum(grant.epoch))
        .set(task::kLeaseNonce, UUIDPGetDatum(&grant.nonce))
        .set(task::kLeaseOwner, worker_instance)
        .set(task::kLeaseWorker, worker)
        .set(task::kLeaseUntil, Int64GetDatum(grant.lease_until))
        .set(task::kLeaseCheck, Int64GetDatum(grant.lease_until))
        .set(task::kAttemptLeases, Int32GetDatum(int4_column(table, task::kAttemptLeases) + 1))
        .set(task::kAttemptDeadline, Int64GetDatum(grant.attempt_deadline.value_or(0)),
             grant.attempt_deadline.value_or(core::kNever) == core::kNever)
        .set(task::kAttemptWorker, worker)
        .set(task::kAttemptInstance, worker_instance)
        .set(task::kStartedAt, Int64GetDatum(optional_int8(table, task::kStartedAt).value_or(now)))
        .set(task::kUpdatedAt, Int64GetDatum(now));
    if (begins) {
        changes
            ->set(task::kAttemptIndex, Int32GetDatum(int4_column(table, task::kAttemptIndex) + 1))
            .set(task::kAttemptKind, pg::text_datum(core::name_of(pending)))
            .set(task::kAttemptStarted, Int64GetDatum(now));
    }
}

}  // namespace

Answer<Rows> acquire(const Hub& hub, std::span<const LeaseGrant> grants, std::string_view worker,
                     std::string_view worker_instance, int64 now) {
    return writing(hub, kPoint, DirectId::kTasks, [&](DirectTable& table) {
        auto* claimed = static_cast<SPITupleTable*>(palloc0(sizeof(SPITupleTable)));
        claimed->tupdesc = claim_row();
        claimed->vals = static_cast<HeapTuple*>(palloc(sizeof(HeapTuple) * grants.size()));
        const Datum by = pg::text_datum(worker);
        const Datum by_instance = pg::text_datum(worker_instance);
        uint64 count = 0;
        for (const LeaseGrant& grant : grants) {
            ScanKeys keys;
            if (!find_one(&table, 0, keys.uuid(grant.id))) {
                continue;
            }
            Changes changes;
            set_lease(table, grant, by, by_instance, now, &changes);
            HeapTuple version = changed_row(table, &changes);
            change_held_row(&table, version, true);
            claimed->vals[count++] = claimed_row(table, version);
        }
        return Rows{claimed, count};
    });
}

Answer<bool> has_lane(const Hub& hub, std::string_view name) {
    return looking(hub, kPoint, DirectId::kLanes, [name](DirectTable& table) {
        ScanKeys keys;
        return find_one(&table, 0, keys.text(name));
    });
}

Answer<std::optional<Task>> try_lock_lone(const Hub& hub, const pg_uuid_t& id) {
    return writing(hub, kPoint, DirectId::kTasks, [&](DirectTable& table) {
        const bool held = lock_found(&table, LockTupleNoKeyExclusive, LockWaitSkip, [&] {
            ScanKeys keys;
            return find_one(&table, 0, keys.uuid(id)) && is_null(table, task::kFlowId);
        });
        return held ? std::optional(read_lone_task(table)) : std::nullopt;
    });
}

bool try_insert_task(const Hub& hub, const NewTask& task, int16 slot, core::TaskState state) {
    return writing(hub, kPoint, DirectId::kTasks,
                   [&](DirectTable& table) {
                       NewRow row;
                       row.set(task::kId, UUIDPGetDatum(&task.id))
                           .int8(task::kLeaseEpoch, 0)
                           .int8(task::kAvailableAt, task.available_at)
                           .int8(task::kStartDelay, 0)
                           .int8(task::kDeadline, task.deadline)
                           .int8(task::kCreatedAt, task.now)
                           .int8(task::kUpdatedAt, task.now)
                           .int4(task::kCapSet, task.cap_set)
                           .int4(task::kPriority, task.priority)
                           .int4(task::kAttemptIndex, 0)
                           .int4(task::kAttemptLeases, 0)
                           .int4(task::kRetryCount, 0)
                           .int4(task::kReclaimCount, 0)
                           .int4(task::kReplayCount, 0)
                           .int2(task::kSlot, slot)
                           .set(task::kHeld, BoolGetDatum(false))
                           .text(task::kState, core::name_of(state))
                           .text(task::kPending, std::string_view("initial"))
                           .text(task::kLane, task.lane)
                           .text(task::kKind, task.kind)
                           .text(task::kDedupKey, task.dedup_key)
                           .jsonb(task::kPayload, task.payload)
                           .jsonb(task::kTags, task.tags)
                           .jsonb(task::kPolicy, task.policy);
                       (void)insert_row(&table, &row);
                       return true;
                   })
        .value_or(false);
}

bool try_set_lease_until(const Hub& hub, const pg_uuid_t& id, int64 lease_until) {
    return change_task(hub, id, false, [lease_until](const DirectTable& table, Changes* changes) {
        changes->set(task::kLeaseUntil, Int64GetDatum(lease_until));
        return !is_null(table, task::kLeaseUntil);
    });
}

bool try_finish(const Hub& hub, const Task& task, const Finish& how) {
    return change_task(hub, task.id, true, [&how](const DirectTable& table, Changes* changes) {
        if (!is_null(table, task::kTerminalAt) || !is_null(table, task::kFlowId)) {
            return false;
        }
        changes->set(task::kState, pg::text_datum(core::name_of(how.state)))
            .clear(task::kAvailableAt)
            .set(task::kUpdatedAt, Int64GetDatum(how.now))
            .set(task::kTerminalAt, Int64GetDatum(how.now))
            .clear(task::kLeaseOwner)
            .clear(task::kLeaseWorker)
            .clear(task::kLeaseUntil)
            .clear(task::kLeaseCheck)
            .clear(task::kAttemptStarted)
            .clear(task::kAttemptDeadline)
            .clear(task::kAttemptKind)
            .clear(task::kAttemptWorker)
            .clear(task::kAttemptInstance)
            .set(task::kAttemptLeases, Int32GetDatum(0));
        set_jsonb(changes, task::kResult, how.result);
        if (text_is(table, task::kState, core::name_of(core::TaskState::kActive))) {
            changes->set(task::kLeaseEpoch,
                         Int64GetDatum(int8_column(table, task::kLeaseEpoch) + 1));
        }
        if (how.failure) {
            set_failure(changes, *how.failure);
        }
        if (is_null(table, task::kCancelReason)) {
            set_text(changes, task::kCancelReason, how.cancel_reason);
        }
        if (is_null(table, task::kCancelledBy)) {
            set_text(changes, task::kCancelledBy, how.cancelled_by);
        }
        return true;
    });
}

bool try_end_attempt(const Hub& hub, const Task& task, core::AttemptOutcome outcome, int64 now,
                     const std::optional<Failure>& failure) {
    if (!task.attempt_kind || !task.attempt_worker || !task.attempt_instance) {
        return false;
    }
    return writing(hub, kPoint, DirectId::kAttempts,
                   [&](DirectTable& table) {
                       NewRow row;
                       row.set(attempt::kTaskId, UUIDPGetDatum(&task.id))
                           .int4(attempt::kIndex, task.attempt_index)
                           .int4(attempt::kLeaseCount, task.attempt_leases)
                           .int8(attempt::kEpoch, task.last_lease_epoch())
                           .int8(attempt::kStarted, *task.attempt_started)
                           .int8(attempt::kEnded, now)
                           .text(attempt::kKind, task.attempt_kind)
                           .text(attempt::kOutcome, core::name_of(outcome))
                           .text(attempt::kWorker, task.attempt_worker)
                           .text(attempt::kWorkerInstance, task.attempt_instance)
                           .jsonb(attempt::kError, failure ? error_of(*failure) : nullptr);
                       (void)insert_row(&table, &row);
                       return true;
                   })
        .value_or(false);
}

// ---------------------------------------------------------------- finding tasks

pg::GapKey ready_gaps(const Hub& hub, const TaskStream& stream) {
    return pg::gap_key(hub.relations.tasks, kReadyStream, stream.slot, stream.lane, stream.cap_set);
}

pg::GapKey delayed_gaps(const Hub& hub) {
    return pg::gap_key(hub.relations.tasks, kDelayedStream, 0);
}

core::QueuePlace ready_place(const TaskPlace& place) {
    return {{core::ordered(-int64{place.priority}), core::ordered(place.available_at),
             half_of(place.id, 0), half_of(place.id, 1)}};
}

core::QueuePlace delayed_place(const TaskPlace& place) {
    return {{core::ordered(place.available_at), half_of(place.id, 0), half_of(place.id, 1), 0}};
}

namespace {

// The timeout of attempts in a policy.
struct Timeout {
    enum class Kind { kAbsent, kGiven, kUnreadable };  // unreadable: for SQL to complain of
    Kind kind;
    std::optional<int64> ms;  // given, and not null
};

Timeout timeout_in(const DirectTable& table, AttrNumber number) {
    bool null = false;
    const Datum value = column(table, number, &null);
    if (null) {
        return {Timeout::Kind::kAbsent, std::nullopt};
    }
    Jsonb* policy = DatumGetJsonbP(value);
    if (!JB_ROOT_IS_OBJECT(policy)) {
        return {Timeout::Kind::kUnreadable, std::nullopt};
    }
    JsonbValue object{};
    object.type = jbvBinary;
    object.val.binary.data = &policy->root;
    object.val.binary.len = static_cast<int>(VARSIZE(policy) - VARHDRSZ);
    const auto found = pg::any_member(object, "attempt_timeout_ms");
    if (!found) {
        return {Timeout::Kind::kAbsent, std::nullopt};
    }
    if (found->type == jbvNull) {
        return {Timeout::Kind::kGiven, std::nullopt};
    }
    int64 ms = 0;
    const std::string_view digits =
        found->type == jbvNumeric ? pg::print_number(*found) : std::string_view();
    const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), ms);
    const bool whole =
        !digits.empty() && fault == std::errc() && end == digits.data() + digits.size();
    return whole ? Timeout{Timeout::Kind::kGiven, ms}
                 : Timeout{Timeout::Kind::kUnreadable, std::nullopt};
}

Timeout timeout_of_lane(const Hub& hub, std::string_view name) {
    return looking(hub, kPoint, DirectId::kLanes,
                   [name](DirectTable& table) {
                       ScanKeys keys;
                       return find_one(&table, 0, keys.text(name))
                                  ? timeout_in(table, lane::kPolicy)
                                  : Timeout{Timeout::Kind::kAbsent, std::nullopt};
                   })
        .value_or(Timeout{Timeout::Kind::kUnreadable, std::nullopt});
}

// A task that was just held, with the timeout of its own policy.
struct HeldRow {
    HeldTask task;
    Timeout::Kind timeout;
};

HeldRow read_held_row(const DirectTable& table, std::string_view lane) {
    bool null = false;
    const Timeout timeout = timeout_in(table, task::kPolicy);
    return {{.id = *DatumGetUUIDP(column(table, task::kId, &null)),
             .pending = word_column(table, task::kPending, core::parse_pending),
             .attempt_deadline = optional_int8(table, task::kAttemptDeadline),
             .deadline = optional_int8(table, task::kDeadline),
             .attempt_timeout = timeout.ms,
             .lane = lane,
             .lease_epoch = int8_column(table, task::kLeaseEpoch)},
            timeout.kind};
}

// Adds the timeout of the lane where a task has none of its own. None: SQL has to read them.
std::span<const HeldTask> with_timeouts(const Hub& hub, std::string_view lane,
                                        std::span<const HeldRow> rows) {
    std::optional<Timeout> of_lane;
    pg::List<HeldTask> tasks;
    for (const HeldRow& row : rows) {
        HeldTask task = row.task;
        Timeout::Kind kind = row.timeout;
        if (kind == Timeout::Kind::kAbsent) {
            of_lane = of_lane ? of_lane : timeout_of_lane(hub, lane);
            task.attempt_timeout = of_lane->ms;
            kind = of_lane->kind;
        }
        if (kind == Timeout::Kind::kUnreadable) {
            return {};
        }
        tasks.add(task);
    }
    return tasks.span();
}

}  // namespace

Answer<HeldHeads> hold_heads(const Hub& hub, const TaskStream& stream, int64 now, int limit) {
    Relation heap = open_for_direct_access(hub, DirectId::kTasks);
    if (heap == nullptr) {
        return std::nullopt;
    }
    pass_faults(kPoint);
    pg::List<HeldRow> held;
    bool lost = false;
    with_direct(hub, DirectId::kTasks, heap, [&](DirectTable& table) {
        bool again = true;
        while (again) {
            bool changed = false;
            const WalkEnd end = walk_live(
                &table, ReadyStream{hub, stream}, core::kQueueStart,
                [&table] { renew_snapshot(&table); },
                [&] {
                    if (is_past_deadline(table, now)) {
                        return true;
                    }
                    const TM_Result result = lock_row(table, LockTupleNoKeyExclusive, LockWaitSkip);
                    if (result == TM_Ok) {
                        held.add(read_held_row(table, stream.lane));
                    }
                    // Another version may be ready, too; SQL would follow it.
                    changed = changed || result == TM_Updated;
                    lost = lost || result != TM_Ok;
                    return held.count < limit;
                });
            again = held.count == 0 && (changed || end == WalkEnd::kMissed);
            CHECK_FOR_INTERRUPTS();
        }
    });
    pg::List<pg_uuid_t> ids;
    for (const HeldRow& row : held) {
        ids.add(row.task.id);
    }
    return HeldHeads{ids.span(), with_timeouts(hub, stream.lane, held.span()), lost};
}

Answer<DueLook> peek_due(const Hub& hub, const std::optional<TaskPlace>& after, int64 now,
                         int limit) {
    Relation heap = open_for_direct_access(hub, DirectId::kTasks);
    if (heap == nullptr) {
        return std::nullopt;
    }
    pass_faults(kPoint);
    pg::List<DueTaskPeek> found;
    int64 behind = core::kNever;
    WalkEnd end = WalkEnd::kMissed;
    with_direct(hub, DirectId::kTasks, heap, [&](DirectTable& table) {
        while (end == WalkEnd::kMissed) {
            found.count = 0;
            behind = core::kNever;
            end = walk_live(
                &table, DelayedStream{hub, now, &behind},
                after ? delayed_place(*after) : core::kQueueStart,
                [&table] { renew_snapshot(&table); },
                [&] {
                    const bool same_lane =
                        found.count > 0 &&
                        text_is(table, task::kLane, found.items[found.count - 1].stream.lane);
                    const std::string_view lane = same_lane
                                                      ? found.items[found.count - 1].stream.lane
                                                      : *text_column(table, task::kLane);
                    bool null = false;
                    found.add({{lane, DatumGetInt16(column(table, task::kSlot, &null)),
                                int4_column(table, task::kCapSet)},
                               place_of_row(table),
                               is_past_deadline(table, now)});
                    return found.count < limit;
                });
        }
    });
    const bool more = end == WalkEnd::kStopped;
    return DueLook{found.span(), more, more ? now : behind};
}

Answer<std::span<const TaskPeek>> peek_heads(const Hub& hub, std::span<const TaskStream> streams,
                                             int64 now, int limit) {
    Relation heap = open_for_direct_access(hub, DirectId::kTasks);
    if (heap == nullptr) {
        return std::nullopt;
    }
    pass_faults(kPoint);
    pg::List<TaskPeek> found;
    with_direct(hub, DirectId::kTasks, heap, [&](DirectTable& table) {
        for (std::size_t i = 0; i < streams.size(); ++i) {
            peek_stream(&table, ReadyStream{hub, streams[i]}, core::kQueueStart, now, limit, &found,
                        [i](const TaskPlace& place) {
                            return TaskPeek{static_cast<int>(i), place};
                        });
        }
    });
    return std::span<const TaskPeek>(found.span());
}

Answer<std::span<const TaskPlace>> peek_behind(const Hub& hub, const TaskStream& stream,
                                               const TaskPlace& after, int64 now, int limit) {
    Relation heap = open_for_direct_access(hub, DirectId::kTasks);
    if (heap == nullptr) {
        return std::nullopt;
    }
    pass_faults(kPoint);
    pg::List<TaskPlace> found;
    with_direct(hub, DirectId::kTasks, heap, [&](DirectTable& table) {
        peek_stream(&table, ReadyStream{hub, stream}, ready_place(after), now, limit, &found,
                    [](const TaskPlace& place) { return place; });
    });
    return std::span<const TaskPlace>(found.span());
}

Answer<std::span<const std::string_view>> ready_lanes(const Hub& hub, std::string_view after,
                                                      std::optional<std::string_view> up_to,
                                                      int limit) {
    return writing(hub, kPoint, DirectId::kTasks, [&](DirectTable& table) {
        pg::List<std::string_view> lanes;
        IndexScanDesc scan =
            pg::begin_index_scan(table.heap, index_at(&table, kClaimIndex), table.snapshot, 1);
        scan->xs_want_itup = true;
        std::string_view last = after;
        const auto lane = [scan] { return pg::text_view(key_column(scan, 1)); };
        skip_scan(
            scan,
            [&] {
                ScanKeys keys;
                keys.add(BTGreaterStrategyNumber, F_TEXT_GT, pg::text_datum(last));
                index_rescan(scan, keys.keys, keys.count, nullptr, 0);
            },
            [&] { return lane() == last; },
            [&] {
                const text* copy = DatumGetTextPCopy(key_column(scan, 1));
                last = {VARDATA_ANY(copy), VARSIZE_ANY_EXHDR(copy)};
                if (!up_to || last <= *up_to) {
                    lanes.add(last);
                }
                return (!up_to || last < *up_to) && lanes.count < limit;
            });
        index_endscan(scan);
        return std::span<const std::string_view>(lanes.span());
    });
}

Answer<std::optional<int64>> first_delayed(const Hub& hub) {
    Relation heap = open_for_direct_access(hub, DirectId::kTasks);
    if (heap == nullptr) {
        return std::nullopt;
    }
    pass_faults(kPoint);
    std::optional<int64> first;
    with_direct(hub, DirectId::kTasks, heap, [&](DirectTable& table) {
        WalkEnd end = WalkEnd::kMissed;
        while (end == WalkEnd::kMissed) {
            end = walk_live(
                &table, DelayedStream{hub}, core::kQueueStart, [&table] { renew_snapshot(&table); },
                [&] {
                    first = int8_column(table, task::kAvailableAt);
                    return false;
                });
        }
    });
    return first;
}

int64 repair_task_gaps(const Hub& hub, int64 age_ms) {
    constexpr int kMost = 1024;
    auto* keys = static_cast<pg::GapKey*>(palloc(sizeof(pg::GapKey) * kMost));
    const int count = pg::gaps_to_check(hub.relations.tasks, age_ms, keys, kMost);
    if (count == 0) {
        return 0;
    }
    return writing(hub, kPoint, DirectId::kTasks,
                   [&](DirectTable& table) {
                       int64 repaired = 0;
                       for (int i = 0; i < count; ++i) {
                           const pg::GapKey& key = keys[i];
                           const TaskStream stream{{key.lane, key.lane_size}, key.slot, key.set};
                           repaired += key.stream == kReadyStream
                                           ? repair_gaps(&table, ReadyStream{hub, stream})
                                           : repair_gaps(&table, DelayedStream{hub});
                       }
                       return repaired;
                   })
        .value_or(0);
}

}  // namespace belay::store::direct
