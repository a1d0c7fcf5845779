// Time zones by name, as the server knows them.
#pragma once

#include "core/cron.hpp"
#include "pg/pg.hpp"

namespace belay::pg {

struct TimeZone {
    pg_tz* zone;

    // What a clock there shows at an instant, in ms.
    core::LocalTime local(int64 ms) const;
    // When a clock there shows that. A time that is left out when clocks go forward is taken as if
    // they had not; of one that comes twice it is the second.
    int64 utc(const core::LocalTime& local) const;
};

// No value if there is no such zone.
std::optional<TimeZone> find_time_zone(std::string_view name);

}  // namespace belay::pg
