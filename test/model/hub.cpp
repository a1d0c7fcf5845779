#include "hub.hpp"

#include <algorithm>
#include <chrono>

#include "core/token.hpp"

namespace belay::test::model {

int64_t server_now() {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

void raise_lost(const Text& token, core::LeaseFault fault, int64_t locked_until) {
    Refused refused{"QB001", "", core::code_detail(fault), ""};
    refused.facts = "\"lock_token\":\"" + token.value_or("").substr(0, 8) + "\"";
    if (fault == core::LeaseFault::kExpired) {
        refused.facts += ",\"locked_until\":" + std::to_string(locked_until);
    }
    throw refused;
}

void Hub::set_slot_count(int client, int32_t count, int64_t server_now) {
    const auto refuse_live = [this, client, server_now](const auto& table) {
        for (const auto* row : table.seen_by(client)) {
            if (is_live(*row, server_now)) {
                throw Refused{"QB003", "", "live_leases", ""};
            }
        }
    };
    refuse_live(items);
    refuse_live(locks);
    slot_count = count;
    for (const Item* item : items.seen_by(client)) {
        Item& moved = *items.hold(item->id, client);
        moved.slot = slot_of(moved.what, moved.id);
        if (auto token = core::decode_work_token(moved.token)) {  // of a lease that is over
            token->slot = moved.slot;
            core::encode(*token, moved.token.data());
        }
    }
}

void Hub::begin_incarnation() {
    ++incarnation;
    // SO-15: its numbers are above those of earlier ones.
    const int64_t floor = int64_t{incarnation} << 40;
    for (int64_t* number : {&last.item, &last.dead_letter, &last.message}) {
        *number = std::max(*number, floor);
    }
}

void Hub::end(int client, bool commit) {
    items.end(client, commit);
    sessions.end(client, commit);
    dead_letters.end(client, commit);
    messages.end(client, commit);
    locks.end(client, commit);
    instances.end(client, commit);
    executions.end(client, commit);
    history.end(client, commit);
    kv_store.end(client, commit);
    kv_delta.end(client, commit);
    removal.end(client, commit);
    tasks.end(client, commit);
}

}  // namespace belay::test::model
