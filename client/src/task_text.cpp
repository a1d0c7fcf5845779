#include "task_text.hpp"

#include "rows.hpp"

namespace belay {

using nlohmann::json;

void append_json(std::string& object, const char* key, const OptionalText& text,
                 const Where& where) {
    if (!text) {
        return;
    }
    if (!json::accept(*text)) {
        throw Error({.message = std::string(key) + " is no JSON", .sqlstate = "22P02"}, where);
    }
    object.pop_back();
    object.append(",\"").append(key).append("\":").append(*text).append("}");
}

std::string task_text(const NewTask& task, const Where& where) {
    json object = {{"lane", task.lane},
                   {"kind", task.kind},
                   {"priority", task.priority},
                   {"delay_ms", count_of(task.delay)},
                   {"capabilities", task.capabilities}};
    put(object, "task_id", task.task_id);
    put(object, "available_at_ms", task.available_at_ms);
    put(object, "deadline_ms", task.deadline_ms);
    put(object, "deadline_in_ms", count_of(task.deadline_in));
    put(object, "dedup_key", task.dedup_key);
    put(object, "dedup_window_ms", count_of(task.dedup_window));
    std::string text = dumped(object, where);
    append_json(text, "payload", task.payload, where);
    append_json(text, "policy", task.policy ? OptionalText(task.policy->json()) : std::nullopt,
                where);
    append_json(text, "tags", task.tags, where);
    return text;
}

// ---- Policies and settings. ----

Backoff Backoff::fixed(Milliseconds delay, double jitter) {
    return {json({{"kind", "fixed"}, {"delay_ms", delay.count()}, {"jitter", jitter}}).dump()};
}

Backoff Backoff::exponential(Milliseconds initial, Milliseconds most, double multiplier,
                             double jitter) {
    return {json({{"kind", "exponential"},
                  {"initial_ms", initial.count()},
                  {"max_ms", most.count()},
                  {"multiplier", multiplier},
                  {"jitter", jitter}})
                .dump()};
}

std::string TaskPolicy::json() const {
    nlohmann::json object = nlohmann::json::object();
    put(object, "max_attempts", max_attempts);
    put(object, "retryable", retryable);
    put(object, "attempt_timeout_ms", count_of(attempt_timeout));
    put(object, "on_lease_expiry", on_lease_expiry);
    put(object, "max_reclaims", max_reclaims);
    put(object, "max_replays", max_replays);
    put(object, "max_signals", max_signals);
    if (backoff) {
        object["backoff"] = nlohmann::json::parse(backoff->text);
    }
    return object.dump();
}

std::string QueueSettings::json() const {
    nlohmann::json object = nlohmann::json::object();
    put(object, "paused", paused);
    put(object, "retention_ms", count_of(retention));
    put(object, "concurrency", concurrency);
    put(object, "rate_per_s", rate_per_s);
    put(object, "burst", burst);
    if (policy) {
        object["policy"] = nlohmann::json::parse(policy->json());
    }
    return object.dump();
}

}  // namespace belay
