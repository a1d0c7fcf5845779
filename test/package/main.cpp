// A program that uses the installed client library, as small as can be.
#include <belay/queue.hpp>
#include <belay/worker.hpp>
#include <iostream>

int main() {
    belay::Connection connection;
    belay::Hub hub(connection, "app");
    belay::Queue(hub, "greetings").send({{"name", "Ada"}});
    belay::Worker worker({.hub = "app"});
    worker.on("greetings", [&](belay::Task& task) {
        std::cout << "Hello, " << task.payload().at("name").get<std::string>() << std::endl;
        worker.stop();
        return belay::completed();
    });
    worker.run();
}
