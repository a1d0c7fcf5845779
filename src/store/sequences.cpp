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

// Positions of events are unique in their incarnation only.
constexpr auto kLargest = report<In<>, Out<int64, int64, int64, int64, int64, int64, int64>>(R"sql(
    SELECT COALESCE((SELECT CAST(pg_catalog.max(c.id) AS pg_catalog.int8)
                       FROM {hub}.capability_sets AS c), 0),
           COALESCE((SELECT pg_catalog.max(d.id) FROM {hub}.dead_letters AS d), 0),
           COALESCE((SELECT pg_catalog.max(l.lock_no) FROM {hub}.instance_locks AS l), 0),
           COALESCE((SELECT pg_catalog.max(i.id) FROM {hub}.intent_queue AS i), 0),
           COALESCE((SELECT pg_catalog.max(m.id) FROM {hub}.orchestrator_queue AS m), 0),
           COALESCE((SELECT e.position FROM {hub}.outbox_events AS e, {hub}.belay_hub AS h
                      WHERE e.incarnation {=} h.incarnation
                      ORDER BY e.incarnation DESC, e.position DESC LIMIT 1), 0),
           COALESCE((SELECT pg_catalog.max(w.id) FROM {hub}.worker_queue AS w), 0)
)sql");

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

std::span<const LateSequence> late_sequences(const Hub& hub) {
    const auto [sets, letters, locks, intents, messages, events, items] =
        run_for_one(hub, kLargest);
    const struct {
        Oid sequence;
        const char* name;
        int64 largest;
    } known[] = {
        {hub.relations.capability_sets_id, "capability_sets_id", sets},
        {hub.relations.dead_letters_id, "dead_letters_id", letters},
        {hub.relations.instance_locks_no, "instance_locks_no", locks},
        {hub.relations.intent_queue_id, "intent_queue_id", intents},
        {hub.relations.orchestrator_queue_id, "orchestrator_queue_id", messages},
        {hub.relations.outbox_events_position, "outbox_events_position", events},
        {hub.relations.worker_queue_id, "worker_queue_id", items},
    };
    pg::List<LateSequence> late;
    for (const auto& [sequence, name, largest] : known) {
        const int64 last = pg::last_number(sequence);
        if (last < largest) {
            late.add({name, last, largest});
        }
    }
    return late.span();
}

}  // namespace belay::store
