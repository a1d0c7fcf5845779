// The front end, embedded when the tool was built: see client/tool/dashboard/embed.cmake.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace belay::tool::dashboard {

struct Asset {
    std::string_view name;     // app.js
    std::string_view content;  // gzipped, but for index.html
};

// Empty if the tool was built without.
const std::vector<Asset>& assets();
std::string_view assets_hash();
std::string_view front_end_version();

const Asset* find_asset(std::string_view name);

// The type of a file by its name.
std::string_view content_type(std::string_view name);

}  // namespace belay::tool::dashboard
