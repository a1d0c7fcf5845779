// A turn: from history and messages, through replay and new decisions, to what the ack stores.
//
// May touch: the execution that it is given. Must not: reach a server, a clock or the cache; the
// caller fetches and acks.
#include "turn.hpp"

#include <algorithm>
#include <optional>
#include <regex>
#include <stdexcept>

namespace belay::engine {
namespace {

using Kind = TurnResult::Kind;

std::string mutations_text(const std::vector<KeyValueMutation>& mutations) {
    std::string text = "[";
    for (const KeyValueMutation& mutation : mutations) {
        ObjectWriter writer;
        if (mutation.kind == EventKind::kKeyValueSet) {
            writer.string("action", "set").string("key", mutation.key);
            writer.string("value", mutation.value).number("last_updated_at_ms", mutation.at_ms);
        } else if (mutation.kind == EventKind::kKeyValueCleared) {
            writer.string("action", "clear_key").string("key", mutation.key);
        } else {
            writer.string("action", "clear_all");
        }
        text += text.size() > 1 ? "," : "";
        text += writer.take();
    }
    text += ']';
    return text;
}

std::string_view status_of(End::Kind kind) {
    switch (kind) {
        case End::Kind::kCompleted:
            return "Completed";
        case End::Kind::kFailed:
            return "Failed";
        case End::Kind::kContinuedAsNew:
            break;
    }
    return "ContinuedAsNew";
}

std::string metadata_of(const Execution& execution, const TurnOutput& output, bool first_turn,
                        const TurnOptions& options) {
    ObjectWriter writer;
    writer.string("orchestration_name", execution.name());
    writer.string("orchestration_version", execution.version());
    if (output.end) {
        writer.string("status", status_of(output.end->kind));
        writer.string("output", output.end->output);
    }
    if (execution.parent_instance()) {
        writer.string("parent_instance_id", *execution.parent_instance());
    }
    if (first_turn) {
        writer.raw("pinned_duroxide_version", pin_of(options.history_version));
    }
    writer.raw("kv_mutations", mutations_text(output.mutations));
    return writer.take();
}

bool is_outcome_of_call(MessageKind kind) {
    switch (kind) {
        case MessageKind::kActivityCompleted:
        case MessageKind::kActivityFailed:
        case MessageKind::kTimerFired:
        case MessageKind::kSubOrchCompleted:
        case MessageKind::kSubOrchFailed:
            return true;
        default:
            return false;
    }
}

bool is_start(MessageKind kind) {
    return kind == MessageKind::kStartOrchestration || kind == MessageKind::kContinueAsNew;
}

// A turn while it is computed.
class Turn {
 public:
    Turn(const TurnRequest& request, const Registry& registry, const TurnOptions& options,
         std::unique_ptr<Execution> live)
        : request_(request),
          registry_(registry),
          options_(options),
          live_(std::move(live)),
          execution_id_(request.execution_id) {}

    TurnResult run();

 private:
    void read();
    TurnResult decide();
    TurnResult run_code(const detail::Registered& code, const Message* start);
    void deliver_messages(const Message* start);
    void verify(const TurnOutput& output, const detail::Registered& code) const;
    const Message* find_start(MessageKind kind) const;
    ExecutionFacts facts(bool live) const;
    TurnResult not_acked(Kind kind, RuntimeEvent::Kind event, std::string text,
                         std::int64_t event_id = 0);
    TurnResult ended_without_code(const EndOfCode& end, std::int64_t event_id = 0);
    TurnResult acked(TurnDecision decision);
    void tell(RuntimeEvent::Kind kind, std::string text, std::int64_t event_id = 0) const;
    void require_history() const {
        if (request_.history_omitted) {
            throw HistoryNeeded();
        }
    }

    const TurnRequest& request_;
    const Registry& registry_;
    const TurnOptions& options_;
    std::unique_ptr<Execution> live_;
    std::int64_t execution_id_;
    std::vector<Event> history_;
    std::vector<Message> messages_;
    std::string name_;
    std::string version_;
    TurnResult result_;
};

void Turn::tell(RuntimeEvent::Kind kind, std::string text, std::int64_t event_id) const {
    if (options_.hook) {
        options_.hook({.kind = kind,
                       .instance_id = request_.instance_id,
                       .execution_id = execution_id_,
                       .name = name_,
                       .version = version_,
                       .event_id = event_id,
                       .text = std::move(text)});
    }
}

TurnResult Turn::not_acked(Kind kind, RuntimeEvent::Kind event, std::string text,
                           std::int64_t event_id) {
    tell(event, text, event_id);
    result_.kind = kind;
    result_.event_id = event_id;
    result_.text = std::move(text);
    result_.execution.reset();
    return std::move(result_);
}

TurnResult Turn::ended_without_code(const EndOfCode& end, std::int64_t event_id) {
    TurnDecision decision = failure_of_turn(request_, end, options_, version_, event_id);
    result_.ended = true;
    tell(RuntimeEvent::Kind::kEnded, end.output, decision.events.back().id);
    return acked(std::move(decision));
}

TurnResult Turn::acked(TurnDecision decision) {
    result_.kind = Kind::kAck;
    result_.decision = std::move(decision);
    return std::move(result_);
}

ExecutionFacts Turn::facts(bool live) const {
    ExecutionFacts facts;
    facts.instance_id = request_.instance_id;
    facts.execution_id = execution_id_;
    facts.history_version = options_.history_version;
    facts.history_warning = options_.history_warning;
    if (live) {
        facts.hook = options_.hook;
        facts.teardown_actions = options_.teardown_actions;
    }
    return facts;
}

void Turn::read() {
    if (!live_) {
        history_ = parse_history(request_.history);
    }
    for (const std::string_view text : request_.messages) {
        messages_.push_back(parse_message(text));
    }
}

const Message* Turn::find_start(MessageKind kind) const {
    const auto found =
        std::find_if(messages_.begin(), messages_.end(),
                     [kind](const Message& message) { return message.kind == kind; });
    return found == messages_.end() ? nullptr : &*found;
}

TurnResult Turn::run() {
    try {
        read();
        return decide();
    } catch (const Corrupt& corrupt) {
        live_.reset();
        const bool ends = request_.attempt > options_.max_attempts;
        if (ends) {
            require_history();
        }
        tell(RuntimeEvent::Kind::kCorrupt, corrupt.what());
        if (ends) {
            return ended_without_code(
                end_of_poison(request_.attempt, options_.max_attempts, corrupt.what()), 99999);
        }
        result_.kind = Kind::kCorrupt;
        result_.text = corrupt.what();
        return std::move(result_);
    }
}

TurnResult Turn::decide() {
    const Message* start = nullptr;
    if (live_) {
        name_ = live_->name();
        version_ = live_->version();
    } else if (history_.empty()) {
        start = find_start(MessageKind::kStartOrchestration);
        if (start == nullptr) {
            throw Corrupt("an instance without a history has no start");
        }
    } else {
        const auto terminal =
            std::find_if(history_.begin(), history_.end(),
                         [](const Event& event) { return is_terminal(event.kind); });
        if (terminal != history_.end() &&
            terminal->kind != EventKind::kOrchestrationContinuedAsNew) {
            result_.dropped.ended += messages_.size();
            result_.ended = true;
            TurnDecision decision;
            decision.execution_id = execution_id_;
            return acked(std::move(decision));
        }
        if (terminal != history_.end()) {
            start = find_start(MessageKind::kContinueAsNew);
            if (start == nullptr) {
                result_.kind = Kind::kEarly;
                result_.text = "the message that begins the next execution is not here yet";
                return std::move(result_);
            }
            ++execution_id_;
            history_.clear();
        } else {
            name_ = history_.front().name;
            version_ = history_.front().version.value_or("");
        }
    }
    OptionalText version = start != nullptr ? start->version : OptionalText(version_);
    if (start != nullptr) {
        name_ = start->name;
        version_ = start->version.value_or("");
    }
    const detail::Registered* const code = registry_.find(name_, version);
    if (code == nullptr) {
        return not_acked(Kind::kNoHandler, RuntimeEvent::Kind::kNoHandler,
                         "orchestration \"" + name_ + "\" " +
                             (version ? "version " + *version + " " : std::string()) +
                             "is not registered");
    }
    version_ = code->version;
    result_.version = version_;
    try {
        return run_code(*code, start);
    } catch (const Nondeterminism& difference) {
        live_.reset();
        if (options_.on_nondeterminism == OnNondeterminism::kBlock) {
            return not_acked(Kind::kNondeterministic, RuntimeEvent::Kind::kNondeterministic,
                             difference.what(), difference.event_id());
        }
        require_history();
        tell(RuntimeEvent::Kind::kNondeterministic, difference.what(), difference.event_id());
        return ended_without_code(end_of_nondeterminism(name_ + " " + version_, difference.what()));
    }
}

void Turn::deliver_messages(const Message* start) {
    for (const Message& message : messages_) {
        if (&message == start) {
            continue;
        }
        if (is_start(message.kind)) {
            ++result_.dropped.duplicate;
        } else if (is_outcome_of_call(message.kind) && message.execution_id != execution_id_) {
            ++result_.dropped.other_execution;
        } else {
            switch (live_->deliver(message)) {
                case Execution::Reception::kTaken:
                    break;
                case Execution::Reception::kDuplicate:
                    ++result_.dropped.duplicate;
                    break;
                case Execution::Reception::kEnded:
                    ++result_.dropped.ended;
                    break;
            }
        }
    }
}

TurnResult Turn::run_code(const detail::Registered& code, const Message* start) {
    const bool replays = !live_ && !history_.empty();
    if (!live_) {
        live_ = std::make_unique<Execution>(facts(true), code, request_.values);
    }
    live_->time(request_.resumptions);
    if (replays) {
        live_->replay(history_);
        live_->boundary();
        result_.events_replayed = history_.size();
    }
    live_->begin_turn(request_.now_ms);
    if (start != nullptr) {
        live_->start(start_event(*start, code.version));
    }
    deliver_messages(start);
    TurnOutput output = live_->finish();
    live_->time(nullptr);
    if (options_.verify) {
        verify(output, code);
    }
    TurnDecision decision;
    decision.execution_id = execution_id_;
    decision.metadata = metadata_of(*live_, output, start != nullptr, options_);
    decision.events = std::move(output.events);
    decision.worker_items = std::move(output.worker_items);
    decision.orchestrator_items = std::move(output.orchestrator_items);
    decision.cancelled_activities = std::move(output.cancelled_activities);
    result_.ended = output.end.has_value();
    if (!result_.ended) {
        result_.execution = std::move(live_);
    }
    return acked(std::move(decision));
}

void Turn::verify(const TurnOutput& output, const detail::Registered& code) const {
    std::vector<std::string_view> texts;
    if (execution_id_ == request_.execution_id) {
        texts = request_.history;
    }
    for (const NewEvent& event : output.events) {
        texts.push_back(event.text);
    }
    ExecutionFacts again_facts = facts(false);
    again_facts.strict_from = output.events.empty() ? 0 : output.events.front().id;
    Execution again(std::move(again_facts), code, request_.values);
    const std::vector<Event> history = parse_history(texts);
    again.replay(history);
    again.boundary();
    if (again.last_event_id() != live_->last_event_id() ||
        again.open_calls() != live_->open_calls() || again.ended() != live_->ended()) {
        throw Nondeterminism("nondeterministic: event " + std::to_string(live_->last_event_id()) +
                                 " of " + request_.instance_id + ", execution " +
                                 std::to_string(execution_id_) + " (" + code.name + " " +
                                 code.version +
                                 ")\n  the history has: what the code did in this turn\n  the "
                                 "code wants:  something else when it is run again",
                             live_->last_event_id());
    }
}

}  // namespace

// The version is one that check_history_version accepts.
std::string pin_of(const std::string& version) {
    ObjectWriter pin;
    std::string_view rest = version;
    for (const std::string_view part : {"major", "minor", "patch"}) {
        const auto dot = rest.find('.');
        pin.raw(part, std::string(rest.substr(0, dot)));
        rest = dot == std::string_view::npos ? std::string_view() : rest.substr(dot + 1);
    }
    return pin.take();
}

Event start_event(const Message& message, const std::string& version) {
    Event event;
    event.kind = EventKind::kOrchestrationStarted;
    event.name = message.name;
    event.version = version;
    event.text = message.text;
    event.instance = message.parent_instance;
    event.parent_id = message.parent_id;
    event.parent_execution_id = message.parent_execution_id;
    event.initial_status = message.initial_status;
    event.carried = message.carried;
    return event;
}

TurnResult run_turn(const TurnRequest& request, const Registry& registry,
                    const TurnOptions& options, std::unique_ptr<Execution> live) {
    return Turn(request, registry, options, std::move(live)).run();
}

void check_history_version(const std::string& version) {
    // The server packs them into one number, each below 1000; JSON has no leading zeros.
    static const std::regex three_numbers("(0|[1-9][0-9]{0,2})(\\.(0|[1-9][0-9]{0,2})){2}");
    if (!std::regex_match(version, three_numbers)) {
        throw std::invalid_argument("history_version is \"" + version +
                                    "\", but has to be three numbers, as in 0.1.30");
    }
}

std::vector<Event> parse_history(const std::vector<std::string_view>& history) {
    std::vector<Event> events;
    events.reserve(history.size());
    bool ended = false;
    for (const std::string_view text : history) {
        Event event = parse_event(text);
        const std::string place = "event " + std::to_string(event.id);
        if (events.empty() != (event.kind == EventKind::kOrchestrationStarted)) {
            throw Corrupt(place + ": a history begins with one OrchestrationStarted");
        }
        if (!events.empty() && event.id <= events.back().id) {
            throw Corrupt(place + " follows event " + std::to_string(events.back().id));
        }
        // duroxide writes breadcrumbs behind the terminal event.
        if (ended && !is_breadcrumb(event.kind)) {
            throw Corrupt(place + " follows the end of the execution");
        }
        ended = ended || is_terminal(event.kind);
        events.push_back(std::move(event));
    }
    return events;
}

Values parse_values(std::string_view snapshot) {
    Values values;
    ObjectReader reader(snapshot);
    while (reader.next()) {
        ObjectReader fields(reader.raw());
        while (fields.next()) {
            if (fields.key() == "value") {
                values.insert_or_assign(std::string(reader.key()), fields.string());
            }
        }
    }
    return values;
}

}  // namespace belay::engine
