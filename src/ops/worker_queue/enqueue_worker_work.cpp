// enqueue_worker_work.cpp — add activities to the worker queue.
//
// Calls    store::insert_work
// Touches  <hub>.worker_queue
// Locks    nothing: inserts never wait
// Raises   QB006 bad item or argument, QB007 clock skew
#include "core/time.hpp"
#include "ops/worker_queue/worker_queue.hpp"
#include "pg/errors.hpp"
#include "pg/faults.hpp"

namespace belay::ops {

namespace {

constexpr const char* kItemKeys[] = {"work_item",  "instance_id", "execution_id", "activity_id",
                                     "session_id", "tag",         "delay_ms"};

void check_number(const char* prefix, const char* name, std::optional<int64> value, int64 least) {
    if (value && *value < least) {
        const char* path = psprintf("%s%s", prefix, name);
        pg::raise(pg::kInvalidArgument, psprintf("%s must be at least " INT64_FORMAT, path, least),
                  pg::Facts("out_of_range").add("path", path).add("value", *value),
                  "Execution ids begin with 1, activity ids with 0.");
    }
}

struct ListedItem {
    CheckedActivity activity;
    int64 delay_ms;
};

ListedItem checked_item(core::json::Value element, std::size_t index) {
    const auto [path, item_path, item] = checked_element(element, index, kItemKeys);
    const ActivityArgs args{.instance_id = optional_string(element, "instance_id", path),
                            .execution_id = optional_int(element, "execution_id", path),
                            .activity_id = optional_int(element, "activity_id", path),
                            .session_id = optional_string(element, "session_id", path),
                            .tag = optional_string(element, "tag", path)};
    const int64 delay =
        checked_delay(psprintf("%s.delay_ms", path), optional_int(element, "delay_ms", path))
            .value_or(0);
    return {checked_activity(item_text(item), args, item_path, psprintf("%s.", path)), delay};
}

}  // namespace

CheckedActivity checked_activity(std::string_view work_item, const ActivityArgs& args,
                                 const char* item, const char* prefix) {
    core::Problem problem;
    const auto parsed = core::parse_work_item(work_item, &problem);
    if (!parsed) {
        raise_problem(item, problem);
    }
    if (!core::for_worker(parsed->kind)) {
        core::set_problem(&problem, "wrong_kind");
        raise_problem(item, problem);
    }
    core::Activity fields;
    if (!core::read_activity(*parsed, &fields, &problem)) {
        raise_problem(item, problem);
    }
    const ActivityArgs merged{
        .instance_id = args.instance_id ? args.instance_id : decode(fields.instance),
        .execution_id = args.execution_id ? args.execution_id : fields.execution_id,
        .activity_id = args.activity_id ? args.activity_id : fields.activity_id,
        .session_id = args.session_id ? args.session_id : decode(fields.session_id),
        .tag = args.tag ? args.tag : decode(fields.tag)};
    // Where a value came from: its argument, or its field of the item.
    const auto source = [&](bool given, const char* name, const char* field) -> const char* {
        if (given) {
            return psprintf("%s%s", prefix, name);
        }
        core::set_problem(&problem, "", parsed->raw_kind.substr(1, parsed->raw_kind.size() - 2),
                          field);
        return psprintf("%s%s", item, problem.path);
    };
    if (merged.instance_id) {
        check_instance_id(source(args.instance_id.has_value(), "instance_id", "instance"),
                          *merged.instance_id);
    }
    check_number(prefix, "execution_id", merged.execution_id, 1);
    check_number(prefix, "activity_id", merged.activity_id, 0);
    if (merged.session_id) {
        check_label(source(args.session_id.has_value(), "session_id", "session_id"),
                    merged.session_id);
    }
    if (merged.tag) {
        check_label(source(args.tag.has_value(), "tag", "tag"), merged.tag);
    }
    return {work_item, merged};
}

void enqueue_activity(const store::Hub& hub, const CheckedActivity& activity, int64 now,
                      int64 visible_at) {
    if (pg::fault(pg::FaultPoint::kEnqueueDropsItem)) {
        return;
    }
    (void)store::insert_work(hub, {.work_item = activity.work_item,
                                   .visible_at = visible_at,
                                   .delayed = visible_at > now,
                                   .created_at = now,
                                   .instance_id = activity.args.instance_id,
                                   .execution_id = activity.args.execution_id,
                                   .activity_id = activity.args.activity_id,
                                   .session_id = activity.args.session_id,
                                   .tag = activity.args.tag});
}

void enqueue_worker_work(const store::Hub& hub, const CheckedActivity& activity, pg::Clock* clock) {
    enter(hub, {.worker_queue = true}, clock);
    const int64 now = clock->now();
    enqueue_activity(hub, activity, now, now);
}

int64 enqueue_worker_items(const store::Hub& hub, const JsonArray& items,
                           std::optional<int64> now) {
    auto* checked = static_cast<ListedItem*>(palloc(sizeof(ListedItem) * (items.count + 1)));
    core::json::Elements elements(items.array);
    core::json::Value element;
    for (std::size_t i = 0; elements.next(element); ++i) {
        checked[i] = checked_item(element, i);
    }
    auto clock = pg::start_clock(now, hub.options[store::Option::kMaxClockSkew]);
    enter(hub, {.worker_queue = true}, &clock);
    for (std::size_t i = 0; i < items.count; ++i) {
        const int64 at = clock.now();
        enqueue_activity(hub, checked[i].activity, at, core::add_ms(at, checked[i].delay_ms));
    }
    return static_cast<int64>(items.count);
}

}  // namespace belay::ops
