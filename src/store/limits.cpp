#include "store/limits.hpp"

#include "store/hub_row.hpp"
#include "store/plan.hpp"
#include "store/waking.hpp"

namespace belay::store {

namespace {

constexpr Statement kTryLock = statement(R"sql(
    SELECT l.concurrency, l.rate_per_s, l.burst, l.tokens, l.refilled_at_ms, l.active,
           CAST(0 AS pg_catalog.int8)
      FROM {hub}.lane_limits AS l
     WHERE l.lane {=} $1
       FOR NO KEY UPDATE SKIP LOCKED
)sql",
                                         TEXTOID);

constexpr Statement kLock = statement(R"sql(
    SELECT l.concurrency, l.rate_per_s, l.burst, l.tokens, l.refilled_at_ms, l.active,
           CAST(0 AS pg_catalog.int8)
      FROM {hub}.lane_limits AS l
     WHERE l.lane {=} $1
       FOR UPDATE
)sql",
                                      TEXTOID);

constexpr Statement kRead = query(R"sql(
    SELECT l.concurrency, l.rate_per_s, l.burst, l.tokens, l.refilled_at_ms, l.active,
           (SELECT pg_catalog.count(*) FROM {hub}.lane_returns AS r WHERE r.lane {=} l.lane)
      FROM {hub}.lane_limits AS l
     WHERE l.lane {=} $1
)sql",
                                  TEXTOID);

// Asked after the row is held: a claim that held it before may have deleted what an older snapshot
// still sees.
constexpr Statement kCountReturns = statement(R"sql(
    SELECT pg_catalog.count(*) FROM {hub}.lane_returns AS r WHERE r.lane {=} $1
)sql",
                                              TEXTOID);

// $1 lane, $2 taken, $3 tokens, $4 now.
constexpr Statement kCharge = statement(R"sql(
    WITH gone AS (DELETE FROM {hub}.lane_returns AS r WHERE r.lane {=} $1 RETURNING 1 AS one)
    UPDATE {hub}.lane_limits AS l
       SET tokens = $3,
           refilled_at_ms = GREATEST(l.refilled_at_ms, $4),
           active = l.active {+} ($2 {-} g.returned)
      FROM (SELECT pg_catalog.count(*) AS returned FROM gone AS x) AS g
     WHERE l.lane {=} $1
)sql",
                                        TEXTOID, INT8OID, FLOAT8OID, INT8OID);

constexpr Statement kReturn = statement(R"sql(
    INSERT INTO {hub}.lane_returns (lane) VALUES ($1)
)sql",
                                        TEXTOID);

constexpr Statement kDeleteReturns = statement(R"sql(
    DELETE FROM {hub}.lane_returns AS r WHERE r.lane {=} $1
)sql",
                                               TEXTOID);

// $1 lane, $2 concurrency, $3 rate, $4 burst, $5 tokens, $6 now.
constexpr Statement kInsert = statement(R"sql(
    INSERT INTO {hub}.lane_limits
           (lane, concurrency, rate_per_s, burst, tokens, refilled_at_ms, active)
    SELECT $1, $2, $3, $4, $5, $6, pg_catalog.count(*)
      FROM {hub}.tasks AS t
     WHERE t.state {=} 'active' AND t.lane {=} $1
)sql",
                                        TEXTOID, INT8OID, FLOAT8OID, FLOAT8OID, FLOAT8OID, INT8OID);

constexpr Statement kUpdate = statement(R"sql(
    UPDATE {hub}.lane_limits AS l
       SET concurrency = $2, rate_per_s = $3, burst = $4, tokens = $5, refilled_at_ms = $6
     WHERE l.lane {=} $1
)sql",
                                        TEXTOID, INT8OID, FLOAT8OID, FLOAT8OID, FLOAT8OID, INT8OID);

constexpr Statement kDelete = statement(R"sql(
    DELETE FROM {hub}.lane_limits AS l WHERE l.lane {=} $1
)sql",
                                        TEXTOID);

constexpr Statement kLimited = statement(R"sql(
    SELECT l.lane FROM {hub}.lane_limits AS l ORDER BY l.lane LIMIT $1
)sql",
                                         INT8OID);

constexpr Statement kIsLimited = query(R"sql(
    SELECT 1 FROM {hub}.lane_limits AS l WHERE l.lane {=} $1
)sql",
                                       TEXTOID);

// The hub's row lists so many lanes. If more have limits, it has an empty name instead, and the
// table is asked: a list of all would be written anew by each of them.
constexpr int kMostListed = 64;
constexpr std::string_view kMany[] = {""};

bool has_many(const Hub& hub) {
    return hub.limited_lanes != nullptr && std::string_view(hub.limited_lanes) == "\n\n";
}

void list_limited(const Hub& hub) {
    const auto lanes = run(hub, kLimited, Params().int8(kMostListed + 1)).texts(1);
    if (lanes.size() <= kMostListed) {
        set_limited_lanes(hub, lanes);
    } else if (!has_many(hub)) {
        set_limited_lanes(hub, kMany);
    }
}

double float8(const Rows& rows, int column) {
    return DatumGetFloat8(rows.datum(0, column, FLOAT8OID));
}

std::optional<core::LaneLimit> read_row(const Rows& rows) {
    if (rows.count == 0) {
        return std::nullopt;
    }
    return core::LaneLimit{
        .concurrency = rows.optional_int8(0, 1),
        .rate_per_s = rows.is_null(0, 2) ? std::nullopt : std::optional(float8(rows, 2)),
        .burst = float8(rows, 3),
        .tokens = float8(rows, 4),
        .refilled_at = rows.int8(0, 5),
        .active = rows.int8(0, 6),
        .returned = rows.int8(0, 7)};
}

std::optional<core::LaneLimit> with_returns(const Hub& hub, std::string_view lane,
                                            std::optional<core::LaneLimit> limit) {
    if (limit) {
        limit->returned = run(hub, kCountReturns, Params().text(lane)).int8(0, 1);
    }
    return limit;
}

Params settings(std::string_view lane, const core::LaneLimit& limit) {
    Params params;
    params.text(lane).optional_int8(limit.concurrency);
    if (limit.rate_per_s) {
        params.datum(Float8GetDatum(*limit.rate_per_s));
    } else {
        params.null();
    }
    params.datum(Float8GetDatum(limit.burst))
        .datum(Float8GetDatum(limit.tokens))
        .int8(limit.refilled_at);
    return params;
}

}  // namespace

bool is_limited(const Hub& hub, std::string_view lane) {
    if (has_many(hub)) {
        // As the list would say: what was committed before table tasks was entered.
        PushActiveSnapshot(GetLatestSnapshot());
        const bool limited = run(hub, kIsLimited, Params().text(lane)).count > 0;
        PopActiveSnapshot();
        return limited;
    }
    // Names stand between newlines, which no name has.
    return hub.limited_lanes != nullptr &&
           std::string_view(hub.limited_lanes)
                   .find(std::string_view(psprintf("\n%.*s\n", static_cast<int>(lane.size()),
                                                   lane.data()))) != std::string_view::npos;
}

std::optional<core::LaneLimit> try_lock_limit(const Hub& hub, std::string_view lane) {
    return with_returns(hub, lane, read_row(run(hub, kTryLock, Params().text(lane))));
}

std::optional<core::LaneLimit> lock_limit(const Hub& hub, std::string_view lane) {
    return with_returns(hub, lane, read_row(run(hub, kLock, Params().text(lane))));
}

std::optional<core::LaneLimit> read_limit(const Hub& hub, std::string_view lane) {
    return read_row(run(hub, kRead, Params().text(lane)));
}

void charge_limit(const Hub& hub, std::string_view lane, const core::LaneLimit& limit, int64 taken,
                  int64 now) {
    core::LaneLimit after = limit;
    after.tokens = limit.rate_per_s
                       ? std::max(0.0, core::tokens_at(limit, now) - static_cast<double>(taken))
                       : limit.tokens;
    after.refilled_at = std::max(limit.refilled_at, now);
    after.active += taken;
    run_for_one(hub, kCharge,
                Params().text(lane).int8(taken).datum(Float8GetDatum(after.tokens)).int8(now));
    for (const pg::Channel& channel : {lane_channel(hub, lane), all_lanes_channel(hub)}) {
        if (core::free_places(after, now) > 0) {
            pg::note_ready(channel);  // somebody may have found the row held
        } else if (!core::is_crowded(after)) {
            pg::note_due(channel, core::next_token_at(after, now));
        }
    }
}

void return_place(const Hub& hub, std::string_view lane) {
    run_for_one(hub, kReturn, Params().text(lane));
    pg::note_ready(lane_channel(hub, lane));
    pg::note_ready(all_lanes_channel(hub));
}

void insert_limit(const Hub& hub, std::string_view lane, const core::LaneLimit& limit) {
    // What was given back under earlier limits.
    run(hub, kDeleteReturns, Params().text(lane));
    run_for_one(hub, kInsert, settings(lane, limit));
    if (!has_many(hub)) {
        list_limited(hub);
    }
}

void update_limit(const Hub& hub, std::string_view lane, const core::LaneLimit& limit) {
    run_for_one(hub, kUpdate, settings(lane, limit));
}

void delete_limit(const Hub& hub, std::string_view lane) {
    run_for_one(hub, kDelete, Params().text(lane));
    run(hub, kDeleteReturns, Params().text(lane));
    list_limited(hub);
}

}  // namespace belay::store
