// Logging in and out.
#include <libpq-fe.h>

#include "dashboard_impl.hpp"

namespace belay::tool::dashboard {

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
            // away, which a connection without the role tells.
            auto connection = database.lease(shared);
            return refuse();
        }
    });
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

}  // namespace belay::tool::dashboard
