// await_result.cpp — sleep until a task or an orchestration has ended, and read its result.
//
// Calls    wait_for_work, store::read_task_status, store::instance_info, store::has_start
// Touches  nothing
// Locks    nothing while it sleeps
// Raises   QB002 no such task or instance; 55000 the hub was dropped meanwhile
#include <algorithm>

#include "core/json.hpp"
#include "core/time.hpp"
#include "ops/front_door/front_door.hpp"
#include "ops/management/management.hpp"
#include "pg/datum.hpp"
#include "pg/errors.hpp"
#include "pg/scopes.hpp"
#include "store/listing.hpp"
#include "store/orchestrator_queue.hpp"
#include "store/waking.hpp"

namespace belay::ops {

namespace {

// Without shared memory no change is reported, so the tables are read this often.
constexpr int64 kPollMs = 200;

// What is waited for, as one look found it.
struct Found {
    bool hub_gone;
    bool exists;
    bool ended;
    AwaitedResult answer;
    WaitQueue queue;
};

Jsonb* copy_of(const Jsonb* value, MemoryContext memory) {
    if (value == nullptr) {
        return nullptr;
    }
    auto* copy = static_cast<Jsonb*>(MemoryContextAlloc(memory, VARSIZE(value)));
    memcpy(copy, value, VARSIZE(value));
    return copy;
}

const char* copy_of(std::string_view text, MemoryContext memory) {
    char* copy = static_cast<char*>(MemoryContextAlloc(memory, text.size() + 1));
    memcpy(copy, text.data(), text.size());
    copy[text.size()] = '\0';
    return copy;
}

// The output of an orchestration is a text. One that is JSON is taken as such.
Jsonb* output_json(std::optional<std::string_view> output) {
    if (!output) {
        return nullptr;
    }
    if (core::json::parse(*output) && core::json::fits_jsonb(*output)) {
        return DatumGetJsonbP(pg::jsonb_datum(*output));
    }
    StringInfo quoted = makeStringInfo();
    append_json(quoted, *output);
    return DatumGetJsonbP(pg::jsonb_datum({quoted->data, static_cast<std::size_t>(quoted->len)}));
}

Found probe_task(const store::Hub& hub, const pg_uuid_t& id, MemoryContext memory) {
    constexpr int kState = 3;
    constexpr int kResult = 5;
    const char* name = copy_of(store::uuid_text(id), memory);
    Found found{};
    found.queue = {name, wakeups::Topic::kTask, name, store::task_channel(hub, name),
                   hub.shards != nullptr};
    const uint64 version = wakeups::queue_version(found.queue.channel);
    const auto rows = store::read_task_status(hub, id, pg::server_now_ms());
    if (rows.count == 0) {
        return found;
    }
    const auto row = rows[0];
    const auto state = std::get<kState>(row);
    found.exists = true;
    found.ended = core::is_terminal(state);
    found.answer = {copy_of(core::name_of(state), memory), copy_of(std::get<kResult>(row), memory)};
    wakeups::remember_empty(found.queue.channel, version);
    return found;
}

Found probe_instance(const store::Hub& hub, std::string_view id, MemoryContext memory) {
    constexpr int kStatus = 6;
    constexpr int kOutput = 7;
    const char* name = copy_of(id, memory);
    Found found{};
    found.queue = {name, wakeups::Topic::kInstance, name, store::instance_channel(hub, name),
                   hub.shards != nullptr};
    const uint64 version = wakeups::queue_version(found.queue.channel);
    const auto rows = store::instance_info(hub, id);
    if (rows.count == 0) {
        // Its start may be queued.
        found.exists = store::with_tables(
            hub, [id](store::Tables& tables) { return store::has_start(tables, id); });
        found.answer = {copy_of("running", memory), nullptr};
    } else {
        const auto row = rows[0];
        const std::string_view status = std::get<kStatus>(row);
        const auto& output = std::get<kOutput>(row);
        found.exists = true;
        found.ended = !is_running(status);
        char* state = pstrdup(pg::c_string(found.ended ? status : "running"));
        state[0] = static_cast<char>(pg_ascii_tolower(static_cast<unsigned char>(state[0])));
        found.answer = {
            copy_of(state, memory),
            found.ended ? copy_of(output_json(output ? std::optional(pg::text_view(output->value))
                                                     : std::nullopt),
                                  memory)
                        : nullptr};
    }
    wakeups::remember_empty(found.queue.channel, version);
    return found;
}

// Looks in the transaction that is open, with a snapshot of its own.
Found look(Oid schema, const AwaitedId& id, MemoryContext memory) {
    AcceptInvalidationMessages();
    PushActiveSnapshot(GetTransactionSnapshot());
    const store::Hub* hub = store::find_hub(schema, true);
    Found found{};
    if (hub == nullptr) {
        found.hub_gone = true;
    } else {
        found = pg::as_role(hub->owner, [hub, &id, memory] {
            return pg::with_spi([hub, &id, memory] {
                Found seen{};
                if (id.instance) {
                    seen = probe_instance(*hub, *id.instance, memory);
                }
                if (!seen.exists && id.task) {
                    seen = probe_task(*hub, *id.task, memory);
                }
                return seen;
            });
        });
    }
    PopActiveSnapshot();
    return found;
}

[[noreturn]] void raise_unknown(const AwaitedId& id) {
    if (id.instance) {
        raise_unknown_instance(
            psprintf("%s \"%s\" does not exist",
                     id.task ? "task or orchestration instance" : "orchestration instance",
                     pg::excerpt(*id.instance)),
            *id.instance);
    }
    raise_no_task(*id.task);
}

[[noreturn]] void raise_deleted(std::string_view id) {
    pg::raise(pg::kNotFound,
              psprintf("\"%s\" was deleted while its result was awaited", pg::excerpt(id)),
              pg::Facts("deleted").add("id", id),
              "Read the events of the hub, if it has a subscription.");
}

}  // namespace

AwaitedResult await_result(store::Tables& tables, const AwaitedId& id, int64 timeout_ms,
                           MemoryContext memory) {
    const Oid schema = tables.hub.schema;
    const int64 end = core::add_ms(pg::server_now_ms(), timeout_ms);
    bool seen = false;
    while (true) {
        const Found found = look(schema, id, memory);
        if (found.hub_gone) {
            (void)store::find_hub(schema);  // raises if it is elsewhere
            ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                            errmsg("the hub was dropped while its result was awaited")));
        }
        if (!found.exists && seen) {
            raise_deleted(found.queue.name);
        }
        if (!found.exists) {
            raise_unknown(id);
        }
        seen = true;
        const int64 left = end - pg::server_now_ms();
        if (found.ended || left <= 0) {
            return found.answer;
        }
        const bool told = wakeups::queue_version(found.queue.channel) != 0;
        const store::Hub* now = store::find_hub(schema, true);
        if (now != nullptr) {
            (void)wait_for_work(*now, {&found.queue, 1}, told ? left : std::min(left, kPollMs));
        }
    }
}

}  // namespace belay::ops
