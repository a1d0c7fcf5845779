// relay_intents.cpp — deliver intents: to hubs of this database, and batches for other databases.
//
// Calls    store::due_intents, store::delete_intents, take_in, store::insert_dead_intent
// Touches  <hub>.intent_queue, <hub>.dead_letters, and of the target intents_received and its
//          queues, with the rights of the target's owner
// Locks    the target of the hub, without waiting: one delivery to a target at a time. Tables of
//          the target without waiting.
// Raises   what cancels the call; an intent that is refused keeps the error, and waits
// Must not wait for the network: what goes to another database is handed to the remote relay.
#include "core/hash.hpp"
#include "core/intents.hpp"
#include "ops/enter.hpp"
#include "ops/intents/intents.hpp"
#include "pg/compat.hpp"
#include "pg/errors.hpp"
#include "pg/faults.hpp"
#include "pg/list.hpp"
#include "pg/locks.hpp"
#include "pg/scopes.hpp"
#include "pg/settings.hpp"
#include "pg/subtransaction.hpp"
#include "shmem/registry.hpp"
#include "store/dead_letters.hpp"
#include "store/grants.hpp"
#include "store/places.hpp"
#include "store/shards.hpp"

namespace belay::ops {

namespace {

constexpr int64 kBatchBytes = 4 * 1024 * 1024;
constexpr std::size_t kMaxError = 1000;
// What a string inside of a jsonb cannot hold any more.
constexpr std::size_t kTooLargeForLink = std::size_t{1} << 28;

constinit const RemoteRelay* remote_relay = nullptr;

// One hub delivers to one target.
struct Delivery {
    store::Tables& tables;
    std::string_view target;
    int64 now;

    int64 backoff(const store::Intent& intent) const {
        return now + core::intent_pause_ms(intent.attempts, pg::settings.intent_age_ms);
    }
};

// Chosen intents, by id; whether each is the first of its pair.
struct Batch {
    std::span<const store::Intent> intents;
    store::IntentList list;

    void release() const { list.release(); }

    bool is_first(std::size_t i) const {
        for (std::size_t before = 0; intents[i].pair.ordered() && before < i; ++before) {
            if (intents[before].pair == intents[i].pair) {
                return false;
            }
        }
        return true;
    }
};

// What is due for the target: of each pair the first ones, as long as they are due. A pair whose
// first intent waits for its next attempt is marked, and not met again until that has gone.
Batch choose(const Delivery& to, int64 created_before, int most) {
    pg::List<int64> ids;
    pg::List<store::IntentPair> seen;
    int64 bytes = 0;
    const auto has_room = [&ids, &bytes, most](int64 more) {
        return ids.count == 0 || (ids.count < most && bytes + more <= kBatchBytes);
    };
    const auto take = [&ids, &bytes](int64 id, int64 size) {
        ids.add(id);
        bytes += size;
    };
    for (const auto& due : store::due_intents(to.tables, to.target, to.now, created_before, most)) {
        if (!has_room(due.bytes)) {
            break;
        }
        if (!due.pair.ordered()) {
            take(due.id, due.bytes);
            continue;
        }
        bool known = false;
        for (const auto& pair : seen.span()) {
            known = known || pair == due.pair;
        }
        if (known) {
            continue;
        }
        seen.add(due.pair);
        const auto pair = store::pair_intents(to.tables, to.target, due.pair, to.now, most);
        if (!pair.empty() && !pair.front().due) {
            store::block_followers(to.tables, to.target, due.pair);
        }
        for (const auto& intent : pair) {
            if (!intent.due || !has_room(intent.bytes)) {
                break;
            }
            take(intent.id, intent.bytes);
        }
    }
    if (ids.count == 0) {
        return {};
    }
    const auto list = store::read_intents(to.tables, ids.span());
    return {list.intents, list};
}

void release_pairs(const Delivery& to, std::span<const store::IntentPair> pairs) {
    pg::List<store::IntentPair> done;
    for (const auto& pair : pairs) {
        bool known = !pair.ordered();
        for (const auto& other : done.span()) {
            known = known || other == pair;
        }
        if (!known) {
            done.add(pair);
            store::release_first(to.tables, to.target, pair);
        }
    }
}

std::span<const int64> ids_of(std::span<const store::Intent> intents) {
    auto* ids = static_cast<int64*>(palloc(sizeof(int64) * (intents.size() + 1)));
    for (std::size_t i = 0; i < intents.size(); ++i) {
        ids[i] = intents[i].key.id;
    }
    return {ids, intents.size()};
}

// Takes intents out of the queue.
void remove(const Delivery& to, std::span<const store::Intent> intents) {
    const auto pairs = store::delete_intents(to.tables, ids_of(intents));
    if (pairs.size() != intents.size()) {
        ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
                        errmsg("intents of hub \"%s\" were removed meanwhile",
                               NameStr(to.tables.hub.name))));
    }
    release_pairs(to, pairs);
}

void fail(const Delivery& to, const store::Intent& intent, std::string_view error) {
    store::record_failure(to.tables, intent.key.id, to.backoff(intent), clip(error, kMaxError));
    if (intent.pair.ordered()) {
        store::block_followers(to.tables, to.target, intent.pair);
    }
}

// The whole target cannot be reached: the first of each pair was tried without success.
void fail_all(const Delivery& to, const Batch& batch, std::string_view error) {
    for (std::size_t i = 0; i < batch.intents.size(); ++i) {
        if (batch.is_first(i)) {
            fail(to, batch.intents[i], error);
        }
    }
}

// Puts intents into the target, in a part of the transaction that is kept as a whole. Returns why
// it was not; null if it was.
const char* try_put(const Delivery& to, const store::Hub& target,
                    std::span<const store::Intent> intents) {
    const registry::Blame source{to.tables.hub.schema, to.tables.hub.owner, to.tables.hub.name};
    const registry::Blame receiver{target.schema, target.owner, target.name};
    const auto end = pg::try_in_subtransaction([&to, &target, intents, &source, &receiver] {
        for (std::size_t i = 0; i < intents.size(); ++i) {
            pg::fail_here(pg::FaultPoint::kOutboxDeliver);
        }
        remove(to, intents);
        registry::blame(receiver);
        pg::as_role(target.owner, [&target, intents, &to] {
            store::with_tables(target, [intents, &to](store::Tables& tables) {
                (void)take_in(tables, intents, to.now);
            });
        });
        registry::blame(source);
        return true;
    });
    if (end.error == nullptr) {
        return nullptr;
    }
    // A cancelled call has not failed at the intent.
    if (ERRCODE_TO_CATEGORY(end.error->sqlerrcode) == ERRCODE_OPERATOR_INTERVENTION) {
        ReThrowError(end.error);
    }
    registry::blame(source);
    return psprintf("%s: %s", unpack_sql_state(end.error->sqlerrcode), end.error->message);
}

// Why the hub's owner cannot deliver to a target of this database; null if it can.
const char* refusal(store::Tables& tables, const store::Hub* target, std::string_view name) {
    if (target == nullptr) {
        if (const auto place = store::place_of(pg::c_string(name))) {
            return psprintf(
                "QB017: hub \"%s\" is on %s:%d; create a link to it with belay.create_hub_link",
                pg::c_string(name), place->host, place->port);
        }
        return psprintf("QB002: hub \"%s\" does not exist", pg::c_string(name));
    }
    if (!pg::may_use_schema(target->schema, tables.hub.owner) ||
        !store::may_execute(*target, "receive_intents", tables.hub.owner)) {
        return psprintf("42501: role \"%s\" has not level client in hub \"%s\"",
                        GetUserNameFromId(tables.hub.owner, false), NameStr(target->name));
    }
    return nullptr;
}

// Delivers a batch to a hub of this database. Returns how many intents have arrived.
int64 deliver_here(const Delivery& to, const Batch& batch) {
    const Oid schema = get_namespace_oid(pg::c_string(to.target), true);
    const Oid relation = OidIsValid(schema) ? store::hub_relation(schema) : InvalidOid;
    if (OidIsValid(relation) && !ConditionalLockRelationOid(relation, AccessShareLock)) {
        return 0;  // a transaction is dropping it
    }
    const store::Hub* found = OidIsValid(schema) ? store::find_hub(schema, true) : nullptr;
    if (const char* error = refusal(to.tables, found, to.target)) {
        fail_all(to, batch, error);
        return 0;
    }
    if (found->shards != nullptr && !store::lock_shards(*found)) {
        return 0;  // it is being moved
    }
    if (!try_lock_tables(*found, {.worker_queue = true, .orchestrator_queue = true})) {
        return 0;  // a transaction is changing it
    }
    // A transaction may have sent it to another server before its tables were locked: that is the
    // target's state, not an error of the source.
    found = store::find_hub(schema, true);
    if (const char* error = refusal(to.tables, found, to.target)) {
        fail_all(to, batch, error);
        return 0;
    }
    if (!store::holds_place(*found)) {
        return 0;  // distributed meanwhile
    }
    if (registry::rest_of(found->schema, found->owner) > 0) {
        return 0;  // it is in quarantine
    }
    registry::blame({found->schema, found->owner, found->name});
    const store::Hub& target = store::settle_incarnation(*found);
    registry::blame({to.tables.hub.schema, to.tables.hub.owner, to.tables.hub.name});
    if (try_put(to, target, batch.intents) == nullptr) {
        return static_cast<int64>(batch.intents.size());
    }
    // One of them is refused, and holds up its pair only.
    int64 arrived = 0;
    pg::List<store::IntentPair> stuck;
    for (const auto& intent : batch.intents) {
        bool waits = false;
        for (const auto& pair : stuck.span()) {
            waits = waits || pair == intent.pair;
        }
        if (waits) {
            continue;
        }
        if (const char* error = try_put(to, target, {&intent, 1})) {
            fail(to, intent, error);
            if (intent.pair.ordered()) {
                stuck.add(intent.pair);
            }
        } else {
            ++arrived;
        }
        CHECK_FOR_INTERRUPTS();
    }
    return arrived;
}

// Sets aside what is older than intent_retention.
int64 dead_letter_old(const Delivery& to, bool untried) {
    const int64 retention = to.tables.hub.options[store::Option::kIntentRetention];
    const auto list =
        store::old_intents(to.tables, to.target, to.now - retention, untried, kMostIntents);
    const auto old = list.intents;
    if (old.empty()) {
        return 0;
    }
    remove(to, old);
    for (const auto& intent : old) {
        const auto& instance = intent.pair.target_instance;
        (void)store::insert_dead_intent(
            to.tables,
            {.intent_id = intent.key.id,
             .target_instance = instance.empty() ? std::nullopt : std::optional(instance),
             .work_item = intent.work_item,
             .attempts = intent.attempts,
             .detail = intent_detail(intent),
             .created_at = intent.created_at},
            to.now);
    }
    list.release();
    return static_cast<int64>(old.size());
}

uint64 lock_key_of(std::string_view target) {
    return core::fnv1a64(target);
}

// The node that has the target, if that is a hub of this cluster. A link goes before it.
std::optional<store::Place> node_of(std::string_view target) {
    const Oid schema = get_namespace_oid(pg::c_string(target), true);
    return OidIsValid(schema) ? store::node_by_citus(schema) : std::nullopt;
}

int64 relay_to(store::Tables& tables, std::string_view target, int64 now, int64 min_age_ms) {
    const bool linked = store::link_server(tables, target) || node_of(target);
    if (remote_relay != nullptr && remote_relay->in_flight(tables.hub.schema, target)) {
        return 0;
    }
    if (!pg::try_lock_key(pg::LockSpace::kIntentTarget, tables.hub.schema, lock_key_of(target))) {
        return 0;  // another relay is at it
    }
    const Delivery to{tables, target, now};
    int64 gone = 0;
    if (!linked) {
        const Batch batch = choose(to, now - min_age_ms, kMostIntents);
        gone += batch.intents.empty() ? 0 : deliver_here(to, batch);
        batch.release();
    } else if (remote_relay != nullptr &&
               !store::due_intents(tables, target, now, now - min_age_ms, 1).empty()) {
        remote_relay->wanted(tables.hub.schema, target, min_age_ms);
    }
    return gone + dead_letter_old(to, linked && remote_relay == nullptr);
}

}  // namespace

void use_remote_relay(const RemoteRelay* relay) {
    remote_relay = relay;
}

int64 relay_intents(store::Tables& tables, pg::Clock* clock, int64 min_age_ms) {
    if (tables.hub.is_paused(store::Queue::kIntents) || !try_enter(tables, {.intents = true})) {
        return 0;
    }
    int64 gone = 0;
    std::string_view after;
    while (const auto target = store::next_target(tables, after)) {
        // A call may go through many portions; items are not kept until it ends.
        MemoryContext memory =
            AllocSetContextCreate(CurrentMemoryContext, "belay intents", ALLOCSET_DEFAULT_SIZES);
        MemoryContext old = MemoryContextSwitchTo(memory);
        gone += relay_to(tables, *target, clock->now(), min_age_ms);
        MemoryContextSwitchTo(old);
        MemoryContextDelete(memory);
        after = *target;
        CHECK_FOR_INTERRUPTS();
    }
    return gone;
}

void next_remote_batch(store::Tables& tables, std::string_view target, int64 min_age_ms, int most,
                       MemoryContext memory, RemoteBatch* batch) {
    *batch = {};
    if (const auto server = store::link_server(tables, target)) {
        batch->server = MemoryContextStrdup(memory, pg::c_string(*server));
    } else if (const auto node = node_of(target)) {
        batch->host = MemoryContextStrdup(memory, node->host);
        batch->port = node->port;
        batch->server = MemoryContextStrdup(memory, psprintf("%s:%d", node->host, node->port));
    } else {
        return;
    }
    if (tables.hub.is_paused(store::Queue::kIntents) || !try_enter(tables, {.intents = true})) {
        return;
    }
    const Delivery to{tables, target, pg::server_now_ms()};
    const Batch chosen = choose(to, to.now - min_age_ms, most);
    StringInfo text = makeStringInfo();
    for (std::size_t i = 0; i < chosen.intents.size(); ++i) {
        const store::Intent& intent = chosen.intents[i];
        if (pg::fault(pg::FaultPoint::kOutboxDeliver)) {
            if (batch->count == 0) {
                fail_all(to, chosen, "XX000: injected fault at \"outbox.deliver\"");
                return;
            }
            break;
        }
        if (intent.work_item.size() >= kTooLargeForLink) {
            if (batch->count == 0) {
                fail(to, intent, "54000: the item is too large for a link");
            }
            break;  // those before it go first
        }
        appendStringInfoString(text, batch->count == 0 ? "[" : ",");
        appendStringInfo(
            text, "{\"source_uuid\":\"%s\",\"intent_id\":" INT64_FORMAT,
            DatumGetCString(DirectFunctionCall1(uuid_out, UUIDPGetDatum(&intent.key.source_uuid))),
            intent.key.id);
        appendStringInfo(text, ",\"queue\":\"%s\"", pg::c_string(intent.queue));
        if (intent.visible_at) {
            appendStringInfo(text, ",\"visible_at_ms\":" INT64_FORMAT, *intent.visible_at);
        }
        appendStringInfoString(text, ",\"work_item\":");
        append_json(text, intent.work_item);
        appendStringInfoChar(text, '}');
        batch->ids[batch->count] = intent.key.id;
        batch->first[batch->count++] = chosen.is_first(i);
    }
    if (batch->count > 0) {
        appendStringInfoChar(text, ']');
        batch->text = MemoryContextStrdup(memory, text->data);
    }
}

void settle_delivered(store::Tables& tables, std::string_view target, std::span<const int64> ids) {
    release_pairs({tables, target, pg::server_now_ms()}, store::delete_intents(tables, ids));
}

void settle_failed(store::Tables& tables, std::string_view target, std::span<const int64> firsts,
                   std::string_view error) {
    const Delivery to{tables, target, pg::server_now_ms()};
    for (const auto& intent : store::read_intents(tables, firsts).intents) {
        fail(to, intent, error);
    }
}

}  // namespace belay::ops
