// belay move: a hub to another node of Citus; on plain servers, what to do instead.
#include <condition_variable>
#include <csignal>
#include <iostream>
#include <mutex>
#include <thread>

#include "tool.hpp"

namespace belay::tool {
namespace {

constexpr std::chrono::seconds kBetweenLines{5};

// Ctrl-C cancels the move.
Interrupt& interrupt() {
    static Interrupt signalled;
    return signalled;
}

extern "C" void cancel_move(int) {
    interrupt().signal();
}

struct Move {
    std::string hub;
    std::string target;
    std::string mode = "auto";
};

// HOST:PORT, or [HOST]:PORT.
HubPlace place_of(const std::string& text) {
    const auto colon = text.rfind(':');
    if (colon != std::string::npos && colon > 0) {
        std::string host = text.substr(0, colon);
        if (host.starts_with('[') && host.ends_with(']')) {
            host = host.substr(1, host.size() - 2);
        }
        try {
            const auto port = parse_integer(text.substr(colon + 1), 1, 65535);
            return {.host = std::move(host), .port = static_cast<int>(port)};
        } catch (const Error&) {
            // said below
        }
    }
    throw UsageError("\"" + text + "\" is not HOST:PORT", "For example db2.example:5432.");
}

// The server that has the hub; none for this one, if Citus has not put the hub here.
OptionalText where_is(Tool& tool, const std::string& hub) {
    return tool.connection()
        .call(Effect::kRepeatable,
              "SELECT l.host || ':' || l.port FROM belay.hub_location($1::name) AS l", {hub})
        .get<OptionalText>(0, 0);
}

// Without Citus no server moves a hub: the statements that do it, with this hub and this place.
[[noreturn]] void refuse_plain(Tool& tool, const Move& given, const HubPlace& to) {
    const Result names = tool.connection().call(
        Effect::kRepeatable,
        "SELECT quote_literal($1::text), quote_literal($2::text), quote_ident($1::text), "
        "current_database()",
        {given.hub, to.host});
    const std::string name = names.get<std::string>(0, 0);
    throw Error({.message = "database " + names.get<std::string>(0, 3) +
                            " has no extension citus, which moves a hub while it works",
                 .sqlstate = "0A000",
                 .hint = "Move hub " + given.hub +
                         " with a dump; its calls are refused meanwhile:\n" +
                         "1. here:  SELECT belay.set_hub_place(" + name + ", " +
                         names.get<std::string>(0, 1) + ", " + std::to_string(to.port) + ");\n" +
                         "2. pg_dump of schema " + names.get<std::string>(0, 2) + ", restored on " +
                         given.target + " in one transaction\n" +
                         "3. there: SELECT belay.remove_hub_place(" + name + ");\n" +
                         "4. here:  SELECT belay.drop_hub(" + name + ");\n" +
                         "docs/scale-out.md explains the steps, and how to go back."});
}

// Says on standard error how long the move has taken so far.
class Progress {
 public:
    explicit Progress(std::string what)
        : thread_([this, what = std::move(what)](const std::stop_token& stop) {
              const auto begin = std::chrono::steady_clock::now();
              std::unique_lock lock(mutex_);
              while (!ended_.wait_for(lock, stop, kBetweenLines, [] { return false; }) &&
                     !stop.stop_requested()) {
                  const auto passed = std::chrono::duration_cast<std::chrono::seconds>(
                      std::chrono::steady_clock::now() - begin);
                  std::cerr << what << ": " << passed.count() << " s" << std::endl;
              }
          }) {}

 private:
    std::mutex mutex_;
    std::condition_variable_any ended_;
    std::jthread thread_;
};

void move_hub(Tool& tool, const Move& given) {
    const HubPlace to = place_of(given.target);
    const OptionalText from = where_is(tool, given.hub);
    if (!tool.connection()
             .call(Effect::kRepeatable,
                   "SELECT EXISTS (SELECT FROM pg_catalog.pg_extension WHERE extname = 'citus')")
             .get<bool>(0, 0)) {
        refuse_plain(tool, given, to);
    }
    const std::string shown = printable(given.hub);
    const std::string before = printable(from.value_or("this server"));
    if (from != to.host + ":" + std::to_string(to.port)) {
        std::cerr << "moving hub " << shown << " from " << before << "; Ctrl-C cancels"
                  << std::endl;
    }
    interrupt().reset();  // made before a handler needs it
    std::signal(SIGINT, cancel_move);
    std::signal(SIGTERM, cancel_move);
    const auto begin = std::chrono::steady_clock::now();
    {
        const Progress progress("moving hub " + shown);
        if (!tool.connection().call_until(
                interrupt(), "SELECT belay.move_hub($1::name, $2, $3::integer, $4)",
                {given.hub, to.host, std::int64_t{to.port}, given.mode})) {
            throw Error({.message = "the move was cancelled",
                         .sqlstate = "57014",
                         .hint = "Hub " + shown + " is still on " + before + "."});
        }
    }
    const auto took =
        std::chrono::duration_cast<Milliseconds>(std::chrono::steady_clock::now() - begin);
    const OptionalText now = where_is(tool, given.hub);
    tool.say({{"hub", given.hub},
              {"from", json_of(from)},
              {"to", json_of(now)},
              {"moved", now != from},
              {"took_ms", took.count()}},
             now == from ? "hub " + given.hub + " is on " + now.value_or("this server") + " already"
                         : "moved hub " + given.hub + " to " + now.value_or("this server"));
}

}  // namespace

void add_move(CLI::App& app, Tool& tool) {
    auto given = std::make_shared<Move>();
    auto* command =
        app.add_subcommand("move", "move a hub to another node of Citus while it works");
    command->add_option("HUB", given->hub, "the hub")->required();
    command
        ->add_option("HOST:PORT", given->target,
                     "the node, as belay hubs or table pg_dist_node has it")
        ->required();
    command
        ->add_option("--mode", given->mode,
                     "auto or force_logical: rows are copied while the hub works; block_writes: "
                     "faster, but calls that write wait")
        ->capture_default_str()
        ->check(CLI::IsMember({"auto", "force_logical", "block_writes"}));
    on_run(tool, command, [&tool, given] { move_hub(tool, *given); });
}

}  // namespace belay::tool
