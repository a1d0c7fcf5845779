#include "hub.hpp"

namespace belay::test::model {

// ---- Who is to go ----

Hub::Ids Hub::with_descendants(int client, const Ids& roots) const {
    Ids found;
    for (const std::string& root : roots) {
        for (const TreeRow& row : tree_of(client, root)) {
            found.insert(row.instance);
        }
    }
    return found;
}

Hub::Ids Hub::unborn_children(int client, const Ids& ids) const {
    Ids found;
    for (const Message* message : messages.seen_by(client)) {
        const Mail& mail = message->mail;
        if (mail.parent && ids.contains(*mail.parent) && !ids.contains(mail.instance) &&
            instances.find(mail.instance, client) == nullptr) {
            found.insert(mail.instance);
        }
    }
    return found;
}

// DE-12, DE-14, DE-15.
std::vector<std::string> Hub::finished_roots(int client, const BulkFilter& filter, int64_t now) {
    std::vector<std::pair<int64_t, std::string>> found;
    for (const Instance* row : instances.seen_by(client)) {
        const Execution* execution = current_execution(client, *row);
        const bool wanted = !filter.ids || contains(*filter.ids, row->id);
        const bool is_root = !row->parent || instances.find(*row->parent, client) == nullptr;
        if (!wanted || !is_root || execution == nullptr || execution->status == "Running" ||
            (filter.completed_before && *execution->completed_at >= *filter.completed_before)) {
            continue;
        }
        const TurnLock* lock = locks.find(row->id, client);
        const bool live = lock != nullptr && is_live(*lock, now);
        const bool continued = has_continuation(client, row->id);
        meet(Case::kBulkLeftLive, live);
        meet(Case::kBulkLeftContinued, continued);
        if (!live && !continued) {
            found.emplace_back(*execution->completed_at, row->id);
        }
    }
    std::sort(found.begin(), found.end());
    std::vector<std::string> ids;
    for (const auto& [completed_at, id] : found) {
        if (static_cast<int64_t>(ids.size()) < filter.limit) {
            ids.push_back(id);
        }
    }
    meet(Case::kBulkLimited, ids.size() < found.size());
    return ids;
}

// ---- Refusals ----

// DE-8, DE-9.
void Hub::refuse_child(int client, const std::string& instance) {
    const Instance* row = instances.find(instance, client);
    if (row == nullptr) {
        raise_unknown_instance("Instance not found: " + instance, instance);
    }
    if (row->parent && instances.find(*row->parent, client) != nullptr) {
        meet(Case::kRefusedChild);
        throw Refused{"QB004", "Instance " + instance + " is a sub-orchestration", "not_a_root",
                      "\"parent_instance_id\":\"" + *row->parent + "\""};
    }
}

// DE-2, DE-11.
void Hub::refuse_running(int client, const Ids& ids) {
    for (const std::string& id : ids) {
        const Instance* row = instances.find(id, client);
        const bool running = row != nullptr && status_of(client, *row) == "Running";
        const bool continued = has_continuation(client, id);
        if (running || continued) {
            meet(running ? Case::kRefusedRunning : Case::kRefusedContinued);
            throw Refused{"QB003", "Instance " + id + " is Running", "running",
                          "\"instance_id\":\"" + id + "\""};
        }
    }
}

// DE-3.
void Hub::refuse_strays(int client, const Ids& ids) {
    for (const Instance* row : instances.seen_by(client)) {
        if (row->parent && ids.contains(*row->parent) && !ids.contains(row->id)) {
            meet(Case::kRefusedStray);
            throw Refused{"QB004", "Orphan detected: child " + row->id, "would_orphan",
                          "\"instance_id\":\"" + row->id + "\""};
        }
    }
}

// ---- Deletion ----

void Hub::begin_removal(int client) {
    removal.hold(0, client);
}

void Hub::hold_for_removal(int client, const Ids& ids) {
    Ids all = unborn_children(client, ids);
    all.insert(ids.begin(), ids.end());
    for (const std::string& id : all) {
        meet(Case::kDeleteWaitedForTurn, locks.held_from(id, client));
        locks.hold(id, client);
    }
    for (const std::string& id : ids) {
        if (instances.find(id, client) != nullptr && !instances.is_free(id, client)) {
            meet(Case::kDeleteWaitedForBirth, instances.cells.at(id).kept_from(client));
            throw Blocked{};
        }
    }
}

// DE-16.
Removed Hub::remove_finished(int client, const Ids& ids) {
    hold_for_removal(client, ids);
    for (const std::string& id : ids) {
        meet(Case::kRunningChildDeleted,
             status_of(client, *instances.find(id, client)) == "Running");
    }
    return remove(client, ids);
}

// DE-4, DE-5. Waits for a client that holds a row of a queue or a dead letter.
Removed Hub::remove(int client, const Ids& ids) {
    Removed removed;
    const Ids unborn = unborn_children(client, ids);
    const auto is_of = [&ids](const Text& instance) { return instance && ids.contains(*instance); };
    const auto empty = [client](auto* table, auto key_of, auto chosen) {
        int64_t gone = 0;
        for (const auto* row : table->seen_by(client)) {
            if (chosen(*row)) {
                table->take_away(key_of(*row), client);
                ++gone;
            }
        }
        return gone;
    };
    const auto id_of = [](const auto& row) { return row.id; };
    empty(&dead_letters, id_of, [&](const DeadLetter& dead) { return is_of(dead.what.instance); });
    removed.messages =
        empty(&items, id_of, [&](const Item& item) { return is_of(item.what.instance); }) +
        empty(&messages, id_of, [&](const Message& message) {
            meet(Case::kUnbornDeleted,
                 unborn.contains(message.mail.instance) && is_of(message.mail.parent));
            return is_of(message.mail.instance) || is_of(message.mail.parent);
        });
    removed.events = empty(
        &history,
        [](const StoredEvent& row) {
            return std::tuple(row.instance, row.execution, row.event.id);
        },
        [&](const StoredEvent& row) { return is_of(row.instance); });
    removed.executions = empty(
        &executions, [](const Execution& row) { return std::pair(row.instance, row.id); },
        [&](const Execution& row) { return is_of(row.instance); });
    for (auto* table : {&kv_store, &kv_delta}) {
        empty(
            table, [](const Value& row) { return std::pair(row.instance, row.key); },
            [&](const Value& row) { return is_of(row.instance); });
    }
    removed.instances =
        empty(&instances, id_of, [&](const Instance& row) { return is_of(row.id); });
    empty(
        &locks, [](const TurnLock& lock) { return lock.instance; },
        [&](const TurnLock& lock) {
            const bool gone = is_of(lock.instance) || unborn.contains(lock.instance);
            meet(Case::kTurnDeleted, gone && !lock.token.empty());
            return gone;
        });
    return removed;
}

// DE-8 to DE-11.
Removed Hub::delete_instance(int client, const std::string& instance, bool force) {
    begin_removal(client);
    refuse_child(client, instance);
    const Ids ids = with_descendants(client, {instance});
    hold_for_removal(client, ids);
    if (!force) {
        refuse_running(client, ids);
    }
    meet(Case::kTreeDeleted, ids.size() > 1);
    return remove(client, ids);
}

// DE-1 to DE-6.
Removed Hub::delete_listed(int client, const std::vector<std::string>& listed, bool force) {
    if (listed.empty()) {
        return {};
    }
    begin_removal(client);
    const Ids ids(listed.begin(), listed.end());
    hold_for_removal(client, ids);
    if (!force) {
        refuse_running(client, ids);
    }
    refuse_strays(client, ids);
    return remove(client, ids);
}

// DE-12 to DE-17. Only the server's clock tells which locks are live.
Removed Hub::delete_finished(int client, const BulkFilter& filter) {
    if (filter.ids && filter.ids->empty()) {
        return {};
    }
    begin_removal(client);
    const auto roots = finished_roots(client, filter, server_now());
    const Ids ids = with_descendants(client, Ids(roots.begin(), roots.end()));
    return remove_finished(client, ids);
}

// ---- Pruning ----

// PR-2 to PR-5.
std::vector<int64_t> Hub::prunable_executions(int client, const Instance& instance,
                                              const PruneOptions& options) {
    std::vector<const Execution*> all;
    for (const Execution* execution : executions.seen_by(client)) {
        if (execution->instance == instance.id) {
            all.push_back(execution);
        }
    }
    const int64_t kept = options.keep_last.value_or(0) > 1 ? *options.keep_last : 0;
    std::vector<int64_t> found;
    auto rank = static_cast<int64_t>(all.size());  // 1 for the greatest id
    for (const Execution* execution : all) {
        const bool is_last = rank-- <= kept;
        const bool running = execution->status == "Running";
        const bool old =
            !options.completed_before ||
            (execution->completed_at && *execution->completed_at < *options.completed_before);
        if (execution->id != instance.execution) {
            meet(Case::kPruneLeftRunning, running);
            meet(Case::kPruneKeptLast, is_last && !running);
            if (!is_last && !running && old) {
                found.push_back(execution->id);
            }
        }
    }
    return found;
}

// PR-1, PR-6 to PR-8.
Pruned Hub::prune(int client, const std::string& instance, const PruneOptions& options) {
    if (instances.find(instance, client) == nullptr) {
        raise_unknown_instance("Instance " + instance + " not found", instance);
    }
    const Instance row = *instances.hold(instance, client);
    Pruned pruned{1, 0, 0};
    for (const int64_t execution : prunable_executions(client, row, options)) {
        executions.take_away({instance, execution}, client);
        ++pruned.executions;
        for (const StoredEvent* stored : history_of(client, instance, execution)) {
            history.take_away({instance, execution, stored->event.id}, client);
            ++pruned.events;
        }
    }
    meet(Case::kPruned, pruned.executions > 0);
    return pruned;
}

// PR-9. Where the limit does not reach, those go first that have something to prune.
Pruned Hub::prune_many(int client, const BulkFilter& filter, const PruneOptions& options) {
    std::vector<std::pair<bool, std::string>> found;
    for (const Instance* row : instances.seen_by(client)) {
        const Execution* execution = current_execution(client, *row);
        const bool completed = execution != nullptr && execution->completed_at;
        if ((!filter.ids || contains(*filter.ids, row->id)) &&
            (!filter.completed_before ||
             (completed && *execution->completed_at < *filter.completed_before))) {
            found.emplace_back(prunable_executions(client, *row, options).empty(), row->id);
        }
    }
    std::sort(found.begin(), found.end());
    found.resize(std::min(found.size(), static_cast<std::size_t>(filter.limit)));
    Pruned sum;
    for (const auto& [nothing_to_prune, id] : found) {
        const Pruned pruned = prune(client, id, options);
        sum.instances += pruned.instances;
        sum.executions += pruned.executions;
        sum.events += pruned.events;
    }
    return sum;
}

}  // namespace belay::test::model
