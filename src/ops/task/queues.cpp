// queues.cpp — settings of queues.
//
// Calls    store::lock_queue, store::update_queue, store::insert_limit, store::update_limit
// Touches  <hub>.queues, <hub>.outbox_events; for limits <hub>.queue_limits, <hub>.queue_moves,
//          <hub>.belay_hub
// Locks    the queue; for limits first the hub row, and for the first ones of a queue table tasks
//          against writers
// Raises   QB006, QB018 altered table, 0A000
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/hash.hpp"
#include "ops/audit.hpp"
#include "ops/enter.hpp"
#include "ops/task/task.hpp"
#include "pg/datum.hpp"
#include "pg/errors.hpp"
#include "pg/once.hpp"
#include "store/hub_row.hpp"
#include "store/queues.hpp"
#include "store/limits.hpp"

namespace belay::ops {

namespace {

namespace json = core::json;

constexpr const char* kSettings[] = {"paused",      "policy",     "retention_ms",
                                     "concurrency", "rate_per_s", "burst"};
constexpr int64 kMostPlaces = 1'000'000;
constexpr double kLeastRate = 1e-6;
constexpr double kMostRate = 1e6;

[[noreturn]] void refuse(const char* code, const char* path) {
    pg::raise_invalid(code, path, psprintf("%s has a value that is not allowed", path),
                      "Pass true or false for paused, an object for policy, milliseconds for "
                      "retention_ms, a number of tasks for concurrency, positive numbers for "
                      "rate_per_s and burst, or null for the default.");
}

// A number within bounds, null for none; no value if the key is not there.
std::optional<std::optional<double>> read_number(json::Value settings, const char* member,
                                                 double least, double most) {
    const auto value = json::find(settings, member);
    if (!value) {
        return std::nullopt;
    }
    if (value->kind == json::Kind::kNull) {
        return std::optional<double>();
    }
    const char* path = psprintf("p_settings.%s", member);
    if (value->kind != json::Kind::kNumber) {
        refuse("wrong_type", path);
    }
    const double number = strtod(pg::c_string(value->text), nullptr);
    if (!(number >= least && number <= most)) {
        refuse("out_of_range", path);
    }
    return std::optional(number);
}

// What set_queue says of limits.
struct LimitSettings {
    std::optional<std::optional<double>> concurrency;
    std::optional<std::optional<double>> rate_per_s;
    std::optional<std::optional<double>> burst;

    bool any() const { return concurrency || rate_per_s || burst; }
};

LimitSettings read_limits(json::Value settings) {
    LimitSettings limits{
        .concurrency = read_number(settings, "concurrency", 0, static_cast<double>(kMostPlaces)),
        .rate_per_s = read_number(settings, "rate_per_s", kLeastRate, kMostRate),
        .burst = read_number(settings, "burst", 1, kMostRate)};
    if (limits.concurrency && *limits.concurrency &&
        **limits.concurrency != std::floor(**limits.concurrency)) {
        refuse("wrong_type", "p_settings.concurrency");
    }
    return limits;
}

// The settings laid over what was there.
core::QueueLimit lay_over(const LimitSettings& settings,
                          const std::optional<core::QueueLimit>& before, int64 now) {
    core::QueueLimit after = before.value_or(core::QueueLimit{.concurrency = std::nullopt,
                                                              .rate_per_s = std::nullopt,
                                                              .burst = 1,
                                                              .tokens = 0,
                                                              .refilled_at = now,
                                                              .active = 0});
    const bool had_rate = after.rate_per_s.has_value();
    after.tokens = core::tokens_at(after, now);
    after.refilled_at = std::max(after.refilled_at, now);
    if (settings.concurrency) {
        after.concurrency = *settings.concurrency
                                ? std::optional(static_cast<int64>(**settings.concurrency))
                                : std::nullopt;
    }
    if (settings.rate_per_s) {
        after.rate_per_s = *settings.rate_per_s;
    }
    // Without a word of its own a bucket holds what comes in a second.
    if (settings.burst ? !*settings.burst : settings.rate_per_s.has_value() && !had_rate) {
        after.burst = std::max(1.0, std::ceil(after.rate_per_s.value_or(1)));
    } else if (settings.burst) {
        after.burst = **settings.burst;
    }
    after.tokens = had_rate ? std::min(after.tokens, after.burst) : after.burst;
    return after;
}

// The first limits of a queue need the number of its active tasks, and every call that ends one
// from now on has to know.
void begin_limits(store::Tables& tables) {
    if (IsolationUsesXactSnapshot()) {
        ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                        errmsg("a queue can get limits only in a READ COMMITTED transaction"),
                        errdetail("An older snapshot does not see every active task.")));
    }
    LockRelationOid(tables.hub.relations.tasks, ShareRowExclusiveLock);
}

// Whether two settings of a queue are equal.
bool is_same(const store::TaskQueue& a, const store::TaskQueue& b) {
    const bool same_policy =
        (a.policy == nullptr) == (b.policy == nullptr) &&
        (a.policy == nullptr || compareJsonbContainers(&a.policy->root, &b.policy->root) == 0);
    return a.paused == b.paused && a.retention_ms == b.retention_ms && same_policy;
}

// Whether two limits allow the same, however much of them is used up.
bool is_same(const core::QueueLimit& a, const core::QueueLimit& b) {
    return a.concurrency == b.concurrency && a.rate_per_s == b.rate_per_s && a.burst == b.burst;
}

// True if they have changed.
bool set_limits(store::Tables& tables, std::string_view queue, const LimitSettings& settings) {
    const int64 now = pg::server_now_ms();
    const auto before = store::lock_limit(tables, queue);
    const auto after = lay_over(settings, before, now);
    if (settings.burst && *settings.burst && !after.rate_per_s) {
        pg::raise_invalid("missing_field", "p_settings.rate_per_s",
                          "p_settings.burst requires p_settings.rate_per_s",
                          "Set rate_per_s, or leave burst out.");
    }
    const bool wanted = after.concurrency || after.rate_per_s;
    if (wanted ? before && is_same(*before, after) : !before) {
        return false;
    }
    if (wanted && before) {
        store::update_limit(tables, queue, after);
    } else if (wanted) {
        store::insert_limit(tables, queue, after);
    } else {
        store::delete_limit(tables, queue);
    }
    return true;
}

void emit_changed(store::Tables& tables, std::string_view queue, std::string_view settings) {
    constexpr int kChanged = core::event_place("operator", "queue_changed");
    emit_operator_event(tables, {.event = kChanged,
                                 .subject = queue,
                                 .details = store::Details().add_json("settings", settings)});
}

}  // namespace

void set_queue(store::Tables& tables, std::string_view queue, json::Value settings) {
    check_members(settings, "p_settings", kSettings);
    const auto paused = json::find(settings, "paused");
    const auto policy = json::find(settings, "policy");
    const auto retention = json::find(settings, "retention_ms");
    const auto retention_ms = optional_int(settings, "retention_ms", "p_settings");
    if (paused && paused->kind != json::Kind::kBool && paused->kind != json::Kind::kNull) {
        refuse("wrong_type", "p_settings.paused");
    }
    if (retention_ms && *retention_ms < 0) {
        refuse("out_of_range", "p_settings.retention_ms");
    }
    Jsonb* policy_value = policy && policy->kind != json::Kind::kNull
                              ? DatumGetJsonbP(pg::jsonb_datum(policy->text))
                              : nullptr;
    check_policy("p_settings.policy", policy_value);
    const auto limits = read_limits(settings);
    if (limits.any()) {
        store::lock_hub_row(tables);
        if (!store::read_limit(tables, queue)) {
            begin_limits(tables);
        }
    }
    const store::TaskQueue before = store::lock_queue(tables, queue, pg::server_now_ms());
    store::TaskQueue row = before;
    const bool limits_changed = limits.any() && set_limits(tables, queue, limits);
    if (paused) {
        row.paused = json::as_bool(*paused).value_or(false);
    }
    if (policy) {
        row.policy = policy_value;
    }
    if (retention) {
        row.retention_ms = retention_ms;
    }
    // A change that changes nothing must not cost a version of the row: within one transaction the
    // next change has to walk over all of them. Sessions that wait have to hear of new limits.
    if (limits_changed || !is_same(row, before)) {
        store::update_queue(tables, queue, row);
        emit_changed(tables, queue, settings.text);
    }
}

void set_queue_paused(store::Tables& tables, std::string_view queue, bool paused) {
    store::TaskQueue row = store::lock_queue(tables, queue, pg::server_now_ms());
    if (row.paused == paused) {
        return;
    }
    row.paused = paused;
    store::update_queue(tables, queue, row);
    emit_changed(tables, queue, paused ? R"({"paused": true})" : R"({"paused": false})");
}

void notice_unused_queues(store::Tables& tables, std::span<const std::string_view> queues) {
    for (const auto queue : queues) {
        // The hub is part of the key: another one may have a queue of this name.
        const uint64 key = core::fnv1a64(queue) ^ (uint64{tables.hub.schema} << 32);
        if (pg::is_first(key) && !store::read_queue(tables, queue)) {
            ereport(NOTICE, (errmsg("queue \"%s\" of hub \"%s\" never had a task",
                                    pg::excerpt(queue), NameStr(tables.hub.name)),
                             errhint("Check the spelling, unless its first task is yet to come.")));
        }
    }
}

}  // namespace belay::ops
