// The open event streams, and what each of them wants to hear of. Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "http_server.hpp"
#include "print.hpp"
#include "sessions.hpp"

namespace belay::tool::dashboard {

// What a page wants: glance, task, instance, flow, events or bulk of a hub, and an id.
struct Want {
    std::string what;
    std::string hub;
    std::string id;

    auto operator<=>(const Want&) const = default;
};

// Parses "task:<hub>:<id>", of one of these hubs: both can have colons. None if it is no want.
std::optional<Want> parse_want(const std::string& text, const std::set<std::string>& hubs);

std::string event_text(const std::string& event, const Json& data);

class Streams {
 public:
    static constexpr std::size_t kMostWants = 64;

    struct Watched {
        std::shared_ptr<const Credential> credential;
        std::string hub;
        bool glance = false;
        bool events = false;
        std::int64_t events_asked = 0;  // when a page last began to
        // Tasks, instances, flows, and when the page last asked for each.
        std::map<Want, std::int64_t> objects;
    };

    // Returns the stream's id.
    std::string open(const Session& session, std::shared_ptr<EventStream> stream);
    void closed(const std::string& id);
    // False: the session has no such stream.
    bool watch(const std::string& id, const std::string& session, const std::vector<Want>& add,
               const std::vector<Want>& remove);
    // What is watched, by credential and hub.
    std::vector<Watched> watched() const;
    // Sends an event to all streams of the credential that want it.
    void send(const std::string& credential, const Want& want, const std::string& event,
              const Json& data);
    void end_session(const std::string& session);
    void end_all();  // says goodbye
    std::size_t size() const;

 private:
    struct Open {
        std::string session;
        std::shared_ptr<const Credential> credential;
        std::shared_ptr<EventStream> stream;
        std::map<Want, std::int64_t> wants;  // and when they were asked for
    };
    mutable std::mutex mutex_;
    std::map<std::string, Open> open_;
    std::int64_t asked_ = 0;  // grows with each watch
};

}  // namespace belay::tool::dashboard
