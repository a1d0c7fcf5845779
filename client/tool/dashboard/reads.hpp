// The reads of a hub, each an answer without its time and statements.
#pragma once

#include "reader.hpp"

namespace belay::tool::dashboard {

Json read_tasks(Reader& reader);
Json read_task(Reader& reader);
Json read_task_explain(Reader& reader);
Json read_task_waitpoints(Reader& reader);
Json read_instances(Reader& reader);
Json read_instance(Reader& reader);
Json read_instance_history(Reader& reader);
Json read_instance_tree(Reader& reader);
Json read_instance_kv(Reader& reader);
Json read_flows(Reader& reader);
Json read_flow(Reader& reader);
Json read_queue(Reader& reader);
Json read_owners(Reader& reader);
Json read_schedules(Reader& reader);
Json read_subscriptions(Reader& reader);
Json read_dead_letters(Reader& reader);
Json read_work_items(Reader& reader);
Json read_work_item_explain(Reader& reader);
Json read_messages(Reader& reader);
Json read_events(Reader& reader);
Json read_find(Reader& reader);
Json read_health(Reader& reader);

// The input that an execution began with: in its first event, if that is JSON.
OptionalText input_of(Reader& reader, const std::string& id, std::int64_t execution);

}  // namespace belay::tool::dashboard
