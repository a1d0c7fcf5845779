// relay.cpp — the part of the worker that delivers intents.
//
// Calls    ops::relay_intents, ops::next_remote_batch, ops::settle_delivered, ops::settle_failed
// Touches  what these touch, with the rights of each hub's owner
// Locks    the target of a hub for the session while a batch for it is under way
// Must not be in a transaction while libpq waits; nothing may raise while it holds a connection
//          outside of `links`, whose connections end with the process.
#include "worker/relay.hpp"

#include <algorithm>

#include "core/hash.hpp"
#include "core/intents.hpp"
#include "ops/intents/intents.hpp"
#include "pg/clock.hpp"
#include "pg/compat.hpp"
#include "pg/durable.hpp"
#include "pg/locks.hpp"
#include "pg/remote.hpp"
#include "pg/settings.hpp"
#include "shmem/registry.hpp"
#include "worker/duties.hpp"

namespace belay::worker {

namespace {

// A server that does not answer within this time is given up; the batch is sent again.
constexpr int64 kConnectMs = 30 * 1000;
constexpr int64 kAnswerMs = 60 * 1000;
// Batches that a link sends before others get their turn.
constexpr int kMostEager = 64;

// Host and port of a node, or the name of a foreign server.
constexpr std::size_t kMostServer = 300;

struct LinkKey {
    Oid hub;
    NameData target;
};

struct Link {
    LinkKey key;
    Link* next;  // a scan of the hash must not be open when a transaction ends
    pg::Remote remote;
    char server[kMostServer];  // or host and port
    uint64 generation;         // of foreign servers when the connection was made
    bool wanted;               // there is something to send
    int64 min_age_ms;
    bool locked;  // the target, for this session
    bool ready;   // its socket has something
    bool proven;  // the connection has carried a batch
    bool logged;  // that it does not work
    int failures;
    int single_left;  // batches of one, after a batch in which one was refused
    int64 delivered;  // first intent of the last batch that arrived
    int64 retry_ms;   // not before
    int64 deadline_ms;
    ops::RemoteBatch batch;  // under way; its texts are gone
};

constinit HTAB* links = nullptr;
constinit Link* first_link = nullptr;
constinit MemoryContext link_memory = nullptr;
constinit Oid eager[kMostEager] = {};
constinit int eager_count = 0;

std::string_view target_of(const Link& link) {
    return NameStr(link.key.target);
}

LinkKey key_of(Oid hub, std::string_view target) {
    LinkKey key{};
    key.hub = hub;
    memcpy(NameStr(key.target), target.data(),
           std::min<std::size_t>(target.size(), NAMEDATALEN - 1));
    return key;
}

Link* find_link(Oid hub, std::string_view target) {
    const LinkKey key = key_of(hub, target);
    return static_cast<Link*>(hash_search(links, &key, HASH_FIND, nullptr));
}

template <typename Visit>
void each_link(Visit visit) {
    for (Link* link = first_link; link != nullptr; link = link->next) {
        visit(link);
    }
}

// ---- What ops asks of us ----

void want_link(Oid hub, std::string_view target, int64 min_age_ms) {
    const LinkKey key = key_of(hub, target);
    bool found = false;
    auto* link = static_cast<Link*>(hash_search(links, &key, HASH_ENTER, &found));
    if (!found) {
        memset(static_cast<void*>(link), 0, sizeof *link);
        link->key = key;
        link->min_age_ms = min_age_ms;
        link->next = first_link;
        first_link = link;
    }
    link->min_age_ms = link->wanted ? std::min(link->min_age_ms, min_age_ms) : min_age_ms;
    link->wanted = true;
}

bool is_in_flight(Oid hub, std::string_view target) {
    const Link* link = find_link(hub, target);
    return link != nullptr && link->locked;
}

constexpr ops::RemoteRelay kRelay{want_link, is_in_flight};

// ---- Links ----

void unlock(Link* link) {
    if (link->locked) {
        link->locked = false;
        pg::unlock_key_of_session(pg::LockSpace::kIntentTarget, link->key.hub,
                                  core::fnv1a64(target_of(*link)));
    }
    link->batch.count = 0;
}

struct Settling {
    const Link* link;
    const char* error;  // null: delivered
};

void settle(store::Tables& tables, void* context) {
    const auto* settling = static_cast<Settling*>(context);
    const ops::RemoteBatch& batch = settling->link->batch;
    if (settling->error == nullptr) {
        ops::settle_delivered(tables, target_of(*settling->link),
                              {batch.ids, static_cast<std::size_t>(batch.count)});
        return;
    }
    int64 firsts[ops::kMostIntents];
    std::size_t count = 0;
    for (int i = 0; i < batch.count; ++i) {
        if (batch.first[i]) {
            firsts[count++] = batch.ids[i];
        }
    }
    ops::settle_failed(tables, target_of(*settling->link), {firsts, count}, settling->error);
}

// Notes how the batch under way has ended. If that fails it is sent again: the target knows its
// keys.
bool end_batch(Link* link, const char* error) {
    bool settled = true;
    if (link->batch.count > 0) {
        Settling settling{link, error};
        settled = run_for_hub("intent_relay", link->key.hub, settle, &settling);
    }
    unlock(link);
    return settled;
}

// The link does not work: nothing is sent for a while.
void push_back(Link* link, const char* error) {
    (void)end_batch(link, error);
    if (!link->logged) {
        link->logged = true;
        ereport(LOG, (errmsg("intents for hub \"%s\" cannot be sent through server \"%s\": %s",
                             NameStr(link->key.target), link->server, error)));
    }
    link->retry_ms =
        pg::monotonic_ms() + core::intent_pause_ms(link->failures, pg::settings.intent_age_ms);
    ++link->failures;
    link->proven = false;
}

const char* error_text(const pg::RemoteAnswer& answer) {
    return answer.sqlstate[0] == '\0'
               ? MemoryContextStrdup(link_memory, answer.message)
               : MemoryContextStrdup(link_memory,
                                     psprintf("%s: %s", answer.sqlstate, answer.message));
}

struct Opening {
    Link* link;
    pg::RemoteTarget target;
};

// What has to be known before a batch: whether the target is linked, and where to.
void read_target(store::Tables& tables, void* context) {
    auto* opening = static_cast<Opening*>(context);
    ops::next_remote_batch(tables, target_of(*opening->link), 0, 0, link_memory,
                           &opening->link->batch);
    if (opening->link->batch.server == nullptr) {
        return;
    }
    strlcpy(opening->link->server, opening->link->batch.server, sizeof opening->link->server);
    const ops::RemoteBatch& batch = opening->link->batch;
    opening->target =
        batch.host == nullptr
            ? pg::read_remote_target(tables.hub.owner, batch.server, link_memory)
            : pg::read_node_target(tables.hub.owner, batch.host, batch.port, link_memory);
}

// The first intents that are due, for the error that concerns them all.
void fail_due(store::Tables& tables, void* context) {
    auto* settling = static_cast<Settling*>(context);
    auto* link = const_cast<Link*>(settling->link);
    ops::next_remote_batch(tables, target_of(*link), link->min_age_ms, ops::kMostIntents,
                           link_memory, &link->batch);
    settle(tables, context);
}

// No batch could be sent at all: each intent that is due gets the error.
void fail_to_open(Link* link, const char* error) {
    if (pg::try_lock_key_for_session(pg::LockSpace::kIntentTarget, link->key.hub,
                                     core::fnv1a64(target_of(*link)))) {
        link->locked = true;
        Settling settling{link, error};
        (void)run_for_hub("intent_relay", link->key.hub, fail_due, &settling);
        link->batch.count = 0;
        unlock(link);
    }
    push_back(link, error);
}

void open(Link* link) {
    Opening opening{link, {}};
    HubFailure failure{};
    const bool good =
        run_for_hub("intent_relay", link->key.hub, read_target, &opening, &failure, true);
    if (good && link->batch.server == nullptr) {
        link->wanted = false;  // the link is gone
        return;
    }
    if (!good) {
        if (failure.message[0] == '\0') {
            link->wanted = false;  // the hub is gone
            return;
        }
        fail_to_open(link, MemoryContextStrdup(link_memory, failure.message));
        return;
    }
    link->generation = pg::remote_generation();
    link->deadline_ms = pg::monotonic_ms() + kConnectMs;
    pg::open_remote(&link->remote, opening.target);
    if (link->remote.state == pg::RemoteState::kClosed) {
        fail_to_open(link, error_text(link->remote.answer));
    }
}

void fill_batch(store::Tables& tables, void* context) {
    auto* link = static_cast<Link*>(context);
    if (!pg::try_lock_key_for_session(pg::LockSpace::kIntentTarget, link->key.hub,
                                      core::fnv1a64(target_of(*link)))) {
        link->batch.count = 0;
        return;  // another relay is at it
    }
    link->locked = true;
    ops::next_remote_batch(tables, target_of(*link), link->min_age_ms,
                           link->single_left > 0 ? 1 : ops::kMostIntents, link_memory,
                           &link->batch);
}

// The statement that the remote server runs, with the hub's name quoted.
const char* question(const Link& link) {
    StringInfo sql = makeStringInfo();
    appendStringInfoString(sql, "SELECT \"");
    for (const char c : target_of(link)) {
        if (c == '"') {
            appendStringInfoChar(sql, c);
        }
        appendStringInfoChar(sql, c);
    }
    appendStringInfoString(sql, "\".receive_intents($1)");
    return sql->data;
}

// Sends the next batch, if there is one.
void send(Link* link) {
    if (!run_for_hub("intent_relay", link->key.hub, fill_batch, link)) {
        unlock(link);
        link->wanted = false;  // the duty asks again
        return;
    }
    const bool elsewhere =
        link->batch.server == nullptr || strcmp(link->batch.server, link->server) != 0;
    if (elsewhere || link->generation != pg::remote_generation()) {
        unlock(link);
        pg::close_remote(&link->remote, "the link was changed");
        link->wanted = link->wanted && link->batch.server != nullptr;
        return;  // connects anew, if it is still wanted
    }
    if (link->batch.count == 0) {
        unlock(link);
        link->wanted = false;
        return;
    }
    if (link->batch.ids[0] == link->delivered) {
        // A trigger or rule of the owner keeps what has arrived.
        link->delivered = 0;
        push_back(link, "intents that have arrived cannot be removed");
        return;
    }
    link->single_left = std::max(0, link->single_left - 1);
    link->deadline_ms = pg::monotonic_ms() + kAnswerMs;
    // A crash must not forget what the target knows: ids would be given once more, and the target
    // would drop other intents as received.
    pg::flush_committed();
    MemoryContext old = MemoryContextSwitchTo(link_memory);
    pg::ask_remote(&link->remote, question(*link), link->batch.text);
    MemoryContextSwitchTo(old);
}

// SQLSTATE classes that are about the connection, the server, the hub or its rights. Other errors
// may be about one item, while others can still be delivered.
constexpr const char* kClassesOfLinks[] = {"08", "25", "28", "3D", "3F", "40",
                                           "42", "53", "55", "57", "58"};

bool is_about_an_item(const pg::RemoteAnswer& answer) {
    if (strcmp(answer.sqlstate, "QB017") == 0) {
        return false;  // the hub has moved
    }
    for (const char* link : kClassesOfLinks) {
        if (strncmp(answer.sqlstate, link, 2) == 0) {
            return false;
        }
    }
    return answer.sqlstate[0] != '\0';
}

void take_answer(Link* link) {
    pg::take_answer(&link->remote);
    const pg::RemoteAnswer& answer = link->remote.answer;
    if (answer.good) {
        const int64 first = link->batch.ids[0];
        if (!end_batch(link, nullptr)) {
            push_back(link, "what has arrived could not be noted");
            return;
        }
        link->delivered = first;
        if (link->logged) {
            ereport(LOG, (errmsg("intents for hub \"%s\" are sent through server \"%s\" again",
                                 NameStr(link->key.target), link->server)));
        }
        link->logged = false;
        link->proven = true;
        link->failures = 0;
    } else if (!is_about_an_item(answer)) {
        push_back(link, error_text(answer));
    } else if (link->batch.count > 1) {
        link->single_left = link->batch.count;
        unlock(link);
    } else {
        (void)end_batch(link, error_text(answer));
    }
}

void notice_loss(Link* link) {
    const char* error = error_text(link->remote.answer);
    if (link->proven && link->batch.count == 0) {
        link->proven = false;  // it was idle: the next batch connects anew
        unlock(link);
    } else if (link->batch.count == 0) {
        fail_to_open(link, error);
    } else {
        push_back(link, error);
    }
}

// Moves the link on as far as it goes without waiting.
void turn(Link* link) {
    const int64 now = pg::monotonic_ms();
    const bool had_connection = link->remote.state != pg::RemoteState::kClosed;
    // An idle connection may have ended without our having slept on it.
    const bool idle = link->wanted && link->remote.state == pg::RemoteState::kReady;
    if (had_connection && (link->ready || idle)) {
        link->ready = false;
        pg::advance_remote(&link->remote);
    }
    const bool waits = link->remote.state == pg::RemoteState::kConnecting ||
                       link->remote.state == pg::RemoteState::kAsking;
    if (waits && now >= link->deadline_ms) {
        pg::close_remote(&link->remote, "the remote server does not answer");
    }
    if (had_connection && link->remote.state == pg::RemoteState::kClosed) {
        notice_loss(link);
    }
    if (link->remote.state == pg::RemoteState::kAnswered) {
        take_answer(link);
    }
    if (link->wanted && now >= link->retry_ms) {
        if (link->remote.state == pg::RemoteState::kClosed) {
            open(link);
        } else if (link->remote.state == pg::RemoteState::kReady) {
            send(link);
            if (link->remote.state == pg::RemoteState::kClosed && link->batch.count > 0) {
                notice_loss(link);
            }
        }
    }
    MemoryContextReset(link_memory);
}

// ---- What was just sent ----

struct Portion {
    int64 rows;
};

void relay_now(store::Tables& tables, void* context) {
    auto clock = pg::start_clock(std::nullopt, 0);
    static_cast<Portion*>(context)->rows = ops::relay_intents(tables, &clock, 0);
}

void add_eager(Oid hub) {
    if (std::find(eager, eager + eager_count, hub) == eager + eager_count &&
        eager_count < kMostEager) {
        eager[eager_count++] = hub;  // what finds no room the duty delivers
    }
}

// One portion for each hub that has called; it calls again by itself until nothing was left.
void run_eager() {
    Oid hubs[kMostEager];
    const int count = eager_count;
    std::copy(eager, eager + count, hubs);
    eager_count = 0;
    for (int i = 0; i < count && !registry::stop_requested() && !ProcDiePending; ++i) {
        Portion portion{};
        if (run_for_hub("intent_relay", hubs[i], relay_now, &portion) && portion.rows > 0) {
            add_eager(hubs[i]);
        }
    }
}

}  // namespace

void begin_relay() {
    HASHCTL control{};
    control.keysize = sizeof(LinkKey);
    control.entrysize = sizeof(Link);
    control.hcxt = TopMemoryContext;
    links = hash_create("belay links", 16, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
    link_memory = AllocSetContextCreate(TopMemoryContext, "belay links", ALLOCSET_DEFAULT_SIZES);
    ops::use_remote_relay(&kRelay);
}

void hear_relay_calls() {
    const registry::RelayCalls calls = registry::take_relay_calls();
    for (int i = 0; i < calls.count; ++i) {
        add_eager(calls.hubs[i]);
    }
    if (calls.all) {
        for (const Oid hub : known_hubs()) {
            add_eager(hub);
        }
    }
}

void run_relay() {
    run_eager();
    each_link([](Link* link) { turn(link); });
}

void check_links() {
    each_link([](Link* link) {
        link->wanted = link->wanted || link->remote.state == pg::RemoteState::kReady;
    });
}

void forget_links() {
    const auto hubs = known_hubs();
    Link** at = &first_link;
    while (*at != nullptr) {
        Link* link = *at;
        if (std::find(hubs.begin(), hubs.end(), link->key.hub) != hubs.end()) {
            at = &link->next;
            continue;
        }
        pg::close_remote(&link->remote, "the hub is gone");
        unlock(link);
        *at = link->next;
        (void)hash_search(links, &link->key, HASH_REMOVE, nullptr);
    }
}

int64 until_relay_due() {
    int64 next = eager_count > 0 ? 0 : PG_INT64_MAX;
    const int64 now = pg::monotonic_ms();
    each_link([&next, now](const Link* link) {
        switch (link->remote.state) {
            case pg::RemoteState::kConnecting:
            case pg::RemoteState::kAsking:
                next = std::min(next, link->deadline_ms - now);
                break;
            default:
                if (link->wanted) {
                    next = std::min(next, link->retry_ms - now);
                }
                break;
        }
    });
    return std::max<int64>(0, next);
}

void sleep_on_links(int64 ms, uint32 event) {
    const auto count = static_cast<int>(hash_get_num_entries(links));
    if (count == 0) {
        (void)WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
                        static_cast<long>(ms), event);
        return;
    }
    constexpr int kOwnEvents = 2;
    WaitEventSet* set = pg::make_wait_set(count + kOwnEvents);
    AddWaitEventToSet(set, WL_LATCH_SET, PGINVALID_SOCKET, MyLatch, nullptr);
    AddWaitEventToSet(set, WL_EXIT_ON_PM_DEATH, PGINVALID_SOCKET, nullptr, nullptr);
    each_link([set](Link* link) {
        const pgsocket socket = pg::remote_socket(link->remote);
        if (socket != PGINVALID_SOCKET) {
            AddWaitEventToSet(set, pg::remote_events(link->remote), socket, nullptr, link);
        }
    });
    WaitEvent events[16];
    const int happened =
        WaitEventSetWait(set, static_cast<long>(ms), events, lengthof(events), event);
    for (int i = 0; i < happened; ++i) {
        if ((events[i].events & (WL_SOCKET_READABLE | WL_SOCKET_WRITEABLE)) != 0) {
            static_cast<Link*>(events[i].user_data)->ready = true;
        }
    }
    FreeWaitEventSet(set);
}

}  // namespace belay::worker
