// The delays of turns that are released again and again: one second, doubled with each time, at
// most a minute.
//
// Thread-safety: none.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

namespace belay::engine {

class Refusals {
 public:
    // The delay after one more refusal, in milliseconds.
    std::int64_t refused(const std::string& instance_id, std::int64_t now_ms) {
        Refusal& refusal = by_id_[instance_id];
        refusal.last_ms = now_ms;
        const int times = std::min(refusal.times++, 6);
        return std::min(std::int64_t{1000} << times, kLongest);
    }
    void succeeded(const std::string& instance_id) { by_id_.erase(instance_id); }
    // Forgets instances that have not come back for long: they were deleted, or others run them.
    void forget_old(std::int64_t now_ms) {
        std::erase_if(by_id_, [now_ms](const auto& refusal) {
            return now_ms - refusal.second.last_ms > 10 * kLongest;
        });
    }
    std::size_t size() const { return by_id_.size(); }

 private:
    static constexpr std::int64_t kLongest = 60000;
    struct Refusal {
        int times = 0;
        std::int64_t last_ms = 0;
    };
    std::map<std::string, Refusal> by_id_;
};

}  // namespace belay::engine
