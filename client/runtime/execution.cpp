// The life of an execution in memory, and what each event does to it.
#include "execution.hpp"

#include <algorithm>
#include <atomic>

namespace belay::engine {
namespace {

using detail::CallKind;

// The kind of call that an outcome or a breadcrumb belongs to.
CallKind call_kind_of(EventKind kind) {
    switch (kind) {
        case EventKind::kTimerFired:
            return CallKind::kTimer;
        case EventKind::kSubOrchestrationCompleted:
        case EventKind::kSubOrchestrationFailed:
        case EventKind::kSubOrchestrationCancelRequested:
            return CallKind::kChild;
        case EventKind::kExternalSubscribedCancelled:
            return CallKind::kEvent;
        case EventKind::kExternalSubscribedPersistentCancelled:
            return CallKind::kQueue;
        default:
            return CallKind::kActivity;
    }
}

std::string_view decision_name(CallKind kind) {
    switch (kind) {
        case CallKind::kActivity:
            return name_of(EventKind::kActivityScheduled);
        case CallKind::kTimer:
            return name_of(EventKind::kTimerCreated);
        case CallKind::kChild:
            return name_of(EventKind::kSubOrchestrationScheduled);
        case CallKind::kEvent:
            return name_of(EventKind::kExternalSubscribed);
        case CallKind::kQueue:
            break;
    }
    return name_of(EventKind::kExternalSubscribedPersistent);
}

std::atomic<std::ptrdiff_t> bytes_left{0};

std::uint64_t hash_of(std::string_view text, std::uint64_t hash) {
    for (const char c : text) {
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    }
    return hash;
}

}  // namespace

std::ptrdiff_t frame_bytes_left() noexcept {
    return bytes_left;
}

Execution::Execution(ExecutionFacts facts, const detail::Registered& code, Values values)
    : facts_(std::move(facts)), code_(code), values_(std::move(values)) {}

Subscriptions& Execution::subscriptions() {
    if (!subscriptions_) {
        subscriptions_ =
            std::make_unique<Subscriptions>([this](detail::CallState& call, std::string data) {
                settle(call, std::move(data), false);
            });
    }
    return *subscriptions_;
}

Execution::Choices& Execution::choices() {
    if (!choices_) {
        choices_ = std::make_unique<Choices>();
    }
    return *choices_;
}

Execution::~Execution() {
    tearing_down_ = true;
    {
        const detail::InstanceScope scope(this);
        root_.reset();
    }
    if (frame_bytes() != 0) {
        bytes_left += frame_bytes();
    }
    for (detail::CallState* const call : dropped_) {
        release(call);
    }
    for (const Action& action : actions_) {
        if (action.call != nullptr) {
            release(action.call);
        }
    }
    for (Entry& entry : entries_) {
        release_call(entry);
    }
    forget_calls();
}

const std::string& Execution::cancel_reason() const {
    static const std::string none;
    return cancel_reason_ ? *cancel_reason_ : none;
}

std::size_t Execution::bytes() const {
    std::size_t bytes = sizeof(Execution) + static_cast<std::size_t>(frame_bytes()) +
                        entries_.capacity() * sizeof(Entry) +
                        (subscriptions_ ? sizeof(Subscriptions) + subscriptions_->bytes() : 0) +
                        facts_.instance_id.size() + call_bytes_;
    // At most 150: unlike the calls, these may be counted after each turn.
    for (const auto& [key, value] : values_) {
        bytes += key.size() + value.size();
    }
    return bytes + status_.value_or("").size();
}

std::vector<std::int64_t> Execution::open_calls() const {
    std::vector<std::int64_t> open;
    for (const Entry& entry : entries_) {
        if (!entry.closed && !entry.cancelled) {
            open.push_back(entry.id);
        }
    }
    return open;
}

// An open call has a state: its entry refers to it.
bool Execution::waits_only_for(std::int64_t activity_id) const {
    bool found = false;
    for (const detail::CallState* call = calls_; call != nullptr; call = call->next_call) {
        if (call->event_id == 0 || call->done) {
            continue;
        }
        if (call->event_id != activity_id || call->kind != CallKind::kActivity || call->dropped) {
            return false;
        }
        found = true;
    }
    return found && !cancel_reason_;
}

void Execution::tell(RuntimeEvent::Kind kind, std::string text) const {
    if (facts_.hook) {
        facts_.hook({.kind = kind,
                     .instance_id = facts_.instance_id,
                     .execution_id = facts_.execution_id,
                     .name = code_.name,
                     .version = code_.version,
                     .event_id = last_event_id_,
                     .text = std::move(text)});
    }
}

// ---- The stored part. ----

void Execution::replay(const std::vector<Event>& history) {
    scan(history);
    replaying_ = true;
    stored_ = &history;
    for (stored_at_ = 0; stored_at_ < history.size(); ++stored_at_) {
        apply(history[stored_at_]);
    }
    stored_ = nullptr;
}

void Execution::boundary() {
    if (end_stored_) {
        return;
    }
    if (!actions_.empty()) {
        differs(last_event_id_ + 1, "nothing more", describe(actions_.front().event),
                "a call was added at the end of what is stored; see ctx.version()");
    }
    if (end_ && end_->by_code) {
        differs(last_event_id_ + 1, "nothing more", describe_end(),
                "the code returns earlier than it did; see ctx.version()");
    }
    for (detail::CallState* const call : dropped_) {
        const Entry* const of_call = entry(call->event_id);
        if (of_call != nullptr && !of_call->closed && !of_call->cancelled &&
            call->kind != CallKind::kTimer) {
            differs(last_event_id_ + 1, "nothing more",
                    "to drop the call of event " + std::to_string(call->event_id),
                    "a call that was kept is now dropped; see ctx.version()");
        }
    }
    for (detail::CallState* const call : dropped_) {
        if (Entry* const of_call = entry(call->event_id)) {
            release_call(*of_call);
        }
        release(call);
    }
    dropped_.clear();
    if (choices_) {
        choices_->recorded.clear();
    }
    replaying_ = false;
}

// ---- Events. ----

void Execution::apply(const Event& event) {
    if (is_decision(event.kind)) {
        apply_decision(event);
    } else if (is_breadcrumb(event.kind)) {
        apply_breadcrumb(event);
    } else if (is_terminal(event.kind)) {
        apply_terminal(event);
    } else if (event.kind == EventKind::kOrchestrationStarted) {
        apply_start(event);
    } else if (event.kind == EventKind::kOrchestrationCancelRequested) {
        now_ms_ = std::max(now_ms_, event.timestamp_ms);
        apply_cancel(event);
    } else if (event.kind == EventKind::kExternalEvent) {
        subscriptions().event(event.name, event.text.value_or(""));
    } else if (event.kind == EventKind::kExternalEventPersistent) {
        subscriptions().message(event.name, event.text.value_or(""));
    } else {
        apply_outcome(event);
    }
    last_event_id_ = event.id;
    now_ms_ = std::max(now_ms_, event.timestamp_ms);
    before_ = {event.id, event.kind, event.source, event.name};
    if (event.source != 0) {
        if (const Entry* const of_call = entry(event.source)) {
            before_.name = *of_call->name;
        }
    }
    run();
}

void Execution::apply_start(const Event& event) {
    last_event_id_ = event.id;
    now_ms_ = event.timestamp_ms;
    parent_instance_ = event.instance;
    parent_id_ = event.parent_id;
    parent_execution_id_ = event.parent_execution_id;
    status_ = event.initial_status;
    seed_ = hash_of(facts_.instance_id, 0xcbf29ce484222325);
    seed_ = hash_of(std::to_string(facts_.execution_id), seed_ ^ 0xff);
    seed_ = hash_of(std::to_string(event.timestamp_ms), seed_ ^ 0xff);
    const detail::InstanceScope scope(this);
    try {
        root_ = code_.make(detail::ContextMaker::make(*this), event.text.value_or(""));
        wake(root_->promise());
    } catch (...) {
        // The input cannot be decoded, or the function is no coroutine and has thrown.
        force_end(end_of_exception(std::current_exception()), false);
        end_->by_code = true;
    }
}

void Execution::apply_decision(const Event& event) {
    if (replaying_ && skip_retired(event)) {
        return;
    }
    if (actions_.empty()) {
        differs(event.id, describe(event), nothing_wanted(),
                end_ ? "the code returns earlier than it did; see ctx.version()"
                     : "this call was removed or comes later; see ctx.version()");
    }
    if (replaying_) {
        match(event, actions_.front());
    }
    Action action = std::move(actions_.front());
    actions_.pop_front();
    action.event.instance = event.instance;
    action.event.text = event.text;
    bind(action, event.id);
}

void Execution::bind(Action& action, std::int64_t id) {
    if (action.event.kind == EventKind::kCustomStatusUpdated) {
        status_ = action.event.text;
    }
    detail::CallState* const call = action.call;
    if (call == nullptr) {
        return;
    }
    call->event_id = id;
    if (call->kind == CallKind::kChild) {
        call->target = action.event.instance.value();
        if (call->target.starts_with("sub::")) {
            call->target = facts_.instance_id + "::" + call->target;
        }
        call->account();
    }
    const std::string* const name = &*names_.insert(call->name).first;
    // The reference of the action is now the entry's.
    entries_.push_back({id, std::exchange(action.call, nullptr), name, call->kind, false, false});
    if (call->kind == CallKind::kEvent || call->kind == CallKind::kQueue) {
        subscriptions().subscribe(*call);
    }
}

Execution::Entry* Execution::entry(std::int64_t id) {
    const auto found =
        std::lower_bound(entries_.begin(), entries_.end(), id,
                         [](const Entry& entry, std::int64_t wanted) { return entry.id < wanted; });
    return found == entries_.end() || found->id != id ? nullptr : &*found;
}

void Execution::release_call(Entry& entry) {
    if (detail::CallState* const call = std::exchange(entry.call, nullptr)) {
        release(call);
    }
}

void Execution::settle(detail::CallState& call, std::string text, bool failed) {
    Entry& of_call = *entry(call.event_id);
    of_call.closed = true;
    if (!call.dropped) {
        call.done = true;
        call.failed = failed;
        call.value = std::move(text);
        call.account();
        if (call.waiter != nullptr) {
            call.waiter->settled(call);
        }
    }
    release_call(of_call);
}

void Execution::apply_outcome(const Event& event) {
    Entry* const of_call = entry(event.source);
    if (of_call == nullptr) {
        differs(event.id, describe(event), "no call that is event " + std::to_string(event.source));
    }
    const std::string wanted = std::string(decision_name(of_call->kind)) + " \"" + *of_call->name +
                               "\" as event " + std::to_string(event.source);
    if (of_call->kind != call_kind_of(event.kind)) {
        differs(event.id, describe(event), wanted);
    }
    if (of_call->closed) {
        differs(event.id, describe(event), wanted + ", which has its outcome");
    }
    const bool failed = event.kind == EventKind::kActivityFailed ||
                        event.kind == EventKind::kSubOrchestrationFailed;
    if (failed && ends_instance(*event.text)) {
        of_call->closed = true;
        release_call(*of_call);
        force_end(end_of_details(*event.text), false);
    } else if (of_call->call != nullptr) {
        settle(*of_call->call, event.text.value_or(""), failed);
    } else {
        of_call->closed = true;
    }
}

void Execution::apply_breadcrumb(const Event& event) {
    Entry* const of_call = entry(event.source);
    if (of_call == nullptr || of_call->kind != call_kind_of(event.kind)) {
        differs(event.id, describe(event),
                "no such call that is event " + std::to_string(event.source));
    }
    detail::CallState* const call = of_call->call;
    if (event.text == "dropped_future" && call != nullptr && !call->dropped) {
        differs(event.id, describe(event),
                "to keep the call of event " + std::to_string(event.source),
                "a call that was dropped is now kept; see ctx.version()");
    }
    of_call->cancelled = true;
    if (call != nullptr && event.text == "dropped_future") {
        if (call->kind == CallKind::kEvent || call->kind == CallKind::kQueue) {
            subscriptions().cancelled(*call);
        }
        release_call(*of_call);
    }
}

void Execution::apply_cancel(const Event& event) {
    if (cancel_reason_) {
        // The second one does not ask any more.
        force_end(end_of_cancel(event.text.value_or("")), true);
        return;
    }
    cancel_reason_ = event.text.value_or("");
    if (code_.options.on_cancel() == OnCancel::kTerminate) {
        force_end(end_of_cancel(*cancel_reason_), true);
    } else {
        cancel_waits();
    }
}

std::string Execution::describe_end() const {
    Event event;
    event.kind = end_->kind == End::Kind::kCompleted ? EventKind::kOrchestrationCompleted
                 : end_->kind == End::Kind::kFailed  ? EventKind::kOrchestrationFailed
                                                     : EventKind::kOrchestrationContinuedAsNew;
    event.text = end_->text;
    return describe(event);
}

void Execution::apply_terminal(const Event& event) {
    end_stored_ = true;
    if (event.kind == EventKind::kOrchestrationFailed && ends_instance(event.text.value_or(""))) {
        // Ended by a runtime, not by the code.
        force_end(end_of_details(*event.text), false);
        return;
    }
    if (!end_) {
        differs(event.id, describe(event), nothing_wanted(),
                "the code returns later than it did; see ctx.version()");
    }
    const bool same_kind =
        (event.kind == EventKind::kOrchestrationCompleted && end_->kind == End::Kind::kCompleted) ||
        (event.kind == EventKind::kOrchestrationFailed && end_->kind == End::Kind::kFailed) ||
        (event.kind == EventKind::kOrchestrationContinuedAsNew &&
         end_->kind == End::Kind::kContinuedAsNew);
    if (!same_kind || (event.id >= facts_.strict_from && event.text != end_->text)) {
        differs(event.id, describe(event), describe_end());
    }
}

// ---- The code. ----

void Execution::before_resumption() {
    if (resumptions_ != nullptr) {
        resumptions_->begin(last_event_id_);
    }
}

void Execution::after_resumption() {
    if (resumptions_ == nullptr) {
        return;
    }
    if (const auto took = resumptions_->end()) {
        const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(*took);
        tell(RuntimeEvent::Kind::kSlow,
             "the code held its thread for " + std::to_string(milliseconds.count()) + " ms");
    }
}

void Execution::run() {
    run_ready();
    if (doom_) {
        throw *doom_;
    }
    if (root_finished_ && !end_) {
        take_end();
    }
}

void Execution::take_end() {
    stopped_ = true;
    End end;
    end.by_code = true;
    if (auto& continued = root_->continued(); continued && !root_->promise().error) {
        end.kind = End::Kind::kContinuedAsNew;
        end.text = continued->input;
        end.output = continued->input;
        end.version = continued->version;
    } else {
        try {
            end.text = root_->output();
            end.output = end.text;
        } catch (...) {
            const auto error = std::current_exception();
            EndOfCode stored = end_of_exception(error);
            end.kind = End::Kind::kFailed;
            end.text = std::move(stored.details);
            end.output = std::move(stored.output);
            end.cancelled = cancel_reason_.has_value();
        }
    }
    end_ = std::make_unique<End>(std::move(end));
}

void Execution::force_end(EndOfCode end, bool cancelled) {
    stopped_ = true;
    end_ = std::make_unique<End>(End{.kind = End::Kind::kFailed,
                                     .text = std::move(end.details),
                                     .output = std::move(end.output),
                                     .cancelled = cancelled});
}

}  // namespace belay::engine
