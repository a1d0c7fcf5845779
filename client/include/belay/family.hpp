// Families of hubs: which hub has a key, computed as belay.family_hub does.
//
//     const belay::Family family("app", 64);
//     belay::Hub hub(connection, family.hub("customer-17"));
//
// The connection goes to the server that has the hub, if it is asked first at another one that
// knows the place; see ConnectionOptions::follow_redirects.
//
// Thread-safety: a value; may be read by any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "belay/error.hpp"

namespace belay {

class Family {
 public:
    static constexpr int kMaxHubs = 1024;

    // The name and the number of hubs, as given to belay.create_hub_family. Throws Error (22023)
    // for a number that no family has.
    Family(std::string name, int hubs, const SourceLocation& where = SourceLocation::current());

    const std::string& name() const { return name_; }
    int size() const { return hubs_; }

    // The number of the hub that has the key, from 0 on; and its name.
    int number(std::string_view key) const;
    std::string hub(std::string_view key) const { return hub_at(number(key)); }

    std::string hub_at(int number) const;
    std::vector<std::string> hubs() const;

 private:
    std::string name_;
    int hubs_;
};

}  // namespace belay
