// Text as the server takes it, of the text of any exception.
#pragma once

#include <algorithm>
#include <string>

#include "belay/types.hpp"

namespace belay {

// Bytes that are no UTF-8 are replaced, zero bytes become spaces.
inline std::string clean_text(std::string text) {
    std::ranges::replace(text, '\0', ' ');
    return Json::parse(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace))
        .get<std::string>();
}

}  // namespace belay
