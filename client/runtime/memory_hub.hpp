// A hub in memory, for World: the same rules as a hub in the database, for one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "belay/durable/options.hpp"
#include "turn.hpp"

namespace belay::engine {

struct HubMessage {
    std::uint64_t id = 0;
    std::string text = {};
    std::int64_t visible_at = 0;
    int attempt = 0;
    bool starts = false;  // begins an instance
};

struct HubEvent {
    std::int64_t id = 0;
    std::string text = {};
};

struct HubInstance {
    std::string id = {};
    std::map<std::int64_t, std::vector<HubEvent>> executions = {};
    std::int64_t current = 1;
    std::string name = {};
    std::string version = {};
    std::string status = {};  // "" before the first turn
    OptionalText output = {};
    OptionalText parent = {};
    OptionalText custom_status = {};
    std::uint64_t status_version = 0;
    Values values = {};                              // of executions that have ended
    std::map<std::string, OptionalText> delta = {};  // of the current one; none for cleared
    std::vector<HubMessage> messages = {};
    bool ready = false;  // in the list of what can run
};

struct HubWork {
    std::uint64_t id = 0;
    std::string instance = {};
    std::int64_t execution_id = 0;
    std::int64_t activity_id = 0;
    std::string name = {};
    std::string input = {};
    OptionalText tag = {};
    OptionalText session = {};
    int attempt = 0;
    bool cancelled = false;
    // Set while the activity runs: what it will report then.
    OptionalText completion = {};
    bool retry = false;
};

// One of the two.
struct Runnable {
    HubInstance* instance = nullptr;
    std::shared_ptr<HubWork> work = {};
};

class MemoryHub {
 public:
    explicit MemoryHub(std::uint64_t seed) : random_(seed), shuffled_(seed != 0) {}

    std::int64_t now_ms() const { return now_ms_; }
    void set_now(std::int64_t now_ms);  // makes ready what is due
    std::optional<std::int64_t> next_due() const;

    // Routes an item to its instance; a timer becomes visible when it fires.
    void send(std::string item, std::int64_t visible_at = 0);
    void duplicate_next() { duplicate_next_ = true; }
    void reorder(std::uint64_t seed) { reorder_.emplace(seed); }

    // What runs next; none if nothing is ready.
    std::optional<Runnable> next();
    // The visible messages, as a fetch leases them; false if there is nothing for a turn.
    bool fetch(HubInstance& instance, std::vector<HubMessage>& batch);
    // Stores what a turn has decided. Throws std::logic_error as the server would refuse.
    void ack(HubInstance& instance, const std::vector<HubMessage>& batch,
             const TurnDecision& decision);
    void give_back(HubInstance& instance, const std::vector<HubMessage>& batch,
                   std::int64_t delay_ms, bool count_attempt);
    // The activity becomes visible again then, or reports its completion.
    void delay(const std::shared_ptr<HubWork>& work, std::int64_t visible_at);

    HubInstance* find(const std::string& id);
    const std::map<std::string, std::unique_ptr<HubInstance>>& instances() const {
        return instances_;
    }
    std::mt19937_64& random() { return random_; }

 private:
    struct Due {
        HubInstance* instance;
        std::shared_ptr<HubWork> work;
    };

    HubInstance& instance(const std::string& id);
    void make_ready(HubInstance& instance);
    void store_events(HubInstance& instance, const TurnDecision& decision);
    void store_metadata(HubInstance& instance, const TurnDecision& decision);
    void add_work(const std::string& item);

    std::int64_t now_ms_ = 1800000000000;
    std::uint64_t last_id_ = 0;
    std::mt19937_64 random_;
    bool shuffled_;
    bool duplicate_next_ = false;
    std::optional<std::mt19937_64> reorder_;
    std::map<std::string, std::unique_ptr<HubInstance>> instances_;
    std::deque<Runnable> ready_;
    std::multimap<std::int64_t, Due> due_;
    std::map<std::tuple<std::string, std::int64_t, std::int64_t>, std::shared_ptr<HubWork>> work_;
};

}  // namespace belay::engine
