// What is promised beyond a transaction is on disk first, regardless of synchronous_commit.
//
// A transaction that commits asynchronously is seen by others before it is on disk, and a crash
// may forget it. That is the choice of its user as long as nothing outside the server relies on
// it. An epoch, the position of an event and the key of an intent are relied on: after a crash
// they must not be given once more. test/lint/durable.sh lists what has to call these functions.
#pragma once

namespace belay::pg {

// The commit of this transaction waits until it is on the server's disk.
void flush_at_commit();

// All that has been committed so far is on disk, also by others.
void flush_committed();

}  // namespace belay::pg
