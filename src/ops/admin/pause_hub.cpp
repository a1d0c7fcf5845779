// pause_hub.cpp — stop and restart the handing out of work.
//
// Calls    store::set_paused
// Touches  <hub>.belay_hub
// Locks    the hub row
// Raises   QB006 unknown queue
#include "ops/admin/admin.hpp"
#include "pg/errors.hpp"
#include "pg/worker_signal.hpp"
#include "store/hub_row.hpp"

namespace belay::ops {

namespace {

void set_all(const store::Hub& hub, std::optional<std::string_view> queue,
             std::optional<std::string_view> reason) {
    bool known = !queue;
    for (const char* name : store::kQueueNames) {
        known = known || *queue == name;
    }
    if (!known) {
        pg::raise(pg::kInvalidArgument, psprintf("unknown queue \"%s\"", pg::excerpt(*queue)),
                  pg::Facts("unknown_queue").add("path", "p_queue").add("value", *queue),
                  "Queues are orchestrator, worker, tasks and intents; NULL means all of them.");
    }
    store::lock_hub_row(hub);
    for (const char* name : store::kQueueNames) {
        if (!queue || *queue == name) {
            store::set_paused(hub, name, reason);
            if (!reason && strcmp(name, "intents") == 0) {
                pg::wake_relay_at_commit(hub.schema);
            }
        }
    }
}

}  // namespace

void pause_hub(const store::Hub& hub, std::optional<std::string_view> queue,
               std::string_view reason) {
    set_all(hub, queue, reason);
}

void resume_hub(const store::Hub& hub, std::optional<std::string_view> queue) {
    set_all(hub, queue, std::nullopt);
}

}  // namespace belay::ops
