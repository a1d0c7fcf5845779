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

using store::Sparse;

constexpr Sparse kBacklogs[] = {Sparse::kCancelBacklog};
constexpr Sparse kCascades[] = {Sparse::kCascadeQueue};
constexpr Sparse kEnded[] = {Sparse::kTasks, Sparse::kFlows, Sparse::kWaitpointKeys};
constexpr Sparse kEvents[] = {Sparse::kOutboxEvents, Sparse::kIntentsReceived};
constexpr Sparse kInstances[] = {Sparse::kInstances};
constexpr Sparse kIntents[] = {Sparse::kIntentQueue};
constexpr Sparse kLetters[] = {Sparse::kDeadLetters};
constexpr Sparse kLocks[] = {Sparse::kInstanceLocks};
constexpr Sparse kMessages[] = {Sparse::kOrchestratorQueue};
constexpr Sparse kSchedules[] = {Sparse::kSchedules};
constexpr Sparse kSessions[] = {Sparse::kSessions};
constexpr Sparse kTasks[] = {Sparse::kTasks};

constexpr Duty kDuties[] = {
    {.name = "cancel_backlog",
     .run = drain_cancel_backlog,
     .pace = 1,
     .fault = FaultPoint::kDutyCancelBacklog,
     .reads = kBacklogs},
    {.name = "cursor_repair",
     .run = repair_shared_memory,
     .pace = 1,
     .fault = FaultPoint::kDutyCursorRepair,
     .needed = has_repairs},
    {.name = "dead_letters",
     .run = discard_old_dead_letters,
     .pace = 60,
     .fault = FaultPoint::kDutyDeadLetters,
     .reads = kLetters},
    {.name = "deadlines",
     .run = expire_tasks,
     .pace = 1,
     .fault = FaultPoint::kDutyDeadlines,
     .reads = kTasks},
    {.name = "dispatch_sweep",
     .run = sweep_dispatches,
     .pace = 1,
     .fault = FaultPoint::kDutyDispatchSweep,
     .reads = kCascades},
    {.name = "due_timers",
     .run = promote_due_tasks,
     .pace = 1,
     .fault = FaultPoint::kDutyDueTimers,
     .reads = kTasks},
    {.name = "instance_retention",
     .run = retire_finished_instances,
     .pace = 60,
     .fault = FaultPoint::kDutyInstanceRetention,
     .single = true,
     .reads = kInstances},
    {.name = "intent_relay",
     .run = relay_old_intents,
     .pace = 1,
     .fault = FaultPoint::kDutyIntentRelay,
     .reads = kIntents},
    {.name = "lease_expiry",
     .run = expire_task_leases,
     .pace = 1,
     .fault = FaultPoint::kDutyLeaseExpiry,
     .reads = kTasks},
    {.name = "lock_cleanup",
     .run = clean_up_locks,
     .pace = 300,
     .fault = FaultPoint::kDutyLockCleanup,
     .reads = kLocks},
    {.name = "orphan_messages",
     .run = dead_letter_orphan_messages,
     .pace = 60,
     .fault = FaultPoint::kDutyOrphanMessages,
     .reads = kMessages},
    {.name = "outbox_retention",
     .run = clean_up_outbox,
     .pace = 10,
     .fault = FaultPoint::kDutyOutboxRetention,
     .reads = kEvents},
    {.name = "retention",
     .run = retire_tasks,
     .pace = 60,
     .fault = FaultPoint::kDutyRetention,
     .reads = kEnded},
    {.name = "schedules",
     .run = run_schedules,
     .pace = 1,
     .fault = FaultPoint::kDutySchedules,
     .next = next_schedule,
     .reads = kSchedules},
    {.name = "session_cleanup",
     .run = clean_up_sessions,
     .pace = 10,
     .fault = FaultPoint::kDutySessionCleanup,
     .reads = kSessions},
    {.name = "sibling_cancel",
     .run = cancel_siblings,
     .pace = 1,
     .fault = FaultPoint::kDutySiblingCancel,
     .reads = kCascades},
    {.name = "stat_minutes",
     .run = record_stat_minutes,
     .pace = 10,
     .fault = FaultPoint::kDutyStatMinutes},
    {.name = "xmin_watch", .run = watch_snapshots, .pace = 60, .fault = FaultPoint::kDutyXminWatch},
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
    const bool idle = !duty.reads.empty() &&
                      std::none_of(duty.reads.begin(), duty.reads.end(), [&](store::Sparse table) {
                          return store::may_have_rows(tables, table);
                      });
    return idle ? 0 : duty.run(tables, clock);
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
    if (store::may_have_rows(tables, Sparse::kWorkerQueue) &&
        try_enter(tables, {.worker_queue = true})) {
        count(store::worker_channel(tables), store::repair_cursors(tables, age));
    }
    if (store::may_have_rows(tables, Sparse::kOrchestratorQueue) &&
        try_enter(tables, {.orchestrator_queue = true})) {
        count(store::orchestrator_channel(tables), store::repair_message_gaps(tables, age));
    }
    if (store::may_have_rows(tables, Sparse::kTasks) && try_enter(tables, {.tasks = true})) {
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
