// belay dashboard.
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <iostream>
#include <thread>

#include "dashboard_command.hpp"

#ifdef BELAY_WITH_DASHBOARD
#include "dashboard/assets.hpp"
#include "dashboard/dashboard.hpp"
#endif

namespace belay::tool {
namespace {

#ifdef BELAY_WITH_DASHBOARD

struct Given {
    dashboard::Options options;
    bool open = false;
    bool check = false;
};

// Ends it: SIGINT and SIGTERM.
Interrupt& leave() {
    static Interrupt interrupt;
    return interrupt;
}

extern "C" void leave_dashboard(int) {
    leave().signal();
}

void open_browser(const std::string& url) {
    const pid_t child = fork();
    if (child == 0) {
        execlp("xdg-open", "xdg-open", url.c_str(), nullptr);
        _exit(127);
    }
}

void run_dashboard(Tool& tool, Given& given) {
    given.options.dsn = tool.dsn;
    if (!tool.hub_name.empty() && given.options.hubs.empty()) {
        given.options.hubs = {tool.hub_name};
    }
    if (given.check) {
        if (dashboard::check_dashboard(given.options) != 0) {
            throw std::runtime_error("the dashboard would lack something");
        }
        return;
    }
    if (dashboard::assets().empty()) {
        throw std::runtime_error(
            "this program was built without the dashboard's pages: install node 18 or newer and "
            "npm, and build it again");
    }
    dashboard::Dashboard server(given.options);
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGCHLD, SIG_IGN);
    for (const int signal : {SIGINT, SIGTERM}) {
        std::signal(signal, leave_dashboard);
    }
    std::thread waiting([&server] {
        pollfd ready{.fd = leave().descriptor(), .events = POLLIN, .revents = 0};
        while (poll(&ready, 1, -1) < 0) {
        }
        server.stop();
    });
    const bool shows_token = !server.token().empty() && given.options.token_file.empty();
    const std::string url = server.url() + (shows_token ? "#token=" + server.token() : "");
    std::cout << (tool.json ? json_text({{"url", url}}) : url) << std::endl;
    if (given.open) {
        open_browser(url);
    }
    server.run();
    leave().signal();
    waiting.join();
}

void declare(CLI::App* command, const std::shared_ptr<Given>& given) {
    auto& options = given->options;
    command
        ->add_option("--listen", options.listen,
                     "ADDRESS:PORT, port 0 for a free one, or unix:PATH")
        ->capture_default_str();
    command->add_option("--login", options.login, "token, postgres or proxy")
        ->capture_default_str()
        ->check(CLI::IsMember({"token", "postgres", "proxy"}));
    command->add_flag("--read-only", options.read_only, "change nothing, even if the role may");
    command->add_option("--show-hub", options.hubs, "only this hub; repeatable");
    command->add_option("--public-url", options.public_url, "where a proxy in front is reached");
    command->add_option("--base-path", options.base_path,
                        "what the proxy puts in front of all paths");
    command->add_option("--redact", options.redact, "hide the values of this key; repeatable");
    command->add_option("--bodies", options.bodies, "who sees payloads: all, operator or none")
        ->capture_default_str()
        ->check(CLI::IsMember({"all", "operator", "none"}));
    command->add_option("--token-file", options.token_file,
                        "write the token here instead of printing it; with --login proxy, has the "
                        "proxy's secret");
    command->add_option("--max-connections", options.max_connections, "to the database")
        ->capture_default_str()
        ->check(CLI::Range(2, 100));
    command->add_flag("--log", options.log, "write a line per request to standard error");
    command->add_flag("--open", given->open, "open it in the browser");
    command->add_flag("--check", given->check, "say what it would show, and stop");
}

#endif

}  // namespace

void add_dashboard(CLI::App& app, Tool& tool) {
    auto* command = app.add_subcommand(
        "dashboard", "serve a web interface for the hubs of the database, and print its address");
#ifdef BELAY_WITH_DASHBOARD
    auto given = std::make_shared<Given>();
    declare(command, given);
    on_run(tool, command, [&tool, given] { run_dashboard(tool, *given); });
#else
    command->allow_extras();
    on_run(tool, command, [] {
        throw std::runtime_error(
            "this program was built without the dashboard: install Boost's headers (Debian: "
            "libboost-dev), node 18 or newer and npm, and build it with -DBELAY_DASHBOARD=ON");
    });
#endif
}

}  // namespace belay::tool
