// Values that no client should send: random, mutated and hostile arguments of any type, from a
// seed.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "scenario.hpp"

namespace belay::test::robust {

// A parameter as the server reads it; none is NULL.
using Value = std::optional<std::string>;

class Values {
 public:
    // words: what a hub handed out; others: the same of another hub.
    Values(std::uint64_t seed, const Words& words, const Words& others);

    // Begins the arguments of a call: in half of the calls all arrays have the same length.
    void begin_call();

    // A value for a type, by its name as format_type prints it.
    Value of(const std::string& type);

    // True once in n.
    bool once_in(int n) { return random_() % static_cast<unsigned>(n) == 0; }
    std::size_t below(std::size_t n) { return random_() % n; }

 private:
    template <typename List>
    const auto& one_of(const List& list) {
        return list[below(std::size(list))];
    }
    std::string text();
    std::string token();
    std::string json(int depth = 0);
    std::string mutated_json(const std::string& sample);
    std::string mutated(std::string sample);
    std::string number();
    std::string integer(bool big);
    std::string uuid();
    Value like_others(const std::string& type, std::size_t kind);
    std::string array(const std::string& element);
    std::string time();
    std::string interval();

    std::mt19937_64 random_;
    std::optional<std::size_t> length_;  // of the call's arrays
    std::vector<std::string> tokens_;
    std::vector<std::string> samples_;       // texts that calls use, JSON or not
    std::vector<std::string> json_samples_;  // those that are JSON
};

// Text that would do harm if it were ever taken for SQL, a format or a name.
const std::vector<std::string>& hostile_texts();

}  // namespace belay::test::robust
