// A program that uses the installed client library, as small as can be.
#include <belay/worker.hpp>
#include <iostream>

int main() {
    belay::Connection connection;
    belay::Hub hub(connection, "app");
    hub.enqueue_worker_work({.work_item = R"({"ActivityExecute":{"name":"Greet","input":"Ada"}})"});
    belay::Worker worker({.hub = "app"});
    worker.on("Greet", [&](belay::Activity& activity) {
        std::cout << "Hello, " << activity.input() << std::endl;
        worker.stop();
        return belay::Outcome::completed();
    });
    worker.run();
}
