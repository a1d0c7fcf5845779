// Arguments and rows that several entry functions of turns share.
#pragma once

#include "entry/call.hpp"
#include "ops/orchestration/orchestration.hpp"

namespace belay::entry {

// How an api hands JSON out: how a text becomes a value of the column's type, and what stands for a
// history that is too large, if the client cannot read NULL there.
struct JsonForm {
    Datum (*datum)(std::string_view);
    std::optional<std::string_view> huge_history;
};
extern const JsonForm kAsStored;

// The columns of fetch_orchestration_item, then those that only several turns have.
inline constexpr int kTurnColumns = 9;
inline constexpr int kAllTurnColumns = kTurnColumns + 3;
struct TurnValues {
    Datum values[kAllTurnColumns];
    bool nulls[kAllTurnColumns];
};
// In the memory of the answer.
TurnValues turn_values(const Call& call, const ops::Turn& turn, const JsonForm& form);

// The columns of an ack: its index, and what was wrong with it.
inline constexpr int kAckColumns = 4;
template <typename Row>
void put_ack(std::size_t index, const ops::TurnAck& ack, Row* row) {
    row->put(0, Int32GetDatum(static_cast<int32>(index)));
    if (ack.refused != 0) {
        row->put_text(1, unpack_sql_state(ack.refused));
        row->put_text(2, ack.reason);
        row->put_text(3, ack.message);
    }
}

// The first seven arguments of ack_and_fetch_turns: the tokens under this name, and what is said
// about each.
std::span<ops::TurnAck> read_acks(const Call& call, const char* tokens_name);

// The next seven: what to fetch.
ops::TurnRequest read_turn_request(const Call& call);

}  // namespace belay::entry
