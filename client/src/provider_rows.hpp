// Arguments and rows that several calls of the provider interface share.
#pragma once

#include <string>
#include <vector>

#include "belay/provider.hpp"
#include "rows.hpp"

namespace belay {

// The acks of turns as the arrays that a call takes.
struct AckArguments {
    std::vector<std::string> tokens = {};
    std::vector<std::int64_t> executions = {};
    std::vector<JsonText> deltas = {};
    std::vector<JsonText> worker_items = {};
    std::vector<JsonText> orchestrator_items = {};
    std::vector<JsonText> metadata = {};
    std::vector<JsonText> cancelled = {};
    std::vector<OptionalNumber> predicted_after = {};  // of settle_turns_and_work only
};
AckArguments ack_arguments(const std::vector<TurnAck>& acks, const Where& where);

// The same of outcomes of activities.
struct OutcomeArguments {
    std::vector<std::string> tokens = {};
    std::vector<std::string> words = {};
    std::vector<OptionalText> completions = {};
    std::vector<OptionalNumber> delays = {};
    std::vector<bool> ignored = {};
    std::vector<OptionalText> reasons = {};
};
OutcomeArguments outcome_arguments(const std::vector<WorkOutcome>& outcomes);

AckedTurn read_acked(const Result& result, int row, bool repeated);
// With the columns of ack_and_fetch_turns, of which this is the first.
Turn read_leased_turn(const Result& result, int row, int first_column, Milliseconds lock_timeout);
void read_work_item(Reader& from, WorkItem& to);

}  // namespace belay
