// Passes what the transaction manager reports on to the participants, in their order.
//
// Touches PostgreSQL's lists of callbacks; takes no locks. The callbacks after the end of a
// transaction run where an ERROR is not allowed any more.
#include "pg/transactions.hpp"

#include "pg/boundary.hpp"

namespace belay::pg {

namespace {

constinit std::span<const Participant* const> participants{};

// The end that is under way, until its locks are gone.
constinit std::optional<Ending> under_way;

void before_end(Ending ending) {
    under_way.reset();
    at_boundary([ending] {
        for (const Participant* participant : participants) {
            if (participant->before_end != nullptr) {
                participant->before_end(ending);
            }
        }
    });
}

void at_end(Ending ending) {
    under_way = ending;
    for (const Participant* participant : participants) {
        if (participant->at_end != nullptr) {
            participant->at_end(ending);
        }
    }
}

extern "C" void belay_transaction_ends(XactEvent event, void*) {
    switch (event) {
        case XACT_EVENT_PRE_COMMIT:
            before_end(Ending::kCommit);
            break;
        case XACT_EVENT_PRE_PREPARE:
            before_end(Ending::kPrepare);
            break;
        case XACT_EVENT_COMMIT:
        case XACT_EVENT_PARALLEL_COMMIT:
            at_end(Ending::kCommit);
            break;
        case XACT_EVENT_PREPARE:
            at_end(Ending::kPrepare);
            break;
        case XACT_EVENT_ABORT:
        case XACT_EVENT_PARALLEL_ABORT:
            at_end(Ending::kAbort);
            break;
        case XACT_EVENT_PARALLEL_PRE_COMMIT:
            break;  // a parallel worker writes nothing
    }
}

extern "C" void belay_subtransaction_ends(SubXactEvent event, SubTransactionId, SubTransactionId,
                                          void*) {
    if (event != SUBXACT_EVENT_COMMIT_SUB && event != SUBXACT_EVENT_ABORT_SUB) {
        return;
    }
    const bool commits = event == SUBXACT_EVENT_COMMIT_SUB;
    if (!commits) {
        under_way = Ending::kSubtransactionAbort;
    }
    for (const Participant* participant : participants) {
        if (participant->at_subtransaction_end != nullptr) {
            participant->at_subtransaction_end(commits);
        }
    }
}

// Called for each resource owner of the transaction; when the first one comes to this phase, all of
// them have been through the one of the locks.
extern "C" void belay_locks_are_gone(ResourceReleasePhase phase, bool, bool, void*) {
    if (phase != RESOURCE_RELEASE_AFTER_LOCKS || !under_way) {
        return;
    }
    const Ending ending = *under_way;
    under_way.reset();
    for (const Participant* participant : participants) {
        if (participant->after_locks != nullptr) {
            participant->after_locks(ending);
        }
    }
}

}  // namespace

void install_participants(std::span<const Participant* const> in_order) {
    participants = in_order;
    RegisterXactCallback(belay_transaction_ends, nullptr);
    RegisterSubXactCallback(belay_subtransaction_ends, nullptr);
    RegisterResourceReleaseCallback(belay_locks_are_gone, nullptr);
}

}  // namespace belay::pg
