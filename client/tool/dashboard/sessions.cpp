// Sessions of viewers and their secrets.
//
// May touch: its own table, under its lock; the system's random numbers. Must not: store a session
// anywhere, or compare a secret in a time that depends on it.
#include "sessions.hpp"

#include <sys/random.h>

#include <algorithm>
#include <stdexcept>

namespace belay::tool::dashboard {

std::string random_secret() {
    unsigned char bytes[32];
    if (getrandom(bytes, sizeof bytes, 0) != static_cast<ssize_t>(sizeof bytes)) {
        throw std::runtime_error("the system has no random bytes");
    }
    static constexpr char kDigits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    std::string text;
    unsigned bits = 0;
    int count = 0;
    for (const unsigned char byte : bytes) {
        bits = bits << 8 | byte;
        for (count += 8; count >= 6; count -= 6) {
            text += kDigits[bits >> (count - 6) & 63];
        }
    }
    return text + kDigits[bits << (6 - count) & 63];
}

bool equals_secret(std::string_view given, std::string_view secret) {
    unsigned char different = given.size() != secret.size() ? 1 : 0;
    for (std::size_t i = 0; i < given.size(); ++i) {
        const char other = secret.empty() ? '\x01' : secret[i % secret.size()];
        different = static_cast<unsigned char>(different | (given[i] ^ other));
    }
    return different == 0 && !secret.empty();
}

bool Sessions::is_over(const Session& session, std::int64_t now_ms) const {
    return now_ms - session.used_ms >= kIdleMs || now_ms - session.created_ms >= kTotalMs;
}

bool Sessions::credential_used(const Credential* credential) const {
    return std::ranges::any_of(by_id_, [&](const auto& entry) {
        return entry.second.session.credential.get() == credential;
    });
}

Session Sessions::begin(std::shared_ptr<const Credential> credential, std::string user,
                        std::int64_t now_ms) {
    Session session{.id = random_secret(),
                    .csrf = random_secret(),
                    .user = std::move(user),
                    .credential = std::move(credential),
                    .created_ms = now_ms,
                    .used_ms = now_ms};
    const std::lock_guard lock(mutex_);
    if (by_id_.size() >= kMost) {
        by_id_.erase(std::ranges::min_element(
            by_id_, {}, [](const auto& entry) { return entry.second.session.used_ms; }));
    }
    by_id_.emplace(session.id, Entry{session});
    return session;
}

std::optional<Session> Sessions::find(std::string_view id, std::int64_t now_ms) {
    const std::lock_guard lock(mutex_);
    // The id is 256 random bits: that a lookup takes longer for a prefix that exists does not help
    // to guess one.
    const auto found = by_id_.find(id);
    if (found == by_id_.end() || is_over(found->second.session, now_ms)) {
        return std::nullopt;
    }
    found->second.session.used_ms = now_ms;
    return found->second.session;
}

bool Sessions::may_request(const std::string& id, std::int64_t now_ms) {
    const std::lock_guard lock(mutex_);
    const auto found = by_id_.find(id);
    return found != by_id_.end() && found->second.bucket.take(now_ms);
}

bool Sessions::take_stream(const std::string& id) {
    const std::lock_guard lock(mutex_);
    const auto found = by_id_.find(id);
    if (found == by_id_.end() || found->second.session.streams >= kMostStreams) {
        return false;
    }
    ++found->second.session.streams;
    return true;
}

void Sessions::give_stream(const std::string& id) {
    const std::lock_guard lock(mutex_);
    const auto found = by_id_.find(id);
    if (found != by_id_.end()) {
        --found->second.session.streams;
    }
}

bool Sessions::end(const std::string& id) {
    const std::lock_guard lock(mutex_);
    const auto found = by_id_.find(id);
    if (found == by_id_.end()) {
        return false;
    }
    const auto credential = found->second.session.credential;
    by_id_.erase(found);
    return !credential_used(credential.get());
}

std::vector<std::shared_ptr<const Credential>> Sessions::expire(std::int64_t now_ms,
                                                                std::vector<std::string>& ended) {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<const Credential>> unused;
    for (auto entry = by_id_.begin(); entry != by_id_.end();) {
        if (is_over(entry->second.session, now_ms)) {
            ended.push_back(entry->first);
            unused.push_back(entry->second.session.credential);
            entry = by_id_.erase(entry);
        } else {
            ++entry;
        }
    }
    std::erase_if(unused,
                  [this](const auto& credential) { return credential_used(credential.get()); });
    return unused;
}

std::size_t Sessions::size() const {
    const std::lock_guard lock(mutex_);
    return by_id_.size();
}

}  // namespace belay::tool::dashboard
