// Which event and which message of a queue go to which subscription.
//
// Events. Of each name there are subscriptions S, in their order, without those whose cancellation
// is stored, and accepted arrivals A. An arrival is accepted if S is longer than A; the i-th of S
// gets the i-th of A. A subscription that was dropped keeps its place until its cancellation is
// stored; what it would have got goes to the next then.
//
// Queues. Arrivals wait until a subscription takes the oldest; a dropped one takes none.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "belay/durable/instance.hpp"
#include "event.hpp"

namespace belay::engine {

class Subscriptions {
 public:
    // Called with a subscription that gets data. It may not call back.
    using Deliver = std::function<void(detail::CallState&, std::string)>;

    explicit Subscriptions(Deliver deliver) : deliver_(std::move(deliver)) {}

    void subscribe(detail::CallState& call);  // its decision event was applied
    void cancelled(detail::CallState& call);  // its cancellation event was applied
    void dropped(detail::CallState& call);    // the code has dropped it

    void event(const std::string& name, std::string data);
    void message(const std::string& queue, std::string data);

    // Messages that no subscription took, oldest first.
    Carried left_over() const;
    std::size_t bytes() const { return bytes_; }

 private:
    struct Events {
        std::vector<detail::CallState*> open;  // of S, without those that have got theirs
        std::deque<std::string> untaken;       // of A, likewise
        void match(const Deliver& deliver, std::size_t& bytes);
    };
    struct Queued {
        std::uint64_t order;
        std::string data;
    };
    struct Queue {
        std::deque<detail::CallState*> open;
        std::deque<Queued> messages;
        void match(const Deliver& deliver, std::size_t& bytes);
    };

    Deliver deliver_;
    std::map<std::string, Events> events_;
    std::map<std::string, Queue> queues_;
    std::uint64_t arrivals_ = 0;
    std::size_t bytes_ = 0;
};

}  // namespace belay::engine
