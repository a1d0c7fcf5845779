// Waiting for work without polling and without holding anything.
#pragma once

#include "pg/pg.hpp"
#include "shmem/wakeups/wakeups.hpp"
#include "store/table/tables.hpp"

namespace belay::ops {

// One queue of a wait, read from its word.
struct WaitQueue {
    const char* word;
    wakeups::Topic topic;
    std::string_view name;  // after the colon
    wakeups::Channel channel;
    bool shows_move;  // the wait looks by this queue whether its hub has left
};

// Reads the words and checks that the caller may take from, or read, each queue. A word with the
// name of a hub before it, "app_003.worker", is a queue of that hub, any other one of this hub.
// QB006 for a word that names no queue, 42501 for one beyond the caller's level in its hub, QB002
// and QB017 for a hub that is not here.
std::span<const WaitQueue> checked_queues(const store::Hub& hub, std::span<const Datum> words);

struct WaitResult {
    const char* queue;  // null after a timeout
    wakeups::Reason reason;
};

// Waits until something may be there, or for timeout_ms. Ends the caller's transaction first: the
// hub is not valid afterwards.
WaitResult wait_for_work(const store::Hub& hub, std::span<const WaitQueue> queues,
                         int64 timeout_ms);

// What a session saw of an instance, so that a later wait knows what is new to it; without a value
// it saw that there is no such instance.
void remember_custom_status(const store::Hub& hub, std::string_view instance_id,
                            std::optional<int64> version);
void remember_status(const store::Hub& hub, std::string_view instance_id,
                     std::optional<int64> execution_id, std::string_view status);
// The same of a task: how it is now, or that it is not there.
void remember_task(store::Tables& tables, std::string_view id);
// And of a flow.
void remember_flow(const store::Hub& hub, std::string_view id,
                   std::optional<std::string_view> revision);

}  // namespace belay::ops
