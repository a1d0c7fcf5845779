// Reading the fields of work items that belay needs: kind, routing, activity, timer.
//
// Touches  its arguments
// Must not decode more than these, or change a payload
#include "core/work_item.hpp"

#include <cstring>

#include "core/time.hpp"

namespace belay::core {
namespace {

struct KindName {
    ItemKind kind;
    std::string_view name;
};

constexpr KindName kKinds[] = {
    {ItemKind::kStartOrchestration, "StartOrchestration"},
    {ItemKind::kActivityExecute, "ActivityExecute"},
    {ItemKind::kActivityCompleted, "ActivityCompleted"},
    {ItemKind::kActivityFailed, "ActivityFailed"},
    {ItemKind::kTimerFired, "TimerFired"},
    {ItemKind::kExternalRaised, "ExternalRaised"},
    {ItemKind::kSubOrchCompleted, "SubOrchCompleted"},
    {ItemKind::kSubOrchFailed, "SubOrchFailed"},
    {ItemKind::kCancelInstance, "CancelInstance"},
    {ItemKind::kContinueAsNew, "ContinueAsNew"},
    {ItemKind::kQueueMessage, "QueueMessage"},
    {ItemKind::kToHub, "ToHub"},
};

ItemKind kind_of(std::string_view raw_key) {
    for (const KindName& known : kKinds) {
        if (json::key_is(raw_key, known.name)) {
            return known.kind;
        }
    }
    return ItemKind::kOther;
}

// The raw key without its quotes: for a path, its escapes are welcome.
std::string_view unquoted(std::string_view raw_key) {
    return raw_key.size() < 2 ? raw_key : raw_key.substr(1, raw_key.size() - 2);
}

bool refuse(const WorkItem& item, std::string_view field, const char* code_detail,
            Problem* problem) {
    set_problem(problem, code_detail, unquoted(item.raw_kind), field);
    return false;
}

// A string that a column of type text can hold.
bool check_text(const WorkItem& item, std::string_view field, json::Value value, Problem* problem) {
    if (value.kind != json::Kind::kString) {
        return refuse(item, field, "wrong_type", problem);
    }
    json::StringCheck check = json::inspect(value);
    if (check.has_nul) {
        return refuse(item, field, "escaped_nul", problem);
    }
    return !check.has_lone_surrogate || refuse(item, field, "bad_value", problem);
}

bool read_text(const WorkItem& item, std::string_view field, std::optional<json::Value> value,
               std::optional<json::Value>* text, Problem* problem) {
    *text = value;
    return !value || check_text(item, field, *value, problem);
}

bool is_integer(json::Value value) {
    return value.kind == json::Kind::kNumber &&
           value.text.find_first_of(".eE") == std::string_view::npos;
}

bool read_id(const WorkItem& item, std::string_view field, std::optional<json::Value> value,
             int64_t least, std::optional<int64_t>* id, Problem* problem) {
    *id = std::nullopt;
    if (!value) {
        return true;
    }
    if (!is_integer(*value)) {
        return refuse(item, field, "wrong_type", problem);
    }
    *id = json::as_int64(*value);
    return (*id && **id >= least) || refuse(item, field, "bad_value", problem);
}

}  // namespace

std::string_view kind_name(ItemKind kind) {
    for (const KindName& known : kKinds) {
        if (known.kind == kind) {
            return known.name;
        }
    }
    return "";
}

void set_problem(Problem* problem, const char* code_detail, std::string_view part1,
                 std::string_view part2) {
    if (problem == nullptr) {
        return;
    }
    problem->code_detail = code_detail;
    constexpr size_t kRoom = sizeof(problem->path) - 1;
    size_t used = 0;
    for (std::string_view part : {part1, part2}) {
        if (part.empty() || used == kRoom) {
            continue;
        }
        problem->path[used++] = '.';
        size_t size = part.size();
        if (size > kRoom - used) {
            size = kRoom - used;
            // A byte 10xxxxxx continues the character before it.
            while (size > 0 && (part[size] & 0xc0) == 0x80) {
                --size;
            }
        }
        std::memcpy(problem->path + used, part.data(), size);
        used += size;
        if (size < part.size()) {
            break;
        }
    }
    problem->path[used] = '\0';
}

std::optional<WorkItem> parse_work_item(std::string_view text, Problem* problem) {
    std::optional<json::Value> value = json::parse(text);
    if (!value) {
        set_problem(problem, "not_json");
        return std::nullopt;
    }
    return read_work_item(*value, problem);
}

std::optional<WorkItem> read_work_item(json::Value value, Problem* problem) {
    if (value.kind != json::Kind::kObject) {
        set_problem(problem, "not_an_object");
        return std::nullopt;
    }
    WorkItem item;
    json::Members members(value);
    std::string_view second_key;
    json::Value second;
    if (!members.next(item.raw_kind, item.body) || members.next(second_key, second)) {
        set_problem(problem, "not_one_key");
        return std::nullopt;
    }
    item.kind = kind_of(item.raw_kind);
    if (item.body.kind != json::Kind::kObject) {
        set_problem(problem, "wrong_type", unquoted(item.raw_kind));
        return std::nullopt;
    }
    return item;
}

std::optional<json::Value> routing(const WorkItem& item, Problem* problem) {
    bool is_for_parent =
        item.kind == ItemKind::kSubOrchCompleted || item.kind == ItemKind::kSubOrchFailed;
    std::string_view field = is_for_parent ? "parent_instance" : "instance";
    std::optional<json::Value> value = json::find(item.body, field);
    if (!value) {
        refuse(item, field, "missing_field", problem);
        return std::nullopt;
    }
    if (!check_text(item, field, *value, problem)) {
        return std::nullopt;
    }
    return value;
}

bool read_activity(const WorkItem& item, Activity* activity, Problem* problem) {
    constexpr std::string_view kFields[] = {"name", "instance",   "execution_id",
                                            "id",   "session_id", "tag"};
    std::optional<json::Value> values[std::size(kFields)];
    (void)json::find_each(item.body, kFields, values);
    for (std::optional<json::Value>& value : values) {
        if (value && value->kind == json::Kind::kNull) {
            value = std::nullopt;  // as if it were absent
        }
    }
    const auto& [name, instance, execution_id, id, session_id, tag] = values;
    activity->name = name && name->kind == json::Kind::kString ? name : std::nullopt;
    return read_text(item, "instance", instance, &activity->instance, problem) &&
           read_id(item, "execution_id", execution_id, 1, &activity->execution_id, problem) &&
           read_id(item, "id", id, 0, &activity->activity_id, problem) &&
           read_text(item, "session_id", session_id, &activity->session_id, problem) &&
           read_text(item, "tag", tag, &activity->tag, problem);
}

bool read_timer(const WorkItem& item, int64_t* fire_at_ms, Problem* problem) {
    std::optional<json::Value> value = json::find(item.body, "fire_at_ms");
    if (!value) {
        return refuse(item, "fire_at_ms", "missing_field", problem);
    }
    if (!is_integer(*value)) {
        return refuse(item, "fire_at_ms", "wrong_type", problem);
    }
    int64_t out_of_range = value->text.starts_with('-') ? kBeforeAll : kNever;
    *fire_at_ms = json::as_int64(*value).value_or(out_of_range);
    return true;
}

}  // namespace belay::core
