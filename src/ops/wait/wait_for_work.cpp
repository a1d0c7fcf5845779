// wait_for_work.cpp — sleep until something may be fetched, holding no snapshot, xid or lock.
//
// Calls    pg::begin_wait, pg::tend, store::orchestrator_readiness, store::worker_readiness
// Touches  nothing
// Locks    nothing while it sleeps
// Raises   QB006 bad queue or timeout, 42501, 25001 inside a transaction block
#include "ops/wait/wait_for_work.hpp"

#include <algorithm>

#include "core/hash.hpp"
#include "core/task.hpp"
#include "core/time.hpp"
#include "pg/clock.hpp"
#include "pg/datum.hpp"
#include "pg/errors.hpp"
#include "pg/scopes.hpp"
#include "store/grants.hpp"
#include "store/readiness.hpp"
#include "store/task_reads.hpp"

namespace belay::ops {

namespace {

constexpr int kMaxLeases = 4096;  // that one look reads
constexpr int kMaxReady = 64;     // that one look counts
constexpr int64 kFirstPollMs = 20;
constexpr int64 kLongestPollMs = 500;

struct TopicWord {
    const char* word;
    pg::Topic topic;
    bool named;
    const char* verb;  // whoever may call it may wait
};

constexpr TopicWord kTopics[] = {
    {"orchestrator", pg::Topic::kOrchestrator, false, "fetch_orchestration_item"},
    {"worker", pg::Topic::kWorker, false, "fetch_work_item"},
    {"instance", pg::Topic::kInstance, true, "get_instance_info"},
    {"owner", pg::Topic::kOwner, true, "fetch_work_item"},
    {"outbox", pg::Topic::kOutbox, false, "read_events"},
    {"lane", pg::Topic::kLane, true, "claim_tasks"},
    {"task", pg::Topic::kTask, true, "get_task"},
};

constexpr const char* kQueueWords =
    "Queues are orchestrator, worker, outbox, lane:<name>, lane:*, instance:<id>, task:<id> and "
    "owner:<id>.";

// ---------------------------------------------------------------- what a session saw of instances

// What is waited for to change, not to be taken.
bool is_watched(pg::Topic topic) {
    return topic == pg::Topic::kInstance || topic == pg::Topic::kTask;
}

struct Seen {
    pg::Channel channel;
    int64 custom_status_version;  // -1: not seen
    int64 execution_id;           // -1: not seen; the epoch of a task
    uint64 status;                // hash
};

constinit HTAB* seen_instances = nullptr;
constexpr long kMostSeen = 10000;

HTAB* seen_table() {
    if (seen_instances == nullptr) {
        HASHCTL control{};
        control.keysize = sizeof(pg::Channel);
        control.entrysize = sizeof(Seen);
        control.hcxt = TopMemoryContext;
        seen_instances = hash_create("belay seen instances", 64, &control,
                                     HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
    }
    return seen_instances;
}

Seen* see(const pg::Channel& channel) {
    bool found = false;
    if (hash_get_num_entries(seen_table()) > kMostSeen) {
        hash_destroy(seen_instances);  // a session that reads so many does not wait for them
        seen_instances = nullptr;
    }
    auto* seen = static_cast<Seen*>(hash_search(seen_table(), &channel, HASH_ENTER, &found));
    if (!found) {
        seen->custom_status_version = -1;
        seen->execution_id = -1;
        seen->status = 0;
    }
    return seen;
}

// What has become of the task since the session saw it. Every lease that is lost has an epoch of
// its own, so one that was lost before tells nothing.
std::optional<pg::WakeReason> change_of_task(const store::Hub& hub, const WaitQueue& queue) {
    const auto* seen =
        static_cast<Seen*>(hash_search(seen_table(), &queue.channel, HASH_FIND, nullptr));
    if (seen == nullptr) {
        return std::nullopt;
    }
    const auto mark = store::read_task_mark(hub, queue.name);
    if (!mark) {
        return pg::WakeReason::kChanged;  // deleted since
    }
    if (seen->execution_id == mark->epoch && seen->status == core::fnv1a64(mark->state)) {
        return std::nullopt;
    }
    if (mark->state == core::name_of(core::TaskState::kCancelled)) {
        return pg::WakeReason::kCancelled;
    }
    const auto last = pg::last_change(queue.channel);
    return last && last->mark > seen->execution_id ? last->reason : pg::WakeReason::kChanged;
}

// Whether the instance is no longer as the session saw it. One it never looked at is not new.
bool is_changed(const store::Hub& hub, const WaitQueue& queue) {
    const auto* seen =
        static_cast<Seen*>(hash_search(seen_table(), &queue.channel, HASH_FIND, nullptr));
    const auto mark = seen != nullptr ? store::read_mark(hub, queue.name) : std::nullopt;
    if (seen == nullptr) {
        return false;
    }
    if (!mark) {
        return true;  // deleted since
    }
    return (seen->custom_status_version >= 0 &&
            seen->custom_status_version != mark->custom_status_version) ||
           (seen->execution_id >= 0 && (seen->execution_id != mark->execution_id ||
                                        seen->status != core::fnv1a64(mark->status)));
}

// ---------------------------------------------------------------- looking at the tables

struct Found {
    bool hub_gone;
    int64 items;
    pg::WakeReason reason;  // of the items
    pg::Look look;
};

bool is_paused(const store::Hub& hub, pg::Topic topic) {
    return (topic == pg::Topic::kOrchestrator && hub.is_paused(store::Queue::kOrchestrator)) ||
           (topic == pg::Topic::kWorker && hub.is_paused(store::Queue::kWorker)) ||
           (topic == pg::Topic::kLane && hub.is_paused(store::Queue::kTasks));
}

void read_leases(const store::Hub& hub, pg::Topic topic, int64 now, pg::Look* look) {
    static constinit pg::LeaseEnd ends[2 * kMaxLeases] = {};
    std::size_t count = 0;
    bool all = true;
    const auto add = [&count, &all](std::span<const store::LiveLease> leases) {
        all = all && leases.size() < static_cast<std::size_t>(kMaxLeases);
        for (const auto& lease : leases) {
            ends[count++] = {lease.key, lease.deadline};
        }
    };
    if (topic == pg::Topic::kOrchestrator) {
        add(store::live_turns(hub, now, kMaxLeases));
    } else if (topic == pg::Topic::kOutbox) {
        add(store::live_batches(hub, now, kMaxLeases));
    } else if (topic == pg::Topic::kWorker) {
        add(store::live_work(hub, now, kMaxLeases));
        add(store::live_sessions(hub, now, kMaxLeases));
    }
    look->leases_read = true;
    look->all_leases = all;
    look->leases = {ends, count};
}

Found look_at(const store::Hub& hub, const WaitQueue& queue, const pg::Tending& tending) {
    const int64 now = pg::server_now_ms();
    Found found{
        .hub_gone = false,
        .items = 0,
        .reason = is_watched(queue.topic) ? pg::WakeReason::kChanged : pg::WakeReason::kWork,
        .look = {.version = tending.version,
                 .due_moves = tending.due_moves,
                 .next_due = core::kNever,
                 .leases_read = false,
                 .all_leases = false,
                 .leases = {},
                 .complete = true}};
    if (queue.topic == pg::Topic::kInstance) {
        found.items = is_changed(hub, queue) ? 1 : 0;
        return found;
    }
    if (queue.topic == pg::Topic::kTask) {
        const auto change = change_of_task(hub, queue);
        found.items = change ? 1 : 0;
        found.reason = change.value_or(found.reason);
        return found;
    }
    if (queue.topic == pg::Topic::kOwner) {
        return found;
    }
    if (queue.topic == pg::Topic::kLane) {
        const auto lane =
            store::lane_readiness(hub, queue.name == "*" ? "" : queue.name, now, kMaxReady);
        found.items = is_paused(hub, queue.topic) ? 0 : lane.items;
        found.look.next_due = lane.next_due;
        found.look.leases_read = tending.scan_leases;  // the duty tells of tasks' leases
        found.look.all_leases = true;
        found.look.complete = !store::has_old_prepared();
        return found;
    }
    const auto ready =
        queue.topic == pg::Topic::kOrchestrator ? store::orchestrator_readiness(hub, now, kMaxReady)
        : queue.topic == pg::Topic::kOutbox     ? store::outbox_readiness(hub, now)
                                                : store::worker_readiness(hub, now, kMaxReady);
    found.items = is_paused(hub, queue.topic) ? 0 : ready.items;
    found.look.next_due = ready.next_due;
    if (tending.scan_leases) {
        read_leases(hub, queue.topic, now, &found.look);
    }
    found.look.complete = !store::has_old_prepared();
    return found;
}

// Ends the transaction, and with it snapshot and locks. The next one holds nothing yet.
void let_go() {
    SPI_commit();
}

// Looks at one queue in a transaction of its own.
Found look(Oid schema, const WaitQueue& queue, const pg::Tending& tending) {
    Found found{};
    AcceptInvalidationMessages();
    PushActiveSnapshot(GetTransactionSnapshot());
    const store::Hub* hub = store::find_hub(schema, true);
    if (hub == nullptr) {
        found.hub_gone = true;
    } else {
        found = pg::as_role(hub->owner, [hub, &queue, &tending] {
            return pg::with_spi([hub, &queue, &tending] { return look_at(*hub, queue, tending); });
        });
    }
    PopActiveSnapshot();
    let_go();
    return found;
}

// Whether the queue is paused, or its hub gone: then a wake-up comes to nothing.
struct Standing {
    bool gone;
    bool paused;
};
Standing standing_of(Oid schema, const WaitQueue& queue) {
    AcceptInvalidationMessages();
    PushActiveSnapshot(GetTransactionSnapshot());
    const store::Hub* hub = store::find_hub(schema, true);
    const Standing standing{hub == nullptr, hub != nullptr && is_paused(*hub, queue.topic)};
    PopActiveSnapshot();
    return standing;
}

// ---------------------------------------------------------------- waiting with shared memory

struct Wait {
    Oid schema;
    std::span<const WaitQueue> queues;
    int64 end;  // ms
};

WaitResult woken_by(const Wait& wait, int index, pg::WakeReason reason) {
    return {wait.queues[static_cast<std::size_t>(index)].word, reason};
}

// What a session has not looked at yet it looks at once before it sleeps.
std::optional<WaitResult> first_look(const Wait& wait) {
    for (std::size_t i = 0; i < wait.queues.size(); ++i) {
        const WaitQueue& queue = wait.queues[i];
        const auto remembered = pg::take_remembered(queue.channel);
        if (remembered) {
            if (const auto moved =
                    pg::moved_since(static_cast<int>(i), *remembered, pg::server_now_ms())) {
                if (!standing_of(wait.schema, queue).paused) {
                    pg::told(static_cast<int>(i));
                    return WaitResult{queue.word, *moved};
                }
                let_go();
            }
            continue;
        }
        const auto tending = pg::tend(static_cast<int>(i), pg::server_now_ms());
        const Found found = look(wait.schema, queue, tending);
        if (found.hub_gone) {
            return WaitResult{queue.word, pg::WakeReason::kShutdown};
        }
        if (!is_watched(queue.topic) && queue.topic != pg::Topic::kOwner) {
            pg::note_look(static_cast<int>(i), found.look, pg::server_now_ms());
        }
        if (found.items > 0) {
            return WaitResult{queue.word, found.reason};
        }
    }
    return std::nullopt;
}

// Does what the channels of this wait need done, and tells until when to sleep.
struct Round {
    std::optional<WaitResult> result;
    int64 sleep_until;
};

Round tend_all(const Wait& wait) {
    Round round{std::nullopt, wait.end};
    for (std::size_t i = 0; i < wait.queues.size(); ++i) {
        const WaitQueue& queue = wait.queues[i];
        const auto index = static_cast<int>(i);
        auto tending = pg::tend(index, pg::server_now_ms());
        if (tending.timekeeper && tending.must_look) {
            const Found found = look(wait.schema, queue, tending);
            if (found.hub_gone) {
                round.result = WaitResult{queue.word, pg::WakeReason::kShutdown};
                return round;
            }
            pg::note_look(index, found.look, pg::server_now_ms());
            if (found.items > 0) {
                // This process takes one itself.
                round.result = WaitResult{queue.word, pg::WakeReason::kTimer};
                pg::wake_others(index, static_cast<int32>(found.items), pg::WakeReason::kTimer);
                pg::owe_hint(queue.channel, pg::next_hint());
                return round;
            }
            tending = pg::tend(index, pg::server_now_ms());
        }
        round.sleep_until = std::min(round.sleep_until, tending.sleep_until);
    }
    return round;
}

WaitResult sleep_with_shared_memory(const Wait& wait) {
    while (true) {
        if (const auto woken = pg::woken()) {
            const auto& queue = wait.queues[static_cast<std::size_t>(woken->channel)];
            const Standing standing = standing_of(wait.schema, queue);
            if (standing.gone) {
                return woken_by(wait, woken->channel, pg::WakeReason::kShutdown);
            }
            if (!standing.paused) {
                pg::owe_hint(queue.channel, woken->hint);
                pg::told(woken->channel);
                return woken_by(wait, woken->channel, woken->reason);
            }
            let_go();
            pg::wait_on();
        }
        const Round round = tend_all(wait);
        if (round.result) {
            return *round.result;
        }
        const int64 now = pg::server_now_ms();
        if (now >= wait.end) {
            return {nullptr, pg::WakeReason::kTimeout};
        }
        if (!pg::woken()) {
            pg::sleep_until(std::min(round.sleep_until, wait.end), now);
        }
    }
}

// ---------------------------------------------------------------- waiting without

constinit bool told_of_polling = false;

WaitResult poll(const Wait& wait) {
    if (!told_of_polling) {
        told_of_polling = true;
        ereport(NOTICE, (errmsg("wait_for_work polls: belay has no shared memory"),
                         errhint("Add belay to shared_preload_libraries and restart the server.")));
    }
    constexpr pg::Tending kNothing{};
    int64 pause = kFirstPollMs;
    while (true) {
        for (const WaitQueue& queue : wait.queues) {
            const Found found = look(wait.schema, queue, kNothing);
            if (found.hub_gone) {
                return {queue.word, pg::WakeReason::kShutdown};
            }
            if (found.items > 0) {
                return {queue.word, found.reason};
            }
        }
        const int64 now = pg::server_now_ms();
        if (now >= wait.end) {
            return {nullptr, pg::WakeReason::kTimeout};
        }
        pg::nap(std::min(pause, wait.end - now));
        pause = std::min(pause * 2, kLongestPollMs);
    }
}

[[noreturn]] void refuse_word(std::size_t index, std::string_view word) {
    pg::raise(
        pg::kInvalidArgument, psprintf("\"%s\" names no queue", pg::excerpt(word)),
        pg::Facts("unknown_queue").add("path", psprintf("p_queues[%zu]", index)).add("value", word),
        kQueueWords);
}

// The form in which ids of tasks are printed.
bool is_uuid(std::string_view text) {
    constexpr std::string_view kForm = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    return text.size() == kForm.size() &&
           std::equal(text.begin(), text.end(), kForm.begin(), [](char c, char form) {
               return form == '-' ? c == '-' : (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
           });
}

WaitQueue checked_queue(const store::Hub& hub, std::size_t index, std::string_view word) {
    const auto colon = word.find(':');
    const std::string_view head = word.substr(0, colon);
    const bool named = colon != std::string_view::npos;
    for (const TopicWord& known : kTopics) {
        if (head != known.word || named != known.named) {
            continue;
        }
        const std::string_view name = named ? word.substr(colon + 1) : std::string_view();
        if (named && name.empty()) {
            break;
        }
        if (!store::may_execute(hub, known.verb, GetUserId())) {
            ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                            errmsg("permission denied to wait for queue \"%s\"", pg::excerpt(word)),
                            errhint("The hub's owner grants levels with belay.grant_hub.")));
        }
        // lane:* is the channel without a name; a task's has the usual form of its id.
        const std::string_view key = known.topic == pg::Topic::kLane && name == "*" ? "" : name;
        if (known.topic == pg::Topic::kTask && !is_uuid(name)) {
            break;
        }
        return {pg::c_string(word), known.topic, name,
                pg::channel_of(hub.schema, known.topic, key)};
    }
    refuse_word(index, word);
}

}  // namespace

std::span<const WaitQueue> checked_queues(const store::Hub& hub, std::span<const Datum> words) {
    if (words.empty() || words.size() > pg::kMaxChannels) {
        pg::raise(pg::kInvalidArgument, "p_queues must name 1 to 64 queues",
                  pg::Facts(words.empty() ? "empty" : "too_many")
                      .add("path", "p_queues")
                      .add("elements", static_cast<int64>(words.size())),
                  kQueueWords);
    }
    auto* queues = static_cast<WaitQueue*>(palloc(sizeof(WaitQueue) * words.size()));
    for (std::size_t i = 0; i < words.size(); ++i) {
        queues[i] = checked_queue(hub, i, words[i] == 0 ? "" : pg::text_view(words[i]));
    }
    return {queues, words.size()};
}

WaitResult wait_for_work(const store::Hub& hub, std::span<const WaitQueue> queues,
                         int64 timeout_ms) {
    const Wait wait{hub.schema, queues, core::add_ms(pg::server_now_ms(), timeout_ms)};
    if (SPI_connect_ext(SPI_OPT_NONATOMIC) != SPI_OK_CONNECT) {
        elog(ERROR, "could not connect to SPI");
    }
    let_go();
    pg::Channel channels[pg::kMaxChannels];
    for (std::size_t i = 0; i < queues.size(); ++i) {
        channels[i] = queues[i].channel;
    }
    WaitResult result{};
    if (pg::begin_wait({channels, queues.size()})) {
        // A wake-up that this wait does not return is handed on to another waiter.
        const auto at_once = first_look(wait);
        result = at_once ? *at_once : sleep_with_shared_memory(wait);
        pg::end_wait(!at_once && result.reason != pg::WakeReason::kTimeout);
    } else {
        result = poll(wait);
    }
    SPI_finish();
    return result;
}

void remember_custom_status(const store::Hub& hub, std::string_view instance_id, int64 version) {
    see(pg::channel_of(hub.schema, pg::Topic::kInstance, instance_id))->custom_status_version =
        version;
}

void remember_task(const store::Hub& hub, std::string_view id) {
    if (const auto mark = store::read_task_mark(hub, id)) {
        Seen* seen = see(pg::channel_of(hub.schema, pg::Topic::kTask, id));
        seen->execution_id = mark->epoch;
        seen->status = core::fnv1a64(mark->state);
    }
}

void remember_status(const store::Hub& hub, std::string_view instance_id, int64 execution_id,
                     std::string_view status) {
    Seen* seen = see(pg::channel_of(hub.schema, pg::Topic::kInstance, instance_id));
    seen->execution_id = execution_id;
    seen->status = core::fnv1a64(status);
}

}  // namespace belay::ops
