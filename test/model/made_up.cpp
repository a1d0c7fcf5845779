#include "made_up.hpp"

#include "core/token.hpp"

namespace belay::test::model {

using std::to_string;

namespace {

constexpr std::size_t kMostTokens = 300;
constexpr int64_t kInstancesAtATime = 5;

const std::vector<Text> kWrongTokens = {std::nullopt,         "",      "x",
                                        std::string(58, 'w'), "tAAAA", std::string(2000, '-')};

}  // namespace

// ---- SQL ----

std::string sql(const Text& text) {
    return text ? "'" + *text + "'" : "NULL";
}

std::string sql(std::optional<int64_t> number) {
    return number ? to_string(*number) : "NULL";
}

std::string sql(const std::optional<std::vector<Text>>& list) {
    if (!list) {
        return "NULL";
    }
    std::vector<std::string> words;
    for (const auto& text : *list) {
        words.push_back(sql(text));
    }
    return "ARRAY[" + listed(words) + "]::text[]";
}

std::string sql(const std::optional<std::vector<int>>& list) {
    if (!list) {
        return "NULL";
    }
    std::vector<std::string> words;
    for (const int number : *list) {
        words.push_back(to_string(number));
    }
    return "ARRAY[" + listed(words) + "]::int[]";
}

Text text_of(std::optional<int64_t> number) {
    return number ? Text(to_string(*number)) : std::nullopt;
}

Text truth(bool value) {
    return value ? "t" : "f";
}

std::string listed(const std::vector<std::string>& texts) {
    std::string list;
    for (const auto& text : texts) {
        list += (list.empty() ? "" : ", ") + text;
    }
    return list;
}

// ---- JSON ----

std::string json(const Text& text) {
    if (!text) {
        return "null";
    }
    std::string out = "\"";
    for (const char c : *text) {
        out += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    }
    return out + "\"";
}

JsonObject& JsonObject::raw(const std::string& name, const std::string& value) {
    members_.emplace_back(name, value);
    return *this;
}

JsonObject& JsonObject::some(const std::string& name, const Text& value) {
    return value ? text(name, value) : *this;
}

JsonObject& JsonObject::some(const std::string& name, std::optional<int64_t> value) {
    return value ? number(name, *value) : *this;
}

std::string JsonObject::print(const char* comma, const char* colon) const {
    auto members = members_;
    std::sort(members.begin(), members.end(), [](const auto& a, const auto& b) {
        return std::pair(a.first.size(), a.first) < std::pair(b.first.size(), b.first);
    });
    std::string out;
    for (const auto& [name, value] : members) {
        out += (out.empty() ? "" : comma) + json(name) + colon + value;
    }
    return "{" + out + "}";
}

// An object is stored as PostgreSQL prints it, if it can hold it at all.
std::string element(Scene* scene, const std::string& text) {
    const bool printed = text.find("\": ") != std::string::npos;
    const bool fits = text.find(kUnfit) == std::string::npos;
    return printed && fits && scene->random.percent(60) ? text : json(text);
}

std::string shown_element(const std::string& text) {
    return text.find(kUnfit) == std::string::npos ? text : "as a string: " + text;
}

std::string shown_elements(const std::vector<std::string>& texts) {
    std::string shown;
    for (const auto& text : texts) {
        shown += shown_element(text) + "\n";
    }
    return shown;
}

std::string shown_values(const std::vector<Value>& values) {
    std::string shown;
    for (const Value& value : values) {
        shown += value.key + " = " + value.value.value_or("") + " at " +
                 to_string(value.updated_at) + "\n";
    }
    return shown;
}

// ---- Made-up values ----

int64_t made_timeout(Scene* scene) {
    return scene->random.percent(80) ? scene->random.number(20, 1500)
                                     : scene->random.number(1500, 9000);
}

int64_t made_turn_timeout(Scene* scene) {
    return scene->random.percent(40) ? scene->random.number(20, 1500)
                                     : scene->random.number(1500, 20000);
}

std::optional<int64_t> made_delay(Scene* scene) {
    return sometimes(scene, 45,
                     scene->random.percent(10) ? int64_t{0} : scene->random.number(1, 3000));
}

std::optional<std::vector<int>> made_slots(Scene* scene) {
    auto& random = scene->random;
    if (random.percent(75)) {
        return std::nullopt;
    }
    std::vector<int> slots;
    for (int64_t n = random.number(0, scene->hub.slot_count); n > 0; --n) {
        slots.push_back(static_cast<int>(random.number(-1, scene->hub.slot_count)));
    }
    return slots;
}

std::string made_instance(Scene* scene) {
    auto& random = scene->random;
    auto& first = scene->memory.first_instance;
    first += random.number(1, 1000) <= 15 ? 1 : 0;
    // Some messages come long before the start of their instance.
    const int64_t ahead = random.percent(8) ? kInstancesAtATime : 0;
    return "i" + to_string(first + ahead + random.number(0, kInstancesAtATime - 1));
}

std::string known_instance(Scene* scene) {
    const auto started = scene->hub.instances.seen_by(scene->client);
    if (!started.empty() && scene->random.percent(60)) {
        return scene->random.pick(started)->id;
    }
    const auto events = scene->hub.history.seen_by(scene->client);
    if (!events.empty() && scene->random.percent(30)) {
        return scene->random.pick(events)->instance;
    }
    return made_instance(scene);
}

// ---- Activities ----

Activity made_activity(Scene* scene) {
    auto& random = scene->random;
    Activity what;
    what.instance = sometimes(scene, 75, made_instance(scene));
    what.execution = sometimes(scene, 90, random.number(1, 2));
    what.activity = sometimes(scene, 90, random.number(0, 3));
    // Some sessions have one row only, so that they are soon without any.
    what.session = sometimes(
        scene, 40,
        random.percent(80) ? random.pick(kSessions) : "x" + to_string(scene->memory.serial % 50));
    what.tag = sometimes(scene, 45, random.pick(kTags));
    what.name = "act" + to_string(random.number(0, 9));
    return what;
}

std::string item_text(Scene* scene, const Activity& what) {
    JsonObject body;
    body.some("id", what.activity)
        .some("tag", what.tag)
        .text("name", what.name)
        .text("input", to_string(++scene->memory.serial))
        .some("instance", what.instance)
        .some("session_id", what.session)
        .some("execution_id", what.execution);
    return JsonObject().raw("ActivityExecute", body.printed()).printed();
}

// ---- Messages ----

namespace {

Mail made_mail_of(Scene* scene, const std::string& kind, const std::string& instance,
                  JsonObject* body) {
    const bool packed = scene->random.percent(30);
    JsonObject item;
    item.raw(kind, packed ? body->packed() : body->printed());
    Mail mail;
    mail.instance = instance;
    mail.kind = kind;
    mail.text = packed ? item.packed() : item.printed();
    return mail;
}

Mail made_start(Scene* scene, const std::string& kind, const std::string& instance) {
    auto& random = scene->random;
    const std::string name = "orch" + to_string(random.number(0, 3));
    const Text version = sometimes(scene, 60, "1.0." + to_string(random.number(0, 3)));
    Text parent;
    JsonObject body;
    body.text("instance", instance)
        .text("orchestration", name)
        .text("input", to_string(++scene->memory.serial));
    if (version || random.percent(50)) {
        body.text("version", version);
    }
    if (kind == "ContinueAsNew") {
        body.raw("carry_forward_events", "[]");
    } else {
        parent = sometimes(scene, 50, known_instance(scene));
        body.number("execution_id", 1).text("parent_instance", parent);
    }
    Mail mail = made_mail_of(scene, kind, instance, &body);
    mail.parent = parent;
    mail.name = name;
    mail.version = version;
    return mail;
}

// Around now, exactly now, long ago, never, or no time at all.
int64_t made_fire_at(Scene* scene) {
    auto& random = scene->random;
    if (random.percent(85)) {
        return scene->now + random.number(-500, 2500);
    }
    const std::vector<int64_t> others = {scene->now, scene->now, 1, 0, -5, kNever};
    return random.pick(others);
}

Mail made_timer(Scene* scene, const std::string& instance) {
    const int64_t fire_at = made_fire_at(scene);
    JsonObject body;
    body.text("instance", instance)
        .number("execution_id", 1)
        .number("id", ++scene->memory.serial)
        .number("fire_at_ms", fire_at);
    Mail mail = made_mail_of(scene, "TimerFired", instance, &body);
    mail.fire_at = fire_at;
    return mail;
}

}  // namespace

Mail made_completion(Scene* scene) {
    const std::string instance = made_instance(scene);
    const bool failed = scene->random.percent(20);
    JsonObject body;
    body.text("instance", instance)
        .number("execution_id", 1)
        .number("id", 2)
        .text(failed ? "details" : "result", to_string(++scene->memory.serial));
    return made_mail_of(scene, failed ? "ActivityFailed" : "ActivityCompleted", instance, &body);
}

Mail made_continuation(Scene* scene, const std::string& instance) {
    return made_start(scene, "ContinueAsNew", instance);
}

Mail made_mail(Scene* scene, const Text& to) {
    auto& random = scene->random;
    const std::string instance = to ? *to : made_instance(scene);
    static const std::vector<std::string> kKinds = {"StartOrchestration",
                                                    "StartOrchestration",
                                                    "StartOrchestration",
                                                    "StartOrchestration",
                                                    "ContinueAsNew",
                                                    "QueueMessage",
                                                    "QueueMessage",
                                                    "QueueMessage",
                                                    "QueueMessage",
                                                    "CancelInstance",
                                                    "TimerFired",
                                                    "TimerFired",
                                                    "TimerFired",
                                                    "ExternalRaised",
                                                    "ExternalRaised",
                                                    "SubOrchCompleted",
                                                    "SubOrchFailed",
                                                    "ActivityCompleted",
                                                    "Pinged"};
    const std::string kind = random.pick(kKinds);
    if (kind == "StartOrchestration" || kind == "ContinueAsNew") {
        return made_start(scene, kind, instance);
    }
    if (kind == "TimerFired") {
        return made_timer(scene, instance);
    }
    const bool for_parent = kind == "SubOrchCompleted" || kind == "SubOrchFailed";
    JsonObject body;
    body.text(for_parent ? "parent_instance" : "instance", instance);
    if (for_parent) {
        body.number("parent_id", ++scene->memory.serial).number("parent_execution_id", 1);
    } else if (kind == "ExternalRaised" && random.percent(15)) {
        body.raw("data", kUnfit);
    } else {
        body.text("data", to_string(++scene->memory.serial));
    }
    return made_mail_of(scene, kind, instance, &body);
}

// ---- Events ----

std::string made_key(Scene* scene) {
    static const std::vector<std::string> kKeys = {"k0", "k1", "a key/with.dots", "\u00e9"};
    return scene->random.pick(kKeys);
}

namespace {

Event made_started(Scene* scene, JsonObject* body) {
    auto& random = scene->random;
    Event event;
    event.type = "OrchestrationStarted";
    if (random.percent(85)) {
        event.started_name = "started" + to_string(random.number(0, 3));
        event.started_version = sometimes(scene, 60, "2.0." + to_string(random.number(0, 3)));
        body->text("name", event.started_name);
    }
    if (event.started_version || random.percent(50)) {
        body->text("version", event.started_version);
    }
    if (random.percent(60)) {
        event.carried = random.number(0, 3);
        const std::vector<std::string> carried(static_cast<std::size_t>(event.carried), "{}");
        body->raw("carry_forward_events", "[" + listed(carried) + "]");
    }
    return event;
}

Event made_status_updated(Scene* scene, JsonObject* body) {
    Event event;
    event.type = "CustomStatusUpdated";
    event.status = StatusChange{sometimes(scene, 75, to_string(++scene->memory.serial))};
    body->text("status", event.status->value);
    return event;
}

Event made_value_set(Scene* scene, JsonObject* body) {
    auto& random = scene->random;
    Event event;
    event.type = "KeyValueSet";
    const std::string value = random.percent(10) ? "" : to_string(++scene->memory.serial);
    const auto updated_at = sometimes(scene, 80, scene->now - random.number(0, 50));
    event.kv = KvChange{KvChange::Action::kSet, made_key(scene), value, updated_at.value_or(0)};
    body->text("key", event.kv->key).text("value", value);
    body->some("last_updated_at_ms", updated_at);
    return event;
}

Event made_value_cleared(Scene* scene, JsonObject* body) {
    Event event;
    event.kv = KvChange{};
    if (scene->random.percent(35)) {
        event.type = "KeyValuesCleared";
        event.kv->action = KvChange::Action::kClearAll;
    } else {
        event.type = "KeyValueCleared";
        event.kv->action = KvChange::Action::kClear;
        event.kv->key = made_key(scene);
        body->text("key", event.kv->key);
    }
    return event;
}

// The first one is often an OrchestrationStarted.
Event made_event(Scene* scene, int64_t id) {
    auto& random = scene->random;
    JsonObject body;
    body.number("event_id", id).text("input", to_string(++scene->memory.serial));
    Event event;
    const int64_t dice = random.number(1, 100);
    if (dice <= 14 || (id == 1 && random.percent(40))) {
        event = made_started(scene, &body);
    } else if (dice <= 26) {
        event = made_status_updated(scene, &body);
    } else if (dice <= 54) {
        event = made_value_set(scene, &body);
    } else if (dice <= 76) {
        event = made_value_cleared(scene, &body);
    } else if (dice <= 90) {
        event.type = "ActivityScheduled";
    } else if (dice <= 95) {
        event.type = "Odd";
        body.raw("odd", kUnfit);
    }  // else it has no type
    event.id = id;
    if (!event.type.empty()) {
        body.text("type", event.type);
    }
    event.text = random.percent(50) ? body.printed() : body.packed();
    return event;
}

}  // namespace

std::vector<Event> made_events(Scene* scene, const std::string& instance, int64_t execution) {
    auto& random = scene->random;
    int64_t last = 0;
    for (const StoredEvent* stored : scene->hub.history_of(scene->client, instance, execution)) {
        last = std::max(last, stored->event.id);
    }
    std::vector<Event> events;
    const int64_t count = random.percent(30) ? 0 : random.number(1, 4);
    while (static_cast<int64_t>(events.size()) < count) {
        last += random.percent(90) ? 1 : random.number(2, 50);
        events.push_back(made_event(scene, last));
    }
    if (!events.empty() && random.percent(8)) {
        events.push_back(made_event(scene, random.number(1, last)));
    }
    return events;
}

std::string delta_sql(Scene* scene, std::vector<Event>* events) {
    if (events->empty() && scene->random.percent(30)) {
        return "NULL";
    }
    std::vector<std::string> elements;
    for (Event& event : *events) {
        JsonObject element;
        element.number("event_id", event.id).text("event_data", event.text);
        if (event.type.empty() && scene->random.percent(70)) {
            event.type = "Said";
            element.text("event_type", event.type);
        } else if (scene->random.percent(70)) {
            element.text("event_type", event.type);
        }
        elements.push_back(element.printed());
    }
    return "'[" + listed(elements) + "]'";
}

// ---- Tokens ----

namespace {

struct Tokens {
    std::vector<std::string> live;
    std::vector<std::string> all;
};

Tokens tokens_of(const Scene& scene, const auto& table) {
    Tokens tokens;
    for (const auto* row : table.seen_by(scene.client)) {
        if (!row->token.empty()) {
            tokens.all.push_back(row->token);
            if (scene.hub.is_live(*row, scene.now)) {
                tokens.live.push_back(row->token);
            }
        }
    }
    return tokens;
}

Text made_token_of(Scene* scene, const auto& table, const std::deque<std::string>& own,
                   const std::deque<std::string>& of_others) {
    auto& random = scene->random;
    const Tokens tokens = tokens_of(*scene, table);
    if (random.percent(85)) {
        if (!tokens.live.empty() && random.percent(90)) {
            return random.pick(tokens.live);
        }
        if (!tokens.all.empty()) {
            return random.pick(tokens.all);
        }
    }
    if (!own.empty() && random.percent(65)) {
        return random.pick(own);
    }
    if (!of_others.empty() && random.percent(25)) {
        return random.pick(of_others);
    }
    return random.pick(kWrongTokens);
}

}  // namespace

bool has_leases(Scene* scene) {
    return !tokens_of(*scene, scene->hub.items).live.empty() || scene->random.percent(20);
}

bool has_turns(Scene* scene) {
    return !tokens_of(*scene, scene->hub.locks).live.empty() || scene->random.percent(20);
}

Text made_token(Scene* scene) {
    return made_token_of(scene, scene->hub.items, scene->memory.tokens, scene->memory.turn_tokens);
}

Text made_turn_token(Scene* scene) {
    const Text token =
        made_token_of(scene, scene->hub.locks, scene->memory.turn_tokens, scene->memory.tokens);
    auto forged = token ? core::decode_turn_token(*token) : std::nullopt;
    if (!forged || scene->random.percent(97)) {
        return token;
    }
    forged->nonce_lo ^= 1;
    std::string text(core::kTurnTokenChars, ' ');
    core::encode(*forged, text.data());
    return text;
}

bool note_token(Scene::Memory* memory, std::deque<std::string>* known, const std::string& token) {
    known->push_back(token);
    if (known->size() > kMostTokens) {
        known->pop_front();
    }
    return memory->all_tokens.insert(token).second;
}

// ---- Bad calls ----

Call refused_call(Scene* scene, std::span<const BadCall> calls) {
    const BadCall bad = scene->random.pick(calls);
    std::string text = bad.sql;
    const auto put = [&text](const char* mark, const std::string& value) {
        if (const auto at = text.find(mark); at != std::string::npos) {
            text.replace(at, 2, value);
        }
    };
    put("$N", to_string(scene->now));
    put("$W", sql(made_token(scene)));
    put("$T", sql(made_turn_token(scene)));
    return Call{text, [bad](Hub*) -> Expected {
                    throw Refused{"QB006", "", bad.code_detail,
                                  "\"path\":\"" + std::string(bad.path) + "\""};
                }};
}

}  // namespace belay::test::model
