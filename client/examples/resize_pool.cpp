// A pool of workers that resize pictures: a lane of tasks with retries, progress, priorities and
// cancellation.
//
//     resize_pool [HUB]        the database is libpq's: PGHOST, PGDATABASE, ...
//
// One picture fails twice and is tried again, one is broken for good, and one takes too long: its
// user cancels it while it is being worked on.
#include <belay/worker.hpp>

#include <nlohmann/json.hpp>

#include <chrono>
#include <iostream>
#include <thread>

namespace {

using nlohmann::json;
using std::chrono::milliseconds;

// Works in steps, so that it can tell how far it is, and stop between two of them.
belay::TaskOutcome resize(belay::Task& task) {
    const json picture = json::parse(task.payload());
    const std::string trouble = picture.value("trouble", "none");
    if (trouble == "disk full" && task.attempt() <= 2) {
        throw std::runtime_error("disk full");  // any exception: tried again
    }
    if (trouble == "no picture") {
        throw belay::TaskFailed({.failure_class = "permanent", .message = "this is no picture"});
    }
    const int steps = trouble == "huge" ? 100000 : 4;
    for (int step = 1; step <= steps; ++step) {
        if (task.stop_token().stop_requested()) {
            return belay::TaskOutcome::released();  // not used if the task was cancelled
        }
        std::this_thread::sleep_for(milliseconds(5));
        if (step % 2 == 0) {
            task.progress(100.0 * step / steps, "step " + std::to_string(step));
        }
    }
    return belay::TaskOutcome::completed(json({{"width", picture.value("width", 64)}}).dump());
}

belay::NewTask picture(const std::string& name, const std::string& trouble) {
    const json payload = {{"name", name}, {"width", 64}, {"trouble", trouble}};
    return {.lane = "example-images", .payload = payload.dump(), .kind = "resize"};
}

json read(belay::Hub& hub, const std::string& task_id) {
    return json::parse(hub.get_task(task_id).value());
}

// Waits for the task's next change until the condition holds.
template <typename Condition>
void await(belay::Hub& hub, const std::string& task_id, Condition condition) {
    while (!condition(read(hub, task_id))) {
        hub.wait_for_work({"task:" + task_id}, milliseconds(50));
    }
}

}  // namespace

int main(int argc, char** argv) {
    const std::string name = argc > 1 ? argv[1] : "app";
    belay::Connection connection;
    belay::Hub hub(connection, name);
    hub.set_lane(
        "example-images",
        {.policy = belay::TaskPolicy{
             .max_attempts = 3, .backoff = belay::Backoff::fixed(std::chrono::milliseconds(20))}});

    belay::TaskWorker worker({.hub = name, .worker = "resizer", .concurrency = 3});
    worker.on("example-images", "resize", resize);
    std::thread pool([&] { worker.run(); });

    const auto tasks = hub.create_tasks({picture("cat", "none"), picture("dog", "disk full"),
                                         picture("essay", "no picture"), picture("map", "huge")});
    const std::string& map = tasks[3].task_id;
    await(hub, map, [](const json& task) { return !task["progress"].is_null(); });
    hub.cancel_task(map, "takes too long");
    for (const auto& created : tasks) {
        await(hub, created.task_id,
              [](const json& task) { return !task["terminal_at_ms"].is_null(); });
        const json task = read(hub, created.task_id);
        std::cout << task["payload"]["name"].get<std::string>() << ": "
                  << task["state"].get<std::string>() << " in attempt " << task["attempt_index"]
                  << "\n";
    }
    worker.stop();
    pool.join();
    return 0;
}
