// Events of a hub: subscriptions, and a reader that takes batches, hands them to a handler, and
// acks.
//
//     belay::EventReader reader({.connection = {.conninfo = "dbname=shop"},
//                                .hub = "app", .subscription = "mirror"});
//     reader.run([](const std::vector<belay::Event>& events, belay::Connection& connection) {
//         for (const auto& event : events) {
//             connection.exec("INSERT INTO copy VALUES ($1, $2)", {event.id, event.type});
//         }
//     });  // until reader.stop()
//
// The handler and the ack are one transaction on the reader's connection: what the handler writes
// through it happens exactly once, however often the batch is delivered. What it does elsewhere
// happens at least once: Event::id identifies a repetition.
//
// A handler that throws undoes its transaction. It gets the same batch again after a delay, until
// the lease ends; then whichever reader comes first gets it. Several readers of one subscription
// take turns; each batch is one reader's.
//
// Threads and connections: run() uses its own thread and one connection, which also waits. Behind a
// pooler it needs a session of its own.
//
// Thread-safety: of Events none; as the hub's. EventReader::stop() may be called by any thread and
// by a signal handler.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "belay/hub.hpp"

namespace belay {

struct Event {
    std::string id;  // the same each time the event is delivered
    std::string topic;
    std::string type;
    OptionalText subject;
    Json details;
    Time occurred_at;
    std::string upto;  // what Events::ack takes
};

struct SubscriptionInfo {
    std::string name;
    std::optional<std::vector<std::string>> topics;  // none: all
    std::int64_t lag_rows = 0;
    Milliseconds lag{0};  // the age of the first unread event
    OptionalTime lease_until;
    OptionalNumber horizon_pid;
    OptionalTime created_at;
};

// hub.events()
class Events : public HubPart {
 public:
    using HubPart::HubPart;

    // from: now, start, or an upto of another subscription.
    void subscribe(std::string_view name,
                   const std::optional<std::vector<std::string>>& topics = {},
                   std::string_view from = "now", Where where = Where::current());
    void unsubscribe(std::string_view name, Where where = Where::current());
    // EventReader has a loop around these two.
    std::vector<Event> read(std::string_view subscription, int limit = 100,
                            Milliseconds lease = Milliseconds(30000),
                            Where where = Where::current());
    void ack(std::string_view subscription, std::string_view upto, Where where = Where::current());
    std::vector<SubscriptionInfo> subscriptions(Where where = Where::current());
};

// Called by run(), one batch at a time. At least one event, in order.
using EventHandler = std::function<void(const std::vector<Event>&, Connection&)>;

struct ReaderEvent {
    enum class Kind {
        kRead,     // a batch
        kAcked,    // what the handler did is committed
        kFailed,   // the handler threw; it gets the batch again
        kLost,     // the lease ended before the ack: the batch is delivered again
        kUnknown,  // the connection broke during the commit: what is not committed comes again
        kError,    // of a call; the reader continues
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
    // arguments are wrong; continues after everything else.
    void run(const EventHandler& handler);

    // Lets run() return once the batch that it is at is dealt with. A server that is gone is not
    // waited for: the batch is delivered again.
    void stop() noexcept;

 private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace belay
