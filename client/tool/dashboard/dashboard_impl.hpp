// The parts of a running dashboard. Its functions are in dashboard.cpp (start, the judgement of
// requests, pages), logins.cpp (sessions), answering.cpp (reads and actions), watching.cpp
// (streams).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "answers.hpp"
#include "api_reads.hpp"
#include "bodies.hpp"
#include "bulk.hpp"
#include "dashboard.hpp"
#include "database.hpp"
#include "http_server.hpp"
#include "hub_rates.hpp"
#include "limits.hpp"
#include "rights.hpp"
#include "router.hpp"
#include "sampler.hpp"
#include "sessions.hpp"
#include "streams.hpp"
#include "waiter.hpp"

namespace belay::tool::dashboard {

struct ListenAddress {
    std::string address = {};
    unsigned short port = 0;
    std::string unix_path = {};
};

struct Dashboard::Impl {
    static constexpr std::int64_t kAnswersFor = 900;   // ms that an answer is given to others, too
    static constexpr std::int64_t kRatesFor = 600000;  // ms that counters of hubs are kept
    static constexpr std::int64_t kKeysFor = 600000;   // ms that a repetition gets the first answer

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
    std::unique_ptr<BulkJobs> bulk;

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
    HubRates hub_rates;

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
    BodyPolicy policy_of(const HubRights& rights) const;
    BodyPolicy policy_of(const Credential& credential, const std::string& hub);
    void hide_bodies(const Credential& credential, const std::string& hub, Json& answer);

    Response shell();
    Response asset(const Request& request, const Route& route);
    void log_in(const Request& request, const Reply& reply);
    void log_in_by_proxy(const std::string& user, const Reply& reply,
                         const std::function<Response()>& refuse);
    Response begin_session(std::shared_ptr<const Credential> credential, const std::string& user);
    void end_credential(const Credential& credential);
    Response log_out(const Session& session);
    Response me(const Session& session);
    Response hubs(const Session& session);
    Response read(const Session& session, const Route& route);
    // Acts on many objects: a dry run, a new job, or what is done with one.
    Response act_on_many(const Session& session, const Route& route, const std::string& body);
    Json bulk_read(const Session& session, const Route& route);
    Response act(const Session& session, const Route& route, const std::string& body);
    Response stream(const Session& session);
    Response watch(const Session& session, const Route& route, const std::string& body);
    // Runs body in a database thread, and makes an answer of what it throws.
    void in_thread(const Reply& reply, const std::string& level, std::function<Response()> body);
    void tidy();
    std::string set_cookie(const std::string& value, int seconds) const;
    void log(const Request& request, int status) const;
};

}  // namespace belay::tool::dashboard
