// What an orchestration's code asks of its Context: checked here, and passed to its Instance.
//
// May touch: the instance of the running turn. Must not: read a clock, draw a random number, or do
// anything else that a replay would do differently; history and turn supply such values.
#include "belay/durable/context.hpp"

#include <array>
#include <stdexcept>

namespace belay {
namespace {

constexpr std::size_t kMaxRecorded = 64 * 1024;

}  // namespace

TimePoint detail::time_after(TimePoint time, Milliseconds delay) {
    return delay > TimePoint::max() - time ? TimePoint::max() : time + delay;
}

// ---- CancelShield. ----

CancelShield::CancelShield(detail::PromiseBase& promise) : promise_(promise) {
    ++promise_.shields;
}

CancelShield::~CancelShield() {
    --promise_.shields;
}

// ---- Context. ----

Context::Context(detail::Instance& instance) : instance_(&instance), serial_(instance.serial()) {}

detail::Instance& Context::instance() const {
    // Not dereferenced before it is known to live: the instance may have left memory.
    detail::Instance* const current = detail::current_instance();
    if (current == nullptr || current != instance_ || current->serial() != serial_) {
        throw std::logic_error("a Context is used by the coroutines of its instance only");
    }
    if (current->recording) {
        throw std::logic_error("the function of Context::record does not use the context");
    }
    return *current;
}

const std::string& Context::instance_id() const {
    return instance().instance_id();
}

std::int64_t Context::execution_id() const {
    return instance().execution_id();
}

const std::string& Context::name() const {
    return instance().name();
}

const std::string& Context::version() const {
    return instance().version();
}

std::int64_t Context::history_size() const {
    return instance().history_size();
}

detail::CallState* Context::ask(detail::CallKind kind, std::string name, std::string input,
                                CallOptions options) const {
    detail::CallRequest request;
    request.kind = kind;
    request.name = std::move(name);
    request.input = std::move(input);
    request.options = std::move(options);
    return instance().ask(std::move(request));
}

Call<std::string> Context::call_text(std::string activity, std::string input,
                                     CallOptions options) const {
    detail::CallState* const call =
        ask(detail::CallKind::kActivity, std::move(activity), std::move(input), std::move(options));
    call->raw = true;
    return Call<std::string>(call);
}

void Context::start_text(std::string name, std::string instance_id, std::string input) const {
    instance().start_detached(std::move(name), std::move(instance_id), std::move(input), {});
}

Call<void> Context::sleep(Milliseconds delay) const {
    return sleep_until(detail::time_after(now(), delay));
}

Call<void> Context::sleep_until(TimePoint time) const {
    detail::CallRequest request;
    request.kind = detail::CallKind::kTimer;
    request.fire_at_ms = time.time_since_epoch().count();
    return Call<void>(instance().ask(std::move(request)));
}

ContinueAsNew Context::next_execution(std::string input, OptionalText version) const {
    instance();
    return ContinueAsNew({std::move(input), std::move(version)});
}

TimePoint Context::now() const {
    return TimePoint(Milliseconds(instance().now_ms()));
}

std::uint64_t Context::random() const {
    return instance().random();
}

std::string Context::uuid() const {
    const std::array<std::uint64_t, 2> halves{
        (random() & ~std::uint64_t{0xf000}) | 0x4000,
        (random() & ~(std::uint64_t{3} << 62)) | (std::uint64_t{2} << 62)};
    std::string text;
    for (int digit = 0; digit < 32; ++digit) {
        if (digit == 8 || digit == 12 || digit == 16 || digit == 20) {
            text += '-';
        }
        const std::uint64_t half = halves[static_cast<std::size_t>(digit / 16)];
        text += "0123456789abcdef"[half >> (60 - 4 * (digit % 16)) & 15];
    }
    return text;
}

std::optional<std::string> Context::recorded() const {
    return instance().recorded();
}

void Context::store_recorded(const std::string& text) const {
    // A failure is stored in its place, so that a replay finds one, too.
    if (text.size() > kMaxRecorded) {
        store_failure("a recorded value has " + std::to_string(text.size()) +
                      " bytes; the limit is " + std::to_string(kMaxRecorded));
    }
    instance().record(text, false);
}

void Context::store_failure(const std::string& text) const {
    const std::string cleaned = detail::clean_text(text);
    const std::string kept(detail::cut_text(cleaned, kMaxRecorded));
    instance().record(kept, true);
    throw Failure(kept, false);
}

Context::Recording::Recording(const Context& context) : instance_(context.instance()) {
    instance_.recording = true;
}

Context::Recording::~Recording() {
    instance_.recording = false;
}

int Context::version(std::string_view change, int current) const {
    return instance().change_version(change, current);
}

bool Context::replaying() const {
    return instance().replaying();
}

void Context::set_status(std::string status) const {
    instance().set_status(std::move(status));
}

void Context::clear_status() const {
    instance().set_status(std::nullopt);
}

void Context::set_text(std::string key, std::string value) const {
    instance().set_value(std::move(key), std::move(value));
}

std::optional<std::string> Context::get_text(std::string_view key) const {
    return instance().value(key);
}

void Context::clear(std::string key) const {
    instance().clear_value(std::move(key));
}

void Context::clear_all() const {
    instance().clear_values();
}

bool Context::cancelled() const {
    return instance().cancel_requested();
}

const std::string& Context::cancel_reason() const {
    return instance().cancel_reason();
}

CancelShield Context::shield() const {
    instance();
    detail::PromiseBase* const promise = detail::current_promise();
    if (promise == nullptr) {
        throw std::logic_error("a shield is held by a durable coroutine");
    }
    return CancelShield(*promise);
}

void Context::log(std::string text) const {
    instance().log(std::move(text));
}

}  // namespace belay
