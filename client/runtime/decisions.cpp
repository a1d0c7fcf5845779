// The new part of a turn: messages become events, actions become decision events, and the items
// that the ack carries.
#include <algorithm>

#include "execution.hpp"

namespace belay::engine {
namespace {

using detail::CallKind;

constexpr std::string_view kDropped = "dropped_future";
constexpr std::string_view kParentDropped = "parent dropped sub-orchestration future";
constexpr std::string_view kParentCancelled = "parent canceled";

std::string item(std::string_view kind, ObjectWriter& fields) {
    ObjectWriter outer;
    return outer.raw(kind, fields.take()).take();
}

EventKind breadcrumb_of(CallKind kind) {
    switch (kind) {
        case CallKind::kChild:
            return EventKind::kSubOrchestrationCancelRequested;
        case CallKind::kEvent:
            return EventKind::kExternalSubscribedCancelled;
        case CallKind::kQueue:
            return EventKind::kExternalSubscribedPersistentCancelled;
        default:
            return EventKind::kActivityCancelRequested;
    }
}

EventKind outcome_of(MessageKind kind) {
    switch (kind) {
        case MessageKind::kActivityCompleted:
            return EventKind::kActivityCompleted;
        case MessageKind::kActivityFailed:
            return EventKind::kActivityFailed;
        case MessageKind::kTimerFired:
            return EventKind::kTimerFired;
        case MessageKind::kSubOrchCompleted:
            return EventKind::kSubOrchestrationCompleted;
        case MessageKind::kSubOrchFailed:
            return EventKind::kSubOrchestrationFailed;
        case MessageKind::kExternalRaised:
            return EventKind::kExternalEvent;
        case MessageKind::kQueueMessage:
            return EventKind::kExternalEventPersistent;
        default:
            return EventKind::kOrchestrationCancelRequested;
    }
}

}  // namespace

void Execution::begin_turn(std::int64_t now_ms) {
    adding_ = std::make_unique<Addition>();
    now_ms_ = std::max(now_ms_, now_ms);
    first_new_id_ = last_event_id_ + 1;
    cancel_stored_ = cancel_reason_.has_value();
}

void Execution::emit(Event event) {
    event.id = last_event_id_ + 1;
    event.timestamp_ms = now_ms_;
    const EventOwner owner{facts_.instance_id, facts_.execution_id, facts_.history_version};
    adding_->output.events.push_back({event.id, event.kind, event_text(event, owner)});
    apply(event);
}

void Execution::start(Event started) {
    tell(RuntimeEvent::Kind::kStarted, {});
    const Carried carried = started.carried;
    emit(std::move(started));
    carry(carried);
}

void Execution::carry(const Carried& carried) {
    for (const auto& [queue, data] : carried) {
        Event event;
        event.kind = EventKind::kExternalEventPersistent;
        event.name = queue;
        event.text = data;
        emit(std::move(event));
    }
}

Execution::Reception Execution::deliver(const Message& message) {
    Event event;
    event.kind = outcome_of(message.kind);
    event.source = message.id;
    event.name = message.name;
    event.number = message.fire_at_ms;
    if (message.kind != MessageKind::kTimerFired) {
        event.text = message.text;
    }
    if (message.kind == MessageKind::kCancelInstance) {
        if (end_) {
            return Reception::kEnded;
        }
        if (cancel_reason_ && !cancel_stored_) {
            return Reception::kDuplicate;  // Of one that came in the same batch.
        }
    }
    if (const Entry* const of_call = entry(message.id); of_call != nullptr && of_call->closed) {
        return Reception::kDuplicate;
    }
    emit(std::move(event));
    return Reception::kTaken;
}

// ---- Decision events. ----

void Execution::send_work(const Action& action) {
    const Event& event = action.event;
    ObjectWriter fields;
    if (event.kind == EventKind::kActivityScheduled) {
        fields.string("instance", facts_.instance_id).number("execution_id", facts_.execution_id);
        fields.number("id", event.id).string("name", event.name);
        fields.string("input", event.text.value_or(""));
        if (event.session) {
            fields.string("session_id", *event.session);
        }
        if (event.tag) {
            fields.string("tag", *event.tag);
        }
        adding_->output.worker_items.push_back(item("ActivityExecute", fields));
    } else if (event.kind == EventKind::kTimerCreated) {
        fields.string("instance", facts_.instance_id).number("execution_id", facts_.execution_id);
        fields.number("id", event.id).number("fire_at_ms", event.number);
        adding_->started.push_back(item("TimerFired", fields));
    } else if (event.kind == EventKind::kSubOrchestrationScheduled) {
        const std::string id = event.instance->starts_with("sub::")
                                   ? facts_.instance_id + "::" + *event.instance
                                   : *event.instance;
        fields.string("instance", id).string("orchestration", event.name);
        fields.string("input", event.text.value_or(""));
        fields.string_or_null("version", action.version);
        fields.string("parent_instance", facts_.instance_id).number("parent_id", event.id);
        fields.number("execution_id", 1).number("parent_execution_id", facts_.execution_id);
        adding_->started.push_back(item("StartOrchestration", fields));
    } else if (event.kind == EventKind::kOrchestrationChained) {
        fields.string("instance", *event.instance).string("orchestration", event.name);
        fields.string("input", event.text.value_or(""));
        fields.string_or_null("version", action.version);
        fields.raw("parent_instance", "null").raw("parent_id", "null").number("execution_id", 1);
        adding_->output.orchestrator_items.push_back(item("StartOrchestration", fields));
    }
}

void Execution::write_decisions(int& rounds) {
    while (!actions_.empty() && rounds < kMaxRounds) {
        ++rounds;
        for (std::size_t left = actions_.size(); left > 0; --left) {
            Action& action = actions_.front();
            Event& event = action.event;
            event.id = last_event_id_ + 1;
            if (action.generated_instance) {
                event.instance =
                    "sub::" + (facts_.execution_id == 1 ? std::to_string(event.id)
                                                        : std::to_string(facts_.execution_id) +
                                                              "_" + std::to_string(event.id));
            }
            if (event.kind == EventKind::kKeyValueSet) {
                event.number = now_ms_;
            }
            const bool is_value = event.kind == EventKind::kKeyValueSet ||
                                  event.kind == EventKind::kKeyValueCleared ||
                                  event.kind == EventKind::kKeyValuesCleared;
            if (is_value && !std::string_view(event.name).starts_with(kReservedPrefix)) {
                adding_->output.mutations.push_back(
                    {event.kind, event.name, event.text.value_or(""), now_ms_});
            }
            send_work(action);
            emit(Event(event));
        }
    }
}

// ---- Cancelled calls. ----

void Execution::cancel_child(const detail::CallState& call, std::string_view reason) {
    ObjectWriter fields;
    fields.string("instance", call.target).string("reason", reason);
    adding_->child_cancels.push_back({call.event_id, item("CancelInstance", fields)});
}

void Execution::write_breadcrumbs() {
    const std::vector<detail::CallState*> dropped = std::exchange(dropped_, {});
    for (detail::CallState* const call : dropped) {
        Entry* const of_call = entry(call->event_id);
        if (of_call != nullptr && !of_call->closed && !of_call->cancelled) {
            if (call->kind == CallKind::kTimer) {
                release_call(*of_call);
            } else {
                if (call->kind == CallKind::kActivity) {
                    adding_->output.cancelled_activities.push_back(call->event_id);
                } else if (call->kind == CallKind::kChild) {
                    cancel_child(*call, kParentDropped);
                }
                Event event;
                event.kind = breadcrumb_of(call->kind);
                event.source = call->event_id;
                event.text = kDropped;
                emit(std::move(event));
            }
        }
        release(call);
    }
}

void Execution::close_entry(Entry& of_call, std::string_view activity_reason) {
    if (of_call.kind == CallKind::kTimer) {
        return;
    }
    if (of_call.kind == CallKind::kChild) {
        cancel_child(*of_call.call, end_->cancelled ? kParentCancelled : kParentDropped);
        return;
    }
    const std::int64_t id = of_call.id;
    Event event;
    event.kind = breadcrumb_of(of_call.kind);
    event.source = id;
    event.text = of_call.kind == CallKind::kActivity ? activity_reason : "orchestration_terminal";
    if (of_call.kind == CallKind::kActivity) {
        adding_->output.cancelled_activities.push_back(id);
    }
    emit(std::move(event));
}

// ---- The end. ----

void Execution::write_end() {
    const bool completed = end_->kind == End::Kind::kCompleted;
    const bool failed = end_->kind == End::Kind::kFailed;
    const std::string_view reason = completed ? "orchestration_terminal_completed"
                                    : failed  ? "orchestration_terminal_failed"
                                              : "orchestration_terminal_continued_as_new";
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        if (!entries_[i].closed && !entries_[i].cancelled) {
            close_entry(entries_[i], reason);
        }
    }
    Event event;
    event.kind = completed ? EventKind::kOrchestrationCompleted
                 : failed  ? EventKind::kOrchestrationFailed
                           : EventKind::kOrchestrationContinuedAsNew;
    event.text = end_->text;
    emit(std::move(event));
    tell(RuntimeEvent::Kind::kEnded, end_->output);
}

void Execution::answer_parent(const End& end) {
    if (!parent_instance_) {
        return;
    }
    ObjectWriter fields;
    fields.string("parent_instance", *parent_instance_);
    fields.number("parent_execution_id", parent_execution_id_ != 0 ? parent_execution_id_ : 1);
    fields.number("parent_id", parent_id_);
    if (end.kind == End::Kind::kCompleted) {
        fields.string("result", end.text);
        adding_->output.orchestrator_items.push_back(item("SubOrchCompleted", fields));
    } else {
        fields.raw("details", end.text);
        adding_->output.orchestrator_items.push_back(item("SubOrchFailed", fields));
    }
}

void Execution::write_continuation(const End& end) {
    Carried carried = subscriptions_ ? subscriptions_->left_over() : Carried();
    if (carried.size() > kMaxCarried) {
        tell(RuntimeEvent::Kind::kCarriedTooMany,
             std::to_string(carried.size() - kMaxCarried) + " messages were too many");
        carried.resize(kMaxCarried);
    }
    ObjectWriter fields;
    fields.string("instance", facts_.instance_id).string("orchestration", code_.name);
    fields.string("input", end.text).string_or_null("version", end.version);
    fields.raw("carry_forward_events", carried_text(carried));
    if (status_) {
        fields.string("initial_custom_status", *status_);
    }
    if (parent_instance_) {
        fields.string("parent_instance", *parent_instance_).number("parent_id", parent_id_);
        fields.number("parent_execution_id", parent_execution_id_ != 0 ? parent_execution_id_ : 1);
    }
    adding_->output.orchestrator_items.push_back(item("ContinueAsNew", fields));
}

void Execution::collect_items() {
    std::vector<std::string> items;
    if (end_) {
        adding_->output.worker_items.clear();
    } else {
        items = std::move(adding_->started);
    }
    for (std::string& detached : adding_->output.orchestrator_items) {
        items.push_back(std::move(detached));
    }
    for (Addition::ChildCancel& cancel : adding_->child_cancels) {
        // A child whose start is not sent needs no cancel.
        if (!end_ || cancel.id < first_new_id_) {
            items.push_back(std::move(cancel.item));
        }
    }
    adding_->output.orchestrator_items = std::move(items);
}

TurnOutput Execution::finish() {
    int rounds = 0;
    while ((!actions_.empty() || !dropped_.empty()) && rounds < kMaxRounds) {
        write_decisions(rounds);
        write_breadcrumbs();
    }
    if (rounds >= kMaxRounds && !actions_.empty()) {
        force_end(end_of_exception(std::make_exception_ptr(
                      Failure("the code has asked for more in " + std::to_string(kMaxRounds) +
                                  " rounds of one turn",
                              false))),
                  false);
        for (Action& action : actions_) {
            if (action.call != nullptr) {
                release(std::exchange(action.call, nullptr));
            }
        }
        actions_.clear();
    }
    if (end_) {
        write_end();
    }
    collect_items();
    if (end_) {
        adding_->output.end = *end_;
        if (end_->kind == End::Kind::kContinuedAsNew) {
            write_continuation(*end_);
        } else {
            answer_parent(*end_);
        }
    } else if (first_new_id_ - 1 <= facts_.history_warning &&
               last_event_id_ > facts_.history_warning) {
        // Only the turn that crosses the limit, so that a replay does not repeat it.
        tell(RuntimeEvent::Kind::kLongHistory,
             std::to_string(last_event_id_) + " events; see Context::continue_as_new");
    }
    TurnOutput output = std::move(adding_->output);
    adding_.reset();
    return output;
}

}  // namespace belay::engine
