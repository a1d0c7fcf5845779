// Values that count how often they are destroyed, for tests of what compilers make of coroutines.
#pragma once

#include <set>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "belay/durable.hpp"

namespace probe {

inline std::set<const void*> live;
inline int wrong = 0;

// One that is destroyed twice, or used when it is not alive, is counted in `wrong`; one that is
// never destroyed stays in `live`.
struct Probe {
    std::string text = "a text that is longer than the small buffer of a string";

    Probe() { born(); }
    explicit Probe(std::string given) : text(std::move(given)) { born(); }
    Probe(const Probe& other) : text(other.text) {
        other.use();
        born();
    }
    Probe(Probe&& other) noexcept : text(other.text) {
        other.use();
        born();
    }
    Probe& operator=(const Probe&) = default;
    ~Probe() { wrong += live.erase(this) == 0; }
    void use() const { wrong += !live.contains(this); }

 private:
    void born() { wrong += !live.insert(this).second; }
};
inline void to_json(nlohmann::json& json, const Probe& probe) {
    json = probe.text;
}
inline void from_json(const nlohmann::json& json, Probe& probe) {
    probe.text = json.get<std::string>();
}

struct Pair {
    Probe a;
    Probe b;
};
inline void to_json(nlohmann::json& json, const Pair& pair) {
    json = {pair.a, pair.b};
}
inline void from_json(const nlohmann::json& json, Pair& pair) {
    json.at(0).get_to(pair.a);
    json.at(1).get_to(pair.b);
}

inline constexpr belay::ActivityOf<Probe(Probe)> step{"Step"};
inline constexpr belay::ActivityOf<Probe(Pair)> join{"Join"};
inline constexpr belay::ActivityOf<Pair(Probe)> split{"Split"};
inline constexpr belay::ActivityOf<Probe(Probe)> fail{"Fail"};

// The functions of these activities, in a World.
template <class World>
void register_activities(World& world) {
    world.on(step, [](Probe probe) { return probe; });
    world.on(join, [](Pair pair) { return pair.b; });
    world.on(split, [](Probe probe) { return Pair{probe, probe}; });
    world.on(fail, [](Probe) -> Probe { throw belay::Failure("failed"); });
}

}  // namespace probe
