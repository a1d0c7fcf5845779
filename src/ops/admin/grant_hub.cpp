// grant_hub.cpp — grant levels: ACLs on the hub's functions and views.
//
// Calls    store::grant_function, store::grant_views, store::grant_schema and their counterparts
// Touches  ACLs
// Locks    the hub row; of a hub that Citus has distributed the name
// Raises   QB002 unknown hub, QB006 unknown level, 42704 unknown role, 42501
#include "core/levels.hpp"
#include "ops/admin/admin.hpp"
#include "pg/errors.hpp"
#include "pg/locks.hpp"
#include "pg/scopes.hpp"
#include "store/grants.hpp"
#include "store/hub_files.hpp"
#include "store/hub_row.hpp"
#include "store/plan.hpp"

namespace belay::ops {

namespace {

uint8 checked_level(std::string_view level) {
    const auto known = core::parse_level(level);
    if (!known) {
        pg::raise(pg::kInvalidArgument, psprintf("unrecognized level \"%s\"", pg::excerpt(level)),
                  pg::Facts("unknown_level").add("path", "p_level").add("value", level),
                  "Levels are client, worker, operator and monitor.");
    }
    return *known;
}

// Runs body as the hub's owner, who then is the grantor.
template <typename Body>
void with_rights(const store::Hub& hub, Body body) {
    const bool distributed = hub.shards != nullptr;
    const auto change = [&hub, &body, distributed] {
        pg::as_role(hub.owner, [&hub, &body, distributed] {
            pg::with_spi([&hub, &body, distributed] {
                // One change of rights at a time.
                if (distributed) {
                    pg::lock_name(pg::LockSpace::kHubName, NameStr(hub.name));
                } else {
                    store::lock_hub_row(hub);
                }
                body();
            });
        });
    };
    store::with_pinned_settings(change,
                                distributed ? store::Reach::kAllNodes : store::Reach::kThisNode);
}

}  // namespace

void grant_hub(const char* name, const char* role, std::string_view level, LevelsOf levels_of) {
    const uint8 wanted = checked_level(level);
    const store::Hub& hub = hub_to_define(name, "belay.grant_hub");
    (void)get_role_oid(role, false);
    with_rights(hub, [&hub, role, wanted, levels_of] {
        store::grant_schema(hub, role);
        for (const auto& function : store::hub_functions(hub.schema)) {
            if ((levels_of(function.verb) & wanted) != 0) {
                store::grant_function(function, role);
            }
        }
        store::grant_views(hub, wanted, role);
    });
}

void revoke_hub(const char* name, const char* role, std::string_view level, LevelsOf levels_of) {
    const uint8 unwanted = checked_level(level);
    const store::Hub& hub = hub_to_define(name, "belay.revoke_hub");
    const Oid role_id = get_role_oid(role, false);
    if (role_id == hub.owner) {
        pg::raise(pg::kInvalidArgument,
                  psprintf("role \"%s\" owns hub \"%s\" and keeps all its rights", role, name),
                  pg::Facts("owner").add("path", "p_role").add("value", role),
                  "Revoke levels from other roles only.");
    }
    with_rights(hub, [&hub, role, role_id, unwanted, levels_of] {
        bool keeps_some = false;
        for (const auto& function : store::hub_functions(hub.schema)) {
            if ((levels_of(function.verb) & unwanted) != 0) {
                store::revoke_function(function, role);
            } else {
                keeps_some = keeps_some || store::is_granted(function.id, role_id);
            }
        }
        store::revoke_views(hub, unwanted, role);
        if (!keeps_some) {
            store::revoke_schema(hub, role);
        }
    });
}

}  // namespace belay::ops
