// receive.cpp — lease the next tasks of some queues, after completing one or not.
//
// Calls    claim_tasks, complete_task
// Touches  <hub>.tasks, <hub>.queue_limits; with a completion also what complete_task touches
// Locks    as claim_tasks; a completion first, its flow and the task
// Raises   QB006, QB007; of the completion also QB001
#include "ops/front_door/front_door.hpp"

namespace belay::ops {

Received receive(store::Tables& tables, const ClaimRequest& request, pg::Clock* clock) {
    const Claimed claimed = claim_tasks(tables, request, clock);
    const std::size_t count = claimed.tasks.size();
    auto* leases = static_cast<LeaseText*>(palloc(sizeof(LeaseText) * (count + 1)));
    for (std::size_t i = 0; i < count; ++i) {
        const store::ClaimedTask& task = claimed.tasks[i];
        core::TaskLease lease{.epoch = task.life.lease_epoch,
                              .incarnation = tables.hub.incarnation};
        memcpy(lease.task, task.id.data, sizeof lease.task);
        memcpy(lease.nonce, task.nonce.data, sizeof lease.nonce);
        core::encode(lease, leases[i].text);
    }
    return {claimed, {leases, count}};
}

Received complete_and_receive(store::Tables& tables, const core::TaskLease& lease, Jsonb* result,
                              const ClaimRequest& request, pg::Clock* clock) {
    complete(tables, lease, result, clock);
    return receive(tables, request, clock);
}

}  // namespace belay::ops
