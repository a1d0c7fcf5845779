// await.cpp — sleep until one of some queues may have a task.
//
// Calls    wait_for_work
// Touches  nothing
// Locks    nothing while it sleeps
// Raises   nothing
#include "ops/front_door/front_door.hpp"
#include "pg/errors.hpp"
#include "store/waking.hpp"

namespace belay::ops {

WaitResult await(store::Tables& tables, std::span<const std::string_view> queues,
                 int64 timeout_ms) {
    auto* words = static_cast<WaitQueue*>(palloc(sizeof(WaitQueue) * (queues.size() + 1)));
    for (std::size_t i = 0; i < queues.size(); ++i) {
        const char* name = pg::c_string(queues[i]);
        words[i] = {name, wakeups::Topic::kQueue, name, store::queue_channel(tables, name),
                    tables.hub.shards != nullptr && i == 0};
    }
    return wait_for_work(tables, {words, queues.size()}, timeout_ms);
}

}  // namespace belay::ops
