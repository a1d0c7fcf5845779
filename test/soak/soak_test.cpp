// A mixed load, and faults of every kind at random moments. In the end nothing acknowledged is
// lost, nothing ran past its fence, and every item reached exactly one end. And a checker that
// would see it otherwise: bugs planted in the engine are found.
//
// BELAY_SOAK_SECONDS is the length of the campaign; `make soak` sets it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "campaign.hpp"

namespace belay::test::soak {
namespace {

double seconds() {
    const char* given = std::getenv("BELAY_SOAK_SECONDS");
    if (given != nullptr && *given != '\0') {
        return std::strtod(given, nullptr);
    }
    return stress::is_long() ? 600 : 25;
}

// What a campaign of this length cannot miss: calls, faults, and errors that clients saw of them.
constexpr double kCertain = 600;
constexpr const char* kCalls[] = {
    "enqueue", "fetch",    "ack",      "start",   "turn",    "turnack",  "create",
    "claim",   "flow",     "complete", "read",    "readack", "send",     "post",
    "guard",   "libstart", "libtask",  "libdone", "libtold", "page 200", "stream 200"};
constexpr const char* kFaults[] = {
    "backend killed",
    "background worker killed",
    "client killed",
    "postmaster killed",
    "server stopped at once",
    "server restarted",
    "backend terminated",
    "statement cancelled",
    "client frozen",
    "program terminated",
    "locks held",
    "injected: store.memory",
    "injected: store.disk",
    "promotion of a standby",
    "dump and restore",
    "base backup",
    "new incarnation",
    "queue paused",
    "vacuum or reindex",
};
constexpr const char* kRefusals[] = {
    "53100",
    "53200",
    "55P03",
    "57014 canceling statement due to statement timeout",
    "57014 canceling statement due to user request",
    "QB001",
};

TEST(Soak, NothingIsLostOrDoneTwice) {
    Campaign campaign({.seconds = seconds(), .least_calls = 5000, .seed = stress::run_seed()});
    const Report report = campaign.run();
    std::cout << report.text();
    EXPECT_EQ(report.findings.violations.size(), 0u);
    EXPECT_GT(report.done, 0);
    if (seconds() >= kCertain) {
        for (const char* call : kCalls) {
            EXPECT_TRUE(report.kinds.contains(call)) << call;
        }
        for (const char* fault : kFaults) {
            EXPECT_TRUE(report.faults.contains(fault)) << fault;
        }
        for (const char* refusal : kRefusals) {
            EXPECT_TRUE(report.refusals.contains(refusal)) << refusal;
        }
    }
}

struct Bug {
    const char* point;
    std::vector<const char*> found_as;
};

class PlantedBug : public testing::TestWithParam<Bug> {};

TEST_P(PlantedBug, IsFound) {
    Campaign campaign({.seconds = 6,
                       .least_calls = 3000,
                       .seed = stress::run_seed(),
                       .most_lease_ms = 300,
                       .kills_servers = false,
                       .planted = GetParam().point});
    const Report report = campaign.run();
    std::cout << report.text();
    for (const char* kind : GetParam().found_as) {
        EXPECT_GT(report.findings.count(kind), 0) << kind;
    }
}

INSTANTIATE_TEST_SUITE_P(Soak, PlantedBug,
                         testing::Values(Bug{"lease.any_token", {"fence"}},
                                         Bug{"enqueue.drops_item", {"lost"}},
                                         Bug{"end.writes_no_event", {"event"}}),
                         [](const auto& info) {
                             std::string name = info.param.point;
                             name.replace(name.find('.'), 1, "_");
                             return name;
                         });

// A settler of the client library that reports outcomes which it has not sent.
TEST(SoakClient, BugIsFound) {
    Campaign campaign({.seconds = 6,
                       .least_calls = 1500,
                       .seed = stress::run_seed(),
                       .most_lease_ms = 500,
                       .kills_servers = false,
                       .portions_to_cut = 5});
    const Report report = campaign.run();
    std::cout << report.text();
    EXPECT_GT(report.findings.count("duplicate"), 0);
}

}  // namespace
}  // namespace belay::test::soak
