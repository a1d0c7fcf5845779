// The rights of the dashboard's role in each hub, as the server reports them.
//
// May touch: the catalog, reading. Must not: decide what the server decides.
#include "rights.hpp"

#include <algorithm>

#include "database.hpp"

namespace belay::tool::dashboard {

std::vector<std::string> levels_of(const HubRights& hub) {
    std::vector<std::string> levels;
    const auto add = [&](const char* level, const char* function) {
        if (hub.functions.contains(function)) {
            levels.emplace_back(level);
        }
    };
    add("client", "create_task");
    add("worker", "claim_tasks");
    add("monitor", "list_tasks");
    add("operator", "change_priority");
    if (hub.is_owner) {
        levels.emplace_back("owner");
    }
    return levels;
}

bool may(const HubRights& hub, const Action& action) {
    const std::string_view function = action.function;
    if (function.starts_with("belay.")) {
        return hub.is_owner;
    }
    // Workers may cancel with their lease; here it is the operator's right.
    return hub.functions.contains(std::string(function)) &&
           (std::string_view(action.level) != "operator" ||
            hub.functions.contains("change_priority"));
}

// What reads and actions call of a hub; only an older hub lacks some of it.
static std::set<std::string> needed_functions() {
    std::set<std::string> names = {"browse_dead_letters",
                                   "browse_events",
                                   "browse_flows",
                                   "browse_history",
                                   "browse_instances",
                                   "browse_messages",
                                   "browse_tasks",
                                   "browse_work_items",
                                   "explain_claim",
                                   "explain_fetch",
                                   "explain_work_item",
                                   "find",
                                   "get_flow",
                                   "get_task",
                                   "glance",
                                   "list_owners",
                                   "list_queues",
                                   "list_schedules",
                                   "read_body"};
    for (const char* many :
         {"cancel_tasks", "replay_tasks", "cancel_instances", "discard_dead_letters"}) {
        names.insert(many);
    }
    for (const auto& action : actions()) {
        if (std::string_view(action.function).find('.') == std::string_view::npos) {
            names.insert(action.function);
        }
    }
    return names;
}

Role ask_role(Connection& connection, const std::vector<std::string>& wanted) {
    Role role{.asked_ms = steady_ms()};
    const Result self = connection.call(
        Effect::kRepeatable,
        "SELECT current_user, pg_is_in_recovery(), current_setting('server_version'), "
        "belay.version(), NOT EXISTS (SELECT FROM belay.hubs) OR EXISTS (SELECT FROM "
        "belay.pg_stat_belay_queue)");
    role.user = self.get<std::string>(0, 0);
    role.standby = self.get<bool>(0, 1);
    role.server = self.get<std::string>(0, 2);
    role.library = self.get<std::string>(0, 3);
    // Without shared memory there are no counters.
    role.preloaded = self.get<bool>(0, 4);
    Admin admin(connection);
    for (const auto& info : admin.hubs()) {
        if (!wanted.empty() && std::ranges::find(wanted, info.name) == wanted.end()) {
            continue;
        }
        HubRights hub{.exists = true, .owner = info.owner, .current = info.is_current};
        if (info.version) {
            hub.version = parse_integer(*info.version, 0, INT32_MAX);
        }
        hub.elsewhere = info.is_here ? std::nullopt : info.place;
        const Result functions = connection.call(
            Effect::kRepeatable,
            "SELECT DISTINCT p.proname, has_schema_privilege(n.oid, 'USAGE') AND "
            "has_function_privilege(p.oid, 'EXECUTE') FROM pg_proc AS p JOIN pg_namespace AS n ON "
            "n.oid = p.pronamespace WHERE n.nspname = $1::name",
            {info.name});
        std::set<std::string> there;
        for (int i = 0; i < functions.size(); ++i) {
            there.insert(functions.get<std::string>(i, 0));
            if (functions.get<bool>(i, 1)) {
                hub.functions.insert(functions.get<std::string>(i, 0));
            }
        }
        for (const auto& name : needed_functions()) {
            if (!there.contains(name)) {
                hub.missing.push_back(name);
            }
        }
        hub.is_owner = connection
                           .call(Effect::kRepeatable,
                                 "SELECT pg_has_role(current_user, oid, 'USAGE') FROM pg_roles "
                                 "WHERE rolname = $1::name",
                                 {info.owner})
                           .get<bool>(0, 0);
        hub.rights = admin.rights_on(info.name);
        role.hubs[info.name] = std::move(hub);
    }
    return role;
}

}  // namespace belay::tool::dashboard
