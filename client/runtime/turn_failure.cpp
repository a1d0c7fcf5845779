// The end of an instance that its code has no part in: what is open is closed by the history alone.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "subscriptions.hpp"
#include "turn.hpp"

namespace belay::engine {
namespace {

// Subscriptions of a history without its code: which of them have got their data.
class StoredSubscriptions {
 public:
    StoredSubscriptions()
        : subscriptions_([](detail::CallState& call, const std::string&) { call.done = true; }) {}

    // One that is stored as dropped has never got any.
    void subscribe(const Event& event, bool dropped) {
        const auto kind = event.kind == EventKind::kExternalSubscribed ? detail::CallKind::kEvent
                                                                       : detail::CallKind::kQueue;
        detail::CallState& call = calls_.try_emplace(event.id, nullptr, kind, 0).first->second;
        call.name = event.name;
        call.dropped = dropped;
        subscriptions_.subscribe(call);
    }
    void cancelled(std::int64_t id) {
        if (const auto found = calls_.find(id); found != calls_.end()) {
            subscriptions_.cancelled(found->second);
        }
    }
    void arrived(const Event& event) {
        if (event.kind == EventKind::kExternalEvent) {
            subscriptions_.event(event.name, event.text.value_or(""));
        } else {
            subscriptions_.message(event.name, event.text.value_or(""));
        }
    }
    bool is_open(std::int64_t id) const {
        const auto found = calls_.find(id);
        return found != calls_.end() && !found->second.done && !found->second.dropped;
    }

 private:
    std::map<std::int64_t, detail::CallState> calls_;  // by event id
    Subscriptions subscriptions_;
};

// What is open at the end of a history, without any code.
struct OpenCalls {
    std::vector<Event> breadcrumbs;  // activities and subscriptions, in the order of their calls
    std::vector<std::string> children;
    OptionalText parent;
    std::int64_t parent_id = 0;
    std::int64_t parent_execution_id = 1;
    std::int64_t last_id = 0;
    std::int64_t last_ms = 0;
    std::string name;
    std::string version;
    bool continues = false;  // as a new execution
};

// The events that can be read.
std::vector<Event> readable_events(const TurnRequest& request) {
    std::vector<Event> events;
    for (const std::string_view text : request.history) {
        try {
            events.push_back(parse_event(text));
        } catch (const Corrupt&) {
            continue;  // The others count.
        }
    }
    return events;
}

Event breadcrumb_of_end(const Event& call) {
    Event breadcrumb;
    breadcrumb.source = call.id;
    breadcrumb.text = "orchestration_terminal";
    if (call.kind == EventKind::kActivityScheduled) {
        breadcrumb.kind = EventKind::kActivityCancelRequested;
        breadcrumb.text = "orchestration_terminal_failed";
    } else if (call.kind == EventKind::kExternalSubscribed) {
        breadcrumb.kind = EventKind::kExternalSubscribedCancelled;
    } else {
        breadcrumb.kind = EventKind::kExternalSubscribedPersistentCancelled;
    }
    return breadcrumb;
}

OpenCalls open_calls(const TurnRequest& request) {
    OpenCalls open;
    const std::vector<Event> events = readable_events(request);
    std::set<std::int64_t> closed;
    for (const Event& event : events) {
        closed.insert(event.source);
    }
    StoredSubscriptions subscriptions;
    for (const Event& event : events) {
        open.last_id = std::max(open.last_id, event.id);
        open.last_ms = std::max(open.last_ms, event.timestamp_ms);
        switch (event.kind) {
            case EventKind::kOrchestrationStarted:
                open.parent = event.instance;
                open.parent_id = event.parent_id;
                open.parent_execution_id = std::max<std::int64_t>(event.parent_execution_id, 1);
                open.name = event.name;
                open.version = event.version.value_or("");
                break;
            case EventKind::kOrchestrationContinuedAsNew:
                open.continues = true;
                break;
            case EventKind::kExternalSubscribed:
            case EventKind::kExternalSubscribedPersistent:
                subscriptions.subscribe(event, closed.contains(event.id));
                break;
            case EventKind::kExternalSubscribedCancelled:
            case EventKind::kExternalSubscribedPersistentCancelled:
                subscriptions.cancelled(event.source);
                break;
            case EventKind::kExternalEvent:
            case EventKind::kExternalEventPersistent:
                subscriptions.arrived(event);
                break;
            default:
                break;
        }
    }
    for (const Event& event : events) {
        const bool is_open = !closed.contains(event.id);
        if ((event.kind == EventKind::kActivityScheduled && is_open) ||
            subscriptions.is_open(event.id)) {
            open.breadcrumbs.push_back(breadcrumb_of_end(event));
        } else if (event.kind == EventKind::kSubOrchestrationScheduled && is_open) {
            const std::string& id = event.instance.value();
            open.children.push_back(id.starts_with("sub::") ? request.instance_id + "::" + id : id);
        }
    }
    return open;
}

// The message that begins an execution, if the turn does so.
std::optional<Message> beginning_of(const TurnRequest& request, bool continues) {
    if (!request.history.empty() && !continues) {
        return std::nullopt;
    }
    for (const std::string_view text : request.messages) {
        try {
            Message message = parse_message(text);
            if (message.kind ==
                (continues ? MessageKind::kContinueAsNew : MessageKind::kStartOrchestration)) {
                return message;
            }
        } catch (const Corrupt&) {
            continue;  // Perhaps another one.
        }
    }
    return std::nullopt;
}

}  // namespace

TurnDecision failure_of_turn(const TurnRequest& request, const EndOfCode& end,
                             const TurnOptions& options, const std::string& version,
                             std::int64_t event_id) {
    OpenCalls open = open_calls(request);
    TurnDecision decision;
    decision.execution_id = request.execution_id;
    const auto beginning = beginning_of(request, open.continues);
    if (beginning) {
        decision.execution_id += open.continues ? 1 : 0;
        open = OpenCalls();
        open.parent = beginning->parent_instance;
        open.parent_id = beginning->parent_id;
        open.parent_execution_id = std::max<std::int64_t>(beginning->parent_execution_id, 1);
        open.name = beginning->name;
        open.version = beginning->version.value_or(version);
    }
    std::int64_t next_id = open.last_id + 1;
    const EventOwner owner{request.instance_id, decision.execution_id, options.history_version};
    const std::int64_t now_ms = std::max(request.now_ms, open.last_ms);
    const auto add = [&](Event event) {
        event.timestamp_ms = now_ms;
        decision.events.push_back({event.id, event.kind, event_text(event, owner)});
    };
    if (beginning && event_id == 0) {
        Event started = start_event(*beginning, open.version);
        started.id = next_id++;
        add(std::move(started));
    }
    for (Event& breadcrumb : open.breadcrumbs) {
        if (breadcrumb.kind == EventKind::kActivityCancelRequested) {
            decision.cancelled_activities.push_back(breadcrumb.source);
        }
        // Behind event 99999 of a corrupt history there may be anything.
        if (event_id == 0) {
            breadcrumb.id = next_id++;
            add(std::move(breadcrumb));
        }
    }
    Event terminal;
    terminal.kind = EventKind::kOrchestrationFailed;
    terminal.id = event_id != 0 ? event_id : next_id;
    terminal.text = end.details;
    add(std::move(terminal));
    for (const std::string& child : open.children) {
        ObjectWriter fields;
        fields.string("instance", child)
            .string("reason", "parent dropped sub-orchestration future");
        decision.orchestrator_items.push_back(
            ObjectWriter().raw("CancelInstance", fields.take()).take());
    }
    if (open.parent) {
        ObjectWriter fields;
        fields.string("parent_instance", *open.parent);
        fields.number("parent_execution_id", open.parent_execution_id);
        fields.number("parent_id", open.parent_id).raw("details", end.details);
        decision.orchestrator_items.push_back(
            ObjectWriter().raw("SubOrchFailed", fields.take()).take());
    }
    ObjectWriter metadata;
    if (!open.name.empty()) {
        metadata.string("orchestration_name", open.name);
        metadata.string("orchestration_version", open.version);
    }
    metadata.string("status", "Failed").string("output", end.output);
    if (open.parent) {
        metadata.string("parent_instance_id", *open.parent);
    }
    if (beginning) {
        metadata.raw("pinned_duroxide_version", pin_of(options.history_version));
    }
    metadata.raw("kv_mutations", "[]");
    decision.metadata = metadata.take();
    return decision;
}

}  // namespace belay::engine
