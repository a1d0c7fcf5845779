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
#include "core/transitions/turn.hpp"
#include "core/transitions/work.hpp"
#include "ops/lost_lease.hpp"
#include "pg/async_commit.hpp"
#include "pg/clock.hpp"
#include "pg/errors.hpp"
#include "pg/list.hpp"
#include "pg/transaction_levels.hpp"
#include "shmem/counters.hpp"
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

// Of a task: every gain and loss of its lease has an epoch of its own.
core::LeaseFault task_fault(const Guard& guard, const core::Lease& lease, int64 now) {
    const core::Lease granted = guard.lease();
    if (!core::matches(lease, granted.incarnation, granted.nonce_hi, granted.nonce_lo)) {
        return lease.locked_until != 0 ? core::LeaseFault::kLeasedAgain
                                       : core::LeaseFault::kUnknown;
    }
    return core::is_live(lease, granted.incarnation, now) ? core::LeaseFault::kNone
                                                          : core::LeaseFault::kExpired;
}

std::optional<core::Lease> latest_lease(store::Tables& tables, const Guard& guard,
                                        store::Hold hold) {
    switch (guard.kind) {
        case Kind::kTask:
            return store::latest_lease(tables, guard.task, hold);
        case Kind::kTurn:
            return store::latest_lease(tables, guard.turn, hold);
        case Kind::kWork:
            break;
    }
    return store::latest_lease(tables, store::key_of(guard.work), hold);
}

// Whether the lease stands.
Finding look(store::Tables& tables, const Guard& guard, store::Hold hold) {
    if (!guard.is_of(tables)) {
        return {core::LeaseFault::kOtherIncarnation, 0};
    }
    const auto lease = latest_lease(tables, guard, hold);
    if (!lease) {
        return {core::LeaseFault::kGone, 0};
    }
    // After all waiting, by the server's clock: a committing session has no other.
    const int64 now = pg::server_now_ms();
    const int32 incarnation = store::live_incarnation(tables);
    const core::LeaseFault fault =
        guard.kind == Kind::kTask ? task_fault(guard, *lease, now)
        : guard.kind == Kind::kTurn
            ? core::fault_of(guard.turn, *lease, incarnation, now)
            : core::fault_of(guard.work, core::WorkState{.due = 0, .lease = *lease, .attempt = 0},
                             incarnation, now);
    return {fault, fault == core::LeaseFault::kExpired || fault == core::LeaseFault::kNone
                       ? lease->locked_until
                       : 0};
}

// Whether the lease stands, or was ended by this very transaction.
Finding examine(store::Tables& tables, const Guard& guard, store::Hold hold) {
    const Finding finding = look(tables, guard, hold);
    return finding.fault != core::LeaseFault::kNone && is_finished(guard)
               ? Finding{core::LeaseFault::kNone, 0}
               : finding;
}

// At a commit no statement can run any more: the fault says all that is known.
const char* message_of(const Finding& finding) {
    return psprintf("the lease that guards this transaction is lost: %s",
                    core::clause(finding.fault));
}

[[noreturn]] void raise_lost(std::string_view token, const Finding& finding) {
    raise_lock_lost(message_of(finding), token, finding.fault, finding.locked_until);
}

void count_lost(const Guard& guard) {
    counters::add(guard.schema,
                  guard.kind == Kind::kTask   ? counters::Queue::kTasks
                  : guard.kind == Kind::kTurn ? counters::Queue::kOrchestrator
                                              : counters::Queue::kWorker,
                  counters::Counter::kLostLeases);
}

[[noreturn]] void raise_task_lost(const Guard& guard, const Finding& finding) {
    pg::Facts facts(core::code_detail(finding.fault));
    facts.add("task_id", store::uuid_text(guard.task)).add("lease_epoch", guard.epoch);
    if (finding.fault == core::LeaseFault::kExpired) {
        facts.add("locked_until", finding.locked_until);
    }
    pg::raise(pg::kLockLost, message_of(finding), facts,
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

// Checks the guards of one hub.
void check_guards_of(Oid schema, std::span<const Guard> of_hub, store::Hold hold) {
    const store::Hub* hub = store::find_hub(schema);
    if (hub != nullptr && hold == store::Hold::kKeep) {
        (void)store::hold_place(*hub, true);
        lock_tables(*hub);
        hub = store::find_hub(schema);  // the locks have let invalidations in
    }
    if (hub == nullptr) {
        raise_lost(of_hub.front(), {core::LeaseFault::kGone, 0});
    }
    store::with_tables(*hub, [of_hub, hold](store::Tables& tables) {
        for (const Guard& guard : of_hub) {
            const Finding finding = examine(tables, guard, hold);
            if (finding.fault != core::LeaseFault::kNone) {
                raise_lost(guard, finding);
            }
        }
    });
}

// Deferred triggers have run. No part of the transaction is durable yet, and an ERROR undoes it
// all.
void check_guards() {
    // What wrote nothing has nothing to protect by a lock, and may be forbidden to write one.
    const auto hold =
        TransactionIdIsValid(GetTopTransactionIdIfAny()) ? store::Hold::kKeep : store::Hold::kLook;
    AcceptInvalidationMessages();
    std::sort(guards.begin(), guards.end(), in_lock_order);
    const Guard* from = guards.begin();
    while (from != guards.end()) {
        const Oid schema = from->schema;
        const Guard* to =
            std::find_if(from, static_cast<const Guard*>(guards.end()),
                         [schema](const Guard& guard) { return guard.schema != schema; });
        check_guards_of(schema, {from, to}, hold);
        from = to;
    }
}

void before_end(pg::Ending ending) {
    if (guards.count == 0) {
        return;
    }
    if (ending == pg::Ending::kPrepare) {
        ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                        errmsg("a transaction that is guarded by a lease cannot be prepared"),
                        errdetail("Whether the lease is still held can only be checked when the "
                                  "transaction commits."),
                        errhint("Commit it in one phase.")));
    }
    check_guards();
}

void at_end(pg::Ending) {
    guards = {};  // their memory goes with the transaction
    finished = {};
}

// What a rolled-back subtransaction asked for or did is void; a released one hands it to its
// parent.
template <typename T>
void end_level(pg::List<T>* list, bool committed) {
    list->count = pg::end_level(list->items, list->count, committed, [](const T&) {});
}

void at_subtransaction_end(bool commits) {
    end_level(&guards, commits);
    end_level(&finished, commits);
}

void set_guard(store::Tables& tables, const Guard& wanted) {
    const Finding finding = examine(tables, wanted, store::Hold::kLook);
    if (finding.fault != core::LeaseFault::kNone) {
        raise_lost(wanted, finding);
    }
    pg::commit_as_asked();
    add(&guards, wanted);
}

}  // namespace

void guard(store::Tables& tables, std::optional<std::string_view> token) {
    const auto wanted = read_token(tables, token);
    if (!wanted) {
        raise_lost(token.value_or(""), {core::LeaseFault::kUnknown, 0});
    }
    set_guard(tables, *wanted);
}

void guard_task(store::Tables& tables, const pg_uuid_t& id, int64 epoch) {
    set_guard(tables, {.schema = tables.hub.schema,
                       .kind = Kind::kTask,
                       .turn = {},
                       .work = {},
                       .task = id,
                       .epoch = epoch,
                       .level = GetCurrentTransactionNestLevel()});
}

void allow_ended_lease(const core::Lease& lease) {
    add(&finished, {lease.nonce_hi, lease.nonce_lo, GetCurrentTransactionNestLevel()});
}

void allow_ended_task(const pg_uuid_t& id, int64 epoch) {
    add(&finished, {hash_of(id), static_cast<uint64>(epoch), GetCurrentTransactionNestLevel()});
}

constinit const pg::Participant kGuardParticipant{
    .before_end = before_end,
    .at_end = at_end,
    .at_subtransaction_end = at_subtransaction_end,
    .after_locks = nullptr,
};

}  // namespace belay::ops
