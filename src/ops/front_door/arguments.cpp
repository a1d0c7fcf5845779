// arguments.cpp — intervals and leases as callers send them.
//
// Calls    core::interval_ms, core::decode_task_lease
// Touches  nothing
// Locks    nothing
// Raises   QB001 a text that is no lease, QB006 an interval out of range
#include "core/time.hpp"
#include "ops/front_door/front_door.hpp"
#include "shmem/counters.hpp"
#include "pg/errors.hpp"

namespace belay::ops {

namespace {

int64 ms_of(const Interval& span) {
    return core::interval_ms(span.month, span.day, span.time);
}

}  // namespace

std::optional<int64> span_ms(const Interval& span) {
    const int64 ms = ms_of(span);
    return ms < 0 || ms > kMaxSpanMs ? std::nullopt : std::optional(ms);
}

int64 checked_span(const char* path, const Interval& span) {
    const auto ms = span_ms(span);
    if (!ms) {
        pg::raise(pg::kInvalidArgument, psprintf("%s must be from 0 to 100 years", path),
                  pg::Facts("out_of_range").add("path", path).add("value_ms", ms_of(span)),
                  "Pass an interval such as '5 minutes'.");
    }
    return *ms;
}

int64 checked_lease(const char* path, const Interval& span) {
    const int64 ms = ms_of(span);
    if (ms < 1 || ms > core::kMaxLeaseMs) {
        pg::raise(pg::kInvalidArgument, psprintf("%s must be above 0 and at most 24 hours", path),
                  pg::Facts("out_of_range").add("path", path).add("value_ms", ms),
                  "Pass an interval such as '30 seconds', and extend the lease for longer work.");
    }
    return ms;
}

std::optional<core::TaskLease> decode_lease(store::Tables& tables, std::string_view text) {
    const auto lease = core::decode_task_lease(text);
    if (!lease) {
        counters::add(tables.hub.schema, counters::Queue::kTasks, counters::Counter::kLostLeases);
    }
    return lease;
}

core::TaskLease checked_lease_text(store::Tables& tables, std::string_view text) {
    const auto lease = decode_lease(tables, text);
    if (!lease) {
        pg::raise(pg::kLockLost, "lease is not a lease that receive returned",
                  pg::Facts(kMalformedLease)
                      .add("path", "lease")
                      .add("bytes", static_cast<int64>(text.size()))
                      .add_token("lease", text),
                  "Pass the column lease of receive unchanged.");
    }
    return *lease;
}

pg_uuid_t task_of(const core::TaskLease& lease) {
    pg_uuid_t id;
    static_assert(sizeof id.data == sizeof lease.task);
    memcpy(id.data, lease.task, sizeof id.data);
    return id;
}

Fence fence_of(const core::TaskLease& lease) {
    return {.epoch = lease.epoch, .override = false, .lease = &lease};
}

}  // namespace belay::ops
