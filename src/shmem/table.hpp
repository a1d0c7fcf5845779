// The hash table of belay's shared memory: fixed capacity, constant time, no locks of its own.
//
// Why not PostgreSQL's: dynahash cannot live in a segment that is mapped after the server's start,
// dshash allocates while a transaction commits, and neither forgets its oldest entry when it is
// full.
//
// All links are numbers, not addresses, because each process may map the memory elsewhere. The
// table allocates nothing and knows nothing of PostgreSQL; test/unit/table_test.cpp runs it alone.
//
// The caller locks: find, touch, at and each need its lock shared, everything else exclusive. A
// value stays at its address, and keeps its number, until it is erased or forgotten.
//
// Forgetting takes constant time. The entries that are not pinned form a list by age. insert takes
// the oldest one, except that an entry which was touched since it last stood there goes back to the
// young end instead, at most kSecondChances times per insert.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace belay::shmem {

// A hash of the bytes of a key, for tables in memory only: it differs between machines.
inline uint64_t hash_bytes(const void* bytes, std::size_t size) {
    const auto mix = [](uint64_t x) {
        x = (x ^ x >> 32) * 0xd6e8feb86659fd93ULL;
        return x ^ x >> 32;
    };
    const char* at = static_cast<const char*>(bytes);
    uint64_t hash = 0x9e3779b97f4a7c15ULL * (size + 1);
    for (; size >= sizeof(uint64_t); at += sizeof(uint64_t), size -= sizeof(uint64_t)) {
        uint64_t word = 0;
        std::memcpy(&word, at, sizeof word);
        hash = mix(hash ^ word);
    }
    uint64_t rest = 0;
    std::memcpy(&rest, at, size);
    return mix(mix(hash ^ rest));
}

// What insert does without a free entry.
enum class WhenFull { kForget, kRefuse };

inline constexpr int32_t kNone = -1;

template <typename Key, typename Value>
class Table {
    // Keys are compared and hashed as bytes.
    static_assert(std::has_unique_object_representations_v<Key>);
    static_assert(std::is_trivially_destructible_v<Value> && std::is_trivially_copyable_v<Key>);

 public:
    static constexpr int kSecondChances = 8;

    static uint64_t hash(const Key& key) { return hash_bytes(&key, sizeof key); }

    // The bytes that a table of this capacity needs; a multiple of the alignment of Table.
    static constexpr std::size_t bytes(int capacity) {
        return round_up(entries_at(capacity) + sizeof(Entry) * static_cast<std::size_t>(capacity));
    }

    // Makes an empty table in memory of that many bytes.
    static Table* make(void* memory, int capacity) {
        auto* table = static_cast<Table*>(memory);
        std::memset(memory, 0, bytes(capacity));
        table->capacity_ = capacity;
        table->mask_ = static_cast<uint64_t>(bucket_count(capacity)) - 1;
        table->entries_at_ = entries_at(capacity);
        table->oldest_ = kNone;
        table->youngest_ = kNone;
        table->free_ = capacity > 0 ? 0 : kNone;
        for (int i = 0; i < bucket_count(capacity); ++i) {
            table->buckets()[i] = kNone;
        }
        for (int i = 0; i < capacity; ++i) {
            table->entry(i).next = i + 1 < capacity ? i + 1 : kNone;
        }
        return table;
    }

    // The value of a key, or null.
    Value* find(const Key& key, uint64_t hash) {
        for (int32_t i = bucket(hash); i != kNone; i = entry(i).next) {
            if (entry(i).hash == hash && std::memcmp(&entry(i).key, &key, sizeof key) == 0) {
                return &entry(i).value;
            }
        }
        return nullptr;
    }
    Value* find(const Key& key) { return find(key, hash(key)); }

    // Adds a key that is not there, with Value{}. Null: full, and all are pinned or when says so.
    // Hands a value that is forgotten to forgotten(key, value) first.
    template <typename Forgotten>
    Value* insert(const Key& key, uint64_t hash, WhenFull when, Forgotten forgotten) {
        if (free_ == kNone) {
            const int32_t victim = when == WhenFull::kForget ? oldest_untouched() : kNone;
            if (victim == kNone) {
                return nullptr;
            }
            forgotten(static_cast<const Key&>(entry(victim).key), &entry(victim).value);
            erase(&entry(victim).value);
        }
        const int32_t made = free_;
        Entry& added = entry(made);
        free_ = added.next;
        added.key = key;
        added.hash = hash;
        added.next = bucket(hash);
        added.pins = 0;
        added.touched = 0;
        added.used = true;
        bucket(hash) = made;
        link_youngest(made);
        ++size_;
        added.value = Value{};
        return &added.value;
    }
    Value* insert(const Key& key, uint64_t hash, WhenFull when) {
        return insert(key, hash, when, [](const Key&, Value*) {});
    }

    void erase(Value* value) {
        const int32_t gone = number_of(value);
        Entry& erased = entry(gone);
        int32_t* link = &bucket(erased.hash);
        while (*link != gone) {
            link = &entry(*link).next;
        }
        *link = erased.next;
        if (erased.pins == 0) {
            unlink(gone);
        }
        erased.used = false;
        erased.next = free_;
        free_ = gone;
        --size_;
    }

    // The value is used: it is not the next to be forgotten. Harmless beside others that touch.
    void touch(Value* value) {
        std::atomic_ref<uint8_t>(entry_of(value)->touched).store(1, std::memory_order_relaxed);
    }

    // A value is not forgotten while it is pinned. Pins are counted.
    void pin(Value* value) {
        if (entry_of(value)->pins++ == 0) {
            unlink(number_of(value));
        }
    }
    void unpin(Value* value) {
        if (--entry_of(value)->pins == 0) {
            link_youngest(number_of(value));
        }
    }

    const Key& key_of(const Value* value) const { return entry_of(value)->key; }
    int32_t number_of(const Value* value) const {
        return static_cast<int32_t>(entry_of(value) - &entry(0));
    }
    Value* at(int32_t number) { return &entry(number).value; }

    int size() const { return size_; }
    int capacity() const { return capacity_; }

    // Calls visit(key, value) for each value. visit may erase that value, and no other.
    template <typename Visit>
    void each(Visit visit) {
        for (int32_t i = 0, left = size_; i < capacity_ && left > 0; ++i) {
            if (entry(i).used) {
                --left;
                visit(static_cast<const Key&>(entry(i).key), &entry(i).value);
            }
        }
    }

 private:
    struct Entry {
        uint64_t hash;
        int32_t next;     // in its bucket, or among the free ones
        int32_t older;    // unless it is pinned
        int32_t younger;  // unless it is pinned
        int32_t pins;
        uint8_t touched;
        bool used;
        Key key;
        Value value;
    };

    static constexpr std::size_t round_up(std::size_t size) {
        constexpr std::size_t kAlignment = alignof(std::max_align_t);
        return (size + kAlignment - 1) / kAlignment * kAlignment;
    }
    // A power of two.
    static constexpr int bucket_count(int capacity) {
        int count = 1;
        while (count < capacity) {
            count *= 2;
        }
        return count;
    }
    // Behind the table lie its buckets, then its entries.
    static constexpr std::size_t buckets_at() { return round_up(sizeof(Table)); }
    static constexpr std::size_t entries_at(int capacity) {
        return round_up(buckets_at() +
                        sizeof(int32_t) * static_cast<std::size_t>(bucket_count(capacity)));
    }

    int32_t* buckets() {
        return reinterpret_cast<int32_t*>(reinterpret_cast<char*>(this) + buckets_at());
    }
    // Callers choose among tables by the low bits of a hash.
    int32_t& bucket(uint64_t hash) { return buckets()[hash >> 16 & mask_]; }
    Entry& entry(int32_t number) {
        return reinterpret_cast<Entry*>(reinterpret_cast<char*>(this) + entries_at_)[number];
    }
    const Entry& entry(int32_t number) const {
        return reinterpret_cast<const Entry*>(reinterpret_cast<const char*>(this) +
                                              entries_at_)[number];
    }
    static Entry* entry_of(Value* value) {
        return reinterpret_cast<Entry*>(reinterpret_cast<char*>(value) - offsetof(Entry, value));
    }
    static const Entry* entry_of(const Value* value) { return entry_of(const_cast<Value*>(value)); }

    void unlink(int32_t number) {
        const Entry& gone = entry(number);
        (gone.older == kNone ? oldest_ : entry(gone.older).younger) = gone.younger;
        (gone.younger == kNone ? youngest_ : entry(gone.younger).older) = gone.older;
    }
    void link_youngest(int32_t number) {
        entry(number).older = youngest_;
        entry(number).younger = kNone;
        (youngest_ == kNone ? oldest_ : entry(youngest_).younger) = number;
        youngest_ = number;
    }
    int32_t oldest_untouched() {
        for (int i = 0; i < kSecondChances && oldest_ != kNone && entry(oldest_).touched != 0;
             ++i) {
            const int32_t touched = oldest_;
            entry(touched).touched = 0;
            unlink(touched);
            link_youngest(touched);
        }
        return oldest_;
    }

    uint64_t mask_;           // of buckets
    std::size_t entries_at_;  // bytes from the table
    int32_t capacity_;
    int32_t size_;
    int32_t free_;
    int32_t oldest_;
    int32_t youngest_;
};

}  // namespace belay::shmem
