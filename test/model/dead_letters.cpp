#include "hub.hpp"

namespace belay::test::model {

// PO-5, PO-8.
void Hub::bury(int client, int64_t id, int64_t now) {
    const Item item = *items.find(id, client);
    items.hold(id, client) = std::nullopt;
    const int64_t dead = ++last.dead_letter;
    dead_letters.hold(dead, client) =
        DeadLetter{dead,          "worker",        item.id, item.what,     {},
                   item.attempts, item.created_at, now,     "max_attempts"};
    if (dead_letter_fails_activity && item.what.instance && item.what.execution &&
        item.what.activity) {
        Mail poison;
        poison.instance = *item.what.instance;
        poison.kind = "ActivityFailed";
        poison.text = "poison " + *item.what.instance + " " + std::to_string(*item.what.execution) +
                      " " + std::to_string(*item.what.activity) + " " + item.what.name + " " +
                      std::to_string(item.attempts) + " of " + std::to_string(*max_attempts);
        send(client, poison, now, now);
    }
}

void Hub::dead_letter_message(int client, int64_t id, int64_t now, const std::string& reason) {
    const Message message = *messages.find(id, client);
    messages.hold(id, client) = std::nullopt;
    Activity what;
    what.work_item = message.mail.text;
    what.instance = message.mail.instance;
    const int64_t dead = ++last.dead_letter;
    dead_letters.hold(dead, client) = DeadLetter{
        dead, "orchestrator", id, what, message.mail, message.attempts, message.created_at,
        now,  reason};
}

DeadLetter Hub::take_dead_letter(int client, int64_t id) {
    if (dead_letters.find(id, client) == nullptr) {
        throw Refused{"QB002", "dead letter " + std::to_string(id) + " does not exist",
                      "unknown_dead_letter", "\"id\":" + std::to_string(id)};
    }
    auto& row = dead_letters.hold(id, client);
    const DeadLetter taken = *row;
    row = std::nullopt;
    return taken;
}

// PO-11. A timer that was due once is not delayed again.
int64_t Hub::redrive(int client, int64_t id) {
    DeadLetter dead = take_dead_letter(client, id);
    if (dead.queue == "worker") {
        enqueue(client, dead.what, kServerClock);
        return last.item;
    }
    dead.mail.fire_at = std::nullopt;
    return send(client, dead.mail, kServerClock, kServerClock);
}

int64_t Hub::redrive_many(int client, const DeadLetterFilter& filter) {
    int64_t looked_at = 0;
    std::vector<int64_t> chosen;
    for (const DeadLetter* dead : dead_letters.seen_by(client)) {
        const bool matches = (!filter.ids || contains(*filter.ids, dead->id)) &&
                             (!filter.instance || dead->what.instance == filter.instance) &&
                             (!filter.queue || *filter.queue == dead->queue) &&
                             (!filter.reason || *filter.reason == dead->reason) &&
                             (!filter.max_id || dead->id <= *filter.max_id);
        // What others hold is in the portion, and skipped.
        if (matches && looked_at++ < filter.limit && !dead_letters.held_from(dead->id, client)) {
            chosen.push_back(dead->id);
        }
    }
    for (const int64_t id : chosen) {
        redrive(client, id);
    }
    return static_cast<int64_t>(chosen.size());
}

void Hub::discard(int client, int64_t id) {
    take_dead_letter(client, id);
}

}  // namespace belay::test::model
