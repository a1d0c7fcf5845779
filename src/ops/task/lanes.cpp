// lanes.cpp — settings of lanes.
//
// Calls    store::lock_lane, store::update_lane
// Touches  <hub>.lanes
// Locks    the lane
// Raises   QB006
#include "ops/task/task.hpp"
#include "pg/datum.hpp"
#include "pg/errors.hpp"
#include "store/lanes.hpp"

namespace belay::ops {

namespace {

namespace json = core::json;

constexpr const char* kSettings[] = {"paused", "policy", "retention_ms"};

[[noreturn]] void refuse(const char* code, const char* path) {
    pg::raise_invalid(code, path, psprintf("%s has a value that is not allowed", path),
                      "paused is true or false, policy an object, retention_ms a number of "
                      "milliseconds; null restores the default.");
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
    store::Lane row = store::lock_lane(hub, lane, pg::server_now_ms());
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
