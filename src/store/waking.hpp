// What the store tells waiting sessions: the channels of a hub, and when an item is ready.
#pragma once

#include "pg/clock.hpp"
#include "pg/pg.hpp"
#include "pg/wakeups.hpp"
#include "store/hub.hpp"

namespace belay::store {

inline pg::Channel orchestrator_channel(const Hub& hub) {
    return pg::channel_of(hub.schema, pg::Topic::kOrchestrator);
}

inline pg::Channel worker_channel(const Hub& hub) {
    return pg::channel_of(hub.schema, pg::Topic::kWorker);
}

inline pg::Channel outbox_channel(const Hub& hub) {
    return pg::channel_of(hub.schema, pg::Topic::kOutbox);
}

inline pg::Channel instance_channel(const Hub& hub, std::string_view instance_id) {
    return pg::channel_of(hub.schema, pg::Topic::kInstance, instance_id);
}

inline pg::Channel owner_channel(const Hub& hub, std::string_view owner) {
    return pg::channel_of(hub.schema, pg::Topic::kOwner, owner);
}

inline pg::Channel lane_channel(const Hub& hub, std::string_view lane) {
    return pg::channel_of(hub.schema, pg::Topic::kLane, lane);
}

inline pg::Channel all_lanes_channel(const Hub& hub) {
    return pg::channel_of(hub.schema, pg::Topic::kLane);
}

inline pg::Channel task_channel(const Hub& hub, std::string_view id) {
    return pg::channel_of(hub.schema, pg::Topic::kTask, id);
}

inline pg::Channel task_due_channel(const Hub& hub) {
    return pg::channel_of(hub.schema, pg::Topic::kTaskDue);
}

// Of the leases since the hub's last incarnation began. What is known of earlier ones does not hold
// for these.
inline pg::Channel task_lease_channel(const Hub& hub) {
    return pg::channel_of(hub.schema, pg::Topic::kTaskLease,
                          psprintf(INT64_FORMAT, hub.epoch_floor));
}

// An item that can be fetched from visible_at on, in ms.
inline void note_item(const pg::Channel& channel, int64 visible_at) {
    if (visible_at <= pg::server_now_ms()) {
        pg::note_ready(channel);
    } else {
        pg::note_due(channel, visible_at);
    }
}

// Everything of the hub's queues may be different now.
inline void note_all_queues(const Hub& hub, pg::WakeReason reason) {
    pg::note_changed(orchestrator_channel(hub), reason);
    pg::note_changed(worker_channel(hub), reason);
    pg::note_changed(all_lanes_channel(hub), reason);
}

}  // namespace belay::store
