// A flow of tasks: fetch a picture, make three sizes of it at once, and publish as soon as two are
// there.
//
//     image_flow [HUB]         the database is libpq's: PGHOST, PGDATABASE, ...
//
//              +-> small --+
//     fetch ---+-> medium -+--> publish (2 of 3)
//              +-> poster -+
//
// The poster would take for ever. When the other two are done nobody needs it any more: the server
// cancels it, and its handler is told to stop.
#include <belay/worker.hpp>

#include <nlohmann/json.hpp>

#include <chrono>
#include <iostream>
#include <thread>

namespace {

using nlohmann::json;
using std::chrono::milliseconds;

const std::string kLane = "example-pictures";

belay::TaskOutcome fetch(belay::Task& task) {
    const json payload = json::parse(task.payload());
    return belay::TaskOutcome::completed(json({{"file", payload["url"]}}).dump());
}

// Gets what fetch has returned under the name that its edge gives it.
belay::TaskOutcome resize(belay::Task& task) {
    const json picture = json::parse(task.upstream_result("picture").value());
    const int width = json::parse(task.payload())["width"];
    while (width > 1000 && !task.stop_token().stop_requested()) {
        std::this_thread::sleep_for(milliseconds(5));
    }
    const std::string file = picture["file"].get<std::string>() + "@" + std::to_string(width);
    return belay::TaskOutcome::completed(json({{"file", file}}).dump());
}

belay::TaskOutcome publish(belay::Task& task) {
    json files = json::array();
    for (const auto& size : task.upstream()) {
        if (size.result) {
            files.push_back(json::parse(*size.result)["file"]);
        }
    }
    return belay::TaskOutcome::completed(files.dump());
}

belay::FlowItem resized(const std::string& key, int width) {
    return {.key = key,
            .task = {.lane = kLane, .payload = json({{"width", width}}).dump(), .kind = "resize"},
            .after = {{"fetch", "picture"}}};
}

}  // namespace

int main(int argc, char** argv) {
    const std::string name = argc > 1 ? argv[1] : "app";
    belay::Connection connection;
    belay::Hub hub(connection, name);
    belay::TaskWorker worker({.hub = name, .worker = "pictures", .concurrency = 4});
    worker.on(kLane, "fetch", fetch);
    worker.on(kLane, "resize", resize);
    worker.on(kLane, "publish", publish);
    std::thread thread([&] { worker.run(); });

    const auto flow = hub.create_flow(
        {.kind = "thumbnails",
         .tasks = {{.key = "fetch",
                    .task = {.lane = kLane, .payload = R"({"url": "cat.png"})", .kind = "fetch"}},
                   resized("small", 64),
                   resized("medium", 640),
                   resized("poster", 20000),
                   {.key = "publish",
                    .task = {.lane = kLane, .kind = "publish"},
                    .after = {"small", "medium", "poster"},
                    .join = belay::FlowJoin::quorum(2)}}});
    json now = json::parse(hub.get_flow(flow.flow_id).value());
    while (now["terminal_at_ms"].is_null()) {
        std::this_thread::sleep_for(milliseconds(20));
        now = json::parse(hub.get_flow(flow.flow_id).value());
    }
    worker.stop();
    thread.join();
    for (const auto& [key, id] : flow.task_ids) {
        const json task = json::parse(hub.get_task(id).value());
        std::cout << key << ": " << task["state"].get<std::string>()
                  << (task["result"].is_null() ? "" : " " + task["result"].dump()) << "\n";
    }
    std::cout << "flow " << flow.flow_id << ": " << now["state"].get<std::string>() << "\n";
    return 0;
}
