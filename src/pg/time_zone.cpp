// Local times of a zone, by the server's own tables.
//
// Touches  the server's cache of time zones
// Must not take a zone that the server itself refuses (one with leap seconds)
#include "pg/time_zone.hpp"

#include "pg/errors.hpp"

namespace belay::pg {

namespace {

constexpr int64 kSecondMs = 1000;
constexpr int64 kDaySeconds = 24 * 3600;

}  // namespace

// A search for times asks this at every step: there it can be cancelled.
core::LocalTime TimeZone::local(int64 ms) const {
    CHECK_FOR_INTERRUPTS();
    const pg_time_t seconds = ms / kSecondMs - (ms % kSecondMs < 0 ? 1 : 0);
    const pg_tm* shown = pg_localtime(&seconds, zone);
    if (shown == nullptr) {
        ereport(ERROR, (errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
                        errmsg("a time of a schedule is out of range")));
    }
    return {
        {shown->tm_year + 1900, shown->tm_mon + 1, shown->tm_mday}, shown->tm_hour, shown->tm_min};
}

int64 TimeZone::utc(const core::LocalTime& local) const {
    pg_tm shown{};
    shown.tm_year = local.date.year;
    shown.tm_mon = local.date.month;
    shown.tm_mday = local.date.day;
    shown.tm_hour = local.hour;
    shown.tm_min = local.minute;
    const int west = DetermineTimeZoneOffset(&shown, zone);
    return (core::days_of(local.date) * kDaySeconds + local.hour * int64{3600} +
            local.minute * int64{60} + west) *
           kSecondMs;
}

std::optional<TimeZone> find_time_zone(std::string_view name) {
    if (name.empty() || name.size() > TZ_STRLEN_MAX) {
        return std::nullopt;
    }
    pg_tz* zone = pg_tzset(c_string(name));
    return zone != nullptr && pg_tz_acceptable(zone) ? std::optional(TimeZone{zone}) : std::nullopt;
}

}  // namespace belay::pg
