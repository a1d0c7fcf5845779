// Entry functions of the front door: decode, call the operation, encode.
#include "ops/front_door/front_door.hpp"

#include "entry/answers.hpp"
#include "entry/front_door_call.hpp"
#include "entry/verbs.hpp"
#include "pg/async_commit.hpp"
#include "pg/datum.hpp"
#include "pg/jsonb.hpp"

namespace belay::entry {

namespace {

constexpr std::size_t kMaxPayloads = 10000;

Jsonb* json_null() {
    return DatumGetJsonbP(pg::jsonb_datum("null"));
}

std::string_view required_queue(const Call& call, int i) {
    const auto queue = call.text(i);
    if (!queue) {
        refuse_null_argument("queue", "Pass the name of a queue.");
    }
    return ops::checked_word("queue", *queue, ops::kMaxQueue);
}

// ---- Sending ----

// The arguments that send and send_many share, from kind on; the key comes second.
ops::SendRequest send_request(const Call& call) {
    ops::SendRequest request{.queue = required_queue(call, 0),
                             .kind = call.text(2),
                             .delay_ms = optional_span(call, 4, "delay").value_or(0),
                             .at = optional_time(call, 5, "at"),
                             .priority = required_int4(call, 6, "priority"),
                             .policy = call.jsonb(7),
                             .headers = call.jsonb(8)};
    if (call.has(4) && call.has(5)) {
        pg::raise_invalid("both_given", "at", "delay and at cannot both be given",
                          "Pass one of the two.");
    }
    return request;
}

// ---- Receiving ----

void add_received(const Call::Set& set, const ops::Received& received) {
    for (std::size_t i = 0; i < received.claimed.tasks.size(); ++i) {
        const ReceivedColumns columns = received_columns(received, i);
        set.add(columns.values, columns.nulls);
    }
}

Datum receive_from(const Call& call, Queues form) {
    const auto request = receive_request(call, 0, form, "lease");
    auto clock = call.clock();
    const auto set = call.set();
    add_received(set, ops::receive(call.tables, request, &clock));
    return call.nothing();
}

core::TaskLease required_lease(const Call& call, int i) {
    const auto text = call.text(i);
    if (!text) {
        refuse_null_argument("lease", "Pass the column lease of receive.");
    }
    return ops::checked_lease_text(call.tables, *text);
}

Datum complete_and_receive_from(const Call& call, Queues form) {
    const auto lease = required_lease(call, 0);
    Jsonb* result = ops::checked_body(call.tables, "result", call.jsonb(1));
    const auto request = receive_request(call, 2, form, "lease_for");
    auto clock = call.unchecked_clock();
    const auto set = call.set();
    add_received(set, ops::complete_and_receive(call.tables, lease, result, request, &clock));
    return call.nothing();
}

}  // namespace

Datum send(const Call& call) {
    const auto request = send_request(call);
    const ops::SentPayload payload{.path = "payload",
                                   .key_path = "key",
                                   .payload = call.has(1) ? call.jsonb(1) : json_null(),
                                   .key = call.text(3)};
    auto clock = call.clock();
    const pg_uuid_t id = ops::send(call.tables, request, {&payload, 1}, &clock)[0].id;
    auto* answer = static_cast<pg_uuid_t*>(MemoryContextAlloc(call.result_memory, sizeof id));
    *answer = id;
    return UUIDPGetDatum(answer);
}

Datum send_many(const Call& call) {
    const auto request = send_request(call);
    if (!call.has(1)) {
        refuse_null_argument("payloads", "Pass an array of jsonb.");
    }
    Datum* values = nullptr;
    bool* nulls = nullptr;
    int count = 0;
    ArrayType* array = DatumGetArrayTypeP(call.fcinfo->args[1].value);
    ops::check_elements("payloads",
                        static_cast<std::size_t>(ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array))),
                        kMaxPayloads);
    deconstruct_array(array, JSONBOID, -1, false, TYPALIGN_INT, &values, &nulls, &count);
    const auto keys = call.texts(3, "keys");
    if (call.has(3) && keys.size() != static_cast<std::size_t>(count)) {
        pg::raise(pg::kInvalidArgument, "keys and payloads must have the same length",
                  pg::Facts("bad_value")
                      .add("path", "keys")
                      .add("keys", static_cast<int64>(keys.size()))
                      .add("payloads", count),
                  "Pass one key for each payload; an element that is NULL means no key.");
    }
    auto* payloads = static_cast<ops::SentPayload*>(
        palloc(sizeof(ops::SentPayload) * (static_cast<std::size_t>(count) + 1)));
    for (int i = 0; i < count; ++i) {
        const char* path = psprintf("payloads[%d]", i);
        if (nulls[i]) {
            refuse_null_argument(path, "Pass JSON null for an empty payload.");
        }
        const auto at = static_cast<std::size_t>(i);
        payloads[i] = {.path = path,
                       .key_path = psprintf("keys[%d]", i),
                       .payload = DatumGetJsonbP(values[i]),
                       .key = keys.empty() || keys[at] == 0
                                  ? std::nullopt
                                  : std::optional(pg::text_view(keys[at]))};
    }
    auto clock = call.clock();
    const auto set = call.set();
    const bool no_null[] = {false};
    for (const auto& task :
         ops::send(call.tables, request, {payloads, static_cast<std::size_t>(count)}, &clock)) {
        const Datum id[] = {UUIDPGetDatum(&task.id)};
        set.add(id, no_null);
    }
    return call.nothing();
}

Datum receive(const Call& call) {
    return receive_from(call, Queues::kMany);
}

Datum receive_one_queue(const Call& call) {
    return receive_from(call, Queues::kOne);
}

Datum complete_and_receive(const Call& call) {
    return complete_and_receive_from(call, Queues::kMany);
}

Datum complete_and_receive_one_queue(const Call& call) {
    return complete_and_receive_from(call, Queues::kOne);
}

Datum extend(const Call& call) {
    const auto lease = required_lease(call, 0);
    const int64 by = ops::checked_lease("by", required_interval(call, 1, "by"));
    auto clock = call.unchecked_clock();
    pg::begin_lease_write();
    const int64 until = ops::extend(call.tables, lease, by, &clock);
    pg::end_lease_write();
    return time_datum(until);
}

Datum complete(const Call& call) {
    const auto lease = required_lease(call, 0);
    Jsonb* result = ops::checked_body(call.tables, "result", call.jsonb(1));
    auto clock = call.unchecked_clock();
    ops::complete(call.tables, lease, result, &clock);
    return call.nothing();
}

Datum fail(const Call& call) {
    const auto lease = required_lease(call, 0);
    const auto error = call.text(1);
    if (!error) {
        refuse_null_argument("error", "Pass a message that tells what went wrong.");
    }
    const auto retry_in = optional_span(call, 2, "retry_in");
    const auto word = call.text(3);
    if (!word) {
        refuse_null_argument("class", kClassHint);
    }
    const auto failure_class = core::parse_failure_class(*word);
    if (!failure_class) {
        pg::raise(pg::kInvalidArgument, psprintf("unrecognized class \"%s\"", pg::excerpt(*word)),
                  pg::Facts("bad_value").add("path", "class").add("value", ops::clip(*word, 64)),
                  kClassHint);
    }
    auto clock = call.unchecked_clock();
    const auto next =
        ops::fail(call.tables, lease,
                  {*failure_class, ops::clip(*error, ops::kMaxMessage), nullptr}, retry_in, &clock);
    return next ? time_datum(*next) : call.null();
}

Datum release(const Call& call) {
    const auto lease = required_lease(call, 0);
    const int64 delay = optional_span(call, 1, "delay").value_or(0);
    auto clock = call.unchecked_clock();
    ops::release(call.tables, lease, delay, &clock);
    return call.nothing();
}

Datum progress(const Call& call) {
    const auto lease = required_lease(call, 0);
    ops::ProgressReport report{};
    if (call.has(1)) {
        report.percent = ops::checked_percent("percent", call.fcinfo->args[1].value);
    }
    if (const auto message = call.text(2)) {
        report.message = ops::clip(*message, ops::kMaxMessage);
    }
    report.checkpoint = ops::checked_body(call.tables, "checkpoint", call.jsonb(3));
    auto clock = call.unchecked_clock();
    ops::progress(call.tables, lease, report, &clock);
    return call.nothing();
}

Datum cancel(const Call& call) {
    const pg_uuid_t id = required_task(call, 0);
    const auto reason = ops::clip(call.text(1).value_or(""), ops::kMaxMessage);
    auto clock = call.unchecked_clock();
    return BoolGetDatum(ops::cancel(call.tables, id, reason, &clock));
}

Datum retry(const Call& call) {
    const pg_uuid_t id = required_task(call, 0);
    auto clock = call.unchecked_clock();
    ops::retry(call.tables, id, &clock);
    return call.nothing();
}

Datum status(const Call& call) {
    constexpr int kKind = 2;
    constexpr int kFirstTime = 11;
    const pg_uuid_t id = required_task(call, 0);
    const auto clock = call.clock();
    const auto rows = ops::status(call.tables, id, clock);
    constexpr int kColumns = static_cast<int>(rows.kTypes.size());
    if (rows.count == 0) {
        return call.null();
    }
    call.prepare_row();
    Datum values[kColumns];
    bool nulls[kColumns];
    rows.get(0, values, nulls);
    nulls[kKind] = nulls[kKind] || pg::text_view(values[kKind]).empty();
    for (int i = kFirstTime; i < kColumns; ++i) {
        values[i] = nulls[i] ? 0 : time_datum(DatumGetInt64(values[i]));
    }
    return call.one_row(values, nulls);
}

}  // namespace belay::entry
