// Sums and differences of histograms, and their percentiles.
//
// May touch: nothing. Must not: know the bounds of the buckets, which the server returns.
#include "latency.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace belay::tool::dashboard {

namespace {

void add(std::vector<std::int64_t>& sum, const std::vector<std::int64_t>& part) {
    sum.resize(std::max(sum.size(), part.size()));
    std::ranges::transform(part, sum, sum.begin(), std::plus<>());
}

std::int64_t percentile(const std::vector<std::int64_t>& buckets,
                        const std::vector<std::int64_t>& bounds, std::int64_t total, double part) {
    const double rank = part * static_cast<double>(total);
    double below = 0;
    for (std::size_t i = 0; i < bounds.size(); ++i) {
        const auto here = static_cast<double>(buckets[i]);
        if (here > 0 && below + here >= rank) {
            const auto from = static_cast<double>(i == 0 ? 0 : bounds[i - 1]);
            return std::llround(from +
                                (static_cast<double>(bounds[i]) - from) * (rank - below) / here);
        }
        below += here;
    }
    return bounds.back();
}

}  // namespace

Durations durations_of(const Json& glance) {
    Durations durations;
    for (const auto& queue : glance["queues"]) {
        const Json of_queue = queue.value("durations", Json());
        // Null: nothing is counted.
        if (of_queue.is_object()) {
            for (const auto& [what, histogram] : of_queue.items()) {
                add(durations[what], histogram["buckets"].get<std::vector<std::int64_t>>());
            }
        }
    }
    return durations;
}

Durations durations_since(const Durations& before, const Durations& now) {
    Durations since;
    for (const auto& [what, counts] : now) {
        const auto found = before.find(what);
        if (found == before.end() || found->second.size() != counts.size()) {
            continue;
        }
        auto& part = since[what] = counts;
        if (std::ranges::equal(counts, found->second, std::greater_equal<>())) {
            std::ranges::transform(counts, found->second, part.begin(), std::minus<>());
        }
    }
    return since;
}

void add(Durations& sum, const Durations& part) {
    for (const auto& [what, counts] : part) {
        add(sum[what], counts);
    }
}

Json latency(const Durations& durations, const std::string& what,
             const std::vector<std::int64_t>& bounds) {
    const auto found = durations.find(what);
    if (found == durations.end() || bounds.empty() || found->second.size() != bounds.size() + 1) {
        return nullptr;
    }
    const auto& buckets = found->second;
    const std::int64_t total = std::accumulate(buckets.begin(), buckets.end(), std::int64_t{0});
    const auto at = [&](double part) {
        return total == 0 ? Json(nullptr) : Json(percentile(buckets, bounds, total, part));
    };
    return {{"p50", at(0.5)}, {"p95", at(0.95)}, {"p99", at(0.99)}, {"buckets", buckets}};
}

}  // namespace belay::tool::dashboard
