// The entry function that commits turns, settles activities and fetches both in one call, for a
// process that runs orchestrations and their activities.
#include <algorithm>

#include "entry/outcomes.hpp"
#include "entry/turn_arguments.hpp"
#include "entry/verbs.hpp"
#include "entry/work_arguments.hpp"
#include "pg/async_commit.hpp"
#include "pg/errors.hpp"

namespace belay::entry {

namespace {

// Columns: of an ack, of a turn, of an activity, then the index of an outcome.
constexpr int kFirstOfTurn = kAckColumns;
constexpr int kFirstOfWork = kFirstOfTurn + kAllTurnColumns;
constexpr int kWorkColumns = 3;
constexpr int kWorkIndex = kFirstOfWork + kWorkColumns;
using Row = SparseRow<kWorkIndex + 1>;

// What the call is asked to do.
struct Asked {
    std::span<ops::TurnAck> acks;
    ops::TurnRequest turns;
    std::span<ops::WorkOutcome> outcomes;
    ops::FetchRequest work;
    Prefetch prefetch;

    bool only_leases() const { return acks.empty() && outcomes.empty(); }
    bool has_predictions() const {
        return std::ranges::any_of(acks,
                                   [](const auto& ack) { return ack.predicted_after.has_value(); });
    }
    bool has_only_predictions() const {
        return std::ranges::all_of(acks,
                                   [](const auto& ack) { return ack.predicted_after.has_value(); });
    }
};

// Both lock rows of the worker queue in the order of their keys, each for itself: with outcomes
// behind cancellations, two such calls could wait for each other.
void refuse_both(const Asked& asked) {
    for (const ops::TurnAck& ack : asked.acks) {
        const Jsonb* cancelled = ack.args.cancelled_activities;
        if (!asked.outcomes.empty() && cancelled != nullptr && JB_ROOT_COUNT(cancelled) > 0) {
            pg::raise_invalid("conflict", "p_cancelled_activities",
                              "turns that cancel activities cannot be committed together with "
                              "outcomes of activities",
                              "Pass the outcomes in a call of their own.");
        }
    }
}

void read_predictions(const Call& call, std::span<ops::TurnAck> acks) {
    const auto predicted =
        per_outcome(call, 27, "p_predicted_after", INT8OID, "p_lock_tokens", acks.size());
    for (std::size_t i = 0; i < acks.size(); ++i) {
        acks[i].predicted_after = int8_at(predicted, i);
    }
}

Asked read_asked(const Call& call) {
    Asked asked{.acks = read_acks(call, "p_lock_tokens"),
                .turns = read_turn_request(call),
                .outcomes = read_work_outcomes(call, 14, "p_work_tokens"),
                .work = fetch_request(call, 7, 20, kAllSlots),
                .prefetch = {}};
    const int32 most = call.int4(24).value_or(0);
    asked.work.max_items = most == 0 ? 0 : ops::checked_limit("p_max_items", most, 1, kMaxFetch);
    asked.prefetch = read_prefetch(call, 25, asked.work.max_items, kMaxFetch);
    read_predictions(call, asked.acks);
    refuse_both(asked);
    return asked;
}

// Turns first: their locks come before those of the worker queue. Predicted turns come with the
// outcomes.
void settle(const Call& call, const Asked& asked, pg::Clock* clock) {
    if (!asked.outcomes.empty() && !asked.acks.empty()) {
        ops::enter(call.tables,
                   {.worker_queue = true,
                    .orchestrator_queue = true,
                    .instance_locks = true,
                    .sessions = true,
                    .intents = true},
                   clock);
    }
    if (!asked.has_only_predictions()) {
        ops::ack_turns(call.tables, asked.acks, clock);
    }
    if (asked.has_predictions()) {
        ops::settle_predicted(call.tables, asked.acks, asked.turns, asked.outcomes, clock);
    } else if (!asked.outcomes.empty()) {
        ops::settle_work(call.tables, asked.outcomes, clock);
    }
}

store::LeasedRows fetch_work(const Call& call, const Asked& asked, pg::Clock* clock) {
    ops::FetchRequest request = asked.work;
    if (asked.prefetch.most > 0 &&
        ops::has_ready_work(call.tables, request, clock, asked.prefetch.threshold)) {
        request.max_items += asked.prefetch.most;
    }
    return request.max_items > 0 ? ops::fetch_work_items(call.tables, request, clock)
                                 : store::LeasedRows{nullptr, 0};
}

void add_settled(const Call::Set& set, const Asked& asked) {
    for (std::size_t i = 0; i < asked.acks.size(); ++i) {
        Row row;
        put_ack(i, asked.acks[i], &row);
        set.add(row.values, row.nulls);
    }
    for (std::size_t i = 0; i < asked.outcomes.size(); ++i) {
        Row row;
        row.put_text(1, error_of(asked.outcomes[i]));
        row.put_text(2, reason_of(asked.outcomes[i]));
        row.put(kWorkIndex, Int32GetDatum(static_cast<int32>(i)));
        set.add(row.values, row.nulls);
    }
}

}  // namespace

Datum settle_turns_and_work(const Call& call) {
    const Asked asked = read_asked(call);
    auto clock = call.clock(28);
    if (asked.only_leases()) {
        pg::begin_lease_write();
    } else {
        settle(call, asked, &clock);
    }
    const auto turns = asked.turns.max_turns > 0
                           ? ops::fetch_turns(call.tables, asked.turns, &clock)
                           : std::span<const ops::Turn>();
    const store::LeasedRows leased = fetch_work(call, asked, &clock);
    if (asked.only_leases()) {
        pg::end_lease_write();
    }
    const auto set = call.set();
    add_settled(set, asked);
    for (const ops::Turn& turn : turns) {
        const TurnValues columns = turn_values(call, turn, kAsStored);
        Row row;
        std::copy_n(columns.values, kAllTurnColumns, row.values + kFirstOfTurn);
        std::copy_n(columns.nulls, kAllTurnColumns, row.nulls + kFirstOfTurn);
        set.add(row.values, row.nulls);
    }
    for (int i = 0; i < leased.count; ++i) {
        const LeasedColumns columns = leased_columns(call, leased.rows[i]);
        Row row;
        for (int column = 0; column < kWorkColumns; ++column) {
            row.put(kFirstOfWork + column, columns.values[column]);
        }
        set.add(row.values, row.nulls);
    }
    return call.nothing();
}

}  // namespace belay::entry
