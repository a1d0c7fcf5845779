// Who the dashboard's role is, and what it may do with each hub.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "actions.hpp"
#include "belay/hub.hpp"

namespace belay::tool::dashboard {

// What a role may do with a hub.
struct HubRights {
    Rights rights = Rights::kOwn;
    bool exists = false;
    std::string owner = {};
    // Not known of a hub that Citus has on another node.
    std::optional<std::int64_t> version = {};
    std::optional<bool> current = {};
    OptionalText elsewhere = {};  // host:port of the server that serves it, if not this one
    bool is_owner = false;
    std::set<std::string> functions = {};   // that it may call
    std::vector<std::string> missing = {};  // functions that an older hub does not have
};

struct Role {
    std::string user = {};
    bool standby = false;
    bool preloaded = false;
    std::string server = {};
    std::string library = {};
    std::map<std::string, HubRights> hubs = {};
    std::int64_t asked_ms = 0;
};

std::vector<std::string> levels_of(const HubRights& hub);

// Whether the role may use an action of a hub.
bool may(const HubRights& hub, const Action& action);

// Asks the server who we are and what we may do, with statements of the catalogue only.
Role ask_role(Connection& connection, const std::vector<std::string>& wanted);

}  // namespace belay::tool::dashboard
