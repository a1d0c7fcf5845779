// Pages of what a hub holds: one index is followed from a place on, within a budget of rows.
//
// Each function here runs one query of the same form. The inner part follows an index from the key
// of the last page on, looks at no more rows than the budget, and says of each whether it fits the
// filter. The outer part numbers the rows, keeps those that fit and the last one that was looked
// at, and stops at the limit. Rows are numbered and judged one by one as the index yields them, so
// a page that is full early has looked at little.
//
// Touches  nothing: declarations only
#pragma once

#include "pg/pg.hpp"
#include "store/hub.hpp"
#include "store/statements.hpp"

namespace belay::store {

// Where a page begins and how far it may look.
struct PageRange {
    Jsonb* after;  // key of the row behind which it begins, as the rows had it; null: at the start
    int64 limit;
    int64 scan;
};

// Whether the row fits the filter, whether no further one was looked at, how many were looked at
// up to it, its key, its columns as a JSON object (null if it does not fit), and its bodies: two
// documents and two texts.
using PageRows = Out<bool, bool, int64, Jsonb*, Jsonb*, Maybe<Unread<Jsonb*>>,
                     Maybe<Unread<Jsonb*>>, Maybe<Unread<Text>>, Maybe<Unread<Text>>>;

// The text of a page. SOURCE is a query in the order of the index, with its own LIMIT, of the
// columns of the key and browse_fits; JOIN adds the rows of those that are shown, so that what is
// only looked at stays narrow. KEY and ROW are expressions of `p` and of what JOIN names, BODIES
// the four bodies.
#define BELAY_PAGE(KEY, ROW, BODIES, SOURCE, JOIN)                                                 \
    "SELECT p.browse_fits, p.browse_last, p.browse_nr, " KEY ", CASE WHEN p.browse_fits THEN " ROW \
    " END, " BODIES                                                                                \
    "  FROM (SELECT w.* FROM (SELECT s.*, pg_catalog.row_number() OVER () AS browse_nr,"           \
    "               pg_catalog.lead(true) OVER () IS NULL AS browse_last"                          \
    "          FROM (" SOURCE                                                                      \
    ") AS s) AS w WHERE w.browse_fits OR w.browse_last LIMIT $2)"                                  \
    " AS p " JOIN

// A timestamptz in milliseconds.
#define BELAY_MS(TIME) \
    "CAST(pg_catalog.round(pg_catalog.date_part('epoch', " TIME ") {*} 1000) AS pg_catalog.int8)"
#define BELAY_NO_DOCUMENT "CAST(NULL AS pg_catalog.jsonb)"
#define BELAY_NO_TEXT "CAST(NULL AS pg_catalog.text)"

// ---- Tasks ----

struct TaskPageFilter {
    std::optional<std::string_view> queue;
    std::optional<std::span<const std::string_view>> states;
    std::optional<pg_uuid_t> flow_id;
    std::optional<std::string_view> kind;
    Jsonb* tags;
    std::optional<std::string_view> worker;
    std::optional<std::string_view> worker_instance;
    std::optional<int64> created_from;
    std::optional<int64> created_to;
    std::optional<std::string_view> pending;
    Jsonb* payload;
    Jsonb* result;
    Jsonb* failure;
    std::optional<std::string_view> message;
    std::optional<std::string_view> dedup_key;
    std::optional<std::string_view> flow_key;
    std::optional<pg_uuid_t> upto;
};
// In the order of the enumerators of ops: by id, newest first; by end, newest first; those that
// failed or expired; by due time; by lease; as claims take them; suspended and blocked ones.
enum class TaskOrder : uint8 { kCreated, kEnded, kFailed, kDue, kLease, kClaim, kParked };
// Bodies: payload, result; failure_message, progress_message.
PageRows browse_tasks(const Hub& hub, TaskOrder order, const TaskPageFilter& filter,
                      const PageRange& range);

// ---- Instances ----

struct InstancePageFilter {
    std::optional<std::span<const std::string_view>> statuses;
    std::optional<std::string_view> name;
    std::optional<std::string_view> version;
    std::optional<std::string_view> prefix;
    std::optional<std::string_view> parent;
    std::optional<int64> created_from;
    std::optional<int64> created_to;
    std::optional<std::string_view> input;
    std::optional<std::string_view> output;
    std::optional<int64> upto;  // created at, in ms
};
enum class InstanceOrder : uint8 { kCreated, kEnded, kFailed, kRunning };
// Bodies: custom_status, output.
PageRows browse_instances(const Hub& hub, InstanceOrder order, const InstancePageFilter& filter,
                          const PageRange& range);

// ---- Queues and dead letters ----

// Newest or oldest first.
enum class Direction : uint8 { kNewest, kOldest };

struct ItemPageFilter {
    std::optional<std::string_view> instance_id;
    std::optional<std::string_view> session_id;
    std::optional<std::string_view> tag;
    std::optional<std::string_view> name;  // of the activity, orchestration or event
    std::optional<std::string_view> state;
    std::optional<std::string_view> owner;
    std::optional<int64> min_attempts;
};
// Work items by stream, then by due time and id. Bodies: work_item, last_error.
PageRows browse_work_items(const Hub& hub, Direction direction, const ItemPageFilter& filter,
                           int64 now, const PageRange& range);

enum class MessageOrder : uint8 { kNewest, kOldest, kParked };
// Messages by slot, then by the time from which they are visible; those of one instance by id.
// Parked ones by the time they came. Body: work_item.
PageRows browse_messages(const Hub& hub, MessageOrder order, const ItemPageFilter& filter,
                         const PageRange& range);

struct DeadLetterPageFilter {
    std::optional<std::string_view> queue;
    std::optional<std::string_view> reason;
    std::optional<std::string_view> instance_id;
    std::optional<std::string_view> name;
    std::optional<std::string_view> tag;
    std::optional<int64> max_id;
};
// Bodies: work_item, detail.
PageRows browse_dead_letters(const Hub& hub, Direction direction,
                             const DeadLetterPageFilter& filter, const PageRange& range);

// ---- Events, histories, flows ----

struct EventPageFilter {
    std::optional<std::span<const std::string_view>> topics;
    std::optional<std::span<const std::string_view>> types;
    std::optional<std::string_view> subject;
    std::optional<std::string_view> by;
    std::optional<int64> from_ms;
    std::optional<int64> to_ms;
};
// Up to which events of this incarnation are shown: a position, or a transaction id.
struct EventLimit {
    std::optional<int64> position;
    uint64 xid;
};
// Body: details. Events of one subject in topic operator have an index of their own.
PageRows browse_events(const Hub& hub, Direction direction, const EventPageFilter& filter,
                       const EventLimit& upto, const PageRange& range);

struct HistoryPageFilter {
    std::string_view instance_id;
    std::optional<int64> execution_id;  // none: the present one
    std::optional<std::span<const std::string_view>> types;
    std::optional<std::string_view> contains;
};
// Body: event_data.
PageRows browse_history(const Hub& hub, Direction direction, const HistoryPageFilter& filter,
                        const PageRange& range);

struct FlowPageFilter {
    std::optional<std::span<const std::string_view>> states;
    std::optional<std::string_view> kind;
    Jsonb* tags;
    std::optional<int64> created_from;
    std::optional<int64> created_to;
};
enum class FlowOrder : uint8 { kCreated, kEnded };
PageRows browse_flows(const Hub& hub, FlowOrder order, const FlowPageFilter& filter,
                      const PageRange& range);

}  // namespace belay::store
