// renew_work_item_lock.cpp — move the deadline of live leases.
//
// Calls    store::renew_live, store::set_deadline, store::touch_session
// Touches  <hub>.worker_queue, <hub>.sessions
// Locks    worker rows by key, then sessions by id
// Raises   QB001 lock lost: the cancellation signal (renew_work_item_locks reports it instead)
#include <algorithm>

#include "core/time.hpp"
#include "ops/lost_lease.hpp"
#include "ops/worker_queue/worker_queue.hpp"
#include "pg/datum.hpp"
#include "shmem/counters.hpp"

namespace belay::ops {

namespace {

constexpr const char* kDuroxideText = "Lock token invalid, expired, or already acked";

struct Renewal {
    std::size_t index;
    std::optional<std::string_view> token;
    std::optional<core::WorkToken> parsed;
    std::optional<store::WorkRow> row;
};

// The quick way: a live lease whose row is not locked is moved by one update. The slow way waits
// for the row and finds out what is wrong.
store::WorkRow renewed(store::Tables& tables, std::optional<std::string_view> token,
                       const std::optional<core::WorkToken>& parsed, const Extension& extension,
                       pg::Clock* clock) {
    if (parsed && parsed->incarnation == tables.hub.incarnation) {
        if (const auto row = store::renew_live(tables, *parsed, clock->now(), extension)) {
            return *row;
        }
    }
    const HeldWork held = hold_work(tables, token, clock);
    if (held.fault != core::LeaseFault::kNone) {
        raise_lock_lost(tables, store::Queue::kWorker, kDuroxideText, token.value_or(""),
                        held.fault, held.locked_until);
    }
    store::set_deadline(tables, held.row->key,
                        extension.deadline(clock->now(), held.row->lease.locked_until));
    return *held.row;
}

bool by_key(const Renewal& a, const Renewal& b) {
    const auto order = store::key_of(a.parsed) <=> store::key_of(b.parsed);
    return order != 0 ? order < 0 : a.index < b.index;
}

bool by_session(const Renewal& a, const Renewal& b) {
    const auto session = [](const Renewal& renewal) {
        return renewal.row ? renewal.row->session_id.value_or("") : std::string_view();
    };
    return session(a) < session(b);
}

}  // namespace

void renew_work_item_lock(store::Tables& tables, std::optional<std::string_view> token,
                          const Extension& extension, pg::Clock* clock) {
    const auto parsed = token ? core::decode_work_token(*token) : std::nullopt;
    enter(tables, {.worker_queue = true, .sessions = names_session(parsed)}, clock);
    touch_session(tables, renewed(tables, token, parsed, extension, clock), clock);
    counters::add(tables.hub.schema, counters::Queue::kWorker, counters::Counter::kRenewed);
}

std::span<const RenewResult> renew_work_item_locks(store::Tables& tables,
                                                   std::span<const Datum> tokens, int64 extend_ms,
                                                   pg::Clock* clock) {
    const std::size_t count = tokens.size();
    auto* renewals = static_cast<Renewal*>(palloc(sizeof(Renewal) * (count + 1)));
    auto* results = static_cast<RenewResult*>(palloc(sizeof(RenewResult) * (count + 1)));
    for (std::size_t i = 0; i < count; ++i) {
        const auto token = tokens[i] == 0 ? std::nullopt : std::optional(pg::text_view(tokens[i]));
        renewals[i] = {i, token, token ? core::decode_work_token(*token) : std::nullopt,
                       std::nullopt};
        results[i] = {token, false, 0};
    }
    enter(tables, {.worker_queue = true, .sessions = true}, clock);
    std::sort(renewals, renewals + count, by_key);
    for (std::size_t i = 0; i < count; ++i) {
        const HeldWork held = hold_work(tables, renewals[i].token, clock);
        if (held.fault == core::LeaseFault::kNone) {
            renewals[i].row = held.row;
        }
    }
    // Deadlines count from here, after all waiting; a lease that ran out meanwhile is lost.
    const int64 now = clock->now();
    const int64 deadline = core::add_ms(now, extend_ms);
    for (std::size_t i = 0; i < count; ++i) {
        if (renewals[i].row &&
            !core::is_live(renewals[i].row->lease, tables.hub.incarnation, now)) {
            renewals[i].row = std::nullopt;
        }
        if (renewals[i].row) {
            store::set_deadline(tables, renewals[i].row->key, deadline);
            results[renewals[i].index] = {renewals[i].token, true, deadline};
            counters::add(tables.hub.schema, counters::Queue::kWorker, counters::Counter::kRenewed);
        }
    }
    std::sort(renewals, renewals + count, by_session);
    for (std::size_t i = 0; i < count; ++i) {
        if (renewals[i].row) {
            touch_session(tables, *renewals[i].row, clock);
        }
    }
    return {results, count};
}

}  // namespace belay::ops
