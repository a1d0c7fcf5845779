// Rates of all hubs.
//
// May touch: nothing but its own memory. Must not: ask a database.
#include "hub_rates.hpp"

#include <algorithm>
#include <array>

namespace belay::tool::dashboard {
namespace {

constexpr std::int64_t kLeast = 1000;  // looks that are closer share their rates
constexpr std::int64_t kMost = 60000;  // those that are further apart make none
constexpr std::array<const char*, 4> kNames = {"in", "done", "lost", "failed"};

Json rates_between(const Json& before, const Json& now, double seconds) {
    Json rates = Json::object();
    for (std::size_t i = 0; i < kNames.size(); ++i) {
        // Counters can be reset.
        const auto more = std::max<std::int64_t>(
            0, now.at(i).get<std::int64_t>() - before.at(i).get<std::int64_t>());
        rates[kNames[i]] = static_cast<double>(more) / seconds;
    }
    return rates;
}

}  // namespace

void HubRates::put(const std::string& viewer, std::int64_t at_ms, Json& rows) {
    const std::lock_guard lock(mutex_);
    Look& last = looks_[viewer];
    const std::int64_t since = at_ms - last.at_ms;
    const bool is_new = last.at_ms == 0 || since >= kLeast || since < 0;
    Look now{.at_ms = at_ms};
    for (auto& row : rows) {
        const auto hub = row["name"].get<std::string>();
        Json counters = row["counters"];
        row.erase("counters");
        row["rates"] = nullptr;
        const auto before = last.counters.find(hub);
        if (!is_new) {
            const auto known = last.rates.find(hub);
            row["rates"] = known == last.rates.end() ? Json(nullptr) : known->second;
        } else if (counters.is_array() && before != last.counters.end() && since > 0 &&
                   since <= kMost) {
            row["rates"] =
                rates_between(before->second, counters, static_cast<double>(since) / 1000);
        }
        if (counters.is_array()) {
            now.counters[hub] = std::move(counters);
            now.rates[hub] = row["rates"];
        }
    }
    if (is_new) {
        last = std::move(now);
    }
}

void HubRates::forget(std::int64_t before_ms) {
    const std::lock_guard lock(mutex_);
    std::erase_if(looks_, [&](const auto& entry) { return entry.second.at_ms < before_ms; });
}

}  // namespace belay::tool::dashboard
