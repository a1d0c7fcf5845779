// Duties: what a hub needs done from time to time, by the background worker or by a call.
//
// Every duty looks at its rows again under lock before it writes, works in bounded portions, and
// skips what another transaction holds.
#pragma once

#include "pg/clock.hpp"
#include "pg/faults.hpp"
#include "pg/pg.hpp"
#include "store/sparse.hpp"
#include "store/table/tables.hpp"

namespace belay::ops {

struct Duty {
    const char* name;
    // Does one portion; returns how many rows it changed.
    int64 (*run)(store::Tables& tables, pg::Clock* clock);
    // How long the background worker waits after a portion that found nothing, in multiples of
    // belay.reconcile_interval. After one that found something it continues at once.
    int pace;
    pg::FaultPoint fault;
    // Whether the worker need run it at all; null: always.
    bool (*needed)() = nullptr;
    // One transaction does one portion only.
    bool single = false;
    // When there is something to do again, in ms, if that is known; null: the pace alone decides.
    int64 (*next)(store::Tables& tables) = nullptr;
    // While none of these may have a row there is nothing to do; none: that is unknown.
    std::span<const store::Sparse> reads = {};
};

// All duties, sorted by name.
std::span<const Duty> duties();

// The duty of that name, or null.
const Duty* find_duty(std::string_view name);

// One portion of a duty. Costs no plan while the tables are empty that it reads.
int64 run_portion(store::Tables& tables, const Duty& duty, pg::Clock* clock);

// The single duties.
int64 repair_shared_memory(store::Tables& tables, pg::Clock* clock);
int64 dead_letter_orphan_messages(store::Tables& tables, pg::Clock* clock);
int64 discard_old_dead_letters(store::Tables& tables, pg::Clock* clock);
int64 retire_finished_instances(store::Tables& tables, pg::Clock* clock);
int64 relay_old_intents(store::Tables& tables, pg::Clock* clock);
int64 clean_up_outbox(store::Tables& tables, pg::Clock* clock);
int64 clean_up_locks(store::Tables& tables, pg::Clock* clock);
int64 clean_up_sessions(store::Tables& tables, pg::Clock* clock);
int64 expire_task_leases(store::Tables& tables, pg::Clock* clock);
int64 expire_tasks(store::Tables& tables, pg::Clock* clock);
int64 promote_due_tasks(store::Tables& tables, pg::Clock* clock);
int64 retire_tasks(store::Tables& tables, pg::Clock* clock);
int64 sweep_dispatches(store::Tables& tables, pg::Clock* clock);
int64 cancel_siblings(store::Tables& tables, pg::Clock* clock);
int64 drain_cancel_backlog(store::Tables& tables, pg::Clock* clock);
int64 run_schedules(store::Tables& tables, pg::Clock* clock);
int64 next_schedule(store::Tables& tables);
int64 record_stat_minutes(store::Tables& tables, pg::Clock* clock);
int64 watch_snapshots(store::Tables& tables, pg::Clock* clock);

// What one duty did.
struct DutyResult {
    const char* name;
    int64 rows;
    int64 elapsed_ms;
};

// Runs the named duties, or all, until a portion comes back empty or a duty allows no second one.
// QB006 for an unknown name.
std::span<const DutyResult> reconcile(store::Tables& tables,
                                      std::optional<std::span<const Datum>> names,
                                      pg::Clock* clock);

}  // namespace belay::ops
