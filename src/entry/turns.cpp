// Entry functions that fetch turns: one, or several together with the acks of others.
#include <algorithm>

#include "entry/outcomes.hpp"
#include "entry/turn_arguments.hpp"
#include "entry/verbs.hpp"
#include "ops/orchestration/orchestration.hpp"
#include "pg/async_commit.hpp"
#include "pg/datum.hpp"
#include "pg/errors.hpp"

namespace belay::entry {

namespace {

constexpr int32 kMaxTurns = 1000;

// An event that cannot be decoded: the application's own rule for broken history then works.
constexpr JsonForm kAsJsonb{pg::jsonb_datum, R"(["the history is larger than 64 MiB"])"};

Datum fetch_turn(const Call& call, const JsonForm& form) {
    const ops::TurnRequest request{
        .lock_timeout_ms = ops::checked_timeout("p_lock_timeout_ms", call.int8(0)),
        .versions = {call.int8(1), call.int8(2)},
        .slots = call.slots(3),
        .names = {.all = true, .names = {}},
        .cache_owner = std::nullopt,
        .max_turns = 1};
    auto clock = call.clock(4);
    pg::begin_lease_write();
    const auto turns = ops::fetch_turns(call.tables, request, &clock);
    pg::end_lease_write();
    if (turns.empty()) {
        return call.no_row();
    }
    const TurnValues row = turn_values(call, turns.front(), form);
    return call.one_row(row.values, row.nulls);
}

ops::NameFilter read_names(const Call& call, int i) {
    const auto given = call.texts(i, "p_names");
    auto* names =
        static_cast<std::string_view*>(palloc(sizeof(std::string_view) * (given.size() + 1)));
    for (std::size_t at = 0; at < given.size(); ++at) {
        if (given[at] == 0) {
            const ops::Path path("p_names", at);
            pg::raise_invalid("null", path.text(), psprintf("%s must not be null", path.text()),
                              "Pass names of orchestrations, or NULL for all.");
        }
        names[at] = pg::text_view(given[at]);
    }
    std::sort(names, names + given.size());
    return {.all = !call.has(i), .names = {names, given.size()}};
}

// A row of an ack: its index, and what was wrong with it. A row of a turn: the rest.
using Row = SparseRow<kAckColumns + kAllTurnColumns>;

void add_ack(const Call::Set& set, std::size_t index, const ops::TurnAck& ack) {
    Row row;
    put_ack(index, ack, &row);
    set.add(row.values, row.nulls);
}

Datum ack_and_fetch(const Call& call, const JsonForm& form) {
    const auto acks = read_acks(call, "p_lock_tokens");
    const ops::TurnRequest request = read_turn_request(call);
    auto clock = call.clock(14);
    if (acks.empty()) {
        pg::begin_lease_write();
    } else {
        ops::ack_turns(call.tables, acks, &clock);
    }
    const auto turns = request.max_turns > 0 ? ops::fetch_turns(call.tables, request, &clock)
                                             : std::span<const ops::Turn>();
    if (acks.empty()) {
        pg::end_lease_write();
    }
    const auto set = call.set();
    for (std::size_t i = 0; i < acks.size(); ++i) {
        add_ack(set, i, acks[i]);
    }
    for (const ops::Turn& turn : turns) {
        const TurnValues columns = turn_values(call, turn, form);
        Row row;
        std::copy_n(columns.values, kAllTurnColumns, row.values + kAckColumns);
        std::copy_n(columns.nulls, kAllTurnColumns, row.nulls + kAckColumns);
        set.add(row.values, row.nulls);
    }
    return call.nothing();
}

}  // namespace

constinit const JsonForm kAsStored{pg::text_datum, std::nullopt};

TurnValues turn_values(const Call& call, const ops::Turn& turn, const JsonForm& form) {
    const auto history = turn.history ? turn.history : form.huge_history;
    char token[core::kTurnTokenChars];
    core::encode(turn.token, token);
    MemoryContext old = MemoryContextSwitchTo(call.result_memory);
    TurnValues row{
        {pg::text_datum(turn.instance_id), pg::text_datum(turn.name), pg::text_datum(turn.version),
         Int64GetDatum(turn.execution_id), history ? form.datum(*history) : 0,
         form.datum(turn.messages), pg::text_datum({token, sizeof token}),
         Int32GetDatum(turn.attempt), turn.kv_snapshot ? form.datum(*turn.kv_snapshot) : 0,
         Int64GetDatum(turn.history_after), Int64GetDatum(turn.last_event_id),
         Int64GetDatum(turn.locked_until)},
        {}};
    MemoryContextSwitchTo(old);
    row.nulls[4] = !history;
    row.nulls[8] = !turn.kv_snapshot;
    return row;
}

std::span<ops::TurnAck> read_acks(const Call& call, const char* tokens_name) {
    const auto tokens = call.elements(0, tokens_name, TEXTOID);
    const auto about = [&](int i, const char* name, Oid type) {
        return per_outcome(call, i, name, type, tokens_name, tokens.size());
    };
    const auto executions = about(1, "p_execution_ids", INT8OID);
    const auto deltas = about(2, "p_history_deltas", JSONBOID);
    const auto worker_items = about(3, "p_worker_items", JSONBOID);
    const auto orchestrator_items = about(4, "p_orchestrator_items", JSONBOID);
    const auto metadata = about(5, "p_metadata", JSONBOID);
    const auto cancelled = about(6, "p_cancelled_activities", JSONBOID);
    auto* acks = static_cast<ops::TurnAck*>(palloc0(sizeof(ops::TurnAck) * (tokens.size() + 1)));
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        acks[i].args = {.token = text_at(tokens, i),
                        .execution_id = int8_at(executions, i),
                        .history_delta = jsonb_at(deltas, i),
                        .worker_items = jsonb_at(worker_items, i),
                        .orchestrator_items = jsonb_at(orchestrator_items, i),
                        .metadata = jsonb_at(metadata, i),
                        .cancelled_activities = jsonb_at(cancelled, i)};
    }
    return {acks, tokens.size()};
}

ops::TurnRequest read_turn_request(const Call& call) {
    const int32 most = call.int4(10).value_or(0);
    ops::TurnRequest request{
        .lock_timeout_ms = ops::checked_timeout("p_lock_timeout_ms", call.int8(7)),
        .versions = {call.int8(8), call.int8(9)},
        .slots = call.slots(11),
        .names = read_names(call, 13),
        .cache_owner = call.text(12),
        .max_turns = most == 0 ? 0 : ops::checked_limit("p_max_turns", most, 1, kMaxTurns)};
    ops::check_label("p_cache_owner", request.cache_owner);
    return request;
}

Datum fetch_orchestration_item(const Call& call) {
    return fetch_turn(call, kAsStored);
}

Datum fetch_orchestration_item_jsonb(const Call& call) {
    return fetch_turn(call, kAsJsonb);
}

Datum ack_and_fetch_turns(const Call& call) {
    return ack_and_fetch(call, kAsStored);
}

Datum ack_and_fetch_turns_jsonb(const Call& call) {
    return ack_and_fetch(call, kAsJsonb);
}

}  // namespace belay::entry
