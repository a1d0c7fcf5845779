// Who is asking, reads and actions.
#include <algorithm>

#include "actions.hpp"
#include "assets.hpp"
#include "bodies.hpp"
#include "dashboard_impl.hpp"
#include "reader.hpp"

namespace belay::tool::dashboard {

namespace {

constexpr std::int64_t kRightsFor = 60000;  // ms that rights are remembered
constexpr std::size_t kMostAnswers = 200;
constexpr std::size_t kMostKeys = 10000;

// The next times of a schedule that is about to be made. Throws Error for what is no cron.
Json next_times(Hub& hub, const Json& args) {
    Json times = Json::array();
    const auto text = [&](const char* key) {
        return args.contains(key) && args[key].is_string() ? args[key].get<std::string>()
                                                           : std::string();
    };
    try {
        const Result rows = hub.query(
            Effect::kRepeatable, "SELECT due_ms FROM " + hub.schema() + ".next_times($1, $2, 5)",
            {text("cron"), text("time_zone")});
        for (int i = 0; i < rows.size(); ++i) {
            times.push_back(rows.get<std::int64_t>(i, 0));
        }
    } catch (const Error& error) {
        // An older hub does not know it; the role may not ask.
        if (error.sqlstate() != "42883" && error.sqlstate() != "42501") {
            throw;
        }
    }
    return times;
}

bool may_on_many(const HubRights& hub, const BulkAction& many) {
    return may(hub, *find_action(many.name)) && hub.functions.contains(many.function);
}

}  // namespace

// ---- Who and what. ----

Role Dashboard::Impl::role_of(Connection& connection, const Credential& credential, bool fresh) {
    {
        const std::lock_guard lock(roles_mutex);
        const auto found = roles.find(credential.key);
        if (!fresh && found != roles.end() && steady_ms() - found->second.asked_ms < kRightsFor) {
            return found->second;
        }
    }
    Role role = ask_role(connection, options.hubs);
    const std::lock_guard lock(roles_mutex);
    if (roles.size() > 1000) {
        roles.clear();
    }
    roles[credential.key] = role;
    return role;
}

Hub Dashboard::Impl::hub_of(Connection& connection, const Credential& credential,
                            const std::string& name, HubRights* rights) {
    Role role = role_of(connection, credential);
    auto found = role.hubs.find(name);
    if (found == role.hubs.end()) {
        // It may be new.
        role = role_of(connection, credential, true);
        found = role.hubs.find(name);
    }
    if (found == role.hubs.end()) {
        throw NotFound("hub \"" + name + "\" does not exist");
    }
    if (rights != nullptr) {
        *rights = found->second;
    }
    return {connection, name, server_clock(), found->second.rights};
}

Response Dashboard::Impl::me(const Session& session) {
    auto connection = database.lease(session.credential);
    const Role role = role_of(*connection, *session.credential);
    Json table = Json::object();
    for (const auto& action : actions()) {
        table[action.name] = {{"label", action.label},
                              {"level", action.level},
                              {"kind", word_of(action.kind)},
                              {"reason", word_of(action.reason)}};
    }
    Json all = Json::object();
    for (const auto& [name, hub] : role.hubs) {
        Json allowed = Json::array();
        for (const auto& action : actions()) {
            if (may(hub, action)) {
                allowed.push_back(action.name);
            }
        }
        Json bulk_allowed = Json::array();
        for (const auto& many : bulk_actions()) {
            if (may_on_many(hub, many)) {
                bulk_allowed.push_back(many.name);
            }
        }
        all[name] = {{"levels", levels_of(hub)},
                     {"actions", allowed},
                     {"bulk", bulk_allowed},
                     {"body_filters", policy_of(hub).changes_nothing()},
                     {"version", hub.version ? Json(*hub.version) : Json()},
                     {"current", hub.current ? Json(*hub.current) : Json()},
                     {"missing", hub.missing}};
    }
    return json_response(200, {{"at_ms", system_ms()},
                               {"user", role.user},
                               {"login", options.login},
                               {"csrf", session.csrf},
                               {"read_only", options.read_only},
                               {"standby", role.standby},
                               {"preloaded", role.preloaded},
                               {"bodies", options.bodies},
                               {"versions",
                                {{"dashboard", std::string(front_end_version())},
                                 {"library", role.library},
                                 {"server", role.server}}},
                               {"actions", table},
                               {"hubs", all}});
}

Response Dashboard::Impl::hubs(const Session& session) {
    const std::string key = session.credential->key + "\nhubs";
    {
        const std::lock_guard lock(answers_mutex);
        const auto found = answers.find(key);
        if (found != answers.end() && steady_ms() - found->second.at_ms < kAnswersFor) {
            return found->second.response;
        }
    }
    auto connection = database.lease(session.credential);
    const Role role = role_of(*connection, *session.credential);
    constexpr const char* sql =
        "SELECT json_build_object('at_ms', (extract(epoch FROM clock_timestamp()) * 1000)::bigint, "
        "'rows', coalesce(json_agg(json_build_object('name', h.name, 'owner', h.owner, 'version', "
        "h.version, 'current', h.is_current, 'paused_queues', h.paused_queues, 'size_bytes', "
        "h.size_bytes, 'leases', s.leases, 'waiters', s.waiters, 'oldest_ready_ms', "
        "s.oldest_ready_ms, 'dead', NULL, 'counters', CASE WHEN s.hub IS NOT NULL THEN "
        "json_build_array(s.enqueued, s.acked, s.lost_leases, s.failed) END, 'spark', "
        "'[]'::json, 'place', l.host || ':' || l.port, 'here', h.is_here) ORDER BY h.name), "
        "'[]')) FROM belay.hubs AS h LEFT JOIN belay.pg_stat_belay_hub AS s ON s.hub = h.name "
        "LEFT JOIN belay.hub_locations AS l ON l.hub = h.name";
    const std::int64_t begin = steady_ms();
    Json answer = Json::parse(connection->call(Effect::kRepeatable, sql).get<std::string>(0, 0));
    auto& rows = answer["rows"];
    rows.erase(std::remove_if(rows.begin(), rows.end(),
                              [&](const Json& row) {
                                  return !role.hubs.contains(row["name"].get<std::string>());
                              }),
               rows.end());
    hub_rates.put(session.credential->key, answer["at_ms"].get<std::int64_t>(), rows);
    for (auto& row : rows) {
        // Known of hubs that a page shows; asking all of them would cost too much.
        const Json known = sampler->summary(*session.credential, row["name"].get<std::string>());
        if (known.is_object()) {
            row.update(known);
        }
    }
    answer["took_ms"] = steady_ms() - begin;
    answer["sql"] =
        "SELECT * FROM belay.hubs LEFT JOIN belay.pg_stat_belay_hub AS s ON s.hub = name LEFT JOIN "
        "belay.hub_locations AS l ON l.hub = name;";
    Response response = json_response(200, answer);
    const std::lock_guard lock(answers_mutex);
    if (answers.size() < kMostAnswers) {
        answers[key] = {steady_ms(), "", response};
    }
    return response;
}

// ---- Reads and actions. ----

BodyPolicy Dashboard::Impl::policy_of(const HubRights& rights) const {
    const bool is_operator = rights.functions.contains("change_priority");
    return {.redact = options.redact,
            .hidden = options.bodies == "none" || (options.bodies == "operator" && !is_operator)};
}

BodyPolicy Dashboard::Impl::policy_of(const Credential& credential, const std::string& hub) {
    const std::lock_guard lock(roles_mutex);
    const auto role = roles.find(credential.key);
    return role != roles.end() && role->second.hubs.contains(hub)
               ? policy_of(role->second.hubs.at(hub))
               : BodyPolicy{.redact = options.redact, .hidden = true};
}

// Of a hub that was asked for a moment ago. What is not known is hidden.
void Dashboard::Impl::hide_bodies(const Credential& credential, const std::string& hub,
                                  Json& answer) {
    const BodyPolicy policy = policy_of(credential, hub);
    if (!policy.changes_nothing()) {
        apply_policy(policy, answer);
    }
}

void Dashboard::Impl::forget_answers(const std::string& hub) {
    const std::lock_guard lock(answers_mutex);
    hub_changes[hub] = steady_ms();
    std::erase_if(answers, [&](const auto& entry) { return entry.second.hub == hub; });
}

Response Dashboard::Impl::read(const Session& session, const Route& route) {
    std::string key = session.credential->key + "\n" + route.hub + "\n" + route.read;
    for (const auto& id : route.ids) {
        key += "\n" + id;
    }
    for (const auto& [name, value] : route.query) {
        key += "\n" + name + "=" + value;
    }
    const std::int64_t begin = steady_ms();
    {
        const std::lock_guard lock(answers_mutex);
        const auto found = answers.find(key);
        if (found != answers.end() && begin - found->second.at_ms < kAnswersFor) {
            return found->second.response;
        }
    }
    ReadAnswer answer;
    BodyPolicy policy{.redact = options.redact};
    if (route.read == "series") {
        // The hub has to be one that the role may see.
        auto connection = database.lease(session.credential);
        hub_of(*connection, *session.credential, route.hub);
        answer.json =
            sampler->series(session.credential, route.hub, route.get("range"), route.get("queue"));
    } else if (route.read.starts_with("bulk_")) {
        return json_response(200, bulk_read(session, route));
    } else if (route.read == "glance") {
        answer.json = sampler->glance(session.credential, route.hub);
        hide_bodies(*session.credential, route.hub, answer.json);
    } else {
        auto connection = database.lease(session.credential);
        HubRights rights;
        Hub hub = hub_of(*connection, *session.credential, route.hub, &rights);
        const bool is_operator = rights.functions.contains("change_priority");
        policy = policy_of(rights);
        ReadRequest request{.hub = hub,
                            .route = route,
                            .is_operator = is_operator,
                            .shows_bodies = !policy.hidden,
                            .redact = options.redact};
        answer = run_read(request);
    }
    if (!policy.changes_nothing()) {
        apply_policy(policy, answer.json);
    }
    Response response;
    if (answer.is_download || route.get("format") == "jsonl") {
        std::string text = answer.download;
        if (!answer.is_download) {
            for (const auto& row : answer.json["rows"]) {
                text += json_text(row) + "\n";
            }
        }
        response = {.status = 200, .headers = common_headers(), .body = std::move(text)};
        response.headers[0].second = "sandbox";
        response.headers.emplace_back("Content-Type", "application/octet-stream");
        response.headers.emplace_back("Content-Disposition",
                                      answer.is_download ? "attachment; filename=\"body.txt\""
                                                         : "attachment; filename=\"belay.jsonl\"");
        response.headers.emplace_back("Cache-Control", "no-store");
        return response;
    }
    response = json_response(200, answer.json);
    const std::lock_guard lock(answers_mutex);
    if (hub_changes[route.hub] < begin && answers.size() < kMostAnswers) {
        answers[key] = {steady_ms(), route.hub, response};
    }
    return response;
}

Response Dashboard::Impl::act(const Session& session, const Route& route, const std::string& body) {
    const ActionCall call = parse_action(body);
    auto connection = database.lease(session.credential);
    HubRights rights;
    Hub hub = hub_of(*connection, *session.credential, route.hub, &rights);
    bool standby = false;
    {
        const std::lock_guard lock(roles_mutex);
        standby = roles[session.credential->key].standby;
    }
    if (call.dry_run) {
        Json described = describe(call, route.hub, may(rights, *call.action) && !standby);
        if (std::string_view(call.action->name) == "create_schedule") {
            described["next_ms"] = next_times(hub, call.args);
        }
        return json_response(200, described);
    }
    if (standby) {
        return json_response(409, {{"error", "failed"},
                                   {"sqlstate", "25006"},
                                   {"message", "this server is a standby, which is read-only"}});
    }
    const std::string key = session.id + "\n" + route.hub + "\n" + call.key;
    {
        const std::lock_guard lock(keys_mutex);
        const auto found = keys.find(key);
        if (found != keys.end()) {
            return found->second.finished
                       ? found->second.response
                       : problem(409, "in_progress", "the same request is being done");
        }
        if (keys.size() >= kMostKeys) {
            return problem(503, "busy", "too many actions within ten minutes");
        }
        keys[key] = {.at_ms = steady_ms(), .finished = false, .response = {}};
    }
    const auto finish = [&](Response response) {
        const std::lock_guard lock(keys_mutex);
        keys[key] = {.at_ms = steady_ms(), .finished = true, .response = response};
        return response;
    };
    try {
        Json answer = perform(hub, call);
        // What a function returns can have parts of bodies in it.
        const BodyPolicy policy = policy_of(rights);
        answer["result"] = policy.hidden
                               ? Json("")
                               : Json(redacted(answer["result"].get<std::string>(), policy.redact));
        forget_answers(route.hub);
        return finish(json_response(200, answer));
    } catch (const Error& error) {
        forget_answers(route.hub);
        return finish(problem(error, call.action->level));
    } catch (...) {
        const std::lock_guard lock(keys_mutex);
        keys.erase(key);
        throw;
    }
}

// ---- Many at once. ----

// A job as those see it who may not look into bodies.
static Json shown_job(Json job, const BodyPolicy& policy) {
    Json filter = Json::parse(job["filter"].get<std::string>(), nullptr, false);
    if (!policy.changes_nothing() && filter.is_object()) {
        hide_body_filters(filter);
        job["filter"] = json_text(filter);
    }
    return job;
}

Json Dashboard::Impl::bulk_read(const Session& session, const Route& route) {
    auto connection = database.lease(session.credential);
    HubRights rights;
    hub_of(*connection, *session.credential, route.hub, &rights);
    if (!rights.functions.contains("browse_tasks")) {
        throw NotFound("bulk jobs are shown with level monitor");
    }
    if (route.read == "bulk_job") {
        return shown_job(bulk->find(route.hub, route.ids[0]), policy_of(rights));
    }
    Json rows = bulk->list(route.hub);
    for (auto& row : rows) {
        row = shown_job(std::move(row), policy_of(rights));
    }
    return {{"at_ms", system_ms()}, {"took_ms", 0},    {"sql", ""},
            {"rows", rows},         {"next", nullptr}, {"scanned", rows.size()},
            {"estimate", nullptr},  {"upto", nullptr}};
}

Response Dashboard::Impl::act_on_many(const Session& session, const Route& route,
                                      const std::string& body) {
    auto connection = database.lease(session.credential);
    HubRights rights;
    Hub hub = hub_of(*connection, *session.credential, route.hub, &rights);
    const Role role = role_of(*connection, *session.credential);
    const auto refuse = [](const BulkCall& call) {
        return json_response(
            403, {{"error", "insufficient_privilege"},
                  {"sqlstate", "42501"},
                  {"message", std::string("permission denied for function ") + call.bulk->function},
                  {"hint", call.action->level}});
    };
    if (!route.ids.empty()) {
        const BulkCall call = bulk->call_of(route.hub, route.ids[0]);
        if (!may_on_many(rights, *call.bulk)) {
            return refuse(call);
        }
        if (route.ids[1] == "stop") {
            return json_response(
                200, shown_job(bulk->stop_job(route.hub, route.ids[0]), policy_of(rights)));
        }
        const Json given = Json::parse(body, nullptr, false);
        const std::string key = given.is_object() ? given.value("key", "") : "";
        if (key.empty()) {
            throw BadRequest("the request has no key");
        }
        refuse_body_filters(call.filter, policy_of(rights).changes_nothing());
        return json_response(200, bulk->go_on(session.credential, session.id, route.hub, role.user,
                                              route.ids[0], key));
    }
    const BulkCall call = parse_bulk(body);
    refuse_body_filters(call.filter, policy_of(rights).changes_nothing());
    const bool allowed = may_on_many(rights, *call.bulk) && !role.standby;
    if (!call.dry_run && !allowed) {
        return refuse(call);
    }
    const Json found = describe_bulk(hub, call, allowed);
    if (call.dry_run) {
        return json_response(200, found);
    }
    return json_response(200, bulk->start(session.credential, session.id, route.hub, role.user,
                                          call, found["count"]));
}

}  // namespace belay::tool::dashboard
