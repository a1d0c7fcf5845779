// Calls about dead letters of both queues.
#include "made_up.hpp"

namespace belay::test::model {

namespace {

using std::to_string;
using When = Operation::When;

const std::vector<std::string> kQueues = {"worker", "orchestrator"};

// Mostly nothing is to be done then.
bool has_none(Scene* scene) {
    return scene->hub.dead_letters.seen_by(scene->client).empty() && scene->random.percent(80);
}

int64_t made_dead_letter(Scene* scene) {
    const auto known = scene->hub.dead_letters.seen_by(scene->client);
    return !known.empty() && scene->random.percent(85)
               ? scene->random.pick(known)->id
               : scene->random.number(0, scene->hub.last.dead_letter + 1);
}

std::optional<Call> list_dead_letters(Scene* scene) {
    auto& random = scene->random;
    const Text queue = sometimes(scene, 40, random.pick(kQueues));
    const Text instance = sometimes(scene, 40, made_instance(scene));
    const auto after = sometimes(scene, 50, random.number(0, scene->hub.last.dead_letter));
    const int64_t limit = random.number(1, 10);
    return Call{
        "SELECT id, queue, source_id, instance_id, shown_item(work_item), attempt_count, reason "
        "FROM app.list_dead_letters(" +
            sql(queue) + ", NULL, " + sql(instance) + ", " + sql(after) + ", " + to_string(limit) +
            ")",
        [queue, instance, after, limit, client = scene->client](Hub* hub) {
            Expected rows;
            for (const DeadLetter* dead : hub->dead_letters.seen_by(client)) {
                if ((!queue || dead->queue == *queue) &&
                    (!instance || dead->what.instance == instance) &&
                    dead->id > after.value_or(0) && static_cast<int64_t>(rows.size()) < limit) {
                    rows.push_back({to_string(dead->id), dead->queue, to_string(dead->source_id),
                                    dead->what.instance, dead->what.work_item,
                                    to_string(dead->attempts), dead->reason});
                }
            }
            return rows;
        }};
}

std::optional<Call> redrive_dead_letter(Scene* scene) {
    if (has_none(scene)) {
        return std::nullopt;
    }
    const int64_t id = made_dead_letter(scene);
    return Call{"SELECT app.redrive_dead_letter(" + to_string(id) + ")",
                [id, client = scene->client](Hub* hub) {
                    return Expected{{to_string(hub->redrive(client, id))}};
                }};
}

std::optional<Call> redrive_dead_letters(Scene* scene) {
    if (has_none(scene)) {
        return std::nullopt;
    }
    auto& random = scene->random;
    DeadLetterFilter filter;
    JsonObject text;
    std::string limit;
    if (random.percent(40)) {
        filter.ids = {made_dead_letter(scene), made_dead_letter(scene)};
        text.raw("ids",
                 "[" + to_string(filter.ids->at(0)) + ", " + to_string(filter.ids->at(1)) + "]");
    } else {
        if (random.percent(30)) {
            filter.instance = made_instance(scene);
            text.text("instance_id", filter.instance);
        }
        if (random.percent(20)) {
            filter.queue = random.pick(kQueues);
            text.text("queue", filter.queue);
        }
        if (random.percent(20)) {
            filter.reason = random.percent(70) ? "max_attempts" : "orphan";
            text.text("reason", filter.reason);
        }
        if (random.percent(20)) {
            filter.max_id = made_dead_letter(scene);
            text.number("max_id", *filter.max_id);
        }
        if (random.percent(50)) {
            filter.limit = random.number(1, 4);
            limit = ", p_limit => " + to_string(filter.limit);
        }
    }
    return Call{"SELECT app.redrive_dead_letters('" + text.printed() + "'" + limit + ") ->> 'done'",
                [filter, client = scene->client](Hub* hub) {
                    return Expected{{to_string(hub->redrive_many(client, filter))}};
                }};
}

std::optional<Call> discard_dead_letter(Scene* scene) {
    if (has_none(scene)) {
        return std::nullopt;
    }
    const int64_t id = made_dead_letter(scene);
    return Call{"SELECT app.discard_dead_letter(" + to_string(id) + ")",
                [id, client = scene->client](Hub* hub) {
                    hub->discard(client, id);
                    return kVoid;
                }};
}

std::optional<Call> bad_dead_letter_call(Scene* scene) {
    static constexpr BadCall kBad[] = {
        {"SELECT app.redrive_dead_letters('{\"id\":1}')", "unknown_key", "p_filter"},
        {"SELECT app.redrive_dead_letters('{}', p_limit => 0)", "out_of_range", "p_limit"},
    };
    return refused_call(scene, kBad);
}

constexpr Operation kOperations[] = {
    {"list_dead_letters", 3, When::kAlways, list_dead_letters},
    {"redrive_dead_letter", 4, When::kAlways, redrive_dead_letter},
    {"redrive_dead_letters", 3, When::kAlways, redrive_dead_letters},
    {"discard_dead_letter", 3, When::kAlways, discard_dead_letter},
    {"bad_dead_letter_call", 1, When::kAlways, bad_dead_letter_call},
};

}  // namespace

std::span<const Operation> dead_letter_operations() {
    return kOperations;
}

}  // namespace belay::test::model
