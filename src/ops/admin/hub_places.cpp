// hub_places.cpp — hubs of other servers: say where they are, and stop serving what has gone there.
//
// Calls    store::put_place, store::remove_place, store::lock_whole_hub
// Touches  belay.hub_places
// Locks    the hub's name; of a hub that is here the hub row, then all tables of the hub
// Raises   QB006 bad argument, 42501
#include "core/names.hpp"
#include "ops/admin/admin.hpp"
#include "pg/compat.hpp"
#include "pg/durable.hpp"
#include "pg/errors.hpp"
#include "pg/locks.hpp"
#include "pg/scopes.hpp"
#include "store/hub_row.hpp"
#include "store/shards.hpp"

namespace belay::ops {

namespace {

// The hub that is, or was left, in this database, for its owner; null: there is none.
const store::Hub* own_hub_left_here(const char* name) {
    AcceptInvalidationMessages();
    const Oid schema = get_namespace_oid(name, true);
    const store::Hub* hub = OidIsValid(schema) ? store::find_hub_left_here(schema) : nullptr;
    if (hub == nullptr && OidIsValid(schema) && OidIsValid(store::hub_relation(schema))) {
        return &store::own_hub_by_name(name);  // raises why it cannot be read
    }
    if (hub != nullptr && !pg::owns_relation(hub->relations.belay_hub, GetUserId())) {
        pg::raise_not_owner(name);
    }
    return hub;
}

}  // namespace

void check_place(const store::Place& place) {
    const std::string_view host(place.host);
    const bool odd = host.empty() || host.size() > kMaxHostBytes ||
                     host.find_first_of(" \t\r\n,'\"\\=") != std::string_view::npos;
    if (odd) {
        pg::raise_invalid(
            "bad_value", "p_host",
            psprintf("\"%s\" is not the name or address of a server", pg::excerpt(host)),
            "Pass a host name, an address or a directory of sockets, as libpq takes "
            "it.");
    }
    if (place.port < 1 || place.port > 65535) {
        pg::raise_invalid("out_of_range", "p_port", "p_port must be between 1 and 65535",
                          "Pass the port of the server.");
    }
}

bool may_set_places() {
    const Oid types[] = {NAMEOID, TEXTOID, INT4OID};
    const Oid function =
        GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid, CStringGetDatum("set_hub_place"),
                        PointerGetDatum(buildoidvector(types, lengthof(types))),
                        ObjectIdGetDatum(get_namespace_oid("belay", false)));
    return pg::may_call(function, GetUserId());
}

void set_hub_place(const char* name, const store::Place& place) {
    check_hub_name(name);
    check_place(place);
    PreventCommandIfReadOnly("belay.set_hub_place");
    pg::lock_name(pg::LockSpace::kHubName, name);
    const store::Hub* hub = own_hub_left_here(name);
    if (hub != nullptr) {
        refuse_distributed(*hub, "belay.set_hub_place");
    }
    if (hub != nullptr && !hub->elsewhere) {
        // Calls that write have ended, and those that wait for the tables find the place.
        store::lock_whole_hub(*hub);
    }
    store::put_place(name, place);
    // The owner starts the hub at the new place when this has returned: a crash must not make this
    // server serve it again.
    pg::flush_at_commit();
    if (hub != nullptr) {
        store::announce_place(*hub);
    }
}

bool remove_hub_place(const char* name) {
    PreventCommandIfReadOnly("belay.remove_hub_place");
    pg::lock_name(pg::LockSpace::kHubName, name);
    const store::Hub* hub = own_hub_left_here(name);
    const bool removed = store::remove_place(name);
    if (removed && hub != nullptr) {
        store::announce_place(*hub);
    }
    return removed;
}

HubLocation hub_location(const char* name) {
    AcceptInvalidationMessages();
    const auto place = store::place_of(name);
    const Oid schema = get_namespace_oid(name, true);
    if (!place && (!OidIsValid(schema) || !OidIsValid(store::hub_relation(schema)))) {
        store::raise_unknown_hub(name);
    }
    if (place) {
        return {place, false};
    }
    const auto found = store::find_shards(schema);
    return {found.shards == nullptr ? std::nullopt : store::place_of_group(found.shards->group),
            true};
}

}  // namespace belay::ops
