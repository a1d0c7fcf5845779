// Rights on a hub's functions and views: ACLs and nothing else, so that dumps carry them.
#pragma once

#include "pg/pg.hpp"
#include "store/hub.hpp"

namespace belay::store {

// A function or procedure of language belay in a hub.
struct HubFunction {
    Oid id;
    const char* verb;
    const char* signature;  // schema-qualified, ready for GRANT and DROP
    bool is_public;         // every role may call it
    Oid owner;
    bool is_altered;  // strict, immutable, parallel safe, leakproof, security definer, or with
                      // settings
};

std::span<const HubFunction> hub_functions(Oid schema);

// Takes away what all roles got by default: the right to call new functions, and what the owner's
// default privileges gave on tables.
void revoke_from_public(Oid schema, Api api);

// Whether the role may call the hub's function of that name.
bool may_execute(const Hub& hub, const char* function, Oid role);

// Whether the role itself was granted EXECUTE on the function.
bool is_granted(Oid function, Oid role);

// Whether a role besides the owner has rights on the relation: any, or only PUBLIC if roles
// may have some.
bool is_shared(Oid relation, Oid owner, bool roles_may);

// Whether the hub has views of the level, and the role itself was granted SELECT on all of them.
bool are_views_granted(const Hub& hub, uint8 level, Oid role);

// Roles that were granted anything on the hub's functions, or on views that belong to a level.
std::span<const Oid> grantees(const Hub& hub);

// Says again what the catalog has, for the nodes of Citus that made the functions and views anew.
void repeat_grants(const Hub& hub);

void grant_function(const HubFunction& function, const char* role);
void revoke_function(const HubFunction& function, const char* role);

// The right to read the hub's views that belong to a level.
void grant_views(const Hub& hub, uint8 level, const char* role);
void revoke_views(const Hub& hub, uint8 level, const char* role);

// The right to look into the hub's schema.
void grant_schema(const Hub& hub, const char* role);
void revoke_schema(const Hub& hub, const char* role);

}  // namespace belay::store
