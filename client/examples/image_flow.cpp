// A flow of tasks: fetch a picture, make three sizes of it at once, and publish as soon as two are
// there.
//
//     image_flow [HUB]         the database is libpq's: PGHOST, PGDATABASE, ...
//
//              +-> small --+
//     fetch ---+-> medium -+--> publish (2 of 3)
//              +-> poster -+
//
// The poster would take for ever. When the other two are done it is not needed any more: the server
// cancels it, and its handler is asked to stop.
#include <belay/flows.hpp>
#include <belay/worker.hpp>

#include <chrono>
#include <iostream>
#include <thread>

namespace {

using belay::Json;
using std::chrono::milliseconds;

const std::string kQueue = "example-pictures";

belay::Outcome fetch(belay::Task& task) {
    return belay::completed({{"file", task.payload().at("url")}});
}

// Gets what fetch has returned under the name that its edge gives it.
belay::Outcome resize(belay::Task& task) {
    const Json picture = task.upstream_result("picture").value();
    const int width = task.payload().at("width");
    while (width > 1000 && !task.stop_token().stop_requested()) {
        std::this_thread::sleep_for(milliseconds(5));
    }
    const std::string file = picture["file"].get<std::string>() + "@" + std::to_string(width);
    return belay::completed({{"file", file}});
}

belay::Outcome publish(belay::Task& task) {
    Json files = Json::array();
    for (const auto& size : task.upstream()) {
        if (size.result) {
            files.push_back(size.result->at("file"));
        }
    }
    return belay::completed(files);
}

belay::FlowItem resized(const std::string& key, int width) {
    return {.key = key,
            .task = {.queue = kQueue, .payload = {{"width", width}}, .kind = "resize"},
            .after = {{"fetch", "picture"}}};
}

}  // namespace

int main(int argc, char** argv) {
    const std::string name = argc > 1 ? argv[1] : "app";
    belay::Connection connection;
    belay::Hub hub(connection, name);
    belay::Worker worker({.hub = name, .name = "pictures", .concurrency = 4});
    worker.on(kQueue, "fetch", fetch);
    worker.on(kQueue, "resize", resize);
    worker.on(kQueue, "publish", publish);
    std::thread thread([&] { worker.run(); });

    const auto flow = hub.flows().create(
        {.kind = "thumbnails",
         .tasks = {{.key = "fetch",
                    .task = {.queue = kQueue, .payload = {{"url", "cat.png"}}, .kind = "fetch"}},
                   resized("small", 64),
                   resized("medium", 640),
                   resized("poster", 20000),
                   {.key = "publish",
                    .task = {.queue = kQueue, .kind = "publish"},
                    .after = {"small", "medium", "poster"},
                    .join = belay::FlowJoin::quorum(2)}}});
    auto now = hub.flows().get(flow.id).value();
    while (now["terminal_at_ms"].is_null()) {
        std::this_thread::sleep_for(milliseconds(20));
        now = hub.flows().get(flow.id).value();
    }
    worker.stop();
    thread.join();
    for (const auto& [key, id] : flow.task_ids) {
        const auto status = hub.tasks().status(id).value();
        std::cout << key << ": " << status.state.text()
                  << (status.result ? " " + status.result->dump() : "") << "\n";
    }
    std::cout << "flow " << flow.id << ": " << now["state"].get<std::string>() << "\n";
    return 0;
}
