#include "hub.hpp"

#include <set>

#include "core/hash.hpp"
#include "core/token.hpp"

namespace belay::test::model {

// ---- Fetch ----

namespace {

Pin unpacked(int64_t packed) {
    return {packed / 1'000'000, packed / 1000 % 1000, packed % 1000};
}

}  // namespace

// The search for a turn: instances by their oldest visible message, each looked at once.
class TurnSearch {
 public:
    TurnSearch(Hub* hub, int client, const TurnFetch& request)
        : hub_(*hub), client_(client), request_(request) {}

    std::optional<Turn> run() {
        std::set<std::string> tried;
        for (const auto& [visible_at, id, instance] : candidates()) {
            if (!tried.insert(instance).second) {
                continue;
            }
            if (auto turn = try_instance(instance)) {
                return turn;
            }
        }
        return std::nullopt;
    }

 private:
    struct Context {
        std::string name = "Unknown";
        std::string version = "unknown";
        int64_t execution = 1;
        Case origin = Case::kContextUnknown;
        int64_t start = 0;  // the message that it is from
    };

    // FO-2; but what was set aside leads nowhere and has no say in the order (decision 32).
    std::vector<std::tuple<int64_t, int64_t, std::string>> candidates() const {
        std::vector<std::tuple<int64_t, int64_t, std::string>> found;
        for (const Message* message : hub_.messages.seen_by(client_)) {
            const std::string& instance = message->mail.instance;
            const bool wanted_slot =
                !request_.slots ||
                contains(*request_.slots, core::slot_of(instance, hub_.slot_count));
            if (!message->aside && wanted_slot && hub_.is_visible(*message, request_.now)) {
                found.emplace_back(message->visible_at, message->id, instance);
            }
        }
        std::sort(found.begin(), found.end());
        return found;
    }

    // E2 to E4.
    bool is_free(const std::string& instance) {
        const TurnLock* lock = hub_.locks.find(instance, client_);
        const bool live = lock != nullptr && hub_.is_live(*lock, request_.now);
        const bool held = hub_.locks.held_from(instance, client_);
        const bool passes =
            hub_.passes_filter(client_, instance, request_.min_version, request_.max_version);
        hub_.meet(Case::kPassedLiveLock, live);
        hub_.meet(Case::kPassedHeld, held && !live);
        hub_.meet(Case::kFiltered, !passes);
        return !live && !held && passes;
    }

    // An instance that is passed over is left as it was, unless there is something to be put aside.
    std::optional<Turn> try_instance(const std::string& instance) {
        if (!is_free(instance)) {
            return std::nullopt;
        }
        bool start_queued = false;
        std::vector<Message> visible;
        for (const Message* message : hub_.messages_of(client_, instance)) {
            start_queued = start_queued || message->mail.is_start();
            if (hub_.is_visible(*message, request_.now)) {
                visible.push_back(*message);
            }
        }
        const auto context = context_of(instance, visible);
        if (!context && start_queued) {
            hub_.meet(Case::kStartHidden);
            return std::nullopt;  // C5
        }
        if (!context) {
            hub_.locks.hold(instance, client_);
            set_aside(visible);
            return std::nullopt;
        }
        const Batch batch = choose_batch(visible, *context);
        if (batch.start_held) {
            // What was buried on the way comes back, the numbers it had do not.
            hub_.last.dead_letter += static_cast<int64_t>(batch.too_often.size());
            return std::nullopt;
        }
        const bool brought_back = bring_back(instance);
        for (const int64_t id : batch.too_often) {
            hub_.meet(Case::kMessageBuried);
            hub_.dead_letter_message(client_, id, request_.now);
        }
        if (batch.ids.empty()) {
            hub_.meet(Case::kBatchBuried, !batch.too_often.empty());
            if (brought_back || !batch.too_often.empty()) {
                hub_.locks.hold(instance, client_);
            }
            return std::nullopt;
        }
        hub_.meet(context->origin);
        hub_.meet(Case::kStartBehindTheBatch, context->start > batch.ids.back());
        return grant(instance, *context, batch.ids);
    }

    // OR-3: the instance starts now.
    bool bring_back(const std::string& instance) {
        if (hub_.instances.find(instance, client_) != nullptr) {
            return false;
        }
        bool any = false;
        for (const Message* message : hub_.messages_of(client_, instance)) {
            if (message->aside && !hub_.messages.held_from(message->id, client_)) {
                hub_.meet(Case::kBackFromAside);
                hub_.messages.hold(message->id, client_)->aside = false;
                any = true;
            }
        }
        return any;
    }

    // C1 to C4.
    std::optional<Context> context_of(const std::string& instance,
                                      const std::vector<Message>& visible) const {
        if (const Instance* row = hub_.instances.find(instance, client_)) {
            return Context{row->name, row->version, row->execution, Case::kContextOfRow};
        }
        std::optional<Context> from_history;
        bool started = false;
        for (const StoredEvent* stored : hub_.history.seen_by(client_)) {
            if (stored->instance != instance) {
                continue;
            }
            if (!from_history || from_history->execution < stored->execution) {
                from_history = Context{.execution = stored->execution};
                started = false;
            }
            if (!started && stored->event.started_name) {
                started = true;
                from_history->origin = Case::kContextOfHistory;
                from_history->name = *stored->event.started_name;
                from_history->version = stored->event.started_version.value_or("unknown");
            }
        }
        if (started) {
            return from_history;
        }
        const auto start = std::find_if(visible.begin(), visible.end(), [](const Message& message) {
            return message.mail.is_start();
        });
        if (start == visible.end()) {
            return from_history;
        }
        return Context{
            start->mail.name.value_or("Unknown"), start->mail.version.value_or("unknown"),
            from_history ? from_history->execution : 1,
            from_history ? Case::kContextOfStartWithHistory : Case::kContextOfStart, start->id};
    }

    // OR-1, OR-2.
    void set_aside(const std::vector<Message>& visible) {
        const bool drop = std::all_of(visible.begin(), visible.end(), [](const Message& message) {
            return message.mail.kind == "QueueMessage";
        });
        hub_.meet(drop ? Case::kOrphansDropped : Case::kOrphansSetAside);
        for (const Message& message : visible) {
            if (hub_.messages.held_from(message.id, client_)) {
                continue;
            }
            if (drop) {
                hub_.messages.hold(message.id, client_) = std::nullopt;
            } else if (!message.aside) {
                hub_.messages.hold(message.id, client_)->aside = true;
            }
        }
    }

    struct Batch {
        std::vector<int64_t> ids;
        std::vector<int64_t> too_often;
        bool start_held = false;
    };

    // FO-6, PO-5, PO-6. The limit counts what is set aside or held by others on the way, unless
    // nothing else is left. A start that another holds and that alone tells the name is waited for.
    Batch choose_batch(const std::vector<Message>& visible, const Context& context) {
        Batch batch;
        int64_t met = 0;
        for (const Message& message : visible) {
            if (++met > hub_.batch_messages) {
                if (!batch.ids.empty()) {
                    hub_.meet(Case::kBatchLimited);
                    break;
                }
                met = 1;
            }
            if (hub_.messages.held_from(message.id, client_)) {
                batch.start_held = batch.start_held || (context.origin == Case::kContextOfStart &&
                                                        context.start == message.id);
            } else if (hub_.max_attempts && message.attempts >= *hub_.max_attempts) {
                batch.too_often.push_back(message.id);
            } else {
                batch.ids.push_back(message.id);
            }
        }
        return batch;
    }

    // FO-5 to FO-10.
    Turn grant(const std::string& instance, const Context& context,
               const std::vector<int64_t>& batch) {
        auto& lock = hub_.locks.hold(instance, client_);
        hub_.meet(Case::kTakenOver, lock && !lock->token.empty());
        lock = TurnLock{instance, "?", request_.now + request_.lock_timeout, request_.now,
                        hub_.incarnation};
        Turn turn{instance, context.name, context.version, context.execution, {}, {}, 0, {}};
        for (const int64_t id : batch) {
            Message& message = *hub_.messages.hold(id, client_);
            message.token = "?";
            message.attempts = core::next_attempt(message.attempts);
            turn.attempts = std::max(turn.attempts, message.attempts);
            turn.messages.push_back(message.mail.text);
        }
        for (const StoredEvent* stored : hub_.history_of(client_, instance, context.execution)) {
            turn.history.push_back(stored->event.text);
        }
        for (const Value* value : hub_.kv_store.seen_by(client_)) {
            if (value->instance == instance) {
                turn.snapshot.push_back(*value);
            }
        }
        return turn;
    }

    Hub& hub_;
    int client_;
    const TurnFetch& request_;
};

// CF-1 to CF-6.
bool Hub::passes_filter(int client, const std::string& instance, std::optional<int64_t> min_version,
                        std::optional<int64_t> max_version) const {
    const Instance* row = instances.find(instance, client);
    const Execution* execution = row == nullptr ? nullptr : current_execution(client, *row);
    if (execution == nullptr || !execution->pin) {
        return true;
    }
    return (!min_version || *execution->pin >= unpacked(*min_version)) &&
           (!max_version || *execution->pin <= unpacked(*max_version));
}

std::optional<Turn> Hub::fetch_turn(int client, const TurnFetch& request) {
    const bool empty_filter =
        request.min_version && request.max_version && *request.min_version > *request.max_version;
    if (orchestrator_paused || empty_filter) {
        return std::nullopt;
    }
    return TurnSearch(this, client, request).run();
}

void Hub::learn_turn_token(int client, const std::string& instance, const std::string& token) {
    locks.hold(instance, client)->token = token;
    for (const Message* message : messages_of(client, instance)) {
        if (message->token == "?") {
            messages.hold(message->id, client)->token = token;
        }
    }
}

// ---- The lock ----

// A turn that was fetched anew has another number, so its old token finds nothing.
Hub::HeldTurn Hub::hold_turn(int client, const Text& token, int64_t now) {
    using core::LeaseFault;
    const auto parsed = token ? core::decode_turn_token(*token) : std::nullopt;
    if (!parsed) {
        return {nullptr, LeaseFault::kUnknown};
    }
    if (parsed->incarnation != incarnation) {
        return {nullptr, LeaseFault::kOtherIncarnation};
    }
    for (const TurnLock* lock : locks.seen_by(client)) {
        const auto stored = core::decode_turn_token(lock->token);
        if (stored && stored->instance_key == parsed->instance_key &&
            stored->lock_no == parsed->lock_no) {
            TurnLock& held = *locks.hold(lock->instance, client);
            if (held.token != *token) {
                return {nullptr, LeaseFault::kUnknown};
            }
            return {&held, is_live(held, now) ? LeaseFault::kNone : LeaseFault::kExpired};
        }
    }
    return {nullptr, LeaseFault::kGone};
}

TurnLock& Hub::hold_live_turn(int client, const Text& token, int64_t now) {
    const HeldTurn held = hold_turn(client, token, now);
    if (held.fault != core::LeaseFault::kNone) {
        raise_lost(token, held.fault, held.lock != nullptr ? held.lock->locked_until : 0);
    }
    return *held.lock;
}

// RO-1.
void Hub::renew_turn(int client, const Text& token, int64_t now, int64_t extend) {
    hold_live_turn(client, token, now).locked_until = now + extend;
}

// AB-1 to AB-6.
std::string Hub::abandon_turn(int client, const Text& token, int64_t now,
                              std::optional<int64_t> delay, bool ignore_attempt) {
    const HeldTurn held = hold_turn(client, token, now);
    if (held.lock == nullptr) {
        raise_lost(token, held.fault, 0);
    }
    const std::string instance = held.lock->instance;
    meet(Case::kAbandonedExpired, held.fault == core::LeaseFault::kExpired);
    meet(Case::kAbandonedDelayed, delay.value_or(0) > 0);
    for (const Message* seen : messages_of(client, instance)) {
        meet(Case::kAbandonedBesideOthers, seen->token != *token);
        if (seen->token == *token) {
            Message& message = *messages.hold(seen->id, client);
            message.token = "";
            message.attempts =
                ignore_attempt ? core::previous_attempt(message.attempts) : message.attempts;
            message.visible_at = delay ? now + *delay : message.visible_at;
        }
    }
    *held.lock = TurnLock{instance, "", 0, held.lock->locked_at, 0};
    return instance;
}

// ---- Ack ----

void Hub::ack_turn(int client, const TurnAck& ack) {
    const std::string instance = hold_live_turn(client, ack.token, ack.now).instance;
    // Before it waits for the parent.
    refuse_duplicates(client, instance, ack.execution, ack.events);
    ack_instance(client, instance, ack);
    add_events(client, instance, ack.execution, ack.events, ack.now);
    change_custom_status(client, instance, ack);
    change_values(client, instance, ack);
    for (const Message* message : messages_of(client, instance)) {
        if (message->token == *ack.token) {
            messages.hold(message->id, client) = std::nullopt;
        }
    }
    for (const Activity& what : ack.activities) {
        enqueue(client, what, ack.now);
        for (const Identity& cancelled : ack.cancelled) {
            meet(Case::kCancelledOwn, what.instance == cancelled.instance &&
                                          what.execution == cancelled.execution &&
                                          what.activity == cancelled.activity);
        }
    }
    cancel(client, ack.cancelled);
    for (const Mail& mail : ack.messages) {
        send(client, mail, ack.now, ack.now);
    }
    // Released; the end of an execution takes the row away.
    auto& lock = locks.hold(instance, client);
    lock = ack.is_terminal() ? std::nullopt
                             : std::optional(TurnLock{instance, "", 0, lock->locked_at, 0});
}

// AO-6 to AO-10, AO-13, AO-14.
void Hub::ack_instance(int client, const std::string& instance, const TurnAck& ack) {
    const bool existed = instances.find(instance, client) != nullptr;
    if (ack.name && ack.version && ack.parent) {
        meet(Case::kParentBeingDeleted,
             !instances.is_free(*ack.parent, client) && instances.cells.at(*ack.parent).taken_away);
        instances.keep(*ack.parent, client);  // AO-7, DE-6
    }
    if (existed || (ack.name && ack.version)) {
        auto& row = instances.hold(instance, client);
        if (!row) {
            row.emplace();
            row->id = instance;
            row->created_at = ack.now;
            meet(Case::kInstanceBorn);
        }
        if (ack.name && ack.version) {
            meet(Case::kParentFilledIn, existed && ack.parent && !row->parent);
            meet(Case::kParentKept, ack.parent && row->parent && ack.parent != row->parent);
            row->name = *ack.name;
            row->version = *ack.version;
            row->parent = row->parent ? row->parent : ack.parent;
        }
        meet(Case::kExecutionBack, ack.execution < row->execution);
        row->execution = std::max(row->execution, ack.execution);
        row->updated_at = ack.now;
    }
    const bool exists = instances.find(instance, client) != nullptr;
    if (!existed && (exists || !ack.events.empty())) {
        settle_aside(client, instance, *ack.token);
    }
    if (!exists && ack.events.empty() && !ack.status && !ack.pin) {
        meet(Case::kNothingLeftBehind);
        return;
    }
    auto& execution = executions.hold({instance, ack.execution}, client);
    if (!execution) {
        execution.emplace();
        execution->instance = instance;
        execution->id = ack.execution;
        execution->started_at = ack.now;
    }
    if (ack.status) {
        execution->status = *ack.status;
        execution->output = ack.output;
        execution->completed_at = ack.is_terminal() ? std::optional(ack.now) : std::nullopt;
    }
    meet(Case::kPinReplaced, ack.pin && execution->pin && ack.pin != execution->pin);
    execution->pin = ack.pin ? ack.pin : execution->pin;
}

}  // namespace belay::test::model
