// hub_families.cpp — families: hubs that share a load by keys.
//
// Calls    create_hub, distribute_hub, drop_hub, store::put_family, store::remove_family,
//          store::put_place
// Touches  belay.hub_families, belay.hub_places, the hubs of the family
// Locks    the name of the family, then what create_hub and drop_hub lock
// Raises   QB002 unknown family, QB006 bad argument, 42501
#include <charconv>

#include "core/family.hpp"
#include "ops/admin/admin.hpp"
#include "pg/errors.hpp"
#include "pg/locks.hpp"
#include "store/hub_row.hpp"

namespace belay::ops {

namespace {

void check_size(int32 hubs) {
    if (hubs < 1 || hubs > core::kMaxFamily) {
        pg::raise_invalid(
            "out_of_range", "p_hubs", psprintf("p_hubs must be between 1 and %d", core::kMaxFamily),
            "Let more keys share a hub: each hub has tables, indexes and functions of its own.");
    }
}

// "host:port"; the last colon counts, so that an IPv6 address needs no brackets.
store::Place parse_place(std::string_view text) {
    const auto colon = text.rfind(':');
    store::Place place{"", 0};
    if (colon != std::string_view::npos) {
        place.host = pg::c_string(text.substr(0, colon));
        const char* end = text.data() + text.size();
        const auto parsed = std::from_chars(text.data() + colon + 1, end, place.port);
        if (parsed.ec != std::errc() || parsed.ptr != end) {
            place.port = 0;
        }
    }
    if (place.port == 0) {
        pg::raise_invalid("bad_value", "p_servers",
                          psprintf("\"%s\" is not a place", pg::excerpt(text)),
                          "Pass places as host:port.");
    }
    check_place(place);
    return place;
}

// The index of this server among those of the family.
std::size_t index_of_here(std::span<const std::string_view> servers, std::string_view here) {
    for (std::size_t i = 0; i < servers.size(); ++i) {
        if (servers[i] == here) {
            return i;
        }
    }
    pg::raise_invalid("bad_value", "p_here",
                      psprintf("\"%s\" is not one of p_servers", pg::excerpt(here)),
                      "Pass the element of p_servers that is this server.");
}

// Whether there is a hub of that name in this database, served or left here.
bool is_hub(const char* name) {
    const Oid schema = get_namespace_oid(name, true);
    return OidIsValid(schema) && OidIsValid(store::hub_relation(schema));
}

// Whether this server has it, and Citus does not know of it yet.
bool is_local(const char* name) {
    return !store::place_of(name) &&
           store::find_shards(get_namespace_oid(name, false)).spread == store::Spread::kLocal;
}

}  // namespace

const char* family_hub_name(const char* family, int32 number) {
    return psprintf("%s_%03d", family, number);
}

const char* family_hub(const char* family, int32 hubs, std::string_view key) {
    check_size(hubs);
    return family_hub_name(family, core::family_number(key, hubs));
}

int32 family_size(const char* family) {
    const auto hubs = store::family_size(family);
    if (!hubs) {
        pg::raise(pg::kNotFound, psprintf("family \"%s\" does not exist", family),
                  pg::Facts("unknown_family").add("family", family),
                  "SELECT family FROM belay.hub_families lists the families that this database "
                  "knows.");
    }
    return *hubs;
}

void create_hub_family(const FamilyRequest& request, Pause pause) {
    refuse_in_extension_script("belay.create_hub_family");
    refuse_on_other_nodes("belay.create_hub_family");
    check_size(request.hubs);
    check_hub_name(family_hub_name(request.family, request.hubs - 1));
    PreventCommandIfReadOnly("belay.create_hub_family");
    const auto servers = request.servers;
    const std::size_t here = servers.empty() ? 0 : index_of_here(servers, request.here);
    if (!servers.empty() && !may_set_places()) {
        ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                        errmsg("permission denied to set places of hubs"),
                        errhint("Ask an administrator for EXECUTE on belay.set_hub_place.")));
    }
    pg::lock_name(pg::LockSpace::kHubName, request.family);
    const auto known = store::family_size(request.family);
    if (known && *known != request.hubs) {
        pg::raise(pg::kInvalidArgument,
                  psprintf("family \"%s\" has %d hubs", request.family, *known),
                  pg::Facts("family_exists")
                      .add("path", "p_hubs")
                      .add("family", request.family)
                      .add("hubs", int64{*known}),
                  "Make another family: the number of hubs decides which hub has a key, and does "
                  "not change.");
    }
    if (!known) {
        store::put_family(request.family, request.hubs);
    }
    const bool distributes = servers.empty() && distributes_new_hubs();
    for (int32 i = 0; i < request.hubs; ++i) {
        const char* name = family_hub_name(request.family, i);
        const std::size_t server =
            servers.empty() ? here : static_cast<std::size_t>(i) % servers.size();
        // An earlier call may not have come to its end, and hubs move: what is known stays.
        if (!is_hub(name) && !store::place_of(name)) {
            if (server != here) {
                set_hub_place(name, parse_place(servers[server]));
                continue;
            }
            create_hub(name, request.api, false, request.verbs);
            pause();
        }
        if (distributes && is_local(name)) {
            distribute_hub(name, nullptr, std::nullopt);
            pause();
        }
    }
}

void drop_hub_family(const char* family, bool force, Pause pause) {
    refuse_in_extension_script("belay.drop_hub_family");
    refuse_on_other_nodes("belay.drop_hub_family");
    PreventCommandIfReadOnly("belay.drop_hub_family");
    const int32 hubs = family_size(family);
    bool owns_one = may_set_places();
    for (int32 i = 0; i < hubs; ++i) {
        const char* name = family_hub_name(family, i);
        if (is_hub(name)) {
            drop_hub(name, force);
            owns_one = true;
            pause();
        }
    }
    if (!owns_one) {
        ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                        errmsg("permission denied to drop family \"%s\"", family),
                        errdetail("No hub of it is in this database.")));
    }
    if (may_set_places()) {
        for (int32 i = 0; i < hubs; ++i) {
            (void)store::remove_place(family_hub_name(family, i));
        }
    }
    (void)store::remove_family(family);
}

}  // namespace belay::ops
