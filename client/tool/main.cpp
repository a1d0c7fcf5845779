// belay: looks at hubs and steers them, from the command line.
#include <exception>
#include <iostream>
#include <string>

#include "tool.hpp"

namespace {

constexpr int kFailure = 1;
constexpr int kUsage = 2;

int complain(const std::string& message, const std::string& hint, int code) {
    std::cerr << "belay: " << belay::tool::printable(message) << "\n";
    if (!hint.empty()) {
        std::cerr << "hint: " << belay::tool::printable(hint) << "\n";
    }
    return code;
}

}  // namespace

int main(int argc, char** argv) {
    using namespace belay::tool;
    CLI::App app("Looks at the hubs of belay and steers them.", "belay");
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

    add_hubs(app, tool);
    add_top(app, tool);
    add_instances(app, tool);
    add_tasks(app, tool);
    add_flows(app, tool);
    add_schedules(app, tool);
    add_queue(app, tool);
    add_dead_letters(app, tool);
    add_events(app, tool);
    add_run_worker(app, tool);

    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        // Help and version are "errors" with code 0, and go to standard output.
        return app.exit(error, std::cout, std::cerr) == 0 ? 0 : kUsage;
    }
    try {
        tool.action();
        std::cout.flush();
        return std::cout ? 0 : complain("cannot write the output", "", kFailure);
    } catch (const UsageError& error) {
        return complain(error.what(), "", kUsage);
    } catch (const belay::Error& error) {
        return complain(error.what(), error.hint(), kFailure);
    } catch (const std::exception& error) {
        return complain(error.what(), "", kFailure);
    }
}
