// upgrade_hub.cpp — bring a hub made by an older release to the current one, in place.
//
// Calls    store::run_hub_steps, store::run_hub_objects
// Touches  the hub's schema
// Locks    the hub row first: two upgrades run one after the other
// Raises   QB002 unknown hub, 42501, 0A000 inside an extension script or for a newer hub
#include "ops/admin/admin.hpp"
#include "pg/errors.hpp"
#include "pg/scopes.hpp"
#include "store/grants.hpp"
#include "store/hub_files.hpp"
#include "store/hub_row.hpp"
#include "store/plan.hpp"

namespace belay::ops {

namespace {

constexpr uint8 kAllLevels[] = {core::kClient, core::kWorker, core::kOperator, core::kMonitor};

// A level that a role holds, as far as the hub's functions and views show.
struct Holding {
    Oid role;
    uint8 level;
};

// A role holds a level if it was granted every function of it; where the hub has none of them, as
// old ones have for monitors, every view.
bool holds(const store::Hub& hub, Oid role, uint8 level,
           std::span<const store::HubFunction> functions, LevelsOf levels_of) {
    bool any = false;
    for (const auto& function : functions) {
        if ((levels_of(function.verb) & level) != 0) {
            if (!store::is_granted(function.id, role)) {
                return false;
            }
            any = true;
        }
    }
    return any || store::are_views_granted(hub, level, role);
}

std::span<const Holding> holdings(const store::Hub& hub, LevelsOf levels_of) {
    const auto functions = store::hub_functions(hub.schema);
    const auto roles = store::grantees(hub);
    auto* held = static_cast<Holding*>(palloc(sizeof(Holding) * (roles.size() * 4 + 1)));
    std::size_t count = 0;
    for (const Oid role : roles) {
        for (const uint8 level : kAllLevels) {
            if (holds(hub, role, level, functions, levels_of)) {
                held[count++] = {role, level};
            }
        }
    }
    return {held, count};
}

}  // namespace

void upgrade_hub(const char* name, LevelsOf levels_of) {
    refuse_in_extension_script("belay.upgrade_hub");
    if (const store::Hub& known = store::own_hub_left_here(name); known.shards != nullptr) {
        refuse_on_other_nodes("belay.upgrade_hub");
        refuse_distributed(known, "belay.upgrade_hub");
    }
    const store::Hub& found = store::own_hub_by_name(name);
    PreventCommandIfReadOnly("belay.upgrade_hub");
    const Oid owner = found.owner;
    pg::as_role(owner, [&found] { pg::with_spi([&found] { store::lock_hub_row(found); }); });
    const store::Hub& hub = store::own_hub_by_name(name);  // as it is now that we hold the row
    if (hub.version > store::kHubVersion) {
        ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                        errmsg("hub \"%s\" was made by a newer release of belay", name),
                        errdetail("The hub has version %d, this library knows %d.", hub.version,
                                  store::kHubVersion),
                        errhint("Install the newer release.")));
    }
    store::with_pinned_settings([&hub, name, levels_of, owner] {
        pg::as_role(owner, [&hub, name, levels_of] {
            pg::with_spi([&hub, name, levels_of] {
                const auto held = holdings(hub, levels_of);
                store::run_hub_steps(name, hub.version);
                store::run_hub_objects(name, hub.api);
                store::revoke_from_public(hub.schema, hub.api);
                store::set_hub_version(hub, store::kHubVersion);
                for (const auto& [role, level] : held) {
                    const char* role_name = GetUserNameFromId(role, false);
                    for (const auto& function : store::hub_functions(hub.schema)) {
                        if ((levels_of(function.verb) & level) != 0) {
                            store::grant_function(function, role_name);
                        }
                    }
                    store::grant_views(hub, level, role_name);
                }
            });
        });
    });
}

}  // namespace belay::ops
