#include "core/names.hpp"

#include <string>

#include <gtest/gtest.h>

namespace belay::core {
namespace {

TEST(Names, Accepts) {
    for (std::string_view name :
         {"app", "a", "Belay", "BELAY", "belay2", "PG_app", "pg", "pgapp", "my_pg_",
          "Information_Schema", "two words", "\xc3\xa9t\xc3\xa9"}) {
        EXPECT_EQ(check_hub_name(name), NameFault::kNone) << name;
    }
}

TEST(Names, Reserved) {
    for (std::string_view name : {"pg_", "pg_app", "pg_catalog", "belay", "information_schema"}) {
        EXPECT_EQ(check_hub_name(name), NameFault::kReserved) << name;
    }
}

TEST(Names, Length) {
    EXPECT_EQ(check_hub_name(""), NameFault::kEmpty);
    EXPECT_EQ(check_hub_name(std::string(63, 'x')), NameFault::kNone);
    EXPECT_EQ(check_hub_name(std::string(64, 'x')), NameFault::kTooLong);
    // Bytes count, not characters.
    std::string wide;
    for (int i = 0; i < 32; ++i) {
        wide += "\xc3\xa9";
    }
    EXPECT_EQ(check_hub_name(wide), NameFault::kTooLong);
}

}  // namespace
}  // namespace belay::core
