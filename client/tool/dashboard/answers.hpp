// What the dashboard answers: JSON with the headers that every answer has, and errors.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "belay/error.hpp"
#include "http_server.hpp"
#include "print.hpp"

namespace belay::tool::dashboard {

using Headers = std::vector<std::pair<std::string, std::string>>;

// Those that every answer has; the first is the Content-Security-Policy.
Headers common_headers();

Response json_response(int status, const Json& json);
Response problem(int status, const std::string& word, const std::string& message);

// Whether a call failed because the database cannot be reached.
bool database_is_away(const Error& error);

// What a failed call of the database is to the page. Never with a connection string: libpq's own
// messages can name hosts and users.
Response problem(const Error& error, const std::string& level);

}  // namespace belay::tool::dashboard
