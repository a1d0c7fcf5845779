// notify.cpp — notify listeners of work, off the transactions that enqueue it.
//
// Calls    wakeups::advance_queue, Async_Notify
// Touches  nothing but PostgreSQL's own notification queue
// Must not be called inside a transaction: it runs one of its own if there is something to notify
// about.
#include "worker/notify.hpp"

#include <algorithm>

#include "core/time.hpp"
#include "pg/clock.hpp"
#include "shmem/wakeups/wakeups.hpp"
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

void notify(void* context) {
    const auto* news = static_cast<News*>(context);
    const int64 now = pg::server_now_ms();
    for (const Oid schema : news->hubs) {
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
    News news{hubs};
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
    return next == core::kNever ? next : std::max<int64>(1, next - pg::server_now_ms());
}

}  // namespace belay::worker
