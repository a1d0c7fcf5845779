// Finds embedded files of the front end by name, and their content types.
//
// May touch: the embedded files. Must not: read the file system.
#include "assets.hpp"

#include <algorithm>

namespace belay::tool::dashboard {

const Asset* find_asset(std::string_view name) {
    const auto& all = assets();
    const auto found = std::ranges::find(all, name, &Asset::name);
    return found == all.end() ? nullptr : &*found;
}

std::string_view content_type(std::string_view name) {
    return name.ends_with(".js")     ? "text/javascript; charset=utf-8"
           : name.ends_with(".css")  ? "text/css; charset=utf-8"
           : name.ends_with(".svg")  ? "image/svg+xml"
           : name.ends_with(".txt")  ? "text/plain; charset=utf-8"
           : name.ends_with(".html") ? "text/html; charset=utf-8"
                                     : "application/octet-stream";
}

}  // namespace belay::tool::dashboard
