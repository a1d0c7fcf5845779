// An order and the task that it causes, in one transaction: both are there, or neither.
//
//     transactional_enqueue [HUB]
//
// Without this, a program that dies between the two leaves an order without its task, or a task for
// an order that does not exist.
#include <belay/queue.hpp>

#include <iostream>
#include <stdexcept>

namespace {

void place_order(belay::Connection& connection, belay::Hub& hub, const std::string& order,
                 int amount) {
    connection.with_transaction([&] {
        connection.exec("INSERT INTO example_orders VALUES ($1, $2)", {order, amount});
        belay::Queue(hub, "example-charges").send({{"order", order}, {"amount", amount}});
        // An error before the commit undoes both.
        if (amount > 1000) {
            throw std::runtime_error("too expensive");
        }
    });
}

}  // namespace

int main(int argc, char** argv) {
    belay::Connection connection;
    belay::Hub hub(connection, argc > 1 ? argv[1] : "app");
    connection.exec("DROP TABLE IF EXISTS example_orders");
    connection.exec("CREATE TABLE example_orders (id text PRIMARY KEY, amount integer)");
    for (const auto& [order, amount] : {std::pair("order-1", 42), std::pair("order-2", 5000)}) {
        try {
            place_order(connection, hub, order, amount);
            std::cout << order << ": placed\n";
        } catch (const std::runtime_error& error) {
            std::cout << order << ": " << error.what() << "\n";
        }
    }
    const auto orders = connection.exec("SELECT count(*) FROM example_orders").get<int>(0, 0);
    std::int64_t tasks = 0;
    for (const auto& depth : hub.queues().depths()) {
        tasks += depth.queue == "example-charges" ? depth.ready : 0;
    }
    std::cout << orders << " order, " << tasks << " task\n";
    return orders == 1 && tasks == 1 ? 0 : 1;
}
