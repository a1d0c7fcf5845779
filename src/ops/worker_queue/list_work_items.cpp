// list_work_items.cpp — what is in the worker queue, page by page.
//
// Calls    store::list_work
// Touches  nothing
// Locks    nothing
// Raises   QB006 bad filter or cursor, QB007 clock skew, QB016 too much to look through
#include "ops/worker_queue/worker_queue.hpp"
#include "pg/errors.hpp"

namespace belay::ops {

namespace {

constexpr const char* kKeys[] = {"state", "instance_id", "session_id",
                                 "tag",   "locked_by",   "min_attempts"};

// A cursor of list_work_items: the four numbers of a key.
store::WorkKey checked_cursor(std::string_view text) {
    int64 parts[4] = {};
    int count = 0;
    const char* at = pg::c_string(text);
    bool good = true;
    while (good && count < 4) {
        char* end = nullptr;
        errno = 0;
        parts[count] = strtoi64(at, &end, 10);
        good = end != at && errno == 0 && *end == (count < 3 ? '/' : '\0');
        at = end + 1;
        ++count;
    }
    if (!good || parts[0] < PG_INT32_MIN || parts[0] > PG_INT32_MAX || parts[1] < PG_INT16_MIN ||
        parts[1] > PG_INT16_MAX) {
        pg::raise(pg::kInvalidArgument, "p_after is not a cursor",
                  pg::Facts("bad_value").add("path", "p_after").add("value", text),
                  "Pass the cursor of the last row of the page before.");
    }
    return {static_cast<int32>(parts[0]), static_cast<int16>(parts[1]), parts[2], parts[3]};
}

}  // namespace

store::Listing list_work_items(store::Tables& tables, core::json::Value filter,
                               std::optional<std::string_view> after, int limit,
                               std::optional<int64> now) {
    check_members(filter, "p_filter", kKeys);
    const store::WorkFilter wanted{
        .state = optional_string(filter, "state", "p_filter"),
        .instance_id = optional_string(filter, "instance_id", "p_filter"),
        .session_id = optional_string(filter, "session_id", "p_filter"),
        .tag = optional_string(filter, "tag", "p_filter"),
        .locked_by = optional_string(filter, "locked_by", "p_filter"),
        .min_attempts = optional_int(filter, "min_attempts", "p_filter")};
    if (wanted.state && *wanted.state != "ready" && *wanted.state != "delayed" &&
        *wanted.state != "leased") {
        pg::raise_invalid("bad_value", "p_filter.state", "p_filter.state is not a state",
                          "States are ready, delayed and leased.");
    }
    const auto cursor = after ? std::optional(checked_cursor(*after)) : std::nullopt;
    const auto clock = pg::start_clock(now, tables.hub.options[store::Option::kMaxClockSkew]);
    bool whole = true;
    const auto rows = store::list_work(tables, wanted, cursor, limit, clock.now(), &whole);
    if (!whole) {
        raise_long_search("list_work_items", "browse_work_items");
    }
    return rows;
}

}  // namespace belay::ops
