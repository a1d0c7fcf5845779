// duties.cpp — the table of duties, the short ones, and the call that runs them.
//
// Calls    store::discard_old, store::delete_idle_locks, store::repair_cursors,
//          store::direct::repair_message_gaps, store::direct::repair_task_gaps, retire_instances,
//          relay_intents, forget_received_intents, forget_events
// Touches  <hub>.dead_letters, <hub>.instance_locks, <hub>.sessions, <hub>.outbox_events; reads
//          <hub>.worker_queue, <hub>.orchestrator_queue, <hub>.tasks
// Locks    rows, always skipping what others hold
// Raises   QB006 unknown duty
#include "ops/duties/duties.hpp"

#include <algorithm>

#include "core/time.hpp"
#include "ops/enter.hpp"
#include "ops/intents/intents.hpp"
#include "ops/management/management.hpp"
#include "ops/outbox/outbox.hpp"
#include "ops/worker_queue/worker_queue.hpp"
#include "pg/claim_cursors.hpp"
#include "pg/datum.hpp"
#include "pg/errors.hpp"
#include "pg/list.hpp"
#include "pg/queue_gaps.hpp"
#include "pg/scopes.hpp"
#include "pg/settings.hpp"
#include "pg/wakeups.hpp"
#include "store/dead_letters.hpp"
#include "store/fast/tasks.hpp"
#include "store/fast/turns.hpp"
#include "store/fast/worker_queue.hpp"
#include "store/instance_locks.hpp"
#include "store/waking.hpp"

namespace belay::ops {

namespace {

constexpr int kPortion = 1000;
constexpr int kRoots = 100;
constexpr int64 kDayMs = int64{24} * 3600 * 1000;

using pg::FaultPoint;

bool has_repairs() {
    return pg::has_prepared_notes() || pg::has_cursors_to_check() ||
           pg::has_gaps_to_check(pg::cursor_check_age());
}

constexpr Duty kDuties[] = {
    {"cancel_backlog", drain_cancel_backlog, 1, FaultPoint::kDutyCancelBacklog},
    {"cursor_repair", repair_shared_memory, 1, FaultPoint::kDutyCursorRepair, has_repairs},
    {"dead_letters", discard_old_dead_letters, 60, FaultPoint::kDutyDeadLetters},
    {"deadlines", expire_tasks, 1, FaultPoint::kDutyDeadlines},
    {"dispatch_sweep", sweep_dispatches, 1, FaultPoint::kDutyDispatchSweep},
    {"due_timers", promote_due_tasks, 1, FaultPoint::kDutyDueTimers},
    {"instance_retention", retire_finished_instances, 60, FaultPoint::kDutyInstanceRetention,
     nullptr, true},
    {"intent_relay", relay_old_intents, 1, FaultPoint::kDutyIntentRelay},
    {"lease_expiry", expire_task_leases, 1, FaultPoint::kDutyLeaseExpiry},
    {"lock_cleanup", clean_up_locks, 300, FaultPoint::kDutyLockCleanup},
    {"orphan_messages", bury_orphan_messages, 60, FaultPoint::kDutyOrphanMessages},
    {"outbox_retention", clean_up_outbox, 10, FaultPoint::kDutyOutboxRetention},
    {"retention", retire_tasks, 60, FaultPoint::kDutyRetention},
    {"schedules", run_schedules, 1, FaultPoint::kDutySchedules, nullptr, false, next_schedule},
    {"session_cleanup", clean_up_sessions, 10, FaultPoint::kDutySessionCleanup},
    {"sibling_cancel", cancel_siblings, 1, FaultPoint::kDutySiblingCancel},
    {"xmin_watch", watch_snapshots, 60, FaultPoint::kDutyXminWatch},
};

static_assert(std::is_sorted(std::begin(kDuties), std::end(kDuties),
                             [](const Duty& a, const Duty& b) {
                                 return std::string_view(a.name) < b.name;
                             }));

// The fault point of a duty is named after it.
static_assert(std::all_of(std::begin(kDuties), std::end(kDuties), [](const Duty& duty) {
    const std::string_view point = pg::kFaultPointNames[static_cast<int>(duty.fault)];
    return point.substr(0, 5) == "duty." && point.substr(5) == duty.name;
}));

const Duty& checked_duty(Datum name, std::size_t index) {
    const auto text = name == 0 ? std::string_view() : pg::text_view(name);
    const Duty* duty = find_duty(text);
    if (duty == nullptr) {
        StringInfo hint = makeStringInfo();
        for (const Duty& known : kDuties) {
            appendStringInfo(hint, "%s%s", hint->len == 0 ? "Duties are " : ", ", known.name);
        }
        pg::raise(pg::kInvalidArgument, psprintf("unknown duty \"%s\"", pg::excerpt(text)),
                  pg::Facts("unknown_duty")
                      .add("path", psprintf("p_duties[%zu]", index))
                      .add("value", text),
                  psprintf("%s.", hint->data));
    }
    return *duty;
}

DutyResult run_duty(const store::Hub& hub, const Duty& duty, pg::Clock* clock) {
    const int64 begin = pg::server_now_ms();
    int64 rows = 0;
    // What a portion has read goes when it ends: there may be many.
    while (const int64 portion =
               pg::with_spi([&hub, &duty, clock] { return run_portion(hub, duty, clock); })) {
        rows += portion;
        if (duty.single) {
            break;
        }
        CHECK_FOR_INTERRUPTS();
    }
    return {duty.name, rows, std::max<int64>(0, pg::server_now_ms() - begin)};
}

}  // namespace

std::span<const Duty> duties() {
    return kDuties;
}

int64 run_portion(const store::Hub& hub, const Duty& duty, pg::Clock* clock) {
    pg::fail_here(duty.fault);
    return duty.run(hub, clock);
}

const Duty* find_duty(std::string_view name) {
    for (const Duty& duty : kDuties) {
        if (name == duty.name) {
            return &duty;
        }
    }
    return nullptr;
}

// Cursors are right by themselves, unless somebody else than belay writes into the table. To look
// costs a walk over the dead rows: the worker does it once a minute, a call at once.
int64 repair_shared_memory(const store::Hub& hub, pg::Clock*) {
    pg::settle_prepared();
    const int64 age = MyBackendType == B_BG_WORKER ? pg::cursor_check_age() : 0;
    int64 repaired = 0;
    const auto count = [&repaired](const pg::Channel& channel, int64 found) {
        if (found > 0) {
            pg::note_ready(channel, static_cast<int32>(found));
        }
        repaired += found;
    };
    if (try_enter(hub, {.worker_queue = true})) {
        count(store::worker_channel(hub), store::repair_cursors(hub, age));
    }
    if (try_enter(hub, {.orchestrator_queue = true})) {
        count(store::orchestrator_channel(hub), store::direct::repair_message_gaps(hub, age));
    }
    if (OidIsValid(hub.relations.tasks) && try_enter(hub, {.tasks = true})) {
        count(store::all_lanes_channel(hub), store::direct::repair_task_gaps(hub, age));
    }
    return repaired;
}

int64 discard_old_dead_letters(const store::Hub& hub, pg::Clock* clock) {
    const int64 retention = hub.options[store::Option::kDeadLetterRetention];
    return retention == store::kOff ? 0
                                    : store::discard_old(hub, clock->now() - retention, kPortion);
}

int64 retire_finished_instances(const store::Hub& hub, pg::Clock* clock) {
    const int64 retention = hub.options[store::Option::kInstanceRetention];
    return retention == store::kOff
               ? 0
               : retire_instances(hub, clock->now() - retention, clock->now(), kRoots);
}

int64 relay_old_intents(const store::Hub& hub, pg::Clock* clock) {
    return relay_intents(hub, clock, pg::settings.intent_age_ms);
}

int64 clean_up_outbox(const store::Hub& hub, pg::Clock* clock) {
    return forget_events(hub, clock) + forget_received_intents(hub, clock);
}

int64 clean_up_locks(const store::Hub& hub, pg::Clock* clock) {
    if (!try_enter(hub, {.orchestrator_queue = true, .instance_locks = true})) {
        return 0;
    }
    return store::delete_idle_locks(hub, clock->now() - kDayMs, clock->now(), kPortion);
}

int64 clean_up_sessions(const store::Hub& hub, pg::Clock* clock) {
    if (!try_enter(hub, {.worker_queue = true, .sessions = true})) {
        return 0;
    }
    return cleanup_orphaned_sessions(hub, clock);
}

std::span<const DutyResult> reconcile(const store::Hub& hub,
                                      std::optional<std::span<const Datum>> names,
                                      pg::Clock* clock) {
    pg::List<const Duty*> chosen;
    if (names) {
        for (std::size_t i = 0; i < names->size(); ++i) {
            chosen.add(&checked_duty((*names)[i], i));
        }
    } else {
        for (const Duty& duty : kDuties) {
            chosen.add(&duty);
        }
    }
    pg::List<DutyResult> results;
    for (const Duty* duty : chosen) {
        results.add(run_duty(hub, *duty, clock));
    }
    return results.span();
}

}  // namespace belay::ops
