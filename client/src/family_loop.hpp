// How a worker of a family waits for work: with one connection and one thread for each server that
// has hubs of the family, however many they are.
//
// The server of the conninfo is the first: its table of places, or its Citus, says where the other
// hubs are. Each server is asked about the hubs that it is said to have before they are waited for.
// A hub that moves, that no server has, or whose calls fail is asked for again, at the first server
// if the one that had it does not know; the others are served meanwhile. A server that is away is
// tried again and again by its own thread.
//
// Locks. mutex_ guards the members and the list of servers. A thread that holds it calls neither a
// server nor the settler nor a hook.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "belay/family.hpp"
#include "settler.hpp"

namespace belay {

struct FamilyOptions {
    Family family;
    ConnectionOptions connection = {};
    int connections = 1;  // of a pool
    Milliseconds wait_timeout{30000};
    Milliseconds retry_delay{1000};
    KeeperOptions keeper = {};
    std::string owner_queue = {};
    std::vector<std::string> work_queues = {};
    // Of an error that concerns one hub, with its name. Called by any thread.
    std::function<void(const std::string& hub, const std::exception&)> on_error = {};
    std::function<bool()> stopping = {};
};

class FamilyLoop {
 public:
    // Connects to the first server, and throws if that is not possible.
    FamilyLoop(FamilyOptions options, Settler& settler);
    ~FamilyLoop();
    FamilyLoop(const FamilyLoop&) = delete;
    FamilyLoop& operator=(const FamilyLoop&) = delete;

    // Waits and fetches, in threads of its own, until end() after stopping() has become true.
    void begin();
    void end();

    // A handler became free, or the worker stops.
    void look_again() noexcept;
    // A call of the settler has failed: where the hub is has to be asked.
    void failed_in(const Lane& lane, const Error& error) noexcept;

    std::uint64_t round_trips() const;

 private:
    using SteadyTime = HubServer::SteadyTime;
    struct Node;

    // A hub of the family.
    struct Member {
        std::string hub;
        Node* node = nullptr;  // has it, or is to say where it is
        // The session of that server in which it is waited for; 0: it is to be asked for.
        int session = 0;
        SteadyTime ask_at = {};  // not before
        int hops = 0;            // from server to server, while none had it
        bool in_doubt = false;   // its server is away: the first one may know another
        std::string told = {};   // the last error, reported once
        std::map<Node*, Lane*> lanes = {};
    };
    using Members = std::vector<Member*>;

    // What a directory says of a hub.
    struct Answer {
        bool is_here = false;
        std::optional<HubPlace> place = {};
    };

    void serve(Node& node);
    bool serve_once(Node& node);
    void ask_and_join(Node& node);
    void take_answer(Node& node, Member& member, const Answer* answer);
    void join(Node& node, Member& member);
    void move_to(Member& member, Node& node);  // with mutex_ held
    void wait(Node& node);
    void look(Node& node, const Members& members);
    void take_wake(Node& node, const Members& members, const Wake& wake);
    void fetch(Node& node, Member& member);
    void lose_server(Node& node, const Error& error);
    void sleep(Node& node, SteadyTime until);

    std::map<std::string, Answer> answers_of(Connection& connection, const Members& asked) const;
    std::optional<Wake> wait_for(Node& node, const Members& members, bool work,
                                 Milliseconds timeout);
    Lane* lane_of(Node& node, const Member& member) const;
    Members joined(const Node& node);
    SteadyTime next_question(const Node& node);
    Node& node_at(const std::optional<HubPlace>& place);  // with mutex_ held
    bool is_at(const Node& node, const HubPlace& place) const;
    bool may_go_to(const HubPlace& place) const;
    void ask_again(Member& member, Milliseconds delay);
    void report(Member& member, const std::exception& error);

    const FamilyOptions options_;
    Settler& settler_;
    // Of the first server, as libpq names it.
    HubPlace first_place_ = {};
    bool has_password_ = false;
    std::size_t most_hubs_ = 1;  // that one connection waits for

    mutable std::mutex mutex_;
    std::list<Member> members_ = {};  // they stay where they are
    std::list<Node> nodes_;           // the first one is that of the conninfo
    bool is_running_ = false;
};

}  // namespace belay
