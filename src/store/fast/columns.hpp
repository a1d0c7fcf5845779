// The columns of the tables that can be accessed directly, by number, and the beginnings of their
// rows as they are stored: what is never null, has a fixed length, and was not added later.
#pragma once

#include "pg/pg.hpp"

namespace belay::store {

namespace work {
enum Column : AttrNumber {
    kLane = 1,
    kSlot,
    kDue,
    kId,
    kVisibleAt,
    kCreatedAt,
    kLockedUntil,
    kNonceHi,
    kNonceLo,
    kLeaseInc,
    kAttemptCount,
    kExecutionId,
    kActivityId,
    kTag,
    kSessionId,
    kInstanceId,
    kLockedBy,
    kWorkItem,
    kLastError,
    kColumns = kLastError,
};

struct Row {
    int32 lane;
    int16 slot;
    int64 due;
    int64 id;
    TimestampTz visible_at;
    TimestampTz created_at;
    int64 locked_until;
    uint64 nonce_hi;
    uint64 nonce_lo;
    int32 lease_inc;
    int32 attempt_count;
};
static_assert(offsetof(Row, due) == 8 && offsetof(Row, attempt_count) == 68);
}  // namespace work

namespace message {
enum Column : AttrNumber {
    kInstanceKey = 1,
    kId,
    kVisibleAt,
    kCreatedAt,
    kLockNo,
    kAttemptCount,
    kSlot,
    kKind,
    kParked,
    kInstanceId,
    kParentId,
    kWorkItem,
    kColumns = kWorkItem,
};

struct Row {
    int64 instance_key;
    int64 id;
    TimestampTz visible_at;
    TimestampTz created_at;
    int64 lock_no;
    int32 attempt_count;
    int16 slot;
    char kind;
    bool parked;
};
static_assert(offsetof(Row, parked) == 47);
}  // namespace message

namespace lock {
enum Column : AttrNumber {
    kInstanceKey = 1,
    kLockedUntil,
    kLockedAt,
    kLockNo,
    kNonceHi,
    kNonceLo,
    kLeaseInc,
    kInstanceId,
    kColumns = kInstanceId,
};

struct Row {
    int64 instance_key;
    int64 locked_until;
    int64 locked_at;
    int64 lock_no;
    uint64 nonce_hi;
    uint64 nonce_lo;
    int32 lease_inc;
};
static_assert(offsetof(Row, lease_inc) == 48);
}  // namespace lock

namespace instance {
enum Column : AttrNumber {
    kInstanceId = 1,
    kName,
    kVersion,
    kCurrentExecutionId,
    kParentId,
    kCustomStatus,
    kCustomStatusVersion,
    kCreatedAt,
    kUpdatedAt,
    kColumns = kUpdatedAt,
};
}  // namespace instance

namespace execution {
enum Column : AttrNumber {
    kInstanceId = 1,
    kExecutionId,
    kStatus,
    kOutput,
    kStartedAt,
    kCompletedAt,
    kMajor,
    kMinor,
    kPatch,
    kEventCount,
    kColumns = kEventCount,
};
}  // namespace execution

namespace event {
enum Column : AttrNumber {
    kInstanceId = 1,
    kExecutionId,
    kEventId,
    kType,
    kData,
    kCreatedAt,
    kColumns = kCreatedAt,
};
}  // namespace event

namespace task {
enum Column : AttrNumber {
    kId = 1,
    kFlowId,
    kLeaseEpoch,
    kLeaseUntil,
    kLeaseCheck,
    kLeaseNonce,
    kAvailableAt,
    kStartDelay,
    kDeadline,
    kAttemptStarted,
    kAttemptDeadline,
    kCreatedAt,
    kStartedAt,
    kUpdatedAt,
    kTerminalAt,
    kProgressAt,
    kCapSet,
    kPriority,
    kAttemptIndex,
    kAttemptLeases,
    kRetryCount,
    kReclaimCount,
    kReplayCount,
    kSlot,
    kHeld,
    kState,
    kPending,
    kAttemptKind,
    kLane,
    kKind,
    kFlowKey,
    kDedupKey,
    kLeaseOwner,
    kLeaseWorker,
    kAttemptWorker,
    kAttemptInstance,
    kFailureClass,
    kFailureMessage,
    kCancelReason,
    kCancelledBy,
    kProgressPct,
    kProgressMessage,
    kPayload,
    kResult,
    kCheckpoint,
    kTags,
    kPolicy,
    kFailureDetails,
    kColumns = kFailureDetails,
};
}  // namespace task

namespace attempt {
enum Column : AttrNumber {
    kTaskId = 1,
    kIndex,
    kLeaseCount,
    kEpoch,
    kStarted,
    kEnded,
    kKind,
    kOutcome,
    kWorker,
    kWorkerInstance,
    kError,
    kColumns = kError,
};
}  // namespace attempt

namespace kept {  // rows of kv_store and of kv_delta begin alike
enum Column : AttrNumber {
    kInstanceId = 1,
    kKey,
    kValue,
};
}  // namespace kept

namespace outbox {
enum Column : AttrNumber {
    kIncarnation = 1,
    kPosition,
    kXid,
    kTopic,
    kType,
    kSubject,
    kDetails,
    kOccurredAt,
    kColumns = kOccurredAt,
};
}  // namespace outbox

namespace lane {
enum Column : AttrNumber {
    kName = 1,
    kPaused,
    kRetention,
    kCreatedAt,
    kPolicy,
    kColumns = kPolicy,
};
}  // namespace lane

}  // namespace belay::store
