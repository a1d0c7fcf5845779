// The lease of an activity: what a handler's outcome means for a work item.
#include <algorithm>
#include <charconv>
#include <string_view>

#include "clean_text.hpp"
#include "lease_state.hpp"

namespace belay {
namespace {

std::string text_field(const Json& object, const char* key) {
    const auto found = object.find(key);
    if (found == object.end() || found->is_null()) {
        return "";
    }
    return found->is_string() ? found->get<std::string>() : found->dump();
}

OptionalNumber number_field(const Json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_number_integer()
               ? OptionalNumber(found->get<std::int64_t>())
               : std::nullopt;
}

// Reads what nearly all items are: {"Type": {"key": value, ...}} where values are null, integers
// above 0 or strings of printable ASCII without escapes. Several times as fast as a parser of all
// JSON.
class PlainItem {
 public:
    explicit PlainItem(std::string_view text) : rest_(text) {}

    // False: it is something else. The facts are then of no use.
    bool read(TaskFacts& facts) {
        std::string_view ignored;
        if (!take('{') || !string(ignored) || !take(':') || !take('{')) {
            return false;
        }
        do {
            std::string_view key;
            if (!string(key) || !take(':') || !value(key, facts)) {
                return false;
            }
        } while (take(','));
        return take('}') && take('}') && at_end();
    }

 private:
    static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

    bool at_end() {
        while (!rest_.empty() && is_space(rest_.front())) {
            rest_.remove_prefix(1);
        }
        return rest_.empty();
    }

    bool take(char wanted) {
        if (at_end() || rest_.front() != wanted) {
            return false;
        }
        rest_.remove_prefix(1);
        return true;
    }

    bool string(std::string_view& text) {
        if (!take('"')) {
            return false;
        }
        const auto is_plain = [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; };
        const auto end = std::ranges::find_if_not(rest_, is_plain);
        text = rest_.substr(0, static_cast<std::size_t>(end - rest_.begin()));
        rest_.remove_prefix(text.size());
        return take('"');
    }

    bool is_null() {
        constexpr std::string_view kNull = "null";
        const bool is_null = !at_end() && rest_.starts_with(kNull);
        rest_.remove_prefix(is_null ? kNull.size() : 0);
        return is_null;
    }

    // The last of equal keys counts, as elsewhere.
    bool value(std::string_view key, TaskFacts& facts) {
        const bool is_number = key == "id" || key == "execution_id";
        if (std::string_view text; is_null() || string(text)) {
            if (key == "name") {
                facts.kind = text;
            } else if (key == "input") {
                facts.payload = text;
            } else if (key == "instance") {
                facts.instance = text.empty() ? OptionalText() : OptionalText(text);
            } else if (is_number) {
                (key == "id" ? facts.activity_id : facts.execution_id).reset();
            }
            return true;
        }
        std::int64_t number = 0;
        const char* begin = rest_.data();
        const auto [end, code] = std::from_chars(begin, begin + rest_.size(), number);
        const auto digits = static_cast<std::size_t>(end - begin);
        // A leading zero, and a longer number, are for the parser.
        const bool is_plain =
            code == std::errc() && number > 0 && rest_.front() != '0' && digits < rest_.size() &&
            (rest_[digits] == ',' || rest_[digits] == '}' || is_space(rest_[digits]));
        if (!is_plain || !is_number) {
            return false;
        }
        (key == "id" ? facts.activity_id : facts.execution_id) = number;
        rest_.remove_prefix(digits);
        return true;
    }

    std::string_view rest_;
};

// Fields of the item; empty if it has none. A field that is no string comes as JSON.
TaskFacts facts_of(const WorkItem& item) {
    TaskFacts facts{.payload = "", .attempt = item.attempt, .is_activity = true};
    if (PlainItem(item.work_item).read(facts)) {
        return facts;
    }
    facts = {.payload = "", .attempt = item.attempt, .is_activity = true};
    const Json parsed = Json::parse(item.work_item, nullptr, false);
    if (!parsed.is_object() || parsed.size() != 1 || !parsed.begin()->is_object()) {
        facts.payload = item.work_item;
        return facts;
    }
    const Json& fields = *parsed.begin();
    facts.kind = text_field(fields, "name");
    facts.payload = text_field(fields, "input");
    facts.execution_id = number_field(fields, "execution_id");
    facts.activity_id = number_field(fields, "id");
    if (std::string instance = text_field(fields, "instance"); !instance.empty()) {
        facts.instance = std::move(instance);
    }
    return facts;
}

class ActivityLease final : public HeldLease {
 public:
    ActivityLease(LeaseKeeper& keeper, std::shared_ptr<LeaseState> state, const WorkItem& item)
        : HeldLease(keeper, std::move(state), facts_of(item)) {}

    ~ActivityLease() override {
        end([this](Hub& hub, bool ignore_attempt) {
            hub.provider().abandon_work_item(token(), {}, ignore_attempt);
        });
    }

    Settlement settle(const Outcome& outcome) override {
        using Kind = WorkerEvent::Kind;
        const std::string& message = outcome.failure().message;
        switch (outcome.kind()) {
            case Outcome::Kind::kCompleted:
                ack(completion(outcome.text().value_or("null")));
                return {Kind::kCompleted};
            case Outcome::Kind::kFailed:
                ack(failure(outcome.failure()));
                return {Kind::kFailed, message};
            case Outcome::Kind::kRetry:
                abandon(outcome.delay(), false, message);
                return {Kind::kRetried, message};
            case Outcome::Kind::kReleased:
                abandon(outcome.delay(), true, message);
                return {Kind::kReleased, message};
            case Outcome::Kind::kDelayed:
                if (outcome.text()) {
                    refuse("a checkpoint");
                }
                abandon(outcome.delay(), true, message);
                return {Kind::kDelayed, message};
            case Outcome::Kind::kSuspended:
                refuse("a suspension");
            case Outcome::Kind::kSettled:
                break;
        }
        if (!settled()) {
            throw std::logic_error("the handler says settled, but the activity is not");
        }
        return {Kind::kCompleted};
    }

    std::optional<PortionPart> part(const Outcome& outcome) const override {
        switch (outcome.kind()) {
            case Outcome::Kind::kCompleted:
                return WorkOutcome{.lock_token = token(),
                                   .completion = completion(outcome.text().value_or("null"))};
            case Outcome::Kind::kFailed:
                return WorkOutcome{.lock_token = token(), .completion = failure(outcome.failure())};
            case Outcome::Kind::kRetry:
                return part_to_abandon(outcome, false);
            case Outcome::Kind::kReleased:
                return part_to_abandon(outcome, true);
            case Outcome::Kind::kDelayed:
                if (outcome.text()) {
                    refuse("a checkpoint");
                }
                return part_to_abandon(outcome, true);
            case Outcome::Kind::kSuspended:
            case Outcome::Kind::kSettled:
                break;
        }
        return std::nullopt;
    }

    PortionPart part_to_give_back(std::optional<Milliseconds> delay) const override {
        return WorkOutcome{
            .lock_token = token(), .abandon = true, .delay = delay, .ignore_attempt = true};
    }

    void give_back(std::optional<Milliseconds> delay, bool ignore_attempt) override {
        settle_by(
            [&](Hub& hub) { hub.provider().abandon_work_item(token(), delay, ignore_attempt); });
    }

    void complete_with(const std::function<void(Connection&)>& body, const OptionalText& result,
                       Where where) override {
        const Ack ack{.lock_token = token(), .completion = completion(result.value_or("null"))};
        settle_with(
            body, [&](Hub& hub) { hub.provider().ack_worker(ack, where); }, where);
    }

    void write(const std::function<void(Connection&)>& body, Where where) override {
        use([&](Hub& hub) {
            hub.connection().with_transaction(
                [&] {
                    // First, so that no work is done for a lease that is gone.
                    hub.provider().guard(token(), where);
                    body(hub.connection());
                },
                where);
        });
    }

    void progress(const TaskProgress&, Where) override { refuse("progress"); }
    SuspendedTask suspend(const NewSuspension&, Where) override { refuse("a suspension"); }
    CreatedWaitpoint create_waitpoint(std::string_view, Milliseconds, Where) override {
        refuse("a waitpoint");
    }
    std::vector<UpstreamResult> upstream(Where) override { return {}; }
    std::vector<Signal> signals(Where) override { return {}; }
    void confirm_cancel() override {}

 private:
    [[noreturn]] static void refuse(const char* what) {
        throw Error({.message = "an activity cannot have " + std::string(what),
                     .sqlstate = "0A000",
                     .hint = "Send a task instead of calling an activity."});
    }

    void ack(OptionalText completion) {
        const Ack ack{.lock_token = token(), .completion = std::move(completion)};
        settle_by([&](Hub& hub) { hub.provider().ack_worker(ack); });
    }

    WorkOutcome part_to_abandon(const Outcome& outcome, bool ignore_attempt) const {
        const std::string& reason = outcome.failure().message;
        return {.lock_token = token(),
                .abandon = true,
                .delay = outcome.delay(),
                .ignore_attempt = ignore_attempt,
                .reason = reason.empty() ? OptionalText() : OptionalText(clean_text(reason))};
    }

    void abandon(Milliseconds delay, bool ignore_attempt, const std::string& reason) {
        settle_by([&](Hub& hub) {
            hub.provider().abandon_work_item(
                token(), delay, ignore_attempt,
                reason.empty() ? OptionalText() : OptionalText(clean_text(reason)));
        });
    }

    // The message for the orchestration; none for an item that belongs to no instance.
    OptionalText message(const char* type, const char* key, Json value) const {
        if (!facts_.instance || !facts_.execution_id || !facts_.activity_id) {
            return std::nullopt;
        }
        const Json object = {{type,
                              {{"instance", *facts_.instance},
                               {"execution_id", *facts_.execution_id},
                               {"id", *facts_.activity_id},
                               {key, std::move(value)}}}};
        return object.dump(-1, ' ', false, Json::error_handler_t::replace);
    }

    OptionalText completion(const std::string& result) const {
        return message("ActivityCompleted", "result", result);
    }

    OptionalText failure(const TaskFailure& failure) const {
        return message("ActivityFailed", "details",
                       {{"Application",
                         {{"kind", "ActivityFailed"},
                          {"message", failure.message},
                          {"retryable", failure.failure_class == FailureClass::kTransient}}}});
    }
};

}  // namespace

std::unique_ptr<HeldLease> activity_lease(LeaseKeeper& keeper, std::shared_ptr<LeaseState> state,
                                          const WorkItem& item) {
    return std::make_unique<ActivityLease>(keeper, std::move(state), item);
}

}  // namespace belay
