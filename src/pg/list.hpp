// A list that grows, in the memory context that was current when it grew.
#pragma once

#include "pg/pg.hpp"

namespace belay::pg {

template <typename T>
struct List {
    static_assert(std::is_trivially_copyable_v<T>);

    T* items = nullptr;
    int count = 0;
    int size = 0;

    T& add(const T& item) {
        if (count == size) {
            const T copy = item;  // it may be an element of this list
            size = size == 0 ? 16 : size * 2;
            const Size bytes = sizeof(T) * static_cast<Size>(size);
            items = static_cast<T*>(items == nullptr ? palloc(bytes) : repalloc(items, bytes));
            return items[count++] = copy;
        }
        return items[count++] = item;
    }
    T* begin() const { return items; }
    T* end() const { return items + count; }
    std::span<const T> span() const { return {items, static_cast<std::size_t>(count)}; }
};

}  // namespace belay::pg
