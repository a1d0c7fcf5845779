// pause_hub.cpp — stop and restart the handing out of work.
//
// Calls    store::set_paused, store::paused_queues
// Touches  <hub>.belay_hub, <hub>.outbox_events
// Locks    the hub row
// Raises   QB006 unknown queue
#include "ops/admin/admin.hpp"
#include "ops/audit.hpp"
#include "pg/errors.hpp"
#include "pg/scopes.hpp"
#include "shmem/signals.hpp"
#include "store/glance.hpp"
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
        pg::raise(pg::kInvalidArgument, psprintf("unrecognized queue \"%s\"", pg::excerpt(*queue)),
                  pg::Facts("unknown_queue").add("path", "p_queue").add("value", *queue),
                  "Queues are orchestrator, worker, tasks and intents; NULL means all of them.");
    }
    store::lock_hub_row(hub);
    for (const char* name : store::kQueueNames) {
        if (!queue || *queue == name) {
            store::set_paused(hub, name, reason);
            if (!reason && strcmp(name, "intents") == 0) {
                signals::wake_relay_at_commit(hub.schema);
            }
        }
    }
}

}  // namespace

void pause_hub(const store::Hub& hub, std::optional<std::string_view> queue,
               std::string_view reason) {
    set_all(hub, queue, reason);
    constexpr int kPaused = core::event_place("operator", "hub_paused");
    emit_operator_event(hub, {.event = kPaused,
                              .subject = NameStr(hub.name),
                              .details = store::Details().add("queue", queue),
                              .reason = reason});
}

void resume_hub(const store::Hub& hub, std::optional<std::string_view> queue) {
    store::lock_hub_row(hub);
    bool paused = false;
    for (const auto [name, reason, by, at] :
         pg::with_one_view([&hub] { return store::paused_queues(hub); })) {
        paused = paused || !queue || name == *queue;
    }
    set_all(hub, queue, std::nullopt);
    if (!paused) {
        return;
    }
    constexpr int kResumed = core::event_place("operator", "hub_resumed");
    emit_operator_event(hub, {.event = kResumed,
                              .subject = NameStr(hub.name),
                              .details = store::Details().add("queue", queue)});
}

}  // namespace belay::ops
