// The numbers of an overview: each count stops at a limit, and no table is read as a whole.
//
// May touch: nothing; declarations only.
#pragma once

#include "pg/pg.hpp"
#include "store/hub.hpp"
#include "store/statements.hpp"

namespace belay::store {

// A queue of tasks: name, paused, ready, delayed, blocked, active, suspended, overdue leases, age
// of the oldest ready task in ms, concurrency, rate, burst, owners with leases, the names of the
// counts that stopped at their limit, and by whom and when it was paused, by the
// events of operators.
using TaskQueueRows =
    Out<Text, bool, int64, int64, int64, int64, int64, int64, Maybe<int64>, Maybe<int64>,
        Maybe<double>, Maybe<double>, int64, ListOf<Text>, Maybe<Text>, Maybe<int64>>;
// At most most queues, by name. cap is the most rows of a state that are looked at in all queues
// together; at least 200 of each queue are.
TaskQueueRows task_queues(const Hub& hub, int64 now, int64 cap, int64 most);

// A count that stops at a limit.
struct Capped {
    int64 count;
    bool capped;
};

// queue, reason, count, time of the newest, of the newest cap dead letters.
using DeadLetterGroups = Out<Text, Text, int64, Ms>;
DeadLetterGroups dead_letter_groups(const Hub& hub, int64 cap);

struct Ended {
    Capped failed;
    Capped expired;
};
Ended failed_since(const Hub& hub, int64 since_ms, int64 cap);

Capped count_running(const Hub& hub, int64 cap);
Capped count_intents(const Hub& hub, int64 cap);
// What can be fetched, what waits for its time, and what has a lease. Messages with a lease count
// as ready.
struct QueueDepth {
    int64 ready;
    int64 waiting;
    int64 leased;
    bool capped;
};
QueueDepth message_depth(const Hub& hub, int64 now, int64 cap);
QueueDepth work_depth(const Hub& hub, int64 now, int64 cap);

// name and error of schedules whose last run failed.
using ScheduleErrors = Out<Text, Text>;
ScheduleErrors schedule_errors(const Hub& hub, int64 most);

// name, events that were not read (of the next cap), whether there are more, age of the first.
using SubscriptionLags = Out<Text, int64, bool, Maybe<int64>>;
SubscriptionLags subscription_lags(const Hub& hub, int64 now, int64 cap);

// queue, reason, and by whom and when by the events of operators: what is paused of the hub.
using PauseRows = Out<Text, Text, Maybe<Text>, Maybe<int64>>;
PauseRows paused_queues(const Hub& hub);

// table and estimated number of rows, of the tables that grow.
using Estimates = Out<Text, int64>;
Estimates row_estimates(const Hub& hub);

// pid and age in ms of the transaction of this database with the oldest snapshot.
using OldestSnapshot = Out<int32, int64>;
OldestSnapshot oldest_snapshot(const Hub& hub);

// ---- Owners of leases ----

struct OwnerRange {
    std::optional<std::string_view> after;
    int64 limit;
    int64 scan;  // the most rows of each kind that are looked at
};
// Who has leases, by owner id, as a JSON object: rows, turns, next, scanned, complete.
Jsonb* list_owners(const Hub& hub, int64 now, const OwnerRange& range);

// ---- Search ----

// what, id, label.
Listing find(const Hub& hub, std::string_view text, std::optional<pg_uuid_t> id);

}  // namespace belay::store
