// lost_lease.cpp — say why a token does not open its lease.
//
// Calls    store::last_work_id, store::last_lock_no, store::find_named
// Touches  nothing
// Locks    none
// Raises   QB001 lock lost
#include "ops/lost_lease.hpp"

#include "core/token.hpp"
#include "pg/errors.hpp"
#include "store/instance_locks.hpp"
#include "store/worker_queue.hpp"

namespace belay::ops {

namespace {

using core::LeaseFault;

// Malformed, of the other queue, or with another secret than the lease has.
constexpr const char* kNeverGranted = "the lock token is not one that was granted for this call";

const char* reason_of_work(const store::Hub& hub, const core::WorkToken& token, LeaseFault fault) {
    const auto id = static_cast<long long>(token.id);
    switch (fault) {
        case LeaseFault::kExpired:
            return psprintf("the lease of work item %lld has expired", id);
        case LeaseFault::kLeasedAgain:
            return psprintf("work item %lld has been leased again", id);
        case LeaseFault::kOtherIncarnation:
            return psprintf("the lease of work item %lld is of another incarnation of the hub", id);
        case LeaseFault::kGone:
            if (token.id <= 0 || token.id > store::last_work_id(hub)) {
                return psprintf("work item %lld never existed", id);
            }
            return psprintf(
                "work item %lld was already acked, cancelled, set aside or abandoned with a delay",
                id);
        case LeaseFault::kUnknown:
        case LeaseFault::kNone:
            break;
    }
    return psprintf("work item %lld was abandoned", id);
}

const char* reason_of_turn(const store::Hub& hub, const core::TurnToken& token, LeaseFault fault) {
    const auto lock = store::find_named(hub, token.instance_key);
    const char* whose =
        lock ? psprintf("the turn of instance \"%s\"", pg::excerpt(lock->instance_id)) : "the turn";
    switch (fault) {
        case LeaseFault::kExpired:
            return psprintf("the lease of %s has expired", whose);
        case LeaseFault::kOtherIncarnation:
            return psprintf("the lease of %s is of another incarnation of the hub", whose);
        case LeaseFault::kGone:
            if (token.lock_no <= 0 || token.lock_no > store::last_lock_no(hub)) {
                return "the turn never existed";
            }
            if (!lock) {
                return "the turn was already acked, or its instance was deleted";
            }
            return lock->locked_until == 0
                       ? psprintf("%s was already acked or abandoned", whose)
                       : psprintf("instance \"%s\" has been leased again for another turn",
                                  pg::excerpt(lock->instance_id));
        case LeaseFault::kLeasedAgain:
        case LeaseFault::kUnknown:
        case LeaseFault::kNone:
            break;
    }
    return kNeverGranted;
}

}  // namespace

const char* lost_reason(const store::Hub& hub, store::Queue queue, std::string_view token,
                        LeaseFault fault) {
    if (queue == store::Queue::kWorker) {
        const auto work = core::decode_work_token(token);
        return work ? reason_of_work(hub, *work, fault) : kNeverGranted;
    }
    const auto turn = core::decode_turn_token(token);
    return turn ? reason_of_turn(hub, *turn, fault) : kNeverGranted;
}

void raise_lock_lost(const char* message, std::string_view token, LeaseFault fault,
                     int64 locked_until) {
    pg::Facts facts(core::code_detail(fault));
    facts.add_token("lock_token", token);
    if (fault == LeaseFault::kExpired) {
        facts.add("locked_until", locked_until);
    }
    pg::raise(pg::kLockLost, message, facts,
              "Stop working on this item: if work remains it is delivered again.");
}

void raise_lock_lost(const store::Hub& hub, store::Queue queue, const char* duroxide_text,
                     std::string_view token, LeaseFault fault, int64 locked_until) {
    raise_lock_lost(
        hub.api == store::Api::kDuroxidePg ? duroxide_text : lost_reason(hub, queue, token, fault),
        token, fault, locked_until);
}

}  // namespace belay::ops
