// Commits that need not wait for the disk.
//
// A lease that is lost in a crash only means that its item is delivered again. With
// belay.async_leases on, a transaction that did nothing but take or renew leases commits
// asynchronously. A transaction that wrote anything else commits as its user asked.
#pragma once

#include "pg/transactions.hpp"

namespace belay::pg {

// Called around the part of a call that writes nothing but leases.
void begin_lease_write();
void end_lease_write();

// This transaction commits as its user asked, regardless of what else it does.
void commit_as_asked();

// Decides before the commit.
extern const Participant kAsyncCommitParticipant;

}  // namespace belay::pg
