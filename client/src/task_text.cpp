#include "task_text.hpp"

#include "rows.hpp"

namespace belay {

using nlohmann::json;

void append_json(std::string& object, const char* key, const OptionalText& text,
                 const Where& where) {
    if (!text) {
        return;
    }
    if (!json::accept(*text)) {
        throw Error({.message = std::string(key) + " is no JSON", .sqlstate = "22P02"}, where);
    }
    object.pop_back();
    object.append(",\"").append(key).append("\":").append(*text).append("}");
}

std::string task_text(const NewTask& task, const Where& where) {
    json object = {{"lane", task.lane},
                   {"kind", task.kind},
                   {"priority", task.priority},
                   {"delay_ms", count_of(task.delay)},
                   {"capabilities", task.capabilities}};
    put(object, "task_id", task.task_id);
    put(object, "available_at_ms", task.available_at_ms);
    put(object, "deadline_ms", task.deadline_ms);
    put(object, "dedup_key", task.dedup_key);
    put(object, "dedup_window_ms", count_of(task.dedup_window));
    std::string text = dumped(object, where);
    append_json(text, "payload", task.payload, where);
    append_json(text, "policy", task.policy, where);
    append_json(text, "tags", task.tags, where);
    return text;
}

}  // namespace belay
