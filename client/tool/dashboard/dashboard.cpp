#include "dashboard.hpp"

#include <fcntl.h>
#include <libpq-fe.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <set>

#include "actions.hpp"
#include "api_reads.hpp"
#include "assets.hpp"
#include "bodies.hpp"
#include "database.hpp"
#include "http_server.hpp"
#include "sampler.hpp"
#include "streams.hpp"
#include "tool.hpp"
#include "waiter.hpp"

namespace belay::tool::dashboard {

struct ListenAddress {
    std::string address = {};
    unsigned short port = 0;
    std::string unix_path = {};
};

// What a role may do with a hub.
struct HubRights {
    Rights rights = Rights::kOwn;
    bool exists = false;
    std::string owner = {};
    std::int64_t version = 0;
    bool current = false;
    bool is_owner = false;
    std::set<std::string> functions = {};  // that it may call
};

struct Role {
    std::string user = {};
    bool standby = false;
    bool preloaded = false;
    std::string server = {};
    std::string library = {};
    std::map<std::string, HubRights> hubs = {};
    std::int64_t asked_ms = 0;
};

namespace {

constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for "
    "'script'; trusted-types 'none'";
constexpr std::int64_t kRightsFor = 60000;  // ms that rights are remembered
constexpr std::int64_t kAnswersFor = 900;   // ms that an answer is given to others, too
constexpr std::int64_t kKeysFor = 600000;   // ms that a repeated request gets the first answer
constexpr std::size_t kMostAnswers = 200;
constexpr std::size_t kMostKeys = 10000;

using Headers = std::vector<std::pair<std::string, std::string>>;

Headers common_headers() {
    return {{"Content-Security-Policy", kPolicy},
            {"X-Content-Type-Options", "nosniff"},
            {"Referrer-Policy", "no-referrer"},
            {"Cross-Origin-Opener-Policy", "same-origin"},
            {"Cross-Origin-Resource-Policy", "same-origin"},
            {"Permissions-Policy",
             "camera=(), geolocation=(), microphone=(), payment=(), usb=(), clipboard-read=()"}};
}

Response json_response(int status, const Json& json) {
    Response response{.status = status, .headers = common_headers(), .body = json_text(json)};
    response.headers.emplace_back("Content-Type", "application/json");
    response.headers.emplace_back("Cache-Control", "no-store");
    return response;
}

Response problem(int status, const std::string& word, const std::string& message) {
    return json_response(status, {{"error", word}, {"message", message}});
}

// What a failed call of the database is to the page. Never with a connection string: libpq's own
// messages can name hosts and users.
Response problem(const Error& error, const std::string& level) {
    const std::string state(error.sqlstate());
    if (error.connection_lost() || state.empty() || state.starts_with("08") ||
        state.starts_with("57P") || state.starts_with("28") || state.starts_with("53")) {
        return json_response(
            error.outcome_unknown() ? 504 : 503,
            {{"error", "database_away"}, {"message", "the database cannot be reached"}});
    }
    const bool known = state == "QB002" || state == "3F000" || state == "42P01";
    const int status = state == "42501"                              ? 403
                       : state == "57014"                            ? 504
                       : state == "QB002"                            ? 404
                       : state == "QB006" || state.starts_with("22") ? 400
                       : known                                       ? 404
                                                                     : 409;
    Json json = {{"error", state == "42501"   ? "insufficient_privilege"
                           : state == "57014" ? "timed_out"
                           : status == 404    ? "not_found"
                           : status == 400    ? "refused"
                                              : "failed"},
                 {"sqlstate", state},
                 {"message", error.what()}};
    if (!error.detail().empty()) {
        json["detail"] = error.detail();
    }
    if (state == "42501") {
        json["hint"] = level;
    } else if (!error.hint().empty()) {
        json["hint"] = error.hint();
    }
    return json_response(status, json);
}

// host:port of a URL, without its scheme and path; in lower case.
std::string host_of(std::string_view url) {
    const std::size_t scheme = url.find("://");
    std::string_view host = scheme == std::string_view::npos ? url : url.substr(scheme + 3);
    host = host.substr(0, host.find('/'));
    std::string lower(host);
    std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
    return lower;
}

ListenAddress parse_listen(const std::string& text) {
    if (text.starts_with("unix:")) {
        if (text.size() == 5) {
            throw UsageError("--listen unix: needs a path");
        }
        return {.unix_path = text.substr(5)};
    }
    const std::size_t colon = text.rfind(':');
    std::string address = text.substr(0, colon);
    if (colon == std::string::npos || address.empty()) {
        throw UsageError("--listen takes ADDRESS:PORT or unix:PATH");
    }
    if (address.starts_with('[') && address.ends_with(']')) {
        address = address.substr(1, address.size() - 2);
    }
    if (address == "localhost") {
        address = "127.0.0.1";
    }
    try {
        return {
            .address = address,
            .port = static_cast<unsigned short>(parse_integer(text.substr(colon + 1), 0, 65535))};
    } catch (const Error&) {
        throw UsageError("--listen: \"" + text.substr(colon + 1) + "\" is no port");
    }
}

bool is_loopback(const std::string& address) {
    return address.starts_with("127.") || address == "::1";
}

std::string cookie_of(const Request& request, const std::string& name) {
    const std::string& all = request.header("cookie");
    for (std::size_t from = 0; from < all.size();) {
        std::size_t end = all.find(';', from);
        end = end == std::string::npos ? all.size() : end;
        while (from < end && all[from] == ' ') {
            ++from;
        }
        const std::string_view pair(all.data() + from, end - from);
        if (pair.size() > name.size() && pair.starts_with(name) && pair[name.size()] == '=') {
            return std::string(pair.substr(name.size() + 1));
        }
        from = end + 1;
    }
    return "";
}

std::vector<std::string> levels_of(const HubRights& hub) {
    std::vector<std::string> levels;
    const auto add = [&](const char* level, const char* function) {
        if (hub.functions.contains(function)) {
            levels.emplace_back(level);
        }
    };
    add("client", "create_task");
    add("worker", "claim_tasks");
    add("monitor", "list_tasks");
    add("operator", "change_priority");
    if (hub.is_owner) {
        levels.emplace_back("owner");
    }
    return levels;
}

bool may(const HubRights& hub, const Action& action) {
    const std::string_view function = action.function;
    if (function.starts_with("belay.")) {
        return hub.is_owner;
    }
    // Workers may cancel with their lease; here it is the operator's right.
    return hub.functions.contains(std::string(function)) &&
           (std::string_view(action.level) != "operator" ||
            hub.functions.contains("change_priority"));
}

// Asks the server who we are and what we may do, with statements of the catalogue only.
Role ask_role(Connection& connection, const std::vector<std::string>& wanted) {
    Role role{.asked_ms = steady_ms()};
    const Result self = connection.call(
        Effect::kRepeatable,
        "SELECT current_user, pg_is_in_recovery(), current_setting('server_version'), "
        "belay.version(), NOT EXISTS (SELECT FROM belay.hubs) OR EXISTS (SELECT FROM "
        "belay.pg_stat_belay_queue)");
    role.user = self.get<std::string>(0, 0);
    role.standby = self.get<bool>(0, 1);
    role.server = self.get<std::string>(0, 2);
    role.library = self.get<std::string>(0, 3);
    // Without shared memory there are no counters.
    role.preloaded = self.get<bool>(0, 4);
    Admin admin(connection);
    for (const auto& info : admin.hubs()) {
        if (!wanted.empty() && std::ranges::find(wanted, info.name) == wanted.end()) {
            continue;
        }
        HubRights hub{.exists = true, .owner = info.owner, .current = info.is_current};
        hub.version = parse_integer(info.version, 0, INT32_MAX);
        const Result functions = connection.call(
            Effect::kRepeatable,
            "SELECT DISTINCT p.proname FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = "
            "p.pronamespace WHERE n.nspname = $1::name AND has_schema_privilege(n.oid, 'USAGE') "
            "AND has_function_privilege(p.oid, 'EXECUTE')",
            {info.name});
        for (int i = 0; i < functions.size(); ++i) {
            hub.functions.insert(functions.get<std::string>(i, 0));
        }
        hub.is_owner = connection
                           .call(Effect::kRepeatable,
                                 "SELECT pg_has_role(current_user, oid, 'USAGE') FROM pg_roles "
                                 "WHERE rolname = $1::name",
                                 {info.owner})
                           .get<bool>(0, 0);
        hub.rights = admin.rights_on(info.name);
        role.hubs[info.name] = std::move(hub);
    }
    return role;
}

}  // namespace

struct Dashboard::Impl {
    Options options;
    ListenAddress listen;
    std::string token_;
    std::string proxy_secret;
    std::shared_ptr<const Credential> shared;  // of the DSN
    std::set<std::string> hosts;               // that we are
    std::set<std::string> origins;
    std::string cookie;
    bool https = false;

    Sessions sessions;
    std::mutex login_mutex;
    LoginLimits logins;
    Database database;
    Streams streams;
    std::unique_ptr<HttpServer> server;
    std::unique_ptr<Jobs> jobs;
    std::unique_ptr<Sampler> sampler;
    std::unique_ptr<Waiter> waiter;

    std::mutex roles_mutex;
    std::map<std::string, Role> roles;  // by credential

    struct Answer {
        std::int64_t at_ms;
        std::string hub;
        Response response;
    };
    std::mutex answers_mutex;
    std::map<std::string, Answer> answers;  // of reads, by credential and target
    std::map<std::string, std::int64_t> hub_changes;

    struct Done {
        std::int64_t at_ms;
        bool finished = false;
        Response response;
    };
    std::mutex keys_mutex;
    std::map<std::string, Done> keys;  // of actions

    explicit Impl(Options given)
        : options(std::move(given)),
          database(static_cast<std::size_t>(std::max(2, options.max_connections))) {}

    void start();
    void set_up_hosts();
    void set_up_secrets();
    std::optional<Response> judge(const Request& request);
    void handle(Request request, Reply reply);
    std::optional<Session> session_of(const Request& request);
    Role role_of(Connection& connection, const Credential& credential, bool fresh = false);
    Hub hub_of(Connection& connection, const Credential& credential, const std::string& name,
               HubRights* rights = nullptr);
    void forget_answers(const std::string& hub);

    Response shell();
    Response asset(const Request& request, const Route& route);
    void log_in(const Request& request, const Reply& reply);
    Response begin_session(std::shared_ptr<const Credential> credential, const std::string& user);
    Response log_out(const Session& session);
    Response me(const Session& session);
    Response hubs(const Session& session);
    Response read(const Session& session, const Route& route);
    Response act(const Session& session, const Route& route, const std::string& body);
    Response stream(const Session& session);
    Response watch(const Session& session, const Route& route, const std::string& body);
    // Runs body in a database thread, and makes an answer of what it throws.
    void in_thread(const Reply& reply, const std::string& level, std::function<Response()> body);
    void tidy();
    std::string set_cookie(const std::string& value, int seconds) const;
    void log(const Request& request, int status) const;
};

void Dashboard::Impl::set_up_hosts() {
    const std::string& url = options.public_url;
    if (!url.empty()) {
        https = url.starts_with("https://");
        if (!https && !url.starts_with("http://")) {
            throw UsageError("--public-url begins with https:// or http://");
        }
        hosts.insert(host_of(url));
        origins.insert((https ? "https://" : "http://") + host_of(url));
    }
    if (listen.unix_path.empty() && !is_loopback(listen.address)) {
        if (!https) {
            throw UsageError("listening on " + listen.address + " needs --public-url https://...",
                             "A proxy with TLS has to be in front: see docs/dashboard.md.");
        }
        if (options.login == "token") {
            throw UsageError("listening on " + listen.address +
                             " needs --login postgres or --login proxy");
        }
    }
    if (!options.base_path.empty() &&
        (!options.base_path.starts_with('/') || options.base_path.ends_with('/') ||
         options.base_path.find_first_of("?#\\\"'<> ;") != std::string::npos)) {
        throw UsageError("--base-path begins with a slash and does not end with one");
    }
}

void Dashboard::Impl::set_up_secrets() {
    if (options.login == "token") {
        token_ = random_secret();
        if (!options.token_file.empty()) {
            const int file = ::open(options.token_file.c_str(),
                                    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
            const std::string line = token_ + "\n";
            const bool good =
                file >= 0 && fchmod(file, 0600) == 0 &&
                ::write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size());
            if (file >= 0) {
                ::close(file);
            }
            if (!good) {
                throw std::runtime_error("cannot write " + options.token_file);
            }
        }
    } else if (options.login == "proxy") {
        if (!options.token_file.empty()) {
            std::ifstream file(options.token_file);
            std::getline(file, proxy_secret);
        }
        if (proxy_secret.size() < 16 && listen.unix_path.empty()) {
            throw UsageError(
                "--login proxy needs a Unix socket, or --token-file with a secret of 16 characters "
                "or more",
                "The proxy sends it as X-Belay-Proxy-Secret.");
        }
    }
}

void Dashboard::Impl::start() {
    listen = parse_listen(options.listen);
    set_up_hosts();
    set_up_secrets();
    shared = std::make_shared<Credential>(
        Credential{.key = "dsn", .conninfo = dashboard_conninfo(options.dsn)});
    ServerOptions server_options{
        .address = listen.address, .port = listen.port, .unix_path = listen.unix_path};
    server_options.judge = [this](const Request& request) {
        auto refusal = judge(request);
        if (refusal) {
            log(request, refusal->status);
        }
        return refusal;
    };
    server_options.handle = [this](Request request, Reply reply) {
        handle(std::move(request), std::move(reply));
    };
    server_options.refuse = [](int status, const std::string& word) {
        return problem(status, word, "the request was refused");
    };
    server = std::make_unique<HttpServer>(std::move(server_options));
    const std::string port = std::to_string(server->port());
    cookie = "belay_session_" + port;
    if (listen.unix_path.empty()) {
        for (const std::string& host :
             {listen.address.find(':') == std::string::npos ? listen.address
                                                            : "[" + listen.address + "]",
              std::string("localhost")}) {
            hosts.insert(host + ":" + port);
            origins.insert("http://" + host + ":" + port);
        }
    } else if (hosts.empty()) {
        hosts.insert("localhost");
        origins.insert("http://localhost");
    }
    jobs = std::make_unique<Jobs>(4, 64);
    const FindHub find_hub = [this](Connection& connection, const Credential& credential,
                                    const std::string& name) {
        return hub_of(connection, credential, name);
    };
    sampler = std::make_unique<Sampler>(database, streams, find_hub);
    waiter = std::make_unique<Waiter>(database, streams, *sampler, find_hub,
                                      [this](const std::string& hub) { forget_answers(hub); });
    server->every(std::chrono::seconds(10), [this] { tidy(); });
}

void Dashboard::Impl::log(const Request& request, int status) const {
    if (options.log) {
        // Without the query: it can have what a user looks for.
        std::cerr << printable(request.method + " " +
                               request.target.substr(0, request.target.find('?')) + " " +
                               std::to_string(status))
                  << "\n";
    }
}

void Dashboard::Impl::tidy() {
    const std::int64_t now = steady_ms();
    std::vector<std::string> ended;
    for (const auto& credential : sessions.expire(now, ended)) {
        database.close_idle(*credential);
    }
    for (const auto& session : ended) {
        streams.end_session(session);
    }
    database.close_idle(now, 30000);
    {
        const std::lock_guard lock(answers_mutex);
        std::erase_if(answers,
                      [&](const auto& entry) { return now - entry.second.at_ms > kAnswersFor; });
    }
    const std::lock_guard lock(keys_mutex);
    std::erase_if(keys, [&](const auto& entry) { return now - entry.second.at_ms > kKeysFor; });
}

std::optional<Session> Dashboard::Impl::session_of(const Request& request) {
    const std::string id = cookie_of(request, cookie);
    auto session = id.empty() ? std::nullopt : sessions.find(id, steady_ms());
    // Who the proxy says is there has to be who began the session.
    if (session && options.login == "proxy" && session->user != request.header("x-remote-user")) {
        return std::nullopt;
    }
    return session;
}

// Everything that can be told without the body.
std::optional<Response> Dashboard::Impl::judge(const Request& request) {
    std::string host = request.header("host");
    std::ranges::transform(host, host.begin(), [](unsigned char c) { return std::tolower(c); });
    if (!hosts.contains(host)) {
        return problem(421, "wrong_host", "this server is not called that");
    }
    if (options.login == "proxy" && !proxy_secret.empty() &&
        !equals_secret(request.header("x-belay-proxy-secret"), proxy_secret)) {
        return problem(403, "proxy", "the request did not come through the proxy");
    }
    const Route route = find_route(request.method, request.target, options.base_path);
    if (route.status != 200) {
        Response response = problem(route.status,
                                    route.status == 404   ? "no_route"
                                    : route.status == 405 ? "method"
                                                          : "query",
                                    "there is no such route");
        if (!route.allow.empty()) {
            response.headers.emplace_back("Allow", route.allow);
        }
        return response;
    }
    if (!route.is_api()) {
        return std::nullopt;
    }
    const std::string& site = request.header("sec-fetch-site");
    if (site == "cross-site") {
        return problem(403, "cross_site", "requests of other sites are refused");
    }
    if (route.changes()) {
        const std::string& type = request.header("content-type");
        if (type != "application/json" && !type.starts_with("application/json;")) {
            return problem(403, "content_type", "the body has to be application/json");
        }
        if (!origins.contains(request.header("origin"))) {
            return problem(403, "origin", "the request comes from another origin");
        }
    }
    if (route.place == Place::kLogIn) {
        return std::nullopt;
    }
    const auto session = session_of(request);
    if (!session) {
        // With a proxy the first question who we are begins the session.
        if (options.login == "proxy" && route.place == Place::kMe &&
            !request.header("x-remote-user").empty()) {
            return std::nullopt;
        }
        return problem(401, "no_session", "no session");
    }
    if (!sessions.may_request(session->id, steady_ms())) {
        Response response = problem(429, "too_many_requests", "more than 50 requests a second");
        response.headers.emplace_back("Retry-After", "1");
        return response;
    }
    if (route.changes() && !equals_secret(request.header("x-belay-csrf"), session->csrf)) {
        return problem(403, "csrf", "the token of the session is missing");
    }
    if (route.place == Place::kActions && options.read_only) {
        return problem(403, "read_only", "this dashboard is read-only");
    }
    return std::nullopt;
}

void Dashboard::Impl::in_thread(const Reply& reply, const std::string& level,
                                std::function<Response()> body) {
    const bool added = jobs->add([reply, level, body = std::move(body)] {
        Response response;
        try {
            response = body();
        } catch (const Error& error) {
            response = problem(error, level);
        } catch (const NotFound& error) {
            response = problem(404, "not_found", error.what());
        } catch (const BadRequest& error) {
            response = problem(400, "bad_request", error.what());
        } catch (const NotAvailable& error) {
            response = problem(409, "not_available", error.what());
        } catch (const Busy& error) {
            response = problem(503, "busy", error.what());
            response.headers.emplace_back("Retry-After", "1");
        } catch (const std::exception&) {
            response = problem(500, "failed", "the dashboard failed to answer");
        }
        reply(std::move(response));
    });
    if (!added) {
        Response response = problem(503, "busy", "too many requests wait for the database");
        response.headers.emplace_back("Retry-After", "1");
        reply(std::move(response));
    }
}

void Dashboard::Impl::handle(Request request, Reply answer) {
    const Route route = find_route(request.method, request.target, options.base_path);
    Reply reply = std::move(answer);
    if (options.log) {
        reply = [this, reply,
                 head = Request{.method = request.method,
                                .target = request.target,
                                .headers = {},
                                .body = {},
                                .peer = {}}](Response response) {
            log(head, response.status);
            reply(std::move(response));
        };
    }
    switch (route.place) {
        case Place::kHealth:
            return reply(
                {.status = 200,
                 .headers = {{"Content-Type", "text/plain"}, {"Cache-Control", "no-store"}},
                 .body = "ok"});
        case Place::kShell:
            return reply(shell());
        case Place::kAsset:
            return reply(asset(request, route));
        case Place::kLogIn:
            return log_in(request, reply);
        default:
            break;
    }
    auto session = session_of(request);
    if (!session && options.login == "proxy" && route.place == Place::kMe) {
        return log_in(request, reply);
    }
    if (!session) {
        return reply(problem(401, "no_session", "no session"));
    }
    switch (route.place) {
        case Place::kLogOut:
            return reply(log_out(*session));
        case Place::kMe:
            return in_thread(reply, "", [this, session] { return me(*session); });
        case Place::kHubs:
            return in_thread(reply, "", [this, session] { return hubs(*session); });
        case Place::kRead:
            return in_thread(reply, level_of_read(route.read),
                             [this, session, route] { return read(*session, route); });
        case Place::kActions:
            return in_thread(reply, "operator",
                             [this, session, route, body = std::move(request.body)] {
                                 return act(*session, route, body);
                             });
        case Place::kStream:
            return reply(stream(*session));
        case Place::kWatch:
            return in_thread(reply, "", [this, session, route, body = std::move(request.body)] {
                return watch(*session, route, body);
            });
        default:
            return reply(problem(404, "no_route", "there is no such route"));
    }
}

// ---- Pages. ----

Response Dashboard::Impl::shell() {
    const Asset* index = find_asset("index.html");
    if (index == nullptr) {
        return problem(404, "no_front_end", "this program was built without the front end");
    }
    std::string text(index->content);
    const std::string where = options.base_path + "/assets/" + std::string(assets_hash());
    for (std::size_t at = 0; (at = text.find("@assets@", at)) != std::string::npos;) {
        text.replace(at, 8, where);
        at += where.size();
    }
    Response response{.status = 200, .headers = common_headers(), .body = std::move(text)};
    response.headers.emplace_back("Content-Type", "text/html; charset=utf-8");
    response.headers.emplace_back("Cache-Control", "no-cache");
    return response;
}

Response Dashboard::Impl::asset(const Request& request, const Route& route) {
    const Asset* found = route.ids[0] == assets_hash() && route.ids[1] != "index.html"
                             ? find_asset(route.ids[1])
                             : nullptr;
    if (found == nullptr) {
        return problem(404, "not_found", "there is no such file");
    }
    const std::string& accepted = request.header("accept-encoding");
    if (!accepted.empty() && accepted.find("gzip") == std::string::npos &&
        accepted.find('*') == std::string::npos) {
        return problem(406, "gzip", "the files are there with Content-Encoding gzip only");
    }
    Response response{
        .status = 200, .headers = common_headers(), .body = std::string(found->content)};
    response.headers.emplace_back("Content-Type", std::string(content_type(found->name)));
    response.headers.emplace_back("Content-Encoding", "gzip");
    response.headers.emplace_back("Cache-Control", "public, max-age=31536000, immutable");
    return response;
}

// ---- Sessions. ----

std::string Dashboard::Impl::set_cookie(const std::string& value, int seconds) const {
    return cookie + "=" + value + "; HttpOnly; SameSite=Strict; Path=" +
           (options.base_path.empty() ? "/" : options.base_path) + (https ? "; Secure" : "") +
           (seconds == 0 ? "; Max-Age=0" : "");
}

Response Dashboard::Impl::begin_session(std::shared_ptr<const Credential> credential,
                                        const std::string& user) {
    const Session session = sessions.begin(std::move(credential), user, steady_ms());
    Response response = json_response(200, {{"csrf", session.csrf}});
    response.headers.emplace_back("Set-Cookie", set_cookie(session.id, -1));
    return response;
}

void Dashboard::Impl::log_in(const Request& request, const Reply& reply) {
    const std::string peer = request.peer;
    {
        const std::lock_guard lock(login_mutex);
        const std::int64_t wait = logins.wait_ms(peer, steady_ms());
        if (wait > 0) {
            Response response = problem(429, "too_many_logins", "too many logins have failed");
            response.headers.emplace_back("Retry-After", std::to_string((wait + 999) / 1000));
            return reply(std::move(response));
        }
    }
    const auto refuse = [this, peer] {
        const std::lock_guard lock(login_mutex);
        logins.failed(peer, steady_ms());
        return problem(401, "login", "the login was refused");
    };
    if (options.login == "proxy") {
        const std::string user = request.header("x-remote-user");
        if (user.empty()) {
            return reply(refuse());
        }
        auto credential = std::make_shared<Credential>(
            Credential{.key = "proxy:" + user, .conninfo = dashboard_conninfo(options.dsn, user)});
        return in_thread(reply, "", [this, user, credential, refuse] {
            try {
                auto connection = database.lease(credential);
                const Session session = sessions.begin(credential, user, steady_ms());
                Response response = me(session);
                response.headers.emplace_back("Set-Cookie", set_cookie(session.id, -1));
                return response;
            } catch (const Error&) {
                // The role does not exist, or the DSN's is no member of it; unless the database is
                // away, which a connection without the role tells.
                auto connection = database.lease(shared);
                return refuse();
            }
        });
    }
    const Json body = Json::parse(request.body, nullptr, false);
    const auto text = [&](const char* key) {
        return body.is_object() && body.contains(key) && body[key].is_string()
                   ? body[key].get<std::string>()
                   : std::string();
    };
    const std::size_t fields = body.is_object() ? body.size() : 0;
    if (options.login == "token") {
        if (fields != 1 || !equals_secret(text("token"), token_)) {
            return reply(refuse());
        }
        const std::lock_guard lock(login_mutex);
        logins.succeeded(peer);
        return reply(begin_session(shared, ""));
    }
    const std::string user = text("user");
    const std::string password = text("password");
    if (fields != 2 || user.empty() || password.empty() ||
        (user + password).find('\0') != std::string::npos) {
        return reply(refuse());
    }
    in_thread(reply, "", [this, peer, user, password, refuse] {
        // A key of its own: two sessions of one role do not share a password.
        const auto credential = std::make_shared<Credential>(
            Credential{.key = "postgres:" + random_secret(),
                       .conninfo = changed_conninfo(dashboard_conninfo(options.dsn),
                                                    {{"user", user}, {"password", password}}),
                       .needs_password = true});
        try {
            auto connection = database.lease(credential);
        } catch (const Error& error) {
            const std::string state(error.sqlstate());
            // libpq knows the state of a refused login from version 14 on by its text only: what
            // the server said is not shown, so all refusals look the same.
            if (state.starts_with("08") &&
                std::string_view(error.what()).find("could not") != std::string_view::npos) {
                throw;
            }
            return refuse();
        }
        const std::lock_guard lock(login_mutex);
        logins.succeeded(peer);
        return begin_session(credential, user);
    });
}

Response Dashboard::Impl::log_out(const Session& session) {
    streams.end_session(session.id);
    if (sessions.end(session.id)) {
        database.close_idle(*session.credential);
    }
    Response response = json_response(200, Json::object());
    response.headers.emplace_back("Set-Cookie", set_cookie("", 0));
    return response;
}

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
        all[name] = {{"levels", levels_of(hub)},
                     {"actions", allowed},
                     {"version", hub.version},
                     {"current", hub.current},
                     {"missing", Json::array()}};
    }
    return json_response(200, {{"at_ms", system_ms()},
                               {"user", role.user},
                               {"login", options.login},
                               {"csrf", session.csrf},
                               {"read_only", options.read_only},
                               {"standby", role.standby},
                               {"preloaded", role.preloaded},
                               {"bodies", options.bodies},
                               {"bulk", false},
                               {"versions",
                                {{"dashboard", std::string(front_end_version())},
                                 {"library", role.library},
                                 {"server", role.server}}},
                               {"actions", table},
                               {"hubs", all}});
}

Response Dashboard::Impl::hubs(const Session& session) {
    auto connection = database.lease(session.credential);
    const Role role = role_of(*connection, *session.credential);
    constexpr const char* sql =
        "SELECT json_build_object('at_ms', (extract(epoch FROM clock_timestamp()) * 1000)::bigint, "
        "'rows', coalesce(json_agg(json_build_object('name', h.name, 'owner', h.owner, 'version', "
        "h.version, 'current', h.is_current, 'paused_queues', h.paused_queues, 'size_bytes', "
        "h.size_bytes, 'leases', s.leases, 'waiters', s.waiters, 'oldest_ready_ms', "
        "s.oldest_ready_ms, 'dead', NULL, 'rates', NULL, 'spark', '[]'::json) ORDER BY h.name), "
        "'[]')) FROM belay.hubs AS h LEFT JOIN belay.pg_stat_belay_hub AS s ON s.hub = h.name";
    const std::int64_t begin = steady_ms();
    Json answer = Json::parse(connection->call(Effect::kRepeatable, sql).get<std::string>(0, 0));
    auto& rows = answer["rows"];
    rows.erase(std::remove_if(rows.begin(), rows.end(),
                              [&](const Json& row) {
                                  return !role.hubs.contains(row["name"].get<std::string>());
                              }),
               rows.end());
    answer["took_ms"] = steady_ms() - begin;
    answer["sql"] = "SELECT * FROM belay.hubs LEFT JOIN belay.pg_stat_belay_hub ON hub = name;";
    return json_response(200, answer);
}

// ---- Reads and actions. ----

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
        answer.json = sampler->series(*session.credential, route.hub, route.get("range"));
    } else if (route.read == "glance") {
        answer.json = sampler->glance(session.credential, route.hub);
    } else {
        auto connection = database.lease(session.credential);
        HubRights rights;
        Hub hub = hub_of(*connection, *session.credential, route.hub, &rights);
        const bool is_operator = rights.functions.contains("change_priority");
        policy.hidden = options.bodies == "none" || (options.bodies == "operator" && !is_operator);
        ReadRequest request{
            .hub = hub, .route = route, .is_operator = is_operator, .shows_bodies = !policy.hidden};
        answer = run_read(request);
    }
    if (!policy.changes_nothing()) {
        apply_policy(policy, answer.json);
        answer.download = redacted(answer.download, policy.redact);
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
    if (call.dry_run) {
        bool standby = false;
        {
            const std::lock_guard lock(roles_mutex);
            standby = roles[session.credential->key].standby;
        }
        return json_response(200, describe(call, route.hub, may(rights, *call.action) && !standby));
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
        const Json answer = perform(hub, call);
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

// ---- Streams. ----

Response Dashboard::Impl::stream(const Session& session) {
    if (!sessions.take_stream(session.id)) {
        return problem(429, "too_many_streams", "a session has at most 8 streams");
    }
    Response response{.status = 200, .headers = common_headers()};
    response.headers.emplace_back("Content-Type", "text/event-stream");
    response.headers.emplace_back("Cache-Control", "no-store");
    response.headers.emplace_back("X-Accel-Buffering", "no");
    const auto id = std::make_shared<std::string>();
    response.on_stream = [this, session, id](std::shared_ptr<EventStream> opened) {
        *id = streams.open(session, opened);
        opened->send(
            "retry: 2000\n" +
            event_text("hello", {{"version", std::string(front_end_version())}, {"id", *id}}));
    };
    response.on_stream_end = [this, id, session] {
        streams.closed(*id);
        sessions.give_stream(session.id);
        sampler->wake();
        waiter->wake();
    };
    return response;
}

Response Dashboard::Impl::watch(const Session& session, const Route& route,
                                const std::string& body) {
    const Json json = Json::parse(body, nullptr, false);
    if (!json.is_object()) {
        throw BadRequest("the body is no JSON object");
    }
    std::set<std::string> hubs;
    {
        auto connection = database.lease(session.credential);
        for (const auto& [name, hub] : role_of(*connection, *session.credential).hubs) {
            hubs.insert(name);
        }
    }
    std::vector<Want> add;
    std::vector<Want> remove;
    for (const auto& [key, list] : json.items()) {
        if ((key != "add" && key != "remove") || !list.is_array() || list.size() > 200) {
            throw BadRequest("the body has an unknown or malformed key \"" + key + "\"");
        }
        for (const auto& text : list) {
            if (!text.is_string()) {
                throw BadRequest("a watch is a string");
            }
            if (const auto want = parse_want(text.get<std::string>(), hubs)) {
                (key == "add" ? add : remove).push_back(*want);
            }
        }
    }
    if (!streams.watch(route.ids[0], session.id, add, remove)) {
        throw NotFound("there is no such stream");
    }
    sampler->wake();
    waiter->wake();
    return json_response(200, Json::object());
}

// ---- The whole. ----

Dashboard::Dashboard(Options options) : impl_(std::make_unique<Impl>(std::move(options))) {
    impl_->start();
}

Dashboard::~Dashboard() = default;

void Dashboard::run() {
    impl_->server->run();
    impl_->jobs->stop();
    impl_->waiter->stop();
    impl_->sampler->stop();
}

void Dashboard::stop() noexcept {
    impl_->streams.end_all();
    impl_->server->stop();
}

std::string Dashboard::url() const {
    const auto& listen = impl_->listen;
    if (!impl_->options.public_url.empty()) {
        return impl_->options.public_url;
    }
    if (!listen.unix_path.empty()) {
        return "unix:" + listen.unix_path;
    }
    const bool v6 = listen.address.find(':') != std::string::npos;
    return "http://" + (v6 ? "[" + listen.address + "]" : listen.address) + ":" +
           std::to_string(impl_->server->port()) + impl_->options.base_path + "/";
}

const std::string& Dashboard::token() const {
    return impl_->token_;
}

unsigned short Dashboard::port() const {
    return impl_->server->port();
}

std::size_t Dashboard::connections() const {
    return impl_->database.size();
}

int check_dashboard(const Options& options) {
    Role role;
    try {
        Connection connection({.conninfo = dashboard_conninfo(options.dsn),
                               .async_leases = false,
                               .reconnect_timeout = std::chrono::milliseconds(0)});
        role = ask_role(connection, options.hubs);
    } catch (const Error& error) {
        std::cout << "database: " << printable(error.what()) << "\n";
        return 1;
    }
    std::cout << "front end: "
              << (assets().empty() ? "none: this program was built without it"
                                   : std::string(assets_hash()))
              << "\nrole: " << printable(role.user) << "\nserver: PostgreSQL " << role.server
              << ", belay " << role.library
              << (role.standby ? ", standby: nothing can be changed" : "") << "\nshared memory: "
              << (role.preloaded ? "yes"
                                 : "no: rates, live waits and latencies are off; preload belay")
              << "\n";
    bool sees = !assets().empty();
    for (const auto& [name, hub] : role.hubs) {
        const auto levels = levels_of(hub);
        std::string list;
        for (const auto& level : levels) {
            list += (list.empty() ? "" : ", ") + level;
        }
        const auto has = [&](const char* function) { return hub.functions.contains(function); };
        std::cout << "hub " << printable(name) << ": " << (list.empty() ? "no level" : list)
                  << (hub.rights == Rights::kOwner ? "; with the rights of its owner" : "")
                  << (hub.current ? "" : "; of an older version: belay.upgrade_hub") << "\n"
                  << "  overview, tasks, flows, orchestrations, schedules, health: "
                  << (has("list_tasks") ? "yes" : "no: needs level monitor") << "\n"
                  << "  dead letters, work items: "
                  << (has("list_work_items") ? "yes" : "no: needs level operator") << "\n"
                  << "  messages: " << (hub.is_owner ? "yes" : "no: for the owner") << "\n"
                  << "  events: no: this server has no function that lists them\n"
                  << "  actions: "
                  << (options.read_only        ? "no: --read-only"
                      : role.standby           ? "no: standby"
                      : has("change_priority") ? "yes"
                                               : "no: needs level operator")
                  << "\n";
        sees = sees && !levels.empty();
    }
    if (role.hubs.empty()) {
        std::cout << "no hub: SELECT belay.create_hub('app') makes one\n";
    }
    return sees ? 0 : 1;
}

}  // namespace belay::tool::dashboard
