// Copies the events of a hub into a table of one's own, each exactly once.
//
//     outbox_mirror [HUB]
//
// The copy and the ack are one transaction. So the reader may die at any moment: here it does,
// after the first batch, and a second one takes over.
#include <belay/events.hpp>
#include <belay/queue.hpp>

#include <iostream>

namespace {

// Something to report: tasks that are completed.
void run_tasks(belay::Hub& hub, int count) {
    belay::Queue queue(hub, "example");
    for (int i = 0; i < count; ++i) {
        queue.send({{"number", i}});
        queue.complete(queue.receive().at(0).lease);
    }
}

void copy(const std::vector<belay::Event>& events, belay::Connection& connection) {
    for (const auto& event : events) {
        connection.exec("INSERT INTO example_copy VALUES ($1, $2, $3)",
                        {event.id, event.type, event.subject});
    }
}

}  // namespace

int main(int argc, char** argv) {
    const std::string name = argc > 1 ? argv[1] : "app";
    belay::Connection connection;
    belay::Hub hub(connection, name);
    connection.exec("DROP TABLE IF EXISTS example_copy");
    connection.exec(
        "CREATE TABLE example_copy (event_id text PRIMARY KEY, type text, subject text)");
    hub.events().subscribe("example_mirror", {{"completion"}});
    run_tasks(hub, 10);

    const belay::ReaderOptions options{.hub = name, .subscription = "example_mirror", .batch = 4};
    belay::EventReader first(options);
    first.run([&](const auto& events, belay::Connection& own) {
        copy(events, own);
        first.stop();  // this batch is its last
    });
    std::cout << "the first reader has copied "
              << connection.exec("SELECT count(*) FROM example_copy").get<int>(0, 0) << " events\n";

    belay::EventReader second(options);
    second.run([&](const auto& events, belay::Connection& own) {
        copy(events, own);
        if (own.exec("SELECT count(*) FROM example_copy").get<int>(0, 0) == 10) {
            second.stop();
        }
    });
    const auto rows =
        connection.exec("SELECT type, count(*) FROM example_copy GROUP BY type ORDER BY type");
    for (int row = 0; row < rows.size(); ++row) {
        std::cout << rows.get<int>(row, 1) << " " << rows.get<std::string>(row, 0) << "\n";
    }
    hub.events().unsubscribe("example_mirror");
    return 0;
}
