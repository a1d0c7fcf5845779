// Logging in and out.
#include <libpq-fe.h>

#include "dashboard_impl.hpp"

namespace belay::tool::dashboard {

namespace {

// A login that was let in to try. Counts as given up unless its end is reported.
class Attempt {
 public:
    Attempt(LoginLimits& limits, std::mutex& mutex, std::string peer)
        : limits_(limits), mutex_(mutex), peer_(std::move(peer)) {}
    ~Attempt() {
        if (!is_told_) {
            const std::lock_guard lock(mutex_);
            limits_.gave_up(peer_);
        }
    }
    Attempt(const Attempt&) = delete;
    Attempt& operator=(const Attempt&) = delete;

    // Users of a proxy come from one address, and guess nothing.
    void do_not_count() {
        const std::lock_guard lock(mutex_);
        is_told_ = true;
        limits_.gave_up(peer_);
    }
    Response failed() {
        const std::lock_guard lock(mutex_);
        is_told_ = true;
        limits_.failed(peer_, steady_ms());
        return problem(401, "login", "the login was refused");
    }
    void succeeded() {
        const std::lock_guard lock(mutex_);
        is_told_ = true;
        limits_.succeeded(peer_);
    }

 private:
    LoginLimits& limits_;
    std::mutex& mutex_;
    std::string peer_;
    bool is_told_ = false;
};

}  // namespace

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

void Dashboard::Impl::log_in_by_proxy(const std::string& user, const Reply& reply,
                                      const std::function<Response()>& refuse) {
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
            // away, which a connection without the role shows.
            auto connection = database.lease(shared);
            return refuse();
        }
    });
}

void Dashboard::Impl::log_in(const Request& request, const Reply& reply) {
    const std::string peer = request.peer;
    {
        const std::lock_guard lock(login_mutex);
        const std::int64_t wait = logins.begin(peer, steady_ms());
        if (wait > 0) {
            Response response = problem(429, "too_many_logins", "too many logins have failed");
            response.headers.emplace_back("Retry-After", std::to_string((wait + 999) / 1000));
            return reply(std::move(response));
        }
    }
    auto attempt = std::make_shared<Attempt>(logins, login_mutex, peer);
    const auto refuse = [attempt] { return attempt->failed(); };
    if (options.login == "proxy") {
        attempt->do_not_count();
        return log_in_by_proxy(request.header("x-remote-user"), reply, refuse);
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
        attempt->succeeded();
        return reply(begin_session(shared, ""));
    }
    const std::string user = text("user");
    const std::string password = text("password");
    if (fields != 2 || user.empty() || password.empty() ||
        (user + password).find('\0') != std::string::npos) {
        return reply(refuse());
    }
    in_thread(reply, "", [this, user, password, attempt] {
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
            return attempt->failed();
        }
        attempt->succeeded();
        return begin_session(credential, user);
    });
}

// No session has it any more.
void Dashboard::Impl::end_credential(const Credential& credential) {
    database.close_idle(credential);
    if (credential.needs_password) {
        bulk->end_credential(credential);
    }
}

Response Dashboard::Impl::log_out(const Session& session) {
    streams.end_session(session.id);
    if (sessions.end(session.id)) {
        end_credential(*session.credential);
    }
    Response response = json_response(200, Json::object());
    response.headers.emplace_back("Set-Cookie", set_cookie("", 0));
    return response;
}

}  // namespace belay::tool::dashboard
