// Cursors: what was written is read again, and nothing else.
#include "core/cursor.hpp"

#include <string>

#include <gtest/gtest.h>

namespace belay::core {
namespace {

std::string written(std::string_view list, std::string_view key) {
    std::string cursor(cursor_size(key.size()), '?');
    write_cursor(list, key, cursor.data());
    return cursor;
}

std::optional<std::string> read(std::string_view list, std::string_view cursor) {
    std::string room(cursor.size() / 2, '?');
    const auto key = read_cursor(list, cursor, room.data());
    return key ? std::optional<std::string>(*key) : std::nullopt;
}

// Clients keep cursors over an upgrade of the server.
TEST(Cursor, HasAFixedForm) {
    EXPECT_EQ(written("foo", "bar"), "85944171f73967e8626172");
    EXPECT_EQ(read("foo", "85944171f73967e8626172"), "bar");
}

TEST(Cursor, ReadsWhatItWrote) {
    const std::string all_bytes = [] {
        std::string bytes;
        for (int byte = 0; byte < 256; ++byte) {
            bytes.push_back(static_cast<char>(byte));
        }
        return bytes;
    }();
    for (const std::string& key : {std::string("[1]"), all_bytes}) {
        EXPECT_EQ(read("list", written("list", key)), key);
    }
}

TEST(Cursor, RefusesWhatIsNone) {
    const std::string cursor = written("list", "[1, 2]");
    EXPECT_EQ(read("other", cursor), std::nullopt);
    for (std::size_t size = 0; size < cursor.size(); ++size) {
        EXPECT_EQ(read("list", cursor.substr(0, size)), std::nullopt) << size;
    }
    EXPECT_EQ(read("list", cursor + "00"), std::nullopt);
    for (std::size_t i = 0; i < cursor.size(); ++i) {
        for (const char c : {'0', '9', 'a', 'f', 'F', 'g', '/', ':', '`', '\0', '\xff'}) {
            std::string changed = cursor;
            changed[i] = c;
            EXPECT_EQ(read("list", changed).has_value(), c == cursor[i]) << i << " " << c;
        }
    }
    // No key.
    EXPECT_EQ(read("list", written("list", "")), std::nullopt);
}

}  // namespace
}  // namespace belay::core
