// wait_for_work.cpp — sleep until something may be fetched, holding no snapshot, xid or lock.
//
// Calls    wakeups::begin_wait, wakeups::tend, store::orchestrator_readiness,
//          store::worker_readiness
// Touches  nothing
// Locks    nothing while it sleeps
// Raises   QB006 bad queue or timeout, 42501, 25001 inside a transaction block
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
    wakeups::Topic topic;
    bool named;
    const char* verb;                  // a role that may call it may wait
    const char* other_verb = nullptr;  // or this one
};

constexpr TopicWord kTopics[] = {
    {"orchestrator", wakeups::Topic::kOrchestrator, false, "fetch_orchestration_item"},
    {"worker", wakeups::Topic::kWorker, false, "fetch_work_item"},
    {"instance", wakeups::Topic::kInstance, true, "get_instance_info"},
    {"owner", wakeups::Topic::kOwner, true, "fetch_work_item"},
    {"outbox", wakeups::Topic::kOutbox, false, "read_events", "browse_events"},
    {"queue", wakeups::Topic::kQueue, true, "claim_tasks"},
    {"task", wakeups::Topic::kTask, true, "get_task"},
    {"flow", wakeups::Topic::kFlow, true, "get_flow"},
};

constexpr const char* kQueueWords =
    "Queues are orchestrator, worker, outbox, queue:<name>, queue:*, instance:<id>, task:<id>, "
    "flow:<id> and owner:<id>.";

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
    Parts reported;     // as the instance was when a wait reported a change of it
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

// What has become of the task since the session saw it. Every lease that is lost has an epoch of
// its own, so one that was lost before is not reported.
std::optional<wakeups::Reason> change_of_task(store::Tables& tables, const WaitQueue& queue) {
    const auto* seen =
        static_cast<Seen*>(hash_search(seen_table(), &queue.channel, HASH_FIND, nullptr));
    if (seen == nullptr) {
        return std::nullopt;
    }
    const auto mark = store::read_task_mark(tables, queue.name);
    if (!mark || seen->read.was_absent()) {
        const bool changed = mark ? seen->read.was_absent() : seen->read.was_present();
        return changed ? std::optional(wakeups::Reason::kChanged) : std::nullopt;
    }
    if (seen->read.execution_id == mark->epoch && seen->read.status == core::fnv1a64(mark->state)) {
        return std::nullopt;
    }
    if (mark->state == core::name_of(core::TaskState::kCancelled)) {
        return wakeups::Reason::kCancelled;
    }
    const auto last = wakeups::last_change(queue.channel);
    return last && last->mark > seen->read.execution_id ? last->reason : wakeups::Reason::kChanged;
}

// Whether the flow is no longer as the session saw it. One it never looked at is not new.
bool is_changed_flow(store::Tables& tables, const WaitQueue& queue) {
    const auto* seen =
        static_cast<Seen*>(hash_search(seen_table(), &queue.channel, HASH_FIND, nullptr));
    if (seen == nullptr) {
        return false;
    }
    const auto id = parse_uuid(queue.name);
    const auto revision = id ? store::flow_revision(tables, *id) : std::nullopt;
    if (!revision) {
        return seen->read.was_present();  // deleted since
    }
    return seen->read.was_absent() || seen->read.status != core::fnv1a64(*revision);
}

// Whether the instance is no longer as the session saw it. One it never looked at is not new.
bool is_changed(store::Tables& tables, const WaitQueue& queue) {
    auto* seen = static_cast<Seen*>(hash_search(seen_table(), &queue.channel, HASH_FIND, nullptr));
    if (seen == nullptr) {
        return false;
    }
    const auto mark = store::read_mark(tables, queue.name);
    const Parts present =
        mark ? Parts{mark->custom_status_version, mark->execution_id, core::fnv1a64(mark->status)}
             : Parts{kSeenAbsent, kSeenAbsent, 0};
    const Parts& read = seen->read;
    const bool changed =
        mark ? read.was_absent() ||
                   (read.custom_status_version >= 0 &&
                    read.custom_status_version != present.custom_status_version) ||
                   (read.execution_id >= 0 &&
                    (read.execution_id != present.execution_id || read.status != present.status))
             : read.was_present();  // deleted since
    if (changed) {
        seen->reported = present;
        seen->has_reported = true;
    }
    return changed;
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
    if (queue.topic == wakeups::Topic::kInstance) {
        found.items = is_changed(tables, queue) ? 1 : 0;
        return found;
    }
    if (queue.topic == wakeups::Topic::kTask) {
        const auto change = change_of_task(tables, queue);
        found.items = change ? 1 : 0;
        found.reason = change.value_or(found.reason);
        return found;
    }
    if (queue.topic == wakeups::Topic::kFlow) {
        found.items = is_changed_flow(tables, queue) ? 1 : 0;
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
Found look(Oid schema, const WaitQueue& queue, const wakeups::Tending& tending) {
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
Standing standing_of(Oid schema, const WaitQueue& queue) {
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
    Oid schema;
    std::span<const WaitQueue> queues;
    int64 end;      // ms
    bool can_move;  // Citus has distributed the hub: no wake-up reports that it leaves
};

WaitResult woken_by(const Wait& wait, int index, wakeups::Reason reason) {
    return {wait.queues[static_cast<std::size_t>(index)].word, reason};
}

// What a session has not looked at yet it looks at once before it sleeps.
std::optional<WaitResult> first_probe(const Wait& wait) {
    for (std::size_t i = 0; i < wait.queues.size(); ++i) {
        const WaitQueue& queue = wait.queues[i];
        const auto remembered = wakeups::take_remembered(queue.channel);
        if (remembered) {
            if (const auto moved =
                    wakeups::moved_since(static_cast<int>(i), *remembered, pg::server_now_ms())) {
                if (!standing_of(wait.schema, queue).paused) {
                    wakeups::reported(static_cast<int>(i));
                    return WaitResult{queue.word, *moved};
                }
                let_go();
            }
            continue;
        }
        const auto tending = wakeups::tend(static_cast<int>(i), pg::server_now_ms());
        const Found found = look(wait.schema, queue, tending);
        if (found.hub_gone) {
            return WaitResult{queue.word, found.reason};
        }
        if (!is_watched(queue.topic) && queue.topic != wakeups::Topic::kOwner) {
            wakeups::probed(static_cast<int>(i), found.look, pg::server_now_ms());
        }
        if (found.items > 0) {
            return WaitResult{queue.word, found.reason};
        }
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
            const Found found = look(wait.schema, queue, tending);
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
    const Standing standing = standing_of(wait.schema, wait.queues.front());
    let_go();
    return standing.gone ? std::optional(woken_by(wait, 0, standing.absence)) : std::nullopt;
}

WaitResult sleep_with_shared_memory(const Wait& wait) {
    while (true) {
        if (const auto moved = result_of_move(wait)) {
            return *moved;
        }
        if (const auto woken = wakeups::woken()) {
            const auto& queue = wait.queues[static_cast<std::size_t>(woken->channel)];
            const Standing standing = standing_of(wait.schema, queue);
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
            const Found found = look(wait.schema, queue, kNothing);
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
        if (!store::may_execute(hub, known.verb, GetUserId()) &&
            (known.other_verb == nullptr ||
             !store::may_execute(hub, known.other_verb, GetUserId()))) {
            ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                            errmsg("permission denied to wait for queue \"%s\"", pg::excerpt(word)),
                            errhint("Ask the hub's owner to grant a level with belay.grant_hub.")));
        }
        // queue:* is the channel without a name; a task's has the usual form of its id.
        const std::string_view key =
            known.topic == wakeups::Topic::kQueue && name == "*" ? "" : name;
        if ((known.topic == wakeups::Topic::kTask || known.topic == wakeups::Topic::kFlow) &&
            !is_uuid(name)) {
            break;
        }
        return {pg::c_string(word), known.topic, name,
                wakeups::channel_of(hub.schema, known.topic, key)};
    }
    refuse_word(index, word);
}

// Warns of queues of tasks that never had a task.
void notice_unused(const store::Hub& hub, std::span<const WaitQueue> queues) {
    pg::List<std::string_view> names;
    for (const WaitQueue& queue : queues) {
        if (queue.topic == wakeups::Topic::kQueue && queue.name != "*") {
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

}  // namespace

std::span<const WaitQueue> checked_queues(const store::Hub& hub, std::span<const Datum> words) {
    if (words.empty() || words.size() > wakeups::kMaxChannels) {
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

namespace {

// A claim of all queues has left some of them to the next one: there may be work in those.
std::optional<WaitResult> result_of_unfinished_claim(const Wait& wait) {
    for (const WaitQueue& queue : wait.queues) {
        if (queue.topic == wakeups::Topic::kQueue && queue.name == "*" &&
            take_unfinished_claim(wait.schema)) {
            return WaitResult{queue.word, wakeups::Reason::kWork};
        }
    }
    return std::nullopt;
}

}  // namespace

WaitResult wait_for_work(const store::Hub& hub, std::span<const WaitQueue> queues,
                         int64 timeout_ms) {
    const Wait wait{hub.schema, queues, core::add_ms(pg::server_now_ms(), timeout_ms),
                    hub.shards != nullptr};
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
