// Reads of flows.
#include <map>

#include "reads.hpp"

namespace belay::tool::dashboard {

namespace {

constexpr int kMostTimed = 1000;  // members of a flow whose attempts are read

}  // namespace

Json read_flows(Reader& reader) {
    const Json filter =
        filter_of(reader, {"state", "kind", "tags", "created_from_ms", "created_to_ms"});
    const auto order = order_of(reader.route());
    Json page = browse(reader, "browse_flows", filter, order,
                       !order || *order == "created" ? "flows" : nullptr);
    // Members are counted while they are few in all; of larger flows the row knows how many are
    // open.
    constexpr std::int64_t kMostMembers = 500;
    std::int64_t members = 0;
    std::string ids;
    for (auto& row : page["rows"]) {
        row.erase("tags");
        const auto count = row["member_count"].get<std::int64_t>();
        const auto open = row["open_count"].get<std::int64_t>();
        row["counts"] = {{"open", open}, {"ended", count - open}};
        if (reader.route().get("format").empty() && members + count <= kMostMembers) {
            members += count;
            ids += (ids.empty() ? "" : ",") + row["flow_id"].get<std::string>();
        }
    }
    if (ids.empty()) {
        return page;
    }
    const Json counted = reader.value(
        "SELECT json_object_agg(s.flow_id, json_build_object('blocked', s.blocked, 'delayed', "
        "s.delayed, 'ready', s.ready, 'active', s.active, 'suspended', s.suspended, 'completed', "
        "s.completed, 'failed', s.failed, 'cancelled', s.cancelled, 'expired', s.expired, "
        "'skipped', s.skipped)) FROM {h}.flow_summary AS s WHERE s.flow_id = ANY ($1::uuid[])",
        {"{" + ids + "}"});
    for (auto& row : page["rows"]) {
        const auto id = row["flow_id"].get<std::string>();
        if (!counted.is_object() || !counted.contains(id)) {
            continue;
        }
        row["counts"] = Json::object();
        for (const auto& [state, n] : counted[id].items()) {
            if (n != 0) {
                row["counts"][state] = n;
            }
        }
    }
    return page;
}

Json read_flow(Reader& reader) {
    const Uuid id = uuid_of(reader.id(), "flow");
    // Its time is put in here: in the server that would copy all of a large flow.
    const Result found = reader.rows_and("SELECT {h}.get_flow($1)", ", " + std::string(kNow), {id});
    if (found.is_null(0, 0)) {
        throw NotFound("flow " + reader.id() + " does not exist");
    }
    Json flow = Json::parse(found.get<std::string>(0, 0));
    flow["at_ms"] = found.get<std::int64_t>(0, 1);
    // Times of members, of a hub that does not return them: if they are not many.
    std::map<std::string, Json> times;
    const bool timed = !flow["members"].empty() && flow["members"][0].contains("started_at_ms");
    if (!timed && flow["members"].size() <= kMostTimed) {
        const Json tasks = reader.value(
            "SELECT json_object_agg(a.task_id, json_build_object('from', a.f, 'attempts', a.n, "
            "'to', a.e)) FROM (SELECT task_id, min(started_ms) AS f, max(attempt_index) AS n, "
            "CASE WHEN count(*) = count(ended_ms) THEN max(ended_ms) END AS e FROM "
            "{h}.task_attempts WHERE task_id = ANY (ARRAY(SELECT (m ->> 'task_id')::uuid FROM "
            "jsonb_array_elements({h}.get_flow($1) -> 'members') AS m)) GROUP BY task_id) AS a",
            {id});
        if (tasks.is_object()) {
            for (const auto& [task, time] : tasks.items()) {
                times[task] = time;
            }
        }
    }
    static const std::set<std::string> open = {"blocked", "delayed", "ready", "active",
                                               "suspended"};
    for (auto& member : flow["members"]) {
        if (timed) {
            break;
        }
        const auto time = times.find(member["task_id"].get<std::string>());
        const bool known = time != times.end();
        const bool ended = !open.contains(member["state"].get<std::string>());
        member["started_at_ms"] = known ? time->second["from"] : Json(nullptr);
        member["terminal_at_ms"] = !ended  ? Json(nullptr)
                                   : known ? time->second["to"]
                                           : flow["updated_at_ms"];
        member["attempt_index"] = known ? time->second["attempts"] : Json(0);
        member["failure_class"] = nullptr;
    }
    flow.erase("tags");
    flow["graph_revision"] = std::to_string(flow["graph_revision"].get<std::int64_t>());
    return flow;
}

}  // namespace belay::tool::dashboard
