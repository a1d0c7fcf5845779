// duties.cpp — the table of duties, the short ones, and the call that runs them.
//
// Calls    store::discard_old, store::delete_idle_locks, store::repair_cursors,
//          store::repair_message_gaps, store::repair_task_gaps, retire_instances,
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
#include "pg/datum.hpp"
#include "pg/errors.hpp"
#include "pg/list.hpp"
#include "pg/scopes.hpp"
#include "pg/settings.hpp"
#include "shmem/cursors.hpp"
#include "shmem/gaps.hpp"
#include "shmem/wakeups/wakeups.hpp"
#include "store/dead_letters.hpp"
#include "store/task_claims.hpp"
#include "store/instance_locks.hpp"
#include "store/waking.hpp"
#include "store/worker_queue.hpp"

namespace belay::ops {

namespace {

constexpr int kPortion = 1000;
constexpr int kRoots = 100;
constexpr int64 kDayMs = int64{24} * 3600 * 1000;

using pg::FaultPoint;

bool has_repairs() {
    return wakeups::has_prepared() || cursors::has_cursors_to_check() ||
           gaps::has_to_check(cursors::cursor_check_age());
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
    {"stat_minutes", record_stat_minutes, 10, FaultPoint::kDutyStatMinutes},
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
        pg::raise(pg::kInvalidArgument, psprintf("unrecognized duty \"%s\"", pg::excerpt(text)),
                  pg::Facts("unknown_duty")
                      .add("path", psprintf("p_duties[%zu]", index))
                      .add("value", text),
                  psprintf("%s.", hint->data));
    }
    return *duty;
}

DutyResult run_duty(store::Tables& tables, const Duty& duty, pg::Clock* clock) {
    const int64 begin = pg::server_now_ms();
    int64 rows = 0;
    // What a portion has read goes when it ends: there may be many.
    while (const int64 portion =
               pg::with_spi([&tables, &duty, clock] { return run_portion(tables, duty, clock); })) {
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

int64 run_portion(store::Tables& tables, const Duty& duty, pg::Clock* clock) {
    pg::fail_here(duty.fault);
    return duty.run(tables, clock);
}

const Duty* find_duty(std::string_view name) {
    for (const Duty& duty : kDuties) {
        if (name == duty.name) {
            return &duty;
        }
    }
    return nullptr;
}

// Cursors are right by themselves, unless other code than belay writes into the table. To look
// costs a walk over the dead rows: the worker does it once a minute, a call at once.
int64 repair_shared_memory(store::Tables& tables, pg::Clock*) {
    wakeups::publish_prepared();
    const int64 age = MyBackendType == B_BG_WORKER ? cursors::cursor_check_age() : 0;
    int64 repaired = 0;
    const auto count = [&repaired](const wakeups::Channel& channel, int64 found) {
        if (found > 0) {
            wakeups::ready(channel, static_cast<int32>(found));
        }
        repaired += found;
    };
    if (try_enter(tables, {.worker_queue = true})) {
        count(store::worker_channel(tables), store::repair_cursors(tables, age));
    }
    if (try_enter(tables, {.orchestrator_queue = true})) {
        count(store::orchestrator_channel(tables), store::repair_message_gaps(tables, age));
    }
    if (try_enter(tables, {.tasks = true})) {
        count(store::all_queues_channel(tables), store::repair_task_gaps(tables, age));
    }
    return repaired;
}

int64 discard_old_dead_letters(store::Tables& tables, pg::Clock* clock) {
    const int64 retention = tables.hub.options[store::Option::kDeadLetterRetention];
    return retention == store::kOff
               ? 0
               : store::discard_old(tables, clock->now() - retention, kPortion);
}

int64 retire_finished_instances(store::Tables& tables, pg::Clock* clock) {
    const int64 retention = tables.hub.options[store::Option::kInstanceRetention];
    return retention == store::kOff
               ? 0
               : retire_instances(tables, clock->now() - retention, clock->now(), kRoots);
}

int64 relay_old_intents(store::Tables& tables, pg::Clock* clock) {
    return relay_intents(tables, clock, pg::settings.intent_age_ms);
}

int64 clean_up_outbox(store::Tables& tables, pg::Clock* clock) {
    return forget_events(tables, clock) + forget_received_intents(tables, clock);
}

int64 clean_up_locks(store::Tables& tables, pg::Clock* clock) {
    if (!try_enter(tables, {.orchestrator_queue = true, .instance_locks = true})) {
        return 0;
    }
    return store::delete_idle_locks(tables, clock->now() - kDayMs, clock->now(), kPortion);
}

int64 clean_up_sessions(store::Tables& tables, pg::Clock* clock) {
    if (!try_enter(tables, {.worker_queue = true, .sessions = true})) {
        return 0;
    }
    return cleanup_orphaned_sessions(tables, clock);
}

std::span<const DutyResult> reconcile(store::Tables& tables,
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
        results.add(run_duty(tables, *duty, clock));
    }
    return results.span();
}

}  // namespace belay::ops
