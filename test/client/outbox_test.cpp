// The reader of events, on a real server.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>
#include <set>

#include "belay/events.hpp"
#include "belay/orchestrations.hpp"
#include "belay/provider.hpp"
#include "server.hpp"

namespace belay::test {
namespace {

class ClientOutbox : public WithServer {
 protected:
    using Kind = ReaderEvent::Kind;

    void SetUp() override {
        WithServer::SetUp();
        connection_.exec("DROP TABLE IF EXISTS copy");
        connection_.exec(
            "CREATE TABLE copy (nr bigserial, event_id text PRIMARY KEY, subject text)");
        // Without those of operators: each deletion is one event.
        connection_.exec("SELECT belay.set_hub_option('app', 'events', 'instance')");
        hub_.events().subscribe("mirror");
    }

    ReaderOptions reader_options() {
        ReaderOptions made{.connection = options(), .hub = "app", .subscription = "mirror"};
        made.retry_delay = Milliseconds(10);
        made.on_event = [this](const ReaderEvent& told) {
            const std::lock_guard lock(mutex_);
            ++events_[told.kind];
        };
        return made;
    }

    int events(Kind kind) {
        const std::lock_guard lock(mutex_);
        return events_[kind];
    }

    // Each is an event of its own subject.
    void tell(int count) {
        for (int i = 0; i < count; ++i) {
            connection_.exec(
                "INSERT INTO app.instances VALUES ($1, 'O', '1', 1, NULL, NULL, 0, now(), now())",
                {"s" + std::to_string(next_)});
            hub_.orchestrations().remove("s" + std::to_string(next_++), true);
        }
    }

    static void copy(const std::vector<Event>& events, Connection& connection) {
        for (const auto& event : events) {
            connection.exec("INSERT INTO copy (event_id, subject) VALUES ($1, $2)",
                            {event.id, event.subject});
        }
    }

    int copied() { return connection_.exec("SELECT count(*) FROM copy").get<int>(0, 0); }

    // A reader in a thread, for as long as the object lives.
    struct Reading {
        Reading(ReaderOptions options, EventHandler handler)
            : reader(std::move(options)), thread([this, handler] { reader.run(handler); }) {}
        ~Reading() {
            reader.stop();
            thread.join();
        }
        EventReader reader;
        std::thread thread;
    };

    Connection connection_{options()};
    Hub hub_{connection_, "app"};
    int next_ = 0;
    std::mutex mutex_;
    std::map<Kind, int> events_;
};

TEST_F(ClientOutbox, CopiesInOrder) {
    tell(25);
    auto options = reader_options();
    options.batch = 10;
    Reading reading(options, copy);
    ASSERT_TRUE(wait_until([&] { return copied() == 25; }));
    // And is woken by what comes later.
    tell(3);
    ASSERT_TRUE(wait_until([&] { return copied() == 28; }));
    EXPECT_EQ(connection_
                  .exec("SELECT count(*) FROM (SELECT split_part(event_id, '-', 2)::int - "
                        "lag(split_part(event_id, '-', 2)::int) OVER (ORDER BY nr) AS step FROM "
                        "copy) AS x WHERE step <> 1")
                  .get<int>(0, 0),
              0);
    ASSERT_TRUE(wait_until([&] { return hub_.events().subscriptions()[0].lag_rows == 0; }));
    EXPECT_GE(events(Kind::kRead), 4);
    EXPECT_EQ(events(Kind::kRead), events(Kind::kAcked));
}

TEST_F(ClientOutbox, AFailedHandlerUndoesItsCopyAndGetsTheBatchAgain) {
    tell(5);
    std::atomic<int> runs = 0;
    Reading reading(reader_options(),
                    [&](const std::vector<Event>& events, Connection& connection) {
                        copy(events, connection);
                        if (++runs <= 2) {
                            throw std::runtime_error("no luck");
                        }
                    });
    ASSERT_TRUE(wait_until([&] { return copied() == 5; }));
    EXPECT_EQ(runs, 3);
    EXPECT_EQ(events(Kind::kFailed), 2);
    EXPECT_EQ(events(Kind::kRead), 1);
}

// A statement that fails takes the transaction with it, also where the handler swallows the error.
TEST_F(ClientOutbox, AHandlerCannotHideAFailedStatement) {
    tell(1);
    std::atomic<int> runs = 0;
    Reading reading(reader_options(),
                    [&](const std::vector<Event>& events, Connection& connection) {
                        if (++runs == 1) {
                            try {
                                connection.exec("SELECT 1 / 0");
                            } catch (const Error&) {
                            }
                            return;
                        }
                        copy(events, connection);
                    });
    ASSERT_TRUE(wait_until([&] { return copied() == 1; }));
    EXPECT_EQ(runs, 2);
}

TEST_F(ClientOutbox, ALostLeaseUndoesTheCopy) {
    tell(1);
    std::atomic<int> runs = 0;
    Reading reading(reader_options(),
                    [&](const std::vector<Event>& events, Connection& connection) {
                        copy(events, connection);
                        if (++runs == 1) {
                            // As if its time had passed.
                            admin().exec("UPDATE app.outbox_subscriptions SET lease_until = 1");
                        }
                    });
    ASSERT_TRUE(wait_until([&] { return copied() == 1 && events(Kind::kAcked) == 1; }));
    EXPECT_EQ(runs, 2);
    EXPECT_EQ(events(Kind::kLost), 1);
}

TEST_F(ClientOutbox, ADeadConnectionUndoesTheCopy) {
    tell(4);
    auto options = reader_options();
    options.lease = Milliseconds(3000);
    std::atomic<int> runs = 0;
    Reading reading(options, [&](const std::vector<Event>& events, Connection& connection) {
        copy(events, connection);
        if (++runs == 1) {
            kill_backend(connection.backend_pid());
        }
    });
    ASSERT_TRUE(wait_until([&] { return copied() == 4; }));
    EXPECT_GE(runs, 2);
}

TEST_F(ClientOutbox, SeveralReadersShareASubscription) {
    auto options = reader_options();
    options.batch = 3;
    std::vector<std::unique_ptr<Reading>> readers;
    for (int i = 0; i < 3; ++i) {
        readers.push_back(std::make_unique<Reading>(options, copy));
    }
    tell(40);
    ASSERT_TRUE(wait_until([&] { return copied() == 40; }));
}

TEST_F(ClientOutbox, WhatCannotWorkIsThrown) {
    auto options = reader_options();
    options.subscription = "nobody";
    try {
        EventReader(options).run(copy);
        FAIL() << "it ran";
    } catch (const Error& error) {
        EXPECT_TRUE(error.not_found());
    }
    options = reader_options();
    options.batch = 0;
    EXPECT_THROW(EventReader(options).run(copy), Error);
    options = reader_options();
    options.hub = "no_such_hub";
    EXPECT_THROW(EventReader(options).run(copy), Error);
}

TEST_F(ClientOutbox, StopsWhileItWaits) {
    EventReader reader(reader_options());
    std::thread thread([&] { reader.run(copy); });
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const auto began = Steady::now();
    reader.stop();
    thread.join();
    EXPECT_LT(Steady::now() - began, std::chrono::seconds(10));
}

}  // namespace
}  // namespace belay::test
