// Start of the dashboard, the checks that every request passes first, and its static pages.
//
// May touch: the token file, the log on standard error, the parts of the dashboard. Must not: wait
// for the database in the thread of the event loop: in_thread moves that to another thread.
#include "dashboard.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iostream>

#include "assets.hpp"
#include "dashboard_impl.hpp"
#include "tool.hpp"

namespace belay::tool::dashboard {

namespace {

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

}  // namespace

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
    sampler =
        std::make_unique<Sampler>(database, streams, find_hub,
                                  [this](const Credential& credential, const std::string& hub,
                                         Json& answer) { hide_bodies(credential, hub, answer); });
    waiter = std::make_unique<Waiter>(database, streams, *sampler, find_hub,
                                      [this](const std::string& hub) { forget_answers(hub); });
    bulk = std::make_unique<BulkJobs>(database, streams, find_hub,
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
        end_credential(*credential);
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
    hub_rates.forget(system_ms() - kRatesFor);
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

// Everything that is known without the body.
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
    if ((route.place == Place::kActions || route.place == Place::kBulk) && options.read_only) {
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
        case Place::kBulk:
            return in_thread(reply, "operator",
                             [this, session, route, body = std::move(request.body)] {
                                 return act_on_many(*session, route, body);
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
    // Which way to log in there is.
    constexpr std::string_view kLogin = "@login@";
    if (const std::size_t at = text.find(kLogin); at != std::string::npos) {
        text.replace(at, kLogin.size(), options.login);
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

// ---- The whole. ----

Dashboard::Dashboard(Options options) : impl_(std::make_unique<Impl>(std::move(options))) {
    impl_->start();
}

Dashboard::~Dashboard() = default;

void Dashboard::run() {
    impl_->server->run();
    impl_->jobs->stop();
    impl_->bulk->stop();
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

}  // namespace belay::tool::dashboard
