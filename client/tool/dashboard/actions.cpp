// The checks of an action's arguments, its statement, its preview, and its call.
//
// May touch: one hub, through the connection that it is given. Must not: put a value from a request
// into the text of a statement that runs; the text with values is only shown.
#include "actions.hpp"

#include <algorithm>

#include "database.hpp"

namespace belay::tool::dashboard {
namespace {

using Kind = Action::Kind;
using Why = Action::Reason;
using Type = Action::Type;

constexpr std::size_t kMostReason = 1000;
constexpr std::size_t kMostKey = 200;

// An argument as a value of its type. Throws BadRequest.
Value value_of(const Action::Argument& argument, const Json& given) {
    const auto refuse = [&](const char* what) -> BadRequest {
        return BadRequest(std::string("argument \"") + argument.key + "\" is no " + what);
    };
    if (given.is_null() && argument.required) {
        throw BadRequest(std::string("argument \"") + argument.key + "\" is missing");
    }
    const bool empty = given.is_null() || (given.is_string() && given.get<std::string>().empty() &&
                                           argument.type != Type::kText);
    switch (argument.type) {
        case Type::kText:
            if (given.is_null()) {
                return OptionalText();
            }
            if (!given.is_string()) {
                throw refuse("text");
            }
            if (given.get<std::string>().find('\0') != std::string::npos) {
                throw refuse("text without zero bytes");
            }
            return given.get<std::string>();
        case Type::kUuid: {
            if (empty) {
                return std::optional<Uuid>();
            }
            if (!given.is_string()) {
                throw refuse("id");
            }
            try {
                return Uuid{given.get<std::string>()};
            } catch (const Error&) {
                throw refuse("id");
            }
        }
        case Type::kInteger:
            if (empty) {
                return OptionalNumber();
            }
            if (given.is_number_integer()) {
                return given.get<std::int64_t>();
            }
            try {
                // Ids and epochs are strings: they can be too large for JavaScript.
                return parse_integer(given.is_string() ? given.get<std::string>() : "", INT64_MIN,
                                     INT64_MAX);
            } catch (const Error&) {
                throw refuse("integer");
            }
        case Type::kNumber:
            if (empty) {
                return OptionalNumber();
            }
            if (!given.is_number()) {
                throw refuse("number");
            }
            return given.get<double>();
        case Type::kFlag:
            if (empty) {
                return Value(false);
            }
            if (!given.is_boolean()) {
                throw refuse("flag");
            }
            return given.get<bool>();
        case Type::kJson:
            if (empty) {
                return std::optional<JsonText>();
            }
            // Text as it was typed, so that digits stay.
            if (!given.is_string() || !Json::accept(given.get<std::string>())) {
                throw refuse("JSON");
            }
            return JsonText{given.get<std::string>()};
    }
    throw refuse("value");
}

// An argument for people; "" if it is not given.
std::string plain_text(const ActionCall& call, const std::string& key) {
    if (key == "reason") {
        return call.reason;
    }
    if (key == "key") {
        return call.key;
    }
    const auto found = call.args.find(key);
    return found == call.args.end() || found->is_null() ? ""
           : found->is_string()                         ? found->get<std::string>()
                                                        : found->dump();
}

std::string shell_word(const std::string& text) {
    const bool plain = !text.empty() && std::ranges::all_of(text, [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' ||
               c == '.' || c == '/' || c == ':';
    });
    if (plain) {
        return text;
    }
    std::string quoted = "'";
    for (const char c : text) {
        quoted += c == '\'' ? "'\\''" : std::string(1, c);
    }
    return quoted + "'";
}

// The command of the tool that does the same; "" if there is none. An argument that is not given is
// left out, with its option.
std::string command_of(const ActionCall& call, const std::string& hub) {
    std::string command;
    std::string option;
    std::string_view rest = call.action->command;
    while (!rest.empty()) {
        const std::string_view word = rest.substr(0, rest.find(' '));
        rest.remove_prefix(std::min(rest.size(), word.size() + 1));
        if (word.starts_with("--") && rest.starts_with(':')) {
            option = std::string(word) + " ";
            continue;
        }
        std::string text(word);
        if (word.starts_with(':')) {
            text = plain_text(call, std::string(word.substr(1)));
            text = text.empty() ? text : option + shell_word(text);
        }
        option.clear();
        command += command.empty() || text.empty() ? text : " " + text;
    }
    return command.empty() ? command : command + " --hub " + shell_word(hub);
}

// The settings of a queue: what is not given has no limit.
JsonText queue_settings(const ActionCall& call) {
    Json settings = Json::object();
    for (const char* key : {"concurrency", "rate_per_s", "burst"}) {
        const auto found = call.args.find(key);
        const bool given = found != call.args.end() && !found->is_null() &&
                           !(found->is_string() && found->get<std::string>().empty());
        // A burst of its own has a meaning with a rate only.
        if (given || std::string_view(key) != "burst") {
            settings[key] = given ? *found : Json(nullptr);
        }
    }
    return {settings.dump()};
}

// Why nothing was done: the task is no longer what the page has seen, so that the function refused.
const char* moved_on(const Error& error, const ActionCall& call) {
    if (error.sqlstate() == "QB001" && !plain_text(call, "expected_epoch").empty()) {
        return "epoch_moved";
    }
    if (error.code_detail() == "replayed_meanwhile") {
        return "replayed_meanwhile";
    }
    return nullptr;
}

}  // namespace

std::string filled(std::string_view text,
                   const std::function<std::string(const std::string&)>& put) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        std::size_t end = i + 1;
        while (text[i] == ':' && end < text.size() &&
               ((text[end] >= 'a' && text[end] <= 'z') || text[end] == '_')) {
            ++end;
        }
        const bool is_cast = i > 0 && text[i - 1] == ':';
        if (end > i + 1 && !is_cast) {
            out += put(std::string(text.substr(i + 1, end - i - 1)));
            i = end - 1;
        } else {
            out += text[i];
        }
    }
    return out;
}

ActionCall parse_action(const std::string& body) {
    const Json json = Json::parse(body, nullptr, false);
    if (!json.is_object()) {
        throw BadRequest("the body is no JSON object");
    }
    ActionCall call;
    for (const auto& [key, value] : json.items()) {
        if (key == "action" && value.is_string()) {
            call.action = find_action(value.get<std::string>());
        } else if (key == "args" && value.is_object()) {
            call.args = value;
        } else if (key == "reason" && value.is_string()) {
            call.reason = value.get<std::string>();
        } else if (key == "key" && value.is_string()) {
            call.key = value.get<std::string>();
        } else if (key == "dry_run" && value.is_boolean()) {
            call.dry_run = value.get<bool>();
        } else {
            throw BadRequest("the body has an unrecognized or invalid key \"" + key + "\"");
        }
    }
    if (call.action == nullptr) {
        throw BadRequest("there is no such action");
    }
    for (const auto& [key, value] : call.args.items()) {
        if (std::ranges::none_of(call.action->arguments,
                                 [&name = key](const auto& known) { return name == known.key; })) {
            throw BadRequest("the action has no argument \"" + key + "\"");
        }
    }
    if (call.reason.size() > kMostReason || call.reason.find('\0') != std::string::npos) {
        throw BadRequest("the reason is longer than 1000 bytes, or has a zero byte");
    }
    if (!call.dry_run && (call.key.empty() || call.key.size() > kMostKey)) {
        throw BadRequest("the request has no key, or one of more than 200 bytes");
    }
    if (!call.dry_run && call.action->reason == Why::kRequired && call.reason.empty()) {
        throw BadRequest("this action needs a reason");
    }
    // "all queues" comes as "".
    const auto queue = call.args.find("queue");
    if (queue != call.args.end() && queue->is_string() && queue->get<std::string>().empty()) {
        *queue = nullptr;
    }
    return call;
}

std::string statement_of(const ActionCall& call, const std::string& schema, const std::string& hub,
                         Values& values) {
    std::string text = filled(call.action->call, [&](const std::string& key) {
        if (key == "reason") {
            values.emplace_back(call.reason);
        } else if (key == "hub") {
            values.emplace_back(hub);
        } else if (key == "key") {
            values.emplace_back(call.key);
        } else if (key == "settings") {
            values.emplace_back(queue_settings(call));
        } else {
            const auto argument = std::ranges::find_if(
                call.action->arguments, [&](const auto& known) { return key == known.key; });
            const auto given = call.args.find(key);
            values.push_back(
                value_of(*argument, given == call.args.end() ? Json(nullptr) : *given));
        }
        return "$" + std::to_string(values.size());
    });
    const std::size_t at = text.find("{h}");
    if (at != std::string::npos) {
        text.replace(at, 3, schema);
    }
    return "SELECT * FROM " + text;
}

Json describe(const ActionCall& call, const std::string& hub, bool allowed) {
    Values values;
    const std::string sql = statement_of(call, shown_identifier(hub), hub, values);
    const bool destructive = call.action->kind == Kind::kDestructive;
    return {
        {"action", call.action->name},
        {"sql", shown(sql, values) + ";"},
        {"command", command_of(call, hub)},
        {"level", call.action->level},
        {"allowed", allowed},
        {"kind", word_of(call.action->kind)},
        {"reason", word_of(call.action->reason)},
        {"effect", filled(call.action->effect,
                          [&](const std::string& key) { return plain_text(call, key); })},
        {"confirm", destructive ? Json(plain_text(call, call.action->subject)) : Json(nullptr)}};
}

Json in_action(Hub& hub, const std::string& reason, const std::function<Json()>& act) {
    Connection& connection = hub.connection();
    return connection.with_transaction([&]() -> Json {
        connection.exec("SET TRANSACTION READ WRITE");
        // The reason is in the event of the action; a server that is older has no such setting.
        connection.call(
            Effect::kWrite,
            "SELECT set_config(s.name, CASE s.name WHEN 'belay.reason' THEN $1 WHEN "
            "'lock_timeout' THEN '5s' ELSE '30s' END, true) FROM pg_settings AS s WHERE "
            "s.name IN ('belay.reason', 'lock_timeout', 'statement_timeout')",
            {reason});
        return act();
    });
}

Json perform(Hub& hub, const ActionCall& call) {
    Values values;
    const std::string sql = statement_of(call, hub.schema(), hub.name(), values);
    Values again;
    const std::string text =
        shown(statement_of(call, shown_identifier(hub.name()), hub.name(), again), again) + ";";
    const auto act = [&]() -> Json {
        const Result rows =
            hub.query(Effect::kWrite, "SELECT coalesce(json_agg(r), '[]') FROM (" + sql + ") AS r",
                      params_of(values));
        return Json::parse(rows.get<std::string>(0, 0));
    };
    Json row;
    try {
        row = in_action(hub, call.reason, act);
    } catch (const Error& error) {
        const char* reason = moved_on(error, call);
        if (reason == nullptr) {
            throw;
        }
        row = Json::array({{{"result", "already_satisfied"}, {"reason", reason}}});
    }
    const Json first = row.is_array() && row.size() == 1 ? row[0] : row;
    const auto word = [&](const char* key) {
        return first.is_object() && first.contains(key) && first[key].is_string()
                   ? first[key].get<std::string>()
                   : std::string();
    };
    const std::string result = word("result");
    const bool effective =
        result != "already_satisfied" &&
        !(first.is_object() && first.contains("effective") && first["effective"] == false);
    const bool is_check = std::string_view(call.action->name).starts_with("check_");
    std::string message =
        is_check && row.empty() ? "no row: everything is in order"
        : is_check              ? std::to_string(row.size()) + " findings"
        : result.empty()
            ? "done"
            : result + (word("reason").empty() || effective ? "" : " (" + word("reason") + ")");
    if (!effective) {
        message = "nothing was done: " + message;
    }
    return {{"at_ms", system_ms()},
            {"sql", text},
            {"effective", effective},
            {"message", message},
            {"result", json_text(row)}};
}

}  // namespace belay::tool::dashboard
