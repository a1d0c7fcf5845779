// Calls that delete instances, prune executions and run duties.
#include <sstream>

#include "made_up.hpp"

namespace belay::test::model {

namespace {

using std::to_string;
using When = Operation::When;

Expected shown(const Removed& removed) {
    return {{to_string(removed.instances), to_string(removed.executions), to_string(removed.events),
             to_string(removed.messages)}};
}

Expected shown(const Pruned& pruned) {
    return {{to_string(pruned.instances), to_string(pruned.executions), to_string(pruned.events)}};
}

// ---- Deletion ----

// Mostly a root; at times one to whom a child is just being born.
std::string made_root(Scene* scene) {
    for (const auto& [id, cell] : scene->hub.instances.cells) {
        if (cell.kept_from(scene->client) && scene->random.percent(50)) {
            return id;
        }
    }
    const Instance* row = scene->hub.instances.find(known_instance(scene), scene->client);
    for (const Instance* child : scene->hub.instances.seen_by(scene->client)) {
        row = child->parent && scene->random.percent(20) ? child : row;
    }
    for (int up = 0; row != nullptr && row->parent && up < 5 && scene->random.percent(85); ++up) {
        const Instance* parent = scene->hub.instances.find(*row->parent, scene->client);
        if (parent == nullptr) {
            break;
        }
        row = parent;
    }
    return row != nullptr ? row->id : known_instance(scene);
}

std::optional<Call> delete_instance(Scene* scene) {
    const std::string instance = made_root(scene);
    const bool force = scene->random.percent(30);
    return Call{"SELECT * FROM app.delete_instance(" + sql(Text(instance)) +
                    (force                       ? ", true)"
                     : scene->random.percent(50) ? ", false)"
                                                 : ")"),
                [instance, force, client = scene->client](Hub* hub) {
                    return shown(hub->delete_instance(client, instance, force));
                }};
}

// A tree, or what is left of it, and others.
std::vector<Text> made_list(Scene* scene) {
    auto& random = scene->random;
    std::vector<Text> ids;
    if (random.percent(75)) {
        for (const TreeRow& row : scene->hub.tree_of(scene->client, made_root(scene))) {
            if (random.percent(85)) {
                ids.emplace_back(row.instance);
            }
        }
    }
    for (int64_t n = random.percent(60) ? 0 : random.number(1, 2); n > 0; --n) {
        ids.push_back(sometimes(scene, 90, known_instance(scene)));
    }
    if (!ids.empty() && random.percent(10)) {
        ids.push_back(ids.front());
    }
    return ids;
}

std::optional<Call> delete_instances_atomic(Scene* scene) {
    const auto list = sometimes(scene, 97, made_list(scene));
    const bool force = scene->random.percent(50);
    std::vector<std::string> ids;
    for (const Text& id : list.value_or(std::vector<Text>{})) {
        if (id) {  // a null names no row
            ids.push_back(*id);
        }
    }
    return Call{
        "SELECT * FROM app.delete_instances_atomic(" + sql(list) + (force ? ", true)" : ", false)"),
        [ids, force, client = scene->client](Hub* hub) {
            return shown(hub->delete_listed(client, ids, force));
        }};
}

// Often the very instant of an end.
int64_t made_completed(Scene* scene) {
    auto& random = scene->random;
    std::vector<int64_t> known;
    for (const Execution* execution : scene->hub.executions.seen_by(scene->client)) {
        if (execution->completed_at) {
            known.push_back(*execution->completed_at);
        }
    }
    return !known.empty() && random.percent(70) ? random.pick(known) + random.number(0, 1)
                                                : scene->now - random.number(0, 5000);
}

BulkFilter made_filter(Scene* scene, JsonObject* text) {
    auto& random = scene->random;
    BulkFilter filter;
    if (random.percent(30)) {
        filter.ids.emplace();
        std::vector<std::string> words;
        for (int64_t n = random.percent(10) ? 0 : random.number(1, 4); n > 0; --n) {
            filter.ids->push_back(random.percent(60) ? made_root(scene) : known_instance(scene));
            words.push_back(json(filter.ids->back()));
        }
        text->raw("instance_ids", "[" + listed(words) + "]");
    }
    if (random.percent(35)) {
        filter.completed_before = made_completed(scene);
        text->number("completed_before", *filter.completed_before);
    }
    if (random.percent(90)) {
        filter.limit = random.percent(70) ? 1 : random.number(2, 4);
        text->number("limit", filter.limit);
    }
    return filter;
}

std::optional<Call> delete_instances_bulk(Scene* scene) {
    const auto known = scene->hub.instances.seen_by(scene->client);
    const auto finished = std::count_if(known.begin(), known.end(), [scene](const Instance* row) {
        return scene->hub.status_of(scene->client, *row) != "Running";
    });
    if (finished < 3 && scene->random.percent(80)) {
        return std::nullopt;
    }
    JsonObject text;
    const BulkFilter filter = made_filter(scene, &text);
    return Call{"SELECT * FROM app.delete_instances_bulk('" + text.printed() + "')",
                [filter, client = scene->client](Hub* hub) {
                    return shown(hub->delete_finished(client, filter));
                }};
}

// ---- Pruning ----

PruneOptions made_options(Scene* scene) {
    PruneOptions options;
    options.keep_last = sometimes(scene, 50, scene->random.number(0, 3));
    options.completed_before = sometimes(scene, 35, made_completed(scene));
    return options;
}

std::optional<Call> prune_executions(Scene* scene) {
    const std::string instance = known_instance(scene);
    const PruneOptions options = made_options(scene);
    return Call{"SELECT * FROM app.prune_executions(" + sql(Text(instance)) + ", " +
                    sql(options.keep_last) + ", " + sql(options.completed_before) + ")",
                [instance, options, client = scene->client](Hub* hub) {
                    return shown(hub->prune(client, instance, options));
                }};
}

std::optional<Call> prune_executions_bulk(Scene* scene) {
    JsonObject text;
    const BulkFilter filter = made_filter(scene, &text);
    const PruneOptions options = made_options(scene);
    JsonObject options_text;
    options_text.some("keep_last", options.keep_last)
        .some("completed_before", options.completed_before);
    return Call{"SELECT * FROM app.prune_executions_bulk('" + text.printed() + "', '" +
                    options_text.printed() + "')",
                [filter, options, client = scene->client](Hub* hub) {
                    return shown(hub->prune_many(client, filter, options));
                }};
}

// ---- Duties ----

// Now; or a day later, when locks are idle.
int64_t made_duty_time(Scene* scene) {
    const auto locks = scene->hub.locks.seen_by(scene->client);
    if (locks.empty() || scene->random.percent(70)) {
        return scene->now;
    }
    return scene->random.pick(locks)->locked_at + kDay + scene->random.number(0, 1);
}

std::optional<Call> reconcile(Scene* scene) {
    static const std::vector<std::string> kDuties = {
        "dead_letters", "instance_retention", "lock_cleanup", "orphan_messages", "session_cleanup"};
    std::vector<std::string> duties;
    std::vector<std::string> words;
    for (int64_t n = scene->random.number(1, 3); n > 0; --n) {
        duties.push_back(scene->random.pick(kDuties));
        words.push_back(sql(Text(duties.back())));
    }
    const int64_t now = made_duty_time(scene);
    Call call;
    call.sql = "SELECT * FROM shown_reconcile(" + to_string(now) + ", ARRAY[" + listed(words) +
               "], " + to_string(scene->hub.last.dead_letter) + ")";
    call.apply = [duties, now, client = scene->client](Hub* hub) {
        std::vector<std::string> done;
        for (const auto& duty : duties) {
            done.push_back(duty + " " + to_string(hub->run_duty(client, duty, now)));
        }
        return Expected{{listed(done), kAnything}};
    };
    call.learn = [client = scene->client](Hub* hub, const Answer& answer) {
        std::istringstream text(answer.rows.at(0).at(1).value_or(""));
        std::map<int64_t, int64_t> ids;
        for (int64_t source = 0, id = 0; text >> source >> id;) {
            ids[source] = id;
        }
        return hub->learn_orphans(client, ids);
    };
    return call;
}

constexpr Operation kOperations[] = {
    {"delete_instance", 4, When::kAlways, delete_instance},
    {"delete_instances_atomic", 3, When::kAlways, delete_instances_atomic},
    {"delete_instances_bulk", 6, When::kAlways, delete_instances_bulk},
    {"prune_executions", 7, When::kAlways, prune_executions},
    {"prune_executions_bulk", 3, When::kAlways, prune_executions_bulk},
    {"reconcile", 7, When::kAlways, reconcile},
};

}  // namespace

std::span<const Operation> removal_operations() {
    return kOperations;
}

}  // namespace belay::test::model
