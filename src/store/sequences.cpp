// Sequences of a hub.
//
// May touch: the sequences; reads the largest numbers of the tables that use them. Must not: draw
// a number; the store file of the table does.
#include "store/sequences.hpp"

#include <algorithm>

#include "pg/list.hpp"
#include "pg/sequence.hpp"
#include "store/statements.hpp"

namespace belay::store {

namespace {

// Each incarnation has 2^40 numbers of its own. There are 2^23 such ranges; incarnations beyond
// them share the last one.
constexpr int kRangeBits = 40;
constexpr int32 kRanges = (int32{1} << 23) - 1;

constexpr auto kLargestSet = statement<In<>, Out<int32>>(R"sql(
    SELECT COALESCE(pg_catalog.max(c.id), 0) FROM {hub}.capability_sets AS c
)sql");

// Positions of events are unique in their incarnation only. These have an index.
constexpr auto kLargest = report<In<>, Out<int64, int64, int64, int64>>(R"sql(
    SELECT COALESCE((SELECT CAST(pg_catalog.max(c.id) AS pg_catalog.int8)
                       FROM {hub}.capability_sets AS c), 0),
           COALESCE((SELECT pg_catalog.max(d.id) FROM {hub}.dead_letters AS d), 0),
           COALESCE((SELECT pg_catalog.max(i.id) FROM {hub}.intent_queue AS i), 0),
           COALESCE((SELECT e.position FROM {hub}.outbox_events AS e, {hub}.belay_hub AS h
                      WHERE e.incarnation {=} h.incarnation
                      ORDER BY e.incarnation DESC, e.position DESC LIMIT 1), 0)
)sql");

// These read the whole table.
constexpr auto kLargestLock = report<In<>, Out<int64>>(R"sql(
    SELECT COALESCE(pg_catalog.max(l.lock_no), 0) FROM {hub}.instance_locks AS l
)sql");

constexpr auto kLargestMessage = report<In<>, Out<int64>>(R"sql(
    SELECT COALESCE(pg_catalog.max(m.id), 0) FROM {hub}.orchestrator_queue AS m
)sql");

constexpr auto kLargestItem = report<In<>, Out<int64>>(R"sql(
    SELECT COALESCE(pg_catalog.max(w.id), 0) FROM {hub}.worker_queue AS w
)sql");

bool is_large(Oid table) {
    constexpr BlockNumber kFewPages = 500;
    Relation relation = table_open(table, AccessShareLock);
    const bool is = RelationGetNumberOfBlocks(relation) > kFewPages;
    table_close(relation, AccessShareLock);
    return is;
}

}  // namespace

void raise_sequences(const Hub& hub, int32 incarnation) {
    const int64 floor = int64{std::min(incarnation, kRanges)} << kRangeBits;
    for (const Oid sequence :
         {hub.relations.dead_letters_id, hub.relations.instance_locks_no,
          hub.relations.intent_queue_id, hub.relations.orchestrator_queue_id,
          hub.relations.outbox_events_position, hub.relations.worker_queue_id}) {
        // An incarnation begins by itself, before anything can say that one was dropped by hand.
        if (OidIsValid(sequence)) {
            pg::raise_sequence(sequence, floor);
        }
    }
    if (OidIsValid(hub.relations.capability_sets_id)) {
        // An integer: there is no room for ranges.
        pg::raise_sequence(hub.relations.capability_sets_id, run_for_one(hub, kLargestSet));
    }
}

SequenceCheck check_sequences(const Hub& hub, bool all) {
    pg::List<LateSequence> late;
    pg::List<const char*> skipped;
    const auto compare = [&late](Oid sequence, const char* name, int64 largest) {
        const int64 last = pg::last_number(sequence);
        if (last < largest) {
            late.add({name, last, largest});
        }
    };
    const auto compare_scanned = [&](Oid table, const auto& statement, Oid sequence,
                                     const char* name) {
        if (!all && is_large(table)) {
            skipped.add(name);
        } else {
            compare(sequence, name, run_for_one(hub, statement));
        }
    };
    const auto [sets, letters, intents, events] = run_for_one(hub, kLargest);
    const Relations& known = hub.relations;
    compare(known.capability_sets_id, "capability_sets_id", sets);
    compare(known.dead_letters_id, "dead_letters_id", letters);
    compare_scanned(known.instance_locks, kLargestLock, known.instance_locks_no,
                    "instance_locks_no");
    compare(known.intent_queue_id, "intent_queue_id", intents);
    compare_scanned(known.orchestrator_queue, kLargestMessage, known.orchestrator_queue_id,
                    "orchestrator_queue_id");
    compare(known.outbox_events_position, "outbox_events_position", events);
    compare_scanned(known.worker_queue, kLargestItem, known.worker_queue_id, "worker_queue_id");
    return {late.span(), skipped.span()};
}

}  // namespace belay::store
