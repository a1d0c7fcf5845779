// A pool of workers that resize pictures: a queue of tasks with retries, progress, priorities and
// cancellation.
//
//     resize_pool [HUB]        the database is libpq's: PGHOST, PGDATABASE, ...
//
// One picture fails twice and is tried again, one cannot be read at all, and one takes too long:
// its user cancels it while it is being worked on.
#include <belay/tasks.hpp>
#include <belay/worker.hpp>

#include <chrono>
#include <iostream>
#include <thread>

namespace {

using namespace std::chrono_literals;

// Works in steps, so that it can report how far it is, and stop between two of them.
belay::Outcome resize(belay::Task& task) {
    const std::string trouble = task.payload().value("trouble", "none");
    if (trouble == "disk full" && task.attempt() <= 2) {
        throw std::runtime_error("disk full");  // any exception: tried again
    }
    if (trouble == "no picture") {
        return belay::failed("this is no picture", belay::FailureClass::kPermanent);
    }
    const int steps = trouble == "huge" ? 100000 : 4;
    for (int step = 1; step <= steps; ++step) {
        if (task.stop_token().stop_requested()) {
            return belay::released();  // not used if the task was cancelled
        }
        std::this_thread::sleep_for(5ms);
        if (step % 2 == 0) {
            task.progress(100.0 * step / steps, "step " + std::to_string(step));
        }
    }
    return belay::completed({{"width", task.payload().value("width", 64)}});
}

belay::Json picture(const std::string& name, const std::string& trouble) {
    return {{"name", name}, {"width", 64}, {"trouble", trouble}};
}

}  // namespace

int main(int argc, char** argv) {
    const std::string name = argc > 1 ? argv[1] : "app";
    belay::Connection connection;
    belay::Hub hub(connection, name);
    belay::Queue images(hub, "example-images");
    images.set(
        {.policy = belay::TaskPolicy{.max_attempts = 3, .backoff = belay::Backoff::fixed(20ms)}});

    belay::Worker worker({.hub = name, .name = "resizer", .concurrency = 3});
    worker.on("example-images", "resize", resize);
    std::thread pool([&] { worker.run(); });

    const std::vector<belay::Json> pictures = {picture("cat", "none"), picture("dog", "disk full"),
                                               picture("essay", "no picture"),
                                               picture("map", "huge")};
    const auto ids = images.send_many(pictures, belay::SendOptions().kind("resize"));
    const belay::Uuid& map = ids[3];
    while (!hub.tasks().status(map)->percent) {
        std::this_thread::sleep_for(10ms);
    }
    hub.tasks().cancel(map, "takes too long");
    for (std::size_t i = 0; i < ids.size(); ++i) {
        const auto done = hub.tasks().await(ids[i]);
        std::cout << pictures[i].at("name").get<std::string>() << ": " << done.state.text()
                  << " in attempt " << hub.tasks().status(ids[i])->attempt << "\n";
    }
    worker.stop();
    pool.join();
    return 0;
}
