// read_body.cpp — a slice of one body.
//
// Calls    store::task_body and the other functions of store/bodies, store::may_execute
// Touches  nothing
// Locks    nothing
// Raises   QB006, 42501
// Races    none: one query with the caller's snapshot
// Faults   none: it only reads
#include "ops/browse/read_body.hpp"

#include <algorithm>
#include <charconv>

#include "ops/input.hpp"
#include "pg/datum.hpp"
#include "pg/errors.hpp"
#include "pg/jsonb.hpp"
#include "store/bodies.hpp"
#include "store/grants.hpp"

namespace belay::ops {

namespace {

constexpr int64 kMostBytes = int64{1} << 20;

[[noreturn]] void refuse(const char* path, const char* hint) {
    pg::raise_invalid("bad_value", path, psprintf("%s has a value that is not allowed", path),
                      hint);
}

template <std::size_t N>
void check_field(std::string_view field, const char* const (&known)[N], const char* hint) {
    if (std::none_of(known, known + N, [field](const char* name) { return field == name; })) {
        refuse("p_field", hint);
    }
}

// Two numbers with a sign between them.
struct Pair {
    int64 first;
    int64 second;
};
Pair checked_pair(const char* path, std::string_view text, char sign, const char* hint) {
    Pair pair{};
    const char* end = text.data() + text.size();
    const auto first = std::from_chars(text.data(), end, pair.first);
    if (first.ec != std::errc() || first.ptr == end || *first.ptr != sign) {
        refuse(path, hint);
    }
    const auto second = std::from_chars(first.ptr + 1, end, pair.second);
    if (second.ec != std::errc() || second.ptr != end) {
        refuse(path, hint);
    }
    return pair;
}

int64 checked_number(const char* path, std::string_view text) {
    int64 number = 0;
    const char* end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, number);
    if (read.ec != std::errc() || read.ptr != end) {
        refuse(path, "Pass a number.");
    }
    return number;
}

store::BodyRows find_body(store::Tables& tables, Oid caller, const BodySlice& slice) {
    if (slice.what == "task") {
        constexpr const char* kFields[] = {
            "payload", "result",          "checkpoint",      "tags",
            "policy",  "failure_message", "failure_details", "progress_message"};
        check_field(slice.field, kFields,
                    "Fields are payload, result, checkpoint, tags, policy, failure_message, "
                    "failure_details and progress_message.");
        const auto id = parse_uuid(slice.id);
        if (!id) {
            refuse("p_id", "Pass the id of a task.");
        }
        return store::task_body(tables, *id, slice.field);
    }
    if (slice.what == "instance") {
        constexpr const char* kFields[] = {"input", "output", "custom_status"};
        check_field(slice.field, kFields, "Fields are input, output and custom_status.");
        return store::instance_body(tables, slice.id, slice.field);
    }
    if (slice.what == "history") {
        const auto [execution, event] = checked_pair(
            "p_field", slice.field, '/', "Pass the execution and the event, as in 1/17.");
        return store::history_body(tables, slice.id, execution, event);
    }
    if (slice.what == "event") {
        constexpr const char* kFields[] = {"details"};
        check_field(slice.field, kFields, "The field is details.");
        const auto [incarnation, position] =
            checked_pair("p_id", slice.id, '-', "Pass an event_id, as in 1-17.");
        return store::event_body(tables, static_cast<int32>(incarnation), position);
    }
    if (slice.what == "dead_letter") {
        constexpr const char* kFields[] = {"work_item", "detail"};
        check_field(slice.field, kFields, "Fields are work_item and detail.");
        if (!store::may_execute(tables, "browse_dead_letters", caller)) {
            ereport(ERROR,
                    (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                     errmsg("permission denied for bodies of dead letters"),
                     errhint("Ask the hub's owner to grant level operator with belay.grant_hub.")));
        }
        return store::dead_letter_body(tables, checked_number("p_id", slice.id), slice.field);
    }
    if (slice.what == "work_item") {
        constexpr const char* kFields[] = {"work_item", "last_error"};
        check_field(slice.field, kFields, "Fields are work_item and last_error.");
        if (!store::may_execute(tables, "browse_work_items", caller)) {
            ereport(ERROR,
                    (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                     errmsg("permission denied for bodies of work items"),
                     errhint("Ask the hub's owner to grant level operator with belay.grant_hub.")));
        }
        return store::work_item_body(tables, checked_number("p_id", slice.id), slice.field);
    }
    refuse("p_what", "Values are task, instance, history, event, dead_letter and work_item.");
}

}  // namespace

Jsonb* read_body(store::Tables& tables, Oid caller, const BodySlice& slice) {
    const int64 offset = slice.offset.value_or(0);
    const int64 length = slice.length.value_or(kMostBytes);
    if (offset < 0 || length < 1 || length > kMostBytes) {
        pg::raise_invalid("out_of_range", offset < 0 ? "p_offset" : "p_length",
                          "p_offset must not be negative, and p_length be from 1 to 1048576",
                          "Read a larger body in several slices.");
    }
    const auto rows = find_body(tables, caller, slice);
    if (rows.count == 0) {
        return nullptr;
    }
    const auto [text, document] = rows[0];
    if (!text && document == nullptr) {
        return nullptr;
    }
    const std::string_view whole = text ? *text : pg::print_jsonb(document);
    const auto size = static_cast<int64>(whole.size());
    const auto at = [whole, size](int64 bytes) {
        return clip(whole, static_cast<std::size_t>(std::min(bytes, size))).size();
    };
    const std::size_t begin = at(offset);
    StringInfo out = makeStringInfo();
    appendStringInfoString(out, "{\"body\": ");
    append_json(out, whole.substr(begin, at(offset + length) - begin));
    appendStringInfo(out, ", \"offset\": %zu, \"bytes\": " INT64_FORMAT "}", begin, size);
    return DatumGetJsonbP(pg::jsonb_datum({out->data, static_cast<std::size_t>(out->len)}));
}

}  // namespace belay::ops
