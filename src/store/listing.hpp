// What operators read of instances: lists, totals, trees, and what keeps an instance waiting.
//
// Everything here reads with the caller's snapshot and locks nothing.
#pragma once

#include "pg/pg.hpp"
#include "store/hub.hpp"
#include "store/open_transaction.hpp"
#include "store/statements.hpp"

namespace belay::store {

// ---- Instances and executions ----

struct InstanceFilter {
    std::optional<std::string_view> status;
    std::optional<std::string_view> name;
    std::optional<std::string_view> prefix;
    std::optional<int64> created_from;
    std::optional<int64> created_before;
};

// A place in the order of list_instances.
struct InstancePlace {
    int64 created_at;  // microseconds as stored
    std::string_view instance_id;
};
std::optional<InstancePlace> place_of_instance(const Hub& hub, std::string_view instance_id);

// Ids of instances, newest first, behind a place. Bounded: at most 10,000 are looked at, or those
// that an index has for the filter. Not whole: these did not fill the page, and there are more.
struct InstanceList {
    Listing rows;
    bool whole;
};
InstanceList list_instances(const Hub& hub, const InstanceFilter& filter,
                            const std::optional<InstancePlace>& after, std::optional<int64> limit,
                            bool bounded);

Listing list_executions(const Hub& hub, std::string_view instance_id);
// id, name, version, current execution, created, updated, status, output, parent.
using InstanceInfo = Out<Text, Text, Text, int64, Us, Us, Text, Maybe<Unread<Text>>, Maybe<Text>>;
InstanceInfo instance_info(const Hub& hub, std::string_view instance_id);
Listing execution_info(const Hub& hub, std::string_view instance_id, int64 execution_id);
Listing system_metrics(const Hub& hub);
Listing queue_depths(const Hub& hub, int64 now);

// ---- Trees ----

Listing list_children(const Hub& hub, std::string_view instance_id);
Listing instance_tree(const Hub& hub, std::string_view instance_id);

struct Parent {
    std::optional<std::string_view> instance_id;
};
std::optional<Parent> read_parent(const Hub& hub, std::string_view instance_id);

// ---- One instance ----

struct HistorySize {
    int64 events;
    int64 bytes;
};
HistorySize history_size(const Hub& hub, std::string_view instance_id, int64 execution_id);
std::optional<std::string_view> first_event(const Hub& hub, std::string_view instance_id,
                                            int64 execution_id);

struct KvSize {
    int64 keys;
    int64 bytes;
};
KvSize kv_size(const Hub& hub, std::string_view instance_id);

// The messages of an instance as a fetch would meet them.
struct MessageCounts {
    int64 visible;
    int64 hidden;
    int64 exhausted;  // visible ones that were leased max_attempts times
    int64 visible_queue_messages;
    std::optional<int64> next_visible;  // of the hidden ones
    std::optional<int64> next_start;    // of hidden start messages
    bool start_visible;
    std::optional<int64> oldest_created;
};
MessageCounts count_messages(const Hub& hub, std::string_view instance_id, int64 now,
                             int64 max_attempts);

// The deadline of the instance's lock if it is live.
std::optional<int64> live_until(const Hub& hub, std::string_view instance_id, int64 now);

// The open transaction, other than ours, that holds the instance: its key, its lock row or one of
// its messages.
std::optional<OpenTransaction> instance_holder(const Hub& hub, std::string_view instance_id);

// The open transaction, other than ours, that holds the item or its session.
std::optional<OpenTransaction> work_holder(const Hub& hub, int64 id,
                                           std::optional<std::string_view> session_id);

struct ActivityCounts {
    int64 ready;
    int64 leased;
    int64 delayed;
};
ActivityCounts count_activities(const Hub& hub, std::string_view instance_id, int64 now);
int64 count_unfinished_children(const Hub& hub, std::string_view instance_id);

// What an instance waits for, at most so many rows. Activity id, item, owner, attempts, end of the
// lease, time from which it is visible.
using AwaitedActivities = Out<Maybe<int64>, Text, Maybe<Text>, int32, Maybe<int64>, Maybe<int64>>;
AwaitedActivities awaited_activities(const Hub& hub, std::string_view instance_id, int64 now,
                                     int limit);
// Messages that are not visible yet.
using AwaitedMessages = Out<Text, Ms>;
AwaitedMessages awaited_messages(const Hub& hub, std::string_view instance_id, int64 now,
                                 int limit);
Out<Text> running_children(const Hub& hub, std::string_view instance_id, int limit);
// Names of events that its last subscriptions have not been given.
Out<Text> awaited_events(const Hub& hub, std::string_view instance_id, int limit);

// Dead letters of an instance: reason and number.
using DeadLetterCounts = Out<Text, int64>;
DeadLetterCounts count_dead_letters(const Hub& hub, std::string_view instance_id);

}  // namespace belay::store
