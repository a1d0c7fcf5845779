// Open event streams, what each watches, and sending to those that watch an object.
//
// May touch: event streams, under its lock. Must not: reach the database, or wait for a slow
// browser.
#include "streams.hpp"

#include <algorithm>

namespace belay::tool::dashboard {

std::optional<Want> parse_want(const std::string& text, const std::set<std::string>& hubs) {
    static const std::set<std::string> kinds = {"glance", "task",   "instance",
                                                "flow",   "events", "bulk"};
    const std::size_t colon = text.find(':');
    if (colon == std::string::npos || !kinds.contains(text.substr(0, colon))) {
        return std::nullopt;
    }
    const std::string rest = text.substr(colon + 1);
    std::optional<Want> best;
    for (const auto& hub : hubs) {
        if (rest.starts_with(hub + ":") && (!best || hub.size() > best->hub.size())) {
            best = Want{text.substr(0, colon), hub, rest.substr(hub.size() + 1)};
        }
    }
    return best;
}

std::string event_text(const std::string& event, const Json& data) {
    return "event: " + event + "\ndata: " + json_text(data) + "\n\n";
}

std::string Streams::open(const Session& session, std::shared_ptr<EventStream> stream) {
    std::string id = random_secret();
    const std::lock_guard lock(mutex_);
    open_[id] = {session.id, session.credential, std::move(stream), {}};
    return id;
}

void Streams::closed(const std::string& id) {
    const std::lock_guard lock(mutex_);
    open_.erase(id);
}

bool Streams::watch(const std::string& id, const std::string& session, const std::vector<Want>& add,
                    const std::vector<Want>& remove) {
    const std::lock_guard lock(mutex_);
    const auto found = open_.find(id);
    if (found == open_.end() || found->second.session != session) {
        return false;
    }
    auto& wants = found->second.wants;
    for (const auto& want : remove) {
        wants.erase(want);
    }
    for (const auto& want : add) {
        // The one that was asked for longest ago gives way.
        if (!wants.contains(want) && wants.size() >= kMostWants) {
            wants.erase(std::ranges::min_element(wants, {},
                                                 [](const auto& entry) { return entry.second; }));
        }
        wants[want] = ++asked_;
    }
    return true;
}

std::vector<Streams::Watched> Streams::watched() const {
    const std::lock_guard lock(mutex_);
    std::map<std::pair<std::string, std::string>, Watched> all;
    for (const auto& [id, open] : open_) {
        for (const auto& [want, asked] : open.wants) {
            Watched& watched = all[{open.credential->key, want.hub}];
            watched.credential = open.credential;
            watched.hub = want.hub;
            watched.glance = watched.glance || want.what == "glance";
            if (want.what == "events") {
                watched.events = true;
                watched.events_asked = std::max(watched.events_asked, asked);
            }
            if (want.what == "task" || want.what == "instance" || want.what == "flow") {
                auto& latest = watched.objects[want];
                latest = std::max(latest, asked);
            }
        }
    }
    std::vector<Watched> list;
    for (auto& [key, watched] : all) {
        list.push_back(std::move(watched));
    }
    return list;
}

void Streams::send(const std::string& credential, const Want& want, const std::string& event,
                   const Json& data) {
    const std::string text = event_text(event, data);
    const std::lock_guard lock(mutex_);
    for (const auto& [id, open] : open_) {
        if (open.credential->key == credential && open.wants.contains(want)) {
            open.stream->send(text);
        }
    }
}

void Streams::end_session(const std::string& session) {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, open] : open_) {
        if (open.session == session) {
            open.stream->send(event_text("bye", Json::object()));
            open.stream->close();
        }
    }
}

void Streams::end_all() {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, open] : open_) {
        open.stream->send(event_text("bye", Json::object()));
        open.stream->close();
    }
}

std::size_t Streams::size() const {
    const std::lock_guard lock(mutex_);
    return open_.size();
}

}  // namespace belay::tool::dashboard
