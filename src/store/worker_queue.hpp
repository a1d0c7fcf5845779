// Table worker_queue.
//
// A row's key is (lane, slot, due, id). Its lease is free if the deadline has passed or belongs to
// another incarnation. Nothing here waits for a row unless its name says lock.
#pragma once

#include "core/lease.hpp"
#include "core/time.hpp"
#include "core/token.hpp"
#include "pg/claim_cursors.hpp"
#include "pg/clock.hpp"
#include "pg/pg.hpp"
#include "store/hub.hpp"

namespace belay::store {

struct WorkKey {
    int32 lane;
    int16 slot;
    int64 due;
    int64 id;

    auto operator<=>(const WorkKey&) const = default;
};

// The key that a token names; the lowest for a token that could not be read.
inline WorkKey key_of(const std::optional<core::WorkToken>& token) {
    return token ? WorkKey{token->lane, token->slot, token->due, token->id} : WorkKey{};
}

// A row to be inserted.
struct NewWork {
    std::string_view work_item;
    int64 visible_at;  // ms
    bool delayed;
    int64 created_at;  // ms
    std::optional<std::string_view> instance_id;
    std::optional<int64> execution_id;
    std::optional<int64> activity_id;
    std::optional<std::string_view> session_id;
    std::optional<std::string_view> tag;
};

// Inserts a row with the next id and returns the id.
int64 insert_work(const Hub& hub, const NewWork& work);
// Several at once, in order.
void insert_works(const Hub& hub, std::span<const NewWork> works);

// What a fetch asks for and writes into each row it takes.
struct Grant {
    int64 now;
    int64 locked_until;
    std::optional<std::string_view> owner;
};

// The same before its time is known: a fetch reads the clock after it has taken its snapshot, or it
// could meet an item that is newer than its clock.
struct LeaseTerms {
    const pg::Clock* clock;
    int64 lock_timeout_ms;
    std::optional<std::string_view> owner;

    Grant grant_at(int64 now) const {
        return {.now = now, .locked_until = core::add_ms(now, lock_timeout_ms), .owner = owner};
    }
    Grant grant() const { return grant_at(clock->now()); }
};

// A row that was just leased.
struct Leased {
    WorkKey key;
    core::WorkToken token;
    int32 attempt;
    std::string_view work_item;
    int64 visible_at;  // ms
    pg::RowHint hint;
};

struct LeasedRows {
    Leased* rows;
    int count;
};

// Leases up to limit rows from the head of one lane, if no other range can hold an older row: no
// delayed row of the lane is due and, with sessions, the lane's sessions have no free row. Else, or
// if the head is empty, nothing.
LeasedRows take_heads(const Hub& hub, int32 lane, int16 slot, std::optional<std::string_view> tag,
                      bool with_sessions, const LeaseTerms& terms, int limit);

// A free row that a fetch may try to take.
struct Candidate {
    WorkKey key;
    std::optional<std::string_view> session_id;
    std::optional<std::string_view> tag;
};

struct Candidates {
    Candidate* rows;
    int count;
};

// The next lane above this one that has rows, leased or not.
std::optional<int32> next_lane(const Hub& hub, int32 lane);
// For a fetch: up to limit lanes behind one, in order, as far as up_to, with those of sessions or
// without. May name lanes whose rows are all gone.
std::span<const int32> lanes_to_fetch(const Hub& hub, int32 after, int32 up_to, bool with_sessions,
                                      int limit);

// The first free row of each slot of each lane: of the range never delayed, and of the range
// delayed and due.
Candidates peek_lanes(const Hub& hub, std::span<const int32> lanes, std::span<const int16> slots,
                      const pg::Clock& clock);

// Up to limit free rows per slot of a lane, in key order, behind (after_due, after_id): of the
// range never delayed, or of the range delayed and due.
Candidates peek_lane(const Hub& hub, int32 lane, std::span<const int16> slots, bool delayed,
                     int64 after_due, int64 after_id, const pg::Clock& clock, int limit);

// The same for whoever only looks: no lock beyond that of a reader.
Candidates look_at_lane(const Hub& hub, int32 lane, std::span<const int16> slots, bool delayed,
                        int64 after_due, int64 after_id, int64 now, int limit);

// As peek_lane, for the rows of one session within a lane and slot.
Candidates peek_session(const Hub& hub, std::string_view session_id, int32 lane, int16 slot,
                        bool delayed, int64 after_due, int64 after_id, int64 now, int limit);

// The head of every session that this owner may take from, within a lane and slot, behind
// (after_due, after_id). Costs as much as there are sessions with rows, not rows.
Candidates peek_sessions(const Hub& hub, std::string_view owner, int32 lane, int16 slot,
                         bool delayed, int64 after_due, int64 after_id, int64 now);

// Tells of a row that was leased: whoever waits, and its cursor. Returns whether the cursor may
// pass it.
bool note_granted(const Hub& hub, const Leased& leased, const Grant& grant);

// Lanes of sessions are odd, those of rows without one even.
constexpr bool is_session_lane(int32 lane) {
    return (lane & 1) != 0;
}

// What a delay makes of a row's key.
constexpr int64 delayed_due(int64 visible_at) {
    return visible_at > 1 ? visible_at : 1;
}

// The highest id that was drawn.
int64 last_work_id(const Hub& hub);

// Leases one row if it is still free and nobody holds it.
std::optional<Leased> take(const Hub& hub, const WorkKey& key, const Grant& grant);

// Holds one row if it is still free and nobody else holds it; returns how often it was leased.
std::optional<int32> try_hold_free(const Hub& hub, const WorkKey& key, int64 now);

// Whether nobody else holds the row, told without holding it.
bool seems_free(const Hub& hub, const WorkKey& key);

// The stored row of a token.
struct WorkRow {
    WorkKey key;
    core::Lease lease;
    int32 attempt;
    std::optional<std::string_view> session_id;
    std::optional<std::string_view> locked_by;
};

// Deletes the row of a live lease if nobody else holds it; nothing otherwise.
std::optional<WorkRow> delete_live(const Hub& hub, const core::WorkToken& token, int64 now);

// Holds the row with that key until the transaction ends: at once if nobody has it, else after
// waiting. No value if there is no such row.
// Moves the deadline of a live lease if nobody else holds the row; the row as it was. No value may
// also mean that the quick way is closed.
std::optional<WorkRow> renew_live(const Hub& hub, const core::WorkToken& token, int64 now,
                                  const core::Extension& extension);
std::optional<WorkRow> try_lock_work(const Hub& hub, const WorkKey& key);
std::optional<WorkRow> lock_work(const Hub& hub, const WorkKey& key);
bool work_exists(const Hub& hub, const WorkKey& key);

void delete_work(const Hub& hub, const WorkKey& key);
void set_deadline(const Hub& hub, const WorkKey& key, int64 locked_until);

// Gives a row back. With a delay its visibility, and so its key, changes. Without a reason the one
// of before stays.
void release_work(const Hub& hub, const WorkKey& key, int32 attempt,
                  std::optional<int64> visible_at, std::optional<std::string_view> reason);

// The rows of an activity, leased or not, in key order.
std::span<const WorkKey> find_activity(const Hub& hub, std::string_view instance_id,
                                       int64 execution_id, int64 activity_id);

// Deletes the row and puts it into dead_letters. Returns what its completion needs.
struct DeadWork {
    int64 dead_letter_id;
    std::optional<std::string_view> instance_id;
    std::optional<int64> execution_id;
    std::optional<int64> activity_id;
    std::string_view work_item;
    int32 attempt;
};
DeadWork bury_work(const Hub& hub, const WorkKey& key, int32 attempts, int64 now);

// What can be known of a work item without its payload.
struct WorkView {
    int64 visible_at;
    std::optional<int64> leased_until;  // of a live lease
    std::optional<std::string_view> owner;
    int32 attempts;
    std::optional<std::string_view> tag;
    std::optional<std::string_view> session_id;
    std::optional<int64> session_until;  // of a live one
    std::optional<std::string_view> session_owner;
};
// Looks through the whole queue: an id alone is no key.
std::optional<WorkView> view_work(const Hub& hub, int64 id, int64 now);

// One page of list_work_items.
struct WorkFilter {
    std::optional<std::string_view> state;
    std::optional<std::string_view> instance_id;
    std::optional<std::string_view> session_id;
    std::optional<std::string_view> tag;
    std::optional<std::string_view> locked_by;
    std::optional<int64> min_attempts;
};
struct Rows;
Rows list_work(const Hub& hub, const WorkFilter& filter, std::optional<WorkKey> after, int limit,
               int64 now);

// Gives every row the slot that a new slot_count asks for.
void reslot_work(const Hub& hub, int32 slot_count);

// How many leases are live.
int64 count_live_work(const Hub& hub, int64 now);

}  // namespace belay::store
