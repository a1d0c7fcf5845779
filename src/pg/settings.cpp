// The definitions of belay's settings.
//
// Touches  the server's list of settings
// Must not change a rule if a user may set it: rules are hub options
#include "pg/settings.hpp"

#include <algorithm>

#include "pg/pg.hpp"
#include "pg/transaction_clock.hpp"

namespace belay::pg {

constinit Settings settings{.async_leases = false,
                            .counter_slots = 2048,
                            .cursor_slots = 4096,
                            .dense_epochs = false,
                            .duty_timeout_ms = 60 * 1000,
                            .intent_age_ms = 2000,
                            .lease_slots = 65536,
                            .logical_events = false,
                            .max_workers = 1,
                            .node_addresses = nullptr,
                            .notify = false,
                            .now = nullptr,
                            .reason = nullptr,
                            .reconcile_interval_ms = 1000,
                            .stat_slots = 1024,
                            .worker_cache_kb = 32 * 1024};

// Longer ones are refused: an event must stay small.
extern "C" bool belay_check_reason(char** value, void**, GucSource) {
    constexpr std::size_t kMostBytes = 1000;
    if (*value != nullptr && std::strlen(*value) > kMostBytes) {
        GUC_check_errdetail("The reason is longer than 1000 bytes.");
        return false;
    }
    return true;
}

namespace {

void define_settings_from_m();

}  // namespace

// Sorted by name; each is described in docs/operations.md.
void define_settings() {
    DefineCustomBoolVariable(
        "belay.async_leases",
        "Lets a fetch or renewal that is alone in its transaction commit without waiting for disk.",
        "A lease lost in a crash only means that the item is delivered again.",
        &settings.async_leases, false, PGC_USERSET, 0, nullptr, nullptr, nullptr);
    // What sizes shared memory exists only where it is preloaded; elsewhere the default holds.
    if (process_shared_preload_libraries_in_progress) {
        DefineCustomIntVariable(
            "belay.counter_slots",
            "Hubs whose counters belay keeps in shared memory, in all databases.",
            "The counters of a hub that finds no room are null.", &settings.counter_slots, 2048, 1,
            1048576, PGC_POSTMASTER, 0, nullptr, nullptr, nullptr);
        DefineCustomIntVariable(
            "belay.cursor_slots",
            "Claim cursors that belay keeps in shared memory, in all databases.",
            "Two for each tag and slot of a queue. If there are more, those used longest ago go.",
            &settings.cursor_slots, 4096, 64, 1048576, PGC_POSTMASTER, 0, nullptr, nullptr,
            nullptr);
    }
    DefineCustomBoolVariable("belay.dense_epochs",
                             "Lets the epochs of a task's leases follow one another.",
                             "For tests only: an epoch that a rollback or a crash forgot may be "
                             "given once more.",
                             &settings.dense_epochs, false, PGC_SUSET,
                             GUC_NO_SHOW_ALL | GUC_NOT_IN_SAMPLE, nullptr, nullptr, nullptr);
    DefineCustomIntVariable(
        "belay.duty_timeout", "Longest time that the background worker spends on a portion.",
        "A portion that takes longer is cancelled, one that goes on is ended with its process a "
        "second later, and the hub rests.",
        &settings.duty_timeout_ms, 60 * 1000, 100, 3600 * 1000, PGC_SIGHUP, GUC_UNIT_MS, nullptr,
        nullptr, nullptr);
    DefineCustomIntVariable(
        "belay.intent_age",
        "Age at which the duty intent_relay takes over an intent that was not delivered at once.",
        "Also the first pause after a delivery that failed; the next ones double, up to a minute.",
        &settings.intent_age_ms, 2000, 0, 3600 * 1000, PGC_SIGHUP, GUC_UNIT_MS, nullptr, nullptr,
        nullptr);
    if (process_shared_preload_libraries_in_progress) {
        DefineCustomIntVariable(
            "belay.lease_slots", "Leases whose end belay keeps in shared memory, in all databases.",
            "If there are more, waiting sessions look at the tables once a second.",
            &settings.lease_slots, 65536, 1024, 16777216, PGC_POSTMASTER, 0, nullptr, nullptr,
            nullptr);
    }
    DefineCustomBoolVariable("belay.logical_events",
                             "Also writes each event as a transactional logical-decoding message.",
                             "Prefix belay.<hub>, the event as JSON; needs wal_level = logical.",
                             &settings.logical_events, false, PGC_SUSET, 0, nullptr, nullptr,
                             nullptr);
    define_settings_from_m();
    MarkGUCPrefixReserved("belay");
}

namespace {

void define_settings_from_m() {
    // A server with assertions insists that a variable has its default before it is defined.
    settings.max_workers = std::max(1, max_worker_processes / 4);
    DefineCustomIntVariable(
        "belay.max_workers", "Background workers of belay in all databases, without the launcher.",
        "If more databases have the extension, they are served in turn. Default: a quarter of "
        "max_worker_processes, at least one.",
        &settings.max_workers, settings.max_workers, 1, 262143, PGC_SIGHUP, 0, nullptr, nullptr,
        nullptr);
    DefineCustomStringVariable(
        "belay.node_addresses", "Where clients reach the nodes of Citus.",
        "Entries host:port=host:port, with commas between them: on the left a node as pg_dist_node "
        "has it, on the right its address for clients.",
        &settings.node_addresses, "", PGC_SIGHUP, 0, nullptr, nullptr, nullptr);
    DefineCustomBoolVariable(
        "belay.notify", "Lets the background worker send a NOTIFY when work may be ready.",
        "Channel belay.<hub>, payload the queue, or moved; off the transaction that enqueues.",
        &settings.notify, false, PGC_SIGHUP, 0, nullptr, nullptr, nullptr);
    DefineCustomStringVariable(
        "belay.now", "Time of the calls of this transaction, for tests; use SET LOCAL.",
        "A timestamp, or milliseconds since 1970; empty: the server's clock. The hub option "
        "max_clock_skew limits its distance from the server's clock.",
        &settings.now, "", PGC_USERSET, GUC_NO_SHOW_ALL | GUC_NOT_IN_SAMPLE, belay_check_now,
        belay_assign_now, nullptr);
    DefineCustomStringVariable(
        "belay.reason", "Why an operator does what follows, for the events of topic operator.",
        "At most 1000 bytes. A reason that a function was given counts before it.",
        &settings.reason, "", PGC_USERSET, GUC_NOT_IN_SAMPLE, belay_check_reason, nullptr, nullptr);
    DefineCustomIntVariable(
        "belay.reconcile_interval",
        "Longest sleep of the background worker, and the unit of its duties' paces.",
        "0 disables background maintenance.", &settings.reconcile_interval_ms, 1000, 0, 3600 * 1000,
        PGC_SIGHUP, GUC_UNIT_MS, nullptr, nullptr, nullptr);
    if (process_shared_preload_libraries_in_progress) {
        DefineCustomIntVariable(
            "belay.stat_slots",
            "Queues and kinds of tasks whose counters belay keeps in shared memory, in all "
            "databases.",
            "What finds no room is counted as queue and kind * of its hub.", &settings.stat_slots,
            1024, 1, 1048576, PGC_POSTMASTER, 0, nullptr, nullptr, nullptr);
    }
    DefineCustomIntVariable(
        "belay.worker_cache",
        "Memory in which a background worker keeps what it has read of the catalog, and plans.",
        "If that of all hubs of the database needs more, it is dropped and read again.",
        &settings.worker_cache_kb, 32 * 1024, 1024, 1024 * 1024, PGC_SIGHUP, GUC_UNIT_KB, nullptr,
        nullptr, nullptr);
}

}  // namespace

}  // namespace belay::pg
