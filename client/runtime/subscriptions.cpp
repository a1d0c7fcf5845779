// Which event or queue message a subscription receives.
//
// May touch: its own lists. Must not: resume code: it reports each delivery to its caller. The
// order follows from history alone.
#include "subscriptions.hpp"

#include <algorithm>

namespace belay::engine {

void Subscriptions::Events::match(const Deliver& deliver, std::size_t& bytes) {
    // The i-th that is open belongs to the i-th that is not taken; those in between that were
    // dropped keep both in their places.
    std::size_t i = 0;
    while (i < open.size() && i < untaken.size()) {
        if (open[i]->dropped) {
            ++i;
            continue;
        }
        detail::CallState* const call = open[i];
        std::string data = std::move(untaken[i]);
        open.erase(open.begin() + static_cast<std::ptrdiff_t>(i));
        untaken.erase(untaken.begin() + static_cast<std::ptrdiff_t>(i));
        bytes -= data.size();
        deliver(*call, std::move(data));
    }
}

void Subscriptions::Queue::match(const Deliver& deliver, std::size_t& bytes) {
    while (!open.empty() && !messages.empty()) {
        detail::CallState* const call = open.front();
        open.pop_front();
        std::string data = std::move(messages.front().data);
        messages.pop_front();
        bytes -= data.size();
        deliver(*call, std::move(data));
    }
}

void Subscriptions::subscribe(detail::CallState& call) {
    if (call.kind == detail::CallKind::kEvent) {
        Events& events = events_[call.name];
        events.open.push_back(&call);
        events.match(deliver_, bytes_);
    } else if (!call.dropped) {
        Queue& queue = queues_[call.name];
        queue.open.push_back(&call);
        queue.match(deliver_, bytes_);
    }
}

void Subscriptions::cancelled(detail::CallState& call) {
    if (call.kind == detail::CallKind::kEvent) {
        Events& events = events_[call.name];
        std::erase(events.open, &call);
        events.match(deliver_, bytes_);
    } else {
        std::erase(queues_[call.name].open, &call);
    }
}

void Subscriptions::dropped(detail::CallState& call) {
    if (call.kind == detail::CallKind::kQueue) {
        const auto found = queues_.find(call.name);
        if (found != queues_.end()) {
            std::erase(found->second.open, &call);
        }
    }
}

void Subscriptions::event(const std::string& name, std::string data) {
    const auto found = events_.find(name);
    if (found == events_.end() || found->second.open.size() <= found->second.untaken.size()) {
        return;  // Recorded in the history, and that is all.
    }
    bytes_ += data.size();
    found->second.untaken.push_back(std::move(data));
    found->second.match(deliver_, bytes_);
}

void Subscriptions::message(const std::string& queue, std::string data) {
    bytes_ += data.size();
    Queue& target = queues_[queue];
    target.messages.push_back({++arrivals_, std::move(data)});
    target.match(deliver_, bytes_);
}

Carried Subscriptions::left_over() const {
    std::map<std::uint64_t, std::pair<std::string, std::string>> in_order;
    for (const auto& [name, queue] : queues_) {
        for (const auto& message : queue.messages) {
            in_order.emplace(message.order, std::pair(name, message.data));
        }
    }
    Carried carried;
    for (auto& [order, message] : in_order) {
        carried.push_back(std::move(message));
    }
    return carried;
}

}  // namespace belay::engine
