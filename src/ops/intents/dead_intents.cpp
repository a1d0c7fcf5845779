// dead_intents.cpp — what a dead letter has to keep of an intent, and the way back.
//
// Calls    nothing
// Touches  nothing
// Locks    nothing
// Raises   55000 a dead letter whose detail was changed by hand
#include "ops/intents/intents.hpp"
#include "pg/errors.hpp"

namespace belay::ops {

namespace {

void append_member(StringInfo out, const char* name, std::optional<std::string_view> value) {
    appendStringInfo(out, ",\"%s\":", name);
    if (value) {
        append_json(out, *value);
    } else {
        appendStringInfoString(out, "null");
    }
}

}  // namespace

std::string_view intent_detail(const store::Intent& intent) {
    StringInfo out = makeStringInfo();
    const auto& source = intent.pair.source_instance;
    appendStringInfo(
        out, "{\"source_uuid\":\"%s\"",
        DatumGetCString(DirectFunctionCall1(uuid_out, UUIDPGetDatum(&intent.key.source_uuid))));
    append_member(out, "source_instance",
                  source.empty() ? std::nullopt : std::optional<std::string_view>(source));
    append_member(out, "target_hub", intent.target_hub);
    append_member(out, "queue", intent.queue);
    if (intent.visible_at) {
        appendStringInfo(out, ",\"visible_at_ms\":" INT64_FORMAT, *intent.visible_at);
    } else {
        append_member(out, "visible_at_ms", std::nullopt);
    }
    append_member(out, "last_error", intent.last_error);
    appendStringInfoChar(out, '}');
    return {out->data, static_cast<std::size_t>(out->len)};
}

store::Intent intent_of_detail(int64 dead_letter_id, int64 intent_id, std::string_view work_item,
                               std::optional<std::string_view> target_instance,
                               std::optional<std::string_view> detail) {
    const auto object = core::json::parse(detail.value_or(""));
    constexpr const char* kPath = "detail";
    const auto member = [&object](const char* name) {
        return object && object->kind == core::json::Kind::kObject
                   ? optional_string(*object, name, kPath)
                   : std::nullopt;
    };
    const auto uuid = member("source_uuid");
    const auto target = member("target_hub");
    const auto queue = member("queue");
    if (!uuid || !target || !queue) {
        ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                        errmsg("dead letter " INT64_FORMAT " does not tell where it was sent",
                               dead_letter_id),
                        errdetail("Its detail must be a JSON object with source_uuid, target_hub "
                                  "and queue."),
                        errhint("Repair the detail, or discard it and send the item again.")));
    }
    const Datum key = DirectFunctionCall1(uuid_in, CStringGetDatum(pg::c_string(*uuid)));
    return {.key = {*DatumGetUUIDP(key), intent_id},
            .pair = {member("source_instance").value_or(""), target_instance.value_or("")},
            .target_hub = *target,
            .queue = *queue,
            .work_item = work_item,
            .visible_at = optional_int(*object, "visible_at_ms", kPath),
            .created_at = pg::server_now_ms(),
            .attempts = 0,
            .last_error = std::nullopt};
}

}  // namespace belay::ops
