// The numbers of the overview: one statement per hub and role, for all who look. Samples are kept
// for rates and charts. Thread-safe.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "database.hpp"
#include "streams.hpp"

namespace belay::tool::dashboard {

// A role's rights on a hub, for the statements of the sampler.
using FindHub = std::function<Hub(Connection&, const Credential&, const std::string& hub)>;

class Sampler {
 public:
    Sampler(Database& database, Streams& streams, FindHub find_hub);
    ~Sampler();

    void wake();  // something else is watched now
    void stop();

    // A sample that is at most `age` ms old; takes one if there is none.
    Json glance(const std::shared_ptr<const Credential>& credential, const std::string& hub,
                std::int64_t age = 2500);
    // What is known of the last 15 minutes, 1 h, 24 h or 7 d.
    Json series(const Credential& credential, const std::string& hub, const std::string& range);

    // Objects for which no wait is possible are reported as changed with every sample.
    void set_waits(const std::string& credential, const std::string& hub, bool possible);

 private:
    struct Sample {
        std::int64_t at_ms = 0;
        std::map<std::string, std::map<std::string, std::int64_t>> counters = {};  // by queue
        OptionalNumber oldest_ms = {};
        std::int64_t depth = 0;
    };
    struct Target {
        std::deque<Sample> samples = {};
        Json last = {};
        std::int64_t taken_ms = 0;  // by the steady clock; 0: never
        std::int64_t due_ms = 0;
        std::map<std::string, std::deque<double>> sparks = {};
        bool waits = false;
        std::mutex taking = {};
    };
    using Key = std::pair<std::string, std::string>;

    void run();
    std::shared_ptr<Target> target(const Key& key);
    Json take(const std::shared_ptr<const Credential>& credential, const std::string& hub,
              Target& target);
    void note(Target& target, Json& raw);

    Database& database_;
    Streams& streams_;
    FindHub find_hub_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<Key, std::shared_ptr<Target>> targets_;
    bool stopping_ = false;
    bool woken_ = false;
    std::thread thread_;
};

}  // namespace belay::tool::dashboard
