#include "library.hpp"

#include <belay/runtime.hpp>
#include <belay/worker.hpp>

#include <cstdio>
#include <memory>
#include <mutex>

#include "mutants.hpp"
#include "serve.hpp"

namespace belay::test::soak::library {

using namespace std::chrono_literals;

namespace {

constexpr const char* kPool = "pool";  // the tag of activities that workers serve
constexpr int64_t kModulus = 1'000'000'007;
constexpr auto kDrain = 3s;

int64_t stepped(int64_t number) {
    return (number * 3 + 1) % kModulus;
}
int64_t rung(int64_t number) {
    return number + 7;
}
int64_t pooled(int64_t number) {
    return number * 2;
}
int64_t lucky(int64_t number) {
    return number * 5;
}

// What the handlers of a process share.
class Desk {
 public:
    Desk(const std::string& journal_path, uint64_t seed) : journal_(journal_path), random_(seed) {}

    bool in_thousand(int chance) {
        const std::lock_guard lock(mutex_);
        return random_.in_thousand(chance);
    }
    // Mostly at once, sometimes after a moment, rarely after longer than a lease.
    void linger(int lease_ms) {
        if (in_thousand(5)) {
            rest(lease_ms * 3 / 2);
        } else if (in_thousand(200)) {
            rest(15);
        }
    }
    // Something that the library has told.
    void note(const char* kind, const std::vector<std::string>& args) {
        const std::lock_guard lock(mutex_);
        journal_.begin(kind, args);
        journal_.end(soak::Outcome::kDone, {});
    }

 private:
    std::mutex mutex_;
    Journal journal_;
    Random random_;
};

std::string item_of(const Task& task) {
    return task.is_activity()
               ? *task.instance() + "/" + to_string(task.execution_id().value_or(0)) + "/" +
                     to_string(task.activity_id().value_or(0))
               : task.id().text();
}

void insert_effect(Connection& connection, const Task& task, std::string_view what) {
    connection.exec("INSERT INTO lib_effects (item, epoch, what) VALUES ($1, $2, $3)",
                    {item_of(task), task.epoch(), what});
}

// Until it is written: an error of the server is no failure of the work. Throws if the lease is
// gone, or the process ends.
template <typename Body>
void write_patiently(Task& task, Body body) {
    for (;;) {
        try {
            task.write(body);
            return;
        } catch (const Error& error) {
            if (error.lock_lost() || error.already_terminal() ||
                task.stop_token().stop_requested()) {
                throw;
            }
            rest(20);
        }
    }
}

void write_effect(Task& task) {
    write_patiently(task,
                    [&](Connection& connection) { insert_effect(connection, task, "begin"); });
}

// ---------------------------------------------------------------- durable functions

constexpr ActivityOf<int64_t(int64_t)> kStep{"Step"};
constexpr ActivityOf<void(int64_t)> kRing{"Ring"};
constexpr ActivityOf<int64_t(int64_t)> kPooled{"Pooled"};
constexpr ActivityOf<int64_t(int64_t)> kLucky{"Lucky"};
constexpr OrchestrationOf<int64_t(int64_t)> kRoot{"Root"};
constexpr OrchestrationOf<int64_t(int64_t)> kChild{"Child"};

Durable<int64_t> run_child(Context context, int64_t input) {
    auto first = context.call(kStep, input);
    auto second = context.call(kStep, input + 1);
    const int64_t sum = co_await std::move(first);
    co_return sum + co_await std::move(second);
}

Durable<int64_t> run_root(Context context, int64_t input) {
    int64_t number = input;
    for (int i = 0; i < 3; ++i) {
        number = co_await context.call(kStep, number);
    }
    co_await context.sleep(Milliseconds(input % 60));
    auto bell = context.event<int64_t>("bell");
    co_await context.call(kRing, input);
    number += co_await std::move(bell);
    number += co_await context.call(kChild, input);
    number += co_await context.call(kPooled, input, CallOptions().tag(kPool));
    number += co_await context.retry(kLucky, input, Retry(60).backoff(5ms, 1.5, 50ms));
    co_return number;
}

std::unique_ptr<Runtime> make_runtime(const std::string& conninfo, int lease_ms, Desk* desk) {
    auto runtime = std::make_unique<Runtime>(RuntimeOptions{
        .connection = {.conninfo = conninfo},
        .hub = "lib",
        .executors = 2,
        .activity_concurrency = 3,
        .lock_timeout = Milliseconds(lease_ms),
        .wait_timeout = 500ms,
        .drain_timeout = kDrain,
        .on_event =
            [desk](const RuntimeEvent& event) {
                if (event.kind == RuntimeEvent::Kind::kNondeterministic ||
                    event.kind == RuntimeEvent::Kind::kCorrupt ||
                    event.kind == RuntimeEvent::Kind::kNoHandler) {
                    desk->note("libbroken", {event.instance_id, event.text});
                }
            },
    });
    runtime->on(kRoot, &run_root);
    runtime->on(kChild, &run_child);
    runtime->on(kStep, [desk, lease_ms](Task& task, int64_t input) {
        write_effect(task);
        desk->linger(lease_ms);
        return stepped(input);
    });
    runtime->on(kRing, [desk, lease_ms](Task& task, int64_t input) {
        desk->linger(lease_ms);
        write_patiently(task, [&](Connection& connection) {
            insert_effect(connection, task, "begin");
            connection.exec("SELECT lib.raise_event($1, 'bell', $2)",
                            {*task.instance(), to_string(rung(input))});
        });
    });
    runtime->on(kLucky, [desk](int64_t input) {
        if (desk->in_thousand(300)) {
            throw Failure("no luck");
        }
        return lucky(input);
    });
    return runtime;
}

// ---------------------------------------------------------------- tasks

belay::Outcome run_task(Task& task, int lease_ms, Desk* desk) {
    desk->linger(lease_ms);
    switch (way_of(task.id().text())) {
        case Way::kOnce:
            task.complete_with(
                [&](Connection& connection) { insert_effect(connection, task, "end"); }, Json(1));
            return settled();
        case Way::kOften:
            write_effect(task);
            return completed(Json(1));
        case Way::kAgain:
            write_effect(task);
            if (task.attempt() == 1) {
                throw std::runtime_error("the first attempt fails");
            }
            return completed(Json(1));
        case Way::kSettles: {
            write_effect(task);
            task.settle(completed(Json(1)));
            desk->note("libtold", {task.id().text(), to_string(task.epoch())});
            return settled();
        }
        default:
            return failed("as its id says", FailureClass::kPermanent);
    }
}

std::unique_ptr<Worker> make_worker(const std::string& conninfo, int lease_ms, Desk* desk) {
    auto worker = std::make_unique<Worker>(WorkerOptions{
        .connection = {.conninfo = conninfo},
        .hub = "lib",
        .concurrency = 4,
        .connections = 2,
        .lease = Milliseconds(lease_ms),
        .wait_timeout = 500ms,
        .drain_timeout = kDrain,
        .retry_delay = 20ms,
        .max_attempts = 1000,
        .tag_filter = std::vector<std::string>{kPool},
        .tag_mode = TagMode::kTags,
        .on_event =
            [desk](const WorkerEvent& event) {
                if (event.kind == WorkerEvent::Kind::kCompleted && !event.task->is_activity()) {
                    desk->note("libdone",
                               {event.task->id().text(), to_string(event.task->epoch())});
                } else if (event.kind == WorkerEvent::Kind::kNoHandler) {
                    desk->note("libbroken", {item_of(*event.task), event.message});
                }
            },
    });
    worker->on("", [desk, lease_ms](Task& task) { return run_task(task, lease_ms, desk); });
    worker->on_activity(kPooled.name, [desk, lease_ms](Task& task) {
        desk->linger(lease_ms);
        const auto input = task.payload().get<int64_t>();
        if (input % 2 == 0) {
            task.complete_with(
                [&](Connection& connection) { insert_effect(connection, task, "end"); },
                Json(pooled(input)));
            return settled();
        }
        write_effect(task);
        return completed(Json(pooled(input)));
    });
    return worker;
}

// ---------------------------------------------------------------- what there is to do

class Starter : public Client {
 public:
    using Client::Client;

 private:
    const char* waits_for() const override { return "SELECT pg_sleep(0.02)"; }

    bool step() override {
        rest(random_.number(20, 120));
        if (line_.phase() != Phase::kRun || line_.crowded()) {
            return false;
        }
        if (random_.in_thousand(350)) {
            const std::string instance = new_name("l");
            const std::string input = to_string(random_.number(0, 100'000));
            (void)line_.ask(
                "libstart", {instance, input},
                "SELECT lib.start_orchestration('Root', '" + input + "', '" + instance + "')");
            return true;
        }
        std::vector<std::string> ids;
        std::string items;
        for (auto left = random_.number(1, 8); left > 0; --left) {
            ids.push_back(new_task());
            items += (items.empty() ? "" : ",") + ("{\"task_id\":\"" + ids.back()) +
                     "\",\"queue\":\"w" + to_string(random_.number(0, 1)) + "\"}";
        }
        (void)line_.ask("libtask", {joined(ids)},
                        "SELECT task_id FROM lib.create_tasks('[" + items + "]')");
        return true;
    }

    std::string new_task() {
        char text[40];
        std::snprintf(text, sizeof text, "%08x-%04x-4000-8000-%012llx", number_,
                      static_cast<unsigned>(random_.number(0, 0xffff)),
                      static_cast<unsigned long long>(++tasks_) * 16 +
                          static_cast<unsigned long long>(random_.number(0, 15)));
        return text;
    }

    int64_t tasks_ = 0;
};

}  // namespace

Way way_of(const std::string& task) {
    static constexpr std::string_view kOnce = "012345";
    static constexpr std::string_view kOften = "6789ab";
    const char last = task.back();
    return kOnce.find(last) != std::string_view::npos    ? Way::kOnce
           : kOften.find(last) != std::string_view::npos ? Way::kOften
           : last == 'c'                                 ? Way::kAgain
           : last == 'f'                                 ? Way::kFails
                                                         : Way::kSettles;
}

int64_t expected_output(int64_t input) {
    return stepped(stepped(stepped(input))) + rung(input) + stepped(input) + stepped(input + 1) +
           pooled(input) + lucky(input);
}

void make_hub(Conn* conn) {
    conn->exec("SELECT belay.create_hub('lib')");
    conn->exec("SELECT belay.set_hub_option('lib', 'max_attempts', 'off')");
    for (const char* queue : {"w0", "w1"}) {
        conn->exec(std::string("SELECT lib.set_queue('") + queue +
                   "', '{\"policy\": {\"max_attempts\": 1000, \"max_reclaims\": 1000, \"backoff\": "
                   "{\"kind\": \"fixed\", \"delay_ms\": 50}}}')");
    }
    conn->exec(
        "CREATE TABLE lib_effects (at bigserial, item text NOT NULL, epoch bigint NOT NULL, "
        "what text NOT NULL)");
}

void play(Shared* shared, const Player& player, const std::string& journal_path) {
    if (player.role == Role::kStarter) {
        Starter starter(shared, player, journal_path);
        starter.run();
        return;
    }
    Desk desk(journal_path, player.seed);
    const int lease_ms = std::max(shared->most_lease_ms, 500);
    if (player.role == Role::kDurable) {
        serve(shared,
              [&](const std::string& conninfo) { return make_runtime(conninfo, lease_ms, &desk); });
    } else {
        mutants::portions_to_cut = shared->portions_to_cut;
        serve(shared,
              [&](const std::string& conninfo) { return make_worker(conninfo, lease_ms, &desk); });
    }
}

}  // namespace belay::test::soak::library
