// Work items: the few fields belay reads inside a payload it otherwise leaves alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/json.hpp"

namespace belay::core {

enum class ItemKind {
    kStartOrchestration,
    kActivityExecute,
    kActivityCompleted,
    kActivityFailed,
    kTimerFired,
    kExternalRaised,
    kSubOrchCompleted,
    kSubOrchFailed,
    kCancelInstance,
    kContinueAsNew,
    kQueueMessage,
    kToHub,
    kOther,  // A kind of a newer client; routed by its instance.
};

// The name of the kind in the payload; "" for kOther.
std::string_view kind_name(ItemKind kind);

// True for the messages that bring an instance to life: StartOrchestration and ContinueAsNew.
constexpr bool is_start(ItemKind kind) {
    return kind == ItemKind::kStartOrchestration || kind == ItemKind::kContinueAsNew;
}

// Which queue takes the kind. An unknown kind may go to either. An item for another hub is wrapped
// in ToHub and may be sent from both; its caller unwraps it before asking.
constexpr bool for_worker(ItemKind kind) {
    return kind == ItemKind::kActivityExecute || kind == ItemKind::kOther;
}
constexpr bool for_orchestrator(ItemKind kind) {
    return kind != ItemKind::kActivityExecute;
}

// Why an item is refused, ready for the DETAIL of an error.
struct Problem {
    // not_json, not_an_object, not_one_key, missing_field, wrong_type, escaped_nul, wrong_kind or
    // bad_value.
    const char* code_detail = "";
    // The place inside the item, "" or like ".TimerFired.fire_at_ms"; the caller puts the name of
    // its argument in front. Ends with a NUL; a long one is cut between characters.
    char path[160] = "";
};

// Fills a problem; the parts are joined with dots in front, and an empty part is left out. For
// checks that only a caller can make.
void set_problem(Problem* problem, const char* code_detail, std::string_view part1 = {},
                 std::string_view part2 = {});

// An item known to be an object with one key, the kind, whose value is an object, the body.
struct WorkItem {
    ItemKind kind = ItemKind::kOther;
    std::string_view raw_kind;  // As it stands in the text, quotes included.
    json::Value body;
};

// Reads an item. A null problem is allowed here and below.
std::optional<WorkItem> parse_work_item(std::string_view text, Problem* problem);

// Reads an item that is already known to be JSON, such as an element of an array.
std::optional<WorkItem> read_work_item(json::Value value, Problem* problem);

// The string that names the instance the item is for: parent_instance of the SubOrch kinds, else
// instance. It is required, and must be text that a column can hold. Its length is not checked.
std::optional<json::Value> routing(const WorkItem& item, Problem* problem);

// What a row of the worker queue takes from its item.
struct Activity {
    std::optional<json::Value> instance;
    std::optional<int64_t> execution_id;  // Above 0.
    std::optional<int64_t> activity_id;   // At least 0.
    std::optional<json::Value> session_id;
    std::optional<json::Value> tag;
    std::optional<json::Value> name;  // Stored nowhere, so not judged: no string is no name.
};

// Reads the fields of an ActivityExecute (or of an unknown kind). All may be absent or null; one of
// a wrong type, or that its column cannot hold, is a problem.
bool read_activity(const WorkItem& item, Activity* activity, Problem* problem);

// Reads when a TimerFired is due. Required; a time beyond the range of the type is the end of that
// range, for the far future is as good as never.
bool read_timer(const WorkItem& item, int64_t* fire_at_ms, Problem* problem);

}  // namespace belay::core
