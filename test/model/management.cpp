#include "hub.hpp"

namespace belay::test::model {

void raise_unknown_instance(const std::string& message, const std::string& instance) {
    throw Refused{"QB002", message, "unknown_instance", "\"" + instance + "\""};
}

// ---- Status ----

const Execution* Hub::current_execution(int client, const Instance& instance) const {
    return executions.find({instance.id, instance.execution}, client);
}

std::string Hub::status_of(int client, const Instance& instance) const {
    const Execution* execution = current_execution(client, instance);
    return execution != nullptr ? execution->status : "Running";
}

bool Hub::has_started(int client, const std::string& instance) const {
    const auto events = history.seen_by(client);
    return instances.find(instance, client) != nullptr ||
           std::any_of(events.begin(), events.end(), [&instance](const StoredEvent* stored) {
               return stored->instance == instance;
           });
}

bool Hub::has_continuation(int client, const std::string& instance) const {
    const auto queued = messages_of(client, instance);
    return std::any_of(queued.begin(), queued.end(), [](const Message* message) {
        return message->mail.kind == "ContinueAsNew";
    });
}

// ---- Lists ----

std::vector<std::string> Hub::list_instances(int client, const InstanceFilter& filter) const {
    const auto place_of = [](const Instance& row) { return std::pair(row.created_at, row.id); };
    std::optional<std::pair<int64_t, std::string>> after;
    if (filter.after) {
        const Instance* last_row = instances.find(*filter.after, client);
        if (last_row == nullptr) {
            raise_unknown_instance("Instance not found: " + *filter.after, *filter.after);
        }
        after = place_of(*last_row);
    }
    std::vector<std::pair<int64_t, std::string>> found;
    for (const Instance* row : instances.seen_by(client)) {
        if ((!filter.status || status_of(client, *row) == *filter.status) &&
            (!filter.name || row->name == *filter.name) &&
            (!filter.prefix || row->id.starts_with(*filter.prefix)) &&
            (!filter.created_from || row->created_at >= *filter.created_from) &&
            (!filter.created_before || row->created_at < *filter.created_before) &&
            (!after || place_of(*row) < *after)) {
            found.push_back(place_of(*row));
        }
    }
    std::sort(found.rbegin(), found.rend());
    std::vector<std::string> ids;
    for (const auto& [created_at, id] : found) {
        if (!filter.limit || static_cast<int64_t>(ids.size()) < *filter.limit) {
            ids.push_back(id);
        }
    }
    return ids;
}

std::vector<TreeRow> Hub::tree_of(int client, const std::string& instance) const {
    const Instance* root = instances.find(instance, client);
    if (root == nullptr) {
        return {};
    }
    std::vector<TreeRow> tree = {{root->id, root->parent, 0}};
    std::set<std::string> met_before = {root->id};
    for (std::size_t level = 0; level < tree.size();) {
        std::vector<TreeRow> next;
        const std::size_t end = tree.size();
        for (; level < end; ++level) {
            for (const Instance* row : instances.seen_by(client)) {
                if (row->parent == tree[level].instance && met_before.insert(row->id).second) {
                    next.push_back({row->id, row->parent, tree[level].depth + 1});
                }
            }
        }
        std::sort(next.begin(), next.end(),
                  [](const TreeRow& a, const TreeRow& b) { return a.instance < b.instance; });
        tree.insert(tree.end(), next.begin(), next.end());
    }
    return tree;
}

// ---- One instance ----

std::optional<Stats> Hub::stats_of(int client, const std::string& instance) const {
    const Instance* row = instances.find(instance, client);
    if (row == nullptr) {
        return std::nullopt;
    }
    Stats stats;
    for (const StoredEvent* stored : history_of(client, instance, row->execution)) {
        ++stats.events;
        stats.bytes += static_cast<int64_t>(stored->event.text.size());
        stats.carried += stored->event.id == 1 ? stored->event.carried : 0;
    }
    for (const Value& value : values_of(client, instance)) {
        ++stats.keys;
        stats.value_bytes += static_cast<int64_t>(value.value->size());
    }
    return stats;
}

bool Hub::has_live_lease(int client, const Message& message, int64_t now) const {
    const TurnLock* lock = locks.find(message.mail.instance, client);
    return !message.token.empty() && lock != nullptr && lock->token == message.token &&
           is_live(*lock, now);
}

// 25.3.
Reasons Hub::explain(int client, const Explain& request) const {
    const std::string& instance = request.instance;
    Reasons reasons;
    const auto add = [&reasons](const char* reason, std::optional<int64_t> until = std::nullopt) {
        reasons.emplace(reason, until);
    };
    if (orchestrator_paused) {
        add("paused");
    }
    const TurnLock* lock = locks.find(instance, client);
    const bool locked = lock != nullptr && is_live(*lock, request.now);
    if (locked) {
        add("locked", lock->locked_until);
    }
    const bool empty_filter =
        request.min_version && request.max_version && *request.min_version > *request.max_version;
    if (empty_filter ||
        !passes_filter(client, instance, request.min_version, request.max_version)) {
        add("version_filter");
    }

    bool held = locks.held_from(instance, client);
    // Of what is hidden; the server's clock is later than the test's if it hides anything.
    const auto sooner = [](std::optional<int64_t> a, int64_t b) {
        const auto rank = [](int64_t time) {
            return std::pair(time == kNever ? 2 : time == kServerClock ? 1 : 0, time);
        };
        return !a || rank(b) < rank(*a) ? b : *a;
    };
    std::optional<int64_t> next_visible;
    std::optional<int64_t> next_start;
    int64_t count = 0;
    int64_t visible = 0;
    int64_t exhausted = 0;
    bool start_visible = false;
    for (const Message* message : messages_of(client, instance)) {
        held = held || messages.held_from(message->id, client);
        ++count;
        if (!is_visible(*message, request.now)) {
            next_visible = sooner(next_visible, message->visible_at);
            if (message->mail.is_start()) {
                next_start = sooner(next_start, message->visible_at);
            }
            continue;
        }
        ++visible;
        exhausted += max_attempts && message->attempts >= *max_attempts ? 1 : 0;
        start_visible = start_visible || message->mail.is_start();
    }
    if (held) {
        add("in_transaction");
    }
    if (count == 0) {
        add("no_messages");
    } else if (visible == 0) {
        add("not_visible", next_visible);
    } else if (!start_visible && !has_started(client, instance)) {
        next_start ? add("start_hidden", next_start) : add("never_started");
    } else if (exhausted == visible && !locked) {
        add("dead_lettered");
    }
    // Where there is nothing to explain, dead letters explain nothing.
    for (const DeadLetter* dead : dead_letters.seen_by(client)) {
        if (!reasons.empty() && dead->what.instance == instance) {
            add("dead_lettered");
        }
    }
    return reasons;
}

}  // namespace belay::test::model
