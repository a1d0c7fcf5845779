// enqueue_worker_work.cpp — add activities to the worker queue.
//
// Calls    store::insert_work, store::insert_works
// Touches  <hub>.worker_queue
// Locks    nothing: inserts never wait
// Raises   QB006 bad item or argument, QB007 clock skew
#include "core/time.hpp"
#include "ops/worker_queue/worker_queue.hpp"
#include "pg/errors.hpp"
#include "shmem/mutants.hpp"

namespace belay::ops {

namespace {

constexpr std::string_view kItemKeys[] = {
    "work_item", "instance_id", "execution_id", "activity_id", "session_id", "tag", "delay_ms"};

void check_number(const Path& prefix, const char* name, std::optional<int64> value, int64 least) {
    if (value && *value < least) {
        const char* path = psprintf("%s%s", prefix.text(), name);
        pg::raise(pg::kInvalidArgument, psprintf("%s must be at least " INT64_FORMAT, path, least),
                  pg::Facts("out_of_range").add("path", path).add("value", *value),
                  "Pass an execution id of at least 1 and an activity id of at least 0.");
    }
}

struct ListedItem {
    CheckedActivity activity;
    int64 delay_ms;
};

ListedItem checked_item(core::json::Value element, std::size_t index) {
    const Path path("p_items", index);
    std::optional<core::json::Value> found[std::size(kItemKeys)];
    check_element(element, path, kItemKeys, found);
    const auto& [item, instance_id, execution_id, activity_id, session_id, tag, delay_ms] = found;
    const ActivityArgs args{.instance_id = string_of(instance_id, "instance_id", path),
                            .execution_id = int_of(execution_id, "execution_id", path),
                            .activity_id = int_of(activity_id, "activity_id", path),
                            .session_id = string_of(session_id, "session_id", path),
                            .tag = string_of(tag, "tag", path)};
    const int64 delay =
        checked_delay(path.member("delay_ms"), int_of(delay_ms, "delay_ms", path)).value_or(0);
    return {checked_activity(Item(*item), args, path.member("work_item"), path.member("")), delay};
}

}  // namespace

CheckedActivity checked_activity(const Item& item, const ActivityArgs& args, const Path& place,
                                 const Path& prefix) {
    core::Problem problem;
    const auto parsed = item.read(&problem);
    if (!parsed) {
        raise_problem(place, problem);
    }
    if (!core::for_worker(parsed->kind)) {
        core::set_problem(&problem, "wrong_kind");
        raise_problem(place, problem);
    }
    core::Activity fields;
    if (!core::read_activity(*parsed, &fields, &problem)) {
        raise_problem(place, problem);
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
            return psprintf("%s%s", prefix.text(), name);
        }
        core::set_problem(&problem, "", parsed->raw_kind.substr(1, parsed->raw_kind.size() - 2),
                          field);
        return psprintf("%s%s", place.text(), problem.path);
    };
    if (merged.instance_id && !is_instance_id(*merged.instance_id)) {
        check_instance_id(source(args.instance_id.has_value(), "instance_id", "instance"),
                          *merged.instance_id);
    }
    check_number(prefix, "execution_id", merged.execution_id, 1);
    check_number(prefix, "activity_id", merged.activity_id, 0);
    if (merged.session_id && merged.session_id->size() > kMaxId) {
        check_label(source(args.session_id.has_value(), "session_id", "session_id"),
                    merged.session_id);
    }
    if (merged.tag && merged.tag->size() > kMaxId) {
        check_label(source(args.tag.has_value(), "tag", "tag"), merged.tag);
    }
    return {item.text, merged,
            parsed->kind == core::ItemKind::kOther ? parsed->raw_kind : std::string_view()};
}

namespace {

store::NewWork new_work(const store::Hub& hub, const CheckedActivity& activity, int64 now,
                        int64 visible_at) {
    if (!activity.unknown_kind.empty()) {
        warn_of_unknown_kind(hub, activity.unknown_kind);
    }
    return {.work_item = activity.work_item,
            .visible_at = visible_at,
            .delayed = visible_at > now,
            .created_at = now,
            .instance_id = activity.args.instance_id,
            .execution_id = activity.args.execution_id,
            .activity_id = activity.args.activity_id,
            .session_id = activity.args.session_id,
            .tag = activity.args.tag};
}

}  // namespace

void enqueue_activity(store::Tables& tables, const CheckedActivity& activity, int64 now,
                      int64 visible_at) {
    if (mutants::strikes(mutants::Mutant::kEnqueueDropsItem)) {
        return;
    }
    (void)store::insert_work(tables, new_work(tables, activity, now, visible_at));
}

void enqueue_activities(store::Tables& tables, std::span<const CheckedActivity> activities,
                        pg::Clock* clock) {
    if (activities.empty()) {
        return;
    }
    enter(tables, {.worker_queue = true}, clock);
    auto* works = static_cast<store::NewWork*>(palloc(sizeof(store::NewWork) * activities.size()));
    for (std::size_t i = 0; i < activities.size(); ++i) {
        const int64 now = clock->now();
        works[i] = new_work(tables, activities[i], now, now);
    }
    store::insert_works(tables, {works, activities.size()});
}

void enqueue_worker_work(store::Tables& tables, const CheckedActivity& activity, pg::Clock* clock) {
    enter(tables, {.worker_queue = true}, clock);
    const int64 now = clock->now();
    enqueue_activity(tables, activity, now, now);
}

int64 enqueue_worker_items(store::Tables& tables, const JsonArray& items,
                           std::optional<int64> now) {
    auto* checked = static_cast<ListedItem*>(palloc(sizeof(ListedItem) * (items.count + 1)));
    core::json::Elements elements(items.array);
    core::json::Value element;
    for (std::size_t i = 0; elements.next(element); ++i) {
        checked[i] = checked_item(element, i);
    }
    auto clock = pg::start_clock(now, tables.hub.options[store::Option::kMaxClockSkew]);
    enter(tables, {.worker_queue = true}, &clock);
    auto* works = static_cast<store::NewWork*>(palloc(sizeof(store::NewWork) * (items.count + 1)));
    for (std::size_t i = 0; i < items.count; ++i) {
        const int64 at = clock.now();
        works[i] = new_work(tables, checked[i].activity, at, core::add_ms(at, checked[i].delay_ms));
    }
    store::insert_works(tables, {works, items.count});
    return static_cast<int64>(items.count);
}

}  // namespace belay::ops
