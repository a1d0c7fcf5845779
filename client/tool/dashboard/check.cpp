// belay dashboard --check.
#include <algorithm>
#include <iostream>

#include "assets.hpp"
#include "dashboard.hpp"
#include "database.hpp"
#include "rights.hpp"

namespace belay::tool::dashboard {

int check_dashboard(const Options& options) {
    Role role;
    try {
        Connection connection({.conninfo = dashboard_conninfo(options.dsn),
                               .async_leases = false,
                               .reconnect_timeout = std::chrono::milliseconds(0),
                               .follow_redirects = false});
        role = ask_role(connection, options.hubs);
    } catch (const Error& error) {
        std::cout << "database: " << printable(error.what()) << "\n";
        return 1;
    }
    std::cout << "front end: "
              << (assets().empty() ? "none: this program was built without it"
                                   : std::string(assets_hash()))
              << "\nrole: " << printable(role.user) << "\nserver: PostgreSQL " << role.server
              << ", belay " << role.library
              << (role.standby ? ", standby: nothing can be changed" : "") << "\nshared memory: "
              << (role.preloaded ? "yes"
                                 : "no: rates, live waits and latencies are off; preload belay")
              << "\n";
    bool sees = !assets().empty();
    for (const auto& [name, hub] : role.hubs) {
        const auto levels = levels_of(hub);
        std::string list;
        for (const auto& level : levels) {
            list += (list.empty() ? "" : ", ") + level;
        }
        const auto has = [&](const char* function) { return hub.functions.contains(function); };
        const auto shown = [&](const std::string& screens, const std::string& function,
                               const std::string& level) {
            const bool missing = std::ranges::find(hub.missing, function) != hub.missing.end();
            return "  " + screens + ": " +
                   (missing                            ? "no: this hub has no " + function
                    : hub.functions.contains(function) ? "yes"
                                                       : "no: needs level " + level) +
                   "\n";
        };
        std::cout << "hub " << printable(name) << ": " << (list.empty() ? "no level" : list)
                  << (hub.rights == Rights::kOwner ? "; with the rights of its owner" : "")
                  << (hub.current.value_or(true) ? "" : "; of an older version: belay.upgrade_hub")
                  << (hub.elsewhere
                          ? "; on " + printable(*hub.elsewhere) + ", where a dashboard can show it"
                          : "")
                  << "\n"
                  << shown("overview, queues, workers, health", "glance", "monitor")
                  << shown("tasks", "browse_tasks", "monitor")
                  << shown("orchestrations", "browse_instances", "monitor")
                  << shown("flows", "browse_flows", "monitor")
                  << shown("schedules", "list_schedules", "monitor")
                  << shown("events", "browse_events", "monitor")
                  << shown("work items", "browse_work_items", "operator")
                  << shown("messages", "browse_messages", "operator")
                  << shown("dead letters", "browse_dead_letters", "operator") << "  actions: "
                  << (options.read_only        ? "no: --read-only"
                      : role.standby           ? "no: standby"
                      : has("change_priority") ? "yes"
                                               : "no: needs level operator")
                  << "\n";
        sees = sees && !levels.empty();
    }
    if (role.hubs.empty()) {
        std::cout << "no hub: SELECT belay.create_hub('app') makes one\n";
    }
    return sees ? 0 : 1;
}

}  // namespace belay::tool::dashboard
