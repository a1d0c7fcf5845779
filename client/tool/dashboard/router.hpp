// From a request's method and target to what is asked for. A closed list: what is not in it is
// refused. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::tool::dashboard {

enum class Place {
    kNone,
    kShell,
    kAsset,
    kHealth,
    kLogIn,
    kLogOut,
    kMe,
    kHubs,
    kRead,     // of a hub; `read` says which
    kActions,  // of a hub
    kBulk,     // of a hub; ids: none, or a job and what is done with it
    kStream,
    kWatch,
};

// A read of a hub: the segments after the hub, "*" for an id, and the keys its query may have.
struct ReadPattern {
    const char* name;
    std::vector<const char*> segments;
    std::vector<const char*> keys;
};

// All reads; api_reads.cpp has a statement for each.
const std::vector<ReadPattern>& read_patterns();

struct Route {
    Place place = Place::kNone;
    int status = 200;        // 404, 405 or 400: refused
    std::string allow = {};  // with 405: the methods that exist
    std::string hub = {};
    std::string read = {};              // name of a ReadPattern
    std::vector<std::string> ids = {};  // what stands for "*"; the asset's hash and file
    std::map<std::string, std::string> query = {};

    bool is_api() const {
        return place != Place::kNone && place != Place::kShell && place != Place::kAsset &&
               place != Place::kHealth;
    }
    bool changes() const {
        return place == Place::kLogIn || place == Place::kLogOut || place == Place::kActions ||
               place == Place::kBulk || place == Place::kWatch;
    }
    // "" if the query does not have it.
    const std::string& get(const std::string& key) const;
};

// base: what a proxy puts in front, without a slash at its end; "" for none.
Route find_route(std::string_view method, std::string_view target, std::string_view base);

// Percent-decoding; nothing if it is malformed. A plus sign is a blank in a query only.
std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_blank);

}  // namespace belay::tool::dashboard
