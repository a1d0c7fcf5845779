// Where libpq connects to, and where a password may be sent when a hub has moved.
//
// May touch: nothing outside. Must not: connect; connection.cpp does.
#pragma once

#include <libpq-fe.h>

#include <functional>
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

// The conninfo as text, with that place instead of its own; and with a limit for attempts to
// connect, unless it or the environment has one: for those who have other servers to work for.
std::string conninfo_at(const std::string& text, const std::optional<HubPlace>& place);

// Which server a connection uses: the first one, or the place of a hub that an error has named.
//
// A hub that was followed may be still on its way, may have come back, or the server that named the
// place has dropped it. So a server without its schema (3F000) sends the connection to the other
// one of the two. A place that one connection has followed is known to all of the process with the
// same conninfo.
class Servers {
 public:
    // None: the first server.
    const std::optional<HubPlace>& place() const { return place_; }
    // Where an error sends the connection whose place is named; none if it named none.
    bool is_redirected() const { return change_ == Change::kRedirected; }
    // The last error was that this server does not have a hub that was followed.
    bool misses_hub() const { return change_ == Change::kMissing; }

    // What an error says of the place of a hub; whether a place may be followed.
    void note(const Error& error, const std::string& conninfo,
              const std::function<bool(const HubPlace&)>& may_follow);
    // Goes where the last error said. True: the server is another one now.
    bool change();
    void stay() { change_ = Change::kNone; }
    void go_home() { place_.reset(); }

 private:
    enum class Change { kNone, kRedirected, kMissing };

    std::optional<HubPlace> place_ = {};
    std::optional<HubPlace> next_place_ = {};
    Change change_ = Change::kNone;
};

// Whether a password for the first server may be sent to the host: to the first server itself, to
// this machine if that is where the first server is (a directory of sockets is this machine), to
// names that differ from its name in the first label, if two labels or more follow, and to what is
// allowed.
bool is_trusted(std::string_view host, std::string_view first,
                const std::vector<std::string>& allowed);

}  // namespace belay
