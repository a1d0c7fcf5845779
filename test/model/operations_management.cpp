// Calls with which operators look at instances.
#include "made_up.hpp"

namespace belay::test::model {

namespace {

using std::to_string;
using When = Operation::When;

const std::vector<std::string> kStatuses = {"Running", "Completed", "Failed", "ContinuedAsNew"};

Expected one_column(const std::vector<std::string>& texts) {
    Expected rows;
    for (const auto& text : texts) {
        rows.push_back({text});
    }
    return rows;
}

// A call with an instance as its only argument.
Call by_instance(Scene* scene, const std::string& columns, const std::string& function,
                 std::function<Expected(const Hub&, int, const std::string&)> expected) {
    const std::string instance = known_instance(scene);
    return Call{"SELECT " + columns + " FROM app." + function + "(" + sql(Text(instance)) + ")",
                [=, client = scene->client](Hub* hub) { return expected(*hub, client, instance); }};
}

// ---- Lists ----

// At times the very instant of a birth.
int64_t made_created(Scene* scene) {
    const auto known = scene->hub.instances.seen_by(scene->client);
    const int64_t base = !known.empty() && scene->random.percent(60)
                             ? scene->random.pick(known)->created_at
                             : scene->now;
    return base + (scene->random.percent(50) ? 0 : scene->random.number(-5000, 1000));
}

std::optional<Call> list_instances(Scene* scene) {
    auto& random = scene->random;
    InstanceFilter filter;
    filter.status = sometimes(scene, 25, random.percent(95) ? random.pick(kStatuses) : "Odd");
    filter.name = sometimes(scene, 20, "acked" + to_string(random.number(0, 3)));
    filter.prefix = sometimes(scene, 20, known_instance(scene).substr(0, 2));
    filter.created_from = sometimes(scene, 20, made_created(scene));
    filter.created_before = sometimes(scene, 20, made_created(scene));
    filter.after = sometimes(scene, 30, known_instance(scene));
    filter.limit = sometimes(scene, 40, random.number(1, 5));
    return Call{"SELECT * FROM app.list_instances(" + sql(filter.status) + ", " + sql(filter.name) +
                    ", " + sql(filter.prefix) + ", " + sql(filter.created_from) + ", " +
                    sql(filter.created_before) + ", " + sql(filter.after) + ", " +
                    sql(filter.limit) + ")",
                [filter, client = scene->client](Hub* hub) {
                    return one_column(hub->list_instances(client, filter));
                }};
}

std::optional<Call> list_instances_by_status(Scene* scene) {
    InstanceFilter filter;
    filter.status = scene->random.pick(kStatuses);
    return Call{"SELECT * FROM app.list_instances_by_status(" + sql(filter.status) + ")",
                [filter, client = scene->client](Hub* hub) {
                    return one_column(hub->list_instances(client, filter));
                }};
}

std::optional<Call> list_executions(Scene* scene) {
    return by_instance(scene, "*", "list_executions",
                       [](const Hub& hub, int client, const std::string& instance) {
                           Expected rows;
                           for (const Execution* execution : hub.executions.seen_by(client)) {
                               if (execution->instance == instance) {
                                   rows.push_back({to_string(execution->id)});
                               }
                           }
                           return rows;
                       });
}

std::optional<Call> latest_execution_id(Scene* scene) {
    return by_instance(scene, "*", "latest_execution_id",
                       [](const Hub& hub, int client, const std::string& instance) {
                           const auto latest = hub.latest_execution(client, instance);
                           if (!latest) {
                               raise_unknown_instance("Instance not found: " + instance, instance);
                           }
                           return Expected{{to_string(*latest)}};
                       });
}

std::optional<Call> list_children(Scene* scene) {
    Call call = by_instance(scene, "*", "list_children",
                            [](const Hub& hub, int client, const std::string& instance) {
                                Expected rows;
                                for (const Instance* row : hub.instances.seen_by(client)) {
                                    if (row->parent == instance) {
                                        rows.push_back({row->id});
                                    }
                                }
                                return rows;
                            });
    call.sql += " ORDER BY child_instance_id COLLATE \"C\"";
    return call;
}

std::optional<Call> get_parent_id(Scene* scene) {
    return by_instance(scene, "*", "get_parent_id",
                       [](const Hub& hub, int client, const std::string& instance) {
                           const Instance* row = hub.instances.find(instance, client);
                           if (row == nullptr) {
                               raise_unknown_instance("Instance not found: " + instance, instance);
                           }
                           return Expected{{row->parent}};
                       });
}

std::optional<Call> get_instance_tree(Scene* scene) {
    return by_instance(scene, "*", "get_instance_tree",
                       [](const Hub& hub, int client, const std::string& instance) {
                           Expected rows;
                           for (const TreeRow& row : hub.tree_of(client, instance)) {
                               rows.push_back({row.instance, row.parent, to_string(row.depth)});
                           }
                           return rows;
                       });
}

// ---- One instance ----

std::optional<Call> get_instance_info(Scene* scene) {
    return by_instance(
        scene,
        "instance_id, orchestration_name, orchestration_version, current_execution_id, "
        "shown_time(created_at), shown_time(updated_at), status, output, parent_instance_id",
        "get_instance_info", [](const Hub& hub, int client, const std::string& instance) {
            const Instance* row = hub.instances.find(instance, client);
            if (row == nullptr) {
                return Expected{};
            }
            const Execution* execution = hub.current_execution(client, *row);
            return Expected{{row->id, row->name, row->version, to_string(row->execution),
                             shown_time(row->created_at), shown_time(row->updated_at),
                             hub.status_of(client, *row),
                             execution != nullptr ? execution->output : std::nullopt, row->parent}};
        });
}

std::optional<Call> get_execution_info(Scene* scene) {
    const std::string instance = known_instance(scene);
    const int64_t execution = scene->random.number(1, 3);
    return Call{
        "SELECT execution_id, status, output, shown_time(started_at), shown_time(completed_at), "
        "event_count FROM app.get_execution_info(" +
            sql(Text(instance)) + ", " + to_string(execution) + ")",
        [instance, execution, client = scene->client](Hub* hub) {
            const Execution* row = hub->executions.find({instance, execution}, client);
            if (row == nullptr) {
                return Expected{};
            }
            return Expected{{to_string(execution), row->status, row->output,
                             shown_time(row->started_at),
                             row->completed_at ? Text(shown_time(*row->completed_at)) : Text(),
                             to_string(hub->history_of(client, instance, execution).size())}};
        }};
}

std::optional<Call> get_instance_stats(Scene* scene) {
    return by_instance(scene, "*", "get_instance_stats",
                       [](const Hub& hub, int client, const std::string& instance) {
                           const auto found = hub.stats_of(client, instance);
                           const Stats stats = found.value_or(Stats{});
                           return Expected{{truth(found.has_value()), to_string(stats.events),
                                            to_string(stats.bytes), to_string(stats.carried),
                                            to_string(stats.keys), to_string(stats.value_bytes)}};
                       });
}

int64_t made_version(Scene* scene) {
    auto& random = scene->random;
    return random.number(0, 2) * 1'000'000 + random.number(0, 2) * 1000 + random.number(0, 2);
}

std::optional<Call> explain_fetch(Scene* scene) {
    auto& random = scene->random;
    Explain request;
    request.instance = random.percent(60) ? made_instance(scene) : known_instance(scene);
    const auto queued = scene->hub.messages.seen_by(scene->client);
    if (!queued.empty() && random.percent(50)) {
        request.instance = random.pick(queued)->mail.instance;
    }
    request.now = scene->now;
    if (random.percent(40)) {
        request.min_version = sometimes(scene, 60, made_version(scene));
        request.max_version = sometimes(scene, 60, made_version(scene));
    }
    return Call{
        "SELECT DISTINCT reason COLLATE \"C\", CASE WHEN reason <> 'never_started' THEN "
        "shown_time(until_at) END FROM app.explain_fetch(" +
            sql(Text(request.instance)) + ", " + sql(request.min_version) + ", " +
            sql(request.max_version) + ", p_now_ms => " + to_string(request.now) + ") ORDER BY 1",
        [request, client = scene->client](Hub* hub) {
            Expected rows;
            for (const auto& [reason, until] : hub->explain(client, request)) {
                rows.push_back({reason, until ? Text(shown_time(*until)) : Text()});
            }
            return rows;
        }};
}

// ---- Totals ----

std::optional<Call> get_system_metrics(Scene* scene) {
    return Call{"SELECT * FROM app.get_system_metrics()", [client = scene->client](Hub* hub) {
                    std::map<std::string, int64_t> count;
                    const auto instances = hub->instances.seen_by(client);
                    for (const Instance* row : instances) {
                        ++count[hub->status_of(client, *row)];
                    }
                    return Expected{{to_string(instances.size()),
                                     to_string(hub->executions.seen_by(client).size()),
                                     to_string(count["Running"]), to_string(count["Completed"]),
                                     to_string(count["Failed"]),
                                     to_string(hub->history.seen_by(client).size())}};
                }};
}

std::optional<Call> get_queue_depths(Scene* scene) {
    return Call{"SELECT * FROM app.get_queue_depths(" + to_string(scene->now) + ")",
                [client = scene->client, now = scene->now](Hub* hub) {
                    int64_t messages = 0;
                    int64_t items = 0;
                    int64_t timers = 0;
                    for (const Message* message : hub->messages.seen_by(client)) {
                        const bool leased = hub->has_live_lease(client, *message, now);
                        const bool visible = hub->is_visible(*message, now);
                        messages += !leased && visible ? 1 : 0;
                        timers += !leased && !visible ? 1 : 0;
                    }
                    for (const Item* item : hub->items.seen_by(client)) {
                        items += hub->state_of(*item, now) == "ready" ? 1 : 0;
                    }
                    return Expected{{to_string(messages), to_string(items), to_string(timers)}};
                }};
}

// ---- Bad calls ----

std::optional<Call> bad_management_call(Scene* scene) {
    static constexpr BadCall kBad[] = {
        {"SELECT * FROM app.list_instances(p_limit => 0)", "out_of_range", "p_limit"},
        {"SELECT app.latest_execution_id(NULL)", "null", "p_instance_id"},
        {"SELECT app.get_parent_id(NULL)", "null", "p_instance_id"},
        {"SELECT * FROM app.get_queue_depths(-1)", "out_of_range", "p_now_ms"},
        {"SELECT * FROM app.explain_fetch(NULL, p_now_ms => $N)", "null", "p_instance_id"},
        {"SELECT * FROM app.delete_instance(NULL, true)", "null", "p_instance_id"},
        {"SELECT * FROM app.delete_instances_bulk(NULL)", "null", "p_filter"},
        {"SELECT * FROM app.delete_instances_bulk('{\"limit\":0}')", "out_of_range",
         "p_filter.limit"},
        {"SELECT * FROM app.delete_instances_bulk('{\"instance_id\":\"i1\"}')", "unknown_key",
         "p_filter"},
        {"SELECT * FROM app.prune_executions('i1', -1)", "out_of_range", "p_keep_last"},
        {"SELECT * FROM app.prune_executions_bulk('{}', '{\"keep_last\":-1}')", "out_of_range",
         "p_options.keep_last"},
        {"SELECT * FROM app.prune_executions_bulk('{}', '{\"keep\":1}')", "unknown_key",
         "p_options"},
        {"SELECT * FROM app.reconcile(ARRAY['lock_cleanup', 'sweep'], p_now_ms => $N)",
         "unknown_duty", "p_duties[1]"},
    };
    return refused_call(scene, kBad);
}

constexpr Operation kOperations[] = {
    {"list_instances", 6, When::kAlways, list_instances},
    {"list_instances_by_status", 2, When::kAlways, list_instances_by_status},
    {"list_executions", 2, When::kAlways, list_executions},
    {"latest_execution_id", 1, When::kAlways, latest_execution_id},
    {"list_children", 2, When::kAlways, list_children},
    {"get_parent_id", 1, When::kAlways, get_parent_id},
    {"get_instance_tree", 3, When::kAlways, get_instance_tree},
    {"get_instance_info", 3, When::kAlways, get_instance_info},
    {"get_execution_info", 3, When::kAlways, get_execution_info},
    {"get_instance_stats", 4, When::kAlways, get_instance_stats},
    {"explain_fetch", 8, When::kAlways, explain_fetch},
    {"get_system_metrics", 2, When::kAlways, get_system_metrics},
    {"get_queue_depths", 3, When::kAlways, get_queue_depths},
    {"bad_management_call", 2, When::kAlways, bad_management_call},
};

}  // namespace

std::span<const Operation> management_operations() {
    return kOperations;
}

}  // namespace belay::test::model
