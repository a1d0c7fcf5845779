// belay top: the samples, the keyboard and the command; top_screen.cpp has what is shown.
#include <libpq-fe.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>

#include "tool.hpp"
#include "top.hpp"

namespace belay::tool {
namespace {

// Ends top: Ctrl-C is how one leaves it.
Interrupt& end_of_top() {
    static Interrupt interrupt;
    return interrupt;
}

extern "C" void leave_top(int) {
    end_of_top().signal();
}

class Sampler {
 public:
    Sampler(Tool& tool, bool all_nodes) : tool_(tool), all_nodes_(all_nodes) {}

    TopSample take() {
        TopSample sample;
        if (!tool_.hub_name.empty() && !all_nodes_) {
            // The connection goes to the server that has the hub; all that follows is asked there.
            if_allowed([&] { tool_.hub().maintenance().depths(); });
        }
        const Result row = tool_.connection().call(
            Effect::kRepeatable,
            "SELECT current_database(), (extract(epoch FROM clock_timestamp()) * 1000)::bigint");
        sample.database = row.get<std::string>(0, 0);
        sample.at_ms = row.get<std::int64_t>(0, 1);
        add_server(sample, tool_);
        if_allowed([&] { sample.background = background_of(sample.database, tool_); });
        if (all_nodes_) {
            add_nodes(sample);
        }
        check_hub(sample);
        return sample;
    }

 private:
    // The hubs that a server has.
    void add_server(TopSample& sample, Tool& tool) const {
        std::vector<std::string> names;
        for (auto& hub : tool.admin().hubs()) {
            if (hub.is_here && is_wanted(hub.name)) {
                names.push_back(hub.name);
                sample.hubs.push_back(std::move(hub));
            }
        }
        for (auto& queue : tool.admin().queue_stats()) {
            if (std::ranges::find(names, queue.hub) != names.end()) {
                sample.queues.push_back(std::move(queue));
            }
        }
        for (const auto& name : names) {
            Hub hub = tool.hub(name);
            if_allowed([&] { sample.depths[name] = hub.maintenance().depths(); });
            if_allowed([&] { add_owners(sample, hub); });
            if_allowed([&] { add_task_queues(sample, hub); });
        }
    }

    // The servers that the first one names, each as far as it answers.
    void add_nodes(TopSample& sample) {
        Connection& first = tool_.connection();
        const HubPlace own{PQhost(first.raw()), std::atoi(PQport(first.raw()))};
        sample.nodes.push_back({.place = place_text(own),
                                .hubs = static_cast<std::int64_t>(sample.hubs.size()),
                                .background = sample.background});
        const Result places = first.call(
            Effect::kRepeatable,
            "SELECT host, port FROM belay.hub_locations WHERE NOT is_here AND host IS NOT NULL AND "
            "($1 = '' OR hub::text = $1) GROUP BY host, port ORDER BY host, port",
            {tool_.hub_name});
        for (int i = 0; i < places.size(); ++i) {
            const HubPlace place{places.get<std::string>(i, 0), places.get<int>(i, 1)};
            TopSample::Node node{.place = place_text(place)};
            const std::size_t before = sample.hubs.size();
            try {
                Tool& tool = tool_at(place);
                add_server(sample, tool);
                if_allowed([&] { node.background = background_of(sample.database, tool); });
                node.hubs = static_cast<std::int64_t>(sample.hubs.size() - before);
            } catch (const Error& error) {
                const std::string text = error.what();
                node.error =
                    (error.connection_lost() ? "away: " : "") + text.substr(0, text.find('\n'));
                others_.erase(node.place);
            }
            sample.nodes.push_back(std::move(node));
        }
    }

    static std::string place_text(const HubPlace& place) {
        return place.host + ":" + std::to_string(place.port);
    }

    // Calls of another server, by a connection of their own.
    Tool& tool_at(const HubPlace& place) {
        auto& tool = others_[place_text(place)];
        if (!tool) {
            tool = std::make_unique<Tool>();
            tool->dsn = options_at(tool_.connection_options(), tool_.connection(), place).conninfo;
            tool->hub_name = tool_.hub_name;
        }
        return *tool;
    }

    // A hub that was named is there, or on a server that is away.
    void check_hub(const TopSample& sample) {
        const bool is_away =
            std::ranges::any_of(sample.nodes, [](const auto& node) { return !node.error.empty(); });
        if (tool_.hub_name.empty() || !sample.hubs.empty() || is_away) {
            return;
        }
        const auto missing = tool_.find_missing(Error({.message = "", .sqlstate = "3F000"}));
        throw missing ? UnknownId(missing->what, missing->hint)
                      : UnknownId("hub \"" + tool_.hub_name + "\" is on no server that was asked");
    }

    bool is_wanted(const std::string& hub) const {
        return tool_.hub_name.empty() || tool_.hub_name == hub;
    }

    // What the caller's level does not include is left out of the view.
    template <typename Body>
    static void if_allowed(Body body) {
        try {
            body();
        } catch (const Error& error) {
            // Nor has a hub of an earlier version all there is to see.
            if (error.sqlstate() != "42501" && error.sqlstate() != "42P01" &&
                error.sqlstate() != "42883") {
                throw;
            }
        }
    }

    static void add_owners(TopSample& sample, Hub& hub) {
        for (const auto& owner : hub.maintenance().owners()) {
            sample.owners.push_back({hub.name(),
                                     owner.owner_id.empty() ? "(no owner id)" : owner.owner_id,
                                     owner.live});
        }
        sample.owners_known = true;
    }

    static void add_task_queues(TopSample& sample, Hub& hub) {
        for (const auto& task_queue : hub.queues().depths()) {
            sample.task_queues.push_back({hub.name(), task_queue});
        }
    }

    static std::string background_of(const std::string& database, Tool& tool) {
        for (const auto& worker : tool.admin().workers()) {
            if (worker.database == database) {
                return belay::text_of(worker.state);
            }
        }
        return "none";
    }

    Tool& tool_;
    bool all_nodes_;
    std::map<std::string, std::unique_ptr<Tool>> others_ = {};  // by place
};

struct TopOptions {
    bool all_nodes = false;
    bool once = false;
    double interval = 2;
    int count = 0;  // 0: until Ctrl-C
};

// The keyboard without lines and echo, for as long as it lives.
class Keyboard {
 public:
    explicit Keyboard(bool used) : used_(used && tcgetattr(STDIN_FILENO, &before_) == 0) {
        if (used_) {
            termios raw = before_;
            raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
            tcsetattr(STDIN_FILENO, TCSANOW, &raw);
        }
    }
    ~Keyboard() {
        if (used_) {
            tcsetattr(STDIN_FILENO, TCSANOW, &before_);
        }
    }
    Keyboard(const Keyboard&) = delete;
    Keyboard& operator=(const Keyboard&) = delete;

    int descriptor() const { return used_ ? STDIN_FILENO : -1; }

 private:
    termios before_{};
    bool used_;
};

enum class Awoken { kByTime, kByKey, kToLeave };

// Sleeps until the time is over, a key is pressed, or it is time to leave.
Awoken sleep_until(std::chrono::steady_clock::time_point end, const Keyboard& keyboard,
                   TopView& view) {
    using std::chrono::milliseconds;
    const auto left = std::chrono::ceil<milliseconds>(end - std::chrono::steady_clock::now());
    pollfd ready[2] = {{.fd = end_of_top().descriptor(), .events = POLLIN, .revents = 0},
                       {.fd = keyboard.descriptor(), .events = POLLIN, .revents = 0}};
    if (poll(ready, 2, static_cast<int>(std::max(left, milliseconds(0)).count())) == 0) {
        return Awoken::kByTime;
    }
    if (ready[1].revents == 0) {
        return Awoken::kToLeave;
    }
    char keys[64];
    const auto count = ::read(STDIN_FILENO, keys, sizeof keys);
    if (count <= 0) {
        return Awoken::kToLeave;
    }
    // Keys such as arrows come as several bytes, and mean nothing here.
    if (count > 1 && keys[0] == '\x1b') {
        return Awoken::kByKey;
    }
    for (ssize_t i = 0; i < count; ++i) {
        if (!press(view, keys[i])) {
            return Awoken::kToLeave;
        }
    }
    return Awoken::kByKey;
}

void show_top(Tool& tool, const TopOptions& options) {
    std::signal(SIGINT, leave_top);
    std::signal(SIGTERM, leave_top);
    const bool screen = isatty(STDOUT_FILENO) != 0 && !options.once && !tool.json;
    // The other screen, without a cursor; what was there comes back at the end.
    struct Screen {
        bool used;
        explicit Screen(bool used) : used(used) {
            if (used) {
                std::cout << "\x1b[?1049h\x1b[?25l";
            }
        }
        ~Screen() {
            if (used) {
                std::cout << "\x1b[?25h\x1b[?1049l" << std::flush;
            }
        }
    } use(screen);
    const Keyboard keyboard(screen && isatty(STDIN_FILENO) != 0);
    TopView view;
    view.colours = screen && std::getenv("NO_COLOR") == nullptr;
    Sampler sampler(tool, options.all_nodes);
    std::optional<TopSample> before;
    for (int shown = 1;; ++shown) {
        TopSample now = sampler.take();
        const auto next = std::chrono::steady_clock::now() +
                          std::chrono::duration_cast<std::chrono::milliseconds>(
                              std::chrono::duration<double>(options.interval));
        const TopSample* earlier = before ? &*before : nullptr;
        const auto draw = [&] {
            const std::size_t width = terminal_width().value_or(80);
            const std::size_t height = terminal_height().value_or(24);
            std::cout << (screen ? "\x1b[H\x1b[2J" : "")
                      << render_top(earlier, now, width, height, view) << (screen ? "" : "\n")
                      << std::flush;
        };
        if (tool.json) {
            std::cout << json_text(top_json(earlier, now)) << std::endl;
        } else {
            draw();
        }
        if (options.once || shown == options.count) {
            return;
        }
        Awoken awoken = Awoken::kByKey;
        while ((awoken = sleep_until(next, keyboard, view)) == Awoken::kByKey) {
            draw();
        }
        if (awoken == Awoken::kToLeave) {
            return;
        }
        before = std::move(now);
        if (!screen && !tool.json) {
            std::cout << "\n";
        }
    }
}

}  // namespace

void add_top(CLI::App& app, Tool& tool) {
    auto options = std::make_shared<TopOptions>();
    auto* top =
        app.add_subcommand("top", "watch depths, queues of tasks, ages, leases, rates and workers");
    top->add_flag("--once", options->once, "print one picture and stop; it has no rates");
    top->add_flag("--all-nodes", options->all_nodes,
                  "the hubs of all servers that this one knows places on");
    top->add_option("--interval", options->interval, "seconds between pictures")
        ->capture_default_str()
        ->check(CLI::Range(0.05, 3600.0));
    top->add_option("--count", options->count, "stop after so many pictures")
        ->check(CLI::PositiveNumber);
    on_run(tool, top, [&tool, options] { show_top(tool, *options); });
}

}  // namespace belay::tool
