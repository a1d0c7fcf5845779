// belay demo-load: a mixed load of tasks, flows, orchestrations and work items, so that there is
// something to look at.
#include <poll.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <iostream>
#include <thread>

#include "belay/worker.hpp"
#include "dashboard_command.hpp"

namespace belay::tool {
namespace {

struct Load {
    double seconds = 0;  // 0: until a signal
    double per_second = 4;
};

Interrupt& leave() {
    static Interrupt interrupt;
    return interrupt;
}

extern "C" void leave_demo(int) {
    leave().signal();
}

bool is_over() {
    pollfd ready{.fd = leave().descriptor(), .events = POLLIN, .revents = 0};
    return poll(&ready, 1, 0) > 0;
}

class Maker {
 public:
    explicit Maker(Hub& hub) : hub_(hub) {}

    void set_up() {
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
                flow();
                break;
            case 1:
            case 2:
                orchestration();
                break;
            case 3:
                hub_.provider().enqueue_worker_work(
                    {.work_item =
                         json_text({{"ActivityExecute",
                                     {{"instance", "order-" + std::to_string(number_)},
                                      {"execution_id", 1},
                                      {"id", 2},
                                      {"name", number_ % 24 == 3 ? "Broken" : "Notify"},
                                      {"input", "customer " + std::to_string(number_)}}}})});
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

    // One turn that writes what a dispatcher would write: some end, some go on.
    void orchestration() {
        const std::string id = "order-" + std::to_string(10000 + number_);
        const std::int64_t now = std::chrono::duration_cast<Milliseconds>(
                                     std::chrono::system_clock::now().time_since_epoch())
                                     .count();
        hub_.orchestrations().start("Bill", {{"order", 7}, {"amount", 42.0}}, {.instance_id = id});
        const auto turn = hub_.provider().fetch_orchestration_item({});
        if (!turn) {
            return;
        }
        const bool ends = number_ % 3 != 0;
        const bool fails = number_ % 10 == 1;
        std::vector<NewEvent> events;
        std::int64_t at = now - 9000;
        const auto add = [&](const char* type, Json fields, std::int64_t after) {
            at += after;
            fields["type"] = type;
            fields["event_id"] = static_cast<std::int64_t>(events.size()) + 1;
            fields["timestamp_ms"] = at;
            events.push_back({.event_id = static_cast<std::int64_t>(events.size()) + 1,
                              .event_data = json_text(fields),
                              .event_type = type});
        };
        add("OrchestrationStarted", {{"name", "Bill"}, {"input", R"({"order": 7})"}}, 0);
        add("ActivityScheduled", {{"name", "Reserve"}, {"input", "7"}}, 40);
        add("ActivityCompleted", {{"source_event_id", 2}, {"result", "ok"}}, 2100);
        add("ActivityScheduled", {{"name", "Charge"}, {"input", "42.00"}}, 30);
        add("TimerCreated", {{"fire_at_ms", now + 60000}}, 5);
        if (ends) {
            add(fails ? "ActivityFailed" : "ActivityCompleted", {{"source_event_id", 4}}, 4100);
            add(fails ? "OrchestrationFailed" : "OrchestrationCompleted", {}, 30);
        }
        Json metadata = {{"orchestration_name", "Bill"},
                         {"orchestration_version", "1.0.0"},
                         {"status", !ends   ? "Running"
                                    : fails ? "Failed"
                                            : "Completed"},
                         {"kv_mutations",
                          {{{"action", "set"},
                            {"key", "stage"},
                            {"value", "charging"},
                            {"last_updated_at_ms", now}}}}};
        if (ends) {
            metadata["output"] = fails ? "card was declined: insufficient funds" : "\"paid\"";
        }
        hub_.provider().ack_orchestration_item(
            turn->lock_token, {.history_delta = events, .metadata = json_text(metadata)});
    }

    Hub& hub_;
    std::int64_t number_ = 0;
};

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
    worker.on_activity("Notify", [](Task&) {
        std::this_thread::sleep_for(Milliseconds(120));
        return completed_text("sent");
    });
    worker.on_activity("Broken", [](Task&) { return retry_in(Milliseconds(10)); });
    std::thread worker_thread([&] { worker.run(); });
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
    worker_thread.join();
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
