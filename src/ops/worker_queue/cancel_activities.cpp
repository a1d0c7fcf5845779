// cancel_activities.cpp — delete activities by identity, leased or not: steal their locks.
//
// Calls    store::find_activity, store::lock_work, store::delete_work
// Touches  <hub>.worker_queue
// Locks    worker rows by key
// Raises   QB006 bad element
#include <algorithm>

#include "ops/worker_queue/worker_queue.hpp"
#include "pg/errors.hpp"

namespace belay::ops {

namespace {

constexpr const char* kKeys[] = {"instance", "execution_id", "activity_id"};

int64 required_int(core::json::Value element, const char* member, const char* path) {
    const auto value = optional_int(element, member, path);
    if (!value) {
        const char* member_path = psprintf("%s.%s", path, member);
        pg::raise_invalid("missing_field", member_path, psprintf("%s is missing", member_path),
                          "Name an activity by instance, execution_id and activity_id.");
    }
    return *value;
}

std::span<const store::WorkKey> find(const store::Hub& hub, core::json::Value element,
                                     std::size_t index) {
    const char* path = psprintf("p_cancelled_activities[%zu]", index);
    if (element.kind != core::json::Kind::kObject) {
        pg::raise_invalid("not_an_object", path, psprintf("%s is not a JSON object", path),
                          "Name an activity by instance, execution_id and activity_id.");
    }
    check_members(element, path, kKeys);
    const auto instance = optional_string(element, "instance", path);
    if (!instance) {
        const char* member_path = psprintf("%s.instance", path);
        pg::raise_invalid("missing_field", member_path, psprintf("%s is missing", member_path),
                          "Name an activity by instance, execution_id and activity_id.");
    }
    return store::find_activity(hub, *instance, required_int(element, "execution_id", path),
                                required_int(element, "activity_id", path));
}

}  // namespace

int64 cancel_activities(const store::Hub& hub, const JsonArray& activities) {
    std::size_t size = activities.count + 8;
    std::size_t count = 0;
    auto* keys = static_cast<store::WorkKey*>(palloc(sizeof(store::WorkKey) * size));
    core::json::Elements elements(activities.array);
    core::json::Value element;
    for (std::size_t i = 0; elements.next(element); ++i) {
        for (const auto& key : find(hub, element, i)) {
            if (count == size) {
                size *= 2;
                keys = static_cast<store::WorkKey*>(repalloc(keys, sizeof(store::WorkKey) * size));
            }
            keys[count++] = key;
        }
    }
    std::sort(keys, keys + count);
    int64 deleted = 0;
    for (std::size_t i = 0; i < count; ++i) {
        if ((i == 0 || keys[i] != keys[i - 1]) && store::lock_work(hub, keys[i])) {
            store::delete_work(hub, keys[i]);
            ++deleted;
        }
    }
    return deleted;
}

}  // namespace belay::ops
