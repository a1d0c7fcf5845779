// The JSON of flows: their tasks, edges and joins.
#pragma once

#include "ops/flow/flow.hpp"
#include "pg/errors.hpp"
#include "store/members.hpp"

namespace belay::ops {

// What a member waits for, by key.
struct After {
    std::string_view key;
    std::optional<std::string_view> pass_as;
};

struct MemberItem {
    TaskRequest request;
    std::string_view key;
    std::span<const After> after;
    core::Join join;
    bool has_join;
    bool hold;
};

// Reads an item of a flow. QB006.
MemberItem read_member_item(store::Tables& tables, core::json::Value item, const char* path);

// Reads a join. QB006.
core::Join read_join(core::json::Value value, const char* path);

// Refuses an edge from a task to itself. QB006.
[[noreturn]] void raise_self_edge(const char* path, std::string_view which);
// Refuses what the graph does not allow: QB014 with the revision.
[[noreturn]] void raise_conflict(const char* message, const pg::Facts& facts, const char* hint);
pg::Facts conflict_facts(const char* code_detail, const store::Flow& flow);

// The row of a member, without its id's slot: blocked if it has edges or is held.
store::NewMember new_member(const MemberItem& item, const pg_uuid_t& id, int32 cap_set, int64 now);

}  // namespace belay::ops
