#include "store/lanes.hpp"

#include "core/hash.hpp"
#include "pg/locks.hpp"
#include "store/fast/tasks.hpp"
#include "store/plan.hpp"
#include "store/waking.hpp"

namespace belay::store {

namespace {

constexpr Statement kRead = statement(R"sql(
    SELECT l.paused, l.retention_ms, l.policy FROM {hub}.lanes AS l WHERE l.name {=} $1
)sql",
                                      TEXTOID);

constexpr Statement kLock = statement(R"sql(
    SELECT l.paused, l.retention_ms, l.policy
      FROM {hub}.lanes AS l
     WHERE l.name {=} $1
       FOR NO KEY UPDATE
)sql",
                                      TEXTOID);

constexpr Statement kInsert = statement(R"sql(
    INSERT INTO {hub}.lanes (name, paused, created_at_ms) VALUES ($1, false, $2)
        ON CONFLICT (name) DO NOTHING
)sql",
                                        TEXTOID, INT8OID);

constexpr Statement kUpdate = statement(R"sql(
    UPDATE {hub}.lanes AS l SET paused = $2, retention_ms = $3, policy = $4 WHERE l.name {=} $1
)sql",
                                        TEXTOID, BOOLOID, INT8OID, JSONBOID);

// $1 lane, $2 tokens.
constexpr Statement kFindSet = statement(R"sql(
    SELECT s.id
      FROM {hub}.capability_sets AS s
     WHERE s.lane {=} $1
       AND s.digest {=} pg_catalog.sha256(
               pg_catalog.convert_to(pg_catalog.array_to_string($2, ','), 'UTF8'))
)sql",
                                         TEXTOID, TEXTARRAYOID);

constexpr Statement kCountSets = statement(R"sql(
    SELECT pg_catalog.count(*)
      FROM (SELECT 1 FROM {hub}.capability_sets AS s WHERE s.lane {=} $1 LIMIT $2) AS x
)sql",
                                           TEXTOID, INT8OID);

constexpr Statement kInsertSet = statement(R"sql(
    INSERT INTO {hub}.capability_sets (id, lane, digest, tokens)
    VALUES ($1, $2, pg_catalog.sha256(
                pg_catalog.convert_to(pg_catalog.array_to_string($3, ','), 'UTF8')), $3)
        ON CONFLICT (lane, digest) DO NOTHING
)sql",
                                           INT4OID, TEXTOID, TEXTARRAYOID);

// $1 lane, $2 key, $3 task, $4 window.
constexpr Statement kInsertKey = statement(R"sql(
    INSERT INTO {hub}.dedup_keys (lane, key, task_id, window_until_ms) VALUES ($1, $2, $3, $4)
        ON CONFLICT (lane, key) DO NOTHING
)sql",
                                           TEXTOID, TEXTOID, UUIDOID, INT8OID);

constexpr Statement kLockKey = statement(R"sql(
    SELECT k.task_id, k.window_until_ms
      FROM {hub}.dedup_keys AS k
     WHERE k.lane {=} $1 AND k.key {=} $2
       FOR UPDATE
)sql",
                                         TEXTOID, TEXTOID);

constexpr Statement kTakeOverKey = statement(R"sql(
    UPDATE {hub}.dedup_keys AS k
       SET task_id = $3, window_until_ms = $4
     WHERE k.lane {=} $1 AND k.key {=} $2
)sql",
                                             TEXTOID, TEXTOID, UUIDOID, INT8OID);

// Whoever holds the key is taking it over.
constexpr Statement kDeleteKey = statement(R"sql(
    DELETE FROM {hub}.dedup_keys AS k
     WHERE k.ctid {=} (
        SELECT c.ctid
          FROM {hub}.dedup_keys AS c
         WHERE c.lane {=} $1 AND c.key {=} $2 AND c.task_id {=} $3
           FOR UPDATE SKIP LOCKED)
)sql",
                                           TEXTOID, TEXTOID, UUIDOID);

std::optional<Lane> read_row(const Rows& rows) {
    if (rows.count == 0) {
        return std::nullopt;
    }
    return Lane{.paused = rows.boolean(0, 1),
                .retention_ms = rows.optional_int8(0, 2),
                .policy = rows.optional_jsonb(0, 3)};
}

}  // namespace

std::optional<Lane> read_lane(const Hub& hub, std::string_view name) {
    return read_row(run(hub, kRead, Params().text(name)));
}

void register_lane(const Hub& hub, std::string_view name, int64 now) {
    const auto known = direct::has_lane(hub, name);
    if (known ? *known : run(hub, kRead, Params().text(name)).count > 0) {
        return;
    }
    // Two inserts of one name would wait for each other's transaction. Whoever comes second leaves
    // it to the first; should that be rolled back, the next task of the lane registers it.
    if (pg::try_lock_key(pg::LockSpace::kLane, hub.schema, core::fnv1a64(name))) {
        run(hub, kInsert, Params().text(name).int8(now));
    }
}

Lane lock_lane(const Hub& hub, std::string_view name, int64 now) {
    pg::lock_key(pg::LockSpace::kLane, hub.schema, core::fnv1a64(name));
    auto lane = read_row(run(hub, kLock, Params().text(name)));
    if (!lane) {
        run(hub, kInsert, Params().text(name).int8(now));
        lane = read_row(run(hub, kLock, Params().text(name)));
    }
    if (!lane) {
        elog(ERROR, "a lane could not be registered");
    }
    return *lane;
}

void update_lane(const Hub& hub, std::string_view name, const Lane& lane) {
    run_for_one(hub, kUpdate,
                Params()
                    .text(name)
                    .boolean(lane.paused)
                    .optional_int8(lane.retention_ms)
                    .jsonb(lane.policy));
    if (!lane.paused) {
        pg::note_changed(lane_channel(hub, name), pg::WakeReason::kWork);
        pg::note_changed(all_lanes_channel(hub), pg::WakeReason::kWork);
    }
}

std::optional<int32> capability_set(const Hub& hub, std::string_view lane,
                                    std::span<const std::string_view> tokens) {
    if (tokens.empty()) {
        return 0;
    }
    const Datum array = text_array(tokens);
    const auto find = [&hub, lane, array]() -> std::optional<int32> {
        const Rows rows = run(hub, kFindSet, Params().text(lane).datum(array));
        return rows.count == 0 ? std::nullopt : std::optional(rows.int4(0, 1));
    };
    if (const auto known = find()) {
        return known;
    }
    if (run(hub, kCountSets, Params().text(lane).int8(kMaxSets)).int8(0, 1) >= kMaxSets) {
        return std::nullopt;
    }
    const auto id = static_cast<int32>(nextval_internal(hub.relations.capability_sets_id, false));
    // Waits for whoever makes the same set: its id has to be known.
    if (run(hub, kInsertSet, Params().int4(id).text(lane).datum(array)).count == 1) {
        return id;
    }
    const auto other = find();
    if (!other) {
        elog(ERROR, "a capability set could not be found");
    }
    return other;
}

DedupKey lock_dedup_key(const Hub& hub, std::string_view lane, std::string_view key,
                        const pg_uuid_t& task, int64 window_until) {
    while (true) {
        const Rows inserted =
            run(hub, kInsertKey, Params().text(lane).text(key).uuid(task).int8(window_until));
        if (inserted.count == 1) {
            return {true, task, window_until};
        }
        const Rows rows = run(hub, kLockKey, Params().text(lane).text(key));
        if (rows.count == 1) {
            return {false, rows.uuid(0, 1), rows.int8(0, 2)};
        }
        CHECK_FOR_INTERRUPTS();  // deleted between the two
    }
}

void take_over_dedup_key(const Hub& hub, std::string_view lane, std::string_view key,
                         const pg_uuid_t& task, int64 window_until) {
    run_for_one(hub, kTakeOverKey, Params().text(lane).text(key).uuid(task).int8(window_until));
}

void delete_dedup_key(const Hub& hub, std::string_view lane, std::string_view key,
                      const pg_uuid_t& task) {
    run(hub, kDeleteKey, Params().text(lane).text(key).uuid(task));
}

std::optional<DedupKey> hold_dedup_key(const Hub& hub, std::string_view lane,
                                       std::string_view key) {
    const Rows rows = run(hub, kLockKey, Params().text(lane).text(key));
    if (rows.count == 0) {
        return std::nullopt;
    }
    return DedupKey{false, rows.uuid(0, 1), rows.int8(0, 2)};
}

}  // namespace belay::store
