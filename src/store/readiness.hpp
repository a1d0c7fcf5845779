// What a waiting session looks at: whether something may be fetched now, and when the next falls
// due.
#pragma once

#include "pg/pg.hpp"
#include "store/table/tables.hpp"

namespace belay::store {

struct Readiness {
    int64 items;     // that may be fetched now, up to the limit
    int64 next_due;  // ms; core::kNever if nothing is hidden
};
Readiness orchestrator_readiness(Tables& tables, int64 now, int limit);
Readiness worker_readiness(Tables& tables, int64 now, int limit);
Readiness outbox_readiness(const Hub& hub, int64 now);

// Since when the oldest item that can be fetched now has been ready, in ms; of work items, among up
// to 1000 lanes.
std::optional<int64> oldest_ready_message(const Hub& hub, int64 now);
std::optional<int64> oldest_ready_work(const Hub& hub, int64 now);

// Rows of a queue and of what hangs on it, each counted up to a limit. No table is read as a whole.
int64 count_messages(const Hub& hub, int64 limit);
int64 count_work(const Hub& hub, int64 limit);
int64 count_dead_letters(const Hub& hub, int64 limit);
int64 count_schedule_errors(const Hub& hub);

// How far the readers of events are behind: the age of the first event that each has not read, in
// ms; 0 if there is none. Of one that reads some topics only, among the first 1000 events behind
// its place; the age of the last of them if it wants none.
struct ReaderLag {
    std::string_view name;
    int64 lag_ms;
    int64 lost;  // events that retention deleted before they were read
};
std::span<const ReaderLag> reader_lags(const Hub& hub, int64 now);

// Leases that are live: the key under which the store notes them, and their deadline.
struct LiveLease {
    uint64 key;
    int64 deadline;
};
std::span<const LiveLease> live_turns(const Hub& hub, int64 now, int limit);
std::span<const LiveLease> live_work(const Hub& hub, int64 now, int limit);
std::span<const LiveLease> live_sessions(const Hub& hub, int64 now, int limit);
std::span<const LiveLease> live_batches(const Hub& hub, int64 now, int limit);

// The keys under which leases are noted for waiters. A queue's items, and what else can end in it,
// never have the same.
uint64 lease_key_of_work(int64 id);
uint64 lease_key_of_session(std::string_view session_id);
uint64 lease_key_of_turn(int64 instance_key);
uint64 lease_key_of_batch(std::string_view subscription);

// Whether a transaction that was prepared before the server's start is still open. After a crash
// the server starts anew without a new postmaster.
bool has_old_prepared();
// Whether a transaction of this database that was prepared up to that time is still open.
bool has_prepared_before(TimestampTz time);
// Whether none is left that could still add rows unseen by a cursor made then. Asks at most once a
// second and session; false also if it did not ask.
bool is_settled_since(TimestampTz made);

// What a reader can see change of an instance.
struct InstanceMark {
    int64 custom_status_version;
    int64 execution_id;
    std::string_view status;
};
std::optional<InstanceMark> read_mark(const Hub& hub, std::string_view instance_id);

}  // namespace belay::store
