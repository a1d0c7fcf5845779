// Queues: the front door of tasks.
#include "belay/queue.hpp"

#include "rows.hpp"

namespace belay {
namespace {

constexpr const char* kReceivedColumns =
    "id, queue, kind, payload, headers, attempt, lease, " BELAY_MS("lease_until") ", " BELAY_MS(
        "deadline") ", checkpoint, signals, upstream";

void read_received(Reader& from, Received& to) {
    OptionalText kind;
    std::string lease;
    std::optional<Json> payload;
    std::optional<Json> headers;
    std::optional<Json> checkpoint;
    std::optional<Json> signals;
    std::optional<Json> upstream;
    from >> to.id >> to.queue >> kind >> payload >> headers >> to.attempt >> lease >>
        to.lease_until >> to.deadline >> checkpoint >> signals >> upstream;
    to.kind = kind.value_or("");
    to.lease = Lease(std::move(lease));
    to.payload = payload.value_or(nullptr);
    to.headers = headers.value_or(Json::object());
    to.checkpoint = checkpoint.value_or(nullptr);
    to.signals = signals.value_or(Json::array());
    to.upstream = upstream.value_or(Json::array());
}

// A number of milliseconds as an interval.
std::string interval(int parameter) {
    return "$" + std::to_string(parameter) + " * interval '1 ms'";
}

}  // namespace

// ---- Policies and settings. ----

Backoff Backoff::fixed(Milliseconds delay, double jitter) {
    return {{{"kind", "fixed"}, {"delay_ms", delay.count()}, {"jitter", jitter}}};
}

Backoff Backoff::exponential(Milliseconds initial, Milliseconds most, double multiplier,
                             double jitter) {
    return {{{"kind", "exponential"},
             {"initial_ms", initial.count()},
             {"max_ms", most.count()},
             {"multiplier", multiplier},
             {"jitter", jitter}}};
}

Json TaskPolicy::json() const {
    Json object = Json::object();
    put(object, "max_attempts", max_attempts);
    put(object, "attempt_timeout_ms", count_of(attempt_timeout));
    put(object, "on_lease_expiry", text_of(on_lease_expiry));
    put(object, "max_reclaims", max_reclaims);
    put(object, "max_replays", max_replays);
    put(object, "max_signals", max_signals);
    if (retryable) {
        object["retryable"] = Json::array();
        for (const auto failure_class : *retryable) {
            object["retryable"].push_back(text_of(failure_class));
        }
    }
    if (backoff) {
        object["backoff"] = backoff->json;
    }
    return object;
}

Json QueueSettings::json() const {
    Json object = Json::object();
    put(object, "paused", paused);
    put(object, "retention_ms", count_of(retention));
    put(object, "concurrency", concurrency);
    put(object, "rate_per_s", rate_per_s);
    put(object, "burst", burst);
    if (policy) {
        object["policy"] = policy->json();
    }
    return object;
}

// ---- Sending. ----

Uuid Queue::send(const Json& payload, const SendOptions& options, Where where) {
    return hub_
        ->query_at_clock(options.key_ ? Effect::kRepeatable : Effect::kWrite,
                         "SELECT " + hub_->schema() + ".send($1, $2, $3, $4, " + interval(5) +
                             ", to_timestamp($6 / 1000.0), $7, $8, $9)",
                         {name_, payload, options.kind_, options.key_, count_of(options.delay_),
                          options.at_, options.priority_, options.policy_, options.headers_},
                         where)
        .get<Uuid>(0, 0);
}

std::vector<Uuid> Queue::send_many(const std::vector<Json>& payloads, const SendOptions& options,
                                   const std::optional<std::vector<std::string>>& keys,
                                   Where where) {
    std::vector<JsonText> texts;
    texts.reserve(payloads.size());
    for (const auto& payload : payloads) {
        texts.push_back({dumped(payload, where)});
    }
    return send_texts(texts, options, keys, where);
}

std::vector<Uuid> Queue::send_texts(const std::vector<JsonText>& texts, const SendOptions& options,
                                    const std::optional<std::vector<std::string>>& keys,
                                    Where where) {
    return first_column<Uuid>(
        hub_->query_at_clock(keys ? Effect::kRepeatable : Effect::kWrite,
                             "SELECT * FROM " + hub_->schema() + ".send_many($1, $2, $3, $4, " +
                                 interval(5) + ", to_timestamp($6 / 1000.0), $7, $8, $9)",
                             {name_, texts, options.kind_, keys, count_of(options.delay_),
                              options.at_, options.priority_, options.policy_, options.headers_},
                             where));
}

Batch::Batch(Queue queue, std::size_t size, SendOptions options)
    : queue_(std::move(queue)), size_(size), options_(std::move(options)) {
    if (size < 1 || size > kMaxSize) {
        throw Error({.message = "the size of a batch must be from 1 to " + std::to_string(kMaxSize),
                     .sqlstate = "QB006"});
    }
}

void Batch::add(const Json& payload, Where where) {
    put(dumped(payload, where), std::nullopt, where);
}

void Batch::add(const Json& payload, std::string key, Where where) {
    put(dumped(payload, where), std::move(key), where);
}

void Batch::add_text(std::string payload, Where where) {
    put(std::move(payload), std::nullopt, where);
}

void Batch::put(std::string payload, std::optional<std::string> key, const Where& where) {
    // Tasks of the other kind, or those of a call that has failed.
    if (key.has_value() == keys_.empty() || payloads_.size() >= size_) {
        flush(where);
    }
    payloads_.push_back({std::move(payload)});
    if (key) {
        keys_.push_back(std::move(*key));
    }
    if (payloads_.size() >= size_) {
        flush(where);
    }
}

void Batch::flush(Where where) {
    if (payloads_.empty()) {
        return;
    }
    queue_.send_texts(payloads_, options_, keys_.empty() ? std::nullopt : std::optional(keys_),
                      where);
    sent_ += payloads_.size();
    payloads_.clear();
    keys_.clear();
}

// ---- Working. ----

std::vector<Received> Queue::receive(const ReceiveOptions& options, Where where) {
    return all_rows<Received>(
        hub_->query_at_clock(
            Effect::kRepeatable,
            "SELECT " + std::string(kReceivedColumns) + " FROM " + hub_->schema() +
                ".receive($1::text, $2, " + interval(3) + ", $4, $5)",
            {name_, options.max, count_of(options.lease), options.worker, options.capabilities},
            where),
        read_received);
}

void Queue::await(Milliseconds timeout, Where where) {
    hub_->check_can_wait(where);
    hub_->connection().call(Effect::kRepeatable,
                            "CALL " + hub_->schema() + ".await($1::text, " + interval(2) + ")",
                            {name_, count_of(timeout)}, where);
}

Time Queue::extend(const Lease& lease, Milliseconds by, Where where) {
    return hub_
        ->query_at_clock(Effect::kRepeatable,
                         "SELECT " BELAY_MS("t") " FROM " + hub_->schema() + ".extend($1, " +
                             interval(2) + ") AS t",
                         {lease.text(), count_of(by)}, where)
        .get<Time>(0, 0);
}

void Queue::progress(const Lease& lease, const Progress& progress, Where where) {
    hub_->query_at_clock(
        Effect::kRepeatable, "SELECT " + hub_->schema() + ".progress($1, $2::numeric, $3, $4)",
        {lease.text(), progress.percent, progress.message, progress.checkpoint}, where);
}

void Queue::complete(const Lease& lease, const std::optional<Json>& result, Where where) {
    try {
        hub_->query_at_clock(Effect::kAck, "SELECT " + hub_->schema() + ".complete($1, $2)",
                             {lease.text(), result}, where);
    } catch (const Error& error) {
        if (!was_done_before(error)) {
            throw;
        }
    }
}

std::vector<Received> Queue::complete_and_receive(const Lease& lease,
                                                  const std::optional<Json>& result,
                                                  const ReceiveOptions& options, Where where) {
    try {
        return all_rows<Received>(
            hub_->query_at_clock(
                Effect::kAck,
                "SELECT " + std::string(kReceivedColumns) + " FROM " + hub_->schema() +
                    ".complete_and_receive($1, $2, $3::text, $4, " + interval(5) + ", $6, $7)",
                {lease.text(), result, name_, options.max, count_of(options.lease), options.worker,
                 options.capabilities},
                where),
            read_received);
    } catch (const Error& error) {
        if (!was_done_before(error)) {
            throw;
        }
        return {};  // what the first run has received is unknown here: its leases lapse
    }
}

OptionalTime Queue::fail(const Lease& lease, std::string_view error,
                         std::optional<Milliseconds> retry_in, FailureClass failure_class,
                         Where where) {
    return hub_
        ->query_at_clock(Effect::kAck,
                         "SELECT " BELAY_MS("t") " FROM " + hub_->schema() + ".fail($1, $2, " +
                             interval(3) + ", $4) AS t",
                         {lease.text(), error, count_of(retry_in), text_of(failure_class)}, where)
        .get<OptionalTime>(0, 0);
}

void Queue::release(const Lease& lease, std::optional<Milliseconds> delay, Where where) {
    hub_->query_at_clock(Effect::kGiveBack,
                         "SELECT " + hub_->schema() + ".release($1, " + interval(2) + ")",
                         {lease.text(), count_of(delay)}, where);
}

// ---- Settings. ----

void Queue::set(const QueueSettings& settings, Where where) {
    set_json(settings.json(), where);
}

void Queue::set_json(const Json& settings, Where where) {
    hub_->call(Effect::kRepeatable, kAll, "set_queue", {name_, settings}, where);
}

void Queue::pause(Where where) {
    hub_->call(Effect::kRepeatable, kAll, "pause_queue", {name_}, where);
}

void Queue::resume(Where where) {
    hub_->call(Effect::kRepeatable, kAll, "resume_queue", {name_}, where);
}

std::vector<QueueDepth> Queues::depths(Where where) {
    return all_rows<QueueDepth>(
        hub().query(Effect::kRepeatable,
                    "SELECT queue, paused, ready, delayed, blocked, active, suspended, "
                    "overdue_leases, oldest_ready_age_ms FROM " +
                        hub().schema() + ".queue_depths ORDER BY queue",
                    {}, where),
        [](Reader& from, QueueDepth& to) {
            from >> to.queue >> to.paused >> to.ready >> to.delayed >> to.blocked >> to.active >>
                to.suspended >> to.overdue_leases >> to.oldest_ready_age;
        });
}

}  // namespace belay
