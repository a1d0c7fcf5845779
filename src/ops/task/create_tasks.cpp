// create_tasks.cpp — create tasks, each at most once per id and per dedup key; delete one.
//
// Calls    store::insert_task, store::insert_own_tasks, store::lock_dedup_key,
//          store::register_queue, store::capability_set
// Touches  <hub>.tasks, <hub>.dedup_keys, <hub>.queues, <hub>.capability_sets, <hub>.attempts,
//          <hub>.outbox_events
// Locks    dedup keys by queue and key, then queues, then capability sets, then tasks by id
// Raises   QB006 bad item, QB007 clock skew, QB016 too many capability sets; QB003 not finished
#include <algorithm>

#include "core/time.hpp"
#include "ops/audit.hpp"
#include "ops/task/task.hpp"
#include "pg/datum.hpp"
#include "pg/errors.hpp"
#include "pg/jsonb.hpp"
#include "pg/random.hpp"
#include "store/queues.hpp"

namespace belay::ops {

namespace {

namespace json = core::json;

// In the order in which read_request looks them up.
constexpr std::string_view kItemKeys[] = {
    "queue",           "payload",     "priority",       "tags",
    "capabilities",    "task_id",     "kind",           "delay_ms",
    "available_at_ms", "deadline_ms", "deadline_in_ms", "dedup_key",
    "dedup_window_ms", "policy",
};

Path path_of(const TaskRequest& request, const char* member) {
    return request.path ? request.path->member(member) : Path(psprintf("p_%s", member));
}

void check_not_negative(const TaskRequest& request, const char* member,
                        std::optional<int64> value) {
    if (value && *value < 0) {
        const char* path = path_of(request, member).text();
        pg::raise(pg::kInvalidArgument, psprintf("%s must not be negative", path),
                  pg::Facts("out_of_range").add("path", path).add("value", *value),
                  "Pass milliseconds.");
    }
}

// Most batches are in order already: to see that takes less than to sort them.
template <typename T, typename Less>
void sort_if_needed(T* begin, T* end, Less less) {
    if (!std::is_sorted(begin, end, less)) {
        std::sort(begin, end, less);
    }
}

// A request on its way.
struct Work {
    const TaskRequest* request;
    std::size_t index;
    CreatedTask answer;
    bool done;
    bool known;         // there is a task with this id: at most its key says something else
    bool has_key;       // held by this call, to be written or released
    bool key_inserted;  // made by this call
    int64 window_until;
    int32 cap_set;
    const Work* twin;  // an earlier one with the same key
};

bool by_key(const Work* a, const Work* b) {
    const TaskRequest& x = *a->request;
    const TaskRequest& y = *b->request;
    if (x.dedup_key.has_value() != y.dedup_key.has_value()) {
        return x.dedup_key.has_value();
    }
    if (x.queue != y.queue) {
        return x.queue < y.queue;
    }
    if (x.dedup_key != y.dedup_key) {
        return x.dedup_key < y.dedup_key;
    }
    return a->index < b->index;
}

bool by_set(const TaskRequest& x, const TaskRequest& y) {
    if (x.queue != y.queue) {
        return x.queue < y.queue;
    }
    return std::lexicographical_compare(x.capabilities.begin(), x.capabilities.end(),
                                        y.capabilities.begin(), y.capabilities.end());
}

bool by_id(const Work* a, const Work* b) {
    const int order = memcmp(a->answer.id.data, b->answer.id.data, UUID_LEN);
    return order != 0 ? order < 0 : a->index < b->index;
}

// Holds the keys. Where a task has the key already, that is the answer.
void hold_keys(store::Tables& tables, std::span<Work*> all, pg::Clock* clock) {
    const Work* previous = nullptr;
    for (Work* work : all) {
        const TaskRequest& request = *work->request;
        if (!request.dedup_key) {
            break;
        }
        if (previous != nullptr && previous->request->queue == request.queue &&
            previous->request->dedup_key == request.dedup_key) {
            work->twin = previous->twin != nullptr ? previous->twin : previous;
            previous = work;
            continue;
        }
        previous = work;
        work->window_until = core::add_ms(clock->now(), request.dedup_window_ms);
        const auto key =
            work->known
                ? store::hold_dedup_key(tables, request.queue, *request.dedup_key)
                : std::optional(store::lock_dedup_key(tables, request.queue, *request.dedup_key,
                                                      work->answer.id, work->window_until));
        work->has_key = !work->known;
        work->key_inserted = key && key->inserted;
        if (!key || key->inserted) {
            continue;
        }
        const auto life = store::read_life(tables, key->task_id);
        if (life && (!core::is_terminal(life->state) || key->window_until > clock->now())) {
            work->answer = {key->task_id, life->state, false};
            work->done = true;
        }
    }
}

bool is_to_insert(const Work& work) {
    return !work.done && !work.known && work.twin == nullptr;
}

void find_sets(store::Tables& tables, std::span<Work*> all, int64 now) {
    pg::List<Work*> pending;
    pg::List<const TaskRequest*> requests;
    for (Work* work : all) {
        if (is_to_insert(*work)) {
            pending.add(work);
            requests.add(work->request);
        }
    }
    const auto sets = prepare_queues(tables, requests.span(), now);
    for (int i = 0; i < pending.count; ++i) {
        pending.items[i]->cap_set = sets[static_cast<std::size_t>(i)];
    }
}

store::NewTask new_task(const Work& work, int64 now) {
    const TaskRequest& request = *work.request;
    return {.id = work.answer.id,
            .own_id = !request.id,
            .queue = request.queue,
            .kind = request.kind,
            .cap_set = work.cap_set,
            .priority = request.priority,
            .now = now,
            .available_at = std::max(
                {now, request.available_at.value_or(now), core::add_ms(now, request.delay_ms)}),
            .deadline = deadline_of(request, now),
            .dedup_key = request.dedup_key,
            .payload = request.payload,
            .tags = request.tags,
            .policy = request.policy};
}

void mark_inserted(store::Tables& tables, Work* work, const store::NewTask& task) {
    work->answer.state = core::queue_state(task.available_at, task.now);
    work->answer.created = true;
    if (work->has_key && !work->key_inserted) {
        store::take_over_dedup_key(tables, work->request->queue, *work->request->dedup_key,
                                   work->answer.id, work->window_until);
    }
}

// Those whose ids this call has made: no other task can have them.
void insert_own(store::Tables& tables, std::span<Work*> all, int64 now) {
    pg::List<Work*> own;
    pg::List<store::NewTask> tasks;
    for (Work* work : all) {
        if (is_to_insert(*work) && !work->request->id) {
            own.add(work);
            tasks.add(new_task(*work, now));
        }
    }
    store::insert_own_tasks(tables, tasks.span());
    for (int i = 0; i < own.count; ++i) {
        mark_inserted(tables, own.items[i], tasks.items[i]);
    }
}

void insert_one(store::Tables& tables, Work* work, int64 now) {
    const TaskRequest& request = *work->request;
    const store::NewTask task = new_task(*work, now);
    if (store::insert_task(tables, task)) {
        mark_inserted(tables, work, task);
        return;
    }
    // The id is known: that task stays as it is, and so does the key.
    if (work->key_inserted) {
        store::delete_dedup_key(tables, request.queue, *request.dedup_key, work->answer.id);
    }
    const auto life = store::read_life(tables, work->answer.id);
    if (!life) {
        ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
                        errmsg("task %s was deleted meanwhile", store::uuid_text(work->answer.id)),
                        errhint("Repeat the transaction.")));
    }
    work->answer.state = life->state;
}

}  // namespace

// A random uuid of version 7: 48 bits of time, then a count that grows within a millisecond of this
// session, so that ids made one after the other sort that way.
pg_uuid_t make_id(int64 now) {
    static constinit int64 last_ms = -1;
    static constinit uint32 count = 0;
    constexpr uint32 kCountBits = 26;
    pg_uuid_t id;
    pg::fill_random(id.data, UUID_LEN);
    if (now == last_ms) {
        ++count;
    } else {
        last_ms = now;
        memcpy(&count, id.data, sizeof count);
        count &= (1U << (kCountBits - 2)) - 1;  // room to count upwards
    }
    for (int i = 0; i < 6; ++i) {
        id.data[i] = static_cast<unsigned char>(static_cast<uint64>(now) >> (40 - 8 * i));
    }
    id.data[6] = static_cast<unsigned char>(0x70 | (count >> 22 & 0x0f));
    id.data[7] = static_cast<unsigned char>(count >> 14);
    id.data[8] = static_cast<unsigned char>(0x80 | (count >> 8 & 0x3f));
    id.data[9] = static_cast<unsigned char>(count);
    return id;
}

namespace {

// The members of an item, found in one walk over it.
struct ItemMembers {
    static constexpr std::size_t kMost = 24;
    std::span<const std::string_view> keys;
    std::optional<json::Value> found[kMost]{};
    const Path& path;
    mutable std::size_t next = 0;  // behind the one that was asked for last

    // No value for one that may not be there.
    const std::optional<json::Value>& operator[](std::string_view key) const {
        static constexpr std::optional<json::Value> kAbsent;
        for (std::size_t i = 0; i < keys.size(); ++i) {
            next = next < keys.size() ? next : 0;
            if (keys[next++] == key) {
                return found[next - 1];
            }
        }
        return kAbsent;
    }
    std::optional<std::string_view> text(const char* key) const {
        return string_of((*this)[key], key, path);
    }
    std::optional<int64> number(const char* key) const { return int_of((*this)[key], key, path); }
};

// A member as jsonb, null for one that is not there: as it is stored, if that is known, so that it
// need not be read again.
Jsonb* body_of(const std::optional<json::Value>& member, const char* key,
               const JsonbValue* stored) {
    if (!member) {
        return nullptr;
    }
    if (stored == nullptr) {
        return DatumGetJsonbP(pg::jsonb_datum(member->text));
    }
    auto value = pg::any_member(*stored, key);
    return JsonbValueToJsonb(&*value);
}

// The same, and null for a JSON null.
Jsonb* object_of(const ItemMembers& members, const char* key, const JsonbValue* stored) {
    const auto& member = members[key];
    return member && member->kind == json::Kind::kNull ? nullptr : body_of(member, key, stored);
}

}  // namespace

TaskRequest read_request(json::Value item, const Path& path, std::span<const std::string_view> keys,
                         const JsonbValue* stored) {
    if (item.kind != json::Kind::kObject) {
        pg::raise_invalid("not_an_object", path.text(),
                          psprintf("%s is not a JSON object", path.text()),
                          "Pass objects with at least a queue.");
    }
    Assert(keys.size() <= ItemMembers::kMost);
    ItemMembers members{.keys = keys, .path = path};
    find_members(item, path, keys, members.found);
    const auto& queue = members["queue"];
    const auto& payload = members["payload"];
    const auto priority = members.number("priority").value_or(0);
    Jsonb* tags = object_of(members, "tags", stored);
    const auto& listed = members["capabilities"];
    const auto capabilities = listed ? texts_of(listed, "capabilities", path.text())
                                     : std::optional<std::span<const std::string_view>>();
    return {.path = path,
            .id = uuid_of(members["task_id"], "task_id", path),
            .queue = checked_queue(path.member("queue"), string_of(queue, "queue", path)),
            .kind = members.text("kind").value_or(""),
            .priority = static_cast<int32>(std::clamp<int64>(priority, 0, core::kMaxPriority)),
            .delay_ms = members.number("delay_ms").value_or(0),
            .available_at = members.number("available_at_ms"),
            .deadline = members.number("deadline_ms"),
            .deadline_in_ms = members.number("deadline_in_ms"),
            .capabilities = capabilities ? checked_capabilities(path.member("capabilities").text(),
                                                                *capabilities)
                                         : std::span<const std::string_view>(),
            .dedup_key = members.text("dedup_key"),
            .dedup_window_ms = members.number("dedup_window_ms").value_or(kDedupWindowMs),
            .payload = body_of(payload, "payload", stored),
            .tags = tags != nullptr ? tags : pg::empty_object(),
            .policy = object_of(members, "policy", stored)};
}

void check_deadline(const TaskRequest& request, int64 now) {
    if (request.deadline && *request.deadline <= now) {
        const char* path = path_of(request, "deadline_ms").text();
        pg::raise(pg::kInvalidArgument, psprintf("%s lies in the past", path),
                  pg::Facts("out_of_range").add("path", path).add("value", *request.deadline),
                  "Pass an instant after now, in milliseconds since 1970.");
    }
}

std::optional<int64> deadline_of(const TaskRequest& request, int64 now) {
    if (!request.deadline_in_ms) {
        return request.deadline;
    }
    const int64 until = core::add_ms(now, *request.deadline_in_ms);
    return request.deadline ? std::min(*request.deadline, until) : until;
}

std::span<const int32> prepare_queues(store::Tables& tables,
                                      std::span<const TaskRequest* const> requests, int64 now) {
    auto* order = static_cast<std::size_t*>(palloc(sizeof(std::size_t) * (requests.size() + 1)));
    auto* sets = static_cast<int32*>(palloc(sizeof(int32) * (requests.size() + 1)));
    for (std::size_t i = 0; i < requests.size(); ++i) {
        order[i] = i;
    }
    sort_if_needed(order, order + requests.size(), [requests](std::size_t a, std::size_t b) {
        return by_set(*requests[a], *requests[b]);
    });
    for (std::size_t i = 0; i < requests.size(); ++i) {
        const TaskRequest& request = *requests[order[i]];
        const TaskRequest* previous = i > 0 ? requests[order[i - 1]] : nullptr;
        if (previous == nullptr || previous->queue != request.queue) {
            store::register_queue(tables, request.queue, now);
        }
        if (previous != nullptr && !by_set(*previous, request)) {
            sets[order[i]] = sets[order[i - 1]];
            continue;
        }
        const auto set = store::capability_set(tables, request.queue, request.capabilities);
        if (!set) {
            pg::raise(
                pg::kLimitExceeded,
                psprintf("queue \"%s\" has too many capability sets", pg::excerpt(request.queue)),
                pg::Facts("capability_sets")
                    .add("queue", request.queue)
                    .add("limit", store::kMaxSets)
                    .add("value", store::kMaxSets + 1),
                "Use fewer combinations of capabilities, or more queues.");
        }
        sets[order[i]] = *set;
    }
    return {sets, requests.size()};
}

void check_tags(const Path& where, Jsonb* tags) {
    if (tags != nullptr && JB_ROOT_IS_OBJECT(tags) && JB_ROOT_COUNT(tags) == 0) {
        return;
    }
    const char* path = where.text();
    const auto object = checked_object(path, tags);
    json::Members members(object);
    std::string_view key;
    json::Value value;
    while (members.next(key, value)) {
        if (value.kind != json::Kind::kString) {
            pg::raise_invalid("wrong_type", path, psprintf("%s must be an object of strings", path),
                              "Pass an object whose values are strings.");
        }
    }
}

void check_request(store::Tables& tables, const TaskRequest& request) {
    check_new_id(path_of(request, "task_id"), request.id);
    if (!request.kind.empty()) {
        (void)checked_word(path_of(request, "kind"), request.kind);
    }
    if (request.dedup_key) {
        (void)checked_word(path_of(request, "dedup_key"), *request.dedup_key);
    }
    check_not_negative(request, "delay_ms", request.delay_ms);
    check_not_negative(request, "available_at_ms", request.available_at);
    check_not_negative(request, "dedup_window_ms", request.dedup_window_ms);
    if (request.deadline_in_ms && *request.deadline_in_ms <= 0) {
        const char* path = path_of(request, "deadline_in_ms").text();
        pg::raise(pg::kInvalidArgument, psprintf("%s must be above 0", path),
                  pg::Facts("out_of_range").add("path", path).add("value", *request.deadline_in_ms),
                  "Pass milliseconds from now.");
    }
    check_tags(path_of(request, "tags"),
               checked_body(tables, path_of(request, "tags"), request.tags));
    check_policy(path_of(request, "policy"),
                 checked_body(tables, path_of(request, "policy"), request.policy));
    (void)checked_body(tables, path_of(request, "payload"), request.payload);
}

TaskRequest read_request(store::Tables& tables, json::Value item, const Path& path,
                         const JsonbValue* stored) {
    const TaskRequest request = read_request(item, path, kItemKeys, stored);
    check_request(tables, request);
    return request;
}

std::span<const TaskRequest> read_requests(store::Tables& tables, const JsonArray& items) {
    auto* requests = static_cast<TaskRequest*>(palloc(sizeof(TaskRequest) * (items.count + 1)));
    if (items.count > 0) {
        json::Elements elements(items.array);
        pg::each_element(items.stored, [&](const JsonbValue& stored, std::size_t i) {
            json::Value element;
            (void)elements.next(element);
            requests[i] = read_request(tables, element, {"p_tasks", i}, &stored);
        });
    }
    return {requests, items.count};
}

std::span<const CreatedTask> create_tasks(store::Tables& tables,
                                          std::span<const TaskRequest> requests, pg::Clock* clock) {
    for (const TaskRequest& request : requests) {
        check_deadline(request, clock->now());
    }
    enter(tables, {.tasks = true}, clock);
    const std::size_t count = requests.size();
    auto* works = static_cast<Work*>(palloc(sizeof(Work) * (count + 1)));
    auto** order = static_cast<Work**>(palloc(sizeof(Work*) * (count + 1)));
    for (std::size_t i = 0; i < count; ++i) {
        works[i] = {
            .request = &requests[i],
            .index = i,
            .answer = {requests[i].id.value_or(pg_uuid_t{}), core::TaskState::kReady, false},
            .done = false,
            .known = false,
            .has_key = false,
            .key_inserted = false,
            .window_until = 0,
            .cap_set = 0,
            .twin = nullptr};
        if (!requests[i].id) {
            works[i].answer.id = make_id(clock->now());
        } else if (const auto life = store::read_life(tables, *requests[i].id)) {
            works[i].answer.state = life->state;
            works[i].known = true;
        }
        order[i] = &works[i];
    }
    const std::span<Work*> all(order, count);
    // Each kind of row in one order for all calls, so that no two batches wait for each other.
    sort_if_needed(order, order + count, by_key);
    hold_keys(tables, all, clock);
    find_sets(tables, all, clock->now());
    sort_if_needed(order, order + count, by_id);
    for (Work* work : all) {
        if (is_to_insert(*work) && work->request->id) {
            insert_one(tables, work, clock->now());
        }
        CHECK_FOR_INTERRUPTS();
    }
    insert_own(tables, all, clock->now());
    auto* answers = static_cast<CreatedTask*>(palloc(sizeof(CreatedTask) * (count + 1)));
    for (std::size_t i = 0; i < count; ++i) {
        answers[i] = works[i].twin == nullptr ? works[i].answer : works[i].twin->answer;
        answers[i].created = answers[i].created && works[i].twin == nullptr;
    }
    return {answers, count};
}

bool delete_task(store::Tables& tables, const pg_uuid_t& id) {
    auto clock = pg::start_clock(std::nullopt, 0);
    enter(tables, {.tasks = true, .attempts = true}, &clock);
    // The key comes before the task in the order of locks; which key it is never changes.
    const auto seen = store::read_task_key(tables, id);
    if (!seen) {
        return false;
    }
    if (seen->key) {
        (void)store::hold_dedup_key(tables, seen->queue, *seen->key);
    }
    const auto task = store::lock_task_to_delete(tables, id);
    if (!task) {
        return false;
    }
    if (!core::is_terminal(task->state) || task->flow_id) {
        const bool member = task->flow_id.has_value();
        pg::raise(pg::kStillRunning,
                  psprintf(member ? "task %s belongs to a flow" : "task %s is running",
                           store::uuid_text(id)),
                  pg::Facts(member ? "flow_member" : "running")
                      .add("task_id", store::uuid_text(id))
                      .add("state", core::name_of(task->state)),
                  member ? "Delete the flow." : "Cancel the task first, or let it end.");
    }
    store::delete_task(tables, *task);
    constexpr int kDeleted = core::event_place("operator", "task_deleted");
    emit_operator_event(tables, {.event = kDeleted,
                                 .subject = store::uuid_text(id),
                                 .details = store::Details()
                                                .add("queue", task->queue)
                                                .add("kind", task->kind)
                                                .add("state", core::name_of(task->state))});
    return true;
}

}  // namespace belay::ops
