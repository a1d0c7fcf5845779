// belay demo-load: a mixed load of tasks, flows, orchestrations and work items, so that there is
// something to look at.
#include <poll.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <iostream>
#include <thread>

#include "belay/admin.hpp"
#include "belay/runtime.hpp"
#include "belay/worker.hpp"
#include "dashboard_command.hpp"

namespace belay::tool {
namespace {

struct Load {
    double seconds = 0;  // 0: until a signal
    double per_second = 4;
};

Interrupt& end_of_load() {
    static Interrupt interrupt;
    return interrupt;
}

extern "C" void leave_demo(int) {
    end_of_load().signal();
}

bool is_over() {
    pollfd ready{.fd = end_of_load().descriptor(), .events = POLLIN, .revents = 0};
    return poll(&ready, 1, 0) > 0;
}

// ---- Orchestrations. ----

struct Order {
    int number = 0;
    double amount = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Order, number, amount)

inline constexpr ActivityOf<std::string(int)> reserve{"Reserve"};
inline constexpr ActivityOf<std::string(double)> charge{"Charge"};
inline constexpr ActivityOf<std::string(int)> pack{"Pack"};
inline constexpr ActivityOf<std::string(int)> render{"Render"};
inline constexpr OrchestrationOf<std::string(Order)> bill{"Bill"};
inline constexpr OrchestrationOf<std::string(int)> ship{"Ship"};
inline constexpr OrchestrationOf<std::string(int)> poll_prices{"PollPrices"};

// A child: parcels are packed by the worker that has the session of their packing table, and some
// wait for a machine that no worker has.
Durable<std::string> run_ship(Context ctx, int number) {
    const std::string packed = co_await ctx.call(
        pack, number, CallOptions().session("table-" + std::to_string(number % 3)));
    if (number % 24 == 10) {
        co_await ctx.call(render, number, CallOptions().tag("gpu"));
    }
    co_return packed;
}

Durable<std::string> run_bill(Context ctx, Order order) {
    ctx.set_status("reserving");
    co_await ctx.call(reserve, order.number);
    ctx.set("stage", std::string("charging"));
    ctx.set_status("charging");
    if (order.number % 16 == 9) {
        ctx.set_status("waiting for the payment");
        co_await ctx.event<belay::Json>("paid");
    } else {
        co_await ctx.call(charge, order.amount);
    }
    if (order.number % 16 == 2) {
        throw Failure("card was declined: insufficient funds");
    }
    ctx.set("stage", std::string("shipping"));
    ctx.set_status("shipping");
    const std::string parcel = co_await ctx.call(
        ship, order.number, CallOptions().instance("ship-" + std::to_string(10000 + order.number)));
    if (order.number % 8 == 1) {
        ctx.set_status("waiting for the delivery");
        co_await ctx.sleep(Milliseconds(90000));
    }
    ctx.clear_status();
    co_return parcel;
}

// Continues as new with each look.
Durable<std::string> run_poll(Context ctx, int look) {
    ctx.set("looks", look);
    co_await ctx.sleep(Milliseconds(4000));
    co_return ctx.continue_as_new(look + 1);
}

class Maker {
 public:
    explicit Maker(Hub& hub) : hub_(hub) {}

    void set_up() {
        // What fails is soon a dead letter, and what happens is printed.
        Admin admin(hub_.connection());
        admin.set_hub_option(hub_.name(), "max_attempts", "3");
        admin.set_hub_option(hub_.name(), "events", "operator,completion,instance");
        hub_.queues()["images"].set({.concurrency = 4});
        hub_.queues()["mail"].set({.rate_per_s = 20, .burst = 40});
        hub_.queues()["paused-queue"].set(QueueSettings{});
        hub_.queues()["paused-queue"].pause();
        for (int i = 0; i < 12; ++i) {
            task("paused-queue", "later", {{"n", i}});
        }
        for (int i = 0; i < 3; ++i) {
            hub_.tasks().create({.queue = "cpu",
                                 .payload = {{"steps", 100000}},
                                 .kind = "simulate",
                                 .capabilities = {"avx2"}});
        }
        for (int i = 0; i < 3; ++i) {
            task("approvals", "expense", {{"amount", 900 + i}, {"by", "ada"}});
        }
        belay::start(hub_, poll_prices, 1, {.instance_id = "price-feed"});
        hub_.events().subscribe("audit", {{"operator"}});
        hub_.events().subscribe("warehouse");
        hub_.schedules().create({.name = "nightly",
                                 .cron = "30 2 * * mon-fri",
                                 .task = {.queue = "reports", .kind = "nightly"},
                                 .time_zone = "Europe/Berlin"});
        hub_.schedules().create({.name = "poll inbox",
                                 .cron = "*/15 8-17 * * *",
                                 .task = {.queue = "mail", .kind = "digest"}});
    }

    void step() {
        ++number_;
        switch (number_ % 8) {
            case 0:
                number_ % 16 == 0 ? quorum() : flow();
                break;
            case 1:
            case 2:
                orchestration();
                break;
            case 3:
                number_ % 24 == 3 ? broken() : notify();
                break;
            case 4:
                task("images", "resize",
                     {{"url", "s3://in/" + std::to_string(number_) + ".png"}, {"width", 900}});
                break;
            case 5:
                task("billing", "charge", {{"order", 7000 + number_}, {"amount", "42.90"}});
                break;
            case 6:
                task("reports", "export", {{"report", "revenue"}, {"rows", 9007199254740993}},
                     Milliseconds(number_ % 3 == 0 ? 600000 : 0));
                approve_one();
                break;
            default:
                task("mail", "welcome",
                     {{"to", "ada" + std::to_string(number_) + "@example.org"},
                      {"template", "welcome"}});
        }
    }

 private:
    void task(const std::string& queue, const std::string& kind, const belay::Json& payload,
              Milliseconds delay = Milliseconds(0)) {
        hub_.tasks().create({.queue = queue, .payload = payload, .kind = kind, .delay = delay});
    }

    void activity(const std::string& name, const OptionalText& tag = {}) {
        hub_.provider().enqueue_worker_work(
            {.work_item = json_text({{"ActivityExecute",
                                      {{"instance", "order-" + std::to_string(number_)},
                                       {"execution_id", 1},
                                       {"id", 2},
                                       {"name", name},
                                       {"input", "customer " + std::to_string(number_)}}}}),
             .tag = tag});
    }

    void notify() { activity("Notify"); }

    // Its workers lose their leases until it is a dead letter.
    void broken() {
        activity("Fax", "legacy");
        for (int attempt = 0; attempt < 8; ++attempt) {
            hub_.provider().fetch_work_item({.lock_timeout = Milliseconds(1),
                                             .owner_id = "fax-machine",
                                             .tag_filter = {{"legacy"}},
                                             .tag_mode = TagMode::kTags});
            std::this_thread::sleep_for(Milliseconds(3));
        }
    }

    // Of what waits for an approval some are approved, and some cancelled.
    void approve_one() {
        if (number_ % 32 == 22) {
            task("approvals", "expense", {{"amount", number_}, {"by", "eve"}});
            return;
        }
        const auto waiting =
            hub_.tasks().list({.queue = "approvals", .states = {TaskState::kSuspended}});
        if (waiting.size() < 3) {
            return;
        }
        if (number_ % 16 == 6) {
            hub_.tasks().force_cancel(waiting[0].id, "a duplicate");
            return;
        }
        for (const auto& point : hub_.signals().waitpoints(waiting[0].id)) {
            hub_.signals().approve(waiting[0].id, point.id, "approve",
                                   "demo-" + std::to_string(number_));
        }
    }

    void flow() {
        hub_.flows().create(
            {.kind = "thumbnails",
             .tasks = {{.key = "fetch", .task = {.queue = "images", .kind = "fetch"}},
                       {.key = "small",
                        .task = {.queue = "images", .kind = "resize"},
                        .after = {"fetch"}},
                       {.key = "large",
                        .task = {.queue = "images", .kind = "resize"},
                        .after = {"fetch"}},
                       {.key = "notify",
                        .task = {.queue = "mail", .kind = "notify"},
                        .after = {"small", "large"}}}});
    }

    // Two of three keys have to be there; a flow that is built while it runs, and one that fails.
    void quorum() {
        hub_.flows().create(
            {.kind = "replicate",
             .tasks = {{.key = "eu", .task = {.queue = "images", .kind = "copy"}},
                       {.key = "us", .task = {.queue = "images", .kind = "copy"}},
                       {.key = "asia", .task = {.queue = "paused-queue", .kind = "copy"}},
                       {.key = "publish",
                        .task = {.queue = "mail", .kind = "notify"},
                        .after = {"eu", "us", "asia"},
                        .join = FlowJoin::quorum(2)}}});
    }

    void orchestration() {
        const std::string id = "order-" + std::to_string(10000 + number_);
        belay::start(hub_, bill, Order{static_cast<int>(number_), 42.9}, {.instance_id = id});
        if (number_ % 16 == 9) {
            // The event that an older order waits for.
            hub_.orchestrations().raise("order-" + std::to_string(10000 + number_ - 16), "paid",
                                        {{"by", "card"}});
        }
        if (number_ % 40 == 1) {
            hub_.orchestrations().cancel(id, "the customer has changed his mind");
        }
    }

    Hub& hub_;
    std::int64_t number_ = 0;
};

// Waits for the signal of a manager, and continues with it.
Outcome approve_expense(Task& task) {
    if (task.signals().empty()) {
        return suspended({.waitpoints = {{.key = "manager"}},
                          .condition = Condition::single("manager"),
                          .reason = SuspensionReason::kApproval,
                          .timeout_in = Milliseconds(3600000),
                          .on_timeout = OnTimeout::kFail});
    }
    return completed({{"paid", true}});
}

Outcome work_on(Task& task, int number) {
    std::this_thread::sleep_for(Milliseconds(40 + number % 7 * 90));
    if (task.kind() == "charge" && number % 5 == 0) {
        return failed({.failure_class = FailureClass::kPermanent,
                       .message = "card was declined: insufficient funds"});
    }
    if (task.kind() == "resize" && number % 6 == 0) {
        return failed({.message = "connection to s3.example.org timed out"});
    }
    return completed({{"done", true}, {"took_ms", 214}});
}

void pause_for(int ms) {
    std::this_thread::sleep_for(Milliseconds(ms));
}

void register_orchestrations(Runtime& runtime) {
    runtime.on(bill, &run_bill);
    runtime.on(ship, &run_ship);
    runtime.on(poll_prices, &run_poll);
    runtime.on(reserve, [](int number) {
        pause_for(120);
        return "shelf " + std::to_string(number % 40);
    });
    runtime.on(charge, [](double) {
        pause_for(400);
        return std::string("charged");
    });
    runtime.on(pack, [](int number) {
        pause_for(700);
        return "parcel " + std::to_string(number);
    });
    runtime.on(ActivityOf<std::string(std::string)>("Notify"), [](const std::string&) {
        pause_for(120);
        return std::string("sent");
    });
}

void run_load(Tool& tool, const Load& load) {
    tool.check_can_work();
    std::signal(SIGPIPE, SIG_IGN);
    for (const int signal : {SIGINT, SIGTERM}) {
        std::signal(signal, leave_demo);
    }
    Hub hub = tool.hub();
    Maker maker(hub);
    maker.set_up();
    WorkerOptions options{.connection = tool.connection_options(), .hub = tool.chosen_hub()};
    options.name = "demo";
    Worker worker(options);
    std::atomic<int> number = 0;
    for (const char* queue : {"images", "billing", "reports", "mail"}) {
        worker.on(queue, [&number](Task& task) { return work_on(task, ++number); });
    }
    worker.on("approvals", &approve_expense);
    Runtime runtime({.connection = tool.connection_options(), .hub = tool.chosen_hub()});
    register_orchestrations(runtime);
    std::thread worker_thread([&] { worker.run(); });
    std::thread runtime_thread([&] { runtime.run(); });
    const auto end = std::chrono::steady_clock::now() +
                     std::chrono::milliseconds(static_cast<std::int64_t>(load.seconds * 1000));
    std::int64_t made = 0;
    while (!is_over() && (load.seconds == 0 || std::chrono::steady_clock::now() < end)) {
        maker.step();
        ++made;
        std::this_thread::sleep_for(
            std::chrono::milliseconds(static_cast<std::int64_t>(1000 / load.per_second)));
    }
    worker.stop();
    runtime.stop();
    worker_thread.join();
    runtime_thread.join();
    tool.say({{"made", made}}, "made " + std::to_string(made) + " pieces of work");
}

}  // namespace

void add_demo_load(CLI::App& app, Tool& tool) {
    auto load = std::make_shared<Load>();
    auto* command = app.add_subcommand(
        "demo-load", "fill a new hub with a mixed load, to look at; not for a hub in use");
    command->add_option("--seconds", load->seconds, "stop after so long; else at Ctrl-C")
        ->check(CLI::NonNegativeNumber);
    command->add_option("--rate", load->per_second, "pieces of work per second")
        ->capture_default_str()
        ->check(CLI::Range(0.1, 1000.0));
    on_run(tool, command, [&tool, load] { run_load(tool, *load); });
}

}  // namespace belay::tool
