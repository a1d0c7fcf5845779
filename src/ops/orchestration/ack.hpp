// What an ack of a turn says, checked; for the files that check and apply it.
#pragma once

#include "ops/intents/intents.hpp"
#include "ops/orchestration/orchestration.hpp"
#include "pg/subtransaction.hpp"

namespace belay::ops {

enum class KvAction { kSet, kClear, kClearAll };

struct KvChange {
    KvAction action;
    std::string_view key;
    std::string_view value;
    std::optional<int64> updated_at;  // absent: now
};

// The last change of the custom status, if there is one.
struct StatusChange {
    bool present;
    std::optional<std::string_view> value;  // absent: clear
};

// What the caller keeps of the instance in its memory.
struct CachedBy {
    std::string_view owner;
    int64 event;
};

// Checked arguments.
struct Ack {
    int64 execution_id;
    CheckedEvents events;
    CheckedActivity* worker_items;
    std::size_t worker_count;
    CheckedMessage* messages;
    std::size_t message_count;
    CheckedIntent* intents;  // of both lists, in their order
    std::size_t intent_count;
    std::span<const ActivityIdentity> cancelled;
    std::optional<std::string_view> name;
    std::optional<std::string_view> version;
    std::optional<std::string_view> parent;
    store::ExecutionChange execution;
    StatusChange custom_status;
    std::optional<CachedBy> cached;
    KvChange* kv;
    std::size_t kv_count;

    bool ends() const { return execution.status && core::is_end(*execution.status); }
};

// Reads the arguments. QB006 for what is wrong with them. Reads no table.
Ack checked_ack(const AckArgs& args);

void refuse(TurnAck* ack, int sqlstate, const char* reason, const char* message);
// What an error says, if it is the ack's own fault; else it propagates.
void refuse(TurnAck* ack, const ErrorData* error);

// Reads the arguments of those that are wanted(ack), and calls keep(index, ack). A check raises
// what is wrong, so that one must be undone: the checks write nothing, and a subtransaction in
// which nothing is written costs next to nothing.
template <typename Wanted, typename Keep>
void check_each(std::span<TurnAck> acks, Wanted wanted, Keep keep) {
    std::size_t at = 0;
    while (at < acks.size()) {
        const auto end = pg::try_in_subtransaction([acks, wanted, keep, &at] {
            for (; at < acks.size(); ++at) {
                if (wanted(acks[at])) {
                    keep(at, checked_ack(acks[at].args));
                }
            }
            return true;
        });
        if (end.error != nullptr) {
            refuse(&acks[at++], end.error);
        }
    }
}

// An ack whose lock is held and that nothing speaks against.
struct Accepted {
    const Ack* ack;
    store::InstanceLock lock;
    std::optional<int64> last_event_id;  // with what is added, if that is known
    bool predicted;                      // no lease precedes it, and it has no messages
};
// Commits them.
void apply_acks(store::Tables& tables, std::span<const Accepted> all, pg::Clock* clock);

}  // namespace belay::ops
