// Which api a hub has, asked once per connection, and the calls that differ between apis.
//
// May touch: the connection of its hub. Must not: keep anything beyond it.
#include "by_api.hpp"

#include <chrono>

#include "rows.hpp"

namespace belay {
namespace {

std::string fact_of(const Hub& hub) {
    return "duroxide-pg: " + hub.schema();
}

}  // namespace

std::optional<bool> is_known_as_duroxide_pg(Hub& hub) {
    return hub.connection().remembered(fact_of(hub));
}

bool is_duroxide_pg(Hub& hub, const Where& where) {
    if (const auto known = is_known_as_duroxide_pg(hub)) {
        return *known;
    }
    // Every role can read these catalogs, unlike the table of hubs.
    const bool found = hub.query(Effect::kRepeatable,
                                 "SELECT EXISTS (SELECT FROM pg_catalog.pg_proc AS p JOIN "
                                 "pg_catalog.pg_namespace AS n ON n.oid = p.pronamespace WHERE "
                                 "n.nspname = $1 AND p.proname = 'renew_work_item_lock' AND "
                                 "'p_extend_secs' = ANY (p.proargnames))",
                                 {hub.name()}, where)
                           .get<bool>(0, 0);
    hub.connection().remember(fact_of(hub), found);
    return found;
}

void renew_one(Hub& hub, std::string_view function, std::string_view lock_token,
               Milliseconds extend, const Where& where) {
    const auto renew = [&](std::string_view unit, std::int64_t amount) {
        hub.call_named(Effect::kRepeatable, kAll, function,
                       {{"p_lock_token", lock_token}, {unit, amount}, {"p_now_ms", hub.now()}},
                       where);
    };
    call_by_api(
        hub, where, [&] { renew("p_extend_ms", extend.count()); },
        [&] { renew("p_extend_secs", std::chrono::ceil<std::chrono::seconds>(extend).count()); });
}

}  // namespace belay
