// Gaps of a queue: stretches of its order in which no live row lies.
//
// A gap is open at both ends: it does not include the two places that bound it. Gaps are in order
// and do not overlap. What is forgotten of them costs time and nothing else; what they say must be
// true.
#pragma once

#include <compare>
#include <cstdint>

namespace belay::core {

// A place in the order of a queue: the columns of its claim index behind those that name the
// stream, each as a number that sorts as the column does.
struct QueuePlace {
    uint64_t parts[4];

    auto operator<=>(const QueuePlace&) const = default;
};
inline constexpr QueuePlace kQueueStart{};  // no row lies there

constexpr uint64_t ordered(int64_t value) {
    return static_cast<uint64_t>(value) ^ uint64_t { 1 } << 63;
}
constexpr int64_t unordered(uint64_t part) {
    return static_cast<int64_t>(part ^ uint64_t{1} << 63);
}

// Places from the first to the last, both of them included.
struct PlaceRange {
    QueuePlace first;
    QueuePlace last;
};

struct Gap {
    QueuePlace from;
    QueuePlace to;
    uint32_t dead;  // about how many dead entries it saves a walk

    bool holds(const QueuePlace& place) const { return from < place && place < to; }
    bool meets(const PlaceRange& range) const { return from < range.last && range.first < to; }
};

struct Gaps {
    static constexpr int kMost = 48;
    // Fewer dead entries are not worth a gap: it costs a walk a descent of the index.
    static constexpr uint32_t kLeast = 16;

    int count;
    Gap list[kMost];

    // Adds what is known to be empty; gaps that overlap become one. One that saves too little is
    // left out, and so is the least of all if there is no room.
    void add(const Gap& gap);

    // Live rows may lie in the range from now on.
    void cut(const PlaceRange& range);
};

}  // namespace belay::core
