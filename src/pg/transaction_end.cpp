#include "pg/transaction_end.hpp"

#include <optional>

namespace belay::pg {

namespace {

constexpr int kMostHandlers = 4;

constinit EndHandler handlers[kMostHandlers] = {};
constinit int handler_count = 0;

// The end that is under way, until its locks are gone.
constinit std::optional<Ending> under_way;

std::optional<Ending> ending_of(XactEvent event) {
    switch (event) {
        case XACT_EVENT_COMMIT:
        case XACT_EVENT_PARALLEL_COMMIT:
            return Ending::kCommit;
        case XACT_EVENT_PREPARE:
            return Ending::kPrepare;
        case XACT_EVENT_ABORT:
        case XACT_EVENT_PARALLEL_ABORT:
            return Ending::kAbort;
        default:
            return std::nullopt;
    }
}

extern "C" void belay_transaction_ends(XactEvent event, void*) {
    under_way = ending_of(event);
}

extern "C" void belay_subtransaction_ends(SubXactEvent event, SubTransactionId, SubTransactionId,
                                          void*) {
    if (event == SUBXACT_EVENT_ABORT_SUB) {
        under_way = Ending::kSubtransactionAbort;
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
    for (int i = 0; i < handler_count; ++i) {
        handlers[i](ending);
    }
}

void install() {
    RegisterXactCallback(belay_transaction_ends, nullptr);
    RegisterSubXactCallback(belay_subtransaction_ends, nullptr);
    RegisterResourceReleaseCallback(belay_locks_are_gone, nullptr);
}

}  // namespace

void call_after_locks(EndHandler handler) {
    if (handler_count == 0) {
        install();
    }
    if (handler_count == kMostHandlers) {
        elog(ERROR, "too many handlers of the end of a transaction");
    }
    handlers[handler_count++] = handler;
}

}  // namespace belay::pg
