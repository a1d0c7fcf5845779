// The table of the reads of a hub, and slices of bodies.
//
// May touch: hubs, reading. Must not: decide who may read; answering.cpp compares the level that
// the table names.
#include "api_reads.hpp"

#include <algorithm>

#include "bodies.hpp"
#include "database.hpp"
#include "reads.hpp"

namespace belay::tool::dashboard {

namespace {

constexpr std::size_t kMostSlice = 16 * 1024 * 1024;

// Which body read_body is asked for.
struct BodyOf {
    const char* what;
    std::string id;
    std::string field;
    OptionalText text;  // instead of it
};

BodyOf task_body(Reader& reader) {
    return {"task", uuid_of(reader.id(), "task").text(), reader.id(1), std::nullopt};
}

BodyOf instance_body(Reader& reader) {
    const std::string& field = reader.id(1);
    const std::size_t dot = field.find('.');
    if (field == "input") {
        // A part of the first event.
        const Result row = reader.rows("SELECT current_execution_id FROM {h}.get_instance_info($1)",
                                       {reader.id()});
        const bool known = !row.empty() && !row.is_null(0, 0);
        return {
            nullptr, "", "",
            known ? input_of(reader, reader.id(), row.get<std::int64_t>(0, 0)).value_or("") : ""};
    }
    if (dot == std::string::npos) {
        return {"instance", reader.id(), field, std::nullopt};
    }
    return {"history", reader.id(), field.substr(0, dot) + "/" + field.substr(dot + 1),
            std::nullopt};
}

BodyOf dead_letter_body(Reader& reader) {
    return {"dead_letter", reader.id(), reader.id(1), std::nullopt};
}

BodyOf work_item_body(Reader& reader) {
    return {"work_item", std::to_string(number_of(reader.id(), "the id", 0, INT64_MAX)),
            reader.id(1), std::nullopt};
}

struct ReadEntry {
    const char* name;
    const char* level;
    Json (*read)(Reader&);
    BodyOf (*body)(Reader&);  // instead of read: a slice of one text
};

constexpr ReadEntry kReads[] = {
    {"find", "monitor", read_find, nullptr},
    {"owners", "monitor", read_owners, nullptr},
    {"schedules", "monitor", read_schedules, nullptr},
    {"subscriptions", "monitor", read_subscriptions, nullptr},
    {"health", "monitor", read_health, nullptr},
    {"queue", "monitor", read_queue, nullptr},
    {"tasks", "monitor", read_tasks, nullptr},
    {"task", "monitor", read_task, nullptr},
    {"task_explain", "monitor", read_task_explain, nullptr},
    {"task_waitpoints", "monitor", read_task_waitpoints, nullptr},
    {"task_body", "monitor", nullptr, task_body},
    {"instances", "monitor", read_instances, nullptr},
    {"instance", "monitor", read_instance, nullptr},
    {"instance_history", "monitor", read_instance_history, nullptr},
    {"instance_tree", "monitor", read_instance_tree, nullptr},
    {"instance_kv", "monitor", read_instance_kv, nullptr},
    {"instance_body", "monitor", nullptr, instance_body},
    {"flows", "monitor", read_flows, nullptr},
    {"flow", "monitor", read_flow, nullptr},
    {"work_items", "operator", read_work_items, nullptr},
    {"work_item_explain", "monitor", read_work_item_explain, nullptr},
    {"work_item_body", "operator", nullptr, work_item_body},
    {"messages", "operator", read_messages, nullptr},
    {"dead_letters", "operator", read_dead_letters, nullptr},
    {"dead_letter_body", "operator", nullptr, dead_letter_body},
    {"events", "monitor", read_events, nullptr},
    // glance and series come from the sampler.
    {"glance", "monitor", nullptr, nullptr},
    {"series", "monitor", nullptr, nullptr},
    // Jobs are in the memory of the dashboard.
    {"bulk_jobs", "monitor", nullptr, nullptr},
    {"bulk_job", "monitor", nullptr, nullptr},
};

const ReadEntry* find_read(const std::string& name) {
    const auto* found =
        std::ranges::find_if(kReads, [&](const ReadEntry& entry) { return name == entry.name; });
    return found == std::end(kReads) ? nullptr : found;
}

// All of a stored body, or the part of it from offset on.
std::string stored_body(Reader& reader, const BodyOf& body, std::int64_t offset, std::int64_t left,
                        std::int64_t& bytes) {
    constexpr std::int64_t kMostOfOneCall = 1 << 20;
    std::string text;
    while (left > 0) {
        const Json got =
            reader.value("SELECT {h}.read_body($1, $2, $3, $4, $5)",
                         {body.what, body.id, body.field, offset, std::min(left, kMostOfOneCall)});
        if (got.is_null()) {
            break;
        }
        const auto part = got["body"].get<std::string>();
        bytes = got["bytes"].get<std::int64_t>();
        text += part;
        left -= static_cast<std::int64_t>(part.size());
        offset = got["offset"].get<std::int64_t>() + static_cast<std::int64_t>(part.size());
        // A character that is cut off is no part of this slice.
        if (part.empty() || offset >= bytes || left < 4) {
            break;
        }
    }
    return text;
}

// A part of a body; all of it for a download.
ReadAnswer slice(Reader& reader, const BodyOf& body) {
    const Route& route = reader.route();
    const bool download = !route.get("download").empty();
    const std::int64_t offset =
        route.get("offset").empty() ? 0 : number_of(route.get("offset"), "offset", 0, INT32_MAX);
    const std::int64_t length = download ? INT64_MAX
                                : route.get("length").empty()
                                    ? 65536
                                    : number_of(route.get("length"), "length", 1, kMostSlice);
    std::string text;
    std::int64_t bytes = 0;
    // Which part of a body is hidden shows only from its beginning: a part of it is cut out of all
    // that may be seen.
    const bool whole = body.text.has_value() || download || !reader.redact().empty();
    if (body.text) {
        text = *body.text;
    } else {
        text = stored_body(reader, body, whole ? 0 : offset, whole ? INT64_MAX : length, bytes);
    }
    if (whole) {
        text = redacted(text, reader.redact());
        bytes = static_cast<std::int64_t>(text.size());
    }
    if (download) {
        return {.is_download = true, .download = text};
    }
    if (whole) {
        text = cut_at_character(text.substr(static_cast<std::size_t>(std::min(offset, bytes))),
                                static_cast<std::size_t>(length));
    }
    return {.json = {{"at_ms", system_ms()}, {"text", text}, {"bytes", bytes}}};
}

}  // namespace

std::string level_of_read(const std::string& read) {
    const ReadEntry* entry = find_read(read);
    return entry == nullptr ? "" : entry->level;
}

ReadAnswer run_read(ReadRequest& request) {
    const ReadEntry* entry = find_read(request.route.read);
    if (entry == nullptr || (entry->read == nullptr && entry->body == nullptr)) {
        throw NotFound("there is no such read");
    }
    Reader reader(request);
    if (entry->body != nullptr) {
        if (!request.shows_bodies) {
            throw NotFound("bodies are not shown");
        }
        return slice(reader, entry->body(reader));
    }
    return {.json = reader.finished(entry->read(reader))};
}

}  // namespace belay::tool::dashboard
