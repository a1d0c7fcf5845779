// The entry function that settles many tasks and claims in one call: typed arrays in, plain rows
// out.
#include <algorithm>

#include "entry/outcomes.hpp"
#include "entry/task_arguments.hpp"
#include "entry/task_call.hpp"
#include "entry/verbs.hpp"

namespace belay::entry {

namespace {

struct OutcomeWord {
    std::string_view word;
    ops::TaskEnd end;
};
constexpr OutcomeWord kOutcomes[] = {{"complete", ops::TaskEnd::kComplete},
                                     {"fail", ops::TaskEnd::kFail},
                                     {"delay", ops::TaskEnd::kDelay},
                                     {"release", ops::TaskEnd::kRelease},
                                     {"suspend", ops::TaskEnd::kSuspend}};

ops::TaskEnd end_at(std::span<const NullableDatum> words, std::size_t i) {
    const auto word = text_at(words, i).value_or("complete");
    for (const auto& known : kOutcomes) {
        if (known.word == word) {
            return known.end;
        }
    }
    refuse_outcome("p_outcomes", word, i,
                   "Outcomes are complete, fail, delay, release and suspend.");
}

// The arrays, each with an element for each outcome or none at all.
struct Arrays {
    std::span<const NullableDatum> ids;
    std::span<const NullableDatum> epochs;
    std::span<const NullableDatum> outcomes;
    std::span<const NullableDatum> results;
    std::span<const NullableDatum> classes;
    std::span<const NullableDatum> messages;
    std::span<const NullableDatum> details;
    std::span<const NullableDatum> delays;
    std::span<const NullableDatum> checkpoints;
    std::span<const NullableDatum> suspensions;
};

Arrays read_arrays(const Call& call) {
    constexpr const char* kIds = "p_task_ids";
    Arrays arrays{};
    arrays.ids = call.elements(0, kIds, UUIDOID);
    const auto about = [&](int i, const char* name, Oid type) {
        return per_outcome(call, i, name, type, kIds, arrays.ids.size());
    };
    arrays.epochs = about(1, "p_lease_epochs", INT8OID);
    arrays.outcomes = about(2, "p_outcomes", TEXTOID);
    arrays.results = about(3, "p_results", JSONBOID);
    arrays.classes = about(4, "p_classes", TEXTOID);
    arrays.messages = about(5, "p_messages", TEXTOID);
    arrays.details = about(6, "p_details", JSONBOID);
    arrays.delays = about(7, "p_delays_ms", INT8OID);
    arrays.checkpoints = about(8, "p_checkpoints", JSONBOID);
    arrays.suspensions = about(9, "p_suspensions", JSONBOID);
    return arrays;
}

// What is wrong with the arguments of one outcome concerns that one alone. Each of the following
// returns the word of the single function for it, or null.

const char* read_body(const Call& call, std::span<const NullableDatum> bodies, std::size_t i,
                      Jsonb** body) {
    *body = jsonb_at(bodies, i);
    return ops::is_body_too_long(call.tables, *body) ? "too_long" : nullptr;
}

const char* read_delay(const Arrays& arrays, std::size_t i, ops::TaskOutcome* outcome) {
    outcome->delay_ms = int8_at(arrays.delays, i);
    if (outcome->end == ops::TaskEnd::kDelay && !outcome->delay_ms) {
        return "null";
    }
    return outcome->delay_ms.value_or(0) < 0 ? "out_of_range" : nullptr;
}

const char* read_failure(const Call& call, const Arrays& arrays, std::size_t i,
                         store::Failure* failure) {
    const auto word = text_at(arrays.classes, i);
    const auto failure_class = word ? core::parse_failure_class(*word) : std::nullopt;
    if (!failure_class) {
        return word ? "bad_value" : "null";
    }
    failure->failure_class = *failure_class;
    if (const auto message = text_at(arrays.messages, i)) {
        failure->message = ops::clip(*message, ops::kMaxMessage);
    }
    return read_body(call, arrays.details, i, &failure->details);
}

const char* read_end(const Call& call, const Arrays& arrays, std::size_t i,
                     ops::TaskOutcome* outcome) {
    const char* wrong = nullptr;
    switch (outcome->end) {
        case ops::TaskEnd::kComplete:
            return read_body(call, arrays.results, i, &outcome->result);
        case ops::TaskEnd::kFail:
            wrong = read_failure(call, arrays, i, &outcome->failure);
            return wrong != nullptr ? wrong : read_delay(arrays, i, outcome);
        case ops::TaskEnd::kDelay:
            wrong = read_delay(arrays, i, outcome);
            return wrong != nullptr ? wrong
                                    : read_body(call, arrays.checkpoints, i, &outcome->checkpoint);
        case ops::TaskEnd::kRelease:
            return read_delay(arrays, i, outcome);
        case ops::TaskEnd::kSuspend:
            outcome->suspension = jsonb_at(arrays.suspensions, i);
            break;
    }
    return nullptr;
}

const char* read_outcome(const Call& call, const Arrays& arrays, std::size_t i,
                         ops::TaskOutcome* outcome) {
    if (!has_element(arrays.ids, i)) {
        return "null";
    }
    outcome->id = *DatumGetUUIDP(arrays.ids[i].value);
    outcome->fence = {int8_at(arrays.epochs, i), false};
    return outcome->fence.epoch ? read_end(call, arrays, i, outcome) : "fence_required";
}

std::span<ops::TaskOutcome> read_outcomes(const Call& call, const Arrays& arrays) {
    const std::size_t count = arrays.ids.size();
    auto* outcomes = static_cast<ops::TaskOutcome*>(palloc(sizeof(ops::TaskOutcome) * (count + 1)));
    for (std::size_t i = 0; i < count; ++i) {
        outcomes[i] = {};
        outcomes[i].end = end_at(arrays.outcomes, i);
        if (const char* wrong = read_outcome(call, arrays, i, &outcomes[i])) {
            outcomes[i].refusal = ops::Refusal{pg::kInvalidArgument, wrong};
        }
    }
    return {outcomes, count};
}

// A row of an outcome: these, and the task with the epoch that a completion leaves. A row of a
// claimed task: the rest.
constexpr int kOutcomeColumns = 10;
constexpr int kColumns = kOutcomeColumns + kClaimedColumns;
constexpr int kTaskId = kOutcomeColumns;
constexpr int kLeaseEpoch = kOutcomeColumns + 11;

using Row = SparseRow<kColumns>;

void add_outcome(const Call::Set& set, std::size_t index, const ops::TaskOutcome& outcome,
                 bool named) {
    Row row;
    row.put(0, Int32GetDatum(static_cast<int32>(index)));
    if (outcome.refusal) {
        row.put_text(1, unpack_sql_state(outcome.refusal->sqlstate));
        row.put_text(2, outcome.refusal->code_detail);
    }
    row.put_text(3, outcome.answer);
    if (outcome.state) {
        row.put(4, state_datum(*outcome.state));
    }
    if (outcome.available_at) {
        row.put(5, Int64GetDatum(*outcome.available_at));
    }
    if (outcome.next_attempt_index) {
        row.put(6, Int32GetDatum(*outcome.next_attempt_index));
    }
    if (outcome.same_result) {
        row.put(7, BoolGetDatum(*outcome.same_result));
    }
    if (outcome.suspension_id) {
        row.put(8, UUIDPGetDatum(&*outcome.suspension_id));
    }
    if (outcome.waitpoints != nullptr) {
        row.put(9, pg::jsonb_datum(outcome.waitpoints));
    }
    if (named) {
        row.put(kTaskId, UUIDPGetDatum(&outcome.id));
    }
    if (outcome.lease_epoch) {
        row.put(kLeaseEpoch, Int64GetDatum(*outcome.lease_epoch));
    }
    set.add(row.values, row.nulls);
}

}  // namespace

Datum settle_and_claim_tasks(const Call& call) {
    const Arrays arrays = read_arrays(call);
    const auto outcomes = read_outcomes(call, arrays);
    const bool claims = call.int4(15).value_or(0) != 0 || call.int4(17).value_or(0) != 0;
    auto request = claims ? claim_request(call, 10, true) : ops::ClaimRequest{};
    if (claims) {
        const auto prefetch = read_prefetch(call, 17, request.max, kMaxClaim);
        request.ahead = {prefetch.most, prefetch.threshold};
    }
    auto clock = call.clock(19);
    const auto set = call.set();
    if (!outcomes.empty()) {
        ops::settle_tasks(call.tables, outcomes, &clock);
    }
    const auto claimed = claims ? ops::claim_tasks(call.tables, request, &clock) : ops::Claimed{};
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
        add_outcome(set, i, outcomes[i], has_element(arrays.ids, i));
    }
    for (std::size_t i = 0; i < claimed.tasks.size(); ++i) {
        const ClaimedColumns columns = claimed_columns(call, claimed, i);
        Row row;
        std::copy_n(columns.values, kClaimedColumns, row.values + kOutcomeColumns);
        std::copy_n(columns.nulls, kClaimedColumns, row.nulls + kOutcomeColumns);
        set.add(row.values, row.nulls);
    }
    return call.nothing();
}

}  // namespace belay::entry
