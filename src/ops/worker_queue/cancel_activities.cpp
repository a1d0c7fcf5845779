// cancel_activities.cpp — delete activities by identity, leased or not: steal their locks.
//
// Calls    store::find_activity, store::lock_work, store::delete_work
// Touches  <hub>.worker_queue, <hub>.outbox_events
// Locks    worker rows by key
// Raises   QB006 bad element
#include <algorithm>

#include "ops/audit.hpp"
#include "ops/worker_queue/worker_queue.hpp"
#include "pg/errors.hpp"
#include "pg/list.hpp"
#include "store/waking.hpp"

namespace belay::ops {

namespace {

int64 required_int(core::json::Value element, const char* member, const char* path) {
    const auto value = optional_int(element, member, path);
    if (!value) {
        const char* member_path = psprintf("%s.%s", path, member);
        pg::raise_invalid("missing_field", member_path, psprintf("%s is missing", member_path),
                          "Name an activity by instance, execution_id and activity_id.");
    }
    return *value;
}

ActivityIdentity checked_identity(core::json::Value element, std::size_t index) {
    const char* path = psprintf("p_cancelled_activities[%zu]", index);
    if (element.kind != core::json::Kind::kObject) {
        pg::raise_invalid("not_an_object", path, psprintf("%s is not a JSON object", path),
                          "Name an activity by instance, execution_id and activity_id.");
    }
    const auto instance = optional_string(element, "instance", path);
    if (!instance) {
        const char* member_path = psprintf("%s.instance", path);
        pg::raise_invalid("missing_field", member_path, psprintf("%s is missing", member_path),
                          "Name an activity by instance, execution_id and activity_id.");
    }
    return {*instance, required_int(element, "execution_id", path),
            required_int(element, "activity_id", path)};
}

// The rows of all named activities, each once, in key order.
std::span<const store::WorkKey> find_all(store::Tables& tables,
                                         std::span<const ActivityIdentity> named) {
    pg::List<store::WorkKey> keys;
    for (const auto& activity : named) {
        for (const auto& key : store::find_activity(tables, activity.instance,
                                                    activity.execution_id, activity.activity_id)) {
            keys.add(key);
        }
    }
    std::sort(keys.begin(), keys.end());
    keys.count = static_cast<int>(std::unique(keys.begin(), keys.end()) - keys.begin());
    return keys.span();
}

// The instance, if all are of one.
std::optional<std::string_view> same_instance(std::span<const ActivityIdentity> named) {
    for (const auto& activity : named) {
        if (activity.instance != named[0].instance) {
            return std::nullopt;
        }
    }
    return named[0].instance;
}

}  // namespace

std::span<const ActivityIdentity> checked_identities(const JsonArray& activities) {
    auto* named =
        static_cast<ActivityIdentity*>(palloc(sizeof(ActivityIdentity) * (activities.count + 1)));
    core::json::Elements elements(activities.array);
    core::json::Value element;
    for (std::size_t i = 0; elements.next(element); ++i) {
        named[i] = checked_identity(element, i);
    }
    return {named, activities.count};
}

int64 cancel_activities(store::Tables& tables, std::span<const ActivityIdentity> activities) {
    if (activities.empty()) {
        return 0;
    }
    auto clock = pg::start_clock(std::nullopt, 0);
    enter(tables, {.worker_queue = true}, &clock);
    // A row whose abandon with a delay commits meanwhile gets another key: look until none is left.
    int64 deleted = 0;
    while (true) {
        const auto keys = find_all(tables, activities);
        if (keys.empty()) {
            break;
        }
        for (const auto& key : keys) {
            if (const auto row = store::lock_work(tables, key, &clock)) {
                store::delete_work(tables, key);
                if (row->locked_by &&
                    core::is_live(row->lease, tables.hub.incarnation, clock.now())) {
                    wakeups::changed(store::owner_channel(tables, *row->locked_by),
                                     wakeups::Reason::kCancelled);
                }
                ++deleted;
            }
        }
    }
    return deleted;
}

int64 cancel_activities_as_operator(store::Tables& tables,
                                    std::span<const ActivityIdentity> activities) {
    const int64 deleted = cancel_activities(tables, activities);
    if (deleted > 0) {
        constexpr int kCancelled = core::event_place("operator", "activities_cancelled");
        emit_operator_event(tables, {.event = kCancelled,
                                     .subject = same_instance(activities),
                                     .details = store::Details().add("count", deleted)});
    }
    return deleted;
}

}  // namespace belay::ops
