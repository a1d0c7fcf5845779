#include "store/members.hpp"

#include "pg/counters.hpp"
#include "pg/datum.hpp"
#include "pg/errors.hpp"
#include "store/suspensions.hpp"
#include "store/task_row.hpp"

namespace belay::store {

namespace {

// $1 ids, $2 slots, $3 sets, $4 priorities, $5 available_at, $6 deadlines, $7 states, $8 lanes,
// $9 kinds, $10 payloads, $11 tags, $12 policies, $13 keys, $14 start delays, $15 held, $16 flow,
// $17 now.
constexpr Statement kInsert =
    statement(R"sql(
    INSERT INTO {hub}.tasks
           (id, slot, cap_set, priority, available_at_ms, deadline_ms, created_at_ms, updated_at_ms,
            state, lane, kind, payload, tags, policy, flow_id, flow_key, start_delay_ms, held,
            lease_epoch, attempt_index, attempt_leases, retry_count, reclaim_count, replay_count,
            pending_attempt)
    SELECT n.id, n.slot, n.cap_set, n.priority, n.available_at, n.deadline, $17, $17, n.state,
           n.lane, n.kind, n.payload, n.tags, n.policy, $16, n.key, n.start_delay, n.held,
           0, 0, 0, 0, 0, 0, 'initial'
      FROM ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2), pg_catalog.unnest($3),
                      pg_catalog.unnest($4), pg_catalog.unnest($5), pg_catalog.unnest($6),
                      pg_catalog.unnest($7), pg_catalog.unnest($8), pg_catalog.unnest($9),
                      pg_catalog.unnest($10), pg_catalog.unnest($11), pg_catalog.unnest($12),
                      pg_catalog.unnest($13), pg_catalog.unnest($14), pg_catalog.unnest($15))
           AS n(id, slot, cap_set, priority, available_at, deadline, state, lane, kind, payload,
                tags, policy, key, start_delay, held)
)sql",
              UUIDARRAYOID, INT2ARRAYOID, INT4ARRAYOID, INT4ARRAYOID, INT8ARRAYOID, INT8ARRAYOID,
              TEXTARRAYOID, TEXTARRAYOID, TEXTARRAYOID, JSONBARRAYOID, JSONBARRAYOID, JSONBARRAYOID,
              TEXTARRAYOID, INT8ARRAYOID, BOOLARRAYOID, UUIDOID, INT8OID);

constexpr Statement kJoinFlow = statement(R"sql(
    UPDATE {hub}.tasks AS t SET flow_id = $2, updated_at_ms = $3
     WHERE t.id {=} $1 AND t.flow_id IS NULL
)sql",
                                          UUIDOID, UUIDOID, INT8OID);

constexpr Statement kFindMember = statement(R"sql(
    SELECT t.id, t.state, t.flow_id FROM {hub}.tasks AS t WHERE t.id {=} $1
)sql",
                                            UUIDOID);
constexpr Statement kFindByKey = statement(R"sql(
    SELECT t.id, t.state, t.flow_id
      FROM {hub}.tasks AS t
     WHERE t.flow_id {=} $1 AND t.flow_key {=} $2
)sql",
                                           UUIDOID, TEXTOID);
constexpr Statement kKeys = statement(R"sql(
    SELECT t.id, t.flow_key FROM {hub}.tasks AS t WHERE t.flow_id {=} $1 ORDER BY t.id
)sql",
                                      UUIDOID);

constexpr char kOpenOfFlow[] = R"sql(
     WHERE t.flow_id {=} $1 AND t.terminal_at_ms IS NULL
     ORDER BY t.id
       FOR NO KEY UPDATE
)sql";
constexpr Statement kHoldOpen = statement(joined<kTaskColumns, kOpenOfFlow>, UUIDOID);
// A task that is claimed meanwhile is left out.
constexpr char kPendingOfFlow[] = R"sql(
     WHERE t.flow_id {=} $1 AND t.terminal_at_ms IS NULL AND t.state {<>} 'active'
     ORDER BY t.id
       FOR NO KEY UPDATE
)sql";
constexpr Statement kHoldPending = statement(joined<kTaskColumns, kPendingOfFlow>, UUIDOID);
constexpr char kFreeOnes[] = R"sql(
     WHERE t.id {=} ANY ($1) AND t.terminal_at_ms IS NULL
     ORDER BY t.id
       FOR NO KEY UPDATE SKIP LOCKED
)sql";
constexpr Statement kHoldFree = statement(joined<kTaskColumns, kFreeOnes>, UUIDARRAYOID);

constexpr Statement kOpenIds = statement(R"sql(
    SELECT t.id
      FROM {hub}.tasks AS t
     WHERE t.flow_id {=} $1 AND t.terminal_at_ms IS NULL
     ORDER BY t.id
)sql",
                                         UUIDOID);
constexpr Statement kIds = statement(R"sql(
    SELECT t.id FROM {hub}.tasks AS t WHERE t.flow_id {=} $1 ORDER BY t.id LIMIT $2
)sql",
                                     UUIDOID, INT8OID);

// $1 ids, $2 now.
constexpr Statement kCancelAttempts = statement(R"sql(
    INSERT INTO {hub}.attempts
           (task_id, attempt_index, lease_count, epoch, started_ms, ended_ms, kind, outcome, worker,
            worker_instance)
    SELECT t.id, t.attempt_index, t.attempt_leases,
           t.lease_epoch {-} CASE WHEN t.state {=} 'active' THEN 0 ELSE 1 END,
           t.attempt_started_ms, $2, t.attempt_kind, 'cancelled', t.attempt_worker,
           t.attempt_worker_instance
      FROM {hub}.tasks AS t
     WHERE t.id {=} ANY ($1) AND t.attempt_started_ms IS NOT NULL
)sql",
                                                UUIDARRAYOID, INT8OID);

// $1 ids, $2 now, $3 reason, $4 by.
constexpr Statement kCancel = statement(R"sql(
    UPDATE {hub}.tasks AS t
       SET state = 'cancelled',
           available_at_ms = NULL,
           updated_at_ms = $2,
           terminal_at_ms = $2,
           lease_epoch = t.lease_epoch {+} CASE WHEN t.state {=} 'active' THEN 1 ELSE 0 END,
           lease_owner = NULL,
           lease_worker = NULL,
           lease_until_ms = NULL,
           lease_check_ms = NULL,
           cancel_reason = COALESCE(t.cancel_reason, $3),
           cancelled_by = COALESCE(t.cancelled_by, $4),
           attempt_started_ms = NULL,
           attempt_deadline_ms = NULL,
           attempt_kind = NULL,
           attempt_worker = NULL,
           attempt_worker_instance = NULL,
           attempt_leases = 0
     WHERE t.id {=} ANY ($1) AND t.terminal_at_ms IS NULL
    RETURNING t.id
)sql",
                                        UUIDARRAYOID, INT8OID, TEXTOID, TEXTOID);

// $1 ids, $2 now, $3 the longest delay that time can hold.
constexpr Statement kRelease = statement(R"sql(
    UPDATE {hub}.tasks AS t
       SET state = CASE WHEN LEAST(t.start_delay_ms, $3) {>} 0 OR t.available_at_ms {>} $2
                        THEN 'delayed' ELSE 'ready' END,
           available_at_ms = GREATEST($2 {+} LEAST(t.start_delay_ms, $3), t.available_at_ms),
           updated_at_ms = $2
     WHERE t.id {=} ANY ($1) AND t.state {=} 'blocked' AND NOT t.held
    RETURNING t.state, t.lane, t.slot, t.cap_set, t.priority, t.available_at_ms, t.id
)sql",
                                         UUIDARRAYOID, INT8OID, INT8OID);

constexpr char kBlockedOnes[] = R"sql(
     WHERE t.id {=} ANY ($1) AND t.state {=} 'blocked'
     ORDER BY t.id
       FOR NO KEY UPDATE
)sql";
constexpr Statement kHoldBlocked = statement(joined<kTaskColumns, kBlockedOnes>, UUIDARRAYOID);
constexpr Statement kSkip = statement(R"sql(
    UPDATE {hub}.tasks AS t
       SET state = 'skipped', available_at_ms = NULL, updated_at_ms = $2, terminal_at_ms = $2
     WHERE t.id {=} ANY ($1)
    RETURNING t.id
)sql",
                                      UUIDARRAYOID, INT8OID);

constexpr Statement kBlock = statement(R"sql(
    UPDATE {hub}.tasks AS t SET state = 'blocked', updated_at_ms = $2 WHERE t.id {=} $1
)sql",
                                       UUIDOID, INT8OID);

constexpr Statement kEndHold = statement(R"sql(
    UPDATE {hub}.tasks AS t
       SET held = false, updated_at_ms = $2
     WHERE t.flow_id {=} $1 AND t.held
    RETURNING t.id
)sql",
                                         UUIDOID, INT8OID);

constexpr Statement kCountStates = statement(R"sql(
    SELECT t.state, pg_catalog.count(*)
      FROM {hub}.tasks AS t
     WHERE t.flow_id {=} $1
     GROUP BY t.state
     ORDER BY t.state
)sql",
                                             UUIDOID);

// An array with NULLs, filled element by element.
class Column {
 public:
    Column(Oid type, std::size_t size) : type_(type) {
        values_ = static_cast<Datum*>(palloc(sizeof(Datum) * (size + 1)));
        nulls_ = static_cast<bool*>(palloc(sizeof(bool) * (size + 1)));
    }
    void add(Datum value) {
        values_[count_] = value;
        nulls_[count_++] = false;
    }
    void add_null() {
        values_[count_] = 0;
        nulls_[count_++] = true;
    }
    void add(std::optional<int64> value) { value ? add(Int64GetDatum(*value)) : add_null(); }
    void add(Jsonb* value) { value != nullptr ? add(JsonbPGetDatum(value)) : add_null(); }
    void add(std::string_view text) { add(pg::text_datum(text)); }
    Datum array() {
        int16 length = 0;
        bool by_value = false;
        char align = '\0';
        get_typlenbyvalalign(type_, &length, &by_value, &align);
        int lower = 1;
        return PointerGetDatum(construct_md_array(values_, nulls_, 1, &count_, &lower, type_,
                                                  length, by_value, align));
    }

 private:
    Oid type_;
    Datum* values_;
    bool* nulls_;
    int count_ = 0;
};

std::optional<Member> first_member(const Rows& rows) {
    if (rows.count == 0) {
        return std::nullopt;
    }
    const auto state = core::parse_task_state(rows.text(0, 2));
    if (!state) {
        ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED), errmsg("a task has an unknown state")));
    }
    return Member{rows.uuid(0, 1), *state, rows.optional_uuid(0, 3)};
}

// As many rows as there are tasks must change.
void check_count(const Hub& hub, const Rows& rows, std::size_t wanted) {
    if (rows.count != wanted) {
        ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                        errmsg("hub \"%s\" lost tasks that were held", NameStr(hub.name)),
                        errhint("belay.check_hub shows rules and row security on its tables.")));
    }
}

}  // namespace

std::span<const pg_uuid_t> ids_of(std::span<const Task> tasks) {
    auto* ids = static_cast<pg_uuid_t*>(palloc(sizeof(pg_uuid_t) * (tasks.size() + 1)));
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        ids[i] = tasks[i].id;
    }
    return {ids, tasks.size()};
}

void insert_members(const Hub& hub, const pg_uuid_t& flow, std::span<const NewMember> members,
                    int64 now) {
    const std::size_t count = members.size();
    if (count == 0) {
        return;
    }
    Column ids(UUIDOID, count);
    Column slots(INT2OID, count);
    Column sets(INT4OID, count);
    Column priorities(INT4OID, count);
    Column available(INT8OID, count);
    Column deadlines(INT8OID, count);
    Column states(TEXTOID, count);
    Column lanes(TEXTOID, count);
    Column kinds(TEXTOID, count);
    Column payloads(JSONBOID, count);
    Column tags(JSONBOID, count);
    Column policies(JSONBOID, count);
    Column keys(TEXTOID, count);
    Column delays(INT8OID, count);
    Column held(BOOLOID, count);
    for (const NewMember& member : members) {
        ids.add(UUIDPGetDatum(&member.id));
        slots.add(Int16GetDatum(task_slot(hub, member.id)));
        sets.add(Int32GetDatum(member.cap_set));
        priorities.add(Int32GetDatum(member.priority));
        available.add(member.available_at);
        deadlines.add(member.deadline);
        states.add(core::name_of(member.state));
        lanes.add(member.lane);
        kinds.add(member.kind);
        payloads.add(member.payload);
        tags.add(member.tags);
        policies.add(member.policy);
        keys.add(member.key);
        delays.add(Int64GetDatum(member.start_delay));
        held.add(BoolGetDatum(member.held));
    }
    run(hub, kInsert,
        Params()
            .datum(ids.array())
            .datum(slots.array())
            .datum(sets.array())
            .datum(priorities.array())
            .datum(available.array())
            .datum(deadlines.array())
            .datum(states.array())
            .datum(lanes.array())
            .datum(kinds.array())
            .datum(payloads.array())
            .datum(tags.array())
            .datum(policies.array())
            .datum(keys.array())
            .datum(delays.array())
            .datum(held.array())
            .uuid(flow)
            .int8(now));
    for (const NewMember& member : members) {
        if (member.state != core::TaskState::kBlocked) {
            note_place(hub, member.state, {member.lane, task_slot(hub, member.id), member.cap_set},
                       {member.priority, member.available_at.value_or(now), member.id});
            note_claimable(hub, member.lane, member.state == core::TaskState::kReady,
                           member.available_at.value_or(now));
        }
    }
    pg::count(hub.schema, pg::CountedQueue::kTasks, pg::Counter::kEnqueued,
              static_cast<int64>(count));
}

void join_flow(const Hub& hub, const Task& task, const pg_uuid_t& flow, int64 now) {
    run_for_one(hub, kJoinFlow, Params().uuid(task.id).uuid(flow).int8(now));
}

std::optional<Member> find_member(const Hub& hub, const pg_uuid_t& id) {
    return first_member(run(hub, kFindMember, Params().uuid(id)));
}

std::optional<Member> find_member_by_key(const Hub& hub, const pg_uuid_t& flow,
                                         std::string_view key) {
    return first_member(run(hub, kFindByKey, Params().uuid(flow).text(key)));
}

std::span<const MemberKey> member_keys(const Hub& hub, const pg_uuid_t& flow) {
    const Rows rows = run(hub, kKeys, Params().uuid(flow));
    auto* keys = static_cast<MemberKey*>(palloc(sizeof(MemberKey) * (rows.count + 1)));
    for (uint64 i = 0; i < rows.count; ++i) {
        keys[i] = {rows.uuid(i, 1), rows.optional_text(i, 2)};
    }
    return {keys, static_cast<std::size_t>(rows.count)};
}

std::span<const Task> hold_open_members(const Hub& hub, const pg_uuid_t& flow, bool with_active) {
    return read_tasks(run(hub, with_active ? kHoldOpen : kHoldPending, Params().uuid(flow)));
}

std::span<const Task> hold_free(const Hub& hub, std::span<const pg_uuid_t> ids) {
    return read_tasks(run(hub, kHoldFree, Params().datum(uuid_array(ids))));
}

std::span<const pg_uuid_t> open_members(const Hub& hub, const pg_uuid_t& flow) {
    return read_ids(run(hub, kOpenIds, Params().uuid(flow)));
}

std::span<const pg_uuid_t> member_ids(const Hub& hub, const pg_uuid_t& flow, int limit) {
    return read_ids(run(hub, kIds, Params().uuid(flow).int8(limit)));
}

void cancel_members(const Hub& hub, std::span<const Task> tasks, std::string_view reason,
                    std::string_view by, int64 now) {
    if (tasks.empty()) {
        return;
    }
    const auto ids = ids_of(tasks);
    run(hub, kCancelAttempts, Params().datum(uuid_array(ids)).int8(now));
    check_count(hub,
                run(hub, kCancel, Params().datum(uuid_array(ids)).int8(now).text(reason).text(by)),
                tasks.size());
    for (const Task& task : tasks) {
        if (task.state == core::TaskState::kSuspended) {
            close_suspension(hub, task.id, "end", now);
        } else if (task.is_active()) {
            lose(hub, task);
        }
        count_end(hub, task, core::TaskState::kCancelled, now);
        note_state(hub, task, {pg::WakeReason::kCancelled, true});
    }
}

int64 release_blocked(const Hub& hub, std::span<const pg_uuid_t> ids, int64 now) {
    if (ids.empty()) {
        return 0;
    }
    const Rows rows =
        run(hub, kRelease, Params().datum(uuid_array(ids)).int8(now).int8(PG_INT64_MAX - now));
    note_places(hub, rows);
    for (uint64 i = 0; i < rows.count; ++i) {
        note_claimable(hub, rows.text(i, 2), rows.text(i, 1) == "ready", rows.int8(i, 6));
        note_state(hub, rows.uuid(i, 7));
    }
    return static_cast<int64>(rows.count);
}

std::span<const Task> skip_blocked(const Hub& hub, std::span<const pg_uuid_t> ids, int64 now) {
    if (ids.empty()) {
        return {};
    }
    const auto tasks = read_tasks(run(hub, kHoldBlocked, Params().datum(uuid_array(ids))));
    if (!tasks.empty()) {
        check_count(hub, run(hub, kSkip, Params().datum(uuid_array(ids_of(tasks))).int8(now)),
                    tasks.size());
    }
    for (const Task& task : tasks) {
        note_state(hub, task.id);
    }
    return tasks;
}

void block(const Hub& hub, const Task& task, int64 now) {
    run_for_one(hub, kBlock, Params().uuid(task.id).int8(now));
    note_state(hub, task.id);
}

std::span<const pg_uuid_t> end_hold(const Hub& hub, const pg_uuid_t& flow, int64 now) {
    return read_ids(run(hub, kEndHold, Params().uuid(flow).int8(now)));
}

Rows count_states(const Hub& hub, const pg_uuid_t& flow) {
    return run(hub, kCountStates, Params().uuid(flow));
}

}  // namespace belay::store
