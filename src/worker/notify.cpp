// notify.cpp — notify listeners of work, off the transactions that enqueue it, and of moves.
//
// Calls    wakeups::advance_queue, store::find_hub, Async_Notify
// Touches  nothing but PostgreSQL's own notification queue
// Must not be called inside a transaction: it runs one of its own if there is something to notify
// about.
#include "worker/notify.hpp"

#include <algorithm>

#include "core/time.hpp"
#include "pg/clock.hpp"
#include "pg/list.hpp"
#include "shmem/wakeups/wakeups.hpp"
#include "store/hub.hpp"
#include "worker/duties.hpp"

namespace belay::worker {

namespace {

struct Told {
    wakeups::Channel channel;
    uint64 version;
};

constinit HTAB* told = nullptr;

HTAB* table() {
    if (told == nullptr) {
        HASHCTL control{};
        control.keysize = sizeof(wakeups::Channel);
        control.entrysize = sizeof(Told);
        control.hcxt = TopMemoryContext;
        told =
            hash_create("belay notifications", 64, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
    }
    return told;
}

constexpr struct {
    wakeups::Topic topic;
    const char* payload;
} kQueues[] = {{wakeups::Topic::kOrchestrator, "orchestrator"},
               {wakeups::Topic::kWorker, "worker"},
               {wakeups::Topic::kOutbox, "outbox"},
               {wakeups::Topic::kQueue, "queue:*"}};

struct News {
    std::span<const Oid> hubs;
    bool can_move;  // Citus has distributed one of them: nothing reports that it leaves
};

// The channel's name is that of the hub, cut to what a channel may have.
const char* listen_channel(Oid schema) {
    const char* hub = get_namespace_name(schema);
    if (hub == nullptr) {
        return nullptr;  // dropped meanwhile
    }
    char* name = psprintf("belay.%s", hub);
    name[pg_mbcliplen(name, static_cast<int>(strlen(name)), NAMEDATALEN - 1)] = '\0';
    return name;
}

// The hubs whose listeners have been notified.
std::span<const Oid> told_hubs() {
    pg::List<Oid> schemas;
    HASH_SEQ_STATUS scan;
    hash_seq_init(&scan, table());
    while (const auto* entry = static_cast<Told*>(hash_seq_search(&scan))) {
        if (entry->channel.topic == kQueues[0].topic) {
            schemas.add(entry->channel.hub);
        }
    }
    return schemas.span();
}

// Who listens to a hub that has gone to another server has to listen there.
void notify_of_moves() {
    for (const Oid schema : told_hubs()) {
        const store::Hub* left = store::find_hub_left_here(schema);
        if (left != nullptr && !left->elsewhere) {
            continue;
        }
        const char* name = left == nullptr ? nullptr : listen_channel(schema);
        if (name != nullptr) {
            Async_Notify(name, "moved");
        }
        for (const auto& queue : kQueues) {
            const wakeups::Channel channel = wakeups::channel_of(schema, queue.topic);
            (void)hash_search(table(), &channel, HASH_REMOVE, nullptr);
        }
    }
}

void notify(void* context) {
    auto* news = static_cast<News*>(context);
    const int64 now = pg::server_now_ms();
    notify_of_moves();
    for (const Oid schema : news->hubs) {
        const store::Hub* hub = store::find_hub(schema, true);
        if (hub == nullptr) {
            continue;
        }
        news->can_move = news->can_move || hub->shards != nullptr;
        for (const auto& queue : kQueues) {
            const wakeups::Channel channel = wakeups::channel_of(schema, queue.topic);
            const uint64 version = wakeups::advance_queue(channel, now);
            bool found = false;
            auto* entry = static_cast<Told*>(hash_search(table(), &channel, HASH_ENTER, &found));
            if (found && entry->version == version) {
                continue;
            }
            entry->version = version;
            if (const char* name = listen_channel(schema)) {
                Async_Notify(name, queue.payload);
            }
        }
    }
}

}  // namespace

int64 send_notifications(std::span<const Oid> hubs) {
    News news{hubs, false};
    // What was notified of hubs that are gone is forgotten with all the rest, now and then.
    constexpr long kSpare = 64;
    const bool full = hash_get_num_entries(table()) > static_cast<long>(hubs.size()) * 4 + kSpare;
    if (!run_alone("notify", notify, &news) || full) {
        hash_destroy(told);  // everything is notified once more
        told = nullptr;
    }
    int64 next = core::kNever;
    for (const Oid schema : hubs) {
        for (const auto& queue : kQueues) {
            next = std::min(next, wakeups::next_due(wakeups::channel_of(schema, queue.topic)));
        }
    }
    constexpr int64 kLookAtPlaceMs = 500;
    const int64 look = news.can_move ? kLookAtPlaceMs : core::kNever;
    return next == core::kNever ? look : std::clamp<int64>(next - pg::server_now_ms(), 1, look);
}

}  // namespace belay::worker
