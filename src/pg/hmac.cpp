// HMAC-SHA-256 by the server's routines, and a comparison that takes the same time for all texts.
//
// Touches  the current memory context
// Must not put a secret into an error
#include "pg/hmac.hpp"

namespace belay::pg {

Hmac hmac_sha256(std::string_view secret, std::string_view message) {
    // What an ERROR leaves behind is freed with the transaction's resources.
    pg_hmac_ctx* context = pg_hmac_create(PG_SHA256);
    Hmac result{};
    if (context == nullptr ||
        pg_hmac_init(context, reinterpret_cast<const uint8*>(secret.data()), secret.size()) < 0 ||
        pg_hmac_update(context, reinterpret_cast<const uint8*>(message.data()), message.size()) <
            0 ||
        pg_hmac_final(context, result.bytes, sizeof result.bytes) < 0) {
        elog(ERROR, "could not compute HMAC: %s", pg_hmac_error(context));
    }
    pg_hmac_free(context);
    return result;
}

// Minor versions of PostgreSQL up to the spring of 2026 have no timingsafe_bcmp.
bool equal_in_constant_time(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) {
        return false;
    }
    // volatile: the loop does not end at the first difference.
    volatile unsigned difference = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        difference = difference | static_cast<unsigned char>(a[i] ^ b[i]);
    }
    return difference == 0;
}

}  // namespace belay::pg
