// The reader of a subscription: batches in order, each handled and acked in one transaction.
//
// May touch: one connection. Must not: ack a batch whose handler has thrown, or continue past it.
#include "belay/events.hpp"

#include <poll.h>

#include <algorithm>
#include <atomic>
#include <chrono>

#include "retry.hpp"
#include "work_loop.hpp"

namespace belay {
namespace {

using SteadyClock = std::chrono::steady_clock;

// What trying again cannot mend. A hub that has moved may not have arrived yet.
bool is_hopeless(const Error& error) {
    const std::string_view state = error.sqlstate();
    return error.not_found() || state == "QB006" || state == "42501" || state == "42883" ||
           (state == "3F000" && !error.connection_lost());
}

}  // namespace

struct EventReader::Impl {
    using Kind = ReaderEvent::Kind;

    ReaderOptions options;
    std::atomic<bool> stopping = false;
    Interrupt interrupt = {};

    explicit Impl(ReaderOptions given) : options(std::move(given)) {
        if (!options.connection.reconnect_limit) {
            options.connection.reconnect_limit = std::make_shared<ReconnectLimit>();
        }
    }

    void told(Kind kind, std::size_t events, std::string message = "") const noexcept {
        tell(options.on_event, {.kind = kind, .events = events, .message = std::move(message)});
    }

    // Sleeps, but not through a stop.
    void pause(Milliseconds time) const {
        pollfd descriptor{interrupt.descriptor(), POLLIN, 0};
        ::poll(&descriptor, 1, static_cast<int>(std::clamp<std::int64_t>(time.count(), 0, 60000)));
    }

    // Runs the handler and acks, as one transaction. True: the batch is dealt with here.
    bool settle(Connection& connection, Hub& hub, const std::vector<Event>& events,
                const EventHandler& handler) const {
        bool handled = false;
        try {
            connection.with_transaction([&] {
                handler(events, connection);
                handled = true;
                hub.events().ack(options.subscription, events.back().upto);
            });
            told(Kind::kAcked, events.size());
        } catch (const Error& error) {
            const bool gone = error.connection_lost() || error.outcome_unknown() ||
                              (handled && error.lock_lost());
            told(gone ? kind_of<Kind>(error) : Kind::kFailed, events.size(), error.what());
            return gone;
        } catch (const std::exception& error) {
            told(Kind::kFailed, events.size(), error.what());
            return false;
        }
        return true;
    }

    // The same batch again and again, while its lease lives.
    void handle(Connection& connection, Hub& hub, const std::vector<Event>& events,
                SteadyClock::time_point lease_end, const EventHandler& handler) const {
        for (int attempt = 1; !settle(connection, hub, events, handler); ++attempt) {
            pause(growing_delay(options.retry_delay, options.max_retry_delay, attempt));
            if (stopping || SteadyClock::now() >= lease_end) {
                return;
            }
        }
    }

    // One batch, or a wait for one.
    void step(Connection& connection, Hub& hub, const EventHandler& handler) const {
        const auto lease_end = SteadyClock::now() + options.lease;
        const auto events = hub.events().read(options.subscription, options.batch, options.lease);
        if (events.empty()) {
            (void)hub.provider().wait_for_work({"outbox"}, options.wait_timeout, interrupt);
            return;
        }
        told(Kind::kRead, events.size());
        handle(connection, hub, events, lease_end, handler);
    }
};

EventReader::EventReader(ReaderOptions options)
    : impl_(std::make_unique<Impl>(std::move(options))) {}

EventReader::~EventReader() = default;

void EventReader::run(const EventHandler& handler) {
    Connection connection(impl_->options.connection);
    Hub hub(connection, impl_->options.hub, impl_->options.clock);
    for (int failures = 0; !impl_->stopping;) {
        try {
            impl_->step(connection, hub, handler);
            failures = 0;
        } catch (const Error& error) {
            if (is_hopeless(error)) {
                throw;
            }
            impl_->told(ReaderEvent::Kind::kError, 0, error.what());
            impl_->pause(growing_delay(impl_->options.retry_delay, impl_->options.max_retry_delay,
                                       ++failures));
        }
    }
}

void EventReader::stop() noexcept {
    impl_->options.connection.reconnect_limit->set(SteadyClock::now());
    impl_->stopping = true;
    impl_->interrupt.signal();
}

}  // namespace belay
