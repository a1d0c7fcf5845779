// Table worker_queue.
//
// A row's key is (lane, slot, due, id). What a lease means is decided by core/transitions/work.hpp.
// Nothing here waits for a row except lock_work.
#pragma once

#include "core/lease.hpp"
#include "core/time.hpp"
#include "core/token.hpp"
#include "core/transitions/work.hpp"
#include "pg/clock.hpp"
#include "pg/pg.hpp"
#include "shmem/cursors.hpp"
#include "store/table/tables.hpp"

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

// The highest id that was drawn.
int64 last_work_id(const Hub& hub);

// Inserts a row with the next id and returns the id.
int64 insert_work(Tables& tables, const NewWork& work);
// Several at once, in order.
void insert_works(Tables& tables, std::span<const NewWork> works);

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
    cursors::RowHint hint;
};

struct LeasedRows {
    Leased* rows;
    int count;
};

// Leases up to limit rows from the head of one lane, if no other range can hold an older row: no
// delayed row of the lane is due and, with sessions, the lane's sessions have no free row. Else, or
// if the head is empty, nothing.
LeasedRows take_heads(Tables& tables, int32 lane, int16 slot, std::optional<std::string_view> tag,
                      bool with_sessions, const LeaseTerms& terms, int limit);

// A free row that a fetch may try to take.
struct Candidate {
    WorkKey key;
    ItemPointerData row;  // where it lay
    std::optional<std::string_view> session_id;
    std::optional<std::string_view> tag;
};

struct Candidates {
    Candidate* rows;
    int count;
};

// For a fetch: up to limit lanes behind one, in order, as far as up_to, with those of sessions or
// without. May name lanes whose rows are all gone.
std::span<const int32> lanes_to_fetch(Tables& tables, int32 after, int32 up_to, bool with_sessions,
                                      int limit);

// The first free row of each slot of each lane: of the range never delayed, and of the range
// delayed and due. Of a lane without one: when a row may be free, at the earliest, in ms.
struct LaneHeads {
    Candidates heads;
    std::span<const std::optional<int64>> empty_until;  // per lane; none: it has a free row
};
LaneHeads peek_lanes(Tables& tables, std::span<const int32> lanes, std::span<const int16> slots,
                     const pg::Clock& clock);

// Up to limit free rows per slot of a lane, in key order, behind (after_due, after_id): of the
// range never delayed, or of the range delayed and due.
Candidates peek_lane(Tables& tables, int32 lane, std::span<const int16> slots, bool delayed,
                     int64 after_due, int64 after_id, const pg::Clock& clock, int limit);

// As peek_lane, for the rows of one session within a lane and slot.
Candidates peek_session(Tables& tables, std::string_view session_id, int32 lane, int16 slot,
                        bool delayed, int64 after_due, int64 after_id, int64 now, int limit);

// The head of every session that this owner may take from, within a lane and slot, behind
// (after_due, after_id). Costs as much as there are sessions with rows, not rows.
Candidates peek_sessions(Tables& tables, std::string_view owner, int32 lane, int16 slot,
                         bool delayed, int64 after_due, int64 after_id, int64 now);

// Lanes of sessions are odd, those of rows without one even.
constexpr bool is_session_lane(int32 lane) {
    return (lane & 1) != 0;
}

// The slot of a row: by its instance, else its session, else its id.
int16 work_slot(int32 slot_count, std::optional<std::string_view> instance_id,
                std::optional<std::string_view> session_id, int64 id);

// Leases one row if it is still free and not locked.
std::optional<Leased> take(Tables& tables, const Candidate& candidate, const Grant& grant);

// Holds one row if it is still free and not locked; returns how often it was leased.
std::optional<int32> try_hold_free(Tables& tables, const WorkKey& key, int64 now);

// Whether no other transaction holds the row, without holding it.
bool seems_free(Tables& tables, const WorkKey& key);

// The stored row of a token.
struct WorkRow {
    WorkKey key;
    core::Lease lease;
    int32 attempt;
    std::optional<std::string_view> session_id;
    std::optional<std::string_view> locked_by;

    core::WorkState state() const { return {.due = key.due, .lease = lease, .attempt = attempt}; }
};

// Deletes the row of the lease that the token opens. No value: it opens none, or another
// transaction has the row.
std::optional<WorkRow> delete_live(Tables& tables, const core::WorkToken& token, int64 now);

// The same for its deadline; the row as it was.
std::optional<WorkRow> renew_live(Tables& tables, const core::WorkToken& token, int64 now,
                                  const core::Extension& extension);

// Holds the row with that key until the transaction ends; waits for another transaction that has
// it, and marks the clock then. No value if there is no such row.
std::optional<WorkRow> lock_work(Tables& tables, const WorkKey& key, pg::Clock* clock);

// These three are for rows that this transaction holds.
void delete_work(Tables& tables, const WorkKey& key);
void set_deadline(Tables& tables, const WorkKey& key, int64 locked_until);

// Gives a row back. With a delay its visibility, and so its key, changes. Without a reason the one
// of before stays.
void release_work(Tables& tables, const WorkKey& key, int32 attempt,
                  std::optional<int64> visible_at, std::optional<std::string_view> reason);

// The rows of an activity, leased or not, in key order.
std::span<const WorkKey> find_activity(const Hub& hub, std::string_view instance_id,
                                       int64 execution_id, int64 activity_id);

// Deletes a row that is held and puts it into dead_letters. Returns what its completion needs.
struct DeadWork {
    int64 dead_letter_id;
    std::optional<std::string_view> instance_id;
    std::optional<int64> execution_id;
    std::optional<int64> activity_id;
    std::string_view work_item;
    int32 attempt;
};
DeadWork dead_letter_work(Tables& tables, const WorkKey& key, int32 attempts, int64 now);

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
struct Listing;
// whole: the page is full, or there are no more; else 10,000 rows were looked at.
Listing list_work(const Hub& hub, const WorkFilter& filter, std::optional<WorkKey> after, int limit,
                  int64 now, bool* whole);

// Gives every row the slot that a new slot_count asks for.
void reslot_work(const Hub& hub, int32 slot_count);

// Looks for rows that the hub's cursors have lost: an owner can change its tables by hand. Looks at
// cursors that were not looked at for so long; returns how many were put back.
int64 repair_cursors(Tables& tables, int64 age_ms);

// How many leases are live.
int64 count_live_work(const Hub& hub, int64 now);

}  // namespace belay::store
