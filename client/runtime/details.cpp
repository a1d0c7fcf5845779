// Errors of activities and orchestrations: from exceptions to the stored JSON, and back.
//
// May touch: nothing outside. Must not: change the stored form: histories of earlier versions, and
// of other clients, have it.
#include "details.hpp"

#include <nlohmann/json.hpp>

#include "belay/durable/failure.hpp"
#include "belay/durable/payload.hpp"
#include "event.hpp"

namespace belay {

using nlohmann::json;

// ---- Failures. ----

Failure::Failure(const std::string& message, bool retryable, std::string details)
    : std::runtime_error(message), retryable_(retryable), details_(std::move(details)) {}

ActivityFailed::ActivityFailed(std::string activity, const std::string& message, bool retryable,
                               std::string details)
    : Failure(message, retryable, std::move(details)), activity_(std::move(activity)) {}

SubOrchestrationFailed::SubOrchestrationFailed(std::string name, const std::string& message,
                                               bool retryable, bool cancelled, std::string details)
    : Failure(message, retryable, std::move(details)),
      name_(std::move(name)),
      cancelled_(cancelled) {}

Cancelled::Cancelled(std::string reason, std::string details)
    : Failure("canceled: " + reason, false, std::move(details)), reason_(std::move(reason)) {}

namespace detail {

namespace {

// None: these details are not those of a cancellation.
OptionalText reason_of_cancel(const json& application) {
    const auto kind = application.find("kind");
    if (kind == application.end() || !kind->is_object() || !kind->contains("Cancelled")) {
        return std::nullopt;
    }
    return kind->at("Cancelled").value("reason", "");
}

}  // namespace

std::shared_ptr<const Failure> failure_of(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const Failure& failure) {
        // Lives as long as the exception_ptr that the deleter holds.
        return {&failure, [error](const Failure*) {}};
    } catch (const std::exception& exception) {
        return std::make_shared<Failure>(exception.what(), false);
    } catch (...) {
        return std::make_shared<Failure>("an exception that is no std::exception", false);
    }
}

void throw_failure(CallKind kind, const std::string& name, const std::string& details) {
    const json parsed = json::parse(details, nullptr, false);
    std::string message = details;
    bool retryable = false;
    bool cancelled = false;
    if (parsed.is_object() && parsed.contains("Application")) {
        const json& application = parsed.at("Application");
        message = application.value("message", "");
        retryable = application.value("retryable", false);
        if (const auto reason = reason_of_cancel(application)) {
            cancelled = true;
            message = "canceled: " + *reason;
        }
    }
    if (kind == CallKind::kChild) {
        throw SubOrchestrationFailed(name, message, retryable, cancelled, details);
    }
    throw ActivityFailed(name, message, retryable, details);
}

void throw_end(const std::string& output, const std::string& details) {
    // The output alone does not show it: an exception of the code may have any text.
    const json parsed = json::parse(details, nullptr, false);
    bool retryable = false;
    if (parsed.is_object() && !parsed.empty() && parsed.front().is_object()) {
        if (parsed.contains("Application")) {
            if (auto reason = reason_of_cancel(parsed.at("Application"))) {
                throw Cancelled(std::move(*reason), details);
            }
        }
        retryable = parsed.front().value("retryable", false);
    }
    throw Failure(output, retryable, details);
}

}  // namespace detail

namespace engine {
namespace {

// Texts need not be UTF-8; what is not is replaced.
std::string dumped(const json& value) {
    return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

// The output is stored as it is, and the server takes nothing but UTF-8.
EndOfCode end_of(const json& details, std::string_view output) {
    return {dumped(details), belay::detail::clean_text(output)};
}

EndOfCode application(const char* kind, const std::string& message, bool retryable,
                      std::string_view output) {
    return end_of(
        {{"Application", {{"kind", kind}, {"message", message}, {"retryable", retryable}}}},
        output);
}

}  // namespace

EndOfCode end_of_exception(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const Cancelled& cancelled) {
        return end_of_cancel(cancelled.reason());
    } catch (const Failure& failure) {
        return application("OrchestrationFailed", failure.what(), failure.retryable(),
                           failure.what());
    } catch (const std::exception& exception) {
        return application("OrchestrationFailed", exception.what(), false, exception.what());
    } catch (...) {
        const std::string message = "an exception that is no std::exception";
        return application("Panicked", message, false, "orchestration panicked: " + message);
    }
}

EndOfCode end_of_cancel(const std::string& reason) {
    return end_of({{"Application",
                    {{"kind", {{"Cancelled", {{"reason", reason}}}}},
                     {"message", ""},
                     {"retryable", false}}}},
                  "canceled: " + reason);
}

EndOfCode end_of_nondeterminism(const std::string& resource, const std::string& text) {
    return end_of({{"Configuration",
                    {{"kind", "Nondeterminism"}, {"resource", resource}, {"message", text}}}},
                  // The text begins so.
                  text.starts_with("nondeterministic: ") ? text : "nondeterministic: " + text);
}

EndOfCode end_of_infrastructure(const std::string& operation, const std::string& message) {
    return end_of({{"Infrastructure",
                    {{"operation", operation}, {"message", message}, {"retryable", false}}}},
                  "infrastructure:" + operation + ": " + message);
}

EndOfCode end_of_poison(int attempts, int max_attempts, const std::string& message) {
    const std::string text = "deserialization failed: " + message;
    return end_of({{"Poison",
                    {{"attempt_count", attempts},
                     {"max_attempts", max_attempts},
                     {"message_type", {{"FailedDeserialization", {{"error", message}}}}},
                     {"message", text}}}},
                  text);
}

EndOfCode end_of_details(const std::string& details) {
    const json parsed = json::parse(details, nullptr, false);
    std::string output = details;
    if (parsed.is_object() && !parsed.empty() && parsed.begin().value().is_object()) {
        const std::string kind = parsed.begin().key();
        const json& fields = parsed.begin().value();
        output = fields.value("message", "");
        if (kind == "Infrastructure") {
            output = "infrastructure:" + fields.value("operation", "") + ": " + output;
        } else if (kind == "Configuration") {
            output = "nondeterministic: " + output;
        }
    }
    return {details, std::move(output)};
}

std::string activity_details(const std::string& message, bool retryable) {
    return application("ActivityFailed", message, retryable, {}).details;
}

bool ends_instance(std::string_view details) {
    const json parsed = json::parse(details, nullptr, false);
    return parsed.is_object() && (parsed.contains("Infrastructure") ||
                                  parsed.contains("Configuration") || parsed.contains("Poison"));
}

std::string details_of_end(const std::vector<std::string>& events) {
    // duroxide writes breadcrumbs behind the terminal event.
    for (auto text = events.rbegin(); text != events.rend(); ++text) {
        const Event event = parse_event(*text);
        if (event.kind == EventKind::kOrchestrationFailed) {
            return event.text.value_or("");
        }
        if (!is_breadcrumb(event.kind)) {
            break;
        }
    }
    return {};
}

}  // namespace engine
}  // namespace belay
