// set_hub_option.cpp — set an option of a hub, or restore its default.
//
// Calls    store::set_stored_option; for slot_count store::reslot_work, store::reslot_messages
// Touches  <hub>.belay_hub; for slot_count <hub>.worker_queue, <hub>.orchestrator_queue,
//          <hub>.slot_owners, <hub>.slot_shares, <hub>.tasks; <hub>.outbox_events
// Locks    the hub row; for slot_count the queues, tasks and slot owners against writers
// Raises   QB002 unknown hub, QB003 live leases, QB006 unknown option or bad value, QB018 altered
// table,
//          42501
#include "ops/admin/admin.hpp"
#include "ops/audit.hpp"
#include "pg/errors.hpp"
#include "pg/scopes.hpp"
#include "store/hub_row.hpp"
#include "store/leases.hpp"
#include "store/orchestrator_queue.hpp"
#include "store/plan.hpp"
#include "store/slots.hpp"
#include "store/table/tables.hpp"
#include "store/due_tasks.hpp"
#include "store/waking.hpp"
#include "store/worker_queue.hpp"

namespace belay::ops {

namespace {

store::Option checked_option(std::string_view name) {
    const auto option = store::find_option(name);
    if (!option) {
        pg::raise(pg::kInvalidArgument,
                  psprintf("unrecognized hub option \"%s\"", pg::excerpt(name)),
                  pg::Facts("unknown_option").add("path", "p_option").add("value", name),
                  "SELECT option FROM belay.hub_options lists the options.");
    }
    return *option;
}

void check_value(store::Option option, std::string_view value) {
    const auto& rule = store::kOptionRules[static_cast<int>(option)];
    if (!store::read_option(option, value)) {
        pg::raise(
            pg::kInvalidArgument,
            psprintf("invalid value for hub option \"%s\": \"%s\"", rule.name, pg::excerpt(value)),
            pg::Facts("bad_value")
                .add("path", "p_value")
                .add("option", rule.name)
                .add("value", value),
            psprintf("Expected %s, or NULL for the default.", rule.expected));
    }
}

// Queued rows carry their slot in their key, and so do tokens: a new slot_count moves the rows, and
// needs a moment without leases.
void change_slot_count(const store::Hub& hub, int32 slot_count) {
    if (IsolationUsesXactSnapshot()) {
        ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                        errmsg("slot_count can only change in a READ COMMITTED transaction"),
                        errdetail("An older snapshot does not see every row that has to move.")));
    }
    for (const Oid table : {hub.relations.worker_queue, hub.relations.orchestrator_queue,
                            hub.relations.slot_owners, hub.relations.tasks}) {
        LockRelationOid(table, ShareRowExclusiveLock);
    }
    store::with_tables(hub, [](store::Tables& tables) {
        tables.check(store::TableId::kWorkerQueue);
        tables.check(store::TableId::kOrchestratorQueue);
        tables.check(store::TableId::kTasks);
    });
    const int64 live = store::count_live_leases(hub);
    if (live > 0) {
        pg::raise(pg::kStillRunning, "slot_count cannot change while a lease is live",
                  pg::Facts("live_leases").add("hub", NameStr(hub.name)).add("leases", live),
                  "Pause the hub, let the leases end, change the option, and resume.");
    }
    store::reslot_work(hub, slot_count);
    store::reslot_messages(hub, slot_count);
    store::delete_slots(hub);
    store::reslot_tasks(hub, slot_count);
    store::wake_all_queues(hub, wakeups::Reason::kWork);
}

}  // namespace

void set_hub_option(const char* name, std::string_view option_name,
                    std::optional<std::string_view> value) {
    const store::Option option = checked_option(option_name);
    if (value) {
        check_value(option, *value);
    }
    const store::Hub& found = store::own_hub_by_name(name);
    PreventCommandIfReadOnly("belay.set_hub_option");
    pg::as_role(found.owner, [&found, option, value] {
        pg::with_spi([&found, option, value] {
            const auto& rule = store::kOptionRules[static_cast<int>(option)];
            store::lock_hub_row(found);
            // The event of the change belongs to the incarnation of this place.
            const store::Hub& hub = store::settle_incarnation(found);
            if (option == store::Option::kSlotCount) {
                const auto count = store::read_option(option, value.value_or(rule.fallback));
                change_slot_count(hub, static_cast<int32>(*count));
            }
            store::set_stored_option(hub, rule.name, value);
            constexpr int kChanged = core::event_place("operator", "option_changed");
            emit_operator_event(hub, {.event = kChanged,
                                      .subject = NameStr(hub.name),
                                      .details = store::Details()
                                                     .add("option", std::string_view(rule.name))
                                                     .add("value", value)});
        });
    });
}

}  // namespace belay::ops
