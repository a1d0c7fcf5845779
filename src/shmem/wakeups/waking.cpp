// Wakes waiting sessions, and counts what happens to the items of queues.
//
// Touches belay's shared memory and the latches of waiters. Locks: callers hold that of the
// channel's partition; counting may take that of counters.
#include "shmem/wakeups/channels.hpp"

namespace belay::wakeups {

namespace {

uint32 woken_state(int channel, Reason reason) {
    return (static_cast<uint32>(channel) + 1) << 8 | static_cast<uint32>(reason);
}

}  // namespace

// Counters are kept for queues of work.
void count_event(const Channel& channel, counters::Counter counter, int64 by) {
    if (channel.topic == Topic::kOrchestrator || channel.topic == Topic::kWorker ||
        channel.topic == Topic::kQueue) {
        counters::add_now(channel.database, channel.hub,
                          channel.topic == Topic::kWorker  ? counters::Queue::kWorker
                          : channel.topic == Topic::kQueue ? counters::Queue::kTasks
                                                           : counters::Queue::kOrchestrator,
                          counter, by);
    }
}

void count_run(const Channel& channel, int64 ms) {
    if (channel.topic == Topic::kOrchestrator || channel.topic == Topic::kWorker) {
        counters::add_duration_now(channel.database, channel.hub,
                                   channel.topic == Topic::kWorker ? counters::Queue::kWorker
                                                                   : counters::Queue::kOrchestrator,
                                   counters::Duration::kRun, ms);
    }
}

void set_latch_of(int32 waiter) {
    SetLatch(&ProcGlobal->allProcs[waiter].procLatch);
}

void wake(const Channel& channel, const State& state, int32 items, Reason reason, uint64 version) {
    int64 woken = 0;
    if (channel.topic == Topic::kOutbox && items > 0) {
        items = PG_INT32_MAX;  // an event is for every subscription
    }
    for (int32 node = state.head; node != kNone && items > 0; node = node_at(node)->next) {
        const int32 number = node / kMaxChannels;
        Waiter* waiter = waiter_at(number);
        if (waiter->since >= version) {
            continue;
        }
        waiter->hint = version;
        uint32 expected = kWaiting;
        if (pg_atomic_compare_exchange_u32(&waiter->state, &expected,
                                           woken_state(node % kMaxChannels, reason))) {
            set_latch_of(number);
            --items;
            ++woken;
        }
    }
    count_event(channel, counters::Counter::kWakeUps, woken);
}

void wake(const Channel& channel, const State& state, int32 items, Reason reason) {
    wake(channel, state, items, reason, pg_atomic_read_u64(&shared->clock) + 1);
}

void advance_timer(const State& state, int64 at) {
    if (state.head == kNone) {
        return;
    }
    const int32 waiter = state.head / kMaxChannels;
    if (waiter_at(waiter)->sleeping_until > at) {
        set_latch_of(waiter);
    }
}

}  // namespace belay::wakeups
