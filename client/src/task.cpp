// What a handler sees of its lease.
#include "belay/task.hpp"

#include "lease.hpp"

namespace belay {

struct Task::Parsed {
    std::optional<Json> payload;
    std::optional<Json> headers;
    bool has_checkpoint = false;
    std::optional<Json> checkpoint;
};

Task::Task(HeldLease& lease) : lease_(lease), parsed_(std::make_unique<Parsed>()) {}

Task::~Task() = default;

const std::string& Task::hub() const {
    return lease_.hub();
}

const Uuid& Task::id() const {
    return lease_.facts().id;
}

const std::string& Task::queue() const {
    return lease_.facts().queue;
}

const std::string& Task::kind() const {
    return lease_.facts().kind;
}

const Json& Task::payload() const {
    if (!parsed_->payload) {
        Json value = Json::parse(lease_.facts().payload, nullptr, false);
        parsed_->payload = value.is_discarded() ? Json(lease_.facts().payload) : std::move(value);
    }
    return *parsed_->payload;
}

const std::string& Task::payload_text() const {
    return lease_.facts().payload;
}

const Json& Task::headers() const {
    if (!parsed_->headers) {
        parsed_->headers = parse_json(lease_.facts().headers);
    }
    return *parsed_->headers;
}

int Task::priority() const {
    return lease_.facts().priority;
}

int Task::attempt() const {
    return lease_.facts().attempt;
}

const std::optional<Json>& Task::checkpoint() const {
    if (!parsed_->has_checkpoint) {
        if (const auto& text = lease_.facts().checkpoint) {
            parsed_->checkpoint = parse_json(*text);
        }
        parsed_->has_checkpoint = true;
    }
    return parsed_->checkpoint;
}

OptionalTime Task::deadline() const {
    return lease_.facts().deadline;
}

std::int64_t Task::epoch() const {
    return lease_.facts().epoch;
}

const std::optional<Uuid>& Task::flow_id() const {
    return lease_.facts().flow_id;
}

bool Task::is_activity() const {
    return lease_.facts().is_activity;
}

const OptionalText& Task::instance() const {
    return lease_.facts().instance;
}

OptionalNumber Task::execution_id() const {
    return lease_.facts().execution_id;
}

OptionalNumber Task::activity_id() const {
    return lease_.facts().activity_id;
}

std::vector<UpstreamResult> Task::upstream(Where where) {
    return lease_.upstream(where);
}

std::optional<Json> Task::upstream_result(std::string_view name, Where where) {
    for (const auto& upstream : lease_.upstream(where)) {
        if (upstream.pass_as == name || upstream.key == name) {
            return upstream.result;
        }
    }
    return std::nullopt;
}

std::vector<Signal> Task::signals(Where where) {
    return lease_.signals(where);
}

std::stop_token Task::stop_token() const {
    return lease_.stop_token();
}

StopReason Task::stop_reason() const {
    return lease_.stop_reason();
}

void Task::progress(std::optional<double> percent, const OptionalText& message, Where where) {
    lease_.progress({.percent = percent, .message = message}, where);
}

void Task::set_checkpoint(const Json& checkpoint, Where where) {
    lease_.progress({.checkpoint = checkpoint.dump()}, where);
}

void Task::write(const std::function<void(Connection&)>& body, Where where) {
    lease_.write(body, where);
}

void Task::complete_with(const std::function<void(Connection&)>& body,
                         const std::optional<Json>& result, Where where) {
    lease_.complete_with(body, result ? OptionalText(result->dump()) : std::nullopt, where);
}

void Task::settle(Outcome outcome) {
    lease_.settle_in_portion(std::move(outcome));
}

SuspendedTask Task::suspend(const NewSuspension& suspension, Where where) {
    return lease_.suspend(suspension, where);
}

CreatedWaitpoint Task::create_waitpoint(std::string_view key, Milliseconds expires_in,
                                        Where where) {
    return lease_.create_waitpoint(key, expires_in, where);
}

}  // namespace belay
