// The list of gaps of one stream: gaps are added, joined, cut and, when it is full, forgotten.
//
// Touches  the list that it is given
// Must not say of a place that it is empty unless that was added
#include "core/gaps.hpp"

#include <algorithm>

namespace belay::core {

namespace {

uint32_t sum_of(uint32_t a, uint32_t b) {
    return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

void remove_at(Gaps* gaps, int at) {
    std::copy(gaps->list + at + 1, gaps->list + gaps->count, gaps->list + at);
    --gaps->count;
}

void insert_at(Gaps* gaps, int at, const Gap& gap) {
    std::copy_backward(gaps->list + at, gaps->list + gaps->count, gaps->list + gaps->count + 1);
    gaps->list[at] = gap;
    ++gaps->count;
}

}  // namespace

void Gaps::add(const Gap& gap) {
    Gap whole = gap;
    bool grown = false;
    for (int i = 0; i < count;) {
        const Gap& known = list[i];
        if (known.from < whole.to && whole.from < known.to) {
            whole = {std::min(known.from, whole.from), std::max(known.to, whole.to),
                     sum_of(known.dead, whole.dead)};
            grown = true;
            remove_at(this, i);
        } else {
            ++i;
        }
    }
    if (!grown && whole.dead < kLeast) {
        return;
    }
    if (count == kMost) {
        const Gap* least = std::min_element(
            list, list + count, [](const Gap& a, const Gap& b) { return a.dead < b.dead; });
        if (least->dead >= whole.dead) {
            return;
        }
        remove_at(this, static_cast<int>(least - list));
    }
    int at = 0;
    while (at < count && list[at].from < whole.from) {
        ++at;
    }
    insert_at(this, at, whole);
}

void Gaps::cut(const PlaceRange& range) {
    for (int i = 0; i < count;) {
        const Gap gap = list[i];
        if (!gap.meets(range)) {
            ++i;
            continue;
        }
        const Gap left{gap.from, range.first, gap.dead / 2};
        const Gap right{range.last, gap.to, gap.dead - gap.dead / 2};
        const bool has_left = left.from < left.to;
        const bool has_right = right.from < right.to;
        if (has_left && has_right && count < kMost) {
            list[i] = left;
            insert_at(this, i + 1, right);
            i += 2;
        } else if (has_left) {
            list[i++] = left;
        } else if (has_right) {
            list[i++] = right;
        } else {
            remove_at(this, i);
        }
    }
}

}  // namespace belay::core
