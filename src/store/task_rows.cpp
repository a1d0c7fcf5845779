// Rows of table tasks: read, found, filled and written as its description and the rules say.
//
// Touches  <hub>.tasks, by direct access
// Locks    nothing
// Must not decide what becomes of a task: core/transitions/task.hpp does
#include "store/task_rows.hpp"

#include <charconv>

#include "core/hash.hpp"
#include "pg/datum.hpp"
#include "pg/errors.hpp"
#include "pg/jsonb.hpp"
#include "store/sql_types.hpp"
#include "store/waking.hpp"

namespace belay::store {

namespace {

// ---------------------------------------------------------------- columns

template <typename Value>
struct Plain {
    using Type = Value;
};
template <typename Value>
struct Plain<std::optional<Value>> {
    using Type = Value;
};

// A column as the rules know it: words are enums.
template <Oid Type, bool Nullable, typename Value>
void load(const Table& table, const Column<Type, Nullable>& of, Value* value) {
    using Kept = typename Plain<Value>::Type;
    bool null = false;
    const Datum stored = column(table, of, &null);
    if constexpr (is_optional<Value>) {
        if (null) {
            *value = std::nullopt;
            return;
        }
    }
    if constexpr (std::is_enum_v<Kept>) {
        const std::string_view word = pg::text_view(stored);
        const auto parsed = Word<Kept>::parse(word);
        if (!parsed) {
            raise_unknown_word(word);
        }
        *value = *parsed;
    } else {
        *value = ValueOf<Type>::load(stored);
    }
}

template <typename Row, typename Column, typename Value>
void store_in(Row* row, const Column& of, const Value& value) {
    if constexpr (std::is_enum_v<Value>) {
        row->put(of, core::name_of(value));
    } else if constexpr (std::is_enum_v<typename Plain<Value>::Type>) {
        row->put(of, value ? std::optional(core::name_of(*value)) : std::nullopt);
    } else {
        row->put(of, value);
    }
}

template <typename Visit>
void each_column(Visit visit) {
    std::apply([&visit](const auto&... columns) { (visit(columns), ...); }, task::kLife);
}

// Whether an index may hold the row elsewhere now.
bool has_moved(const core::TaskLife& before, const core::TaskLife& after) {
    return before.state != after.state || before.available_at != after.available_at ||
           before.priority != after.priority || before.lease_check != after.lease_check ||
           before.deadline != after.deadline;
}

JsonbValue json_text(std::string_view text) {
    JsonbValue value{};
    value.type = jbvString;
    value.val.string.val = const_cast<char*>(text.data());
    value.val.string.len = static_cast<int>(text.size());
    return value;
}

[[noreturn]] void raise_unreadable(const JsonbValue& value) {
    const std::string_view text =
        value.type == jbvString
            ? std::string_view(value.val.string.val, static_cast<std::size_t>(value.val.string.len))
            : std::string_view("another type");
    ereport(ERROR,
            (errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
             errmsg("attempt_timeout_ms of a policy is no whole number: %s", pg::c_string(text)),
             errhint("check_tasks shows more.")));
    pg_unreachable();
}

uint64 half_of(const pg_uuid_t& id, int half) {
    uint64 bytes;
    memcpy(&bytes, id.data + 8 * half, sizeof bytes);
    return pg_ntoh64(bytes);
}

}  // namespace

// ---------------------------------------------------------------- reading

core::TaskLife life_of(const Table& table) {
    // At once: each column that is asked for alone lets the slot read on from the one before.
    slot_getallattrs(table.row);
    core::TaskLife life;
    each_column([&](const auto& known) { load(table, known.column, &(life.*known.member)); });
    return life;
}

Task read_task(const Table& table) {
    return {life_of(table),
            get(table, task::kId),
            table.row->tts_tid,
            get(table, task::kFlowId),
            get(table, task::kQueue),
            get(table, task::kKind),
            get(table, task::kDedupKey),
            get(table, task::kSlot),
            get(table, task::kCapSet),
            get(table, task::kLeaseNonce),
            get(table, task::kLeaseOwner),
            get(table, task::kAttemptWorker),
            get(table, task::kAttemptInstance),
            get(table, task::kCancelReason),
            get(table, task::kPolicy)};
}

TaskPlace place_of(const Table& table) {
    return {get(table, task::kPriority), get(table, task::kAvailableAt).value_or(0),
            get(table, task::kId)};
}

Timeout timeout_in(Jsonb* policy) {
    if (policy == nullptr || !JB_ROOT_IS_OBJECT(policy)) {
        return {false, std::nullopt};
    }
    JsonbValue object{};
    object.type = jbvBinary;
    object.val.binary.data = &policy->root;
    object.val.binary.len = static_cast<int>(VARSIZE(policy) - VARHDRSZ);
    const auto found = pg::any_member(object, "attempt_timeout_ms");
    if (!found) {
        return {false, std::nullopt};
    }
    if (found->type == jbvNull) {
        return {true, std::nullopt};
    }
    int64 ms = 0;
    const std::string_view digits =
        found->type == jbvNumeric ? pg::print_number(*found) : std::string_view();
    const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), ms);
    if (digits.empty() || fault != std::errc() || end != digits.data() + digits.size()) {
        raise_unreadable(*found);
    }
    return {true, ms};
}

bool find_task(Table* table, const pg_uuid_t& id) {
    return find_one(table, kByKey, ScanKeys().uuid(id));
}

namespace {

bool lies_at(const Table& table, const pg_uuid_t& id, const ItemPointerData& tid) {
    return find_at(table, tid) && memcmp(get(table, task::kId).data, id.data, UUID_LEN) == 0;
}

}  // namespace

bool find_task_at(Table* table, const pg_uuid_t& id, const ItemPointerData& tid) {
    return lies_at(*table, id, tid) || find_task(table, id);
}

bool find_held_task(Table* table, const pg_uuid_t& id, const ItemPointerData& tid) {
    if (lies_at(*table, id, tid)) {
        return true;
    }
    if (!find_task(table, id)) {
        elog(ERROR, "a task changed while it was held");
    }
    return false;
}

// ---------------------------------------------------------------- writing

void fill_task(const Hub& hub, const TaskBody& body, const core::TaskLife& life, NewRow* row) {
    each_column([&](const auto& known) { store_in(row, known.column, life.*known.member); });
    row->put(task::kId, body.id)
        .put(task::kFlowId, body.flow_id)
        .put(task::kFlowKey, body.flow_key)
        .put(task::kCreatedAt, body.created_at)
        .put(task::kCapSet, body.cap_set)
        .put(task::kSlot, task_slot(hub, body.id))
        .put(task::kQueue, body.queue)
        .put(task::kKind, body.kind)
        .put(task::kDedupKey, body.dedup_key)
        .put(task::kPayload, body.payload)
        .put(task::kTags, body.tags)
        .put(task::kPolicy, body.policy);
}

namespace {

HeapTuple next_version(const Table& table, const core::TaskLife& before,
                       const core::TaskLife& after, Changes* changes, Columns* columns = nullptr) {
    each_column([&](const auto& known) {
        if (before.*known.member != after.*known.member) {
            store_in(changes, known.column, after.*known.member);
        }
    });
    if (before.is_active() && !after.is_active()) {
        changes->clear(task::kLeaseOwner).clear(task::kLeaseWorker);
    }
    if (before.attempt_started && !after.attempt_started) {
        changes->clear(task::kAttemptWorker).clear(task::kAttemptInstance);
    }
    return changed_row(table, changes, columns);
}

}  // namespace

void write_life(Table* table, const core::TaskLife& before, const core::TaskLife& after,
                Changes* changes) {
    Columns columns;
    const HeapTuple version = next_version(*table, before, after, changes, &columns);
    change_held_row(table, version, has_moved(before, after), nullptr, &columns);
}

WrittenLife write_held_life(Table* table, const core::TaskLife& before, const core::TaskLife& after,
                            Changes* changes) {
    WrittenLife written{TM_Ok, {}};
    change_held_row(table, next_version(*table, before, after, changes), has_moved(before, after),
                    &written.columns);
    return written;
}

WrittenLife try_write_life(Table* table, const core::TaskLife& before, const core::TaskLife& after,
                           Changes* changes) {
    WrittenLife written{TM_Ok, {}};
    written.result = try_change_row(table, next_version(*table, before, after, changes),
                                    has_moved(before, after), &written.columns);
    return written;
}

Jsonb* error_json(std::string_view failure_class, std::optional<std::string_view> message,
                  Jsonb* of_details) {
    JsonbParseState* state = nullptr;
    (void)pushJsonbValue(&state, WJB_BEGIN_OBJECT, nullptr);
    const auto add = [&state](std::string_view name, JsonbValue value) {
        JsonbValue key = json_text(name);
        (void)pushJsonbValue(&state, WJB_KEY, &key);
        (void)pushJsonbValue(&state, WJB_VALUE, &value);
    };
    JsonbValue null{};
    null.type = jbvNull;
    JsonbValue details = null;
    if (of_details != nullptr) {
        details.type = jbvBinary;
        details.val.binary.data = &of_details->root;
        details.val.binary.len = static_cast<int>(VARSIZE(of_details) - VARHDRSZ);
    }
    add("class", json_text(failure_class));
    add("message", message ? json_text(*message) : null);
    add("details", details);
    return JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, nullptr));
}

// ---------------------------------------------------------------- places

int16 task_slot(const Hub& hub, const pg_uuid_t& id) {
    return static_cast<int16>(core::slot_of({reinterpret_cast<const char*>(id.data), UUID_LEN},
                                            static_cast<int32>(hub.options[Option::kSlotCount])));
}

gaps::Key ready_gaps(const Hub& hub, const TaskStream& stream) {
    return gaps::key_of(hub.relations.tasks, kReadyStream, stream.slot, stream.queue,
                        stream.cap_set);
}

gaps::Key delayed_gaps(const Hub& hub) {
    return gaps::key_of(hub.relations.tasks, kDelayedStream, 0);
}

core::QueuePlace ready_place(const TaskPlace& place) {
    return {{core::ordered(-int64{place.priority}), core::ordered(place.available_at),
             half_of(place.id, 0), half_of(place.id, 1)}};
}

core::QueuePlace delayed_place(const TaskPlace& place) {
    return {{core::ordered(place.available_at), half_of(place.id, 0), half_of(place.id, 1), 0}};
}

// ---------------------------------------------------------------- notes

void publish_place(const Hub& hub, const core::TaskLife& life, const TaskStream& stream,
                   const pg_uuid_t& id) {
    if (life.state == core::TaskState::kReady) {
        gaps::appeared(ready_gaps(hub, stream),
                       ready_place({life.priority, *life.available_at, id}));
    } else if (life.state == core::TaskState::kDelayed) {
        gaps::appeared(delayed_gaps(hub), delayed_place({life.priority, *life.available_at, id}));
    }
}

void publish_place(const Hub& hub, const core::TaskLife& life, const Task& task) {
    publish_place(hub, life, {task.queue, task.slot, task.cap_set}, task.id);
}

void wake_claimers(const Hub& hub, std::string_view queue, const core::TaskLife& life,
                   int32 count) {
    const bool ready = life.state == core::TaskState::kReady;
    for (const wakeups::Channel& channel : {queue_channel(hub, queue), all_queues_channel(hub)}) {
        if (ready) {
            wakeups::ready(channel, count);
        } else {
            wakeups::due(channel, *life.available_at);
        }
    }
    if (!ready) {
        wakeups::due(task_due_channel(hub), *life.available_at);
    }
}

void wake_task_waiters(const Hub& hub, const pg_uuid_t& task) {
    wakeups::task_changed(hub.schema, task);
}

void wake_flow_waiters(const Hub& hub, const std::optional<pg_uuid_t>& flow) {
    if (flow) {
        wakeups::changed(flow_channel(hub, uuid_text(*flow)), wakeups::Reason::kChanged);
    }
}

void wake_task_waiters(const Hub& hub, const Task& task, const Notice& notice) {
    wake_flow_waiters(hub, task.flow_id);
    if (notice.reason == wakeups::Reason::kChanged) {
        wake_task_waiters(hub, task.id);
    } else {
        // The epoch afterwards distinguishes a lost lease from those before it.
        wakeups::changed(task_channel(hub, uuid_text(task.id)), notice.reason,
                         task.lease_epoch + (task.is_active() ? 1 : 0));
    }
    if (notice.to_owner && task.lease_owner) {
        wakeups::changed(owner_channel(hub, *task.lease_owner), notice.reason);
    }
}

void publish_held(const Hub& hub, std::string_view queue) {
    wakeups::held(queue_channel(hub, queue));
    wakeups::held(all_queues_channel(hub));
}

}  // namespace belay::store
