// What the commands of the tool share: the options before and after every command, the connection,
// the hub, and output.
//
// A command group is one file with one add_... function. It declares its subcommands and leaves in
// Tool::action what is to be done; main() calls that when the whole command line was understood.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "belay/admin.hpp"
#include "belay/events.hpp"
#include "belay/flows.hpp"
#include "belay/hub.hpp"
#include "belay/orchestrations.hpp"
#include "belay/provider.hpp"
#include "belay/queue.hpp"
#include "belay/schedules.hpp"
#include "belay/suspensions.hpp"
#include "belay/tasks.hpp"
#include "print.hpp"

namespace belay::tool {

// The command line is understood and yet not enough: exit code 2.
class UsageError : public std::runtime_error {
 public:
    explicit UsageError(const std::string& message, std::string hint = {})
        : std::runtime_error(message), hint_(std::move(hint)) {}

    const std::string& hint() const { return hint_; }

 private:
    std::string hint_;
};

// What the command names does not exist: exit code 1.
class UnknownId : public std::runtime_error {
 public:
    explicit UnknownId(const std::string& message, std::string hint = {})
        : std::runtime_error(message), hint_(std::move(hint)) {}

    const std::string& hint() const { return hint_; }

 private:
    std::string hint_;
};

class Tool {
 public:
    std::string dsn;
    std::string hub_name;
    bool json = false;
    std::function<void()> action;

    // The connection that all calls of a command share; made when it is first needed.
    Connection& connection();
    ConnectionOptions connection_options() const;

    // The hub that was named, or the only one there is. Statements on it never run code of its
    // owner with more than the owner's rights: see Admin::rights_on.
    Hub hub() { return hub(chosen_hub()); }
    Hub hub(const std::string& name);
    const std::string& chosen_hub();
    // Throws UsageError if a worker must not run on the hub: it waits for work, which cannot be
    // done with the owner's rights, and this role has more than these.
    void check_can_work();
    Admin admin() { return Admin(connection()); }

    // What is not there, if that is why a call has failed: the extension, or the hub.
    struct Missing {
        std::string what;
        std::string hint;
    };
    std::optional<Missing> find_missing(const Error& error) noexcept;

    // Rows for people: a table, or with --json an array with all fields.
    void print(const Json& rows, const std::vector<Column>& columns) const;

    // One page of a list: the last row has the cursor that continues it.
    void print_page(Json rows, const OptionalText& next, const std::vector<Column>& columns) const;

    // What a command has done: a sentence, or with --json the object.
    void say(const Json& object, const std::string& sentence) const;

 private:
    std::unique_ptr<Connection> connection_;
    std::map<std::string, Rights> rights_;  // by hub
};

// Columns of the terminal at standard output; none if it is not a terminal.
std::optional<std::size_t> terminal_width();
std::optional<std::size_t> terminal_height();

// Declares a subcommand whose action is body(), with the options that it declares in between.
template <typename Body>
void on_run(Tool& tool, CLI::App* command, Body body) {
    command->callback([&tool, body = std::move(body)] { tool.action = body; });
}

template <typename T>
Json json_of(const std::optional<T>& value) {
    return value ? Json(*value) : Json(nullptr);
}

// Milliseconds since 1970, as all output has times.
inline Json json_of(const OptionalTime& time) {
    return time ? Json(to_ms(*time)) : Json(nullptr);
}
inline Json json_of(const std::optional<Milliseconds>& time) {
    return time ? Json(time->count()) : Json(nullptr);
}

// An instant that an option gives in ms since 1970.
inline OptionalTime time_of(const OptionalNumber& ms) {
    return ms ? OptionalTime(from_ms(*ms)) : std::nullopt;
}

// As a hub has them that is paused.
std::string queue_names(const std::vector<Word<HubQueue>>& words);

// An option that takes a duration such as 500ms, 30s, 5min, 2h or 1d; the value is in ms.
template <typename Value>
CLI::Option* add_duration(CLI::App* command, const std::string& name, Value& ms,
                          const std::string& help) {
    const std::map<std::string, std::int64_t> units = {
        {"ms", 1}, {"s", 1000}, {"min", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}};
    return command->add_option(name, ms, help)
        ->transform(CLI::AsNumberWithUnit(units, CLI::AsNumberWithUnit::UNIT_REQUIRED, "DURATION"))
        ->check(CLI::NonNegativeNumber);
}

// The id of a task or flow; throws UnknownId for a text that can be none.
Uuid id_of(const std::string& text);

// The value of an enumeration that an option names; throws UsageError if it has none of this name.
template <typename Enum>
Enum enum_of(const std::string& text) {
    const Word<Enum> word(text);
    if (word == Enum::kOther) {
        throw UsageError("unrecognized word \"" + text + "\"");
    }
    return word;
}

// Puts a filter's field into an object, unless it is empty.
template <typename T>
void put(Json& object, const char* key, const std::optional<T>& value) {
    if (value) {
        object[key] = *value;
    }
}

// An object of tags, each given as KEY=VALUE.
Json tags_of(const std::vector<std::string>& tags);

// The options of a list of tasks or flows, as they are typed.
template <typename Filter, typename State>
struct ListArguments {
    Filter filter;
    std::vector<std::string> states;
    std::vector<std::string> tags;
    OptionalNumber created_from_ms;
    OptionalNumber created_to_ms;
    OptionalText after;
};

template <typename Filter, typename State>
Filter filter_of(const ListArguments<Filter, State>& given) {
    Filter filter = given.filter;
    for (const auto& state : given.states) {
        filter.states.push_back(enum_of<State>(state));
    }
    if (!given.tags.empty()) {
        filter.headers = tags_of(given.tags);
    }
    filter.created_from = time_of(given.created_from_ms);
    filter.created_before = time_of(given.created_to_ms);
    return filter;
}

// Rows of a browse function, of as many pages as it takes: however much the hub holds, this ends
// with rows or with the end of the list.
struct Browse {
    const char* function;
    Json filter;
    const char* order;
    OptionalText after = {};
    int limit = 100;
    std::optional<int> preview = {};
};
// The longest preview of a body.
constexpr int kMostPreview = 10000;
struct BrowsedRows {
    Json rows = Json::array();
    OptionalText next = {};  // where the list continues; none at its end
};
BrowsedRows browse(Hub& hub, const Browse& given);

// These fields of a row, in their order. An element is the name of a field, or what the row calls
// it and its name.
struct Field {
    const char* from;
    const char* to;
    constexpr Field(const char* name) : from(name), to(name) {}  // NOLINT: names are fields
    constexpr Field(const char* is, const char* as) : from(is), to(as) {}
};
Json fields_of(const Json& row, const std::vector<Field>& fields);

// The command groups.
void add_front_door(CLI::App& app, Tool& tool);
void add_completion(CLI::App& app, Tool& tool);
void add_hubs(CLI::App& app, Tool& tool);
void add_move(CLI::App& app, Tool& tool);
void add_top(CLI::App& app, Tool& tool);
void add_instances(CLI::App& app, Tool& tool);
void add_tasks(CLI::App& app, Tool& tool);
void add_flows(CLI::App& app, Tool& tool);
void add_schedules(CLI::App& app, Tool& tool);
void add_queue(CLI::App& app, Tool& tool);
void add_dead_letters(CLI::App& app, Tool& tool);
void add_events(CLI::App& app, Tool& tool);
void add_run_worker(CLI::App& app, Tool& tool);
void add_replay(CLI::App& app, Tool& tool);

}  // namespace belay::tool
