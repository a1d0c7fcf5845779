// Worker, Dispatcher and EventReader while a hub moves from one plain server to another.
#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <set>

#include "belay/dispatcher.hpp"
#include "belay/events.hpp"
#include "belay/orchestrations.hpp"
#include "belay/provider.hpp"
#include "belay/tasks.hpp"
#include "belay/worker.hpp"
#include "moves.hpp"

namespace belay::test {
namespace {

class ClientMoves : public WithMoves {
 protected:
    void SetUp() override {
        WithMoves::SetUp();
        connection_.emplace(options());
        hub_.emplace(*connection_, "app");
    }
    void TearDown() override {
        hub_.reset();
        connection_.reset();
        WithMoves::TearDown();
    }

    // What a loop reports.
    template <typename Event>
    auto recorder() {
        return [this](const Event& event) {
            const std::lock_guard lock(mutex_);
            if (event.kind == Event::Kind::kError) {
                errors_.push_back(std::string(event.message));
            }
        };
    }
    bool has_missed_the_hub() {
        const std::lock_guard lock(mutex_);
        return std::ranges::any_of(errors_, misses_the_hub);
    }

    // How often each was settled.
    void settled(const std::string& id) {
        const std::lock_guard lock(mutex_);
        ++settled_[id];
    }
    void expect_all_settled_once(int count) {
        const std::lock_guard lock(mutex_);
        EXPECT_EQ(settled_.size(), static_cast<std::size_t>(count));
        for (const auto& [id, times] : settled_) {
            EXPECT_EQ(times, 1) << id;
        }
    }

    // Moves the hub while some of the loop's work has ended, some is in hand, and some waits.
    void move_in_the_middle(Turnstile& turnstile, int ended) {
        turnstile.allow(ended);
        ASSERT_TRUE(wait_until([&] { return turnstile.arrived() > ended; }));
        leave();
        ASSERT_TRUE(wait_until([&] { return has_missed_the_hub(); }));
        arrive();
        forget();
        turnstile.open();
    }

    std::optional<Connection> connection_;
    std::optional<Hub> hub_;
    std::mutex mutex_;
    std::vector<std::string> errors_;
    std::map<std::string, int> settled_;
};

constexpr int kCount = 60;

std::string value_on(Cluster& server, const std::string& sql) {
    return server.connect().value(sql);
}

// SO-51: no task is lost, and none is completed twice.
TEST_F(ClientMoves, WorkersOfTasksContinue) {
    std::vector<NewTask> tasks;
    for (int i = 0; i < kCount; ++i) {
        tasks.push_back({.queue = "cpu", .payload = i});
    }
    hub_->tasks().create_many(tasks);
    Turnstile turnstile;
    WorkerOptions given;
    given.connection = options();
    given.hub = "app";
    given.concurrency = 4;
    given.on_event = [this, errors = recorder<WorkerEvent>()](const WorkerEvent& event) {
        errors(event);
        if (event.kind == WorkerEvent::Kind::kCompleted) {
            settled(event.task->id().text());
        }
    };
    Worker worker(given);
    worker.on("cpu", [&](Task&) {
        turnstile.pass();
        return completed();
    });
    {
        Running running(worker);
        move_in_the_middle(turnstile, 10);
        EXPECT_TRUE(wait_until([] {
            return value_on(*second,
                            "SELECT count(*) FROM app.task_states WHERE state = 'completed'") ==
                   std::to_string(kCount);
        }));
    }
    expect_all_settled_once(kCount);
    EXPECT_EQ(value_on(*second, "SELECT count(*) FROM app.check_tasks()"), "0");
}

// SO-51: no activity is lost, and each has one completion.
TEST_F(ClientMoves, WorkersOfActivitiesContinue) {
    std::vector<NewWorkItem> items;
    for (int i = 0; i < kCount; ++i) {
        items.push_back(
            {.work_item = R"({"ActivityExecute":{"instance":"i","execution_id":1,"id":)" +
                          std::to_string(i + 1) + R"(,"name":"Work","input":""}})"});
    }
    hub_->orchestrations().start_text("O", "", {.instance_id = "i"});
    hub_->provider().enqueue_worker_items(items);
    Turnstile turnstile;
    WorkerOptions given;
    given.connection = options();
    given.hub = "app";
    given.concurrency = 4;
    given.on_event = recorder<WorkerEvent>();
    Worker worker(given);
    worker.on_activity("Work", [&](Task&) {
        turnstile.pass();
        return completed();
    });
    {
        Running running(worker);
        move_in_the_middle(turnstile, 10);
        EXPECT_TRUE(wait_until(
            [] { return value_on(*second, "SELECT count(*) FROM app.work_items") == "0"; }));
    }
    EXPECT_EQ(value_on(*second,
                       "SELECT count(DISTINCT m -> 'ActivityCompleted' ->> 'id') || ' ' || "
                       "count(*) FROM app.fetch_orchestration_item(60000), "
                       "json_array_elements(messages) AS m WHERE m -> 'ActivityCompleted' IS NOT "
                       "NULL"),
              std::to_string(kCount) + " " + std::to_string(kCount));
}

// SO-51: no instance is lost, and each turn is decided once.
TEST_F(ClientMoves, DispatchersContinue) {
    for (int i = 0; i < kCount; ++i) {
        hub_->orchestrations().start_text("O", "", {.instance_id = "i" + std::to_string(i)});
    }
    Turnstile turnstile;
    DispatcherOptions given;
    given.connection = options();
    given.hub = "app";
    given.concurrency = 4;
    given.on_event = [this, errors = recorder<DispatcherEvent>()](const DispatcherEvent& event) {
        errors(event);
        if (event.kind == DispatcherEvent::Kind::kDecided) {
            settled(event.turn->instance_id());
        }
    };
    Dispatcher dispatcher(given);
    dispatcher.on("O", [&](TurnContext& turn) {
        turnstile.pass();
        Decision decision = turn.decision();
        decision.history_delta = {
            {.event_id = 1, .event_data = R"({"type":"OrchestrationStarted"})"}};
        decision.metadata =
            R"({"orchestration_name":"O","orchestration_version":"1","status":"Completed"})";
        return TurnOutcome::decided(decision);
    });
    {
        Running running(dispatcher);
        move_in_the_middle(turnstile, 10);
        EXPECT_TRUE(wait_until([] {
            return value_on(*second,
                            "SELECT count(*) FROM app.list_instances_by_status('Completed')") ==
                   std::to_string(kCount);
        }));
    }
    expect_all_settled_once(kCount);
}

// SO-51: each event is handled once, though the hub is on no server for a while.
TEST_F(ClientMoves, ReadersContinue) {
    for (auto* server : {first.get(), second.get()}) {
        server->connect().exec("CREATE TABLE copy (event_id text PRIMARY KEY)");
    }
    // Without those of operators: each deletion is one event.
    connection_->exec("SELECT belay.set_hub_option('app', 'events', 'instance')");
    hub_->events().subscribe("mirror");
    const auto tell = [](Cluster& server, int from, int to) {
        Conn conn = server.connect();
        for (; from < to; ++from) {
            const std::string id = "'s" + std::to_string(from) + "'";
            conn.exec("INSERT INTO app.instances VALUES (" + id +
                      ", 'O', '1', 1, NULL, NULL, 0, now(), now())");
            conn.exec("SELECT app.delete_instance(" + id + ", true)");
        }
    };
    const auto copied = [](Cluster& server) {
        return std::stoi(value_on(server, "SELECT count(*) FROM copy"));
    };
    ReaderOptions given{.connection = options(), .hub = "app", .subscription = "mirror"};
    given.batch = 3;
    given.retry_delay = Milliseconds(10);
    given.max_retry_delay = Milliseconds(50);
    given.on_event = recorder<ReaderEvent>();
    EventReader reader(given);
    std::thread thread([&] {
        reader.run([](const std::vector<Event>& events, Connection& connection) {
            for (const auto& event : events) {
                connection.exec("INSERT INTO copy VALUES ($1)", {event.id});
            }
        });
    });
    tell(*first, 0, 5);
    EXPECT_TRUE(wait_until([&] { return copied(*first) > 0; }));
    leave();
    EXPECT_TRUE(wait_until([&] { return has_missed_the_hub(); }));
    arrive();
    forget();
    tell(*second, 5, 10);
    EXPECT_TRUE(wait_until(
        [] { return value_on(*second, "SELECT lag_rows FROM app.subscriptions") == "0"; }));
    reader.stop();
    thread.join();
    // The tables of the application stay where they are: each event is in one of them.
    std::set<std::string> ids;
    int rows = 0;
    for (auto* server : {first.get(), second.get()}) {
        Conn conn = server->connect();
        const Rows found = conn.exec("SELECT event_id FROM copy");
        for (int row = 0; row < found.size(); ++row) {
            ids.insert(*found.at(row, 0));
            ++rows;
        }
        conn.exec("DROP TABLE copy");
    }
    EXPECT_EQ(ids.size(), 10U);
    EXPECT_EQ(rows, 10);
}

// SO-51: a move that was cancelled: the connection that has followed comes back.
TEST_F(ClientMoves, ConnectionsComeBack) {
    constexpr const char* send = "SELECT app.send('mail')";
    Connection connection(options());
    leave();
    EXPECT_THROW(connection.exec(send), Error);
    first->connect().exec("SELECT belay.remove_hub_place('app')");
    connection.exec(send);
    EXPECT_EQ(value_on(*first, "SELECT count(*) FROM app.tasks"), "1");
}

// SO-51: a connection that was lost after the first server has dropped the hub.
TEST_F(ClientMoves, ConnectionsFindTheHubAgain) {
    constexpr const char* send = "SELECT app.send('mail')";
    Connection connection(options());
    leave();
    arrive();
    connection.exec(send);
    forget();
    second->stop();
    try {
        connection.call(Effect::kRepeatable, send);
        ADD_FAILURE() << "no server has the hub";
    } catch (const Error& error) {
        EXPECT_EQ(error.sqlstate(), "3F000");
    }
    second->start();
    connection.call(Effect::kRepeatable, send);
    EXPECT_EQ(value_on(*second, "SELECT count(*) FROM app.tasks"), "2");
    // Another schema that is missing says nothing about the hub.
    EXPECT_THROW(connection.exec("SELECT none.such()"), Error);
    connection.exec(send);
    EXPECT_EQ(value_on(*second, "SELECT count(*) FROM app.tasks"), "3");
}

}  // namespace
}  // namespace belay::test
