// Orchestrations by name and version, and the order of versions.
//
// May touch: its own table, which a running Runtime only reads. Must not: run the code that it
// registers.
#include "belay/durable/registry.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <vector>

namespace belay {
namespace detail {
namespace {

struct Version {
    bool valid = false;
    std::vector<std::uint64_t> numbers;
    std::vector<std::string_view> before_release;  // after the dash, split at dots
};

bool as_number(std::string_view text, std::uint64_t& number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

std::vector<std::string_view> split(std::string_view text) {
    std::vector<std::string_view> parts;
    for (;;) {
        const auto dot = text.find('.');
        parts.push_back(text.substr(0, dot));
        if (dot == std::string_view::npos) {
            return parts;
        }
        text.remove_prefix(dot + 1);
    }
}

Version parse_version(std::string_view text) {
    Version version;
    text = text.substr(0, text.find('+'));
    const auto dash = text.find('-');
    if (dash != std::string_view::npos) {
        version.before_release = split(text.substr(dash + 1));
    }
    for (const auto part : split(text.substr(0, dash))) {
        std::uint64_t number = 0;
        if (!as_number(part, number)) {
            return version;
        }
        version.numbers.push_back(number);
    }
    version.numbers.resize(std::max<std::size_t>(version.numbers.size(), 3));
    version.valid = true;
    return version;
}

// Of the parts after the dash; numbers come before words.
int compare_parts(std::string_view a, std::string_view b) {
    std::uint64_t x = 0;
    std::uint64_t y = 0;
    const bool a_number = as_number(a, x);
    const bool b_number = as_number(b, y);
    if (a_number && b_number) {
        return x < y ? -1 : x > y;
    }
    if (a_number != b_number) {
        return a_number ? -1 : 1;
    }
    const int order = a.compare(b);
    return order < 0 ? -1 : order > 0;
}

}  // namespace

bool version_less(std::string_view a, std::string_view b) {
    const Version left = parse_version(a);
    const Version right = parse_version(b);
    if (!left.valid || !right.valid) {
        return left.valid != right.valid ? !left.valid : a < b;
    }
    if (left.numbers != right.numbers) {
        return left.numbers < right.numbers;
    }
    const auto& x = left.before_release;
    const auto& y = right.before_release;
    if (x.empty() || y.empty()) {
        return !x.empty() && y.empty();
    }
    for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
        if (const int order = compare_parts(x[i], y[i]); order != 0) {
            return order < 0;
        }
    }
    return x.size() < y.size();
}

}  // namespace detail

void Registry::add(std::string name, std::string version, detail::RootMaker make,
                   OrchestrationOptions options) {
    detail::Registered registered{name, version, std::move(make), std::move(options)};
    if (!names_[name].emplace(version, std::move(registered)).second) {
        throw std::invalid_argument("orchestration \"" + name + "\" has version " + version +
                                    " already");
    }
}

const detail::Registered* Registry::find(std::string_view name, const OptionalText& version) const {
    const auto versions = names_.find(name);
    if (versions == names_.end()) {
        return nullptr;
    }
    if (!version) {
        return &versions->second.rbegin()->second;
    }
    // Versions may be equal in rank and differ in text ("1.0.0+a"); the text decides.
    const auto found = versions->second.find(*version);
    return found == versions->second.end() || found->first != *version ? nullptr : &found->second;
}

std::vector<std::string> Registry::names() const {
    std::vector<std::string> names;
    for (const auto& [name, versions] : names_) {
        names.push_back(name);
    }
    return names;
}

}  // namespace belay
