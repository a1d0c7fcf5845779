// The planner hook that keeps the plans of store statements on their indexes.
//
// A store statement is planned once per session and kept. A hub's tables are empty when they are
// first used, so the planner would choose sequential scans and keep them while the queue grows to
// millions of rows; statistics that are out of date do the same at any time. So the settings that
// choose plans have to be ours whenever a statement is planned, and there is no other place for
// that than a hook:
// - Settings around SPI_prepare do not reach the planner: it runs at the first execution, and again
//   inside any execution after a relation of the plan has changed, with the caller's settings.
// - Settings around every execution would be paid by each of them (nine settings and a nest level
//   are more than many statements cost), and would also apply to other code that runs meanwhile:
//   the owner's CHECKs, functions in indexes, triggers of foreign keys.
// - To ask for the plan before every execution leaves a gap: execution takes the locks, meets the
//   invalidation that came with them, and plans again.
// - PostgreSQL has no hints, and no settings that belong to a plan.
// The hook gets no more of a plan than the text of its statement, so the text says it, in a comment
// at its beginning. A user who writes the same comment gets such a plan for an own statement, as
// with the same settings.
//
// May touch: planner settings and the one by which Citus hides shards, while a marked statement is
// planned. Must not: change a query, or any statement that is not marked.
#include "store/index_plans.hpp"

#include "pg/pg.hpp"

namespace belay::store {

namespace {

constinit planner_hook_type previous_planner = nullptr;

// The settings are undone by the transaction if planning fails.
extern "C" PlannedStmt* belay_planner(Query* parse, const char* query_string, int cursor_options,
                                      ParamListInfo params) {
    const auto next = previous_planner != nullptr ? previous_planner : standard_planner;
    if (query_string == nullptr ||
        strncmp(query_string, kForIndexes.data(), kForIndexes.size()) != 0) {
        return next(parse, query_string, cursor_options, params);
    }
    const int level = NewGUCNestLevel();
    for (const char* name : {"enable_seqscan", "enable_bitmapscan", "enable_sort",
                             "enable_hashjoin", "enable_mergejoin", "enable_material", "jit"}) {
        (void)set_config_option(name, "off", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0,
                                false);
    }
    for (const char* name : {"enable_indexscan", "enable_nestloop"}) {
        (void)set_config_option(name, "on", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0,
                                false);
    }
    // Citus leaves shards out of what a client session reads of pg_class.
    constexpr const char* kHidesShards = "citus.override_table_visibility";
    if (GetConfigOption(kHidesShards, true, false) != nullptr) {
        (void)set_config_option(kHidesShards, "off", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE,
                                true, 0, false);
    }
    PlannedStmt* plan = next(parse, query_string, cursor_options, params);
    AtEOXact_GUC(false, level);
    return plan;
}

}  // namespace

void keep_plans_on_indexes() {
    previous_planner = planner_hook;
    planner_hook = belay_planner;
}

}  // namespace belay::store
