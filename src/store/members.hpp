// Table tasks, as far as the members of flows are concerned: many at once.
#pragma once

#include "store/statements.hpp"
#include "store/tasks.hpp"

namespace belay::store {

struct NewMember {
    pg_uuid_t id;
    bool own_id;  // made by the server: no caller can know it yet
    std::string_view key;
    std::string_view queue;
    std::string_view kind;
    core::TaskState state;
    bool held;
    int32 cap_set;
    int32 priority;
    int64 start_delay;
    std::optional<int64> available_at;
    std::optional<int64> deadline;
    Jsonb* payload;  // null for NULL
    Jsonb* tags;
    Jsonb* policy;
};
void insert_members(Tables& tables, const pg_uuid_t& flow, std::span<const NewMember> members,
                    int64 now);

// A stand-alone task that is held joins the flow.
void join_flow(Tables& tables, const Task& task, const pg_uuid_t& flow, int64 now);

// ---- Looking ----

struct Member {
    pg_uuid_t id;
    core::TaskState state;
    std::optional<pg_uuid_t> flow_id;
};
std::optional<Member> find_member(Tables& tables, const pg_uuid_t& id);
std::optional<Member> find_member_by_key(const Hub& hub, const pg_uuid_t& flow,
                                         std::string_view key);

struct MemberKey {
    pg_uuid_t id;
    std::optional<std::string_view> key;
};
std::span<const MemberKey> member_keys(const Hub& hub, const pg_uuid_t& flow);

// ---- Holding ----

// All members that have not ended, by id, after waiting; or only those without a lease.
std::span<const Task> hold_open_members(Tables& tables, const pg_uuid_t& flow, bool with_active);
// Those of the tasks that have not ended and that no other transaction holds, by id.
std::span<const Task> hold_free(Tables& tables, std::span<const pg_uuid_t> ids);
// Ids of members that have not ended.
std::span<const pg_uuid_t> open_members(const Hub& hub, const pg_uuid_t& flow);
// Ids of all members, at most limit, by id.
std::span<const pg_uuid_t> member_ids(const Hub& hub, const pg_uuid_t& flow, int limit);

std::span<const pg_uuid_t> ids_of(std::span<const Task> tasks);

// ---- Changing many ----

// Ends held tasks as cancelled, their attempts too.
void cancel_members(Tables& tables, std::span<const Task> tasks, std::string_view reason,
                    std::string_view by, int64 now);

// Lets those of the tasks that are blocked and not held become ready, or delayed. Returns how many.
int64 release_blocked(Tables& tables, std::span<const pg_uuid_t> ids, int64 now);
// Ends those that are blocked as skipped, and returns them as they were.
std::span<const Task> skip_blocked(Tables& tables, std::span<const pg_uuid_t> ids, int64 now);
// A task that is held waits for its group from now on.
void block(Tables& tables, const Task& task, int64 now);
// Members that were held for the seal are so no longer. Returns their ids.
std::span<const pg_uuid_t> end_hold(Tables& tables, const pg_uuid_t& flow, int64 now);

// How many members there are in each state.
using StateCounts = Out<core::TaskState, int64>;
StateCounts count_states(const Hub& hub, const pg_uuid_t& flow);

}  // namespace belay::store
