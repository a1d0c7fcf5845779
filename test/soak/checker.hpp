// The checker: what the clients saw, against what the database says in the end.
//
// Of the engine it knows only the promises. From the journals it works out what must be
// true, regardless of calls of unknown outcome; the rest it does not judge.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cluster.hpp"
#include "journal.hpp"

namespace belay::test::soak {

// A promise that was broken. The word says of which kind.
struct Violation {
    std::string kind;
    std::string text;
};

struct Findings {
    std::vector<Violation> violations;
    int64_t checks = 0;

    void violate(const std::string& kind, const std::string& text) {
        violations.push_back({kind, text});
    }
    // Counts a check, and notes what is wrong if it does not hold.
    void expect(bool holds, const std::string& kind, const std::function<std::string()>& text) {
        ++checks;
        if (!holds) {
            violate(kind, text());
        }
    }
    int64_t count(const std::string& kind) const;
    void add(const Findings& other);
};

// A time in which leases were lost: a promotion, a new incarnation, a crash.
struct Break {
    int64_t from_us;  // the old server still answered before
    int64_t to_us;    // only the new one answers after
    bool certain = true;
    bool crash = false;  // only leases that did not wait for the disk may be lost
};

// What the database may know: everything acknowledged before `from`, nothing that was sent after
// `to`. Of the database that the clients used to the end: all.
struct Window {
    int64_t from_us = INT64_MAX;
    int64_t to_us = INT64_MAX;
};

// Leases, from the journals alone: no two at once, none usable after the next one or after a break,
// nothing handed out after its end. And no call failed in a way that it must not.
Findings check_calls(const std::vector<Call>& calls, const std::vector<Break>& breaks);

// The database against the journals, after everything was worked off. Of a copy only what the
// window asks for, and not which lease an effect belongs to.
Findings check_database(Conn* conn, const std::vector<Call>& calls, const Window& window);

// The same of hub `lib`, on which programs work that use the client library.
Findings check_library(Conn* conn, const std::vector<Call>& calls, const Window& window);

// What a server's log must not tell: errors that no fault explains, processes that crashed.
Findings check_log(const std::string& log);

// The hubs and their relations by themselves: nothing queued, leased or stuck, check_hub silent,
// indexes and heap in agreement.
Findings check_hubs(Conn* conn);

}  // namespace belay::test::soak
