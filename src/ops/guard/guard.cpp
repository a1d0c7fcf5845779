// guard.cpp — bind a transaction to a lease, and check it when the transaction commits.
//
// Calls    store::latest_lease
// Touches  nothing
// Locks    at commit, if the transaction has written: <hub>.worker_queue, <hub>.instance_locks and
//          <hub>.tasks, then the rows of the leases: tasks, turns, work items, by key
// Raises   QB001 lock lost, at the call or at the commit; 0A000 at PREPARE TRANSACTION
#include "ops/guard/guard.hpp"

#include <algorithm>

#include "core/hash.hpp"
#include "core/token.hpp"
#include "ops/worker_queue/worker_queue.hpp"
#include "pg/async_commit.hpp"
#include "pg/boundary.hpp"
#include "pg/clock.hpp"
#include "pg/counters.hpp"
#include "pg/errors.hpp"
#include "pg/list.hpp"
#include "pg/transaction_levels.hpp"
#include "store/lease_rows.hpp"
#include "store/tasks.hpp"

namespace belay::ops {

namespace {

// What a lease is on. The order is that in which their rows are locked.
enum class Kind : uint8 { kTask, kTurn, kWork };

struct Guard {
    Oid schema;
    Kind kind;
    core::TurnToken turn;  // of a turn
    core::WorkToken work;  // of a work item
    pg_uuid_t task;        // of a task, with its epoch
    int64 epoch;
    int level;  // of the transaction or subtransaction that asked for it

    // What its row has to say.
    core::Lease lease() const {
        switch (kind) {
            case Kind::kTask:
                return {0, 0, 0, static_cast<uint64>(epoch)};
            case Kind::kTurn:
                return {0, turn.incarnation, turn.nonce_hi, turn.nonce_lo};
            case Kind::kWork:
                break;
        }
        return {0, work.incarnation, work.nonce_hi, work.nonce_lo};
    }
    // Whether it was granted in this life of the hub.
    bool is_of(const store::Hub& hub) const {
        const int32 incarnation = store::live_incarnation(hub);
        return kind == Kind::kTask ? incarnation == hub.incarnation && epoch >= hub.epoch_floor
                                   : lease().incarnation == incarnation;
    }
};

uint64 hash_of(const pg_uuid_t& id) {
    return core::fnv1a64({reinterpret_cast<const char*>(id.data), UUID_LEN});
}

// A lease that this transaction has ended.
struct Finished {
    uint64 nonce_hi;
    uint64 nonce_lo;
    int level;
};

// They live in the memory of the transaction.
constinit pg::List<Guard> guards{};
constinit pg::List<Finished> finished{};

template <typename T>
void add(pg::List<T>* list, const T& item) {
    MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);
    list->add(item);
    MemoryContextSwitchTo(old);
}

bool is_finished(const Guard& guard) {
    core::Lease lease = guard.lease();
    if (guard.kind == Kind::kTask) {
        lease.nonce_hi = hash_of(guard.task);
    }
    return std::any_of(finished.begin(), finished.end(), [&lease](const Finished& ended) {
        return ended.nonce_hi == lease.nonce_hi && ended.nonce_lo == lease.nonce_lo;
    });
}

std::optional<Guard> read_token(const store::Hub& hub, std::optional<std::string_view> token) {
    Guard guard{.schema = hub.schema,
                .kind = Kind::kTurn,
                .turn = {},
                .work = {},
                .task = {},
                .epoch = 0,
                .level = GetCurrentTransactionNestLevel()};
    const auto turn = token ? core::decode_turn_token(*token) : std::nullopt;
    const auto work = token ? core::decode_work_token(*token) : std::nullopt;
    if (turn) {
        guard.turn = *turn;
        return guard;
    }
    if (work) {
        guard.kind = Kind::kWork;
        guard.work = *work;
        return guard;
    }
    return std::nullopt;
}

struct Finding {
    core::LeaseFault fault;
    int64 locked_until;
};

// Whether the lease stands.
Finding look(const store::Hub& hub, const Guard& guard, store::Hold hold) {
    if (!guard.is_of(hub)) {
        return {core::LeaseFault::kOtherIncarnation, 0};
    }
    const auto lease = guard.kind == Kind::kTask ? store::latest_lease(hub, guard.task, hold)
                       : guard.kind == Kind::kTurn
                           ? store::latest_lease(hub, guard.turn, hold)
                           : store::latest_lease(hub, store::key_of(guard.work), hold);
    if (!lease) {
        return {core::LeaseFault::kGone, 0};
    }
    const core::Lease granted = guard.lease();
    if (!core::matches(*lease, granted.incarnation, granted.nonce_hi, granted.nonce_lo)) {
        const bool leased = guard.kind != Kind::kTurn && lease->locked_until != 0;
        return {leased ? core::LeaseFault::kLeasedAgain : core::LeaseFault::kUnknown, 0};
    }
    // After all waiting, by the server's clock: whoever commits has none of his own.
    const bool live = core::is_live(*lease, granted.incarnation, pg::server_now_ms());
    return {live ? core::LeaseFault::kNone : core::LeaseFault::kExpired, lease->locked_until};
}

// Whether the lease stands, or was ended by this very transaction.
Finding examine(const store::Hub& hub, const Guard& guard, store::Hold hold) {
    const Finding finding = look(hub, guard, hold);
    return finding.fault != core::LeaseFault::kNone && is_finished(guard)
               ? Finding{core::LeaseFault::kNone, 0}
               : finding;
}

[[noreturn]] void raise_lost(std::string_view token, const Finding& finding) {
    raise_lock_lost("the lease that guards this transaction is lost", token, finding.fault,
                    finding.locked_until);
}

void count_lost(const Guard& guard) {
    pg::count(guard.schema,
              guard.kind == Kind::kTask   ? pg::CountedQueue::kTasks
              : guard.kind == Kind::kTurn ? pg::CountedQueue::kOrchestrator
                                          : pg::CountedQueue::kWorker,
              pg::Counter::kLostLeases);
}

[[noreturn]] void raise_task_lost(const Guard& guard, const Finding& finding) {
    pg::Facts facts(core::code_detail(finding.fault));
    facts.add("task_id", store::uuid_text(guard.task)).add("lease_epoch", guard.epoch);
    if (finding.fault == core::LeaseFault::kExpired) {
        facts.add("locked_until", finding.locked_until);
    }
    pg::raise(pg::kLockLost, "the lease that guards this transaction is lost", facts,
              "Stop working on this task: its lease is gone.");
}

[[noreturn]] void raise_lost(const Guard& guard, const Finding& finding) {
    count_lost(guard);
    if (guard.kind == Kind::kTask) {
        raise_task_lost(guard, finding);
    }
    char token[std::max(core::kTurnTokenChars, core::kWorkTokenChars)];
    std::size_t length = core::kTurnTokenChars;
    if (guard.kind == Kind::kTurn) {
        core::encode(guard.turn, token);
    } else {
        core::encode(guard.work, token);
        length = core::kWorkTokenChars;
    }
    raise_lost({token, length}, finding);
}

// The order in which all calls lock rows: by hub, tasks, turns, work items, by key.
bool in_lock_order(const Guard& a, const Guard& b) {
    if (a.schema != b.schema || a.kind != b.kind) {
        return std::pair(a.schema, a.kind) < std::pair(b.schema, b.kind);
    }
    if (a.kind == Kind::kTask) {
        return memcmp(a.task.data, b.task.data, UUID_LEN) < 0;
    }
    return a.kind == Kind::kTurn ? std::pair(a.turn.instance_key, a.turn.lock_no) <
                                       std::pair(b.turn.instance_key, b.turn.lock_no)
                                 : store::key_of(a.work) < store::key_of(b.work);
}

void lock_tables(const store::Hub& hub) {
    bool work = false;
    bool turns = false;
    bool tasks = false;
    for (const Guard& guard : guards) {
        work = work || (guard.schema == hub.schema && guard.kind == Kind::kWork);
        turns = turns || (guard.schema == hub.schema && guard.kind == Kind::kTurn);
        tasks = tasks || (guard.schema == hub.schema && guard.kind == Kind::kTask);
    }
    store::lock_lease_tables(hub, work, turns, tasks);
}

// Deferred triggers have run. Nothing of the transaction is durable yet, and an ERROR undoes it
// all.
void check_guards() {
    // What wrote nothing has nothing to protect by a lock, and may be forbidden to write one.
    const auto hold =
        TransactionIdIsValid(GetTopTransactionIdIfAny()) ? store::Hold::kKeep : store::Hold::kLook;
    AcceptInvalidationMessages();
    std::sort(guards.begin(), guards.end(), in_lock_order);
    Oid entered = InvalidOid;
    for (const Guard& guard : guards) {
        const store::Hub* hub = store::find_hub(guard.schema);
        if (hub != nullptr && hold == store::Hold::kKeep && entered != guard.schema) {
            lock_tables(*hub);
            entered = guard.schema;
            hub = store::find_hub(guard.schema);  // the locks have let invalidations in
        }
        const Finding finding =
            hub == nullptr ? Finding{core::LeaseFault::kGone, 0} : examine(*hub, guard, hold);
        if (finding.fault != core::LeaseFault::kNone) {
            raise_lost(guard, finding);
        }
    }
}

extern "C" void belay_guards_at_end(XactEvent event, void*) {
    switch (event) {
        case XACT_EVENT_PRE_COMMIT:
            if (guards.count > 0) {
                pg::at_boundary(check_guards);
            }
            break;
        case XACT_EVENT_PRE_PREPARE:
            if (guards.count > 0) {
                ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                                errmsg("a transaction that is guarded by a lease cannot be "
                                       "prepared"),
                                errdetail("Whether the lease is still held can only be checked "
                                          "when the transaction commits."),
                                errhint("Commit it in one phase.")));
            }
            break;
        case XACT_EVENT_COMMIT:
        case XACT_EVENT_ABORT:
        case XACT_EVENT_PREPARE:
        case XACT_EVENT_PARALLEL_COMMIT:
        case XACT_EVENT_PARALLEL_ABORT:
            guards = {};  // their memory goes with the transaction
            finished = {};
            break;
        case XACT_EVENT_PARALLEL_PRE_COMMIT:
            break;
    }
}

// What a rolled-back subtransaction asked for or did is void; a released one hands it to its
// parent.
template <typename T>
void end_level(pg::List<T>* list, bool committed) {
    list->count = pg::end_level(list->items, list->count, committed, [](const T&) {});
}

extern "C" void belay_guards_at_subtransaction(SubXactEvent event, SubTransactionId,
                                               SubTransactionId, void*) {
    if (event != SUBXACT_EVENT_COMMIT_SUB && event != SUBXACT_EVENT_ABORT_SUB) {
        return;
    }
    end_level(&guards, event == SUBXACT_EVENT_COMMIT_SUB);
    end_level(&finished, event == SUBXACT_EVENT_COMMIT_SUB);
}

}  // namespace

namespace {

void set_guard(const store::Hub& hub, const Guard& wanted) {
    const Finding finding = examine(hub, wanted, store::Hold::kLook);
    if (finding.fault != core::LeaseFault::kNone) {
        raise_lost(wanted, finding);
    }
    pg::commit_as_asked();
    add(&guards, wanted);
}

}  // namespace

void guard(const store::Hub& hub, std::optional<std::string_view> token) {
    const auto wanted = read_token(hub, token);
    if (!wanted) {
        raise_lost(token.value_or(""), {core::LeaseFault::kUnknown, 0});
    }
    set_guard(hub, *wanted);
}

void guard_task(const store::Hub& hub, const pg_uuid_t& id, int64 epoch) {
    set_guard(hub, {.schema = hub.schema,
                    .kind = Kind::kTask,
                    .turn = {},
                    .work = {},
                    .task = id,
                    .epoch = epoch,
                    .level = GetCurrentTransactionNestLevel()});
}

void note_finished(const core::Lease& lease) {
    add(&finished, {lease.nonce_hi, lease.nonce_lo, GetCurrentTransactionNestLevel()});
}

void note_finished_task(const pg_uuid_t& id, int64 epoch) {
    add(&finished, {hash_of(id), static_cast<uint64>(epoch), GetCurrentTransactionNestLevel()});
}

void watch_guards() {
    RegisterXactCallback(belay_guards_at_end, nullptr);
    RegisterSubXactCallback(belay_guards_at_subtransaction, nullptr);
}

}  // namespace belay::ops
