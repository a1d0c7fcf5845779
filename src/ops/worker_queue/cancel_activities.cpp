// cancel_activities.cpp — delete activities by identity, leased or not: steal their locks.
//
// Calls    store::find_activity, store::lock_work, store::delete_work
// Touches  <hub>.worker_queue
// Locks    worker rows by key
// Raises   QB006 bad element
#include <algorithm>

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

struct Identity {
    std::string_view instance;
    int64 execution_id;
    int64 activity_id;
};

Identity checked_identity(core::json::Value element, std::size_t index) {
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
std::span<const store::WorkKey> find_all(const store::Hub& hub, std::span<const Identity> named) {
    pg::List<store::WorkKey> keys;
    for (const auto& activity : named) {
        for (const auto& key : store::find_activity(hub, activity.instance, activity.execution_id,
                                                    activity.activity_id)) {
            keys.add(key);
        }
    }
    std::sort(keys.begin(), keys.end());
    keys.count = static_cast<int>(std::unique(keys.begin(), keys.end()) - keys.begin());
    return keys.span();
}

}  // namespace

int64 cancel_activities(const store::Hub& hub, const JsonArray& activities) {
    auto* named = static_cast<Identity*>(palloc(sizeof(Identity) * (activities.count + 1)));
    core::json::Elements elements(activities.array);
    core::json::Value element;
    for (std::size_t i = 0; elements.next(element); ++i) {
        named[i] = checked_identity(element, i);
    }
    if (activities.count == 0) {
        return 0;
    }
    auto clock = pg::start_clock(std::nullopt, 0);
    enter(hub, {.worker_queue = true}, &clock);
    // A row whose abandon with a delay commits meanwhile gets another key: look until none is left.
    int64 deleted = 0;
    while (true) {
        const auto keys = find_all(hub, {named, activities.count});
        if (keys.empty()) {
            return deleted;
        }
        for (const auto& key : keys) {
            if (const auto row = store::lock_work(hub, key)) {
                store::delete_work(hub, key);
                if (row->locked_by && core::is_live(row->lease, hub.incarnation, clock.now())) {
                    pg::note_changed(store::owner_channel(hub, *row->locked_by),
                                     pg::WakeReason::kCancelled);
                }
                ++deleted;
            }
        }
    }
}

}  // namespace belay::ops
