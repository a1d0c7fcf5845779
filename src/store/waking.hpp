// How the store wakes waiting sessions: the channels of a hub, and when an item is ready.
#pragma once

#include "pg/clock.hpp"
#include "pg/pg.hpp"
#include "shmem/wakeups/wakeups.hpp"
#include "store/hub.hpp"

namespace belay::store {

inline wakeups::Channel orchestrator_channel(const Hub& hub) {
    return wakeups::channel_of(hub.schema, wakeups::Topic::kOrchestrator);
}

inline wakeups::Channel worker_channel(const Hub& hub) {
    return wakeups::channel_of(hub.schema, wakeups::Topic::kWorker);
}

inline wakeups::Channel outbox_channel(const Hub& hub) {
    return wakeups::channel_of(hub.schema, wakeups::Topic::kOutbox);
}

inline wakeups::Channel instance_channel(const Hub& hub, std::string_view instance_id) {
    return wakeups::channel_of(hub.schema, wakeups::Topic::kInstance, instance_id);
}

inline wakeups::Channel owner_channel(const Hub& hub, std::string_view owner) {
    return wakeups::channel_of(hub.schema, wakeups::Topic::kOwner, owner);
}

inline wakeups::Channel queue_channel(const Hub& hub, std::string_view queue) {
    return wakeups::channel_of(hub.schema, wakeups::Topic::kQueue, queue);
}

inline wakeups::Channel all_queues_channel(const Hub& hub) {
    return wakeups::channel_of(hub.schema, wakeups::Topic::kQueue);
}

inline wakeups::Channel task_channel(const Hub& hub, std::string_view id) {
    return wakeups::channel_of(hub.schema, wakeups::Topic::kTask, id);
}

inline wakeups::Channel flow_channel(const Hub& hub, std::string_view id) {
    return wakeups::channel_of(hub.schema, wakeups::Topic::kFlow, id);
}

inline wakeups::Channel task_due_channel(const Hub& hub) {
    return wakeups::channel_of(hub.schema, wakeups::Topic::kTaskDue);
}

// Of the leases since the hub's last incarnation began. What is known of earlier ones does not hold
// for these.
inline wakeups::Channel task_lease_channel(const Hub& hub) {
    return wakeups::channel_of(hub.schema, wakeups::Topic::kTaskLease,
                               psprintf(INT64_FORMAT, hub.epoch_floor));
}

// An item that can be fetched from visible_at on, in ms. row is the id of one that this transaction
// has inserted; 0: it has not.
inline void wake_fetchers(const wakeups::Channel& channel, int64 visible_at, int64 row = 0) {
    if (visible_at <= pg::server_now_ms()) {
        wakeups::ready_row(channel, static_cast<uint64>(row));
    } else {
        wakeups::due(channel, visible_at);
    }
}

// Everything of the hub's queues may be different now.
inline void wake_all_queues(const Hub& hub, wakeups::Reason reason) {
    wakeups::changed(orchestrator_channel(hub), reason);
    wakeups::changed(worker_channel(hub), reason);
    wakeups::changed(all_queues_channel(hub), reason);
}

}  // namespace belay::store
