// A worker that greets. It ends at Ctrl-C or SIGTERM, when what it runs is done.
//
//     hello_worker [HUB]        the database is libpq's: PGHOST, PGDATABASE, ...
//
// Something for it to do, in psql:
//
//     SELECT app.send('greetings', '{"name": "Ada"}');
#include <belay/worker.hpp>

#include <csignal>
#include <iostream>

namespace {
belay::Worker* running = nullptr;
}

int main(int argc, char** argv) {
    belay::Worker worker({.hub = argc > 1 ? argv[1] : "app"});
    worker.on("greetings", [](belay::Task& task) {
        const std::string greeting = "Hello, " + task.payload().value("name", "world");
        std::cout << greeting << std::endl;
        return belay::completed({{"greeting", greeting}});
    });
    running = &worker;
    for (const int signal : {SIGINT, SIGTERM}) {
        std::signal(signal, [](int) { running->stop(); });
    }
    worker.run();
    std::cout << "bye" << std::endl;
}
