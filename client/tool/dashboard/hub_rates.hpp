// Rates of all hubs, for the list of hubs: from what their counters were at the last look.
// Thread-safe.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "api_reads.hpp"

namespace belay::tool::dashboard {

class HubRates {
 public:
    // Turns "counters" of each row (in, done, lost, failed; null: not counted) into "rates" since
    // the last look of this viewer, which are null at the first and after a long pause.
    void put(const std::string& viewer, std::int64_t at_ms, Json& rows);
    void forget(std::int64_t before_ms);

 private:
    struct Look {
        std::int64_t at_ms = 0;
        std::map<std::string, Json> counters = {};  // by hub
        std::map<std::string, Json> rates = {};
    };
    std::mutex mutex_;
    std::map<std::string, Look> looks_;
};

}  // namespace belay::tool::dashboard
