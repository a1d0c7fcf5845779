// Calls of turns: fetch, ack, abandon, renew.
#include "core/hash.hpp"
#include "core/token.hpp"
#include "made_up.hpp"

namespace belay::test::model {

namespace {

using std::to_string;
using When = Operation::When;

Pin made_pin(Scene* scene) {
    auto& random = scene->random;
    return {random.number(0, 2), random.number(0, 2),
            random.percent(90) ? random.number(0, 2) : random.number(999, 1001)};
}

// ---- Fetch ----

// Often the very pin of an execution.
int64_t made_bound(Scene* scene) {
    Pin pin = made_pin(scene);
    if (scene->random.percent(60)) {
        for (const Execution* execution : scene->hub.executions.seen_by(scene->client)) {
            pin = execution->pin && scene->random.percent(30) ? *execution->pin : pin;
        }
    }
    return pin.major * 1'000'000 + pin.minor * 1000 + std::min<int64_t>(pin.patch, 999);
}

std::optional<Call> fetch_orchestration_item(Scene* scene) {
    TurnFetch request;
    request.now = scene->now;
    request.lock_timeout = made_turn_timeout(scene);
    if (scene->random.percent(35)) {
        request.min_version = sometimes(scene, 60, made_bound(scene));
        request.max_version = sometimes(scene, 60, made_bound(scene));
    }
    request.slots = made_slots(scene);
    Call call;
    call.sql =
        "SELECT instance_id, orchestration_name, orchestration_version, "
        "execution_id, shown_elements(history), shown_elements(messages), "
        "lock_token, attempt_count, shown_values(kv_snapshot) FROM "
        "app.fetch_orchestration_item(" +
        to_string(request.lock_timeout) + ", " + sql(request.min_version) + ", " +
        sql(request.max_version) + ", " + sql(request.slots) + ", p_now_ms => " +
        to_string(request.now) + ")";
    call.apply = [request, client = scene->client](Hub* hub) {
        const auto turn = hub->fetch_turn(client, request);
        if (!turn) {
            return Expected{};
        }
        return Expected{{turn->instance, turn->name, turn->version, to_string(turn->execution),
                         shown_elements(turn->history), shown_elements(turn->messages), kAnything,
                         to_string(turn->attempts), shown_values(turn->snapshot)}};
    };
    call.learn = [memory = &scene->memory, client = scene->client](Hub* hub, const Answer& answer) {
        if (answer.rows.empty()) {
            return std::string();
        }
        const std::string instance = answer.rows[0].at(0).value_or("");
        const std::string token = answer.rows[0].at(6).value_or("");
        const auto parsed = core::decode_turn_token(token);
        if (!parsed || parsed->instance_key != core::instance_key(instance) ||
            parsed->incarnation != hub->incarnation) {
            return "not a token of the turn: " + token;
        }
        if (!note_token(memory, &memory->turn_tokens, token)) {
            return "the token was given before: " + token;
        }
        hub->learn_turn_token(client, instance, token);
        return std::string();
    };
    return call;
}

// ---- Ack ----

// The instance that the token is of, if it is of one.
Text instance_of(const Scene& scene, const Text& token) {
    for (const TurnLock* lock : scene.hub.locks.seen_by(scene.client)) {
        if (token && lock->token == *token) {
            return lock->instance;
        }
    }
    return std::nullopt;
}

// After the end of one execution mostly the next.
int64_t made_execution(Scene* scene, const Instance* row) {
    const int64_t current = row != nullptr ? row->execution : 1;
    if (row != nullptr && scene->hub.status_of(scene->client, *row) != "Running" &&
        scene->random.percent(50)) {
        return current + 1;
    }
    const int64_t dice = scene->random.number(1, 100);
    return dice <= 68 ? current : dice <= 80 ? current + 1 : scene->random.number(1, 3);
}

std::vector<KvChange> made_mutations(Scene* scene) {
    auto& random = scene->random;
    std::vector<KvChange> changes;
    for (int64_t n = random.number(0, 3); n > 0; --n) {
        KvChange change;
        const int64_t dice = random.number(1, 100);
        change.action = dice <= 65   ? KvChange::Action::kSet
                        : dice <= 90 ? KvChange::Action::kClear
                                     : KvChange::Action::kClearAll;
        change.key = made_key(scene);
        change.value = to_string(++scene->memory.serial);
        change.updated_at = sometimes(scene, 70, scene->now - random.number(0, 50));
        changes.push_back(change);
    }
    return changes;
}

Identity made_cancelled(Scene* scene, const TurnAck& ack) {
    auto& random = scene->random;
    const auto items = scene->hub.items.seen_by(scene->client);
    std::optional<Activity> what;
    if (!ack.activities.empty() && random.percent(40)) {
        what = random.pick(ack.activities);
    } else if (!items.empty() && random.percent(80)) {
        what = random.pick(items)->what;
    }
    if (!what) {
        return {made_instance(scene), random.number(1, 2), random.number(0, 3)};
    }
    return {what->instance.value_or("none"), what->execution.value_or(1),
            what->activity.value_or(0)};
}

// An instance that another client is just deleting.
Text made_dying_parent(Scene* scene) {
    for (const auto& [id, cell] : scene->hub.instances.cells) {
        if (cell.taken_away && cell.held_from(scene->client) && scene->random.percent(75)) {
            return id;
        }
    }
    return std::nullopt;
}

void make_up_metadata(Scene* scene, const Instance* row, TurnAck* ack) {
    auto& random = scene->random;
    const Text dying = made_dying_parent(scene);
    if (dying || random.percent(row == nullptr ? 80 : 40)) {
        ack->name = sometimes(scene, 95, "acked" + to_string(random.number(0, 3)));
        ack->version = sometimes(scene, 95, "3.0." + to_string(random.number(0, 3)));
        ack->parent = dying ? dying : sometimes(scene, 50, known_instance(scene));
    }
    static const std::vector<std::string> kStatuses = {"Running", "Completed", "Failed",
                                                       "ContinuedAsNew", "ContinuedAsNew"};
    ack->status = sometimes(scene, 60, random.pick(kStatuses));
    ack->output = sometimes(scene, 30, to_string(++scene->memory.serial));
    ack->pin = sometimes(scene, 30, made_pin(scene));
    if (random.percent(12)) {
        ack->custom_status =
            StatusChange{sometimes(scene, 70, "said " + to_string(random.number(1, 9)))};
    }
    if (random.percent(15)) {
        ack->kv = made_mutations(scene);
    }
}

TurnAck made_ack(Scene* scene) {
    auto& random = scene->random;
    TurnAck ack;
    ack.token = made_turn_token(scene);
    ack.now = scene->now;
    const std::string instance = instance_of(*scene, ack.token).value_or("i0");
    const Instance* row = scene->hub.instances.find(instance, scene->client);
    ack.execution = made_execution(scene, row);
    if (random.percent(10)) {
        return ack;  // an empty one
    }
    ack.events = made_events(scene, instance, ack.execution);
    if (scene->hub.items.count() < kFull) {
        for (int64_t n = random.number(0, 2); n > 0; --n) {
            Activity what = made_activity(scene);
            what.work_item = item_text(scene, what);
            ack.activities.push_back(what);
        }
    }
    if (scene->hub.messages.count() < kFull) {
        for (int64_t n = random.number(0, 2); n > 0; --n) {
            ack.messages.push_back(made_mail(scene, sometimes(scene, 40, instance)));
        }
    }
    for (int64_t n = random.percent(70) ? 0 : random.number(1, 2); n > 0; --n) {
        ack.cancelled.push_back(made_cancelled(scene, ack));
    }
    make_up_metadata(scene, row, &ack);
    if (ack.status == "ContinuedAsNew" && random.percent(60)) {
        ack.messages.push_back(made_continuation(scene, instance));
    }
    return ack;
}

std::string kv_mutations_json(const std::vector<KvChange>& changes) {
    std::vector<std::string> elements;
    for (const KvChange& change : changes) {
        JsonObject element;
        switch (change.action) {
            case KvChange::Action::kSet:
                element.text("action", "set").text("key", change.key).text("value", change.value);
                element.some("last_updated_at_ms", change.updated_at);
                break;
            case KvChange::Action::kClear:
                element.text("action", "clear_key").text("key", change.key);
                break;
            case KvChange::Action::kClearAll:
                element.text("action", "clear_all");
                break;
        }
        elements.push_back(element.printed());
    }
    return "[" + listed(elements) + "]";
}

// What is absent may as well be null.
std::string metadata_sql(Scene* scene, const TurnAck& ack) {
    JsonObject metadata;
    const auto add = [&](const char* name, const Text& value) {
        if (value || scene->random.percent(10)) {
            metadata.text(name, value);
        }
    };
    add("orchestration_name", ack.name);
    add("orchestration_version", ack.version);
    add("parent_instance_id", ack.parent);
    add("status", ack.status);
    add("output", ack.output);
    if (ack.pin) {
        metadata.raw("pinned_duroxide_version", JsonObject()
                                                    .number("major", ack.pin->major)
                                                    .number("minor", ack.pin->minor)
                                                    .number("patch", ack.pin->patch)
                                                    .printed());
    }
    if (ack.custom_status && ack.custom_status->value) {
        metadata.text("custom_status_value", ack.custom_status->value);
        metadata.some("custom_status_action", sometimes(scene, 70, std::string("set")));
    } else if (ack.custom_status) {
        metadata.text("custom_status_action", "clear");
    }
    if (ack.kv) {
        metadata.raw("kv_mutations", kv_mutations_json(*ack.kv));
    }
    const std::string text = metadata.printed();
    return text == "{}" && scene->random.percent(40) ? "NULL" : "'" + text + "'";
}

std::string ack_sql(Scene* scene, TurnAck* ack) {
    std::vector<std::string> activities;
    for (const Activity& what : ack->activities) {
        activities.push_back(element(scene, what.work_item));
    }
    std::vector<std::string> messages;
    for (const Mail& mail : ack->messages) {
        messages.push_back(element(scene, mail.text));
    }
    std::vector<std::string> cancelled;
    for (const Identity& identity : ack->cancelled) {
        cancelled.push_back(JsonObject()
                                .text("instance", identity.instance)
                                .number("execution_id", identity.execution)
                                .number("activity_id", identity.activity)
                                .printed());
    }
    const auto array = [scene](const std::vector<std::string>& elements) {
        return elements.empty() && scene->random.percent(30) ? "NULL"
                                                             : "'[" + listed(elements) + "]'";
    };
    return "SELECT app.ack_orchestration_item(" + sql(ack->token) + ", " +
           to_string(ack->execution) + ", " + delta_sql(scene, &ack->events) + ", " +
           array(activities) + ", " + array(messages) + ", " + metadata_sql(scene, *ack) +
           (cancelled.empty() ? "" : ", " + array(cancelled)) + ", p_now_ms => " +
           to_string(ack->now) + ")";
}

std::optional<Call> ack_orchestration_item(Scene* scene) {
    if (!has_turns(scene)) {
        return std::nullopt;
    }
    TurnAck ack = made_ack(scene);
    const std::string text = ack_sql(scene, &ack);
    return Call{text, [ack, client = scene->client](Hub* hub) {
                    hub->ack_turn(client, ack);
                    return kVoid;
                }};
}

// ---- Abandon, renew ----

std::optional<Call> abandon_orchestration_item(Scene* scene) {
    if (!has_turns(scene)) {
        return std::nullopt;
    }
    const Text token = made_turn_token(scene);
    const auto delay = made_delay(scene);
    const bool ignore = scene->random.percent(30);
    return Call{"SELECT app.abandon_orchestration_item(" + sql(token) + ", " + sql(delay) + ", " +
                    (ignore ? "true" : "false") + ", p_now_ms => " + to_string(scene->now) + ")",
                [token, delay, ignore, client = scene->client, now = scene->now](Hub* hub) {
                    return Expected{{hub->abandon_turn(client, token, now, delay, ignore)}};
                }};
}

std::optional<Call> renew_orchestration_item_lock(Scene* scene) {
    if (!has_turns(scene)) {
        return std::nullopt;
    }
    const Text token = made_turn_token(scene);
    const int64_t extend = made_turn_timeout(scene);
    return Call{"SELECT app.renew_orchestration_item_lock(" + sql(token) + ", " +
                    to_string(extend) + ", p_now_ms => " + to_string(scene->now) + ")",
                [token, extend, client = scene->client, now = scene->now](Hub* hub) {
                    hub->renew_turn(client, token, now, extend);
                    return kVoid;
                }};
}

// ---- Bad calls ----

#define ACK "SELECT app.ack_orchestration_item($T, "

std::optional<Call> bad_turn_call(Scene* scene) {
    static constexpr BadCall kBad[] = {
        {"SELECT app.fetch_orchestration_item(0, p_now_ms => $N)", "out_of_range",
         "p_lock_timeout_ms"},
        {"SELECT app.fetch_orchestration_item(100, p_now_ms => -1)", "out_of_range", "p_now_ms"},
        {"SELECT app.abandon_orchestration_item($T, -1, p_now_ms => $N)", "out_of_range",
         "p_delay_ms"},
        {"SELECT app.renew_orchestration_item_lock($T, 0, p_now_ms => $N)", "out_of_range",
         "p_extend_ms"},
        {ACK "0, '[]', '[]', '[]', '{}', p_now_ms => $N)", "out_of_range", "p_execution_id"},
        {ACK "1, '[{\"event_id\":0,\"event_data\":\"{}\"}]', '[]', '[]', '{}', p_now_ms => $N)",
         "out_of_range", "p_history_delta[0].event_id"},
        {ACK "1, '[{\"event_id\":1,\"event_data\":{}}]', '[]', '[]', '{}', p_now_ms => $N)",
         "wrong_type", "p_history_delta[0].event_data"},
        {ACK "1, '[{\"event_id\":1,\"event_data\":\"[]\"}]', '[]', '[]', '{}', p_now_ms => $N)",
         "not_an_object", "p_history_delta[0].event_data"},
        {ACK "1, '[]', '[{\"QueueMessage\":{\"instance\":\"i1\"}}]', '[]', '{}', p_now_ms => $N)",
         "wrong_kind", "p_worker_items[0]"},
        {ACK
         "1, '[]', '[]', '[{\"ActivityExecute\":{\"instance\":\"i1\"}}]', '{}', p_now_ms => $N)",
         "wrong_kind", "p_orchestrator_items[0]"},
        {ACK "1, '[]', '[]', '[{\"Pinged\":{\"instance\":\"i1\"}}, {\"Pinged\":{}}]', '{}', "
             "p_now_ms => $N)",
         "missing_field", "p_orchestrator_items[1].Pinged.instance"},
        {ACK "1, '[]', '[]', '[]', '{\"status\":\"Cancelled\"}', p_now_ms => $N)", "bad_value",
         "p_metadata.status"},
        {ACK "1, '[]', '[]', '[]', '{\"custom_status_action\":\"drop\"}', p_now_ms => $N)",
         "bad_value", "p_metadata.custom_status_action"},
        {ACK
         "1, '[]', '[]', '[]', '{\"kv_mutations\":[{\"action\":\"clear_key\"}]}', p_now_ms => $N)",
         "missing_field", "p_metadata.kv_mutations[0].key"},
    };
    return refused_call(scene, kBad);
}

#undef ACK

constexpr Operation kOperations[] = {
    {"fetch_orchestration_item", 44, When::kAlways, fetch_orchestration_item},
    {"ack_orchestration_item", 70, When::kAlways, ack_orchestration_item},
    {"abandon_orchestration_item", 7, When::kAlways, abandon_orchestration_item},
    {"renew_orchestration_item_lock", 5, When::kAlways, renew_orchestration_item_lock},
    {"bad_turn_call", 3, When::kAlways, bad_turn_call},
};

}  // namespace

std::span<const Operation> turn_operations() {
    return kOperations;
}

}  // namespace belay::test::model
