// Suspensions and signals.
#include "belay/suspensions.hpp"

#include "rows.hpp"
#include "signal_list.hpp"

namespace belay {
namespace {

Json signal_json(const NewSignal& signal) {
    Json object = {{"name", signal.name}};
    put(object, "source", signal.source);
    put(object, "signal_id", signal.id);
    put(object, "idempotency_key", signal.idempotency_key);
    put(object, "payload", signal.payload);
    return object;
}

std::string hex_of(std::string_view bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string hex;
    for (const char byte : bytes) {
        const auto value = static_cast<unsigned char>(byte);
        hex += kDigits[value >> 4];
        hex += kDigits[value & 15];
    }
    return hex;
}

void read_delivered(Reader& from, DeliveredSignal& to) {
    std::string result;
    from >> result >> to.effect >> to.state;
    to.duplicate = result == "duplicate";
}

}  // namespace

// ---- Signals in JSON. ----

std::optional<Json> json_member(const Json& object, const char* key) {
    const auto found = object.find(key);
    return found == object.end() || found->is_null() ? std::nullopt : std::optional<Json>(*found);
}

OptionalText text_member(const Json& object, const char* key) {
    const auto found = object.find(key);
    return found == object.end() || !found->is_string() ? std::nullopt
                                                        : OptionalText(found->get<std::string>());
}

SignalList signals_of(const Json& array) {
    SignalList list;
    for (const Json& part : array) {
        if (part.contains("truncated")) {
            list.cut_after = part.value("after", std::int64_t{0});
            break;
        }
        const auto waitpoint_id = text_member(part, "waitpoint_id");
        list.signals.push_back(
            {.key = text_member(part, "key").value_or(""),
             .name = text_member(part, "name").value_or(""),
             .payload = json_member(part, "payload"),
             .source = text_member(part, "source"),
             .id = text_member(part, "signal_id").value_or(""),
             .waitpoint_id = waitpoint_id ? Uuid::parse(*waitpoint_id) : std::nullopt,
             .accepted_at = from_ms(part.value("accepted_at_ms", std::int64_t{0}))});
    }
    return list;
}

std::vector<Signal> signals_behind(Hub& hub, const Uuid& task_id, std::int64_t after, Where where) {
    // Each may be as large as a body.
    constexpr int kPage = 10;
    std::vector<Signal> all;
    while (true) {
        auto page = hub.signals().list(task_id, after, kPage, where);
        const bool last = page.size() < static_cast<std::size_t>(kPage);
        for (auto& signal : page) {
            after = signal.number;
            all.push_back(std::move(signal));
        }
        if (last) {
            return all;
        }
    }
}

// ---- Conditions. ----

Condition Condition::single(std::string_view key, const std::vector<std::string>& names) {
    Json object = {{"key", key}};
    if (!names.empty()) {
        object["names"] = names;
    }
    return {{{"single", std::move(object)}}};
}

Condition Condition::all(const std::vector<Condition>& conditions) {
    Json array = Json::array();
    for (const auto& condition : conditions) {
        array.push_back(condition.json);
    }
    return {{{"all", std::move(array)}}};
}

Condition Condition::count(int n, CountOf of, const std::vector<std::string>& keys) {
    Json object = {{"n", n}, {"of", text_of(of)}};
    if (!keys.empty()) {
        object["keys"] = keys;
    }
    return {{{"count", std::move(object)}}};
}

Condition Condition::operator_only() {
    return {"operator_only"};
}

Condition Condition::timeout_only() {
    return {"timeout_only"};
}

// ---- Calls. ----

DeliveredSignal Signals::deliver(const Uuid& task_id, const Uuid& waitpoint_id,
                                 std::string_view token, const NewSignal& signal, Where where) {
    const bool is_taken_once = signal.id || signal.idempotency_key;
    return first_row<DeliveredSignal>(
               hub().call(is_taken_once ? Effect::kRepeatable : Effect::kWrite, kAll,
                          "deliver_signal",
                          {task_id, waitpoint_id, token, signal_json(signal), hub().now()}, where),
               read_delivered)
        .value();
}

DeliveredSignal Signals::approve(const Uuid& task_id, const Uuid& waitpoint_id,
                                 std::string_view name, std::string_view idempotency_key,
                                 Where where) {
    return first_row<DeliveredSignal>(
               hub().call(Effect::kRepeatable, kAll, "approve_task",
                          {task_id, waitpoint_id, name, idempotency_key, hub().now()}, where),
               read_delivered)
        .value();
}

ResumedTask Signals::resume(const Uuid& task_id, std::string_view trigger, Milliseconds delay,
                            Where where) {
    return first_row<ResumedTask>(
               // Repeated, it could end the next suspension.
               hub().call(Effect::kWrite, kAll, "resume_task",
                          {task_id, trigger, count_of(delay), hub().now()}, where),
               [](Reader& from, ResumedTask& to) { from >> to.state >> to.available_at; })
        .value();
}

std::vector<WaitpointInfo> Signals::waitpoints(const Uuid& task_id,
                                               const std::optional<Uuid>& after, int limit,
                                               Where where) {
    return all_rows<WaitpointInfo>(
        hub().call(Effect::kRepeatable, kAll, "list_waitpoints", {task_id, after, limit}, where),
        [](Reader& from, WaitpointInfo& to) {
            from >> to.id >> to.key >> to.state >> to.suspension_id >> to.kid >> to.token_hash >>
                to.signals >> to.created_at >> to.expires_at >> to.closed_at;
        });
}

std::vector<Signal> Signals::list(const Uuid& task_id, std::int64_t after, int limit, Where where) {
    return all_rows<Signal>(
        hub().call(Effect::kRepeatable, kAll, "list_signals", {task_id, after, limit}, where),
        [](Reader& from, Signal& to) {
            OptionalText key;
            from >> to.number >> to.id >> to.waitpoint_id >> key >> to.name >> to.source >>
                to.payload >> to.accepted_at;
            to.key = key.value_or("");
        });
}

std::string Signals::seed_key(std::string_view kid, std::string_view secret, Where where) {
    return hub()
        .connection()
        .call(Effect::kRepeatable,
              "SELECT " + hub().schema() + ".seed_waitpoint_key($1, pg_catalog.decode($2, 'hex'))",
              {kid, hex_of(secret)}, where)
        .get<std::string>(0, 0);
}

std::string Signals::rotate_key(std::string_view kid, std::string_view secret, Milliseconds grace,
                                Where where) {
    return hub()
        .connection()
        .call(Effect::kRepeatable,
              "SELECT " + hub().schema() +
                  ".rotate_waitpoint_key($1, pg_catalog.decode($2, 'hex'), $3)",
              {kid, hex_of(secret), count_of(grace)}, where)
        .get<std::string>(0, 0);
}

}  // namespace belay
