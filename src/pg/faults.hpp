// Named fault points: places that a test can make fail, compiled in always, off unless called.
//
// belay.inject_fault(point, count) makes the next `count` passes of a point fail. Preloaded, the
// counts live in shared memory and any backend passes them; otherwise in the session.
#pragma once

#include "pg/pg.hpp"

namespace belay::pg {

// The order is that of kFaultPointNames.
enum class FaultPoint : int {
    kAckBeforeCommit,
    kBoundaryError,
    kBoundaryMemory,
    kBoundaryThrow,
    kBoundaryThrowUnknown,
    kDutyCancelBacklog,
    kDutyCursorRepair,
    kDutyDeadLetters,
    kDutyDeadlines,
    kDutyDispatchSweep,
    kDutyDueTimers,
    kDutyInstanceRetention,
    kDutyIntentRelay,
    kDutyLeaseExpiry,
    kDutyLockCleanup,
    kDutyOrphanMessages,
    kDutyOutboxRetention,
    kDutyRetention,
    kDutySchedules,
    kDutySessionCleanup,
    kDutySiblingCancel,
    kDutyStatMinutes,
    kDutyXminWatch,
    kHotTableAbandon,
    kHotTableAck,
    kHotTableEnqueue,
    kHotTableEvent,
    kHotTableFetch,
    kHotTableHold,
    kHotTableRenew,
    kHotTableTask,
    kHotTableTurn,
    kOutboxDeliver,
    kStoreCall,
    kStoreDisk,
    kStoreMemory,
    kUpgradeStep,
    kCount,
};

inline constexpr int kFaultPoints = static_cast<int>(FaultPoint::kCount);

inline constexpr const char* kFaultPointNames[kFaultPoints] = {
    "ack.before_commit",  // sorted by name
    "boundary.error",
    "boundary.memory",
    "boundary.throw",
    "boundary.throw_unknown",
    "duty.cancel_backlog",
    "duty.cursor_repair",
    "duty.dead_letters",
    "duty.deadlines",
    "duty.dispatch_sweep",
    "duty.due_timers",
    "duty.instance_retention",
    "duty.intent_relay",
    "duty.lease_expiry",
    "duty.lock_cleanup",
    "duty.orphan_messages",
    "duty.outbox_retention",
    "duty.retention",
    "duty.schedules",
    "duty.session_cleanup",
    "duty.sibling_cancel",
    "duty.stat_minutes",
    "duty.xmin_watch",
    "hot_table.abandon",
    "hot_table.ack",
    "hot_table.enqueue",
    "hot_table.event",
    "hot_table.fetch",
    "hot_table.hold",
    "hot_table.renew",
    "hot_table.task",
    "hot_table.turn",
    "outbox.deliver",
    "store.call",
    "store.disk",
    "store.memory",
    "upgrade.step",
};

// What one server shares. Lives in shared memory if preloaded, else in the session.
struct FaultCounts {
    pg_atomic_uint32 armed;  // sum of counts: one load shows that nothing is to fail
    pg_atomic_uint32 counts[kFaultPoints];
    pg_atomic_uint32 skips[kFaultPoints];  // passes that still go well before the counted ones
};

// Uses these counts instead of the session's own from now on.
void use_fault_counts(FaultCounts* counts);

// Takes one off a counter that is above 0; false if it is 0.
bool take_one(pg_atomic_uint32* counter);

// Whether this pass of the point is to fail; takes one off its count.
bool fault(FaultPoint point);

// Raises an error in the name of the point if this pass is to fail: out of memory at kStoreMemory,
// disk full at kStoreDisk, an internal error elsewhere.
void fail_here(FaultPoint point);

// What every call to the store passes.
void pass_store_faults();

// Sets how many of the next passes of the named point fail, after skip that do not. False if there
// is no such point.
bool set_fault(std::string_view name, uint32 count, uint32 skip);
uint32 fault_count(FaultPoint point);

}  // namespace belay::pg
