// The servers of a family: who has which hub, and the wait for work on each.
//
// May touch: the members, under mutex_. Must not: call a server, the settler or a hook under it.
#include "family_loop.hpp"

#include <libpq-fe.h>
#include <poll.h>

#include <algorithm>
#include <utility>

#include "conninfo.hpp"
#include "retry.hpp"

namespace belay {
namespace {

using SteadyClock = std::chrono::steady_clock;

// wait_for_work takes no more queues.
constexpr std::size_t kMaxWaitQueues = 256;

// While no handler is free, a server is asked so often whether hubs have work that no call is
// about.
constexpr Milliseconds kLook{100};

// A call that loses its connection tries no longer to make it again: other servers have work, too.
constexpr Milliseconds kReconnectPatience{1000};

// After so many wake-ups in a row that brought nothing, other workers are faster: pauses.
constexpr int kMostVain = 4;

ConnectionOptions options_at(ConnectionOptions options, const std::optional<HubPlace>& place,
                             bool hurries) {
    options.conninfo = conninfo_at(options.conninfo, place);
    options.follow_redirects = false;
    if (hurries) {
        options.reconnect_timeout =
            std::min<Milliseconds>(options.reconnect_timeout, kReconnectPatience);
    }
    return options;
}

}  // namespace

// A server that has hubs of the family, or is said to.
struct FamilyLoop::Node {
    Node(const FamilyOptions& options, std::optional<HubPlace> at)
        : place(std::move(at)),
          waiting_options(options_at(options.connection, place, true)),
          portions(waiting_options, static_cast<std::size_t>(options.connections)),
          leases(waiting_options, 1),
          handlers(options_at(options.connection, place, false),
                   static_cast<std::size_t>(options.connections)),
          keeper(leases, options.keeper),
          server{portions, handlers, keeper, true} {}

    std::uint64_t round_trips() const {
        return finished_round_trips + portions.round_trips() + leases.round_trips() +
               handlers.round_trips();
    }

    const std::optional<HubPlace> place;  // none: that of the conninfo
    const ConnectionOptions waiting_options;
    Pool portions;
    Pool leases;
    Pool handlers;
    LeaseKeeper keeper;
    HubServer server;
    Interrupt interrupt = {};
    // Of its thread:
    std::optional<Connection> waiting = {};
    int session = 0;
    int failures = 0;
    int vain = 0;
    int failed_waits = 0;  // in a row
    SteadyTime look_at = {};
    std::uint64_t finished_round_trips = 0;
    std::jthread thread = {};
};

FamilyLoop::FamilyLoop(FamilyOptions options, Settler& settler)
    : options_(std::move(options)), settler_(settler) {
    most_hubs_ = std::max<std::size_t>(1, kMaxWaitQueues / (options_.work_queues.size() + 1));
    Connection connection(options_at(options_.connection, std::nullopt, true));
    first_place_ = {PQhost(connection.raw()), std::atoi(PQport(connection.raw()))};
    has_password_ = std::string_view(PQpass(connection.raw())) != "";
    const std::lock_guard lock(mutex_);
    for (const std::string& hub : options_.family.hubs()) {
        Node& node = node_at(std::nullopt);
        members_.push_back({.hub = hub, .node = &node});
    }
    nodes_.front().waiting = std::move(connection);
}

FamilyLoop::~FamilyLoop() = default;

void FamilyLoop::begin() {
    const std::lock_guard lock(mutex_);
    is_running_ = true;
    for (Node& node : nodes_) {
        node.thread = std::jthread([this, &node] { serve(node); });
    }
}

void FamilyLoop::end() {
    {
        const std::lock_guard lock(mutex_);
        is_running_ = false;  // no thread begins any more
    }
    look_again();
    for (Node& node : nodes_) {
        if (node.thread.joinable()) {
            node.thread.join();
        }
    }
}

void FamilyLoop::look_again() noexcept {
    const std::lock_guard lock(mutex_);
    for (Node& node : nodes_) {
        node.interrupt.signal();
    }
}

void FamilyLoop::failed_in(const Lane& lane, const Error& error) noexcept {
    // The thread that waits notices a lost connection; other errors are not about the hub.
    if (!error.elsewhere() && error.sqlstate() != "3F000") {
        return;
    }
    const std::lock_guard lock(mutex_);
    for (Member& member : members_) {
        const auto found = member.lanes.find(member.node);
        if (found != member.lanes.end() && found->second == &lane) {
            member.session = 0;
            member.node->interrupt.signal();
        }
    }
}

std::uint64_t FamilyLoop::round_trips() const {
    const std::lock_guard lock(mutex_);
    std::uint64_t sum = 0;
    for (const Node& node : nodes_) {
        sum += node.round_trips();
    }
    return sum;
}

// ---- The members. ----

bool FamilyLoop::may_go_to(const HubPlace& place) const {
    return !has_password_ ||
           is_trusted(place.host, first_place_.host, options_.connection.redirect_hosts);
}

// The server at that place whose connection can wait for one hub more; a new one if there is none.
FamilyLoop::Node& FamilyLoop::node_at(const std::optional<HubPlace>& place) {
    const bool is_first = !place || is_at(nodes_.front(), *place);
    for (Node& node : nodes_) {
        const bool fits = is_first ? !node.place : node.place && is_at(node, *place);
        const auto hubs =
            static_cast<std::size_t>(std::ranges::count(members_, &node, &Member::node));
        if (fits && hubs < most_hubs_) {
            return node;
        }
    }
    Node& made = nodes_.emplace_back(options_, is_first ? std::nullopt : place);
    if (is_running_) {
        made.thread = std::jthread([this, &made] { serve(made); });
    }
    return made;
}

FamilyLoop::Members FamilyLoop::joined(const Node& node) {
    const std::lock_guard lock(mutex_);
    Members found;
    for (Member& member : members_) {
        if (member.node == &node && member.session != 0 && member.session == node.session) {
            found.push_back(&member);
        }
    }
    return found;
}

// When the thread of the server has to ask for a hub; time_point::max(): it has not.
FamilyLoop::SteadyTime FamilyLoop::next_question(const Node& node) {
    const std::lock_guard lock(mutex_);
    auto next = SteadyTime::max();
    for (const Member& member : members_) {
        const bool is_mine = member.node == &node
                                 ? member.session == 0 || member.session != node.session
                                 : member.in_doubt && &node == &nodes_.front();
        if (is_mine) {
            next = std::min(next, member.ask_at);
        }
    }
    return next;
}

void FamilyLoop::ask_again(Member& member, Milliseconds delay) {
    const std::lock_guard lock(mutex_);
    member.session = 0;
    member.ask_at = SteadyClock::now() + delay;
}

void FamilyLoop::report(Member& member, const std::exception& error) {
    {
        const std::lock_guard lock(mutex_);
        if (std::exchange(member.told, error.what()) == error.what()) {
            return;
        }
    }
    options_.on_error(member.hub, error);
}

// ---- The thread of a server. ----

void FamilyLoop::serve(Node& node) {
    while (!options_.stopping()) {
        node.interrupt.reset();
        if (options_.stopping()) {
            break;
        }
        try {
            if (serve_once(node)) {
                node.failures = 0;
            }
        } catch (const Error& error) {
            lose_server(node, error);
        } catch (const std::exception& error) {
            options_.on_error("", error);
            sleep(node, SteadyClock::now() + options_.retry_delay);
        }
    }
    if (node.waiting) {
        node.finished_round_trips += node.waiting->round_trips();
        node.waiting.reset();
    }
}

// False: there was nothing to do with the server.
bool FamilyLoop::serve_once(Node& node) {
    const auto question = next_question(node);
    const bool asks = question <= SteadyClock::now();
    if (!asks && joined(node).empty()) {
        if (node.waiting) {
            node.finished_round_trips += node.waiting->round_trips();
            node.waiting.reset();
        }
        sleep(node, question);
        return false;
    }
    if (!node.waiting) {
        node.waiting.emplace(node.waiting_options);
    }
    if (asks || node.session != node.waiting->backend_pid()) {
        ask_and_join(node);
    }
    wait(node);
    return true;
}

// After an error that is not about one hub.
void FamilyLoop::lose_server(Node& node, const Error& error) {
    const bool is_lost = error.connection_lost();
    if (is_lost && node.waiting) {
        node.finished_round_trips += node.waiting->round_trips();
        node.waiting.reset();
    }
    if (node.failures == 0 || !is_lost) {
        options_.on_error("", error);
    }
    {
        const std::lock_guard lock(mutex_);
        for (Member& member : members_) {
            if (member.node == &node) {
                member.session = 0;
                if (is_lost && &node != &nodes_.front() && !member.in_doubt) {
                    member.in_doubt = true;
                    member.ask_at = SteadyClock::now();
                }
            }
        }
        if (is_lost) {
            nodes_.front().interrupt.signal();
        }
    }
    sleep(node, SteadyClock::now() + reconnect_pause(node.failures++));
}

// Until then, or until something has changed.
void FamilyLoop::sleep(Node& node, SteadyTime until) {
    pollfd ready{.fd = node.interrupt.descriptor(), .events = POLLIN, .revents = 0};
    const auto now = SteadyClock::now();
    const auto left = until <= now
                          ? Milliseconds(0)
                          : std::chrono::ceil<Milliseconds>(std::min<SteadyClock::duration>(
                                until - now, std::chrono::hours(1)));
    poll(&ready, 1, static_cast<int>(left.count()));
}

// ---- Where the hubs are. ----

std::map<std::string, FamilyLoop::Answer> FamilyLoop::answers_of(Connection& connection,
                                                                 const Members& asked) const {
    std::vector<std::string> names;
    for (const Member* member : asked) {
        names.push_back(member->hub);
    }
    const Result result = connection.call(
        Effect::kRepeatable,
        "SELECT hub::text, is_here, host, port FROM belay.hub_locations WHERE hub::text = ANY ($1)",
        {names});
    std::map<std::string, Answer> answers;
    for (int row = 0; row < result.size(); ++row) {
        Answer& answer = answers[result.get<std::string>(row, 0)];
        answer.is_here = result.get<bool>(row, 1);
        if (!result.is_null(row, 2)) {
            answer.place = HubPlace{result.get<std::string>(row, 2), result.get<int>(row, 3)};
        }
    }
    return answers;
}

// Asks the server about the hubs that it is said to have, and begins to wait for those it has. The
// first server is asked about those whose servers are away, too.
void FamilyLoop::ask_and_join(Node& node) {
    node.session = node.waiting->backend_pid();
    Members asked;
    {
        const std::lock_guard lock(mutex_);
        for (Member& member : members_) {
            const bool is_mine = member.node == &node ? member.session != node.session
                                                      : member.in_doubt && &node == &nodes_.front();
            if (is_mine && SteadyClock::now() >= member.ask_at) {
                asked.push_back(&member);
            }
        }
    }
    if (asked.empty()) {
        return;
    }
    const auto answers = answers_of(*node.waiting, asked);
    for (Member* member : asked) {
        const auto found = answers.find(member->hub);
        take_answer(node, *member, found == answers.end() ? nullptr : &found->second);
    }
    node.keeper.extend_now();
}

void FamilyLoop::take_answer(Node& node, Member& member, const Answer* answer) {
    Lane* left = nullptr;
    bool is_mine = false;
    std::optional<Error> failure;
    {
        const std::lock_guard lock(mutex_);
        Node* const before = member.node;
        if (before != &node && !member.in_doubt) {
            return;  // its server has come back meanwhile
        }
        member.ask_at = SteadyClock::now() + options_.retry_delay;  // unless it is found
        if (answer == nullptr) {
            if (before == &node && node.place) {
                member.node = &node_at(std::nullopt);
                member.session = 0;  // of another server, which may have the same number there
                member.node->interrupt.signal();  // its thread may be waiting for longer
            }
            failure =
                Error({.message = "hub \"" + member.hub + "\" is not there", .sqlstate = "QB002"});
        } else if (answer->is_here && before == &node) {
            member.in_doubt = false;
            is_mine = true;
        } else if (answer->is_here) {
            move_to(member, node_at(std::nullopt));
        } else if (!answer->place) {
            failure = Error({.message = "hub \"" + member.hub + "\" has no place"});
        } else if (!options_.connection.follow_redirects || !may_go_to(*answer->place)) {
            failure = Error({.message = "hub \"" + member.hub + "\" is on " + answer->place->host +
                                        ":" + std::to_string(answer->place->port) +
                                        ", where the options of the connection do not let it go"});
        } else if (!is_at(*before, *answer->place)) {
            move_to(member, node_at(answer->place));
        }
        const auto lane = member.lanes.find(before);
        left = member.node != before && lane != member.lanes.end() ? lane->second : nullptr;
    }
    if (left != nullptr) {
        settler_.close(*left);
    }
    if (failure) {
        report(member, *failure);
    } else if (is_mine) {
        join(node, member);
    }
}

bool FamilyLoop::is_at(const Node& node, const HubPlace& place) const {
    const HubPlace& own = node.place ? *node.place : first_place_;
    return own.host == place.host && own.port == place.port;
}

// The thread of that server asks for it, soon unless the servers send it to each other.
void FamilyLoop::move_to(Member& member, Node& node) {
    member.node = &node;
    member.session = 0;
    member.in_doubt = false;
    if (++member.hops <= kMaxHops) {
        member.ask_at = {};
    } else {
        member.hops = 0;
    }
    node.interrupt.signal();
}

// Begins to wait for the hub. From here on the session is notified of every cancellation.
void FamilyLoop::join(Node& node, Member& member) {
    std::vector<std::string> queues{options_.owner_queue};
    queues.insert(queues.end(), options_.work_queues.begin(), options_.work_queues.end());
    bool has_work = false;
    try {
        Hub hub(*node.waiting, member.hub, options_.keeper.clock);
        const Wake wake = hub.provider().wait_for_work(queues, Milliseconds(0));
        has_work = wake.queue && *wake.queue != options_.owner_queue;
    } catch (const Error& error) {
        if (error.connection_lost()) {
            throw;
        }
        report(member, error);
        ask_again(member, options_.retry_delay);
        return;
    }
    Lane* lane = lane_of(node, member);
    if (lane == nullptr) {
        lane = &settler_.add_lane(node.server, member.hub);
    }
    {
        const std::lock_guard lock(mutex_);
        member.lanes[&node] = lane;
        member.told.clear();
        if (member.node == &node) {
            member.session = node.session;
            member.hops = 0;
        }
    }
    settler_.free_handlers({&lane, 1});  // it may have been closed
    if (has_work) {
        settler_.has_work(*lane);
    }
}

// Null: it was never joined there.
Lane* FamilyLoop::lane_of(Node& node, const Member& member) const {
    const std::lock_guard lock(mutex_);
    const auto found = member.lanes.find(&node);
    return found == member.lanes.end() ? nullptr : found->second;
}

// ---- The wait. ----

void FamilyLoop::wait(Node& node) {
    const Members members = joined(node);
    const auto question = next_question(node);
    if (members.empty()) {
        sleep(node, question);
        return;
    }
    std::vector<Lane*> lanes;
    for (const Member* member : members) {
        lanes.push_back(lane_of(node, *member));
    }
    const bool has_free_handler = settler_.free_handlers(lanes) > 0;
    if (has_free_handler) {
        settler_.listen(lanes);
    }
    auto timeout = options_.wait_timeout;
    if (!has_free_handler) {
        timeout = std::min(timeout, kLook);
    }
    const auto until = question - SteadyClock::now();
    if (until < timeout) {
        timeout = std::max(Milliseconds(0), std::chrono::ceil<Milliseconds>(until));
    }
    if (!has_free_handler && SteadyClock::now() >= node.look_at) {
        look(node, members);
        node.look_at = SteadyClock::now() + kLook;
        return;
    }
    const auto wake = wait_for(node, members, has_free_handler, timeout);
    if (wake && wake->queue) {
        take_wake(node, members, *wake);
    }
}

// No wake: it was interrupted, or a hub has to be asked for.
std::optional<Wake> FamilyLoop::wait_for(Node& node, const Members& members, bool work,
                                         Milliseconds timeout) {
    std::vector<std::string> words;
    for (const Member* member : members) {
        words.push_back(member->hub + "." + options_.owner_queue);  // before all work
    }
    for (const Member* member : members) {
        for (const std::string& queue : options_.work_queues) {
            if (work) {
                words.push_back(member->hub + "." + queue);
            }
        }
    }
    Hub hub(*node.waiting, members.front()->hub, options_.keeper.clock);
    try {
        auto wake = hub.provider().wait_for_work(words, timeout, node.interrupt);
        node.failed_waits = 0;
        return wake;
    } catch (const Error& error) {
        if (error.connection_lost()) {
            throw;
        }
        // Each hub is asked for by itself, so that the one that has failed shows.
        for (Member* member : members) {
            ask_again(*member, Milliseconds(0));
        }
        if (++node.failed_waits > 1 && !error.elsewhere()) {
            throw;
        }
        return std::nullopt;
    }
}

void FamilyLoop::take_wake(Node& node, const Members& members, const Wake& wake) {
    const auto found = std::ranges::find_if(
        members, [&](const Member* member) { return wake.queue->starts_with(member->hub + "."); });
    if (found == members.end()) {
        return;
    }
    Member& member = **found;
    if (wake.reason == WakeReason::kMoved || wake.reason == WakeReason::kShutdown) {
        settler_.close(*lane_of(node, member));
        ask_again(member, Milliseconds(0));
    } else if (*wake.queue == member.hub + "." + options_.owner_queue) {
        node.keeper.extend_now();
    } else {
        fetch(node, member);
    }
}

// By the session that waits, which remembers that it has found nothing.
void FamilyLoop::fetch(Node& node, Member& member) {
    Lane* lane = lane_of(node, member);
    if (settler_.free_handlers({&lane, 1}) == 0) {
        settler_.has_work(*lane);
        return;
    }
    try {
        Hub hub(*node.waiting, member.hub, options_.keeper.clock);
        node.vain = settler_.receive(hub, *lane) == 0 ? node.vain + 1 : 0;
    } catch (const Error& error) {
        if (error.connection_lost()) {
            throw;
        }
        report(member, error);
        settler_.close(*lane);
        ask_again(member, error.elsewhere() ? Milliseconds(0) : options_.retry_delay);
    }
    if (node.vain > kMostVain) {
        sleep(node, SteadyClock::now() + Milliseconds(std::min(50, node.vain)));
    }
}

// While the handlers are busy, a hub whose work no call is about must not wait until they are not.
void FamilyLoop::look(Node& node, const Members& members) {
    Members others = members;
    while (!options_.stopping()) {
        std::erase_if(others, [&](const Member* member) {
            return settler_.is_known_to_have_work(*lane_of(node, *member));
        });
        if (others.empty()) {
            return;
        }
        const auto wake = wait_for(node, others, true, Milliseconds(0));
        if (!wake || !wake->queue) {
            return;
        }
        const auto found = std::ranges::find_if(others, [&](const Member* member) {
            return wake->queue->starts_with(member->hub + ".");
        });
        if (found == others.end() || wake->reason == WakeReason::kMoved ||
            wake->reason == WakeReason::kShutdown ||
            *wake->queue == (*found)->hub + "." + options_.owner_queue) {
            take_wake(node, others, *wake);
            return;
        }
        settler_.has_work(*lane_of(node, **found));
        others.erase(found);
    }
}

}  // namespace belay
