// Arguments and rows that several entry functions of the worker queue share.
#include "entry/work_arguments.hpp"

#include "core/tags.hpp"
#include "ops/input.hpp"
#include "pg/datum.hpp"
#include "pg/errors.hpp"

namespace belay::entry {

ops::FetchRequest fetch_request(const Call& call, int lock_timeout, int owner, int slots) {
    ops::FetchRequest request{};
    request.lock_timeout_ms = ops::checked_timeout("p_lock_timeout_ms", call.int8(lock_timeout));
    request.owner = call.text(owner);
    ops::check_label("p_owner_id", request.owner);
    request.session_timeout_ms =
        call.has(owner + 1)
            ? ops::checked_timeout("p_session_lock_timeout_ms", call.int8(owner + 1))
            : request.lock_timeout_ms;
    request.tags = call.texts(owner + 2, "p_tag_filter");
    const auto word = call.text(owner + 3).value_or("default_only");
    const auto mode = core::parse_tag_mode(word);
    if (!mode) {
        pg::raise(pg::kInvalidArgument, psprintf("unrecognized tag mode \"%s\"", pg::excerpt(word)),
                  pg::Facts("unknown_tag_mode").add("path", "p_tag_mode").add("value", word),
                  "Tag modes are default_only, tags, default_and, any and none.");
    }
    request.mode = *mode;
    request.slots = call.slots(slots);
    request.max_items = 1;
    return request;
}

std::optional<int32> checked_new_sessions(std::optional<int32> value) {
    if (value.value_or(0) < 0) {
        pg::raise_invalid("out_of_range", "p_max_new_sessions",
                          "p_max_new_sessions must not be negative", "Pass NULL for no limit.");
    }
    return value;
}

LeasedColumns leased_columns(const Call& call, const store::Leased& leased) {
    char token[core::kWorkTokenChars];
    core::encode(leased.token, token);
    MemoryContext old = MemoryContextSwitchTo(call.result_memory);
    const LeasedColumns columns{
        {pg::text_datum(leased.work_item), pg::text_datum({token, sizeof token}),
         Int32GetDatum(leased.attempt)},
        {}};
    MemoryContextSwitchTo(old);
    return columns;
}

}  // namespace belay::entry
