// explain_waits.cpp — what an instance waits for.
//
// Calls    store::awaited_activities and the other functions of store/listing
// Touches  nothing
// Locks    nothing
// Raises   QB006
// Races    none: queries with the caller's snapshot
// Faults   none: it only reads
#include "ops/input.hpp"
#include "ops/management/management.hpp"
#include "pg/errors.hpp"
#include "pg/list.hpp"

namespace belay::ops {

namespace {

using Reasons = pg::List<BlockingReason>;

void add_activities(store::Tables& tables, std::string_view instance_id, int limit, int64 now,
                    Reasons* reasons) {
    for (const auto [activity_id, work_item, owner, attempts, leased_until, due] :
         store::awaited_activities(tables, instance_id, now, limit)) {
        StringInfo detail = makeStringInfo();
        const auto item = core::parse_work_item(work_item, nullptr);
        core::Activity activity;
        if (item && core::read_activity(*item, &activity, nullptr) && activity.name) {
            appendStringInfo(detail, "%s ", pg::excerpt(decode(*activity.name)));
        }
        if (activity_id) {
            appendStringInfo(detail, "#" INT64_FORMAT, *activity_id);
        }
        if (leased_until) {
            appendStringInfo(detail, ": leased%s%s, attempt %d", owner ? " by " : "",
                             owner ? pg::c_string(*owner) : "", attempts);
        } else {
            appendStringInfoString(detail, due ? ": delayed" : ": ready");
        }
        reasons->add({"activity", detail->data, leased_until ? leased_until : due});
    }
}

void add_messages(store::Tables& tables, std::string_view instance_id, int limit, int64 now,
                  Reasons* reasons) {
    for (const auto [work_item, visible_at] :
         store::awaited_messages(tables, instance_id, now, limit)) {
        const auto item = core::parse_work_item(work_item, nullptr);
        const bool is_timer = item && item->kind == core::ItemKind::kTimerFired;
        const auto id = is_timer ? core::json::find(item->body, "id") : std::nullopt;
        const auto number = id ? core::json::as_int64(*id) : std::nullopt;
        const char* detail = nullptr;
        if (number) {
            detail = psprintf("#" INT64_FORMAT, *number);
        } else if (item && !is_timer) {
            detail = pg::c_string(core::kind_name(item->kind));
        }
        reasons->add({is_timer ? "timer" : "message", detail, visible_at.value});
    }
}

}  // namespace

std::span<const BlockingReason> explain_waits(store::Tables& tables, std::string_view instance_id,
                                              int limit, const pg::Clock& clock) {
    const int64 now = clock.now();
    Reasons reasons;
    add_activities(tables, instance_id, limit, now, &reasons);
    add_messages(tables, instance_id, limit, now, &reasons);
    for (const auto [child] : store::running_children(tables, instance_id, limit)) {
        reasons.add({"child", pg::c_string(child), std::nullopt});
    }
    for (const auto [name] : store::awaited_events(tables, instance_id, limit)) {
        reasons.add({"event", pg::c_string(name), std::nullopt});
    }
    return reasons.span();
}

}  // namespace belay::ops
