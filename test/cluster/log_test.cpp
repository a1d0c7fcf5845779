// What the fixture finds in the log of a server: tests of all suites rely on it.
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <memory>

#include "cluster.hpp"

namespace belay::test {
namespace {

std::vector<std::string> mistake_in(const std::string& line) {
    return mistakes_in("2026-01-01 00:00:00.000 UTC [1] LOG:  ready\n" + line + "\n");
}

TEST(ServerLog, TellsOfCrashesAndFailedAssertions) {
    EXPECT_EQ(mistake_in("TRAP: failed Assert(\"ok\"), File: \"x.c\", Line: 1, PID: 2").size(), 1U);
    EXPECT_EQ(mistake_in("LOG:  server process (PID 2) was terminated by signal 11: Segmentation "
                         "fault")
                  .size(),
              1U);
    EXPECT_EQ(mistake_in("PANIC:  could not write").size(), 1U);
    // Tests kill processes.
    EXPECT_TRUE(
        mistake_in("LOG:  server process (PID 2) was terminated by signal 9: Killed").empty());
}

TEST(ServerLog, TellsOfResourcesLeftOpen) {
    for (const std::string text :
         {"relcache reference leak: relation \"tasks\" not closed",
          "buffer refcount leak: [000] (rel=base/1/2, blockNum=0, flags=0x83, refcount=1 1)",
          "Snapshot reference leak: Snapshot 0x1 still referenced",
          "resource was not closed: relation \"tasks\"", "snapshot 0x1 still active",
          "you don't own a lock of type AccessShareLock",
          "problem in alloc set ExecutorState: detected write past chunk end in block 1, chunk 2",
          "transaction left non-empty SPI stack"}) {
        EXPECT_EQ(mistake_in("WARNING:  " + text).size(), 1U) << text;
        EXPECT_TRUE(mistake_in("LOG:  " + text).empty()) << text;
    }
    EXPECT_TRUE(mistake_in("WARNING:  there is no transaction in progress").empty());
}

TEST(ServerLog, FailsTheTestThatLeavesIt) {
    EXPECT_NONFATAL_FAILURE(
        {
            Cluster cluster;
            cluster.connect().exec("DO $$BEGIN RAISE WARNING 'resource was not closed: x'; END$$");
        },
        "resource was not closed: x");
}

}  // namespace
}  // namespace belay::test
