// Calls that read and append what instances have: history, custom status, key/value state.
#include "made_up.hpp"

namespace belay::test::model {

namespace {

using std::to_string;
using When = Operation::When;

// ---- History ----

std::optional<Call> append_history(Scene* scene) {
    const std::string instance = known_instance(scene);
    const int64_t execution = scene->random.number(1, 3);
    auto events = made_events(scene, instance, execution);
    const std::string delta = delta_sql(scene, &events);
    return Call{"SELECT app.append_history(" + sql(Text(instance)) + ", " + to_string(execution) +
                    ", " + delta + ")",
                [instance, execution, events, client = scene->client](Hub* hub) {
                    hub->append_history(client, instance, execution, events);
                    return kVoid;
                }};
}

std::optional<Call> fetch_history(Scene* scene) {
    const std::string instance = known_instance(scene);
    const auto execution = sometimes(scene, 40, scene->random.number(1, 3));
    return Call{execution ? "SELECT * FROM app.fetch_history_with_execution(" +
                                sql(Text(instance)) + ", " + to_string(*execution) + ")"
                          : "SELECT * FROM app.fetch_history(" + sql(Text(instance)) + ")",
                [instance, execution, client = scene->client](Hub* hub) {
                    const int64_t chosen =
                        execution ? *execution
                                  : hub->latest_execution(client, instance).value_or(1);
                    Expected rows;
                    for (const StoredEvent* stored : hub->history_of(client, instance, chosen)) {
                        rows.push_back({stored->event.text});
                    }
                    return rows;
                }};
}

std::optional<Call> read_history(Scene* scene) {
    auto& random = scene->random;
    const std::string instance = known_instance(scene);
    const auto execution = sometimes(scene, 40, random.number(1, 3));
    const auto after = sometimes(scene, 40, random.number(0, 8));
    const auto limit = sometimes(scene, 40, random.number(1, 4));
    return Call{
        "SELECT execution_id, event_id, event_type, event_data, shown_time(created_at) FROM "
        "app.read_history(" +
            sql(Text(instance)) + ", " + sql(execution) + ", " + sql(after) + ", " + sql(limit) +
            ")",
        [=, client = scene->client](Hub* hub) {
            const int64_t chosen =
                execution ? *execution : hub->latest_execution(client, instance).value_or(1);
            Expected rows;
            for (const StoredEvent* stored : hub->history_of(client, instance, chosen)) {
                if (stored->event.id > after.value_or(0) &&
                    (!limit || static_cast<int64_t>(rows.size()) < *limit)) {
                    rows.push_back({to_string(chosen), to_string(stored->event.id),
                                    stored->event.type, stored->event.text,
                                    shown_time(stored->created_at)});
                }
            }
            return rows;
        }};
}

// ---- Custom status, key/value state ----

std::optional<Call> get_custom_status(Scene* scene) {
    const std::string instance = known_instance(scene);
    const int64_t seen = scene->random.number(-1, 4);
    return Call{
        "SELECT * FROM app.get_custom_status(" + sql(Text(instance)) + ", " + to_string(seen) + ")",
        [instance, seen, client = scene->client](Hub* hub) {
            const Instance* row = hub->instances.find(instance, client);
            if (row == nullptr || row->custom_status_version <= seen) {
                return Expected{};
            }
            return Expected{{row->custom_status, to_string(row->custom_status_version)}};
        }};
}

std::optional<Call> get_kv_value(Scene* scene) {
    const std::string instance = known_instance(scene);
    const std::string key = made_key(scene);
    return Call{
        "SELECT * FROM app.get_kv_value(" + sql(Text(instance)) + ", " + sql(Text(key)) + ")",
        [instance, key, client = scene->client](Hub* hub) {
            for (const Value& value : hub->values_of(client, instance)) {
                if (value.key == key) {
                    return Expected{{value.value, truth(true)}};
                }
            }
            return Expected{{std::nullopt, truth(false)}};
        }};
}

std::optional<Call> get_kv_all_values(Scene* scene) {
    const std::string instance = known_instance(scene);
    return Call{"SELECT * FROM app.get_kv_all_values(" + sql(Text(instance)) +
                    ") ORDER BY key COLLATE \"C\"",
                [instance, client = scene->client](Hub* hub) {
                    Expected rows;
                    for (const Value& value : hub->values_of(client, instance)) {
                        rows.push_back({value.key, value.value});
                    }
                    return rows;
                }};
}

// ---- Bad calls ----

std::optional<Call> bad_state_call(Scene* scene) {
    static constexpr BadCall kBad[] = {
        {"SELECT app.append_history('i1', 0, '[]')", "out_of_range", "p_execution_id"},
        {"SELECT app.append_history('i1', 1, '[{\"event_id\":-1,\"event_data\":\"{}\"}]')",
         "out_of_range", "p_events[0].event_id"},
        {"SELECT app.append_history('i1', 1, '[{\"event_id\":1,\"event_data\":\"{\"}]')",
         "not_json", "p_events[0].event_data"},
        {"SELECT app.read_history('i1', 1, NULL, 0)", "out_of_range", "p_limit"},
    };
    return refused_call(scene, kBad);
}

constexpr Operation kOperations[] = {
    {"append_history", 4, When::kAlways, append_history},
    {"fetch_history", 3, When::kAlways, fetch_history},
    {"read_history", 3, When::kAlways, read_history},
    {"get_custom_status", 2, When::kAlways, get_custom_status},
    {"get_kv_value", 3, When::kAlways, get_kv_value},
    {"get_kv_all_values", 2, When::kAlways, get_kv_all_values},
    {"bad_state_call", 1, When::kAlways, bad_state_call},
};

}  // namespace

std::span<const Operation> state_operations() {
    return kOperations;
}

}  // namespace belay::test::model
