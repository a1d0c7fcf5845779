#include "shmem/table.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "seeded.hpp"

namespace belay::shmem {
namespace {

struct Key {
    uint64_t name;
    uint64_t also;
};
struct Value {
    int64_t number;
};
using TestTable = Table<Key, Value>;

Key key(uint64_t name) {
    return {name, ~name};
}

// A table in memory of its own that can be mapped elsewhere.
class Memory {
 public:
    explicit Memory(int capacity)
        : bytes_(TestTable::bytes(capacity)), units_(bytes_ / sizeof(std::max_align_t) + 1) {
        table_ = TestTable::make(units_.data(), capacity);
    }
    TestTable* operator->() { return table_; }
    TestTable& operator*() { return *table_; }

    // The same bytes at another address, as another process may see them.
    void map_elsewhere() {
        std::vector<std::max_align_t> copy(units_.size());
        std::memcpy(copy.data(), units_.data(), bytes_);
        std::memset(units_.data(), 0xff, bytes_);
        elsewhere_.push_back(std::move(units_));
        units_ = std::move(copy);
        table_ = reinterpret_cast<TestTable*>(units_.data());
    }

 private:
    std::size_t bytes_;
    std::vector<std::max_align_t> units_;
    std::deque<std::vector<std::max_align_t>> elsewhere_;  // so that the address is another one
    TestTable* table_;
};

Value* put(TestTable* table, uint64_t name, WhenFull when = WhenFull::kForget) {
    Value* value = table->insert(key(name), TestTable::hash(key(name)), when);
    if (value != nullptr) {
        value->number = static_cast<int64_t>(name);
    }
    return value;
}

std::set<uint64_t> names(TestTable* table) {
    std::set<uint64_t> found;
    table->each([&found](const Key& at, Value* value) {
        EXPECT_EQ(static_cast<int64_t>(at.name), value->number);
        found.insert(at.name);
    });
    return found;
}

TEST(Table, HashesEveryByte) {
    char bytes[21] = {};
    std::set<uint64_t> hashes{hash_bytes(bytes, sizeof bytes)};
    for (char& byte : bytes) {
        byte = 1;
        hashes.insert(hash_bytes(bytes, sizeof bytes));
        byte = 0;
    }
    for (std::size_t size = 0; size < sizeof bytes; ++size) {
        hashes.insert(hash_bytes(bytes, size));
    }
    EXPECT_EQ(hashes.size(), 1 + 2 * sizeof bytes);
}

TEST(Table, SpreadsNeighbouringKeys) {
    // Callers choose a table by the low bits of a hash; the table chooses a bucket by others.
    constexpr int kKeys = 4096;
    std::map<uint64_t, int> low;
    std::map<uint64_t, int> high;
    for (uint64_t name = 0; name < kKeys; ++name) {
        const uint64_t hash = TestTable::hash(key(name));
        ++low[hash & 15];
        ++high[hash >> 16 & 255];
    }
    for (const auto& [bits, count] : low) {
        EXPECT_NEAR(count, kKeys / 16, kKeys / 64) << bits;
    }
    for (const auto& [bits, count] : high) {
        EXPECT_LT(count, 3 * kKeys / 256) << bits;
    }
}

TEST(Table, FindsWhatWasInserted) {
    Memory table(4);
    EXPECT_EQ(table->find(key(1)), nullptr);
    Value* one = put(&*table, 1);
    put(&*table, 2);
    EXPECT_EQ(table->find(key(1)), one);
    EXPECT_EQ(table->key_of(one).name, 1u);
    EXPECT_EQ(table->at(table->number_of(one)), one);
    EXPECT_EQ(table->find(Key{1, 1}), nullptr) << "all bytes of the key count";
    EXPECT_EQ(table->size(), 2);
    table->erase(one);
    EXPECT_EQ(table->find(key(1)), nullptr);
    EXPECT_EQ(names(&*table), (std::set<uint64_t>{2}));
}

TEST(Table, BeginsWithAnEmptyValue) {
    Memory table(1);
    put(&*table, 7);
    table->erase(table->find(key(7)));
    EXPECT_EQ(table->insert(key(8), TestTable::hash(key(8)), WhenFull::kForget)->number, 0);
}

TEST(Table, RefusesOrForgetsWhenFull) {
    Memory table(3);
    for (uint64_t name = 1; name <= 3; ++name) {
        put(&*table, name);
    }
    EXPECT_EQ(put(&*table, 4, WhenFull::kRefuse), nullptr);
    EXPECT_EQ(names(&*table), (std::set<uint64_t>{1, 2, 3}));
    std::vector<int64_t> forgotten;
    Value* made = table->insert(
        key(4), TestTable::hash(key(4)), WhenFull::kForget,
        [&forgotten](const Key&, Value* value) { forgotten.push_back(value->number); });
    ASSERT_NE(made, nullptr);
    made->number = 4;
    EXPECT_EQ(forgotten, std::vector<int64_t>{1});
    EXPECT_EQ(names(&*table), (std::set<uint64_t>{2, 3, 4}));
}

TEST(Table, HasNoRoomWithoutCapacity) {
    Memory table(0);
    EXPECT_EQ(put(&*table, 1), nullptr);
    EXPECT_EQ(table->find(key(1)), nullptr);
}

TEST(Table, ForgetsWhatWasNotTouched) {
    Memory table(3);
    for (uint64_t name = 1; name <= 3; ++name) {
        put(&*table, name);
    }
    table->touch(table->find(key(1)));
    put(&*table, 4);
    EXPECT_EQ(names(&*table), (std::set<uint64_t>{1, 3, 4}));
    put(&*table, 5);
    EXPECT_EQ(names(&*table), (std::set<uint64_t>{1, 4, 5})) << "a touch counts once";
    put(&*table, 6);
    EXPECT_EQ(names(&*table), (std::set<uint64_t>{4, 5, 6}));
}

// Where all have been touched, one goes nevertheless, after a bounded number of steps.
TEST(Table, ForgetsInConstantTime) {
    constexpr int kCapacity = 1000;
    Memory table(kCapacity);
    for (uint64_t name = 0; name < kCapacity; ++name) {
        table->touch(put(&*table, name));
    }
    put(&*table, kCapacity);
    EXPECT_EQ(table->find(key(TestTable::kSecondChances)), nullptr);
    EXPECT_EQ(table->size(), kCapacity);
    for (uint64_t name = 0; name < TestTable::kSecondChances; ++name) {
        EXPECT_NE(table->find(key(name)), nullptr);
    }
}

TEST(Table, KeepsWhatIsPinned) {
    Memory table(3);
    for (uint64_t name = 1; name <= 3; ++name) {
        table->pin(put(&*table, name));
    }
    EXPECT_EQ(put(&*table, 4), nullptr);
    table->pin(table->find(key(2)));
    table->unpin(table->find(key(2)));
    EXPECT_EQ(put(&*table, 4), nullptr) << "pins are counted";
    table->unpin(table->find(key(2)));
    EXPECT_NE(put(&*table, 4), nullptr);
    EXPECT_EQ(names(&*table), (std::set<uint64_t>{1, 3, 4}));
    table->erase(table->find(key(1)));  // pinned or not
    EXPECT_NE(put(&*table, 5), nullptr);
    EXPECT_EQ(names(&*table), (std::set<uint64_t>{3, 4, 5}));
}

// A model that is plainly right: a list by age.
struct Model {
    struct Entry {
        uint64_t name;
        int pins;
        bool touched;
    };
    std::size_t capacity;
    std::deque<Entry> young_last;

    auto find(uint64_t name) {
        return std::find_if(young_last.begin(), young_last.end(),
                            [name](const Entry& entry) { return entry.name == name; });
    }
    auto oldest() {
        return std::find_if(young_last.begin(), young_last.end(),
                            [](const Entry& entry) { return entry.pins == 0; });
    }
    void make_youngest(std::deque<Entry>::iterator at) {
        const Entry entry = *at;
        young_last.erase(at);
        young_last.push_back(entry);
    }
    bool insert(uint64_t name, WhenFull when) {
        if (young_last.size() == capacity) {
            if (when == WhenFull::kRefuse || oldest() == young_last.end()) {
                return false;
            }
            for (int i = 0; i < TestTable::kSecondChances && oldest()->touched; ++i) {
                oldest()->touched = false;
                make_youngest(oldest());
            }
            young_last.erase(oldest());
        }
        young_last.push_back({name, 0, false});
        return true;
    }
};

TEST(Table, DoesAsTheModel) {
    BELAY_SEEDED(random);
    const auto below = [&random](uint64_t limit) { return random() % limit; };
    for (int round = 0; round < 50; ++round) {
        const auto capacity = static_cast<int>(1 + below(40));
        Memory table(capacity);
        Model model{static_cast<std::size_t>(capacity), {}};
        for (int step = 0; step < 400; ++step) {
            const uint64_t name = below(static_cast<uint64_t>(capacity) * 2);
            const auto known = model.find(name);
            const bool there = known != model.young_last.end();
            Value* value = table->find(key(name));
            ASSERT_EQ(value != nullptr, there);
            switch (below(6)) {
                case 0:
                case 1:
                    if (!there) {
                        const auto when = below(4) == 0 ? WhenFull::kRefuse : WhenFull::kForget;
                        ASSERT_EQ(put(&*table, name, when) != nullptr, model.insert(name, when));
                    }
                    break;
                case 2:
                    if (there) {
                        table->touch(value);
                        known->touched = true;
                    }
                    break;
                case 3:
                    if (there) {
                        table->pin(value);
                        ++known->pins;
                    }
                    break;
                case 4:
                    if (there && known->pins > 0) {
                        table->unpin(value);
                        if (--known->pins == 0) {
                            model.make_youngest(known);
                        }
                    }
                    break;
                default:
                    if (there && below(3) == 0) {
                        table->erase(value);
                        model.young_last.erase(known);
                    } else if (below(20) == 0) {
                        table.map_elsewhere();
                    }
            }
            std::set<uint64_t> expected;
            for (const Model::Entry& entry : model.young_last) {
                expected.insert(entry.name);
            }
            ASSERT_EQ(names(&*table), expected);
            ASSERT_EQ(table->size(), static_cast<int>(expected.size()));
        }
    }
}

}  // namespace
}  // namespace belay::shmem
