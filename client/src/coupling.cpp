// The calls that lease turns and activities with what they settle.
//
// May touch: the connection of its hub. Must not: keep anything beyond a call.
#include "coupling.hpp"

#include "by_api.hpp"
#include "provider_rows.hpp"
#include "rows.hpp"

namespace belay {
namespace {

// Columns: those of an ack, of a turn, of an activity, and the index of an outcome.
constexpr int kTurn = 4;
constexpr int kWork = 16;
constexpr int kWorkIndex = 19;

SettledTurnsAndWork settle_both(Hub& hub, const AckArguments& acks, const TurnOptions& turns,
                                const OutcomeArguments& outcomes, const FetchOptions& work,
                                const Prefetch& prefetch, const Where& where) {
    const Result result = hub.call(Effect::kAck, kAll, "settle_turns_and_work",
                                   {acks.tokens,
                                    acks.executions,
                                    acks.deltas,
                                    acks.worker_items,
                                    acks.orchestrator_items,
                                    acks.metadata,
                                    acks.cancelled,
                                    count_of(turns.lock_timeout),
                                    turns.min_version_packed,
                                    turns.max_version_packed,
                                    turns.max_turns,
                                    turns.slots,
                                    turns.cache_owner,
                                    turns.names,
                                    outcomes.tokens,
                                    outcomes.words,
                                    outcomes.completions,
                                    outcomes.delays,
                                    outcomes.ignored,
                                    outcomes.reasons,
                                    work.owner_id,
                                    count_of(work.session_lock_timeout),
                                    work.tag_filter,
                                    text_of(work.tag_mode),
                                    work.max_items,
                                    prefetch.most,
                                    prefetch.threshold,
                                    acks.predicted_after,
                                    hub.now()},
                                   where);
    SettledTurnsAndWork settled;
    const bool repeated = hub.connection().was_repeated();
    for (int row = 0; row < result.size(); ++row) {
        if (!result.is_null(row, 0)) {
            settled.acks.push_back(read_acked(result, row, repeated));
        } else if (!result.is_null(row, kWorkIndex)) {
            settled.outcomes.push_back(read_outcome(result, row, repeated));
        } else if (!result.is_null(row, kTurn)) {
            settled.turns.push_back(read_leased_turn(result, row, kTurn, turns.lock_timeout));
        } else {
            Reader reader(result, row, kWork);
            read_work_item(reader, settled.items.emplace_back());
        }
    }
    return settled;
}

}  // namespace

SettledTurnsAndWork ack_turns_and_fetch(Hub& hub, const std::vector<TurnAck>& acks,
                                        const TurnOptions& turns, const FetchOptions& work,
                                        Where where) {
    return call_by_api(
        hub, where,
        [&] { return settle_both(hub, ack_arguments(acks, where), turns, {}, work, {}, where); },
        [&] {
            AckedTurns acked = hub.provider().ack_and_fetch_turns(acks, turns, where);
            return SettledTurnsAndWork{.acks = std::move(acked.acks),
                                       .turns = std::move(acked.turns)};
        });
}

SettledTurnsAndWork settle_work_and_fetch(Hub& hub, const std::vector<WorkOutcome>& outcomes,
                                          const std::vector<TurnAck>& predicted,
                                          const TurnOptions& turns, const FetchOptions& work,
                                          const Prefetch& prefetch, Where where) {
    return call_by_api(
        hub, where,
        [&] {
            return settle_both(hub, ack_arguments(predicted, where), turns,
                               outcome_arguments(outcomes), work, prefetch, where);
        },
        [&] {
            SettledWork settled =
                hub.provider().settle_and_fetch_work_items(outcomes, work, prefetch, where);
            return SettledTurnsAndWork{.outcomes = std::move(settled.outcomes),
                                       .items = std::move(settled.items),
                                       .predictions = false};
        });
}

}  // namespace belay
