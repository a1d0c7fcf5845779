// Commits that need not wait for the disk.
//
// A lease that is lost in a crash only means that its item is delivered again. With
// belay.async_leases on, a transaction that did nothing but take or renew leases commits
// asynchronously. A transaction that wrote anything else commits as its user asked.
#pragma once

namespace belay::pg {

// Called around the part of a call that writes nothing but leases.
void begin_lease_write();
void end_lease_write();

// This transaction commits as its user asked, whatever else it does.
void commit_as_asked();

// Registers the callback that decides at commit. Called once, from _PG_init.
void watch_commits();

}  // namespace belay::pg
