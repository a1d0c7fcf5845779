// items.cpp — read the tasks, edges and joins of flows from JSON.
//
// Calls    read_request, check_request
// Touches  nothing
// Locks    nothing
// Raises   QB006, QB014
#include "ops/flow/items.hpp"

#include <algorithm>

#include "core/time.hpp"
#include "pg/datum.hpp"
#include "pg/errors.hpp"

namespace belay::ops {

namespace {

namespace json = core::json;

constexpr std::string_view kMemberKeys[] = {
    "key",          "after",           "join",        "hold",
    "queue",        "payload",         "task_id",     "kind",
    "priority",     "available_at_ms", "policy",      "tags",
    "capabilities", "delay_ms",        "deadline_ms", "deadline_in_ms",
};
constexpr const char* kAfterKeys[] = {"key", "pass_as"};
constexpr const char* kJoinKeys[] = {"kind", "k", "on_satisfied"};

After read_after(json::Value element, const char* path) {
    if (element.kind == json::Kind::kString) {
        return {checked_word(path, decode(element)), std::nullopt};
    }
    if (element.kind != json::Kind::kObject) {
        pg::raise_invalid("wrong_type", path,
                          psprintf("%s must be a key, or an object with a key", path),
                          "Name the upstream task by its key.");
    }
    check_members(element, path, kAfterKeys);
    const auto key = optional_string(element, "key", path);
    const auto pass_as = optional_string(element, "pass_as", path);
    if (pass_as) {
        (void)checked_word(psprintf("%s.pass_as", path), *pass_as);
    }
    return {checked_word(psprintf("%s.key", path), key.value_or("")), pass_as};
}

std::span<const After> read_afters(json::Value item, const char* path) {
    const auto list = json::find(item, "after");
    pg::List<After> after;
    if (!list || list->kind == json::Kind::kNull) {
        return after.span();
    }
    const char* place = psprintf("%s.after", path);
    if (list->kind != json::Kind::kArray) {
        pg::raise_invalid("not_an_array", place, psprintf("%s must be an array", place),
                          "List the keys of the tasks that come before.");
    }
    json::Elements elements(*list);
    json::Value element;
    for (std::size_t i = 0; elements.next(element); ++i) {
        after.add(read_after(element, psprintf("%s[%zu]", place, i)));
    }
    return after.span();
}

[[noreturn]] void refuse_join(const char* path, const char* member, const char* hint) {
    const char* place = psprintf("%s.%s", path, member);
    pg::raise_invalid("bad_value", place,
                      psprintf("%s has a value that is not allowed in a join", place), hint);
}

}  // namespace

core::Join read_join(json::Value value, const char* path) {
    if (value.kind != json::Kind::kObject) {
        pg::raise_invalid("not_an_object", path, psprintf("%s is not a JSON object", path),
                          "Pass an object such as {\"kind\": \"quorum\", \"k\": 2}.");
    }
    check_members(value, path, kJoinKeys);
    const auto kind = core::parse_join_kind(optional_string(value, "kind", path).value_or(""));
    if (!kind) {
        refuse_join(path, "kind", "Kinds are all_of, any_of and quorum.");
    }
    core::Join join{.kind = *kind};
    const auto k = optional_int(value, "k", path);
    if (k.has_value() != (*kind == core::JoinKind::kQuorum) ||
        (k && (*k < 1 || *k > PG_INT32_MAX))) {
        refuse_join(path, "k", "Pass a k of at least 1 for a quorum, and none for other kinds.");
    }
    join.k = static_cast<int32>(k.value_or(0));
    const auto satisfied = optional_string(value, "on_satisfied", path);
    if (satisfied && (*kind == core::JoinKind::kAllOf ||
                      (*satisfied != "cancel_remaining" && *satisfied != "let_run"))) {
        refuse_join(path, "on_satisfied",
                    "Pass cancel_remaining or let_run, for kinds any_of and quorum only.");
    }
    join.cancels_remaining = *kind != core::JoinKind::kAllOf &&
                             satisfied.value_or("cancel_remaining") == "cancel_remaining";
    return join;
}

MemberItem read_member_item(store::Tables& tables, json::Value item, const char* path) {
    MemberItem member{.request = read_request(item, path, kMemberKeys),
                      .key = {},
                      .after = {},
                      .join = {},
                      .has_join = false,
                      .hold = optional_bool(item, "hold", path).value_or(false)};
    check_request(tables, member.request);
    member.key =
        checked_word(psprintf("%s.key", path), optional_string(item, "key", path).value_or(""));
    member.after = read_afters(item, path);
    const auto join = json::find(item, "join");
    if (join && join->kind != json::Kind::kNull) {
        member.join = read_join(*join, psprintf("%s.join", path));
        member.has_join = true;
    }
    return member;
}

store::NewMember new_member(const MemberItem& item, const pg_uuid_t& id, int32 cap_set, int64 now) {
    const TaskRequest& request = item.request;
    const bool blocked = item.hold || !item.after.empty();
    const int64 begin =
        std::max({now, request.available_at.value_or(now), core::add_ms(now, request.delay_ms)});
    return {.id = id,
            .own_id = !request.id,
            .key = item.key,
            .queue = request.queue,
            .kind = request.kind,
            .state = blocked       ? core::TaskState::kBlocked
                     : begin > now ? core::TaskState::kDelayed
                                   : core::TaskState::kReady,
            .held = item.hold,
            .cap_set = cap_set,
            .priority = request.priority,
            .start_delay = blocked ? request.delay_ms : 0,
            .available_at = blocked ? request.available_at : std::optional(begin),
            .deadline = deadline_of(request, now),
            .payload = request.payload,
            .tags = request.tags,
            .policy = request.policy};
}

void raise_self_edge(const char* path, std::string_view which) {
    pg::raise(pg::kInvalidArgument, psprintf("%s lets a task wait for itself", path),
              pg::Facts("self_referencing_edge").add("path", path).add("task", which),
              "Name two different tasks.");
}

pg::Facts conflict_facts(const char* code_detail, const store::Flow& flow) {
    pg::Facts facts(code_detail);
    facts.add("flow_id", store::uuid_text(flow.id)).add("revision", flow.revision);
    return facts;
}

void raise_conflict(const char* message, const pg::Facts& facts, const char* hint) {
    pg::raise(pg::kGraphConflict, message, facts, hint);
}

}  // namespace belay::ops
