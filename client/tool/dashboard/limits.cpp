// Limits of requests and of attempts to log in.
//
// May touch: its own tables, which are bounded. Must not: read a clock: the caller supplies the
// time.
#include "limits.hpp"

#include <algorithm>
#include <iterator>

namespace belay::tool::dashboard {
namespace {

constexpr std::int64_t kMinute = 60000;
constexpr std::int64_t kFirstPause = 1000;
constexpr std::int64_t kLongestPause = 5 * kMinute;
constexpr std::size_t kMostPerAddress = 5;
constexpr std::size_t kMostInAll = 20;
constexpr std::size_t kMostAddresses = 4096;

}  // namespace

bool Bucket::take(std::int64_t now_ms) {
    const auto passed = static_cast<double>(std::max<std::int64_t>(0, now_ms - at_ms_));
    level_ = std::min(size_, level_ + passed / 1000 * per_second_);
    at_ms_ = std::max(at_ms_, now_ms);
    if (level_ < 1) {
        return false;
    }
    level_ -= 1;
    return true;
}

void LoginLimits::forget_old(Failures& failures, std::int64_t now_ms) {
    while (!failures.at_ms.empty() && failures.at_ms.front() <= now_ms - kMinute) {
        failures.at_ms.pop_front();
    }
    // A pause grows with failures that follow each other, not over days.
    if (failures.at_ms.empty() && now_ms >= failures.until_ms + kLongestPause) {
        failures.pause_ms = 0;
    }
}

void LoginLimits::add(Failures& failures, std::size_t most, std::int64_t now_ms) {
    forget_old(failures, now_ms);
    failures.at_ms.push_back(now_ms);
    const bool too_many = failures.at_ms.size() >= most;
    if (too_many || failures.pause_ms > 0) {
        failures.pause_ms = std::clamp(failures.pause_ms * 2, kFirstPause, kLongestPause);
        failures.until_ms = now_ms + failures.pause_ms;
    }
    if (too_many) {
        // Not before fewer than the most have failed within a minute.
        failures.until_ms =
            std::max(failures.until_ms, failures.at_ms[failures.at_ms.size() - most] + kMinute);
    }
}

std::int64_t LoginLimits::wait_ms(Failures& failures, std::size_t most, std::int64_t now_ms) {
    if (failures.until_ms > now_ms) {
        return failures.until_ms - now_ms;
    }
    forget_old(failures, now_ms);
    // Those that are being tried end soon, one way or the other.
    return failures.at_ms.size() + failures.trying >= most ? kFirstPause : 0;
}

std::int64_t LoginLimits::begin(const std::string& address, std::int64_t now_ms) {
    if (by_address_.size() >= kMostAddresses) {
        for (auto entry = by_address_.begin(); entry != by_address_.end();) {
            forget_old(entry->second, now_ms);
            const bool over = entry->second.at_ms.empty() && entry->second.until_ms <= now_ms &&
                              entry->second.trying == 0;
            entry = over ? by_address_.erase(entry) : std::next(entry);
        }
    }
    const bool known = by_address_.size() < kMostAddresses || by_address_.contains(address);
    const std::int64_t wait =
        std::max(wait_ms(all_, kMostInAll, now_ms),
                 known ? wait_ms(by_address_[address], kMostPerAddress, now_ms) : 0);
    if (wait == 0) {
        ++all_.trying;
        if (known) {
            ++by_address_[address].trying;
        }
    }
    return wait;
}

void LoginLimits::gave_up(const std::string& address) {
    all_.trying -= all_.trying > 0 ? 1 : 0;
    const auto found = by_address_.find(address);
    if (found != by_address_.end()) {
        found->second.trying -= found->second.trying > 0 ? 1 : 0;
    }
}

void LoginLimits::failed(const std::string& address, std::int64_t now_ms) {
    gave_up(address);
    const auto found = by_address_.find(address);
    if (found != by_address_.end()) {
        add(found->second, kMostPerAddress, now_ms);
    }
    add(all_, kMostInAll, now_ms);
}

void LoginLimits::succeeded(const std::string& address) {
    gave_up(address);
    const auto found = by_address_.find(address);
    if (found != by_address_.end()) {
        // Others may be trying from there.
        found->second = {.trying = found->second.trying};
    }
}

}  // namespace belay::tool::dashboard
