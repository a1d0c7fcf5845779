#include "hub.hpp"

namespace belay::test::model {

int64_t Hub::run_duty(int client, const std::string& duty, int64_t now) {
    if (duty == "dead_letters") {
        return discard_old(client, now);
    }
    if (duty == "instance_retention") {
        return retire(client, now);
    }
    if (duty == "lock_cleanup") {
        return clean_up_locks(client, now);
    }
    if (duty == "orphan_messages") {
        return dead_letter_orphans(client, now);
    }
    return cleanup_sessions(client, now);
}

// PO-13.
int64_t Hub::discard_old(int client, int64_t now) {
    int64_t discarded = 0;
    for (const DeadLetter* dead : dead_letters.seen_by(client)) {
        if (dead_letter_retention && is_before(dead->dead_at, now - *dead_letter_retention) &&
            !dead_letters.held_from(dead->id, client)) {
            dead_letters.take_away(dead->id, client);
            ++discarded;
        }
    }
    meet(Case::kLettersDiscarded, discarded > 0);
    return discarded;
}

// Whether a removal would not wait.
bool Hub::can_remove(int client, const Ids& ids) const {
    Ids all = unborn_children(client, ids);
    all.insert(ids.begin(), ids.end());
    const auto excluded = [this, client](const std::string& id) {
        return locks.held_from(id, client);
    };
    const auto row_held = [this, client](const std::string& id) {
        return !instances.is_free(id, client);
    };
    const auto is_of = [&ids](const Text& instance) { return instance && ids.contains(*instance); };
    const auto held_among = [client](const auto& table, auto chosen) {
        const auto rows = table.seen_by(client);
        return std::any_of(rows.begin(), rows.end(), [&](const auto* row) {
            return chosen(*row) && table.held_from(row->id, client);
        });
    };
    return std::none_of(all.begin(), all.end(), excluded) &&
           std::none_of(ids.begin(), ids.end(), row_held) &&
           !held_among(items, [&](const Item& item) { return is_of(item.what.instance); }) &&
           !held_among(messages,
                       [&](const Message& message) {
                           return is_of(message.mail.instance) || is_of(message.mail.parent);
                       }) &&
           !held_among(dead_letters,
                       [&](const DeadLetter& dead) { return is_of(dead.what.instance); });
}

// DE-18. It does not wait, so it need not come after other deletions.
int64_t Hub::retire(int client, int64_t now) {
    if (!instance_retention) {
        return 0;
    }
    BulkFilter filter;
    filter.completed_before = now - *instance_retention;
    int64_t retired = 0;
    for (const std::string& root : finished_roots(client, filter, now)) {
        const Ids ids = with_descendants(client, {root});
        meet(Case::kRetentionSkipped, !can_remove(client, ids));
        if (can_remove(client, ids)) {
            remove_finished(client, ids);
            ++retired;
        }
    }
    meet(Case::kRetired, retired > 0);
    return retired;
}

// OR-4, OR-6. Those that a fetch has set aside, and those that no fetch has looked at for so long.
int64_t Hub::dead_letter_orphans(int client, int64_t now) {
    const int64_t limit = now - orphan_retention;
    Ids candidates;
    for (const Message* message : messages.seen_by(client)) {
        if (is_before(message->created_at, limit) &&
            (message->aside || is_before(message->visible_at, limit))) {
            candidates.insert(message->mail.instance);
        }
    }
    int64_t buried = 0;
    for (const std::string& instance : candidates) {
        const TurnLock* lock = locks.find(instance, client);
        const auto queued = messages_of(client, instance);
        const bool start_queued =
            std::any_of(queued.begin(), queued.end(),
                        [](const Message* message) { return message->mail.is_start(); });
        const bool set_aside = std::any_of(queued.begin(), queued.end(),
                                           [](const Message* message) { return message->aside; });
        meet(Case::kOrphansWaitForStart, start_queued && set_aside);
        if (locks.held_from(instance, client) || (lock != nullptr && is_live(*lock, now)) ||
            has_started(client, instance) || start_queued) {
            continue;
        }
        for (const Message* message : queued) {
            if (is_before(message->created_at, limit) && !messages.held_from(message->id, client)) {
                locks.hold(instance, client);
                dead_letter_message(client, message->id, now, "orphan");
                ++buried;
            }
        }
    }
    meet(Case::kOrphansBuried, buried > 0);
    return buried;
}

// In which order instances are gone through is the server's choice, and with it the ids.
std::string Hub::learn_orphans(int client, const std::map<int64_t, int64_t>& ids) {
    std::vector<DeadLetter> buried;
    for (const DeadLetter* dead : dead_letters.seen_by(client)) {
        if (dead->reason == "orphan" && ids.contains(dead->source_id)) {
            buried.push_back(*dead);
        }
    }
    if (buried.size() != ids.size()) {
        return "not the dead letters of the orphans";
    }
    for (const DeadLetter& dead : buried) {
        dead_letters.cells.erase(dead.id);
    }
    for (DeadLetter& dead : buried) {
        dead.id = ids.at(dead.source_id);
        dead_letters.hold(dead.id, client) = dead;
    }
    return "";
}

// Rows without a lease and messages, a day old.
int64_t Hub::clean_up_locks(int client, int64_t now) {
    int64_t cleaned = 0;
    for (const TurnLock* lock : locks.seen_by(client)) {
        const std::string instance = lock->instance;
        if (lock->locked_at < now - kDay && !is_live(*lock, now) &&
            messages_of(client, instance).empty() && !locks.held_from(instance, client)) {
            locks.take_away(instance, client);
            ++cleaned;
        }
    }
    meet(Case::kLocksCleaned, cleaned > 0);
    return cleaned;
}

}  // namespace belay::test::model
