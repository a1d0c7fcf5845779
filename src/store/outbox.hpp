// Tables outbox_events and outbox_subscriptions.
#pragma once

#include "core/events.hpp"
#include "core/token.hpp"
#include "pg/list.hpp"
#include "pg/pg.hpp"
#include "store/hub.hpp"
#include "store/table/tables.hpp"
#include "store/statements.hpp"

namespace belay::store {

// ---- Writing ----

// The details of an event: a JSON object, built member by member.
class Details {
 public:
    Details& add(const char* key, int64 value);
    Details& add(const char* key, std::optional<std::string_view> value);  // null if absent
    Details& add_json(const char* key, std::string_view json);

    Jsonb* jsonb() const;
    const char* text() const;  // members in the order in which they were added

 private:
    enum class Kind : uint8 { kNumber, kString, kNull, kJson };
    struct Member {
        Kind kind;
        const char* key;
        int64 number;
        std::string_view text;
    };
    pg::List<Member> members_;

    Jsonb* pushed() const;  // the same, with members that are JSON
};

// Whether the hub writes events of this kind. Ask before details are gathered.
inline bool wants_event(const Hub& hub, int event) {
    return (static_cast<uint64>(hub.options[Option::kEvents]) >> event & 1) != 0;
}

// Writes an event in the current transaction; event is its place in core::kEventTypes.
void write_event(const Hub& hub, int event, std::optional<std::string_view> subject,
                 const Details& details, int64 now);
// The same in a call that writes many: the row is written with others, if the call defers rows.
void write_event(Tables& tables, int event, std::optional<std::string_view> subject,
                 const Details& details, int64 now);

// The event of an item that was moved to dead_letters, if the hub writes it.
void emit_dead_letter(const Hub& hub, int64 dead_letter_id, const char* queue, const char* reason,
                      std::optional<std::string_view> instance_id, int32 attempt, int64 now);

// ---- Reading ----

// How far a subscription has read. An event of the incarnation is seen if its position or its
// (xid, position) is not above; those of earlier incarnations are all seen.
struct Seen {
    int32 incarnation;
    int64 position;
    uint64 xid;
    int64 xid_position;
};

// The topics that a subscription reads; none: all.
using Topics = std::optional<std::span<const std::string_view>>;

struct Subscription {
    Topics topics;
    Seen seen;
    uint64 final_xid;
    int64 final_position;
    int64 lease;
    int64 lease_until;
    int32 lease_inc;
    int32 last_incarnation;
    int64 last_position;
    // Events that retention deleted before they were read: all of them, and those that the reader
    // has not acknowledged yet, with the ids of the first and the last.
    int64 lost;
    int64 untold;
    std::string_view untold_first;
    std::string_view untold_last;
};

// What can be read without leaving a gap behind. Take it before the statement that reads.
struct Horizon {
    bool exact;      // by position; else by xid
    int64 position;  // exact: all up to it are complete
    uint64 xid;      // else: all below it are complete
};
Horizon read_horizon(const Hub& hub);

// False if the name is taken.
bool insert_subscription(const Hub& hub, std::string_view name, const Topics& topics,
                         const Seen& seen, int64 now);
bool delete_subscription(const Hub& hub, std::string_view name);
std::optional<Subscription> read_subscription(const Hub& hub, std::string_view name);

// The next events (incarnation, position, xid, topic, type, subject, details, occurred_at_ms):
// those of earlier incarnations, in the order of positions; those of this one.
using EventRows = Out<int32, int64, Xid, Text, Text, Maybe<Text>, Unread<Jsonb*>, int64>;
EventRows read_old_events(const Hub& hub, const Subscription& subscription, int64 limit);
EventRows read_events_upto(const Hub& hub, const Subscription& subscription, const Horizon& horizon,
                           int64 limit);

// Writes what has changed of a subscription back.
void update_subscription(const Hub& hub, std::string_view name, const Subscription& subscription);

// Moves what retention has noted of lost events into the subscription; the caller writes it back.
void take_gaps(const Hub& hub, std::string_view name, Subscription* subscription);

// The first position up to `most` that the subscription has not seen.
std::optional<int64> first_unseen(const Hub& hub, const Subscription& subscription, int64 most);

// Where the next transaction begins that could draw a position up to the last one drawn.
struct Probe {
    uint64 xid;
    int64 position;
};
Probe probe_positions(const Hub& hub);

// Deletes, of the first `portion` events, those that all subscriptions have seen, and those that
// happened before an instant; notes the latter as lost for the subscriptions that have not seen
// them. Returns how many.
int64 forget_events(const Hub& hub, int64 before, int64 portion);

}  // namespace belay::store
