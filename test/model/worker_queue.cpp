#include "hub.hpp"

#include <algorithm>
#include <set>

#include "core/hash.hpp"
#include "core/token.hpp"

namespace belay::test::model {

namespace {

bool serves_tag(const Fetch& request, const Text& tag) {
    if (request.mode == "any") {
        return true;
    }
    if (!tag) {
        return request.mode == "default_only" || request.mode == "default_and";
    }
    return (request.mode == "tags" || request.mode == "default_and") && request.tags &&
           std::find(request.tags->begin(), request.tags->end(), tag) != request.tags->end();
}

}  // namespace

// ---- Fetch ----

// FW-3. The rows never delayed, by id, and the delayed rows that are due, by (due, id). Of the two
// heads the lower id is tried. A delayed row that the caller cannot have is no head (FW-2, SE-2):
// it is passed at once. Of the others that makes no difference: each row behind it has a higher
// id.
class FetchSearch {
 public:
    FetchSearch(Hub* hub, int client, const Fetch& request)
        : hub_(*hub), client_(client), request_(request) {}

    std::vector<int64_t> run() {
        find_rows();
        while (static_cast<int>(leased_.size()) < request_.max_items &&
               !(ready_.empty() && delayed_.empty())) {
            const bool delayed =
                ready_.empty() || (!delayed_.empty() && (delayed_.back() < ready_.back() ||
                                                         !is_eligible(delayed_.back().id)));
            auto& rows = delayed ? delayed_ : ready_;
            const int64_t id = rows.back().id;
            rows.pop_back();
            try_row(id);
        }
        return leased_;
    }

 private:
    struct Place {
        int64_t due;
        int64_t id;

        bool operator<(const Place& other) const { return id < other.id; }
    };

    void find_rows() {
        for (const Item* item : hub_.items.seen_by(client_)) {
            const bool wanted_slot =
                !request_.slots || contains(*request_.slots, static_cast<int>(item->slot));
            if (hub_.is_visible(*item, request_.now) && !hub_.is_live(*item, request_.now) &&
                wanted_slot && serves_tag(request_, item->what.tag) &&
                (!item->what.session || request_.owner)) {
                (item->due > 0 ? delayed_ : ready_).push_back({item->due, item->id});
            }
        }
        const auto later = [](const Place& a, const Place& b) {
            return std::pair(a.due, a.id) > std::pair(b.due, b.id);
        };
        std::sort(ready_.begin(), ready_.end(), later);
        std::sort(delayed_.begin(), delayed_.end(), later);
    }

    bool is_eligible(int64_t id) {
        const Text& session = hub_.items.find(id, client_)->what.session;
        return !hub_.items.held_from(id, client_) &&
               (!session || (may_claim(*session) && !hub_.sessions.held_from(*session, client_)));
    }

    void try_row(int64_t id) {
        const Item& item = *hub_.items.find(id, client_);
        const bool held = hub_.items.held_from(id, client_);
        if (!item.what.session) {
            if (!held) {
                lease(id);
            }
            return;
        }
        const std::string session = *item.what.session;
        if (held || !may_claim(session)) {
            return;
        }
        if (hub_.max_attempts && item.attempts >= *hub_.max_attempts) {
            hub_.bury(client_, id, request_.now);
            return;
        }
        const int64_t timeout = request_.session_timeout.value_or(request_.lock_timeout);
        if (!hub_.claim_session(client_, session, *request_.owner, request_.now,
                                request_.now + timeout)) {
            lost_.insert(session);
            return;
        }
        if (own_.insert(session).second) {
            ++new_sessions_;
        }
        lease(id);
    }

    void lease(int64_t id) {
        if (hub_.max_attempts && hub_.items.find(id, client_)->attempts >= *hub_.max_attempts) {
            hub_.bury(client_, id, request_.now);
            return;
        }
        Item& item = *hub_.items.hold(id, client_);
        item.token = "?";
        item.locked_until = request_.now + request_.lock_timeout;
        item.lease_incarnation = hub_.incarnation;
        item.attempts = core::next_attempt(item.attempts);
        item.locked_by = request_.owner;
        leased_.push_back(id);
    }

    bool may_claim(const std::string& session) {
        if (lost_.contains(session)) {
            return false;
        }
        if (own_.contains(session)) {
            return true;
        }
        const Session* stored = hub_.sessions.find(session, client_);
        if (stored != nullptr && hub_.is_live(*stored, request_.now)) {
            if (stored->owner != *request_.owner) {
                return false;
            }
            own_.insert(session);
            return true;
        }
        return !request_.max_new_sessions || new_sessions_ < *request_.max_new_sessions;
    }

    Hub& hub_;
    int client_;
    const Fetch& request_;
    std::vector<Place> ready_;    // the head comes last
    std::vector<Place> delayed_;  // likewise
    std::set<std::string> own_;
    std::set<std::string> lost_;
    int new_sessions_ = 0;
    std::vector<int64_t> leased_;
};

std::vector<int64_t> Hub::fetch(int client, const Fetch& request) {
    if (worker_paused || request.mode == "none") {
        return {};
    }
    return FetchSearch(this, client, request).run();
}

void Hub::learn_token(int client, int64_t id, const std::string& token) {
    items.hold(id, client)->token = token;
}

// SE-4 to SE-6: never waits, and a call that fails has changed nothing.
bool Hub::claim_session(int client, const std::string& id, const std::string& owner, int64_t now,
                        int64_t locked_until) {
    const Session* stored = sessions.find(id, client);
    if (sessions.held_from(id, client) ||
        (stored != nullptr && is_live(*stored, now) && stored->owner != owner)) {
        return false;
    }
    sessions.hold(id, client) = Session{id, owner, locked_until, now, incarnation};
    return true;
}

// ---- Leases ----

Hub::Held Hub::hold_by_token(int client, const Text& token, int64_t now) {
    using core::LeaseFault;
    const auto parsed = token ? core::decode_work_token(*token) : std::nullopt;
    if (!parsed) {
        return {nullptr, LeaseFault::kUnknown};
    }
    if (parsed->incarnation != incarnation) {
        return {nullptr, LeaseFault::kOtherIncarnation};
    }
    const Item* seen = items.find(parsed->id, client);
    if (seen == nullptr ||
        seen->key() != std::tuple(parsed->lane, parsed->slot, parsed->due, parsed->id)) {
        return {nullptr, LeaseFault::kGone};
    }
    Item& item = *items.hold(parsed->id, client);
    if (item.token != *token) {
        return {nullptr, item.token.empty() ? LeaseFault::kUnknown : LeaseFault::kLeasedAgain};
    }
    return {&item, is_live(item, now) ? LeaseFault::kNone : LeaseFault::kExpired};
}

Item& Hub::hold_live(int client, const Text& token, int64_t now) {
    const Held held = hold_by_token(client, token, now);
    if (held.fault != core::LeaseFault::kNone) {
        raise_lost(token, held.fault, held.item != nullptr ? held.item->locked_until : 0);
    }
    return *held.item;
}

// SE-8.
void Hub::touch_session(int client, const Item& item, int64_t now) {
    if (!item.what.session || !item.locked_by) {
        return;
    }
    const Session* stored = sessions.find(*item.what.session, client);
    if (stored != nullptr && stored->owner == *item.locked_by && is_live(*stored, now)) {
        sessions.hold(stored->id, client)->last_activity = now;
    }
}

void Hub::ack(int client, const Text& token, const std::optional<Mail>& completion, int64_t now) {
    const Item item = hold_live(client, token, now);
    items.hold(item.id, client) = std::nullopt;
    touch_session(client, item, now);
    if (completion) {
        send(client, *completion, now, now);
    }
}

std::vector<bool> Hub::ack_many(int client,
                                const std::vector<std::pair<Text, std::optional<Mail>>>& acks,
                                int64_t now) {
    std::vector<bool> acked;
    std::vector<Item> gone;
    for (const auto& [token, completion] : acks) {
        const Held held = hold_by_token(client, token, now);
        acked.push_back(held.fault == core::LeaseFault::kNone);
        if (acked.back()) {
            gone.push_back(*held.item);
            items.hold(gone.back().id, client) = std::nullopt;
        }
    }
    for (const Item& item : gone) {
        touch_session(client, item, now);
    }
    for (std::size_t i = 0; i < acks.size(); ++i) {
        if (acked[i] && acks[i].second) {
            send(client, *acks[i].second, now, now);
        }
    }
    return acked;
}

void Hub::renew(int client, const Text& token, int64_t now, int64_t extend) {
    Item& item = hold_live(client, token, now);
    item.locked_until = now + extend;
    touch_session(client, item, now);
}

std::vector<bool> Hub::renew_many(int client, const std::vector<Text>& tokens, int64_t now,
                                  int64_t extend) {
    std::vector<bool> renewed;
    for (const Text& token : tokens) {
        const Held held = hold_by_token(client, token, now);
        renewed.push_back(held.fault == core::LeaseFault::kNone);
        if (renewed.back()) {
            held.item->locked_until = now + extend;
            touch_session(client, *held.item, now);
        }
    }
    return renewed;
}

void Hub::abandon(int client, const Text& token, int64_t now, std::optional<int64_t> delay,
                  bool ignore_attempt) {
    const Held held = hold_by_token(client, token, now);
    if (held.item == nullptr) {
        raise_lost(token, held.fault, 0);
    }
    Item& item = *held.item;
    item.token = "";
    item.locked_until = 0;
    item.lease_incarnation = 0;
    item.locked_by = std::nullopt;
    item.attempts = ignore_attempt ? core::previous_attempt(item.attempts) : item.attempts;
    if (delay) {
        item.visible_at = now + *delay;
        item.due = item.visible_at;
    }
}

// ---- Enqueue ----

int16_t Hub::slot_of(const Activity& what, int64_t id) const {
    if (what.instance) {
        return static_cast<int16_t>(core::slot_of(*what.instance, slot_count));
    }
    return static_cast<int16_t>(what.session ? core::slot_of(*what.session, slot_count)
                                             : core::slot_of_id(id, slot_count));
}

void Hub::enqueue(int client, const Activity& what, int64_t now, int64_t delay) {
    Item item;
    item.id = ++last.item;
    item.lane =
        core::lane_of(what.tag.has_value(), what.tag.value_or(""), what.session.has_value());
    item.slot = slot_of(what, item.id);
    item.visible_at = now + delay;
    item.due = delay > 0 ? item.visible_at : 0;
    if (now == kServerClock) {
        item.visible_at = kServerClock;
        item.due = 0;
    }
    item.created_at = now;
    item.what = what;
    items.hold(item.id, client) = item;
}

// ---- Sessions ----

int64_t Hub::renew_sessions(int client, const std::vector<Text>& owners, int64_t now,
                            int64_t extend, int64_t idle_timeout) {
    int64_t renewed = 0;
    for (const Session* session : sessions.seen_by(client)) {
        if (contains(owners, Text(session->owner)) && is_live(*session, now) &&
            session->last_activity > now - idle_timeout) {
            sessions.hold(session->id, client)->locked_until = now + extend;
            ++renewed;
        }
    }
    return renewed;
}

int64_t Hub::cleanup_sessions(int client, int64_t now) {
    int64_t deleted = 0;
    for (const Session* session : sessions.seen_by(client)) {
        bool needed = false;
        for (const Item* item : items.seen_by(client)) {
            needed = needed || item->what.session == session->id;
        }
        if (!is_live(*session, now) && !needed && !sessions.held_from(session->id, client)) {
            sessions.hold(session->id, client) = std::nullopt;
            ++deleted;
        }
    }
    return deleted;
}

// ---- Operators ----

int64_t Hub::cancel(int client, const std::vector<Identity>& activities) {
    int64_t cancelled = 0;
    for (const Identity& wanted : activities) {
        for (const Item* item : items.seen_by(client)) {
            if (item->what.instance == wanted.instance &&
                item->what.execution == wanted.execution &&
                item->what.activity == wanted.activity) {
                items.hold(item->id, client) = std::nullopt;
                ++cancelled;
            }
        }
    }
    return cancelled;
}

std::string Hub::state_of(const Item& item, int64_t now) const {
    return is_live(item, now) ? "leased" : is_visible(item, now) ? "ready" : "delayed";
}

}  // namespace belay::test::model
