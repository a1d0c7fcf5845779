// Calls of the worker queue.
#include "core/token.hpp"
#include "made_up.hpp"

namespace belay::test::model {

namespace {

using std::to_string;
using When = Operation::When;

// ---- Made-up values ----

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

// A completion, or none.
std::optional<Mail> maybe_completion(Scene* scene) {
    return scene->random.percent(60) ? std::nullopt : std::optional(made_completion(scene));
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
    request.slots = made_slots(scene);
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
        if (!note_token(memory, &memory->tokens, token)) {
            return "the token was given before: " + token;
        }
        hub->learn_token(client, parsed->id, token);
    }
    return "";
}

std::function<std::string(Hub*, const Answer&)> token_learner(Scene* scene) {
    return [memory = &scene->memory, client = scene->client](Hub* hub, const Answer& answer) {
        return learn_tokens(memory, client, hub, answer);
    };
}

// ---- Enqueue ----

std::optional<Call> enqueue_worker_work(Scene* scene) {
    if (scene->hub.items.count() > kFull) {
        return std::nullopt;
    }
    Activity what = made_activity(scene);
    const Activity args = split(scene, &what);
    return Call{"SELECT app.enqueue_worker_work(" + sql(Text(what.work_item)) + ", " +
                    sql(args.instance) + ", " + sql(args.execution) + ", " + sql(args.activity) +
                    ", " + sql(args.session) + ", " + sql(args.tag) + ", p_now_ms => " +
                    to_string(scene->now) + ")",
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
    return Call{"SELECT * FROM app.fetch_work_item(" + fetch_sql(request) + ", " +
                    sql(request.slots) + ", p_now_ms => " + to_string(request.now) + ")",
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
    return Call{"SELECT * FROM app.fetch_work_items(" + fetch_sql(request) + ", " +
                    to_string(request.max_items) + ", " +
                    (request.max_new_sessions ? to_string(*request.max_new_sessions) : "NULL") +
                    ", " + sql(request.slots) + ", p_now_ms => " + to_string(request.now) + ")",
                [request, client = scene->client](Hub* hub) {
                    return leased_rows(*hub, client, hub->fetch(client, request));
                },
                token_learner(scene)};
}

// ---- Ack ----

std::optional<Call> ack_worker(Scene* scene) {
    if (!has_leases(scene)) {
        return std::nullopt;
    }
    const Text token = made_token(scene);
    const auto completion = maybe_completion(scene);
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
    if (!has_leases(scene)) {
        return std::nullopt;
    }
    std::vector<std::pair<Text, std::optional<Mail>>> acks;
    std::string elements;
    const int64_t most = scene->hub.items.count() > kFull / 2 ? 60 : 6;
    for (int64_t n = scene->random.number(0, most); n > 0; --n) {
        const bool again = !acks.empty() && scene->random.percent(5);
        acks.emplace_back(again ? acks.back().first : made_token(scene), maybe_completion(scene));
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
    if (!has_leases(scene)) {
        return std::nullopt;
    }
    const Text token = made_token(scene);
    const auto completion = maybe_completion(scene);
    const Fetch request = made_fetch(scene);
    return Call{"SELECT * FROM app.ack_and_fetch_work_item(" + sql(token) + ", NULL, " +
                    sql(completion ? Text(completion->text) : std::nullopt) + ", " +
                    fetch_sql(request) + ", " + sql(request.slots) + ", p_now_ms => " +
                    to_string(request.now) + ")",
                [token, completion, request, client = scene->client](Hub* hub) {
                    hub->ack(client, token, completion, request.now);
                    return leased_rows(*hub, client, hub->fetch(client, request));
                },
                token_learner(scene)};
}

// ---- Renew, abandon, cancel ----

std::optional<Call> renew_work_item_lock(Scene* scene) {
    if (!has_leases(scene)) {
        return std::nullopt;
    }
    const Text token = made_token(scene);
    const int64_t extend = made_timeout(scene);
    return Call{"SELECT app.renew_work_item_lock(" + sql(token) + ", " + to_string(extend) +
                    ", p_now_ms => " + to_string(scene->now) + ")",
                [token, extend, client = scene->client, now = scene->now](Hub* hub) {
                    hub->renew(client, token, now, extend);
                    return kVoid;
                }};
}

std::optional<Call> renew_work_item_locks(Scene* scene) {
    if (!has_leases(scene)) {
        return std::nullopt;
    }
    std::vector<Text> tokens;
    for (int64_t n = scene->random.number(0, 6); n > 0; --n) {
        tokens.push_back(made_token(scene));
    }
    const int64_t extend = made_timeout(scene);
    return Call{"SELECT * FROM app.renew_work_item_locks(" + sql(std::optional(tokens)) + ", " +
                    to_string(extend) + ", p_now_ms => " + to_string(scene->now) + ")",
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
    if (!has_leases(scene)) {
        return std::nullopt;
    }
    const Text token = made_token(scene);
    const auto delay = made_delay(scene);
    const bool ignore = scene->random.percent(30);
    return Call{"SELECT app.abandon_work_item(" + sql(token) + ", " + sql(delay) + ", " +
                    (ignore ? "true" : "false") + ", p_now_ms => " + to_string(scene->now) + ")",
                [token, delay, ignore, client = scene->client, now = scene->now](Hub* hub) {
                    hub->abandon(client, token, now, delay, ignore);
                    return kVoid;
                }};
}

std::optional<Call> cancel_activities(Scene* scene) {
    auto& random = scene->random;
    std::vector<Identity> activities;
    std::string elements;
    const auto items = scene->hub.items.seen_by(scene->client);
    for (int64_t n = random.number(0, 3); n > 0; --n) {
        Identity wanted{made_instance(scene), random.number(1, 2), random.number(0, 3)};
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
    std::vector<Text> named;  // a null names no row
    std::copy_if(owners.begin(), owners.end(), std::back_inserter(named),
                 [](const Text& owner) { return owner.has_value(); });
    return Call{
        "SELECT app.renew_session_lock(" + sql(std::optional(owners)) + ", " + to_string(extend) +
            ", " + to_string(idle) + ", p_now_ms => " + to_string(scene->now) + ")",
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
    const Text instance = sometimes(scene, 15, made_instance(scene));
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
        "SELECT id, state, work_item, instance_id, execution_id, activity_id, session_id, tag, "
        "shown_time(visible_at), locked_until, locked_by, attempt_count, shown_time(created_at), "
        "cursor FROM app.list_work_items('{" +
        filter + "}', " + sql(after) + ", " + to_string(limit) + ", " + to_string(scene->now) + ")";
    call.apply = [chosen, now = scene->now](Hub* hub) {
        Expected rows;
        for (const Item* item : chosen(*hub)) {
            const bool live = hub->is_live(*item, now);
            rows.push_back({to_string(item->id), hub->state_of(*item, now), item->what.work_item,
                            item->what.instance, text_of(item->what.execution),
                            text_of(item->what.activity), item->what.session, item->what.tag,
                            shown_time(item->visible_at),
                            live ? text_of(item->locked_until) : std::nullopt,
                            live ? item->locked_by : std::nullopt, to_string(item->attempts),
                            shown_time(item->created_at), kAnything});
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

// ---- Bad calls ----

std::optional<Call> bad_worker_call(Scene* scene) {
    static constexpr BadCall kBad[] = {
        {"SELECT app.enqueue_worker_work('{', p_now_ms => $N)", "not_json", "p_work_item"},
        {"SELECT app.enqueue_worker_work('[]', p_now_ms => $N)", "not_an_object", "p_work_item"},
        {"SELECT app.enqueue_worker_work('{\"TimerFired\":{}}', p_now_ms => $N)", "wrong_kind",
         "p_work_item"},
        {"SELECT app.enqueue_worker_work(NULL, p_now_ms => $N)", "null", "p_work_item"},
        {"SELECT app.enqueue_worker_work('{\"ActivityExecute\":{}}', p_now_ms => -1)",
         "out_of_range", "p_now_ms"},
        {"SELECT app.enqueue_worker_items('[{\"work_item\":{\"ActivityExecute\":{}}}, "
         "{\"work_item\":{\"ActivityExecute\":{\"tag\":7}}}]', $N)",
         "wrong_type", "p_items[1].work_item.ActivityExecute.tag"},
        {"SELECT app.enqueue_worker_items('[{\"work_item\":{\"ActivityExecute\":{}}, "
         "\"delay_ms\":-1}]', $N)",
         "out_of_range", "p_items[0].delay_ms"},
        {"SELECT app.fetch_work_item(0, 'w0', p_now_ms => $N)", "out_of_range",
         "p_lock_timeout_ms"},
        {"SELECT app.fetch_work_item(100, 'w0', -5, p_now_ms => $N)", "out_of_range",
         "p_session_lock_timeout_ms"},
        {"SELECT app.fetch_work_item(100, p_tag_mode => 'all', p_now_ms => $N)", "unknown_tag_mode",
         "p_tag_mode"},
        {"SELECT app.fetch_work_items(100, p_max_items => 0, p_now_ms => $N)", "out_of_range",
         "p_max_items"},
        {"SELECT app.fetch_work_items(100, p_max_items => 1001, p_now_ms => $N)", "out_of_range",
         "p_max_items"},
        {"SELECT app.fetch_work_items(100, p_max_new_sessions => -1, p_now_ms => $N)",
         "out_of_range", "p_max_new_sessions"},
        {"SELECT app.ack_worker($W, NULL, '{\"TimerFired\":{\"instance\":\"i\"}}', $N)",
         "wrong_kind", "p_completion_json"},
        {"SELECT app.ack_worker($W, 'i1', '{\"ActivityCompleted\":{\"instance\":\"i2\"}}', $N)",
         "instance_mismatch", "p_instance_id"},
        {"SELECT app.ack_workers('[{\"lock_token\":\"x\"}, {}]', $N)", "missing_field",
         "p_acks[1].lock_token"},
        {"SELECT app.ack_and_fetch_work_item($W, NULL, NULL, -1, p_now_ms => $N)", "out_of_range",
         "p_lock_timeout_ms"},
        {"SELECT app.renew_work_item_lock($W, 0, p_now_ms => $N)", "out_of_range", "p_extend_ms"},
        {"SELECT app.renew_work_item_locks(ARRAY[$W]::text[], NULL, p_now_ms => $N)", "null",
         "p_extend_ms"},
        {"SELECT app.abandon_work_item($W, -1, p_now_ms => $N)", "out_of_range", "p_delay_ms"},
        {"SELECT app.renew_session_lock(ARRAY['w0'], 100, -1, p_now_ms => $N)", "out_of_range",
         "p_idle_timeout_ms"},
        {"SELECT app.cancel_activities('[{\"instance\":\"i0\",\"execution_id\":1}]')",
         "missing_field", "p_cancelled_activities[0].activity_id"},
        {"SELECT app.list_work_items('{\"state\":\"done\"}', p_now_ms => $N)", "bad_value",
         "p_filter.state"},
    };
    return refused_call(scene, kBad);
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
    {"bad_worker_call", 4, When::kAlways, bad_worker_call},
};

}  // namespace

std::span<const Operation> worker_operations() {
    return kOperations;
}

}  // namespace belay::test::model
