// Tables cancel_backlog and cancel_backlog_members: the members of a cancelled flow that owe an
// answer. A caller that writes here holds the flow's row.
#pragma once

#include "core/flow.hpp"
#include "pg/pg.hpp"
#include "store/hub.hpp"
#include "store/statements.hpp"
#include "store/tasks.hpp"

namespace belay::store {

struct Backlog {
    std::string_view requester;
    std::string_view reason;
    core::CancelPolicy policy;
    int64 grace_until;
};
// The header, and a row for each of the tasks, which were active.
void write_backlog(const Hub& hub, const pg_uuid_t& flow, const Backlog& backlog,
                   std::span<const Task> tasks, int64 now);
// Holds the header. False if there is none.
bool lock_backlog(const Hub& hub, const pg_uuid_t& flow);
// False if the member owes no answer.
bool delete_backlog_member(const Hub& hub, const pg_uuid_t& flow, const pg_uuid_t& task);
void delete_empty_backlog(const Hub& hub, const pg_uuid_t& flow);
// Flows whose grace is over; their headers are held.
std::span<const pg_uuid_t> hold_overdue_backlogs(const Hub& hub, int64 now, int limit);
// Deletes up to limit members. Returns how many.
int64 delete_backlog_members(const Hub& hub, const pg_uuid_t& flow, int limit);
// Ids of members that owe an answer, at most limit, and how many there are.
struct SomeIds {
    std::span<const pg_uuid_t> ids;
    int64 count;
};
SomeIds backlog_members(const Hub& hub, const pg_uuid_t& flow, int limit);

}  // namespace belay::store
