// duties.cpp — run what is due, each in its own transaction.
//
// Calls    store::all_hubs, store::settle_incarnation, ops::run_portion
// Touches  what the duties touch, with the rights of each hub's owner
// Must not let an ERROR of one portion reach another: it is logged once per burst, rolled back, and
//          the duty of that hub is pushed back. A hub whose portion took longer than
//          belay.duty_timeout is left alone for a while.
#include "worker/duties.hpp"

#include <algorithm>

#include "core/duty_pace.hpp"
#include "ops/duties/duties.hpp"
#include "pg/boundary.hpp"
#include "pg/clock.hpp"
#include "pg/errors.hpp"
#include "pg/scopes.hpp"
#include "pg/settings.hpp"
#include "shmem/counters.hpp"
#include "shmem/registry.hpp"
#include "store/table/tables.hpp"

namespace belay::worker {

namespace {

// The code of a hub's owner may run in a portion. One that takes longer than belay.duty_timeout is
// cancelled. Code that survives that is ended with the process, so much later.
constexpr int kGraceMs = 1000;
// A duty that keeps failing is mentioned again after so long.
constexpr int64 kReminderMs = int64{3600} * 1000;

// Duties that look less often than so many intervals do not keep their plans.
constexpr int kSeldom = 10;

// PostgreSQL keeps what it has read of a relation until the process ends, and a hub has a hundred
// relations. Beyond belay.worker_cache all of that, and all plans, are dropped and read again when
// they are needed. Counting takes a moment, so it is done once for so many portions.
constexpr int kCountEvery = 16;

struct Key {
    Oid schema;
    int duty;
};

// A duty of a hub.
struct Entry {
    Key key;
    core::DutyPace pace;
    int64 logged_ms;  // of the current burst
    uint64 seen;      // the last listing that had the hub
};

constinit MemoryContext loop_memory = nullptr;
constinit MemoryContext hubs_memory = nullptr;
constinit HTAB* entries = nullptr;
constinit std::span<const Oid> hubs{};
constinit uint64 listing = 0;
constinit int64 listing_logged_ms = 0;
constinit int64 alone_logged_ms = 0;
constinit TimeoutId end_timeout{};

// What is being done, for messages.
struct Doing {
    const char* duty;
    NameData hub;
};
constinit Doing doing{};

extern "C" void belay_duty_context(void*) {
    if (doing.duty != nullptr && NameStr(doing.hub)[0] != '\0') {
        errcontext("duty %s of hub \"%s\"", doing.duty, NameStr(doing.hub));
    } else if (doing.duty != nullptr) {
        errcontext("duty %s", doing.duty);
    }
}

// No handler of an exception catches the end of the process, as it does a cancellation.
extern "C" void belay_end_portion() {
    (void)kill(MyProcPid, SIGTERM);
}

// How a transaction went.
struct Attempt {
    bool good;
    bool over;   // it took longer than it may
    bool moved;  // the hub has gone to another server meanwhile
    char message[256];
};

// Whose portion it is, and of which duty; -1: of none.
struct Whose {
    Oid hub;
    int duty;
};
constexpr Whose kNobodys{InvalidOid, -1};

// Runs body(context) in a transaction of its own. An ERROR costs that transaction and nothing else.
Attempt in_own_transaction(const Whose& whose, void (*body)(void*), void* context, bool quiet) {
    Attempt attempt{};
    const int limit_ms = pg::settings.duty_timeout_ms;
    volatile bool good = false;
    ErrorContextCallback callback{};
    callback.callback = belay_duty_context;
    callback.previous = error_context_stack;
    error_context_stack = &callback;
    registry::begin_portion(doing.duty, whose.duty, whose.hub, limit_ms);
    PG_TRY();
    {
        SetCurrentStatementStartTimestamp();
        StartTransactionCommand();
        enable_timeout_after(STATEMENT_TIMEOUT, limit_ms);
        enable_timeout_after(end_timeout, limit_ms + kGraceMs);
        PushActiveSnapshot(GetTransactionSnapshot());
        pg::at_boundary([body, context] { body(context); });
        PopActiveSnapshot();
        disable_timeout(STATEMENT_TIMEOUT, false);
        CommitTransactionCommand();
        disable_timeout(end_timeout, false);
        good = true;
    }
    PG_CATCH();
    {
        HOLD_INTERRUPTS();
        disable_all_timeouts(false);
        QueryCancelPending = false;
        MemoryContextSwitchTo(loop_memory);
        ErrorData* error = CopyErrorData();
        strlcpy(attempt.message, error->message != nullptr ? error->message : "",
                sizeof attempt.message);
        attempt.moved = error->sqlerrcode == pg::kElsewhere;
        if (!quiet && !attempt.moved) {
            EmitErrorReport();
        }
        AbortCurrentTransaction();
        FlushErrorState();
        RESUME_INTERRUPTS();
    }
    PG_END_TRY();
    error_context_stack = callback.previous;
    attempt.good = good;
    attempt.over = registry::end_portion();
    MemoryContextSwitchTo(loop_memory);
    MemoryContextReset(loop_memory);
    pgstat_report_stat(false);
    return attempt;
}

// Whether a failure goes without a line in the log.
bool in_burst(int64 logged_ms, int64 now) {
    return logged_ms != 0 && now < logged_ms + kReminderMs;
}

struct Listing {
    bool extension;
};

void list_hubs(void* context) {
    auto* result = static_cast<Listing*>(context);
    result->extension = OidIsValid(get_extension_oid("belay", true));
    const auto counted = counters::hubs();
    const auto found = result->extension ? store::all_hubs() : std::span<const Oid>();
    counters::forget(counted, found);
    MemoryContextReset(hubs_memory);
    hubs = {};
    auto* copy =
        static_cast<Oid*>(MemoryContextAlloc(hubs_memory, sizeof(Oid) * (found.size() + 1)));
    std::copy(found.begin(), found.end(), copy);
    hubs = {copy, found.size()};
}

// Makes the entries of new hubs and forgets those of hubs that are gone.
void match_entries() {
    const bool first = listing == 0;
    ++listing;
    const int64 now = pg::monotonic_ms();
    const auto duties = ops::duties();
    for (const Oid schema : hubs) {
        for (int i = 0; i < static_cast<int>(duties.size()); ++i) {
            const Key key{schema, i};
            bool found = false;
            auto* entry = static_cast<Entry*>(hash_search(entries, &key, HASH_ENTER, &found));
            if (!found) {
                entry->pace = {};
                entry->logged_ms = 0;
                // A hub that has just been made, or is being restored, is not hurried.
                entry->pace.due_ms = first ? now
                                           : now + int64{duties[static_cast<std::size_t>(i)].pace} *
                                                       pg::settings.reconcile_interval_ms;
            }
            entry->seen = listing;
        }
    }
    HASH_SEQ_STATUS scan;
    hash_seq_init(&scan, entries);
    while (auto* entry = static_cast<Entry*>(hash_seq_search(&scan))) {
        if (entry->seen != listing) {
            (void)hash_search(entries, &entry->key, HASH_REMOVE, nullptr);
        }
    }
}

struct Portion {
    Oid schema;
    const ops::Duty* duty;
    int64 rows;
    int64 wait_ms;  // until there is something to do again, as far as is known
    int64 rest_ms;  // > 0: the hub must be left alone
};

void run_portion(void* context) {
    auto* portion = static_cast<Portion*>(context);
    const store::Hub* found = store::find_hub(portion->schema, true);
    if (found == nullptr) {
        return;  // dropped, or its row cannot be read
    }
    portion->rest_ms = registry::rest_of(found->schema, found->owner);
    if (portion->rest_ms > 0) {
        return;
    }
    doing.hub = found->name;
    registry::name_portion(found->owner, found->name);
    char activity[NAMEDATALEN * 2];
    snprintf(activity, sizeof activity, "duty %s of hub %s", portion->duty->name,
             NameStr(found->name));
    pgstat_report_activity(STATE_RUNNING, activity);
    if (!store::hold_place(*found, false)) {
        return;  // it is being moved
    }
    const store::Hub& hub = store::settle_incarnation(*found);
    portion->rows = pg::as_role(hub.owner, [&hub, portion] {
        return pg::with_spi([&hub, portion] {
            return store::with_tables(hub, [portion](store::Tables& tables) {
                auto clock = pg::start_clock(std::nullopt, 0);
                const int64 rows = ops::run_portion(tables, *portion->duty, &clock);
                if (portion->duty->next != nullptr) {
                    portion->wait_ms = portion->duty->next(tables) - clock.now();
                }
                return rows;
            });
        });
    });
}

// Whether the loop has something better to do than the rest of the round.
bool is_interrupted() {
    return registry::stop_requested() || ProcDiePending || ConfigReloadPending;
}

// What is in use of a context and of those below it. Some of what is freed stays with its context,
// so what they have allocated is how much they once needed.
Size used_of(MemoryContext context) {
    MemoryContextCounters counters{};
    context->methods->stats(context, nullptr, nullptr, &counters, false);
    Size used = counters.totalspace - counters.freespace;
    for (MemoryContext child = context->firstchild; child != nullptr; child = child->nextchild) {
        used += used_of(child);
    }
    return used;
}

void trim_caches() {
    static constinit int portions = 0;
    if (++portions < kCountEvery) {
        return;
    }
    portions = 0;
    const Size most = static_cast<Size>(pg::settings.worker_cache_kb) << 10;
    if (MemoryContextMemAllocated(CacheMemoryContext, true) > most &&
        used_of(CacheMemoryContext) > most) {
        store::free_all_plans();
        StartTransactionCommand();
        InvalidateSystemCaches();
        CommitTransactionCommand();
        MemoryContextSwitchTo(loop_memory);
    }
}

void run_entry(Entry* entry) {
    const ops::Duty& duty = ops::duties()[static_cast<std::size_t>(entry->key.duty)];
    const int64 interval = pg::settings.reconcile_interval_ms;
    doing = {duty.name, {}};
    Portion portion{entry->key.schema, &duty, 0, PG_INT64_MAX,
                    registry::rest_of(entry->key.schema)};
    Attempt attempt{.good = true, .over = false, .moved = false, .message = {}};
    // What is needed seldom is planned anew: a plan of every statement for every hub is too much.
    const bool seldom = duty.pace >= kSeldom;
    store::keep_plans_briefly(seldom);
    if (portion.rest_ms == 0) {
        attempt = in_own_transaction({entry->key.schema, entry->key.duty}, run_portion, &portion,
                                     in_burst(entry->logged_ms, pg::monotonic_ms()));
    }
    store::keep_plans_briefly(false);
    if (seldom) {
        store::free_brief_plans(entry->key.schema);
    }
    const int64 now = pg::monotonic_ms();
    if (attempt.good && portion.rest_ms > 0) {
        entry->pace.due_ms = now + portion.rest_ms;
    } else if (attempt.moved) {
        // The next portion does not find the hub; the next listing leaves it out.
        entry->pace.succeeded(0, now, interval, duty.pace);
    } else if (attempt.good) {
        registry::duty_ran(entry->key.duty, portion.rows);
        if (entry->pace.failures > 1) {
            ereport(LOG, (errmsg("duty %s of hub \"%s\" succeeded after %d failures", duty.name,
                                 NameStr(doing.hub), entry->pace.failures)));
        }
        entry->logged_ms = 0;
        entry->pace.succeeded(portion.rows, now, interval, duty.pace);
        if (portion.wait_ms > 0 && portion.wait_ms < PG_INT64_MAX - now) {
            entry->pace.due_ms = std::min(entry->pace.due_ms, now + portion.wait_ms);
        }
    } else {
        registry::duty_failed(
            entry->key.duty, NameStr(doing.hub),
            attempt.over ? "took longer than belay.duty_timeout" : attempt.message);
        if (!in_burst(entry->logged_ms, now)) {
            entry->logged_ms = now;
        }
        entry->pace.failed(now, interval);
    }
    doing = {};
    trim_caches();
}

}  // namespace

void begin_duties() {
    loop_memory =
        AllocSetContextCreate(TopMemoryContext, "belay worker loop", ALLOCSET_DEFAULT_SIZES);
    hubs_memory =
        AllocSetContextCreate(TopMemoryContext, "belay worker hubs", ALLOCSET_SMALL_SIZES);
    HASHCTL control{};
    control.keysize = sizeof(Key);
    control.entrysize = sizeof(Entry);
    control.hcxt = TopMemoryContext;
    entries = hash_create("belay duties", 64, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
    end_timeout = RegisterTimeout(USER_TIMEOUT, belay_end_portion);
    MemoryContextSwitchTo(loop_memory);
}

bool find_hubs() {
    Listing result{.extension = true};
    doing = {"list_hubs", {}};
    const int64 now = pg::monotonic_ms();
    const Attempt attempt =
        in_own_transaction(kNobodys, list_hubs, &result, in_burst(listing_logged_ms, now));
    doing = {};
    if (!attempt.good) {
        if (!in_burst(listing_logged_ms, now)) {
            listing_logged_ms = now;
        }
        return true;
    }
    listing_logged_ms = 0;
    match_entries();
    return result.extension;
}

bool run_alone(const char* what, void (*body)(void*), void* context) {
    doing = {what, {}};
    const int64 now = pg::monotonic_ms();
    const Attempt attempt =
        in_own_transaction(kNobodys, body, context, in_burst(alone_logged_ms, now));
    doing = {};
    if (attempt.good) {
        alone_logged_ms = 0;
    } else if (!in_burst(alone_logged_ms, now)) {
        alone_logged_ms = now;
    }
    return attempt.good;
}

namespace {

struct HubRun {
    Oid schema;
    const char* what;
    void (*body)(store::Tables& tables, void* context);
    void* context;
    bool found;
};

void run_as_owner(void* context) {
    auto* run = static_cast<HubRun*>(context);
    const store::Hub* found = store::find_hub(run->schema, true);
    if (found == nullptr) {
        return;
    }
    if (registry::rest_of(found->schema, found->owner) > 0) {
        return;
    }
    run->found = true;
    doing.hub = found->name;
    registry::name_portion(found->owner, found->name);
    char activity[NAMEDATALEN * 2];
    snprintf(activity, sizeof activity, "%s of hub %s", run->what, NameStr(found->name));
    pgstat_report_activity(STATE_RUNNING, activity);
    if (!store::hold_place(*found, false)) {
        run->found = false;
        return;  // it is being moved
    }
    const store::Hub& hub = store::settle_incarnation(*found);
    pg::as_role(hub.owner, [&hub, run] {
        pg::with_spi([&hub, run] {
            store::with_tables(hub,
                               [run](store::Tables& tables) { run->body(tables, run->context); });
        });
    });
}

}  // namespace

bool run_for_hub(const char* what, Oid schema, void (*body)(store::Tables& tables, void* context),
                 void* context, HubFailure* failure, bool quiet) {
    if (failure != nullptr) {
        failure->message[0] = '\0';
    }
    if (registry::rest_of(schema) > 0) {
        return false;
    }
    HubRun run{schema, what, body, context, false};
    doing = {what, {}};
    const int64 now = pg::monotonic_ms();
    const Attempt attempt = in_own_transaction({schema, -1}, run_as_owner, &run,
                                               quiet || in_burst(alone_logged_ms, now));
    doing = {};
    if (failure != nullptr) {
        strlcpy(failure->message, attempt.message, sizeof failure->message);
    }
    if (!quiet) {
        alone_logged_ms = attempt.good ? 0 : in_burst(alone_logged_ms, now) ? alone_logged_ms : now;
    }
    return attempt.good && run.found;
}

std::span<const Oid> known_hubs() {
    return hubs;
}

void run_round() {
    const auto duties = ops::duties();
    // Hub by hub: what is read of the catalog for one duty serves the next ones.
    for (const Oid schema : hubs) {
        for (int i = 0; i < static_cast<int>(duties.size()); ++i) {
            if (is_interrupted()) {
                return;
            }
            const auto needed = duties[static_cast<std::size_t>(i)].needed;
            const Key key{schema, i};
            auto* entry = static_cast<Entry*>(hash_search(entries, &key, HASH_FIND, nullptr));
            if (entry != nullptr && entry->pace.is_due(pg::monotonic_ms())) {
                if (needed != nullptr && !needed()) {
                    entry->pace.succeeded(0, pg::monotonic_ms(), pg::settings.reconcile_interval_ms,
                                          duties[static_cast<std::size_t>(i)].pace);
                    continue;
                }
                registry::set_state(registry::WorkerState::kWorking);
                run_entry(entry);
            }
        }
    }
}

int64 until_next_due() {
    int64 next = PG_INT64_MAX;
    HASH_SEQ_STATUS scan;
    hash_seq_init(&scan, entries);
    while (const auto* entry = static_cast<Entry*>(hash_seq_search(&scan))) {
        next = std::min(next, entry->pace.due_ms);
    }
    return std::max<int64>(0, next == PG_INT64_MAX ? next : next - pg::monotonic_ms());
}

void make_due(std::string_view name) {
    HASH_SEQ_STATUS scan;
    hash_seq_init(&scan, entries);
    while (auto* entry = static_cast<Entry*>(hash_seq_search(&scan))) {
        if (name == ops::duties()[static_cast<std::size_t>(entry->key.duty)].name &&
            entry->pace.failures == 0) {
            entry->pace.due_ms = 0;
        }
    }
}

void make_all_due() {
    HASH_SEQ_STATUS scan;
    hash_seq_init(&scan, entries);
    while (auto* entry = static_cast<Entry*>(hash_seq_search(&scan))) {
        entry->pace.due_ms = 0;
    }
}

}  // namespace belay::worker
