// lanes.cpp — settings of lanes.
//
// Calls    store::lock_lane, store::update_lane, store::insert_limit, store::update_limit
// Touches  <hub>.lanes; for limits <hub>.lane_limits, <hub>.lane_returns, <hub>.belay_hub
// Locks    the lane; for limits first the hub row, and for the first ones of a lane table tasks
//          against writers
// Raises   QB006, 0A000, 55000 limits in a hub of an older release
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "ops/enter.hpp"
#include "ops/task/task.hpp"
#include "pg/datum.hpp"
#include "pg/errors.hpp"
#include "store/hub_row.hpp"
#include "store/lanes.hpp"
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
                      "paused is true or false, policy an object, retention_ms a number of "
                      "milliseconds, concurrency a number of tasks, rate_per_s and burst are "
                      "positive numbers; null restores the default.");
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

// What set_lane says of limits.
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
core::LaneLimit lay_over(const LimitSettings& settings,
                         const std::optional<core::LaneLimit>& before, int64 now) {
    core::LaneLimit after = before.value_or(core::LaneLimit{.concurrency = std::nullopt,
                                                            .rate_per_s = std::nullopt,
                                                            .burst = 1,
                                                            .tokens = 0,
                                                            .refilled_at = now,
                                                            .active = 0,
                                                            .returned = 0});
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

// The first limits of a lane need the number of its active tasks, and everybody who ends one from
// now on has to know.
void begin_limits(const store::Hub& hub) {
    if (IsolationUsesXactSnapshot()) {
        ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                        errmsg("a lane can get limits only in a READ COMMITTED transaction"),
                        errdetail("An older snapshot does not see every active task.")));
    }
    LockRelationOid(hub.relations.tasks, ShareRowExclusiveLock);
}

void set_limits(const store::Hub& hub, std::string_view lane, const LimitSettings& settings) {
    const int64 now = pg::server_now_ms();
    const auto before = store::lock_limit(hub, lane);
    const auto after = lay_over(settings, before, now);
    if (settings.burst && *settings.burst && !after.rate_per_s) {
        pg::raise_invalid("missing_field", "p_settings.rate_per_s",
                          "a burst without a rate means nothing",
                          "Set rate_per_s, or leave burst out.");
    }
    const bool wanted = after.concurrency || after.rate_per_s;
    if (wanted && before) {
        store::update_limit(hub, lane, after);
    } else if (wanted) {
        store::insert_limit(hub, lane, after);
    } else if (before) {
        store::delete_limit(hub, lane);
    }
}

}  // namespace

void set_lane(const store::Hub& hub, std::string_view lane, json::Value settings) {
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
        require_table(hub, hub.relations.lane_limits, "limits of lanes");
        store::lock_hub_row(hub);
        if (!store::read_limit(hub, lane)) {
            begin_limits(hub);
        }
    }
    store::Lane row = store::lock_lane(hub, lane, pg::server_now_ms());
    if (limits.any()) {
        set_limits(hub, lane, limits);
    }
    if (paused) {
        row.paused = json::as_bool(*paused).value_or(false);
    }
    if (policy) {
        row.policy = policy_value;
    }
    if (retention) {
        row.retention_ms = retention_ms;
    }
    store::update_lane(hub, lane, row);
}

void set_lane_paused(const store::Hub& hub, std::string_view lane, bool paused) {
    store::Lane row = store::lock_lane(hub, lane, pg::server_now_ms());
    row.paused = paused;
    store::update_lane(hub, lane, row);
}

}  // namespace belay::ops
