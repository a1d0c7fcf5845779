// send_to_hub.cpp — write intents: by send_to_hub, and for the wrapped items of an ack.
//
// Calls    store::new_intent
// Touches  <hub>.intent_queue
// Locks    nothing: inserts never wait
// Raises   QB006 bad item, target or queue
#include "core/names.hpp"
#include "ops/enter.hpp"
#include "ops/intents/intents.hpp"
#include "ops/orchestration/orchestration.hpp"
#include "pg/errors.hpp"

namespace belay::ops {

namespace {

void check_target(const char* path, std::string_view target) {
    const auto fault = core::check_hub_name(target);
    if (fault == core::NameFault::kNone) {
        return;
    }
    pg::raise(
        pg::kInvalidArgument, psprintf("%s is not the name of a hub", path),
        pg::Facts(core::code_detail(fault)).add("path", path).add("value", clip(target, kMaxId)),
        core::kHubNameHint);
}

// The target queue decides what the item may be, as if it were enqueued there.
CheckedIntent checked_intent(std::string_view target, const char* queue, const Item& item,
                             const char* item_path) {
    if (strcmp(queue, "worker") == 0) {
        const CheckedActivity activity = checked_activity(item, {}, item_path, "");
        return {target, queue, item.text, activity.args.instance_id.value_or("")};
    }
    const CheckedMessage message = checked_message(item, std::nullopt, item_path, item_path);
    return {target, queue, item.text, message.instance_id};
}

}  // namespace

std::optional<CheckedIntent> checked_wrapped(const Item& given, const char* queue,
                                             const Path& path) {
    // Most items are not wrapped; a key may be spelt with escapes.
    if (given.text.find("ToHub") == std::string_view::npos &&
        given.text.find("\\u") == std::string_view::npos) {
        return std::nullopt;
    }
    const auto item = given.read(nullptr);
    if (!item || item->kind != core::ItemKind::kToHub) {
        return std::nullopt;  // the check of a plain item reports what is wrong with it
    }
    core::Problem problem;
    const auto hub = core::json::find(item->body, "hub");
    const auto inner = core::json::find(item->body, "item");
    const bool good_hub = hub && hub->kind == core::json::Kind::kString;
    const bool good_item = inner && (inner->kind == core::json::Kind::kObject ||
                                     inner->kind == core::json::Kind::kString);
    if (!good_hub || !good_item) {
        const bool missing = good_hub ? !inner : !hub;
        core::set_problem(&problem, missing ? "missing_field" : "wrong_type", "ToHub",
                          good_hub ? "item" : "hub");
        raise_problem(path, problem);
    }
    const auto checked = core::json::inspect(*hub);
    if (checked.has_nul || checked.has_lone_surrogate) {
        core::set_problem(&problem, checked.has_nul ? "escaped_nul" : "bad_value", "ToHub", "hub");
        raise_problem(path, problem);
    }
    const std::string_view target = decode(*hub);
    check_target(psprintf("%s.ToHub.hub", path.text()), target);
    return checked_intent(target, queue, Item(*inner), psprintf("%s.ToHub.item", path.text()));
}

int64 send_intent(store::Tables& tables, const CheckedIntent& intent,
                  std::string_view source_instance, std::optional<int64> visible_at, int64 now) {
    return store::new_intent(tables, {.key = {},
                                      .pair = {source_instance, intent.target_instance},
                                      .target_hub = intent.target_hub,
                                      .queue = intent.queue,
                                      .work_item = intent.work_item,
                                      .visible_at = visible_at,
                                      .created_at = now,
                                      .attempts = 0,
                                      .last_error = std::nullopt});
}

int64 send_to_hub(store::Tables& tables, std::string_view target,
                  std::optional<std::string_view> queue, std::string_view work_item,
                  std::optional<int64> visible_at) {
    check_target("p_target_hub", target);
    const char* known = nullptr;
    for (const char* name : {"orchestrator", "worker"}) {
        known = queue && *queue == name ? name : known;
    }
    if (known == nullptr) {
        pg::raise(
            pg::kInvalidArgument,
            psprintf("unrecognized queue \"%s\"", pg::excerpt(queue.value_or(""))),
            pg::Facts("unknown_queue").add("path", "p_queue").add("value", queue.value_or("")),
            "Queues are orchestrator and worker.");
    }
    const CheckedIntent intent = checked_intent(target, known, work_item, "p_work_item");
    auto clock = pg::start_clock(std::nullopt, 0);
    enter(tables, {.intents = true}, &clock);
    return send_intent(tables, intent, "", visible_at, clock.now());
}

}  // namespace belay::ops
