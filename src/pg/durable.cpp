// Waiting for the disk: of this transaction's commit, or of all WAL written so far.
//
// Touches  the server's WAL
// Must not flush beyond the last record: see end_of_wal
#include "pg/durable.hpp"

#include "pg/async_commit.hpp"
#include "pg/pg.hpp"

namespace belay::pg {

namespace {

// The end of the WAL that has been written so far. At the end of a page the server names the place
// behind the header of the next one, which is not there yet and cannot be flushed.
XLogRecPtr end_of_wal() {
    const XLogRecPtr next = GetXLogInsertRecPtr();
    const uint64 header = XLogSegmentOffset(next, wal_segment_size) < XLOG_BLCKSZ
                              ? SizeOfXLogLongPHD
                              : SizeOfXLogShortPHD;
    return next % XLOG_BLCKSZ == header ? next - header : next;
}

}  // namespace

void flush_at_commit() {
    ForceSyncCommit();
    commit_as_asked();  // and for synchronous standbys, too
}

void flush_committed() {
    XLogFlush(end_of_wal());
}

}  // namespace belay::pg
