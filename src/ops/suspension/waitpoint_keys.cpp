// waitpoint_keys.cpp — the tokens of waitpoints, and the keys that sign them.
//
// Calls    store::signing_key, store::find_waitpoint_key, store::insert_waitpoint_key
// Touches  <hub>.waitpoint_keys
// Locks    the hub row: one change of keys at a time
// Raises   QB006
//
// A token never stands in a table, in a message or in a log.
#include "ops/suspension/suspension.hpp"
#include "pg/errors.hpp"
#include "pg/hmac.hpp"
#include "store/hub_row.hpp"

namespace belay::ops {

namespace {

constexpr std::size_t kLeastSecret = 32;
constexpr std::size_t kMostSecret = 1024;

void check_key(std::string_view kid, std::string_view secret) {
    (void)checked_word("p_kid", kid);
    if (kid.find(':') != std::string_view::npos) {
        pg::raise_invalid(
            "bad_value", "p_kid", "p_kid must not contain a colon",
            "Choose a name without a colon, which ends the name of the key in a token.");
    }
    if (secret.size() < kLeastSecret || secret.size() > kMostSecret) {
        pg::raise(pg::kInvalidArgument,
                  psprintf("p_secret must have %zu to %zu bytes", kLeastSecret, kMostSecret),
                  pg::Facts(secret.size() < kLeastSecret ? "too_short" : "too_long")
                      .add("path", "p_secret")
                      .add("bytes", static_cast<int64>(secret.size())),
                  "Use random bytes.");
    }
}

bool add_key(store::Tables& tables, std::string_view kid, std::string_view secret,
             std::optional<int64> grace_ms) {
    check_key(kid, secret);
    store::lock_hub_row(tables);
    if (const auto known = store::find_waitpoint_key(tables, kid)) {
        if (!pg::equal_in_constant_time(known->secret, secret)) {
            pg::raise(pg::kInvalidArgument,
                      psprintf("key \"%s\" has another secret", pg::excerpt(kid)),
                      pg::Facts("key_exists").add("path", "p_kid").add("kid", kid),
                      "Give the new secret a name of its own.");
        }
        return false;
    }
    const int64 now = pg::server_now_ms();
    store::insert_waitpoint_key(
        tables, kid, secret, grace_ms ? std::optional(core::add_ms(now, *grace_ms)) : std::nullopt,
        now);
    return true;
}

}  // namespace

const char* waitpoint_token(const store::WaitpointKey& key, const pg_uuid_t& task,
                            const pg_uuid_t& waitpoint) {
    const char* kid = pg::c_string(key.kid);
    const auto hmac = pg::hmac_sha256(
        key.secret, psprintf("%s:%s:%s", kid, store::uuid_text(task), store::uuid_text(waitpoint)));
    StringInfo token = makeStringInfo();
    appendStringInfo(token, "%s:", kid);
    for (const uint8 byte : hmac.bytes) {
        appendStringInfo(token, "%02x", byte);
    }
    return token->data;
}

bool is_token_good(store::Tables& tables, std::optional<std::string_view> token,
                   const pg_uuid_t& task, const pg_uuid_t& waitpoint, int64 now) {
    const auto colon = token ? token->find(':') : std::string_view::npos;
    if (colon == std::string_view::npos) {
        return false;
    }
    const auto key = store::find_waitpoint_key(tables, token->substr(0, colon));
    return key && (!key->valid_until || *key->valid_until > now) &&
           pg::equal_in_constant_time(*token, waitpoint_token(*key, task, waitpoint));
}

bool seed_waitpoint_key(store::Tables& tables, std::string_view kid, std::string_view secret) {
    return add_key(tables, kid, secret, std::nullopt);
}

bool rotate_waitpoint_key(store::Tables& tables, std::string_view kid, std::string_view secret,
                          int64 grace_ms) {
    return add_key(tables, kid, secret, grace_ms);
}

}  // namespace belay::ops
