// Slot leases: owners that come, go and die, under a clock of the test's own and all at once.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <sstream>
#include <thread>

#include "cluster.hpp"

namespace belay::test {
namespace {

using Slots = std::set<int>;

// The elements of {1,2,3}.
Slots read_slots(const std::string& array) {
    std::istringstream in(array.substr(1, array.size() - 2));
    Slots slots;
    for (std::string number; std::getline(in, number, ',');) {
        slots.insert(std::stoi(number));
    }
    return slots;
}

uint64_t seed_of_run() {
    const char* given = std::getenv("BELAY_SEED");
    return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
}

// What an owner believes: the slots it was given, until its deadline.
struct Belief {
    Slots slots;
    int64_t until;
};

class SlotLeases : public testing::Test {
 protected:
    static void SetUpTestSuite() {
        cluster = new Cluster();
        Conn conn = cluster->connect();
        conn.exec("CREATE EXTENSION belay");
        conn.exec("SELECT belay.create_hub('app')");
        conn.exec("SELECT belay.set_hub_option('app', 'max_clock_skew', '0')");
    }
    static void TearDownTestSuite() {
        delete cluster;
        cluster = nullptr;
    }

    static Cluster* cluster;
};

Cluster* SlotLeases::cluster = nullptr;

// The owners of one queue, and the rules that every call has to keep.
class Dispatchers {
 public:
    Dispatchers(Conn& conn, int slots, std::mt19937_64& random)
        : conn_(conn), slots_(slots), random_(random) {}

    int64_t now = 1'000'000;

    void acquire(const std::string& owner, int64_t lease) {
        const Slots held = held_by(owner);
        const Slots got = read_slots(conn_.value(
            "SELECT app.acquire_slots('" + owner + "', 'worker', " + std::to_string(slots_) + ", " +
            std::to_string(lease) + ", " + std::to_string(now) + ")"));
        // SL-3: it keeps what it has and may get more; or it gives up what is above its share.
        EXPECT_TRUE(std::includes(got.begin(), got.end(), held.begin(), held.end()) ||
                    std::includes(held.begin(), held.end(), got.begin(), got.end()))
            << owner;
        const auto before = beliefs_.find(owner);
        if (before != beliefs_.end() && before->second.until > now) {
            const Slots& old = before->second.slots;
            EXPECT_TRUE(std::includes(held.begin(), held.end(), old.begin(), old.end()))
                << "somebody took a slot of " << owner;
        }
        beliefs_[owner] = {got, now + lease};
        // SL-1: no owner with a live lease has a slot of another.
        std::map<int, std::string> owners;
        for (const auto& [name, belief] : beliefs_) {
            if (belief.until <= now) {
                continue;
            }
            for (const int slot : belief.slots) {
                const auto [at, fresh] = owners.emplace(slot, name);
                EXPECT_TRUE(fresh) << "slot " << slot << " of " << at->second << " and " << name;
                EXPECT_TRUE(slot >= 0 && slot < slots_);
            }
        }
    }

    void release(const std::string& owner) {
        conn_.exec("SELECT app.release_slots('" + owner + "', 'worker')");
        beliefs_.erase(owner);
    }

    // The owner is never heard of again.
    void crash(const std::string& owner) { crashed_.insert(owner); }

    std::vector<std::string> running() {
        std::vector<std::string> names;
        for (const auto& [name, belief] : beliefs_) {
            if (!crashed_.contains(name)) {
                names.push_back(name);
            }
        }
        std::shuffle(names.begin(), names.end(), random_);
        return names;
    }

    // SL-2, SL-4, SL-5: when the leases of dead owners have ended, one renewal by every owner, in
    // any order, makes the shares even; and from then on they stay as they are.
    void expect_even_after_one_round() {
        const auto names = running();
        if (names.empty()) {
            return;
        }
        for (const auto& name : names) {
            acquire(name, 10000);
        }
        for (const auto& name : crashed_) {
            now = std::max(now, beliefs_[name].until);
            beliefs_.erase(name);
        }
        crashed_.clear();
        for (const auto& name : running()) {
            acquire(name, 1000);
        }
        const auto owners = static_cast<int>(names.size());
        for (const auto& name : names) {
            const auto held = static_cast<int>(held_by(name).size());
            EXPECT_GE(held, slots_ / owners) << name;
            EXPECT_LE(held, (slots_ + owners - 1) / owners) << name;
        }
        Slots all;
        for (const auto& name : running()) {
            acquire(name, 1000);
            const Slots first = beliefs_[name].slots;
            all.insert(first.begin(), first.end());
            acquire(name, 1000);
            EXPECT_EQ(beliefs_[name].slots, first) << name;
        }
        EXPECT_EQ(static_cast<int>(all.size()), slots_);
    }

 private:
    // What the hub says that the owner has, told to it or not.
    Slots held_by(const std::string& owner) {
        return read_slots(
            conn_.value("SELECT COALESCE(array_agg(slot), '{}') FROM app.slot_leases WHERE queue = "
                        "'worker' AND owner_id = '" +
                        owner + "'"));
    }

    Conn& conn_;
    int slots_;
    std::mt19937_64& random_;
    std::map<std::string, Belief> beliefs_;
    std::set<std::string> crashed_;
};

// SL-1 to SL-6: one to nine owners join, renew, leave and die in any order.
TEST_F(SlotLeases, OwnersComeGoAndDie) {
    const uint64_t seed = seed_of_run();
    SCOPED_TRACE("BELAY_SEED=" + std::to_string(seed));
    std::mt19937_64 random(seed);
    Conn conn = cluster->connect();
    const auto below = [&random](int n) {
        return static_cast<int>(random() % static_cast<uint64_t>(n));
    };
    for (const int slots : {1, 2, 5, 16, 61}) {
        conn.exec("SELECT app.release_slots(owner, queue) FROM app.slot_owners");
        conn.exec("SELECT belay.set_hub_option('app', 'slot_count', '" + std::to_string(slots) +
                  "')");
        Dispatchers dispatchers(conn, slots, random);
        int joined = 0;
        for (int step = 0; step < 300 && !HasFailure(); ++step) {
            const auto names = dispatchers.running();
            const int what = below(20);
            if (names.empty() || (what < 3 && names.size() < 9)) {
                dispatchers.acquire("o" + std::to_string(++joined), 500 + below(1000));
            } else if (what == 3) {
                dispatchers.release(names.front());
            } else if (what == 4) {
                dispatchers.crash(names.front());
            } else if (what == 5) {
                dispatchers.expect_even_after_one_round();
            } else {
                dispatchers.acquire(names.front(), 500 + below(1000));
            }
            dispatchers.now += below(200);
        }
        dispatchers.expect_even_after_one_round();
        if (HasFailure()) {
            return;
        }
    }
}

// SL-9: nine at once: no call fails, none waits for ever, and the slots are all there in the end.
TEST_F(SlotLeases, NineAtOnce) {
    constexpr int kOwners = 9;
    constexpr int kSlots = 16;
    Conn conn = cluster->connect();
    conn.exec("SELECT app.release_slots(owner, queue) FROM app.slot_owners");
    conn.exec("SELECT belay.set_hub_option('app', 'slot_count', '16')");
    std::atomic<int> failures = 0;
    std::vector<std::thread> threads;
    for (int owner = 0; owner < kOwners; ++owner) {
        threads.emplace_back([owner, &failures] {
            Conn own = cluster->connect();
            const std::string name = "'n" + std::to_string(owner) + "'";
            for (int i = 0; i < 40; ++i) {
                failures += own.error_of("SELECT app.acquire_slots(" + name + ", 'worker')") != "";
                if (i % 8 == owner % 8) {
                    failures +=
                        own.error_of("SELECT app.release_slots(" + name + ", 'worker')") != "";
                }
            }
        });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(failures, 0);
    for (int round = 0; round < 2; ++round) {
        Slots all;
        std::size_t sum = 0;
        for (int owner = 0; owner < kOwners; ++owner) {
            const Slots got = read_slots(
                conn.value("SELECT app.acquire_slots('n" + std::to_string(owner) + "', 'worker')"));
            all.insert(got.begin(), got.end());
            sum += got.size();
            if (round == 1) {
                EXPECT_GE(got.size(), 1u);
                EXPECT_LE(got.size(), 2u);
            }
        }
        if (round == 1) {
            EXPECT_EQ(all.size(), static_cast<std::size_t>(kSlots));
            EXPECT_EQ(sum, all.size());
        }
    }
}

}  // namespace
}  // namespace belay::test
