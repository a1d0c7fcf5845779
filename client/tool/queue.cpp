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
    put(filter, "owner", given.locked_by);
    put(filter, "min_attempts", given.min_attempts);
    Hub hub = tool.hub();
    const auto found = browse(hub, {.function = "browse_work_items",
                                    .filter = filter,
                                    .order = "oldest",
                                    .after = given.after,
                                    .limit = given.limit,
                                    .preview = kMostPreview});
    Json rows = Json::array();
    for (const auto& item : found.rows) {
        rows.push_back(fields_of(item, {"id",
                                        "state",
                                        "instance_id",
                                        "execution_id",
                                        "activity_id",
                                        "session_id",
                                        "tag",
                                        {"visible_at_ms", "visible_at"},
                                        {"locked_until_ms", "locked_until"},
                                        "locked_by",
                                        "attempt_count",
                                        {"created_at_ms", "created_at"},
                                        "work_item_bytes",
                                        "work_item"}));
    }
    tool.print_page(rows, found.next,
                    {{"id", "ID", Show::kNumber},
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
    queue->add_option("--after", filter->after,
                      "where the list ended before, with the same filters");
    on_run(tool, queue, [&tool, filter] { list_queue(tool, *filter); });
}

}  // namespace belay::tool
