// Where libpq connects to, and where a password may be sent when a hub has moved.
//
// May touch: nothing outside. Must not: connect; connection.cpp does.
#pragma once

#include <libpq-fe.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "belay/error.hpp"

namespace belay {

// What libpq is to connect to: the conninfo, or the same with another host and port.
struct Conninfo {
    Conninfo(const std::string& text, const std::optional<HubPlace>& place);

    std::vector<const char*> keywords = {};
    std::vector<const char*> values = {};

 private:
    void add(std::string_view keyword, std::string_view value);
    // All but where the server is. A text without parameters is the name of a database.
    void read(const std::string& text);

    std::vector<std::pair<std::string, std::string>> parts = {};
};

// Whether a password for the first server may be sent to the host: to the first server itself, to
// this machine if that is where the first server is (a directory of sockets is this machine), to
// names that differ from its name in the first label, if two labels or more follow, and to what is
// allowed.
bool is_trusted(std::string_view host, std::string_view first,
                const std::vector<std::string>& allowed);

}  // namespace belay
