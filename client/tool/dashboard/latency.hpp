// How long things waited and ran, from the counts of buckets that the server keeps.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "print.hpp"

namespace belay::tool::dashboard {

// Counts of buckets by the name of what is measured: wait, run. Not there: not measured.
using Durations = std::map<std::string, std::vector<std::int64_t>>;

// The durations of all queues of a glance, since the statistics were reset.
Durations durations_of(const Json& glance);

// What happened between two samples. If a count has gone down, the statistics were reset, and what
// was counted since is all that is known.
Durations durations_since(const Durations& before, const Durations& now);

void add(Durations& sum, const Durations& part);

// Percentiles and buckets for the page, null if nothing was measured. Bounds are those of the
// buckets, inclusive; the last bucket has none. A percentile lies within its bucket as if the
// durations of the bucket were spread evenly; that of the last bucket is its lower bound.
Json latency(const Durations& durations, const std::string& what,
             const std::vector<std::int64_t>& bounds);

}  // namespace belay::tool::dashboard
