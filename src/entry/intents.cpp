// Entry functions of intents: decode, call the operation, encode.
#include "core/time.hpp"
#include "entry/verbs.hpp"
#include "ops/intents/intents.hpp"

namespace belay::entry {

namespace {

constexpr std::size_t kMaxBatch = 10000;

}  // namespace

Datum send_to_hub(const Call& call) {
    const auto target = call.required_name(0, "p_target_hub");
    const auto work_item = call.required_text(2, "p_work_item");
    std::optional<int64> visible_at;
    if (call.has(3)) {
        visible_at = core::pg_us_to_ms(DatumGetTimestampTz(call.fcinfo->args[3].value));
    }
    return Int64GetDatum(
        ops::send_to_hub(call.tables, target, call.text(1), work_item, visible_at));
}

Datum receive_intents(const Call& call) {
    return Int64GetDatum(ops::receive_intents(
        call.tables, ops::checked_array("p_intents", call.jsonb(0), kMaxBatch)));
}

}  // namespace belay::entry
