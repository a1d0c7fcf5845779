#include "operations.hpp"

#include <algorithm>
#include <chrono>

#include "core/token.hpp"

namespace belay::test::model {

namespace {

using std::to_string;
using When = Operation::When;

constexpr std::size_t kFull = 220;  // so many rows are enough
constexpr std::size_t kMostTokens = 300;

const std::vector<std::string> kInstances = {"i0", "i1", "i2", "i3", "i4", "i5"};
const std::vector<std::string> kSessions = {"s0", "s1", "s2", "s3"};
const std::vector<std::string> kTags = {"a", "b", "c"};
const std::vector<std::string> kOwners = {"w0", "w1", "w2"};

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
    std::string words;
    for (const auto& text : *list) {
        words += (words.empty() ? "" : ", ") + sql(text);
    }
    return "ARRAY[" + words + "]::text[]";
}
std::string sql(const std::optional<std::vector<int>>& list) {
    if (!list) {
        return "NULL";
    }
    std::string words;
    for (const int number : *list) {
        words += (words.empty() ? "" : ", ") + to_string(number);
    }
    return "ARRAY[" + words + "]::int[]";
}
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

Text text_of(std::optional<int64_t> number) {
    return number ? Text(to_string(*number)) : std::nullopt;
}
Text truth(bool value) {
    return value ? "t" : "f";
}

// ---- Made-up values ----

template <typename T>
std::optional<T> sometimes(Scene* scene, int chance, const T& value) {
    return scene->random.percent(chance) ? std::optional(value) : std::nullopt;
}

int64_t made_timeout(Scene* scene) {
    return scene->random.percent(80) ? scene->random.number(20, 1500)
                                     : scene->random.number(1500, 9000);
}

Activity made_activity(Scene* scene) {
    auto& random = scene->random;
    Activity what;
    what.instance = sometimes(scene, 75, random.pick(kInstances));
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

// The item's text, with these fields. PostgreSQL prints the object in the same way, so that it does
// not matter whether it is sent as an object or as a string.
std::string item_text(Scene* scene, const Activity& what) {
    std::string text = "{\"ActivityExecute\": {";
    if (what.activity) {
        text += "\"id\": " + to_string(*what.activity) + ", ";
    }
    if (what.tag) {
        text += "\"tag\": " + json(what.tag) + ", ";
    }
    text += "\"name\": " + json(what.name) + ", ";
    text += "\"input\": \"" + to_string(++scene->memory.serial) + "\"";
    if (what.instance) {
        text += ", \"instance\": " + json(what.instance);
    }
    if (what.session) {
        text += ", \"session_id\": " + json(what.session);
    }
    if (what.execution) {
        text += ", \"execution_id\": " + to_string(*what.execution);
    }
    return text + "}}";
}

// Splits an activity into the fields that stand in the item and those that are arguments. What is
// in both is another value in the item: the argument wins.
Activity split(Scene* scene, Activity* what) {
    auto& random = scene->random;
    Activity args;
    Activity item = *what;
    if (random.percent(50)) {
        args.instance = what->instance;
        item.instance = sometimes(scene, 30, std::string("other"));
        what->instance = args.instance ? args.instance : item.instance;
    }
    if (random.percent(30)) {
        args.execution = what->execution;
        args.activity = what->activity;
        item.execution = item.activity = std::nullopt;
    }
    if (random.percent(30)) {
        args.session = what->session;
        item.session = std::nullopt;
    }
    if (random.percent(30)) {
        args.tag = what->tag;
        item.tag = args.tag ? sometimes(scene, 30, random.pick(kTags)) : std::nullopt;
    }
    what->work_item = item_text(scene, item);
    return args;
}

bool is_token_of_row(const Item& item) {
    return !item.token.empty();
}

// A token: mostly of a row that is leased now, at times an old one or none at all.
Text made_token(Scene* scene) {
    auto& random = scene->random;
    if (random.percent(82)) {
        std::vector<std::string> live;
        std::vector<std::string> all;
        for (const Item* item : scene->hub.items.seen_by(scene->client)) {
            if (is_token_of_row(*item)) {
                all.push_back(item->token);
                if (scene->hub.is_live(*item, scene->now)) {
                    live.push_back(item->token);
                }
            }
        }
        if (!live.empty() && random.percent(85)) {
            return random.pick(live);
        }
        if (!all.empty()) {
            return random.pick(all);
        }
    }
    if (!scene->memory.tokens.empty() && random.percent(70)) {
        return random.pick(scene->memory.tokens);
    }
    const std::vector<Text> wrong = {std::nullopt,         "",      "x",
                                     std::string(58, 'w'), "tAAAA", std::string(2000, '-')};
    return random.pick(wrong);
}

std::optional<Completion> made_completion(Scene* scene) {
    auto& random = scene->random;
    if (random.percent(60)) {
        return std::nullopt;
    }
    const std::string instance = random.pick(kInstances);
    const std::string kind = random.percent(80) ? "ActivityCompleted" : "ActivityFailed";
    return Completion{instance, "{\"" + kind + "\":{\"instance\":\"" + instance +
                                    "\",\"execution_id\":1,\"id\":2,\"" +
                                    (kind == "ActivityCompleted" ? "result" : "details") + "\":\"" +
                                    to_string(++scene->memory.serial) + "\"}}"};
}

Fetch made_fetch(Scene* scene) {
    auto& random = scene->random;
    Fetch request;
    request.now = scene->now;
    request.lock_timeout = made_timeout(scene);
    request.owner = sometimes(scene, 80, random.pick(kOwners));
    request.session_timeout =
        sometimes(scene, 60, random.percent(80) ? made_timeout(scene) : random.number(9000, 60000));
    const std::vector<std::string> modes = {"default_only", "default_only", "any",  "any", "any",
                                            "default_and",  "default_and",  "tags", "tags"};
    request.mode = random.percent(2) ? "none" : random.pick(modes);
    if (random.percent(90)) {
        request.tags.emplace();
        for (int64_t n = random.number(0, 3); n > 0; --n) {
            request.tags->push_back(sometimes(scene, 95, random.pick(kTags)));
        }
    }
    if (random.percent(25)) {
        request.slots.emplace();
        for (int64_t n = random.number(0, scene->hub.slot_count); n > 0; --n) {
            request.slots->push_back(static_cast<int>(random.number(-1, scene->hub.slot_count)));
        }
    }
    return request;
}

std::string fetch_sql(const Fetch& request) {
    return to_string(request.lock_timeout) + ", " + sql(request.owner) + ", " +
           sql(request.session_timeout) + ", " + sql(request.tags) + ", " + sql(Text(request.mode));
}

// The rows of a fetch, with tokens to be learned.
Expected leased_rows(const Hub& hub, int client, const std::vector<int64_t>& ids) {
    Expected rows;
    for (const int64_t id : ids) {
        const Item& item = *hub.items.find(id, client);
        rows.push_back({item.what.work_item, kAnything, to_string(item.attempts)});
    }
    return rows;
}

// The rows just leased are those whose token is not known yet.
std::string learn_tokens(Scene::Memory* memory, int client, Hub* hub, const Answer& answer) {
    for (const auto& row : answer.rows) {
        const std::string token = row.at(1).value_or("");
        const auto parsed = core::decode_work_token(token);
        if (!parsed) {
            return "not a token: " + token;
        }
        const Item* item = hub->items.find(parsed->id, client);
        if (item == nullptr || item->token != "?" || item->what.work_item != row.at(0) ||
            item->key() != std::tuple(parsed->lane, parsed->slot, parsed->due, parsed->id) ||
            parsed->incarnation != hub->incarnation) {
            return "the token is not of the row: " + token;
        }
        if (!memory->all_tokens.emplace(token, true).second) {
            return "the token was given before: " + token;
        }
        hub->learn_token(client, parsed->id, token);
        memory->tokens.push_back(token);
        if (memory->tokens.size() > kMostTokens) {
            memory->tokens.pop_front();
        }
    }
    return "";
}

std::function<std::string(Hub*, const Answer&)> token_learner(Scene* scene) {
    return [memory = &scene->memory, client = scene->client](Hub* hub, const Answer& answer) {
        return learn_tokens(memory, client, hub, answer);
    };
}

const Expected kVoid = {{""}};

// ---- Enqueue ----

std::optional<Call> enqueue_worker_work(Scene* scene) {
    if (scene->hub.items.count() > kFull) {
        return std::nullopt;
    }
    Activity what = made_activity(scene);
    const Activity args = split(scene, &what);
    return Call{"SELECT app.enqueue_worker_work(" + sql(Text(what.work_item)) + ", " +
                    to_string(scene->now) + ", " + sql(args.instance) + ", " + sql(args.execution) +
                    ", " + sql(args.activity) + ", " + sql(args.session) + ", " + sql(args.tag) +
                    ")",
                [what, client = scene->client, now = scene->now](Hub* hub) {
                    hub->enqueue(client, what, now);
                    return kVoid;
                }};
}

struct Listed {
    Activity what;
    int64_t delay;
};

Call enqueue_list(Scene* scene, const std::vector<Listed>& list, const std::string& elements) {
    return Call{
        "SELECT app.enqueue_worker_items('[" + elements + "]', " + to_string(scene->now) + ")",
        [list, client = scene->client, now = scene->now](Hub* hub) {
            for (const auto& [what, delay] : list) {
                hub->enqueue(client, what, now, delay);
            }
            return Expected{{to_string(list.size())}};
        }};
}

std::optional<Call> enqueue_worker_items(Scene* scene) {
    if (scene->hub.items.count() > kFull) {
        return std::nullopt;
    }
    auto& random = scene->random;
    std::vector<Listed> list;
    std::string elements;
    for (int64_t n = random.number(0, 6); n > 0; --n) {
        Activity what = made_activity(scene);
        const Activity args = split(scene, &what);
        const int64_t delay = random.percent(70) ? 0 : random.number(1, 3000);
        list.push_back({what, delay});
        elements += elements.empty() ? "{" : ", {";
        elements +=
            "\"work_item\": " + (random.percent(50) ? what.work_item : json(what.work_item));
        elements += args.instance ? ", \"instance_id\": " + json(args.instance) : "";
        elements += args.execution ? ", \"execution_id\": " + to_string(*args.execution) : "";
        elements += args.activity ? ", \"activity_id\": " + to_string(*args.activity) : "";
        elements += args.session ? ", \"session_id\": " + json(args.session) : "";
        elements += args.tag ? ", \"tag\": " + json(args.tag) : "";
        elements += delay > 0 ? ", \"delay_ms\": " + to_string(delay) : "";
        elements += "}";
    }
    return enqueue_list(scene, list, elements);
}

// Many rows of one kind: several pages of a stream, and more rows of one session than are walked.
std::optional<Call> enqueue_burst(Scene* scene) {
    if (scene->hub.items.count() > kFull / 2) {
        return std::nullopt;
    }
    auto& random = scene->random;
    Activity all = made_activity(scene);
    if (random.percent(60)) {
        all.session = random.pick(kSessions);
    }
    std::vector<Listed> list;
    std::string elements;
    for (int64_t n = random.number(20, 90); n > 0; --n) {
        all.work_item = item_text(scene, all);
        list.push_back({all, 0});
        elements += (elements.empty() ? "" : ", ") + ("{\"work_item\": " + all.work_item + "}");
    }
    return enqueue_list(scene, list, elements);
}

// ---- Fetch ----

std::optional<Call> fetch_work_item(Scene* scene) {
    const Fetch request = made_fetch(scene);
    return Call{"SELECT * FROM app.fetch_work_item(" + to_string(request.now) + ", " +
                    fetch_sql(request) + ", " + sql(request.slots) + ")",
                [request, client = scene->client](Hub* hub) {
                    return leased_rows(*hub, client, hub->fetch(client, request));
                },
                token_learner(scene)};
}

std::optional<Call> fetch_work_items(Scene* scene) {
    Fetch request = made_fetch(scene);
    request.max_items =
        static_cast<int>(scene->random.number(1, scene->random.percent(80) ? 8 : 60));
    if (scene->random.percent(35)) {
        request.max_new_sessions = static_cast<int>(scene->random.number(0, 2));
    }
    return Call{"SELECT * FROM app.fetch_work_items(" + to_string(request.now) + ", " +
                    fetch_sql(request) + ", " + to_string(request.max_items) + ", " +
                    (request.max_new_sessions ? to_string(*request.max_new_sessions) : "NULL") +
                    ", " + sql(request.slots) + ")",
                [request, client = scene->client](Hub* hub) {
                    return leased_rows(*hub, client, hub->fetch(client, request));
                },
                token_learner(scene)};
}

// ---- Ack ----

std::optional<Call> ack_worker(Scene* scene) {
    const Text token = made_token(scene);
    const auto completion = made_completion(scene);
    const Text instance = completion ? sometimes(scene, 50, completion->instance)
                                     : sometimes(scene, 30, std::string("ignored"));
    return Call{"SELECT app.ack_worker(" + sql(token) + ", " + sql(instance) + ", " +
                    sql(completion ? Text(completion->text) : std::nullopt) + ", " +
                    to_string(scene->now) + ")",
                [token, completion, client = scene->client, now = scene->now](Hub* hub) {
                    hub->ack(client, token, completion, now);
                    return kVoid;
                }};
}

std::optional<Call> ack_workers(Scene* scene) {
    std::vector<std::pair<Text, std::optional<Completion>>> acks;
    std::string elements;
    const int64_t most = scene->hub.items.count() > kFull / 2 ? 60 : 6;
    for (int64_t n = scene->random.number(0, most); n > 0; --n) {
        const bool again = !acks.empty() && scene->random.percent(5);
        acks.emplace_back(again ? acks.back().first : made_token(scene), made_completion(scene));
        const auto& [token, completion] = acks.back();
        elements += (elements.empty() ? "" : ", ") + ("{\"lock_token\": " + json(token));
        elements += completion ? ", \"completion_json\": " + json(completion->text) : "";
        elements += "}";
    }
    return Call{
        "SELECT * FROM app.ack_workers('[" + elements + "]', " + to_string(scene->now) + ")",
        [acks, client = scene->client, now = scene->now](Hub* hub) {
            const auto acked = hub->ack_many(client, acks, now);
            Expected rows;
            for (std::size_t i = 0; i < acks.size(); ++i) {
                rows.push_back(
                    {to_string(i), acks[i].first, truth(acked[i]), acked[i] ? Text() : "QB001"});
            }
            return rows;
        }};
}

std::optional<Call> ack_and_fetch_work_item(Scene* scene) {
    const Text token = made_token(scene);
    const auto completion = made_completion(scene);
    const Fetch request = made_fetch(scene);
    return Call{"SELECT * FROM app.ack_and_fetch_work_item(" + sql(token) + ", NULL, " +
                    sql(completion ? Text(completion->text) : std::nullopt) + ", " +
                    to_string(request.now) + ", " + fetch_sql(request) + ", " + sql(request.slots) +
                    ")",
                [token, completion, request, client = scene->client](Hub* hub) {
                    hub->ack(client, token, completion, request.now);
                    return leased_rows(*hub, client, hub->fetch(client, request));
                },
                token_learner(scene)};
}

// ---- Renew, abandon, cancel ----

std::optional<Call> renew_work_item_lock(Scene* scene) {
    const Text token = made_token(scene);
    const int64_t extend = made_timeout(scene);
    return Call{"SELECT app.renew_work_item_lock(" + sql(token) + ", " + to_string(scene->now) +
                    ", " + to_string(extend) + ")",
                [token, extend, client = scene->client, now = scene->now](Hub* hub) {
                    hub->renew(client, token, now, extend);
                    return kVoid;
                }};
}

std::optional<Call> renew_work_item_locks(Scene* scene) {
    std::vector<Text> tokens;
    for (int64_t n = scene->random.number(0, 6); n > 0; --n) {
        tokens.push_back(made_token(scene));
    }
    const int64_t extend = made_timeout(scene);
    return Call{"SELECT * FROM app.renew_work_item_locks(" + sql(std::optional(tokens)) + ", " +
                    to_string(scene->now) + ", " + to_string(extend) + ")",
                [tokens, extend, client = scene->client, now = scene->now](Hub* hub) {
                    const auto renewed = hub->renew_many(client, tokens, now, extend);
                    Expected rows;
                    for (std::size_t i = 0; i < tokens.size(); ++i) {
                        rows.push_back({to_string(i), tokens[i], truth(renewed[i]),
                                        renewed[i] ? text_of(now + extend) : Text(),
                                        renewed[i] ? Text() : "QB001"});
                    }
                    return rows;
                }};
}

std::optional<Call> abandon_work_item(Scene* scene) {
    const Text token = made_token(scene);
    const auto delay = sometimes(
        scene, 45, scene->random.percent(10) ? int64_t{0} : scene->random.number(1, 3000));
    const bool ignore = scene->random.percent(30);
    return Call{"SELECT app.abandon_work_item(" + sql(token) + ", " + to_string(scene->now) + ", " +
                    sql(delay) + ", " + (ignore ? "true" : "false") + ")",
                [token, delay, ignore, client = scene->client, now = scene->now](Hub* hub) {
                    hub->abandon(client, token, now, delay, ignore);
                    return kVoid;
                }};
}

std::optional<Call> cancel_activities(Scene* scene) {
    auto& random = scene->random;
    std::vector<Hub::Identity> activities;
    std::string elements;
    const auto items = scene->hub.items.seen_by(scene->client);
    for (int64_t n = random.number(0, 3); n > 0; --n) {
        Hub::Identity wanted{random.pick(kInstances), random.number(1, 2), random.number(0, 3)};
        if (!items.empty() && random.percent(70)) {
            const Activity& what = random.pick(items)->what;
            wanted = {what.instance.value_or("none"), what.execution.value_or(1),
                      what.activity.value_or(0)};
        }
        activities.push_back(wanted);
        elements += (elements.empty() ? "" : ", ") + ("{\"instance\": " + json(wanted.instance)) +
                    ", \"execution_id\": " + to_string(wanted.execution) +
                    ", \"activity_id\": " + to_string(wanted.activity) + "}";
    }
    return Call{"SELECT app.cancel_activities('[" + elements + "]')",
                [activities, client = scene->client](Hub* hub) {
                    return Expected{{to_string(hub->cancel(client, activities))}};
                }};
}

// ---- Sessions ----

std::optional<Call> renew_session_lock(Scene* scene) {
    auto& random = scene->random;
    std::vector<Text> owners;
    for (int64_t n = random.number(0, 2); n > 0; --n) {
        owners.push_back(sometimes(scene, 95, random.pick(kOwners)));
    }
    const int64_t extend = made_timeout(scene);
    int64_t idle = random.percent(5) ? 0 : random.number(1, 2000);
    const auto known = scene->hub.sessions.seen_by(scene->client);
    if (!known.empty() && random.percent(25)) {  // active exactly so long ago
        idle = std::max<int64_t>(0, scene->now - random.pick(known)->last_activity);
    }
    std::vector<Text> named;  // a null names nobody
    std::copy_if(owners.begin(), owners.end(), std::back_inserter(named),
                 [](const Text& owner) { return owner.has_value(); });
    return Call{
        "SELECT app.renew_session_lock(" + sql(std::optional(owners)) + ", " +
            to_string(scene->now) + ", " + to_string(extend) + ", " + to_string(idle) + ")",
        [named, extend, idle, client = scene->client, now = scene->now](Hub* hub) {
            return Expected{{to_string(hub->renew_sessions(client, named, now, extend, idle))}};
        }};
}

std::optional<Call> cleanup_orphaned_sessions(Scene* scene) {
    return Call{"SELECT app.cleanup_orphaned_sessions(" + to_string(scene->now) + ")",
                [client = scene->client, now = scene->now](Hub* hub) {
                    return Expected{{to_string(hub->cleanup_sessions(client, now))}};
                }};
}

// ---- Lists ----

std::optional<Call> list_work_items(Scene* scene) {
    auto& random = scene->random;
    const std::vector<std::string> states = {"ready", "delayed", "leased"};
    const Text state = sometimes(scene, 30, random.pick(states));
    const Text instance = sometimes(scene, 15, random.pick(kInstances));
    const Text session = sometimes(scene, 15, random.pick(kSessions));
    const Text tag = sometimes(scene, 15, random.pick(kTags));
    const Text owner = sometimes(scene, 15, random.pick(kOwners));
    const auto attempts = sometimes(scene, 15, random.number(0, 3));
    const int64_t limit = random.number(1, 20);
    Text after;
    std::optional<decltype(Item{}.key())> from;
    if (!scene->memory.cursors.empty() && random.percent(60)) {
        std::tie(after, from) = random.pick(scene->memory.cursors);
    }
    std::string filter;
    const auto add = [&filter](const char* key, const Text& value) {
        if (value) {
            filter += (filter.empty() ? "\"" : ", \"") + std::string(key) + "\": " + *value;
        }
    };
    add("state", state ? Text(json(state)) : state);
    add("instance_id", instance ? Text(json(instance)) : instance);
    add("session_id", session ? Text(json(session)) : session);
    add("tag", tag ? Text(json(tag)) : tag);
    add("locked_by", owner ? Text(json(owner)) : owner);
    add("min_attempts", text_of(attempts));
    const auto chosen = [=, client = scene->client, now = scene->now](const Hub& hub) {
        std::vector<const Item*> found;
        for (const Item* item : hub.items.seen_by(client)) {
            const bool live = hub.is_live(*item, now);
            if ((!state || hub.state_of(*item, now) == *state) &&
                (!instance || item->what.instance == instance) &&
                (!session || item->what.session == session) && (!tag || item->what.tag == tag) &&
                (!owner || (live && item->locked_by == owner)) &&
                (!attempts || item->attempts >= *attempts) && (!from || item->key() > *from)) {
                found.push_back(item);
            }
        }
        std::sort(found.begin(), found.end(),
                  [](const Item* a, const Item* b) { return a->key() < b->key(); });
        found.resize(std::min(found.size(), static_cast<std::size_t>(limit)));
        return found;
    };
    Call call;
    call.sql =
        "SELECT id, state, work_item, instance_id, execution_id, activity_id, session_id, "
        "tag, " +
        time_sql("visible_at") + ", locked_until, locked_by, attempt_count, " +
        time_sql("created_at") + ", cursor FROM app.list_work_items('{" + filter + "}', " +
        sql(after) + ", " + to_string(limit) + ", " + to_string(scene->now) + ")";
    call.apply = [chosen, now = scene->now](Hub* hub) {
        Expected rows;
        for (const Item* item : chosen(*hub)) {
            const bool live = hub->is_live(*item, now);
            rows.push_back({to_string(item->id), hub->state_of(*item, now), item->what.work_item,
                            item->what.instance, text_of(item->what.execution),
                            text_of(item->what.activity), item->what.session, item->what.tag,
                            show_time(item->visible_at),
                            live ? text_of(item->locked_until) : std::nullopt,
                            live ? item->locked_by : std::nullopt, to_string(item->attempts),
                            show_time(item->created_at), kAnything});
        }
        return rows;
    };
    call.learn = [chosen, memory = &scene->memory](Hub* hub, const Answer& answer) {
        const auto found = chosen(*hub);
        if (!found.empty()) {
            auto& cursors = memory->cursors;
            cursors.emplace_back(answer.rows.back().back().value_or(""), found.back()->key());
            if (cursors.size() > 20) {
                cursors.erase(cursors.begin());
            }
        }
        return std::string();
    };
    return call;
}

std::optional<Call> list_dead_letters(Scene* scene) {
    auto& random = scene->random;
    const Text instance = sometimes(scene, 40, random.pick(kInstances));
    const auto after = sometimes(scene, 50, random.number(0, scene->hub.last.dead_letter));
    const int64_t limit = random.number(1, 10);
    return Call{
        "SELECT id, queue, source_id, instance_id, work_item, attempt_count, reason FROM "
        "app.list_dead_letters(NULL, NULL, " +
            sql(instance) + ", " + sql(after) + ", " + to_string(limit) + ")",
        [instance, after, limit, client = scene->client](Hub* hub) {
            Expected rows;
            for (const DeadLetter* dead : hub->dead_letters.seen_by(client)) {
                if ((!instance || dead->what.instance == instance) &&
                    dead->id > after.value_or(0) && static_cast<int64_t>(rows.size()) < limit) {
                    rows.push_back({to_string(dead->id), "worker", to_string(dead->source_id),
                                    dead->what.instance, dead->what.work_item,
                                    to_string(dead->attempts), "max_attempts"});
                }
            }
            return rows;
        }};
}

// ---- Dead letters ----

int64_t made_dead_letter(Scene* scene) {
    const auto known = scene->hub.dead_letters.seen_by(scene->client);
    return !known.empty() && scene->random.percent(85)
               ? scene->random.pick(known)->id
               : scene->random.number(0, scene->hub.last.dead_letter + 1);
}

std::optional<Call> redrive_dead_letter(Scene* scene) {
    const int64_t id = made_dead_letter(scene);
    return Call{"SELECT app.redrive_dead_letter(" + to_string(id) + ")",
                [id, client = scene->client](Hub* hub) {
                    return Expected{{to_string(hub->redrive(client, id))}};
                }};
}

std::optional<Call> redrive_dead_letters(Scene* scene) {
    auto& random = scene->random;
    DeadLetterFilter filter;
    std::string text;
    const auto add = [&text](const std::string& member) {
        text += (text.empty() ? "" : ", ") + member;
    };
    if (random.percent(40)) {
        filter.ids = {made_dead_letter(scene), made_dead_letter(scene)};
        add("\"ids\": [" + to_string(filter.ids->at(0)) + ", " + to_string(filter.ids->at(1)) +
            "]");
    }
    if (random.percent(30)) {
        filter.instances = {random.pick(kInstances), random.pick(kInstances)};
        add("\"instance_ids\": [" + json(filter.instances->at(0)) + ", " +
            json(filter.instances->at(1)) + "]");
    }
    if (random.percent(20)) {
        filter.queue = random.percent(70) ? "worker" : "orchestrator";
        add("\"queue\": " + json(filter.queue));
    }
    if (random.percent(20)) {
        filter.reason = random.percent(70) ? "max_attempts" : "orphan";
        add("\"reason\": " + json(filter.reason));
    }
    if (random.percent(20)) {
        filter.dead_before = scene->now - random.number(0, 5000);
        add("\"dead_before\": " + to_string(*filter.dead_before));
    }
    if (random.percent(50)) {
        filter.limit = random.number(1, 4);
        add("\"limit\": " + to_string(filter.limit));
    }
    return Call{"SELECT app.redrive_dead_letters('{" + text + "}')",
                [filter, client = scene->client](Hub* hub) {
                    return Expected{{to_string(hub->redrive_many(client, filter))}};
                }};
}

std::optional<Call> discard_dead_letter(Scene* scene) {
    const int64_t id = made_dead_letter(scene);
    return Call{"SELECT app.discard_dead_letter(" + to_string(id) + ")",
                [id, client = scene->client](Hub* hub) {
                    hub->discard(client, id);
                    return kVoid;
                }};
}

// ---- The hub as a whole ----

std::optional<Call> pause_hub(Scene* scene) {
    return Call{
        scene->random.percent(50) ? "SELECT app.pause_hub('worker')" : "SELECT app.pause_hub()",
        [](Hub* hub) {
            hub->paused = true;
            return kVoid;
        }};
}

std::optional<Call> resume_hub(Scene* scene) {
    if (!scene->hub.paused) {
        return std::nullopt;
    }
    return Call{"SELECT app.resume_hub()", [](Hub* hub) {
                    hub->paused = false;
                    return kVoid;
                }};
}

std::optional<Call> set_max_attempts(Scene* scene) {
    const auto most = sometimes(scene, 60, static_cast<int32_t>(scene->random.number(1, 4)));
    return Call{"SELECT belay.set_hub_option('app', 'max_attempts', " +
                    (most ? "'" + to_string(*most) + "'" : "NULL") + ")",
                [most](Hub* hub) {
                    hub->max_attempts = most;
                    return kVoid;
                }};
}

std::optional<Call> set_dead_letter_fails_activity(Scene* scene) {
    const bool value = scene->random.percent(70);
    return Call{std::string("SELECT belay.set_hub_option('app', 'dead_letter_fails_activity', '") +
                    (value ? "true" : "false") + "')",
                [value](Hub* hub) {
                    hub->dead_letter_fails_activity = value;
                    return kVoid;
                }};
}

int64_t server_now() {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
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
    return Call{"VACUUM app.worker_queue, app.sessions, app.dead_letters, app.orchestrator_queue",
                [](Hub*) { return Expected{}; }};
}

// ---- Bad calls ----

std::optional<Call> bad_call(Scene* scene) {
    struct Bad {
        const char* sql;
        const char* code_detail;
        const char* path;
    };
    static constexpr Bad kBad[] = {
        {"SELECT app.enqueue_worker_work('{', $N)", "not_json", "p_work_item"},
        {"SELECT app.enqueue_worker_work('[]', $N)", "not_an_object", "p_work_item"},
        {"SELECT app.enqueue_worker_work('{\"TimerFired\":{}}', $N)", "wrong_kind", "p_work_item"},
        {"SELECT app.enqueue_worker_work(NULL, $N)", "null", "p_work_item"},
        {"SELECT app.enqueue_worker_work('{\"ActivityExecute\":{}}', -1)", "out_of_range",
         "p_now_ms"},
        {"SELECT app.enqueue_worker_items('[{\"work_item\":{\"ActivityExecute\":{}}}, "
         "{\"work_item\":{\"ActivityExecute\":{\"tag\":7}}}]', $N)",
         "wrong_type", "p_items[1].work_item.ActivityExecute.tag"},
        {"SELECT app.enqueue_worker_items('[{\"work_item\":{\"ActivityExecute\":{}}, "
         "\"delay_ms\":-1}]', $N)",
         "out_of_range", "p_items[0].delay_ms"},
        {"SELECT app.fetch_work_item($N, 0, 'w0')", "out_of_range", "p_lock_timeout_ms"},
        {"SELECT app.fetch_work_item($N, 100, 'w0', -5)", "out_of_range",
         "p_session_lock_timeout_ms"},
        {"SELECT app.fetch_work_item($N, 100, p_tag_mode => 'all')", "unknown_tag_mode",
         "p_tag_mode"},
        {"SELECT app.fetch_work_items($N, 100, p_max_items => 0)", "out_of_range", "p_max_items"},
        {"SELECT app.fetch_work_items($N, 100, p_max_items => 1001)", "out_of_range",
         "p_max_items"},
        {"SELECT app.fetch_work_items($N, 100, p_max_new_sessions => -1)", "out_of_range",
         "p_max_new_sessions"},
        {"SELECT app.ack_worker($T, NULL, '{\"TimerFired\":{\"instance\":\"i\"}}', $N)",
         "wrong_kind", "p_completion_json"},
        {"SELECT app.ack_worker($T, 'i1', '{\"ActivityCompleted\":{\"instance\":\"i2\"}}', $N)",
         "instance_mismatch", "p_instance_id"},
        {"SELECT app.ack_workers('[{\"lock_token\":\"x\"}, {}]', $N)", "missing_field",
         "p_acks[1].lock_token"},
        {"SELECT app.ack_and_fetch_work_item($T, NULL, NULL, $N, -1)", "out_of_range",
         "p_lock_timeout_ms"},
        {"SELECT app.renew_work_item_lock($T, $N, 0)", "out_of_range", "p_extend_ms"},
        {"SELECT app.renew_work_item_locks(ARRAY[$T]::text[], $N, NULL)", "null", "p_extend_ms"},
        {"SELECT app.abandon_work_item($T, $N, -1)", "out_of_range", "p_delay_ms"},
        {"SELECT app.renew_session_lock(ARRAY['w0'], $N, 100, -1)", "out_of_range",
         "p_idle_timeout_ms"},
        {"SELECT app.cancel_activities('[{\"instance\":\"i0\",\"execution_id\":1}]')",
         "missing_field", "p_cancelled_activities[0].activity_id"},
        {"SELECT app.list_work_items('{\"state\":\"done\"}', p_now_ms => $N)", "bad_value",
         "p_filter.state"},
        {"SELECT app.redrive_dead_letters('{\"id\":1}')", "unknown_key", "p_filter"},
        {"SELECT app.redrive_dead_letters('{\"limit\":0}')", "out_of_range", "p_filter.limit"},
    };
    const Bad bad = scene->random.pick(std::span(kBad));
    std::string text = bad.sql;
    const auto put = [&text](const char* mark, const std::string& value) {
        if (const auto at = text.find(mark); at != std::string::npos) {
            text.replace(at, 2, value);
        }
    };
    put("$N", to_string(scene->now));
    put("$T", sql(made_token(scene)));
    return Call{text, [bad](Hub*) -> Expected {
                    throw Refused{"QB006", "", bad.code_detail,
                                  "\"path\":\"" + std::string(bad.path) + "\""};
                }};
}

constexpr Operation kOperations[] = {
    {"enqueue_worker_work", 14, When::kAlways, enqueue_worker_work},
    {"enqueue_worker_items", 8, When::kAlways, enqueue_worker_items},
    {"enqueue_burst", 1, When::kAlways, enqueue_burst},
    {"fetch_work_item", 24, When::kAlways, fetch_work_item},
    {"fetch_work_items", 12, When::kAlways, fetch_work_items},
    {"ack_worker", 10, When::kAlways, ack_worker},
    {"ack_workers", 6, When::kAlways, ack_workers},
    {"ack_and_fetch_work_item", 8, When::kAlways, ack_and_fetch_work_item},
    {"renew_work_item_lock", 6, When::kAlways, renew_work_item_lock},
    {"renew_work_item_locks", 4, When::kAlways, renew_work_item_locks},
    {"abandon_work_item", 9, When::kAlways, abandon_work_item},
    {"cancel_activities", 3, When::kAlways, cancel_activities},
    {"renew_session_lock", 4, When::kAlways, renew_session_lock},
    {"cleanup_orphaned_sessions", 3, When::kAlways, cleanup_orphaned_sessions},
    {"list_work_items", 4, When::kAlways, list_work_items},
    {"list_dead_letters", 2, When::kAlways, list_dead_letters},
    {"redrive_dead_letter", 3, When::kAlways, redrive_dead_letter},
    {"redrive_dead_letters", 2, When::kAlways, redrive_dead_letters},
    {"discard_dead_letter", 2, When::kAlways, discard_dead_letter},
    {"bad_call", 4, When::kAlways, bad_call},
    {"pause_hub", 1, When::kOwnTransaction, pause_hub},
    {"resume_hub", 12, When::kOwnTransaction, resume_hub},
    {"set_max_attempts", 1, When::kOwnTransaction, set_max_attempts},
    {"set_dead_letter_fails_activity", 1, When::kOwnTransaction, set_dead_letter_fails_activity},
    {"set_slot_count", 3, When::kAlone, set_slot_count},
    {"new_incarnation", 2, When::kOwnTransaction, new_incarnation},
    {"vacuum", 1, When::kOwnTransaction, vacuum},
};

// ---- Pictures ----

Expected work_items(const Hub& hub, int client) {
    Expected rows;
    for (const Item* item : hub.items.seen_by(client)) {
        const bool leased = !item->token.empty();
        rows.push_back({to_string(item->id), item->what.work_item, show_time(item->visible_at),
                        leased ? Text(item->token) : std::nullopt,
                        leased ? text_of(item->locked_until) : std::nullopt,
                        to_string(item->attempts), show_time(item->created_at), item->what.instance,
                        text_of(item->what.execution), text_of(item->what.activity),
                        item->what.session, item->what.tag, item->locked_by});
    }
    return rows;
}

Expected sessions(const Hub& hub, int client) {
    Expected rows;
    for (const Session* session : hub.sessions.seen_by(client)) {
        rows.push_back({session->id, session->owner, to_string(session->locked_until),
                        to_string(session->last_activity), to_string(session->lease_incarnation)});
    }
    return rows;
}

Expected dead_letters(const Hub& hub, int client) {
    Expected rows;
    for (const DeadLetter* dead : hub.dead_letters.seen_by(client)) {
        rows.push_back({to_string(dead->id), "worker", to_string(dead->source_id),
                        dead->what.instance, text_of(dead->what.execution),
                        text_of(dead->what.activity), dead->what.session, dead->what.tag,
                        dead->what.work_item, to_string(dead->attempts), "max_attempts",
                        std::nullopt, show_time(dead->enqueued_at), show_time(dead->dead_at)});
    }
    return rows;
}

Expected messages(const Hub& hub, int client) {
    Expected rows;
    for (const Message* message : hub.messages.seen_by(client)) {
        rows.push_back({to_string(message->id), message->instance, message->text,
                        show_time(message->visible_at)});
    }
    return rows;
}

}  // namespace

std::span<const Operation> operations() {
    return kOperations;
}

std::string show_time(int64_t ms) {
    return ms == kServerClock ? "by the server" : to_string(ms);
}

std::string time_sql(const std::string& column) {
    return "CASE WHEN abs(extract(epoch FROM " + column +
           " - clock_timestamp())) < 86400 THEN 'by the server' ELSE "
           "(extract(epoch FROM " +
           column + ") * 1000)::bigint::text END";
}

std::span<const Picture> pictures() {
    static const Picture kPictures[] = {
        {"work_items",
         "SELECT id, work_item, " + time_sql("visible_at") +
             ", lock_token, locked_until, attempt_count, " + time_sql("created_at") +
             ", instance_id, execution_id, activity_id, session_id, tag, locked_by "
             "FROM app.work_items ORDER BY id",
         work_items},
        {"sessions",
         "SELECT session_id, worker_id, locked_until, last_activity_at, lease_inc FROM "
         "app.sessions "
         "ORDER BY session_id",
         sessions},
        {"dead_letters",
         "SELECT id, queue, source_id, instance_id, execution_id, activity_id, session_id, tag, "
         "work_item, attempt_count, reason, detail, " +
             time_sql("enqueued_at") + ", " + time_sql("dead_at") +
             " FROM app.dead_letters ORDER BY id",
         dead_letters},
        {"messages",
         "SELECT id, instance_id, CASE WHEN p IS NULL THEN work_item ELSE concat_ws(' ', 'poison', "
         "a ->> 'instance', a ->> 'execution_id', a ->> 'activity_id', a ->> 'activity_name', "
         "p ->> 'attempt_count', 'of', p ->> 'max_attempts') END, " +
             time_sql("visible_at") +
             " FROM app.orchestrator_queue, LATERAL (SELECT work_item::jsonb #> "
             "'{ActivityFailed,details,Poison}' AS p) AS x, LATERAL (SELECT p #> "
             "'{message_type,Activity}' AS a) AS y ORDER BY id",
         messages},
    };
    return kPictures;
}

}  // namespace belay::test::model
