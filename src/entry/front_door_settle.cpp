// The entry function of the front door that ends many leases and receives in one call: typed arrays
// in, plain rows out.
#include "entry/front_door_call.hpp"
#include "entry/outcomes.hpp"
#include "entry/task_call.hpp"
#include "entry/verbs.hpp"

namespace belay::entry {

namespace {

constexpr const char* kOutcomes = "outcomes";
constexpr const char* kOutcomesHint = "Outcomes are complete, fail and release.";

// The arrays, each with an element for each lease or none at all.
struct Arrays {
    std::span<const NullableDatum> leases;
    std::span<const NullableDatum> outcomes;
    std::span<const NullableDatum> results;
    std::span<const NullableDatum> errors;
    std::span<const NullableDatum> classes;
    std::span<const NullableDatum> delays;
};

Arrays read_arrays(const Call& call) {
    constexpr const char* kLeases = "leases";
    if (!call.has(0)) {
        refuse_null_argument(kLeases, "Pass an array with the column lease of receive.");
    }
    Arrays arrays{};
    arrays.leases = call.elements(0, kLeases, TEXTOID);
    const auto about = [&](int i, const char* name, Oid type) {
        return per_outcome(call, i, name, type, kLeases, arrays.leases.size());
    };
    arrays.outcomes = about(1, kOutcomes, TEXTOID);
    arrays.results = about(2, "results", JSONBOID);
    arrays.errors = about(3, "errors", TEXTOID);
    arrays.classes = about(4, "classes", TEXTOID);
    arrays.delays = about(5, "delays", INTERVALOID);
    return arrays;
}

ops::TaskEnd end_at(std::span<const NullableDatum> words, std::size_t i) {
    const auto word = text_at(words, i).value_or("complete");
    if (word == "complete") {
        return ops::TaskEnd::kComplete;
    }
    if (word == "fail") {
        return ops::TaskEnd::kFail;
    }
    if (word == "release") {
        return ops::TaskEnd::kRelease;
    }
    refuse_outcome(kOutcomes, word, i, kOutcomesHint);
}

// What is wrong with the arguments of one outcome concerns that one alone. Each of the following
// returns the code_detail of the single function's error, or null.

const char* read_delay(const Arrays& arrays, std::size_t i, ops::TaskOutcome* outcome) {
    if (!has_element(arrays.delays, i)) {
        return nullptr;
    }
    outcome->delay_ms = ops::span_ms(*DatumGetIntervalP(arrays.delays[i].value));
    return outcome->delay_ms ? nullptr : "out_of_range";
}

const char* read_failure(const Arrays& arrays, std::size_t i, store::Failure* failure) {
    const auto error = text_at(arrays.errors, i);
    if (!error) {
        return "null";
    }
    const auto failure_class =
        core::parse_failure_class(text_at(arrays.classes, i).value_or("transient"));
    if (!failure_class) {
        return "bad_value";
    }
    *failure = {*failure_class, ops::clip(*error, ops::kMaxMessage), nullptr};
    return nullptr;
}

const char* read_end(const Call& call, const Arrays& arrays, std::size_t i,
                     ops::TaskOutcome* outcome) {
    if (outcome->end == ops::TaskEnd::kComplete) {
        outcome->result = jsonb_at(arrays.results, i);
        return ops::is_body_too_long(call.tables, outcome->result) ? "too_long" : nullptr;
    }
    if (outcome->end == ops::TaskEnd::kFail) {
        if (const char* wrong = read_failure(arrays, i, &outcome->failure)) {
            return wrong;
        }
    }
    return read_delay(arrays, i, outcome);
}

std::optional<ops::Refusal> read_outcome(const Call& call, const Arrays& arrays, std::size_t i,
                                         core::TaskLease* lease, ops::TaskOutcome* outcome) {
    const auto text = text_at(arrays.leases, i);
    if (!text) {
        return ops::Refusal{pg::kInvalidArgument, "null"};
    }
    const auto decoded = ops::decode_lease(call.tables, *text);
    if (!decoded) {
        return ops::Refusal{pg::kLockLost, ops::kMalformedLease};
    }
    *lease = *decoded;
    outcome->id = ops::task_of(*lease);
    outcome->fence = ops::fence_of(*lease);
    const char* wrong = read_end(call, arrays, i, outcome);
    return wrong == nullptr ? std::nullopt
                            : std::optional(ops::Refusal{pg::kInvalidArgument, wrong});
}

std::span<ops::TaskOutcome> read_outcomes(const Call& call, const Arrays& arrays) {
    const std::size_t count = arrays.leases.size();
    auto* leases = static_cast<core::TaskLease*>(palloc(sizeof(core::TaskLease) * (count + 1)));
    auto* outcomes = static_cast<ops::TaskOutcome*>(palloc(sizeof(ops::TaskOutcome) * (count + 1)));
    for (std::size_t i = 0; i < count; ++i) {
        outcomes[i] = {};
        outcomes[i].end = end_at(arrays.outcomes, i);
        outcomes[i].refusal = read_outcome(call, arrays, i, &leases[i], &outcomes[i]);
    }
    return {outcomes, count};
}

// A row of an outcome: these, and the task. A row of a received task: the rest.
constexpr int kOutcomeColumns = 5;
constexpr int kTaskId = kOutcomeColumns;
using Row = SparseRow<kOutcomeColumns + kReceivedColumns>;

void add_outcome(const Call::Set& set, std::size_t index, const ops::TaskOutcome& outcome) {
    Row row;
    row.put(0, Int32GetDatum(static_cast<int32>(index)));
    if (outcome.refusal) {
        row.put_text(1, unpack_sql_state(outcome.refusal->sqlstate));
        row.put_text(2, outcome.refusal->code_detail);
    }
    if (outcome.state) {
        row.put(3, state_datum(*outcome.state));
    }
    if (outcome.available_at) {
        row.put(4, time_datum(*outcome.available_at));
    }
    if (outcome.fence.lease != nullptr) {
        row.put(kTaskId, UUIDPGetDatum(&outcome.id));
    }
    set.add(row.values, row.nulls);
}

// Without queues, or with max 0, the call only ends leases.
bool receives(const Call& call) {
    return call.has(6) && call.int4(7) != 0;
}

}  // namespace

Datum settle_and_receive(const Call& call) {
    const auto outcomes = read_outcomes(call, read_arrays(call));
    const bool more = receives(call);
    const auto request =
        more ? receive_request(call, 6, Queues::kMany, "lease_for", 0) : ops::ClaimRequest{};
    auto clock = call.clock();
    const auto set = call.set();
    if (!outcomes.empty()) {
        ops::settle_tasks(call.tables, outcomes, &clock);
    }
    const auto received = more ? ops::receive(call.tables, request, &clock) : ops::Received{};
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
        add_outcome(set, i, outcomes[i]);
    }
    for (std::size_t i = 0; i < received.claimed.tasks.size(); ++i) {
        const ReceivedColumns columns = received_columns(received, i);
        Row row;
        std::copy_n(columns.values, kReceivedColumns, row.values + kOutcomeColumns);
        std::copy_n(columns.nulls, kReceivedColumns, row.nulls + kOutcomeColumns);
        set.add(row.values, row.nulls);
    }
    return call.nothing();
}

}  // namespace belay::entry
