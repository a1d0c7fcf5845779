// Tables that have no row in most hubs. A process that looks after many hubs would keep a plan, and
// what the server knows of each index, for every statement that finds nothing in them.
#pragma once

#include "store/hub.hpp"

namespace belay::store {

enum class Sparse : int {
    kCancelBacklog,
    kCascadeQueue,
    kDeadLetters,
    kFlows,
    kInstanceLocks,
    kInstances,
    kIntentQueue,
    kIntentsReceived,
    kOrchestratorQueue,
    kOutboxEvents,
    kOutboxSubscriptions,
    kSchedules,
    kSessions,
    kStatMarks,
    kStatMinutes,
    kSuspensions,
    kTasks,
    kWaitpointKeys,
    kWorkerQueue,
    kCount,
};

// False if the table has no page, and so no row for any snapshot. Reads nothing of it, plans
// nothing, and does not wait: true if that is unknown.
bool may_have_rows(const Hub& hub, Sparse table);

}  // namespace belay::store
