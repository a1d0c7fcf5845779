// Headers and bodies of the answers of the dashboard.
//
// Must not: reach the database, or repeat a body of the request.
#include "answers.hpp"

namespace belay::tool::dashboard {

namespace {

constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for "
    "'script'; trusted-types 'none'";

}  // namespace

Headers common_headers() {
    return {{"Content-Security-Policy", kPolicy},
            {"X-Content-Type-Options", "nosniff"},
            {"Referrer-Policy", "no-referrer"},
            {"Cross-Origin-Opener-Policy", "same-origin"},
            {"Cross-Origin-Resource-Policy", "same-origin"},
            {"Permissions-Policy",
             "accelerometer=(), autoplay=(), bluetooth=(), camera=(), clipboard-read=(), "
             "clipboard-write=(self), display-capture=(), encrypted-media=(), fullscreen=(), "
             "gamepad=(), geolocation=(), gyroscope=(), hid=(), idle-detection=(), local-fonts=(), "
             "magnetometer=(), microphone=(), midi=(), payment=(), picture-in-picture=(), "
             "publickey-credentials-get=(), screen-wake-lock=(), serial=(), storage-access=(), "
             "usb=(), web-share=(), window-management=(), xr-spatial-tracking=()"}};
}

Response json_response(int status, const Json& json) {
    Response response{.status = status, .headers = common_headers(), .body = json_text(json)};
    response.headers.emplace_back("Content-Type", "application/json");
    response.headers.emplace_back("Cache-Control", "no-store");
    return response;
}

Response problem(int status, const std::string& word, const std::string& message) {
    return json_response(status, {{"error", word}, {"message", message}});
}

bool database_is_away(const Error& error) {
    const std::string_view state = error.sqlstate();
    return error.connection_lost() || state.empty() || state.starts_with("08") ||
           state.starts_with("57P") || state.starts_with("28") || state.starts_with("53");
}

Response problem(const Error& error, const std::string& level) {
    const std::string state(error.sqlstate());
    if (database_is_away(error)) {
        return json_response(
            error.outcome_unknown() ? 504 : 503,
            {{"error", "database_away"}, {"message", "the database cannot be reached"}});
    }
    const bool known = state == "QB002" || state == "3F000" || state == "42P01";
    const int status = state == "42501"                              ? 403
                       : state == "57014"                            ? 504
                       : state == "QB002"                            ? 404
                       : state == "QB006" || state.starts_with("22") ? 400
                       : known                                       ? 404
                                                                     : 409;
    Json json = {{"error", state == "42501"   ? "insufficient_privilege"
                           : state == "57014" ? "timed_out"
                           : status == 404    ? "not_found"
                           : status == 400    ? "refused"
                                              : "failed"},
                 {"sqlstate", state},
                 {"message", error.what()}};
    if (!error.detail().empty()) {
        json["detail"] = error.detail();
    }
    if (state == "42501") {
        json["hint"] = level;
    } else if (!error.hint().empty()) {
        json["hint"] = error.hint();
    }
    return json_response(status, json);
}

}  // namespace belay::tool::dashboard
