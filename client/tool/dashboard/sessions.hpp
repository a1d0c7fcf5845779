// Who is logged in. In memory only; time is given. Thread-safe.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "limits.hpp"

namespace belay::tool::dashboard {

// 256 random bits as 43 characters that need no quoting anywhere. Throws if the system has none.
std::string random_secret();

// Equal, in a time that depends on the length of the given text alone.
bool equals_secret(std::string_view given, std::string_view secret);

// With what the database is asked: viewers with the same credential share connections and answers.
struct Credential {
    std::string key;       // distinguishes credentials
    std::string conninfo;  // with password, if it has one
    bool needs_password = false;
};

struct Session {
    std::string id;
    std::string csrf;
    std::string user;  // of the proxy or of PostgreSQL; "" with a token
    std::shared_ptr<const Credential> credential;
    std::int64_t created_ms = 0;
    std::int64_t used_ms = 0;
    int streams = 0;
};

class Sessions {
 public:
    static constexpr std::int64_t kIdleMs = 8 * 3600 * 1000LL;
    static constexpr std::int64_t kTotalMs = 24 * 3600 * 1000LL;
    static constexpr std::size_t kMost = 1000;
    static constexpr int kMostStreams = 8;

    // Begins a session. At the limit, the one that was unused for longest ends.
    Session begin(std::shared_ptr<const Credential> credential, std::string user,
                  std::int64_t now_ms);
    // The session of this cookie, if it is valid; counts as use.
    std::optional<Session> find(std::string_view id, std::int64_t now_ms);
    // Whether the session may make one more request now: 50 a second.
    bool may_request(const std::string& id, std::int64_t now_ms);
    // Takes one of the 8 streams of a session.
    bool take_stream(const std::string& id);
    void give_stream(const std::string& id);
    // Returns whether no other session has its credential.
    bool end(const std::string& id);
    // Ends what is over; returns the credentials that no session has any more.
    std::vector<std::shared_ptr<const Credential>> expire(std::int64_t now_ms,
                                                          std::vector<std::string>& ended);
    std::size_t size() const;

 private:
    struct Entry {
        Session session;
        Bucket bucket{50, 50};
    };
    bool is_over(const Session& session, std::int64_t now_ms) const;
    bool credential_used(const Credential* credential) const;

    mutable std::mutex mutex_;
    std::map<std::string, Entry, std::less<>> by_id_;
};

}  // namespace belay::tool::dashboard
