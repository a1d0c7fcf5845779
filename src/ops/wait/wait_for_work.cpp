// wait_for_work.cpp — sleep until something may be fetched, holding no snapshot, xid or lock.
//
// Calls    wakeups::begin_wait, wakeups::tend, store::orchestrator_readiness,
//          store::worker_readiness
// Touches  nothing
// Locks    nothing while it sleeps
// Raises   QB006 bad queue or timeout, 42501, 25001 inside a transaction block; for the hub of a
//          qualified queue QB002 if there is none, QB017 if it is elsewhere
#include "ops/wait/wait_for_work.hpp"

#include <algorithm>

#include "core/hash.hpp"
#include "core/task.hpp"
#include "core/time.hpp"
#include "ops/input.hpp"
#include "ops/task/task.hpp"
#include "pg/clock.hpp"
#include "pg/datum.hpp"
#include "pg/errors.hpp"
#include "pg/list.hpp"
#include "pg/scopes.hpp"
#include "store/flow_reads.hpp"
#include "store/readiness.hpp"
#include "store/task_reads.hpp"

namespace belay::ops {

namespace {

constexpr int kMaxLeases = 4096;  // that one look reads
constexpr int kMaxReady = 64;     // that one look counts
constexpr int64 kFirstPollMs = 20;
constexpr int64 kLongestPollMs = 500;

// ---------------------------------------------------------------- what a session saw of instances

// What is waited for to change, not to be taken.
bool is_watched(wakeups::Topic topic) {
    return topic == wakeups::Topic::kInstance || topic == wakeups::Topic::kTask ||
           topic == wakeups::Topic::kFlow;
}

constexpr int64 kNotSeen = -1;
constexpr int64 kSeenAbsent = -2;  // the session has read that there is no such row

// What of an instance, a task or a flow can change.
struct Parts {
    int64 custom_status_version = kNotSeen;
    int64 execution_id = kNotSeen;  // the epoch of a task; 0 for a flow
    uint64 status = 0;              // hash

    bool was_present() const { return custom_status_version >= 0 || execution_id >= 0; }
    bool was_absent() const {
        return custom_status_version == kSeenAbsent || execution_id == kSeenAbsent;
    }
};

struct Seen {
    wakeups::Channel channel;
    Parts read;
    Parts reported;     // as it was when a wait reported a change of it
    bool has_reported;  // and the session has read nothing of it since
};

constinit HTAB* seen_instances = nullptr;
constexpr long kMostSeen = 10000;

HTAB* seen_table() {
    if (seen_instances == nullptr) {
        HASHCTL control{};
        control.keysize = sizeof(wakeups::Channel);
        control.entrysize = sizeof(Seen);
        control.hcxt = TopMemoryContext;
        seen_instances = hash_create("belay seen instances", 64, &control,
                                     HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
    }
    return seen_instances;
}

Seen* see(const wakeups::Channel& channel) {
    bool found = false;
    if (hash_get_num_entries(seen_table()) > kMostSeen) {
        hash_destroy(seen_instances);  // a session that reads so many does not wait for them
        seen_instances = nullptr;
    }
    auto* seen = static_cast<Seen*>(hash_search(seen_table(), &channel, HASH_ENTER, &found));
    if (!found) {
        seen->read = Parts{};
        seen->has_reported = false;
    }
    return seen;
}

// The parts of an instance are read by two functions. A session that reads one of them after a
// report has heard of the other as well: else each of its waits would report that again, at once.
Parts* see_part(const wakeups::Channel& channel) {
    Seen* seen = see(channel);
    if (seen->has_reported) {
        Parts& read = seen->read;
        if (read.custom_status_version != kNotSeen) {
            read.custom_status_version = seen->reported.custom_status_version;
        }
        if (read.execution_id != kNotSeen) {
            read.execution_id = seen->reported.execution_id;
            read.status = seen->reported.status;
        }
        seen->has_reported = false;
    }
    return &seen->read;
}

// As they are now; none: there is no such row.
std::optional<Parts> present_parts(store::Tables& tables, const WaitQueue& queue) {
    if (queue.topic == wakeups::Topic::kInstance) {
        const auto mark = store::read_mark(tables, queue.name);
        return mark ? std::optional(Parts{mark->custom_status_version, mark->execution_id,
                                          core::fnv1a64(mark->status)})
                    : std::nullopt;
    }
    if (queue.topic == wakeups::Topic::kTask) {
        const auto mark = store::read_task_mark(tables, queue.name);
        return mark ? std::optional(Parts{kNotSeen, mark->epoch, core::fnv1a64(mark->state)})
                    : std::nullopt;
    }
    const auto id = parse_uuid(queue.name);
    const auto revision = id ? store::flow_revision(tables, *id) : std::nullopt;
    return revision ? std::optional(Parts{kNotSeen, 0, core::fnv1a64(*revision)}) : std::nullopt;
}

bool is_changed(const Parts& read, const std::optional<Parts>& present) {
    if (!present) {
        return read.was_present();  // deleted since
    }
    return read.was_absent() ||
           (read.custom_status_version >= 0 &&
            read.custom_status_version != present->custom_status_version) ||
           (read.execution_id >= 0 &&
            (read.execution_id != present->execution_id || read.status != present->status));
}

// What has become of a task that the session saw. Every lease that is lost has an epoch of its own,
// so one that was lost before is not reported.
wakeups::Reason reason_of(const WaitQueue& queue, const Parts& read, const Parts& present) {
    if (present.status == core::fnv1a64(core::name_of(core::TaskState::kCancelled))) {
        return wakeups::Reason::kCancelled;
    }
    const auto last = wakeups::last_change(queue.channel);
    return last && last->mark > read.execution_id ? last->reason : wakeups::Reason::kChanged;
}

// Whether what is watched is no longer as the session saw it, and why. What it never looked at is
// not new.
std::optional<wakeups::Reason> change_of(store::Tables& tables, const WaitQueue& queue) {
    auto* seen = static_cast<Seen*>(hash_search(seen_table(), &queue.channel, HASH_FIND, nullptr));
    if (seen == nullptr) {
        return std::nullopt;
    }
    const auto present = present_parts(tables, queue);
    if (!is_changed(seen->read, present)) {
        return std::nullopt;
    }
    seen->reported = present.value_or(Parts{kSeenAbsent, kSeenAbsent, 0});
    seen->has_reported = true;
    return queue.topic == wakeups::Topic::kTask && present && seen->read.was_present()
               ? reason_of(queue, seen->read, *present)
               : wakeups::Reason::kChanged;
}

// ---------------------------------------------------------------- looking at the tables

struct Found {
    bool hub_gone;
    int64 items;
    wakeups::Reason reason;  // of the items
    wakeups::Probe look;
};

bool is_paused(const store::Hub& hub, wakeups::Topic topic) {
    return (topic == wakeups::Topic::kOrchestrator && hub.is_paused(store::Queue::kOrchestrator)) ||
           (topic == wakeups::Topic::kWorker && hub.is_paused(store::Queue::kWorker)) ||
           (topic == wakeups::Topic::kQueue && hub.is_paused(store::Queue::kTasks));
}

void read_leases(store::Tables& tables, wakeups::Topic topic, int64 now, wakeups::Probe* look) {
    static constinit wakeups::LeaseEnd ends[2 * kMaxLeases] = {};
    std::size_t count = 0;
    bool all = true;
    const auto add = [&count, &all](std::span<const store::LiveLease> leases) {
        all = all && leases.size() < static_cast<std::size_t>(kMaxLeases);
        for (const auto& lease : leases) {
            ends[count++] = {lease.key, lease.deadline};
        }
    };
    if (topic == wakeups::Topic::kOrchestrator) {
        add(store::live_turns(tables, now, kMaxLeases));
    } else if (topic == wakeups::Topic::kOutbox) {
        add(store::live_batches(tables, now, kMaxLeases));
    } else if (topic == wakeups::Topic::kWorker) {
        add(store::live_work(tables, now, kMaxLeases));
        add(store::live_sessions(tables, now, kMaxLeases));
    }
    look->leases_read = true;
    look->all_leases = all;
    look->leases = {ends, count};
}

Found probe_queue(store::Tables& tables, const WaitQueue& queue, const wakeups::Tending& tending) {
    const int64 now = pg::server_now_ms();
    Found found{
        .hub_gone = false,
        .items = 0,
        .reason = is_watched(queue.topic) ? wakeups::Reason::kChanged : wakeups::Reason::kWork,
        .look = {.version = tending.version,
                 .due_moves = tending.due_moves,
                 .next_due = core::kNever,
                 .leases_read = false,
                 .all_leases = false,
                 .leases = {},
                 .complete = true}};
    if (is_watched(queue.topic)) {
        const auto change = change_of(tables, queue);
        found.items = change ? 1 : 0;
        found.reason = change.value_or(found.reason);
        return found;
    }
    if (queue.topic == wakeups::Topic::kOwner) {
        return found;
    }
    if (queue.topic == wakeups::Topic::kQueue) {
        const auto tasks =
            store::queue_readiness(tables, queue.name == "*" ? "" : queue.name, now, kMaxReady);
        found.items = is_paused(tables, queue.topic) ? 0 : tasks.items;
        found.look.next_due = tasks.next_due;
        found.look.leases_read = tending.scan_leases;  // their ends count as due times
        found.look.all_leases = true;
        found.look.complete = !store::has_old_prepared();
        return found;
    }
    const auto ready = queue.topic == wakeups::Topic::kOrchestrator
                           ? store::orchestrator_readiness(tables, now, kMaxReady)
                       : queue.topic == wakeups::Topic::kOutbox
                           ? store::outbox_readiness(tables, now)
                           : store::worker_readiness(tables, now, kMaxReady);
    found.items = is_paused(tables, queue.topic) ? 0 : ready.items;
    found.look.next_due = ready.next_due;
    if (tending.scan_leases) {
        read_leases(tables, queue.topic, now, &found.look);
    }
    found.look.complete = !store::has_old_prepared();
    return found;
}

// Ends the transaction, and with it snapshot and locks. The next one holds nothing yet.
void let_go() {
    SPI_commit();
}

// Why a hub is not there any more.
wakeups::Reason reason_of_absence(Oid schema) {
    const store::Hub* left = store::find_hub_left_here(schema);
    return left != nullptr && left->elsewhere ? wakeups::Reason::kMoved
                                              : wakeups::Reason::kShutdown;
}

// Looks at one queue in a transaction of its own.
Found look(const WaitQueue& queue, const wakeups::Tending& tending) {
    const Oid schema = queue.channel.hub;
    Found found{};
    AcceptInvalidationMessages();
    PushActiveSnapshot(GetTransactionSnapshot());
    const store::Hub* hub = store::find_hub(schema, true);
    if (hub == nullptr) {
        found.hub_gone = true;
        found.reason = reason_of_absence(schema);
    } else {
        found = pg::as_role(hub->owner, [hub, &queue, &tending] {
            return pg::with_spi([hub, &queue, &tending] {
                return store::with_tables(*hub, [&queue, &tending](store::Tables& tables) {
                    return probe_queue(tables, queue, tending);
                });
            });
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
    wakeups::Reason absence;  // if it is gone
};
Standing standing_of(const WaitQueue& queue) {
    const Oid schema = queue.channel.hub;
    AcceptInvalidationMessages();
    PushActiveSnapshot(GetTransactionSnapshot());
    const store::Hub* hub = store::find_hub(schema, true);
    const Standing standing{hub == nullptr, hub != nullptr && is_paused(*hub, queue.topic),
                            hub == nullptr ? reason_of_absence(schema) : wakeups::Reason::kNone};
    PopActiveSnapshot();
    return standing;
}

// ---------------------------------------------------------------- waiting with shared memory

struct Wait {
    std::span<const WaitQueue> queues;
    int64 end;            // ms
    bool can_move;        // Citus has distributed a hub: no wake-up reports that it leaves
    bool has_other_hubs;  // the queues belong to several hubs
    // With several hubs: the version at which this session has found a queue empty; 0: it has not.
    uint64* empty_since;
};

// The client fetches from the hub that a wait returns only. So that the next wait does not read the
// tables of all the others, the session remembers that it has found them empty.
void note_empty(const Wait& wait, std::size_t i, uint64 version) {
    const auto topic = wait.queues[i].topic;
    if (wait.has_other_hubs && !is_watched(topic) && topic != wakeups::Topic::kOwner) {
        wait.empty_since[i] = version;
    }
}

void remember_empty_queues(const Wait& wait, const WaitResult& result) {
    for (std::size_t i = 0; wait.has_other_hubs && i < wait.queues.size(); ++i) {
        if (wait.empty_since[i] != 0 && wait.queues[i].word != result.queue) {
            wakeups::remember_seen(wait.queues[i].channel, wait.empty_since[i]);
        }
    }
}

WaitResult woken_by(const Wait& wait, int index, wakeups::Reason reason) {
    return {wait.queues[static_cast<std::size_t>(index)].word, reason};
}

// What a session has not looked at yet it looks at once before it sleeps.
std::optional<WaitResult> first_probe(const Wait& wait) {
    for (std::size_t i = 0; i < wait.queues.size(); ++i) {
        const WaitQueue& queue = wait.queues[i];
        const auto remembered = wakeups::take_remembered(queue.channel);
        const auto moved =
            remembered ? wakeups::moved_since(static_cast<int>(i), *remembered, pg::server_now_ms())
                       : std::nullopt;
        if (remembered && !moved) {
            note_empty(wait, i, *remembered);
            continue;
        }
        // Of several hubs, only one that has work is returned: each costs its client a call.
        if (moved && (!wait.has_other_hubs || queue.topic == wakeups::Topic::kOwner)) {
            const Standing standing = standing_of(queue);
            if (standing.gone) {
                return WaitResult{queue.word, standing.absence};
            }
            if (!standing.paused) {
                wakeups::reported(static_cast<int>(i));
                return WaitResult{queue.word, *moved};
            }
            let_go();
            continue;
        }
        const auto tending = wakeups::tend(static_cast<int>(i), pg::server_now_ms());
        const Found found = look(queue, tending);
        if (found.hub_gone) {
            return WaitResult{queue.word, found.reason};
        }
        if (!is_watched(queue.topic) && queue.topic != wakeups::Topic::kOwner) {
            wakeups::probed(static_cast<int>(i), found.look, pg::server_now_ms());
        }
        if (found.items > 0) {
            return WaitResult{queue.word, found.reason};
        }
        note_empty(wait, i, tending.version);
    }
    return std::nullopt;
}

// Does what the channels of this wait need done, and returns until when to sleep.
struct Round {
    std::optional<WaitResult> result;
    int64 sleep_until;
};

Round tend_all(const Wait& wait) {
    Round round{std::nullopt, wait.end};
    for (std::size_t i = 0; i < wait.queues.size(); ++i) {
        const WaitQueue& queue = wait.queues[i];
        const auto index = static_cast<int>(i);
        auto tending = wakeups::tend(index, pg::server_now_ms());
        if (tending.timekeeper && tending.must_probe) {
            const Found found = look(queue, tending);
            if (found.hub_gone) {
                round.result = WaitResult{queue.word, found.reason};
                return round;
            }
            wakeups::probed(index, found.look, pg::server_now_ms());
            if (found.items > 0) {
                // This process takes one itself.
                round.result = WaitResult{queue.word, wakeups::Reason::kTimer};
                wakeups::wake_others(index, static_cast<int32>(found.items),
                                     wakeups::Reason::kTimer);
                wakeups::owe_hint(queue.channel, wakeups::next_hint());
                return round;
            }
            tending = wakeups::tend(index, pg::server_now_ms());
        }
        round.sleep_until = std::min(round.sleep_until, tending.sleep_until);
    }
    return round;
}

constexpr int64 kLookAtPlaceMs = 500;

// Whether a hub that Citus can move has gone.
std::optional<WaitResult> result_of_move(const Wait& wait) {
    if (!wait.can_move) {
        return std::nullopt;
    }
    for (std::size_t i = 0; i < wait.queues.size(); ++i) {
        if (!wait.queues[i].shows_move) {
            continue;
        }
        const Standing standing = standing_of(wait.queues[i]);
        let_go();
        if (standing.gone) {
            return woken_by(wait, static_cast<int>(i), standing.absence);
        }
    }
    return std::nullopt;
}

WaitResult sleep_with_shared_memory(const Wait& wait) {
    while (true) {
        if (const auto moved = result_of_move(wait)) {
            return *moved;
        }
        if (const auto woken = wakeups::woken()) {
            const auto& queue = wait.queues[static_cast<std::size_t>(woken->channel)];
            const Standing standing = standing_of(queue);
            if (standing.gone) {
                return woken_by(wait, woken->channel, standing.absence);
            }
            if (!standing.paused) {
                wakeups::owe_hint(queue.channel, woken->hint);
                wakeups::reported(woken->channel);
                return woken_by(wait, woken->channel, woken->reason);
            }
            let_go();
            wakeups::resume_wait();
        }
        const Round round = tend_all(wait);
        if (round.result) {
            return *round.result;
        }
        const int64 now = pg::server_now_ms();
        if (now >= wait.end) {
            return {nullptr, wakeups::Reason::kTimeout};
        }
        if (!wakeups::woken()) {
            const int64 look = wait.can_move ? now + kLookAtPlaceMs : wait.end;
            wakeups::sleep_until(std::min({round.sleep_until, wait.end, look}), now);
        }
    }
}

// ---------------------------------------------------------------- waiting without

constinit bool warned_of_polling = false;

WaitResult poll(const Wait& wait) {
    if (!warned_of_polling) {
        warned_of_polling = true;
        ereport(NOTICE, (errmsg("wait_for_work polls: belay has no shared memory"),
                         errhint("Add belay to shared_preload_libraries and restart the server.")));
    }
    constexpr wakeups::Tending kNothing{};
    int64 pause = kFirstPollMs;
    while (true) {
        for (const WaitQueue& queue : wait.queues) {
            const Found found = look(queue, kNothing);
            if (found.hub_gone) {
                return {queue.word, found.reason};
            }
            if (found.items > 0) {
                return {queue.word, found.reason};
            }
        }
        const int64 now = pg::server_now_ms();
        if (now >= wait.end) {
            return {nullptr, wakeups::Reason::kTimeout};
        }
        wakeups::nap(std::min(pause, wait.end - now));
        pause = std::min(pause * 2, kLongestPollMs);
    }
}

// Warns of queues of tasks that never had a task, of the hub itself only: a wait on many hubs must
// not read a table of each.
void notice_unused(const store::Hub& hub, std::span<const WaitQueue> queues) {
    pg::List<std::string_view> names;
    for (const WaitQueue& queue : queues) {
        if (queue.topic == wakeups::Topic::kQueue && queue.name != "*" &&
            queue.channel.hub == hub.schema) {
            names.add(queue.name);
        }
    }
    if (names.count > 0) {
        pg::as_role(hub.owner, [&hub, names] {
            store::with_tables(hub, [names](store::Tables& tables) {
                notice_unused_queues(tables, names.span());
            });
        });
    }
}

// A claim of all queues has left some of them to the next one: there may be work in those.
std::optional<WaitResult> result_of_unfinished_claim(const Wait& wait) {
    for (const WaitQueue& queue : wait.queues) {
        if (queue.topic == wakeups::Topic::kQueue && queue.name == "*" &&
            take_unfinished_claim(queue.channel.hub)) {
            return WaitResult{queue.word, wakeups::Reason::kWork};
        }
    }
    return std::nullopt;
}

}  // namespace

WaitResult wait_for_work(const store::Hub& hub, std::span<const WaitQueue> queues,
                         int64 timeout_ms) {
    const auto is_other = [&hub](const WaitQueue& queue) {
        return queue.channel.hub != hub.schema;
    };
    const Wait wait{queues, core::add_ms(pg::server_now_ms(), timeout_ms),
                    std::ranges::any_of(queues, &WaitQueue::shows_move),
                    std::ranges::any_of(queues, is_other),
                    static_cast<uint64*>(palloc0(sizeof(uint64) * queues.size()))};
    if (SPI_connect_ext(SPI_OPT_NONATOMIC) != SPI_OK_CONNECT) {
        elog(ERROR, "could not connect to SPI");
    }
    notice_unused(hub, queues);
    let_go();
    wakeups::Channel channels[wakeups::kMaxChannels];
    for (std::size_t i = 0; i < queues.size(); ++i) {
        channels[i] = queues[i].channel;
    }
    WaitResult result{};
    if (const auto unfinished = result_of_unfinished_claim(wait)) {
        result = *unfinished;
    } else if (wakeups::begin_wait({channels, queues.size()})) {
        // A wake-up that this wait does not return is handed on to another waiter.
        const auto at_once = first_probe(wait);
        result = at_once ? *at_once : sleep_with_shared_memory(wait);
        wakeups::end_wait(!at_once && result.reason != wakeups::Reason::kTimeout);
        remember_empty_queues(wait, result);
    } else {
        result = poll(wait);
    }
    SPI_finish();
    return result;
}

void remember_custom_status(const store::Hub& hub, std::string_view instance_id,
                            std::optional<int64> version) {
    see_part(wakeups::channel_of(hub.schema, wakeups::Topic::kInstance, instance_id))
        ->custom_status_version = version.value_or(kSeenAbsent);
}

void remember_status(const store::Hub& hub, std::string_view instance_id,
                     std::optional<int64> execution_id, std::string_view status) {
    Parts* seen = see_part(wakeups::channel_of(hub.schema, wakeups::Topic::kInstance, instance_id));
    seen->execution_id = execution_id.value_or(kSeenAbsent);
    seen->status = core::fnv1a64(status);
}

void remember_task(store::Tables& tables, std::string_view id) {
    const auto mark = store::read_task_mark(tables, id);
    Parts* seen = &see(wakeups::channel_of(tables.hub.schema, wakeups::Topic::kTask, id))->read;
    seen->execution_id = mark ? mark->epoch : kSeenAbsent;
    seen->status = mark ? core::fnv1a64(mark->state) : 0;
}

void remember_flow(const store::Hub& hub, std::string_view id,
                   std::optional<std::string_view> revision) {
    Parts* seen = &see(wakeups::channel_of(hub.schema, wakeups::Topic::kFlow, id))->read;
    seen->execution_id = revision ? 0 : kSeenAbsent;
    seen->status = revision ? core::fnv1a64(*revision) : 0;
}

}  // namespace belay::ops
