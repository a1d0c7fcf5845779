// A reader of a hub's events: takes batches of a subscription, hands them to a handler, and acks.
//
//     belay::EventReader reader({.connection = {.conninfo = "dbname=shop"},
//                                .hub = "app", .subscription = "mirror"});
//     reader.run([](const std::vector<belay::Event>& events, belay::Connection& connection) {
//         for (const auto& event : events) {
//             connection.exec("INSERT INTO copy VALUES ($1, $2)", {event.event_id, event.type});
//         }
//     });  // until reader.stop()
//
// The handler and the ack are one transaction on the reader's connection: what the handler writes
// through it happens exactly once, however often the batch is delivered. What it does elsewhere
// happens at least once: event_id tells a repetition.
//
// A handler that throws undoes its transaction. It gets the same batch again after a delay, until
// the lease ends; then whichever reader comes first gets it. Several readers of one subscription
// take turns; each batch is one reader's.
//
// Threads and connections: run() uses its own thread and one connection, which also waits. Behind a
// pooler it needs a session of its own.
//
// Thread-safety: stop() may be called by any thread and by a signal handler.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "belay/hub.hpp"

namespace belay {

// Called by run(), one batch at a time. At least one event, in order.
using EventHandler = std::function<void(const std::vector<Event>&, Connection&)>;

struct ReaderEvent {
    enum class Kind {
        kRead,     // a batch
        kAcked,    // what the handler did is committed
        kFailed,   // the handler threw; it gets the batch again
        kLost,     // the lease ended before the ack: the batch is delivered again
        kUnknown,  // the connection broke during the commit: what is not committed comes again
        kError,    // of a call; the reader goes on
    };
    Kind kind;
    std::size_t events = 0;
    std::string message = {};
};

struct ReaderOptions {
    ConnectionOptions connection = {};
    std::string hub;
    std::string subscription;
    int batch = 100;
    Milliseconds lease{30000};
    Milliseconds wait_timeout{30000};
    Milliseconds retry_delay{1000};  // after the first failure; doubled with each one
    Milliseconds max_retry_delay{60000};
    Clock clock = server_clock();
    std::function<void(const ReaderEvent&)> on_event = {};
};

class EventReader {
 public:
    explicit EventReader(ReaderOptions options);
    ~EventReader();
    EventReader(const EventReader&) = delete;
    EventReader& operator=(const EventReader&) = delete;

    // Reads until stop(). Throws if the subscription does not exist, may not be read, or the
    // arguments are wrong; goes on after everything else.
    void run(const EventHandler& handler);

    // Lets run() return once the batch that it is at is dealt with.
    void stop() noexcept;

 private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace belay
