// A hub in memory: its rules, written as plainly as possible.
//
// Several clients use it, each with a transaction of its own; one call runs at a time. A row has a
// committed form and, while a transaction holds it, the form that this transaction gave it. So the
// model knows what each client sees, what a fetch skips, and which calls would wait.
//
// A call that throws may leave the hub half changed: callers work on a copy and drop it then.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "core/lease.hpp"

namespace belay::test::model {

using Text = std::optional<std::string>;

constexpr int kNobody = -1;
// Stands for every instant that the server's own clock gave: the test's clock never shows it.
constexpr int64_t kServerClock = -1;

// The call would wait for another transaction.
struct Blocked {};

// The call raises an error.
struct Refused {
    std::string sqlstate;
    std::string message;      // "" if it is not to be compared
    std::string code_detail;  // of the DETAIL
    std::string facts;        // what else the DETAIL must contain
};

// One row as the transactions see it.
template <typename Row>
struct Cell {
    std::optional<Row> committed;
    std::optional<Row> pending;
    int holder = kNobody;

    const std::optional<Row>& seen_by(int client) const {
        return holder == client && client != kNobody ? pending : committed;
    }
    bool held_from(int client) const { return holder != kNobody && holder != client; }

    // What the client may change. Waits, that is throws, if somebody else holds the row.
    std::optional<Row>& hold(int client) {
        if (held_from(client)) {
            throw Blocked{};
        }
        if (holder == kNobody) {
            holder = client;
            pending = committed;
        }
        return pending;
    }
};

template <typename Key, typename Row>
struct Table {
    std::map<Key, Cell<Row>> cells;

    const Row* find(const Key& key, int client) const {
        const auto cell = cells.find(key);
        const bool seen = cell != cells.end() && cell->second.seen_by(client);
        return seen ? &*cell->second.seen_by(client) : nullptr;
    }
    bool held_from(const Key& key, int client) const {
        const auto cell = cells.find(key);
        return cell != cells.end() && cell->second.held_from(client);
    }
    std::optional<Row>& hold(const Key& key, int client) { return cells[key].hold(client); }

    // The rows that the client sees, by key.
    std::vector<const Row*> seen_by(int client) const {
        std::vector<const Row*> rows;
        for (const auto& [key, cell] : cells) {
            if (cell.seen_by(client)) {
                rows.push_back(&*cell.seen_by(client));
            }
        }
        return rows;
    }
    std::size_t count() const { return cells.size(); }

    void end(int client, bool commit) {
        for (auto at = cells.begin(); at != cells.end();) {
            auto& cell = at->second;
            if (cell.holder == client) {
                if (commit) {
                    cell.committed = cell.pending;
                }
                cell.pending = std::nullopt;
                cell.holder = kNobody;
            }
            at = cell.holder == kNobody && !cell.committed ? cells.erase(at) : std::next(at);
        }
    }
};

// What an enqueue says of an activity.
struct Activity {
    std::string work_item;
    Text instance;
    std::optional<int64_t> execution;
    std::optional<int64_t> activity;
    Text session;
    Text tag;
    std::string name;
};

struct Item {
    int64_t id = 0;
    int32_t lane = 0;
    int16_t slot = 0;
    int64_t due = 0;  // 0 = never delayed
    int64_t visible_at = 0;
    int64_t created_at = 0;
    Activity what;
    std::string token;         // "" = no lease
    int64_t locked_until = 0;  // 0 = no lease
    int32_t lease_incarnation = 0;
    int32_t attempts = 0;
    Text locked_by;

    auto key() const { return std::tuple(lane, slot, due, id); }
};

struct Session {
    std::string id;
    std::string owner;
    int64_t locked_until = 0;
    int64_t last_activity = 0;
    int32_t lease_incarnation = 0;
};

struct DeadLetter {
    int64_t id = 0;
    int64_t source_id = 0;
    Activity what;
    int32_t attempts = 0;
    int64_t enqueued_at = 0;
    int64_t dead_at = 0;
};

// A message to an instance. A completion that the engine wrote itself is described, not quoted.
struct Message {
    int64_t id = 0;
    std::string instance;
    std::string text;
    int64_t visible_at = 0;
};

struct Completion {
    std::string instance;
    std::string text;
};

struct Fetch {
    int64_t now = 0;
    int64_t lock_timeout = 0;
    Text owner;
    std::optional<int64_t> session_timeout;
    std::optional<std::vector<Text>> tags;
    std::string mode = "default_only";
    std::optional<std::vector<int>> slots;
    int max_items = 1;
    std::optional<int> max_new_sessions;
};

struct DeadLetterFilter {
    std::optional<std::vector<int64_t>> ids;
    std::optional<std::vector<std::string>> instances;
    Text queue;
    Text reason;
    std::optional<int64_t> dead_before;
    int64_t limit = 1000;
};

// The message of each function for a lost lease.
constexpr const char* kAckLost = "Worker queue item not found or already processed";
constexpr const char* kRenewLost = "Lock token invalid, expired, or already acked";
constexpr const char* kAbandonLost = "Invalid lock token or already acked";

class Hub {
 public:
    // ---- What is stored ----
    Table<int64_t, Item> items;
    Table<std::string, Session> sessions;
    Table<int64_t, DeadLetter> dead_letters;
    Table<int64_t, Message> messages;
    int32_t incarnation = 1;
    bool paused = false;
    int32_t slot_count = 1;
    std::optional<int32_t> max_attempts;
    bool dead_letter_fails_activity = true;
    bool server_is_ahead = false;  // of the test's clock

    // Sequences: no rollback takes an id back.
    struct Sequences {
        int64_t item = 0;
        int64_t dead_letter = 0;
        int64_t message = 0;
    } last;

    // ---- Transactions ----
    void end(int client, bool commit);

    // ---- Calls ----
    void enqueue(int client, const Activity& what, int64_t now, int64_t delay = 0);
    // The ids of the rows leased, in order. Their tokens are yet to be learned.
    std::vector<int64_t> fetch(int client, const Fetch& request);
    void learn_token(int client, int64_t id, const std::string& token);
    void ack(int client, const Text& token, const std::optional<Completion>& completion,
             int64_t now);
    std::vector<bool> ack_many(int client,
                               const std::vector<std::pair<Text, std::optional<Completion>>>& acks,
                               int64_t now);
    void renew(int client, const Text& token, int64_t now, int64_t extend);
    std::vector<bool> renew_many(int client, const std::vector<Text>& tokens, int64_t now,
                                 int64_t extend);
    void abandon(int client, const Text& token, int64_t now, std::optional<int64_t> delay,
                 bool ignore_attempt);
    int64_t renew_sessions(int client, const std::vector<Text>& owners, int64_t now, int64_t extend,
                           int64_t idle_timeout);
    int64_t cleanup_sessions(int client, int64_t now);
    struct Identity {
        std::string instance;
        int64_t execution;
        int64_t activity;
    };
    int64_t cancel(int client, const std::vector<Identity>& activities);
    int64_t redrive(int client, int64_t id);
    int64_t redrive_many(int client, const DeadLetterFilter& filter);
    void discard(int client, int64_t id);
    void set_slot_count(int client, int32_t count, int64_t server_now);
    void begin_incarnation();

    bool is_live(const Item& item, int64_t now) const {
        return item.locked_until > now && item.lease_incarnation == incarnation;
    }
    bool is_live(const Session& session, int64_t now) const {
        return session.locked_until > now && session.lease_incarnation == incarnation;
    }
    bool is_visible(const Item& item, int64_t now) const {
        return item.visible_at == kServerClock ? !server_is_ahead : item.visible_at <= now;
    }
    // ready, delayed or leased.
    std::string state_of(const Item& item, int64_t now) const;

 private:
    struct Held {
        Item* item = nullptr;  // null unless the token is the row's
        core::LeaseFault fault = core::LeaseFault::kUnknown;
    };
    Held hold_by_token(int client, const Text& token, int64_t now);
    Item& hold_live(int client, const Text& token, int64_t now, const char* message);
    void touch_session(int client, const Item& item, int64_t now);
    bool claim_session(int client, const std::string& id, const std::string& owner, int64_t now,
                       int64_t locked_until);
    void bury(int client, int64_t id, int64_t now);
    void send(int client, const Completion& completion, int64_t now);
    DeadLetter take_dead_letter(int client, int64_t id);
    int16_t slot_of(const Activity& what, int64_t id) const;

    friend class FetchSearch;
};

}  // namespace belay::test::model
