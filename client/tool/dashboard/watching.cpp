// Event streams, and what they watch.
#include "assets.hpp"
#include "dashboard_impl.hpp"

namespace belay::tool::dashboard {

Response Dashboard::Impl::stream(const Session& session) {
    if (!sessions.take_stream(session.id)) {
        return problem(429, "too_many_streams", "a session has at most 8 streams");
    }
    Response response{.status = 200, .headers = common_headers()};
    response.headers.emplace_back("Content-Type", "text/event-stream");
    response.headers.emplace_back("Cache-Control", "no-store");
    response.headers.emplace_back("X-Accel-Buffering", "no");
    const auto id = std::make_shared<std::string>();
    response.on_stream = [this, session, id](std::shared_ptr<EventStream> opened) {
        *id = streams.open(session, opened);
        opened->send(
            "retry: 2000\n" +
            event_text("hello", {{"version", std::string(front_end_version())}, {"id", *id}}));
    };
    response.on_stream_end = [this, id, session] {
        streams.closed(*id);
        sessions.give_stream(session.id);
        sampler->wake();
        waiter->wake();
    };
    return response;
}

Response Dashboard::Impl::watch(const Session& session, const Route& route,
                                const std::string& body) {
    const Json json = Json::parse(body, nullptr, false);
    if (!json.is_object()) {
        throw BadRequest("the body is no JSON object");
    }
    std::set<std::string> hubs;
    {
        auto connection = database.lease(session.credential);
        for (const auto& [name, hub] : role_of(*connection, *session.credential).hubs) {
            hubs.insert(name);
        }
    }
    std::vector<Want> add;
    std::vector<Want> remove;
    for (const auto& [key, list] : json.items()) {
        if ((key != "add" && key != "remove") || !list.is_array() || list.size() > 200) {
            throw BadRequest("the body has an unrecognized or invalid key \"" + key + "\"");
        }
        for (const auto& text : list) {
            if (!text.is_string()) {
                throw BadRequest("a watch is a string");
            }
            if (const auto want = parse_want(text.get<std::string>(), hubs)) {
                (key == "add" ? add : remove).push_back(*want);
            }
        }
    }
    if (!streams.watch(route.ids[0], session.id, add, remove)) {
        throw NotFound("there is no such stream");
    }
    sampler->wake();
    waiter->wake();
    return json_response(200, Json::object());
}

}  // namespace belay::tool::dashboard
