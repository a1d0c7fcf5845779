// An order and the work that it causes, in one transaction: both are there, or neither.
//
//     transactional_enqueue [HUB]
//
// Without this, a program that dies between the two leaves an order that nobody works on, or work
// for an order that does not exist.
#include <belay/hub.hpp>

#include <iostream>
#include <stdexcept>

namespace {

void place_order(belay::Connection& connection, belay::Hub& hub, const std::string& order,
                 int amount) {
    connection.with_transaction([&] {
        connection.exec("INSERT INTO example_orders VALUES ($1, $2)", {order, amount});
        hub.enqueue_worker_work(
            {.work_item = R"({"ActivityExecute": {"name": "Charge"}})", .tag = "example"});
        // Whatever goes wrong before the commit undoes both.
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
    const auto items = hub.list_work_items(R"({"tag": "example"})").size();
    std::cout << orders << " order, " << items << " work item\n";
    return orders == 1 && items == 1 ? 0 : 1;
}
