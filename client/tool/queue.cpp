// belay queue.
#include "tool.hpp"

namespace belay::tool {
namespace {

struct QueueFilter {
    OptionalText state;
    OptionalText instance_id;
    OptionalText session_id;
    OptionalText tag;
    OptionalText locked_by;
    OptionalNumber min_attempts;
    OptionalText after;
    int limit = 100;
};

void list_queue(Tool& tool, const QueueFilter& given) {
    Json filter = Json::object();
    put(filter, "state", given.state);
    put(filter, "instance_id", given.instance_id);
    put(filter, "session_id", given.session_id);
    put(filter, "tag", given.tag);
    put(filter, "locked_by", given.locked_by);
    put(filter, "min_attempts", given.min_attempts);
    Json rows = Json::array();
    for (const auto& item :
         tool.hub().provider().list_work_items(filter, given.after, given.limit)) {
        rows.push_back({{"id", item.id},
                        {"state", item.state},
                        {"instance_id", json_of(item.instance_id)},
                        {"execution_id", json_of(item.execution_id)},
                        {"activity_id", json_of(item.activity_id)},
                        {"session_id", json_of(item.session_id)},
                        {"tag", json_of(item.tag)},
                        {"visible_at", json_of(item.visible_at)},
                        {"locked_until", json_of(item.locked_until)},
                        {"locked_by", json_of(item.locked_by)},
                        {"attempt_count", item.attempt},
                        {"created_at", json_of(item.created_at)},
                        {"cursor", item.cursor},
                        {"work_item", item.work_item}});
    }
    tool.print(rows, {{"id", "ID", Show::kNumber},
                      {"state", "STATE"},
                      {"attempt_count", "ATT", Show::kNumber},
                      {"instance_id", "INSTANCE"},
                      {"activity_id", "ACT", Show::kNumber},
                      {"tag", "TAG"},
                      {"locked_by", "OWNER"},
                      {"work_item", "ITEM"}});
}

}  // namespace

void add_queue(CLI::App& app, Tool& tool) {
    auto filter = std::make_shared<QueueFilter>();
    auto* queue = app.add_subcommand("queue", "list work items");
    queue->add_option("--state", filter->state, "ready, delayed or leased");
    queue->add_option("--instance", filter->instance_id, "of this instance");
    queue->add_option("--session", filter->session_id, "of this session");
    queue->add_option("--tag", filter->tag, "with this tag");
    queue->add_option("--owner", filter->locked_by, "leased by this owner id");
    queue->add_option("--min-attempts", filter->min_attempts, "tried at least so often");
    queue->add_option("--limit", filter->limit, "at most so many")->capture_default_str();
    queue->add_option("--after", filter->after, "the cursor of the last row of the page before");
    on_run(tool, queue, [&tool, filter] { list_queue(tool, *filter); });
}

}  // namespace belay::tool
