// What the dashboard can change: one table. It makes the call, the SQL that the page shows, the
// command of the tool that does the same, and the words of the confirmation.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "api_reads.hpp"
#include "statement.hpp"

namespace belay::tool::dashboard {

struct Action {
    enum class Kind { kSafe, kDisturbing, kDestructive };
    enum class Reason { kNone, kOptional, kRequired };
    enum class Type { kText, kUuid, kInteger, kNumber, kFlag, kJson };

    struct Argument {
        const char* key;
        Type type;
        bool required = true;
    };

    const char* name;
    const char* label;
    const char* level;
    Kind kind;
    Reason reason;
    const char* function;  // of the hub; with "belay." in front, of schema belay
    // The call, with :name for an argument, :reason, and :key, the key of the request.
    const char* call;
    std::vector<Argument> arguments;
    // The command of the tool, with :name; "" if there is none.
    const char* command;
    // What happens, with :name.
    const char* effect;
    // The argument that is typed in before something is deleted.
    const char* subject;
};

const std::vector<Action>& actions();
const Action* find_action(const std::string& name);

const char* word_of(Action::Kind kind);
const char* word_of(Action::Reason reason);

// A call of an action with checked arguments.
struct ActionCall {
    const Action* action = nullptr;
    Json args = Json::object();
    std::string reason = {};
    std::string key = {};
    bool dry_run = false;
};

// Reads the body of a request. Throws BadRequest for what is not in the table.
ActionCall parse_action(const std::string& body);

// The statement of a call, on the hub with this schema as it is written, and its values.
std::string statement_of(const ActionCall& call, const std::string& schema, const std::string& hub,
                         Values& values);

// The answer to a dry run; nothing is done.
Json describe(const ActionCall& call, const std::string& hub, bool allowed);

// The text with what `put` says for each :name in it.
std::string filled(std::string_view text,
                   const std::function<std::string(const std::string&)>& put);

// Runs act in one transaction that may write, with the reason, and the limits of an action.
Json in_action(Hub& hub, const std::string& reason, const std::function<Json()>& act);

// Does it: one transaction. Throws Error.
Json perform(Hub& hub, const ActionCall& call);

}  // namespace belay::tool::dashboard
