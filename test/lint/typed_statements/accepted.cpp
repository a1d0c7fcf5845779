// Everything that a statement accepts; the files beside it show what it does not.
#include "store/statements.hpp"

namespace belay::store {

constexpr auto kFind = statement<In<int64, Text, Maybe<Text>>, Out<pg_uuid_t, Maybe<int64>>>(R"sql(
    SELECT t.id, t.due FROM {hub}.t AS t WHERE t.a {=} $1 AND t.b {=} $2 AND t.c {=} $3
)sql");
constexpr auto kMany =
    query<In<ListOf<pg_uuid_t>, Maybe<ListOf<Text>>, Maybe<Ms>, Jsonb*>, Out<core::TaskState>>(
        R"sql(
    SELECT t.state
      FROM {hub}.t AS t
     WHERE t.id {=} ANY ($1) AND t.b {=} ANY ($2) AND t.at {<} $3 AND t.tags {@>} $4
)sql");
constexpr auto kCount = report<In<>, Out<int64>>(R"sql(
    SELECT pg_catalog.count(*) FROM {hub}.t AS t
)sql");
constexpr auto kChange = statement<In<core::TaskState, bool, Ms, Xid, Bytes>, Out<>>(R"sql(
    UPDATE {hub}.t AS t SET state = $1, held = $2, at = $3, xid = $4 WHERE t.secret {=} $5
)sql");
constexpr auto kList = query<In<int64>, Listing>(R"sql(
    SELECT t.id, t.state FROM {hub}.t AS t LIMIT $1
)sql");

struct Found {
    pg_uuid_t id;
    std::optional<int64> due;
};

int64 use(const Hub& hub, std::span<const pg_uuid_t> ids, std::optional<std::string_view> text,
          Jsonb* tags) {
    int64 sum = 0;
    const int narrower = 1;
    for (const auto [id, due] : run(hub, kFind, narrower, "b", text)) {
        sum += id.data[0] + due.value_or(0);
    }
    for (const Found& found : run(hub, kFind, sum, "b", std::nullopt).collect<Found>()) {
        sum += found.due.value_or(0);
    }
    const Array<pg_uuid_t> made_once = make_array_of(ids);
    for (const core::TaskState state :
         run(hub, kMany, made_once, std::nullopt, as_ms(sum), tags).values()) {
        sum += static_cast<int64>(state);
    }
    if (const auto state = run_one(hub, kMany, ids, std::nullopt, Ms{sum}, nullptr)) {
        sum += static_cast<int64>(*state);
    }
    run_for_one(hub, kChange, core::TaskState::kReady, true, Ms{sum}, Xid{1}, Bytes{"x"});
    const Listing listing = run(hub, kList, narrower);
    return sum + run_for_one(hub, kCount) + listing.changed();
}

}  // namespace belay::store
