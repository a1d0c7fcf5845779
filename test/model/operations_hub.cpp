// Calls about the hub as a whole.
#include "made_up.hpp"

namespace belay::test::model {

namespace {

using std::to_string;
using When = Operation::When;

// The worker queue, the orchestrator queue, or both.
const std::vector<std::string> kQueues = {"'worker'", "'orchestrator'", ""};

Call set_paused(const std::string& function, const std::string& queue, bool paused) {
    return Call{"SELECT app." + function + "(" + queue + ")", [queue, paused](Hub* hub) {
                    if (queue != "'orchestrator'") {
                        hub->worker_paused = paused;
                    }
                    if (queue != "'worker'") {
                        hub->orchestrator_paused = paused;
                    }
                    return kVoid;
                }};
}

std::optional<Call> pause_hub(Scene* scene) {
    return set_paused("pause_hub", scene->random.pick(kQueues), true);
}

std::optional<Call> resume_hub(Scene* scene) {
    if (!scene->hub.worker_paused && !scene->hub.orchestrator_paused) {
        return std::nullopt;
    }
    return set_paused("resume_hub", scene->random.pick(kQueues), false);
}

Call set_option(const std::string& option, const Text& value, void (*change)(Hub*, const Text&)) {
    return Call{"SELECT belay.set_hub_option('app', '" + option + "', " + sql(value) + ")",
                [value, change](Hub* hub) {
                    change(hub, value);
                    return kVoid;
                }};
}

std::optional<Call> set_max_attempts(Scene* scene) {
    return set_option("max_attempts", sometimes(scene, 50, to_string(scene->random.number(1, 5))),
                      [](Hub* hub, const Text& value) {
                          hub->max_attempts =
                              value ? std::optional(std::stoi(*value)) : kMaxAttempts;
                      });
}

std::optional<Call> set_batch_messages(Scene* scene) {
    return set_option("batch_messages", sometimes(scene, 50, to_string(scene->random.number(1, 4))),
                      [](Hub* hub, const Text& value) {
                          hub->batch_messages = value ? std::stoi(*value) : 10000;
                      });
}

std::optional<Call> set_dead_letter_fails_activity(Scene* scene) {
    return set_option(
        "dead_letter_fails_activity", scene->random.percent(70) ? "true" : "false",
        [](Hub* hub, const Text& value) { hub->dead_letter_fails_activity = value == "true"; });
}

// At times off, or the default.
Text made_retention(Scene* scene) {
    return sometimes(scene, 75, to_string(scene->random.number(0, 2500)));
}

std::optional<Call> set_dead_letter_retention(Scene* scene) {
    return set_option(
        "dead_letter_retention", made_retention(scene), [](Hub* hub, const Text& value) {
            hub->dead_letter_retention = value ? std::optional(std::stoll(*value)) : std::nullopt;
        });
}

std::optional<Call> set_instance_retention(Scene* scene) {
    return set_option("instance_retention", made_retention(scene), [](Hub* hub, const Text& value) {
        hub->instance_retention = value ? std::optional(std::stoll(*value)) : std::nullopt;
    });
}

std::optional<Call> set_orphan_retention(Scene* scene) {
    return set_option("orphan_retention", made_retention(scene), [](Hub* hub, const Text& value) {
        hub->orphan_retention = value ? std::stoll(*value) : kDay;
    });
}

std::optional<Call> set_slot_count(Scene* scene) {
    const std::vector<int32_t> counts = {1, 1, 2, 3, 4, 7};
    const int32_t count = scene->random.pick(counts);
    return Call{"SELECT belay.set_hub_option('app', 'slot_count', '" + to_string(count) + "')",
                [count, client = scene->client](Hub* hub) {
                    hub->set_slot_count(client, count, server_now());
                    return kVoid;
                }};
}

std::optional<Call> new_incarnation(Scene*) {
    return Call{"SELECT belay.new_incarnation('app')", [](Hub* hub) {
                    hub->begin_incarnation();
                    return Expected{{"1"}};
                }};
}

std::optional<Call> vacuum(Scene*) {
    return Call{
        "VACUUM app.worker_queue, app.sessions, app.dead_letters, app.orchestrator_queue, "
        "app.instance_locks, app.instances, app.executions, app.history_turns, app.kv_store, "
        "app.kv_delta",
        [](Hub*) { return Expected{}; }};
}

constexpr Operation kOperations[] = {
    {"pause_hub", 2, When::kOwnTransaction, pause_hub},
    {"resume_hub", 20, When::kOwnTransaction, resume_hub},
    {"set_max_attempts", 2, When::kOwnTransaction, set_max_attempts},
    {"set_batch_messages", 2, When::kOwnTransaction, set_batch_messages},
    {"set_dead_letter_fails_activity", 2, When::kOwnTransaction, set_dead_letter_fails_activity},
    {"set_dead_letter_retention", 2, When::kOwnTransaction, set_dead_letter_retention},
    {"set_instance_retention", 4, When::kOwnTransaction, set_instance_retention},
    {"set_orphan_retention", 2, When::kOwnTransaction, set_orphan_retention},
    {"set_slot_count", 5, When::kAlone, set_slot_count},
    {"new_incarnation", 8, When::kAlone, new_incarnation},  // waits for writers of events
    {"vacuum", 2, When::kOwnTransaction, vacuum},
};

}  // namespace

std::span<const Operation> hub_operations() {
    return kOperations;
}

}  // namespace belay::test::model
