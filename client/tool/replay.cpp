// belay replay-history: runs the code of a program against stored histories, before it is deployed.
// belay versions: which versions of code the running instances need.
#include <dlfcn.h>

#include <iostream>
#include <map>
#include <tuple>

#include "belay/runtime.hpp"
#include "belay/testing.hpp"
#include "tool.hpp"

namespace belay::tool {
namespace {

constexpr int kPage = 500;
constexpr std::string_view kVersionKey = "belay:version:";

struct Replay {
    std::string plugin;
    std::vector<std::string> files;
    OptionalText name;
    OptionalText instance;
    int sample = 100;
    bool strict = false;
};

// The plugin stays loaded until the program ends: the registry points into it.
void load(const std::string& path, Registry& registry) {
    // A name without a slash would be looked up in the system's directories.
    const std::string place = path.find('/') == std::string::npos ? "./" + path : path;
    void* const plugin = ::dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (plugin == nullptr) {
        throw std::runtime_error(std::string("cannot load the plugin: ") + ::dlerror());
    }
    auto* const add = reinterpret_cast<void (*)(Registry&)>(::dlsym(plugin, "belay_register"));
    if (add == nullptr) {
        throw std::runtime_error(
            path + " has no function extern \"C\" void belay_register(belay::Registry&)");
    }
    add(registry);
}

// Calls body for each running instance, of one name or of all, until it returns false.
template <typename Body>
void for_each_running(Hub& hub, const OptionalText& name, Body body) {
    InstanceFilter filter{.status = InstanceStatus::kRunning, .name = name, .limit = kPage};
    for (bool more = true; more;) {
        const auto page = hub.orchestrations().list(filter);
        more = page.size() == static_cast<std::size_t>(kPage);
        for (const auto& info : page) {
            filter.after = info.instance_id;
            if (!body(info)) {
                return;
            }
        }
    }
}

class Replays {
 public:
    Replays(Tool& tool, const Replay& given) : tool_(tool), given_(given) {
        load(given.plugin, replayer_.registry());
        if (given.strict) {
            replayer_.strict();
        }
    }

    void run() {
        for (const std::string& file : given_.files) {
            report(file, replayer_.replay_file(file));
        }
        if (given_.instance) {
            replay_instance(*given_.instance);
        } else if (given_.files.empty()) {
            replay_sample();
        }
        print();
        if (differ_ > 0) {
            throw std::runtime_error(std::to_string(differ_) + " of " +
                                     std::to_string(rows_.size()) +
                                     " histories differ from the code");
        }
    }

 private:
    void replay_instance(const std::string& id) {
        Hub hub = tool_.hub();
        const OptionalText history = history_of(hub, id);
        if (!history) {
            throw UnknownId("there is no instance \"" + id + "\" with a history");
        }
        report(id, replayer_.replay(*history));
    }

    void replay_sample() {
        Hub hub = tool_.hub();
        int left = given_.sample;
        const auto names = replayer_.registry().names();
        for_each_running(hub, given_.name, [&](const InstanceInfo& info) {
            // Instances of other programs are not this plugin's.
            if (std::find(names.begin(), names.end(), info.orchestration_name.value_or("")) ==
                names.end()) {
                return true;
            }
            // It may have ended, and been deleted, meanwhile.
            if (const OptionalText history = history_of(hub, info.instance_id)) {
                report(info.instance_id, replayer_.replay(*history));
                --left;
            }
            return left > 0;
        });
    }

    void report(const std::string& what, const testing::ReplayReport& report) {
        differ_ += report.ok ? 0 : 1;
        rows_.push_back({{"history", what},
                         {"ok", report.ok},
                         {"events", report.events},
                         {"ended", report.ended},
                         {"waits_for", report.waiting_for},
                         {"event_id", report.event_id},
                         {"text", report.text}});
    }

    void print() const {
        if (tool_.json) {
            tool_.print(rows_, {});
            return;
        }
        for (const Json& row : rows_) {
            std::cout << printable(row.at("history").get<std::string>()) << ": "
                      << (row.at("ok").get<bool>()
                              ? "ok, " + std::to_string(row.at("events").get<std::size_t>()) +
                                    " events"
                              : printable_lines(row.at("text").get<std::string>()))
                      << "\n";
        }
        if (rows_.empty()) {
            std::cout << "no history to replay\n";
        }
    }

    Tool& tool_;
    const Replay& given_;
    testing::Replayer replayer_;
    Json rows_ = Json::array();
    std::size_t differ_ = 0;
};

// The versions of changes that the current execution of an instance has.
std::map<std::string, std::string> changes_of(Hub& hub, const InstanceInfo& info) {
    std::map<std::string, std::string> changes;
    OptionalNumber after;
    for (bool more = true; more;) {
        const auto page =
            hub.orchestrations().history(info.instance_id, info.current_execution_id, after, kPage);
        more = page.size() == static_cast<std::size_t>(kPage);
        for (const auto& row : page) {
            after = row.event_id;
            if (row.event_data.find(kVersionKey) == std::string::npos) {
                continue;
            }
            const Json event = Json::parse(row.event_data, nullptr, false);
            if (event.is_object() && event.value("type", "") == "KeyValueSet") {
                const std::string key = event.value("key", "");
                if (key.starts_with(kVersionKey)) {
                    changes.emplace(key.substr(kVersionKey.size()), event.value("value", ""));
                }
            }
        }
    }
    return changes;
}

void show_versions(Tool& tool, const OptionalText& name) {
    // Name, version, change and its version; a row without a change counts all instances.
    std::map<std::tuple<std::string, std::string, std::string, std::string>, std::int64_t> counts;
    Hub hub = tool.hub();
    for_each_running(hub, name, [&](const InstanceInfo& info) {
        const std::string its_name = info.orchestration_name.value_or("");
        const std::string version = info.orchestration_version.value_or("");
        ++counts[{its_name, version, "", ""}];
        for (const auto& [change, number] : changes_of(hub, info)) {
            ++counts[{its_name, version, change, number}];
        }
        return true;
    });
    Json rows = Json::array();
    for (const auto& [key, count] : counts) {
        const auto& [its_name, version, change, number] = key;
        const bool all = change.empty() && number.empty();
        rows.push_back({{"name", its_name},
                        {"version", version},
                        {"change", all ? Json(nullptr) : Json(change)},
                        {"change_version", all ? Json(nullptr) : Json(number)},
                        {"instances", count}});
    }
    tool.print(rows, {{"name", "NAME"},
                      {"version", "VERSION"},
                      {"instances", "RUNNING", Show::kNumber},
                      {"change_version", "OF CHANGE", Show::kNumber},
                      {"change", "CHANGE"}});
}

}  // namespace

void add_replay(CLI::App& app, Tool& tool) {
    auto given = std::make_shared<Replay>();
    auto* replay = app.add_subcommand(
        "replay-history",
        "run the code of a program against histories; exit code 1 if any differs");
    replay
        ->add_option("--plugin", given->plugin,
                     "shared object with extern \"C\" void belay_register(belay::Registry&)")
        ->required();
    replay->add_option("FILES", given->files, "histories, as belay history ID --json prints them");
    auto* instance = replay->add_option("--instance", given->instance, "this instance of the hub");
    auto* name = replay->add_option("--name", given->name,
                                    "without files: running instances of this name, not of all");
    replay->add_option("--sample", given->sample, "at most so many of them")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    instance->excludes(name);
    replay->add_flag("--strict", given->strict,
                     "changed delays, status texts and outputs are differences, too");
    on_run(tool, replay, [&tool, given] { Replays(tool, *given).run(); });

    auto versions_of = std::make_shared<OptionalText>();
    auto* versions = app.add_subcommand(
        "versions", "count running instances per orchestration, version and change of its code");
    versions->add_option("--name", *versions_of, "of this orchestration, not of all");
    on_run(tool, versions, [&tool, versions_of] { show_versions(tool, *versions_of); });
}

}  // namespace belay::tool
