// The entry function that settles many work items and fetches in one call: typed arrays in, plain
// rows out.
#include "entry/outcomes.hpp"
#include "entry/verbs.hpp"
#include "entry/work_arguments.hpp"
#include "pg/async_commit.hpp"
#include "pg/datum.hpp"
#include "pg/errors.hpp"

namespace belay::entry {

namespace {

ops::OutcomeKind kind_at(std::span<const NullableDatum> kinds, std::size_t i) {
    const auto word = text_at(kinds, i).value_or("ack");
    if (word == "ack") {
        return ops::OutcomeKind::kAck;
    }
    if (word == "abandon") {
        return ops::OutcomeKind::kAbandon;
    }
    refuse_outcome("p_outcomes", word, i, "Outcomes are ack and abandon.");
}

// What is wrong with one outcome concerns that one alone: it is refused, and the others are
// settled.
void read_completion(std::optional<std::string_view> text, ops::WorkOutcome* outcome) {
    if (!text) {
        return;
    }
    core::Problem problem;
    outcome->completion = ops::read_completion(*text, &problem);
    if (!outcome->completion || !ops::is_instance_id(outcome->completion->instance_id)) {
        outcome->refused = problem.code_detail;
    }
}

void read_delay(std::span<const NullableDatum> delays, std::size_t i, ops::WorkOutcome* outcome) {
    if (!has_element(delays, i)) {
        return;
    }
    outcome->delay_ms = DatumGetInt64(delays[i].value);
    if (*outcome->delay_ms < 0) {
        outcome->refused = "out_of_range";
    }
}

}  // namespace

std::span<ops::WorkOutcome> read_work_outcomes(const Call& call, int first,
                                               const char* tokens_name) {
    const auto tokens = call.elements(first, tokens_name, TEXTOID);
    const auto about = [&](int i, const char* name, Oid type) {
        return per_outcome(call, first + i, name, type, tokens_name, tokens.size());
    };
    const auto kinds = about(1, "p_outcomes", TEXTOID);
    const auto completions = about(2, "p_completions", TEXTOID);
    const auto delays = about(3, "p_delays_ms", INT8OID);
    const auto ignored = about(4, "p_ignore_attempts", BOOLOID);
    const auto reasons = about(5, "p_reasons", TEXTOID);
    auto* outcomes =
        static_cast<ops::WorkOutcome*>(palloc(sizeof(ops::WorkOutcome) * (tokens.size() + 1)));
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        outcomes[i] = {};
        outcomes[i].token = text_at(tokens, i);
        outcomes[i].kind = kind_at(kinds, i);
        if (outcomes[i].kind == ops::OutcomeKind::kAck) {
            read_completion(text_at(completions, i), &outcomes[i]);
        } else {
            read_delay(delays, i, &outcomes[i]);
            outcomes[i].ignore_attempt = has_element(ignored, i) && DatumGetBool(ignored[i].value);
            outcomes[i].reason = text_at(reasons, i);
        }
    }
    return {outcomes, tokens.size()};
}

const char* error_of(const ops::WorkOutcome& outcome) {
    if (outcome.refused != nullptr) {
        return "QB006";
    }
    return outcome.fault == core::LeaseFault::kNone ? nullptr : "QB001";
}

const char* reason_of(const ops::WorkOutcome& outcome) {
    return outcome.refused != nullptr                 ? outcome.refused
           : outcome.fault == core::LeaseFault::kNone ? nullptr
                                                      : core::code_detail(outcome.fault);
}

namespace {

// A row of an outcome: index, error, reason; of an item: the rest.
constexpr int kColumns = 6;

void add_outcome(const Call::Set& set, std::size_t index, const ops::WorkOutcome& outcome) {
    SparseRow<kColumns> row;
    row.put(0, Int32GetDatum(static_cast<int32>(index)));
    row.put_text(1, error_of(outcome));
    row.put_text(2, reason_of(outcome));
    set.add(row.values, row.nulls);
}

}  // namespace

Datum settle_and_fetch_work_items(const Call& call) {
    const auto outcomes = read_work_outcomes(call, 0, "p_lock_tokens");
    auto request = fetch_request(call, 6, 7, 13);
    const int32 most = call.int4(11).value_or(0);
    request.max_items = most == 0 ? 0 : ops::checked_limit("p_max_items", most, 1, kMaxFetch);
    request.max_new_sessions = checked_new_sessions(call.int4(12));
    const Prefetch prefetch = read_prefetch(call, 14, request.max_items, kMaxFetch);
    auto clock = call.clock(16);
    store::LeasedRows leased{nullptr, 0};
    if (outcomes.empty()) {
        pg::begin_lease_write();
    } else {
        ops::settle_work(call.tables, outcomes, &clock);
    }
    if (prefetch.most > 0 &&
        ops::has_ready_work(call.tables, request, &clock, prefetch.threshold)) {
        request.max_items += prefetch.most;
    }
    if (request.max_items > 0) {
        leased = ops::fetch_work_items(call.tables, request, &clock);
    }
    if (outcomes.empty()) {
        pg::end_lease_write();
    }
    const auto set = call.set();
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
        add_outcome(set, i, outcomes[i]);
    }
    for (int i = 0; i < leased.count; ++i) {
        const LeasedColumns columns = leased_columns(call, leased.rows[i]);
        const Datum values[kColumns] = {
            0, 0, 0, columns.values[0], columns.values[1], columns.values[2]};
        const bool nulls[kColumns] = {true, true, true, false, false, false};
        set.add(values, nulls);
    }
    return call.nothing();
}

}  // namespace belay::entry
