// A saga as a durable function: charge the card, then ship; if shipping takes too long or the
// customer cancels, stop shipping and refund.
//
//     order_saga [HUB]
//
// Three orders: one goes well, one is not shipped in time, one is cancelled by the customer.
//
// How it works. `buy` and `order_saga` are coroutines whose progress is stored in the hub: after a
// crash, or in another process, they continue where they were. The program runs both the
// orchestration and its activities; these could be different programs.
#include <belay/runtime.hpp>

#include <chrono>
#include <iostream>
#include <map>
#include <mutex>
#include <semaphore>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using belay::Context;
using belay::Durable;
using namespace std::chrono_literals;

struct Order {
    std::string id;
    int deadline_ms = 0;  // for shipping
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Order, id, deadline_ms)

inline constexpr belay::ActivityOf<void(std::string)> charge{"Charge"};
inline constexpr belay::ActivityOf<std::string(std::string)> ship{"Ship"};
inline constexpr belay::ActivityOf<void(std::string)> refund{"Refund"};
inline constexpr belay::OrchestrationOf<std::string(Order)> order_saga{"OrderSaga"};

Durable<std::string> buy(Context ctx, Order order, belay::Saga saga) {
    co_await ctx.retry(charge, order.id, belay::Retry(3).backoff(100ms));
    saga.undo_with(refund, order.id);
    ctx.set_status("shipping");
    auto parcel = ctx.call(ship, order.id);
    auto deadline = ctx.sleep(std::chrono::milliseconds(order.deadline_ms));
    auto won = co_await belay::when_any(std::move(parcel), std::move(deadline));
    if (won.index() == 1) {
        throw belay::Failure("not shipped in time");  // The worker that ships is asked to stop.
    }
    co_return std::get<0>(won);
}

Durable<std::string> run_saga(Context ctx, Order order) {
    belay::Saga saga(ctx);
    auto result = co_await belay::attempt(buy(ctx, order, saga));  // Cancelled is a failure, too.
    if (!result.ok()) {
        co_await saga.compensate();
        result.rethrow();
    }
    co_return result.value();
}

void say(const std::string& line) {
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    std::cout << line << std::endl;
}

// The customer of the third order cancels once the parcel is on its way.
std::binary_semaphore third_is_on_its_way{0};

// The second and the third parcel go nowhere, until the handler is asked to stop.
std::string ship_parcel(belay::Task& activity, const std::string& order) {
    say("  worker:  " + order + " shipping has begun");
    if (order == "order-1") {
        return "shipped";
    }
    if (order == "order-3") {
        third_is_on_its_way.release();
    }
    while (!activity.stop_token().stop_requested()) {
        std::this_thread::sleep_for(5ms);
    }
    say("  worker:  " + order + " shipping is stopped");
    return "never used";
}

}  // namespace

int main(int argc, char** argv) {
    const std::string hub_name = argc > 1 ? argv[1] : "app";
    belay::Runtime runtime({.hub = hub_name});
    runtime.on(order_saga, &run_saga);
    runtime.on(charge,
               [](const std::string& order) { say("  worker:  " + order + " card is charged"); });
    runtime.on(ship, &ship_parcel);
    runtime.on(refund,
               [](const std::string& order) { say("  worker:  " + order + " money is refunded"); });
    std::thread running([&] { runtime.run(); });

    belay::Connection connection;
    belay::Hub hub(connection, hub_name);
    const std::vector<Order> orders = {{"order-1", 60000}, {"order-2", 2000}, {"order-3", 60000}};
    std::map<std::string, belay::Started<std::string>> started;
    for (const Order& order : orders) {
        hub.orchestrations().remove_all({order.id}, true);  // So that the example can be run again.
        started.emplace(order.id, belay::start(hub, order_saga, order, {.instance_id = order.id}));
    }
    started.at("order-3").wait_status([](const auto& status) { return status == "shipping"; });
    third_is_on_its_way.acquire();
    say("customer:  order-3 I have changed my mind");
    started.at("order-3").cancel("changed my mind");

    std::map<std::string, std::string> ends;
    for (auto& [id, instance] : started) {
        try {
            ends[id] = "Completed, " + instance.wait();
        } catch (const belay::Cancelled& cancelled) {
            ends[id] = "Cancelled, " + cancelled.reason();
        } catch (const belay::Failure& failure) {
            ends[id] = std::string("Failed, ") + failure.what();
        }
        say(id + ": " + ends[id]);
    }
    runtime.stop();
    running.join();
    return ends["order-1"] == "Completed, shipped" &&
                   ends["order-2"] == "Failed, not shipped in time" &&
                   ends["order-3"] == "Cancelled, changed my mind"
               ? 0
               : 1;
}
