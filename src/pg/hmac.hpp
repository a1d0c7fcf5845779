// Signatures with the server's own routines.
#pragma once

#include "pg/pg.hpp"

namespace belay::pg {

inline constexpr int kHmacBytes = PG_SHA256_DIGEST_LENGTH;

struct Hmac {
    uint8 bytes[kHmacBytes];
};

// HMAC-SHA256 of a message.
Hmac hmac_sha256(std::string_view secret, std::string_view message);

// Whether two texts are equal, in a time that only depends on their lengths.
bool equal_in_constant_time(std::string_view a, std::string_view b);

}  // namespace belay::pg
