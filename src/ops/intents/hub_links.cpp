// hub_links.cpp — which foreign server leads to a hub of another database.
//
// Calls    store::set_link, store::remove_link, store::hurry_intents
// Touches  <hub>.intent_links, <hub>.intent_queue
// Locks    the hub row, so that two changes come one after the other
// Raises   QB002 unknown hub or link, QB006 bad name, 42704 unknown server, 42501
#include "core/names.hpp"
#include "ops/intents/intents.hpp"
#include "pg/compat.hpp"
#include "pg/errors.hpp"
#include "pg/scopes.hpp"
#include "shmem/signals.hpp"
#include "store/hub_row.hpp"

namespace belay::ops {

namespace {

void check_target(const char* target) {
    if (core::check_hub_name(target) != core::NameFault::kNone) {
        pg::raise(pg::kInvalidArgument, psprintf("invalid hub name \"%s\"", target),
                  pg::Facts("reserved_name").add("path", "p_target_hub").add("value", target),
                  "Pass a name of 1 to 63 bytes that does not begin with pg_ and is not belay or "
                  "information_schema.");
    }
}

}  // namespace

void create_hub_link(const char* name, const char* target, const char* server) {
    const store::Hub& hub = store::own_hub_by_name(name);
    check_target(target);
    PreventCommandIfReadOnly("belay.create_hub_link");
    const ForeignServer* found = GetForeignServerByName(server, false);
    if (!pg::may_use_server(found->serverid, hub.owner)) {
        ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                        errmsg("permission denied for foreign server %s", server),
                        errdetail("The owner of the hub, role \"%s\", needs USAGE on it.",
                                  GetUserNameFromId(hub.owner, false))));
    }
    pg::as_role(hub.owner, [&hub, target, server] {
        pg::with_spi([&hub, target, server] {
            store::lock_hub_row(hub);
            const int64 now = pg::server_now_ms();
            store::set_link(hub, target, server, now);
            store::hurry_intents(hub, target, now);
            signals::wake_worker_at_commit(signals::Bell::kLinks);
        });
    });
}

void drop_hub_link(const char* name, const char* target) {
    const store::Hub& hub = store::own_hub_by_name(name);
    PreventCommandIfReadOnly("belay.drop_hub_link");
    pg::as_role(hub.owner, [&hub, target] {
        pg::with_spi([&hub, target] {
            store::lock_hub_row(hub);
            if (!store::remove_link(hub, target)) {
                pg::raise(pg::kNotFound,
                          psprintf("hub \"%s\" has no link to \"%s\"", NameStr(hub.name), target),
                          pg::Facts("unknown_link").add("target_hub", target),
                          "View hub_links of the hub lists its links.");
            }
            store::hurry_intents(hub, target, pg::server_now_ms());
            signals::wake_worker_at_commit(signals::Bell::kLinks);
        });
    });
}

}  // namespace belay::ops
