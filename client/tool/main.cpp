// belay: looks at hubs and steers them, from the command line.
#include <exception>
#include <iostream>
#include <string>

#include "dashboard_command.hpp"
#include "suggest.hpp"
#include "tool.hpp"

namespace {

constexpr int kFailure = 1;
constexpr int kUsage = 2;

int complain(const std::string& message, const std::string& hint, int code) {
    std::cerr << "belay: " << belay::tool::printable_lines(message) << "\n";
    if (!hint.empty()) {
        std::cerr << "hint: " << belay::tool::printable_lines(hint) << "\n";
    }
    return code;
}

int complain(const belay::tool::UnknownCommand& unknown) {
    std::string hint;
    for (std::size_t i = 0; i < unknown.near.size(); ++i) {
        hint += (i == 0                         ? "Did you mean "
                 : i + 1 == unknown.near.size() ? " or "
                                                : ", ") +
                ("\"" + unknown.near[i] + "\"");
    }
    const std::string program =
        "belay " + (unknown.group.empty() ? "" : unknown.group + " ") + "--help";
    return complain("unrecognized command \"" + unknown.word + "\"" +
                        (unknown.group.empty() ? "" : " of " + unknown.group),
                    hint.empty() ? program + " lists the commands." : hint + "?", kUsage);
}

}  // namespace

int main(int argc, char** argv) {
    using namespace belay::tool;
    CLI::App app("Shows the hubs of belay and controls them.", "belay");
    app.require_subcommand(1);
    app.fallthrough();
    app.set_version_flag("--version", "belay " BELAY_VERSION);
    app.footer(
        "Connection: --dsn, else BELAY_DSN, else libpq's variables (PGHOST, PGDATABASE, ...).\n"
        "Exit code: 0, 1 if it failed, 2 if the command line is wrong.");
    Tool tool;
    app.add_option("--dsn", tool.dsn, "connection string or URI, as libpq has it")
        ->envname("BELAY_DSN");
    app.add_option("--hub", tool.hub_name, "the hub; may be left out if there is only one")
        ->envname("BELAY_HUB");
    app.add_flag("--json", tool.json, "print JSON");

    add_front_door(app, tool);
    add_hubs(app, tool);
    add_move(app, tool);
    add_top(app, tool);
    add_instances(app, tool);
    add_tasks(app, tool);
    add_flows(app, tool);
    add_schedules(app, tool);
    add_queue(app, tool);
    add_dead_letters(app, tool);
    add_events(app, tool);
    add_run_worker(app, tool);
    add_replay(app, tool);
    add_dashboard(app, tool);
    add_demo_load(app, tool);
    add_completion(app, tool);

    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        const auto unknown = unknown_command(app, argc, argv);
        if (unknown && error.get_exit_code() != 0) {
            return complain(*unknown);
        }
        // Help and version are "errors" with code 0, and go to standard output.
        return app.exit(error, std::cout, std::cerr) == 0 ? 0 : kUsage;
    }
    try {
        tool.action();
        std::cout.flush();
        return std::cout ? 0 : complain("cannot write the output", "", kFailure);
    } catch (const UsageError& error) {
        return complain(error.what(), error.hint(), kUsage);
    } catch (const UnknownId& error) {
        return complain(error.what(), error.hint(), kFailure);
    } catch (const belay::Error& error) {
        if (const auto missing = tool.find_missing(error)) {
            return complain(missing->what, missing->hint, kFailure);
        }
        return complain(error.what(), error.hint(), kFailure);
    } catch (const std::exception& error) {
        return complain(error.what(), "", kFailure);
    }
}
