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
#include "latency.hpp"
#include "streams.hpp"

namespace belay::tool::dashboard {

// A role's rights on a hub, for the statements of the sampler.
// Takes out of an answer what a role may not see of bodies.
using HideBodies = std::function<void(const Credential&, const std::string& hub, Json& answer)>;

using FindHub = std::function<Hub(Connection&, const Credential&, const std::string& hub)>;

class Sampler {
 public:
    Sampler(Database& database, Streams& streams, FindHub find_hub, HideBodies hide_bodies);
    ~Sampler();

    void wake();  // something else is watched now
    void stop();

    // A sample that is at most `age` ms old; takes one if there is none.
    Json glance(const std::shared_ptr<const Credential>& credential, const std::string& hub,
                std::int64_t age = 2500);
    // What is known of the last 15 minutes, from samples, or of 1 h, 24 h or 7 d, as the hub has
    // recorded it: of a queue of tasks, of all if it is "".
    Json series(const std::shared_ptr<const Credential>& credential, const std::string& hub,
                const std::string& range, const std::string& queue);
    // The hub as a line of the list of hubs; null without viewers.
    Json summary(const Credential& credential, const std::string& hub);

    // Objects for which no wait is possible are reported as changed with every sample.
    void set_waits(const std::string& credential, const std::string& hub, bool possible);

 private:
    struct Figures {
        std::map<std::string, std::int64_t> counters = {};  // empty: not counted
        OptionalNumber oldest_ms = {};
        std::int64_t depth = 0;
    };
    struct Sample {
        std::int64_t at_ms = 0;
        // By queue of tasks; "" is the whole hub, and a slash begins the name of what is no queue
        // of tasks: /worker, /orchestrator, /tasks.
        std::map<std::string, Figures> figures = {};
        Durations durations = {};  // of the whole hub, since the sample before
    };
    // How much was done in each part of the last 15 minutes.
    struct Spark {
        struct Part {
            double done = 0;
            double seconds = 0;
        };
        std::map<std::int64_t, Part> parts = {};

        void add(std::int64_t at_ms, double rate, double seconds);
        // Per second, oldest first; parts of which nothing is known are left out at the beginning.
        Json values() const;
    };
    // A series as the hub has recorded it.
    struct Recorded {
        std::int64_t taken_ms = 0;
        Json series = {};
    };
    struct Target {
        std::deque<Sample> samples = {};
        Durations counted = {};  // as the last of the samples had them
        std::vector<std::int64_t> bounds = {};
        Json last = {};
        std::int64_t taken_ms = 0;  // by the steady clock; 0: never
        std::int64_t due_ms = 0;
        std::map<std::string, Spark> sparks = {};
        std::map<std::string, Recorded> recorded = {};  // by range and queue
        bool waits = false;
        std::int64_t flows_due_ms = 0;                  // where flows are waited for
        std::string last_event = {};                    // that the pages know
        std::int64_t events_asked = -1;                 // when a page began to watch events
        std::map<std::string, std::string> flows = {};  // revisions; of the sampler's thread alone
        std::mutex taking = {};
    };
    using Key = std::pair<std::string, std::string>;

    void run();
    std::shared_ptr<Target> target(const Key& key);
    Json take(const std::shared_ptr<const Credential>& credential, const std::string& hub,
              Target& target);
    void note(Target& target, Json& raw);
    static Sample sample_of(const Json& raw);
    static bool follows(const Sample* before, const Sample& now);
    static Json rates_of(const Sample* before, const Sample& now, const std::string& queue);
    static void put_rates(Target& target, const Sample* before, const Sample& now,
                          const std::string& queue, Json& row);
    static Json provider_rows(Target& target, const Sample* before, const Sample& now,
                              const Json& raw);
    Json sampled(const Target& target, const std::string& queue);
    Json recorded(const std::shared_ptr<const Credential>& credential, const std::string& hub,
                  Target& target, const std::string& range, const std::string& queue);
    Json new_events(const Streams::Watched& watch, Target& target);
    void look(const Streams::Watched& watch, Target& target);
    bool is_other(const Streams::Watched& watch, const std::string& flow, Target& target);

    Database& database_;
    Streams& streams_;
    FindHub find_hub_;
    HideBodies hide_bodies_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<Key, std::shared_ptr<Target>> targets_;
    bool stopping_ = false;
    bool woken_ = false;
    std::thread thread_;
};

}  // namespace belay::tool::dashboard
