// Pages of what a hub holds, for people who look at it: each follows one index within a budget of
// rows, counts nothing, and reads with the caller's snapshot.
#pragma once

#include "ops/browse/page.hpp"
#include "store/table/tables.hpp"

namespace belay::ops {

Jsonb* browse_tasks(store::Tables& tables, const PageArguments& arguments);
// The tasks of one portion of a call that acts on many.
struct ChosenTasks {
    pg::List<pg_uuid_t> ids;
    std::optional<std::span<const std::string_view>> states;  // those that the filter asks for
    const char* next;
};
ChosenTasks choose_tasks(store::Tables& tables, const char* function,
                         const BulkArguments& arguments);
Jsonb* browse_instances(store::Tables& tables, const PageArguments& arguments);
struct ChosenInstances {
    pg::List<std::string_view> ids;
    const char* next;
};
ChosenInstances choose_instances(store::Tables& tables, const char* function,
                                 const BulkArguments& arguments);
Jsonb* browse_work_items(store::Tables& tables, const PageArguments& arguments);
Jsonb* browse_messages(store::Tables& tables, const PageArguments& arguments);
Jsonb* browse_dead_letters(store::Tables& tables, const PageArguments& arguments);
struct ChosenDeadLetters {
    pg::List<int64> ids;
    const char* next;
};
ChosenDeadLetters choose_dead_letters(store::Tables& tables, const char* function,
                                      const BulkArguments& arguments);
// Never past the horizon of events: a page that begins where another ended has skipped nothing.
Jsonb* browse_events(store::Tables& tables, const PageArguments& arguments);
// Of the present execution if there is none given.
Jsonb* browse_history(store::Tables& tables, std::string_view instance_id,
                      std::optional<int64> execution_id, PageArguments arguments);
Jsonb* browse_flows(store::Tables& tables, const PageArguments& arguments);

}  // namespace belay::ops
