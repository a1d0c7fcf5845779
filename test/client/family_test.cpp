// Families: the client library and the server agree on the hub of a key.
#include "belay/family.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>

#include "server.hpp"

namespace belay::test {
namespace {

class ClientFamily : public WithServer {};

struct Line {
    int hubs;
    std::string hub;
    std::string key;
};

// 1,000 keys and their hubs: a number of hubs, the hub, the key. Computed by neither of the two.
std::vector<Line> read_lines() {
    const char* root = std::getenv("BELAY_ROOT");
    std::ifstream file(std::string(root == nullptr ? "." : root) + "/test/client/family_keys.txt");
    std::vector<Line> lines;
    for (std::string text; std::getline(file, text);) {
        const auto first = text.find('\t');
        const auto second = text.find('\t', first + 1);
        lines.push_back({std::stoi(text.substr(0, first)),
                         text.substr(first + 1, second - first - 1), text.substr(second + 1)});
    }
    return lines;
}

// SO-22: the client and the server compute the same hub for a key.
TEST_F(ClientFamily, AgreesWithTheServer) {
    const auto lines = read_lines();
    ASSERT_EQ(lines.size(), 1000U);
    Connection connection(options());
    std::set<std::string> seen;
    for (const auto& [hubs, hub, key] : lines) {
        EXPECT_EQ(Family("app", hubs).hub(key), hub) << key;
        EXPECT_EQ(
            connection
                .call(Effect::kRepeatable, "SELECT belay.family_hub_of('app', $1, $2)", {hubs, key})
                .get<std::string>(0, 0),
            hub)
            << key;
        seen.insert(hub);
    }
    EXPECT_GT(seen.size(), 200U);
}

TEST_F(ClientFamily, KnowsItsHubs) {
    const Family family("app", 3);
    EXPECT_EQ(family.hubs(), (std::vector<std::string>{"app_000", "app_001", "app_002"}));
    EXPECT_EQ(Family("app", 1024).hub_at(1023), "app_1023");
    EXPECT_EQ(family.size(), 3);
    EXPECT_EQ(family.name(), "app");
    EXPECT_THROW(Family("app", 0), Error);
    EXPECT_THROW(Family("app", 1025), Error);
}

}  // namespace
}  // namespace belay::test
