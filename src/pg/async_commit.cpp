// Whether this transaction did nothing but lease, and may commit without waiting for the disk.
//
// Touches  the setting synchronous_commit, for this one commit; a flag of the session
// Must not apply to a transaction that something has called commit_as_asked in
#include "pg/async_commit.hpp"

#include "pg/pg.hpp"
#include "pg/settings.hpp"

namespace belay::pg {

namespace {

// Whether the write began in a transaction that had written nothing, and where its WAL ended.
constinit bool alone = false;
constinit XLogRecPtr end_of_lease = InvalidXLogRecPtr;
constinit bool refused = false;

void before_end(Ending ending) {
    if (ending == Ending::kCommit && !refused && end_of_lease != InvalidXLogRecPtr &&
        end_of_lease == XactLastRecEnd && synchronous_commit > SYNCHRONOUS_COMMIT_OFF) {
        (void)set_config_option("synchronous_commit", "off", PGC_USERSET, PGC_S_SESSION,
                                GUC_ACTION_LOCAL, true, 0, false);
    }
}

void at_end(Ending) {
    alone = false;
    refused = false;
    end_of_lease = InvalidXLogRecPtr;
}

}  // namespace

constinit const Participant kAsyncCommitParticipant{
    .before_end = before_end,
    .at_end = at_end,
    .at_subtransaction_end = nullptr,
    .after_locks = nullptr,
};

void begin_lease_write() {
    alone = settings.async_leases && !TransactionIdIsValid(GetTopTransactionIdIfAny());
}

void end_lease_write() {
    if (alone) {
        end_of_lease = XactLastRecEnd;
        alone = false;
    }
}

void commit_as_asked() {
    refused = true;
}

}  // namespace belay::pg
