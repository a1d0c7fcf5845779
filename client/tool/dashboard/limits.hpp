// How often something may be done. Time is given: no clock in here. Not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>

namespace belay::tool::dashboard {

// Tokens that come back at a rate.
class Bucket {
 public:
    Bucket(double per_second, double size) : per_second_(per_second), size_(size), level_(size) {}

    // Takes a token, if there is one.
    bool take(std::int64_t now_ms);

 private:
    double per_second_;
    double size_;
    double level_;
    std::int64_t at_ms_ = 0;
};

// Failed logins: 5 a minute per address and 20 in all. Beyond that each login has to wait, and the
// wait doubles with every further failure, up to 5 minutes. What is being tried counts as failed
// until it is known: many at once are no more guesses than one after the other.
class LoginLimits {
 public:
    // How long this address has to wait before it may try. 0: it tries now, and one of failed(),
    // succeeded() and gave_up() has to follow.
    std::int64_t begin(const std::string& address, std::int64_t now_ms);
    void failed(const std::string& address, std::int64_t now_ms);
    void succeeded(const std::string& address);
    void gave_up(const std::string& address);  // nothing is known of the password

 private:
    struct Failures {
        std::deque<std::int64_t> at_ms = {};
        std::int64_t pause_ms = 0;
        std::int64_t until_ms = 0;
        std::size_t trying = 0;
    };
    static std::int64_t wait_ms(Failures& failures, std::size_t most, std::int64_t now_ms);
    static void forget_old(Failures& failures, std::int64_t now_ms);
    static void add(Failures& failures, std::size_t most, std::int64_t now_ms);

    std::map<std::string, Failures> by_address_;
    Failures all_;
};

}  // namespace belay::tool::dashboard
