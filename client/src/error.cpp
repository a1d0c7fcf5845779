// What an Error may be asked: each answer follows from the SQLSTATE and the DETAIL.
//
// May touch: its own facts. Must not: throw while it answers.
#include "belay/error.hpp"

#include <utility>

#include <nlohmann/json.hpp>

namespace belay {
namespace {

std::string text_of(const ErrorFacts& facts) {
    std::string text = facts.message;
    if (!facts.sqlstate.empty()) {
        text += " (" + facts.sqlstate + ")";
    }
    if (!facts.detail.empty()) {
        text += ": " + facts.detail;
    }
    return text;
}

}  // namespace

Error::Error(ErrorFacts facts, const SourceLocation& where)
    : std::runtime_error(text_of(facts)), facts_(std::move(facts)), where_(where) {}

bool Error::lock_lost() const noexcept {
    if (facts_.outcome_unknown) {
        return false;
    }
    return facts_.sqlstate == "QB001" || facts_.sqlstate == "QB012" || facts_.sqlstate == "QB013";
}

bool Error::not_found() const noexcept {
    return facts_.sqlstate == "QB002";
}

bool Error::retryable() const noexcept {
    return facts_.sqlstate == "40001" || facts_.sqlstate == "40P01";
}

bool Error::infrastructure() const noexcept {
    const std::string_view state = facts_.sqlstate;
    return facts_.connection_lost || facts_.timed_out || state.starts_with("08") ||
           state.starts_with("53") || state.starts_with("57P0") || state.starts_with("58") ||
           state == "26000" || state == "42P05";
}

std::optional<HubPlace> Error::elsewhere() const {
    if (facts_.sqlstate != "QB017") {
        return std::nullopt;
    }
    const auto json = nlohmann::json::parse(facts_.detail, nullptr, false);
    const auto field = [&json](const char* key) {
        return json.is_object() && json.contains(key) ? json[key] : nlohmann::json();
    };
    const auto host = field("host");
    const auto port = field("port");
    if (!host.is_string() || !port.is_number_integer()) {
        return std::nullopt;
    }
    return HubPlace{.host = host.get<std::string>(), .port = port.get<int>()};
}

std::string Error::code_detail() const {
    const auto json = nlohmann::json::parse(facts_.detail, nullptr, false);
    if (!json.is_object()) {
        return "";
    }
    const auto word = json.find("code_detail");
    return word != json.end() && word->is_string() ? word->get<std::string>() : "";
}

}  // namespace belay
