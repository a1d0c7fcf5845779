// belay top: the samples, the keyboard and the command; top_screen.cpp has what is shown.
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>

#include "tool.hpp"
#include "top.hpp"

namespace belay::tool {
namespace {

// Ends top: Ctrl-C is how one leaves it.
Interrupt& leave() {
    static Interrupt interrupt;
    return interrupt;
}

extern "C" void leave_top(int) {
    leave().signal();
}

class Sampler {
 public:
    explicit Sampler(Tool& tool) : tool_(tool) {}

    TopSample take() {
        TopSample sample;
        if (!tool_.hub_name.empty()) {
            // The connection goes to the server that has the hub; all that follows is asked there.
            if_allowed([&] { tool_.hub().maintenance().depths(); });
        }
        const Result row = tool_.connection().call(
            Effect::kRepeatable,
            "SELECT current_database(), (extract(epoch FROM clock_timestamp()) * 1000)::bigint");
        sample.database = row.get<std::string>(0, 0);
        sample.at_ms = row.get<std::int64_t>(0, 1);
        for (auto& hub : tool_.admin().hubs()) {
            if (hub.is_here && is_wanted(hub.name)) {
                sample.hubs.push_back(std::move(hub));
            }
        }
        for (auto& queue : tool_.admin().queue_stats()) {
            if (is_wanted(queue.hub)) {
                sample.queues.push_back(std::move(queue));
            }
        }
        for (const auto& info : sample.hubs) {
            Hub hub = tool_.hub(info.name);
            if_allowed([&] { sample.depths[info.name] = hub.maintenance().depths(); });
            if_allowed([&] { add_owners(sample, hub); });
            if_allowed([&] { add_task_queues(sample, hub); });
        }
        if_allowed([&] { sample.background = background_of(sample.database); });
        return sample;
    }

 private:
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

    std::string background_of(const std::string& database) {
        for (const auto& worker : tool_.admin().workers()) {
            if (worker.database == database) {
                return text_of(worker.state);
            }
        }
        return "none";
    }

    Tool& tool_;
};

struct TopOptions {
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
    pollfd ready[2] = {{.fd = leave().descriptor(), .events = POLLIN, .revents = 0},
                       {.fd = keyboard.descriptor(), .events = POLLIN, .revents = 0}};
    if (poll(ready, 2, static_cast<int>(std::max(left, milliseconds(0)).count())) == 0) {
        return Awoken::kByTime;
    }
    if (ready[1].revents == 0) {
        return Awoken::kToLeave;
    }
    char keys[64];
    const auto count = read(STDIN_FILENO, keys, sizeof keys);
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
    Sampler sampler(tool);
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
    top->add_option("--interval", options->interval, "seconds between pictures")
        ->capture_default_str()
        ->check(CLI::Range(0.05, 3600.0));
    top->add_option("--count", options->count, "stop after so many pictures")
        ->check(CLI::PositiveNumber);
    on_run(tool, top, [&tool, options] { show_top(tool, *options); });
}

}  // namespace belay::tool
