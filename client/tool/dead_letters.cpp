// belay dead-letters list, show, redrive, discard.
#include <iostream>

#include "tool.hpp"

namespace belay::tool {
namespace {

Json letter_json(const DeadLetter& letter) {
    return {{"id", letter.id},
            {"queue", letter.queue},
            {"source_id", json_of(letter.source_id)},
            {"instance_id", json_of(letter.instance_id)},
            {"execution_id", json_of(letter.execution_id)},
            {"activity_id", json_of(letter.activity_id)},
            {"session_id", json_of(letter.session_id)},
            {"tag", json_of(letter.tag)},
            {"attempt_count", letter.attempt},
            {"reason", letter.reason},
            {"detail", json_of(letter.detail)},
            {"enqueued_at", json_of(letter.enqueued_at)},
            {"dead_at", json_of(letter.dead_at)},
            {"work_item", letter.work_item}};
}

void show_letter(Tool& tool, std::int64_t id) {
    const auto found = tool.hub().dead_letters().list({.after = id - 1, .limit = 1});
    if (found.empty() || found[0].id != id) {
        throw UnknownId("no dead letter " + std::to_string(id));
    }
    const Json letter = letter_json(found[0]);
    if (tool.json) {
        std::cout << json_text(letter) << "\n";
        return;
    }
    std::cout << list(letter, {{"id", "dead letter"},
                               {"queue", "queue"},
                               {"reason", "reason"},
                               {"detail", "detail"},
                               {"attempt_count", "attempts"},
                               {"instance_id", "instance"},
                               {"execution_id", "execution"},
                               {"activity_id", "activity"},
                               {"session_id", "session"},
                               {"tag", "tag"},
                               {"source_id", "item id"},
                               {"enqueued_at", "enqueued", Show::kTime},
                               {"dead_at", "dead since", Show::kTime},
                               {"work_item", "item"}});
}

struct LetterFilter {
    OptionalText queue;
    OptionalText reason;
    OptionalText instance_id;
    OptionalText after;
    int limit = 100;
};

void list_letters(Tool& tool, const LetterFilter& given) {
    Json filter = Json::object();
    put(filter, "queue", given.queue);
    put(filter, "reason", given.reason);
    put(filter, "instance_id", given.instance_id);
    Hub hub = tool.hub();
    const auto found = browse(hub, {.function = "browse_dead_letters",
                                    .filter = filter,
                                    .order = "oldest",
                                    .after = given.after,
                                    .limit = given.limit,
                                    .preview = kMostPreview});
    Json rows = Json::array();
    for (const auto& letter : found.rows) {
        rows.push_back(fields_of(letter, {"id",
                                          "queue",
                                          "source_id",
                                          "instance_id",
                                          "execution_id",
                                          "activity_id",
                                          "session_id",
                                          "tag",
                                          "attempt_count",
                                          "reason",
                                          "detail",
                                          {"enqueued_at_ms", "enqueued_at"},
                                          {"dead_at_ms", "dead_at"},
                                          "work_item_bytes",
                                          "work_item"}));
    }
    tool.print_page(rows, found.next,
                    {{"id", "ID", Show::kNumber},
                     {"queue", "QUEUE"},
                     {"reason", "REASON"},
                     {"attempt_count", "ATT", Show::kNumber},
                     {"instance_id", "INSTANCE"},
                     {"dead_at", "DEAD SINCE", Show::kTime},
                     {"detail", "DETAIL"},
                     {"work_item", "ITEM"}});
}

struct Redrive {
    std::vector<std::int64_t> ids;
    bool all = false;
    OptionalText queue;
    OptionalText reason;
    OptionalText instance_id;
    OptionalNumber limit;
};

void redrive(Tool& tool, const Redrive& given) {
    if (given.ids.empty() != given.all) {
        throw UsageError("name the ids of dead letters, or else say --all");
    }
    Json filter = Json::object();
    if (!given.all) {
        filter["ids"] = given.ids;
    }
    put(filter, "queue", given.queue);
    put(filter, "reason", given.reason);
    if (given.instance_id) {
        filter["instance_id"] = *given.instance_id;
    }
    const auto redriven = tool.hub().dead_letters().redrive_matching(filter, given.limit);
    Json failed = Json::array();
    std::string text = std::to_string(redriven.done) + " put back";
    for (const auto& one : redriven.failed) {
        failed.push_back({{"id", one.id}, {"code", one.code}, {"word", one.word}});
        text += "\n" + std::to_string(one.id) + ": " + one.code + " " + one.word;
    }
    tool.say({{"redriven", redriven.done}, {"skipped", redriven.skipped}, {"failed", failed}},
             text);
    if (!redriven.failed.empty()) {
        throw std::runtime_error("not all of these dead letters could be put back");
    }
    if (!given.all && redriven.skipped > 0) {
        throw std::runtime_error("not all of these dead letters were found");
    }
}

void discard(Tool& tool, const std::vector<std::int64_t>& ids) {
    Hub hub = tool.hub();
    // All or none of them.
    tool.connection().with_transaction([&] {
        for (const auto id : ids) {
            hub.dead_letters().discard(id);
        }
    });
    tool.say({{"discarded", ids.size()}}, std::to_string(ids.size()) + " discarded");
}

}  // namespace

void add_dead_letters(CLI::App& app, Tool& tool) {
    auto* group =
        app.add_subcommand("dead-letters", "list, show, redrive and discard dead letters");
    group->require_subcommand(1);

    auto filter = std::make_shared<LetterFilter>();
    auto* list = group->add_subcommand("list", "list dead letters");
    list->add_option("--queue", filter->queue, "orchestrator, worker or intent");
    list->add_option("--reason", filter->reason, "max_attempts, orphan or undeliverable");
    list->add_option("--instance", filter->instance_id, "of this instance");
    list->add_option("--after", filter->after,
                     "where the list ended before, with the same filters");
    list->add_option("--limit", filter->limit, "at most so many")->capture_default_str();
    on_run(tool, list, [&tool, filter] { list_letters(tool, *filter); });

    auto id = std::make_shared<std::int64_t>();
    auto* show = group->add_subcommand("show", "all about one dead letter");
    show->add_option("ID", *id, "which")->required();
    on_run(tool, show, [&tool, id] { show_letter(tool, *id); });

    auto given = std::make_shared<Redrive>();
    auto* again = group->add_subcommand("redrive", "put dead letters back into their queues");
    again->add_option("ID", given->ids, "which");
    again->add_flag("--all", given->all, "all of them, but for the filters");
    again->add_option("--queue", given->queue, "only of this queue");
    again->add_option("--reason", given->reason, "only with this reason");
    again->add_option("--instance", given->instance_id, "only of this instance");
    again->add_option("--limit", given->limit, "at most so many");
    on_run(tool, again, [&tool, given] { redrive(tool, *given); });

    auto ids = std::make_shared<std::vector<std::int64_t>>();
    auto* drop = group->add_subcommand("discard", "delete dead letters for good");
    drop->add_option("ID", *ids, "which")->required();
    on_run(tool, drop, [&tool, ids] { discard(tool, *ids); });
}

}  // namespace belay::tool
