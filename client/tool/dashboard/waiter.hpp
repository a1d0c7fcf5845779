// Waits for changes of the tasks and instances that viewers look at: one connection per hub and
// role, in wait_for_work, which holds no snapshot. Thread-safe.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "sampler.hpp"

namespace belay::tool::dashboard {

class Waiter {
 public:
    static constexpr std::size_t kMostThreads = 4;
    static constexpr std::size_t kMostChannels = 64;

    // changed: called before the pages are notified, with the hub.
    Waiter(Database& database, Streams& streams, Sampler& sampler, FindHub find_hub,
           std::function<void(const std::string& hub)> changed);
    ~Waiter();

    void wake();  // something else is watched now
    void stop();

 private:
    // The waits of one hub and role.
    struct Post {
        Streams::Watched watched;
        Interrupt interrupt;
        std::thread thread;
        bool ended = false;
    };
    using Key = std::pair<std::string, std::string>;

    void run();
    void wait(const std::shared_ptr<Post>& post);
    // An object as it was last reported, and how often it may be reported at once.
    struct Seen {
        std::string text = {};
        double tokens = 0;
        std::int64_t at_ms = 0;

        void refill(std::int64_t now);
    };

    // Waits once; false if waiting is not possible for this role.
    bool wait_once(Post& post, Hub& hub, std::map<Want, Seen>& seen);
    // Notifies the pages if the object is another than it was.
    void look_again(const Post& post, Hub& hub, const Want& want, std::map<Want, Seen>& seen);
    static std::string look(Hub& hub, const Want& want, const std::string& known);

    Database& database_;
    Streams& streams_;
    Sampler& sampler_;
    FindHub find_hub_;
    std::function<void(const std::string&)> changed_hub_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<Key, std::shared_ptr<Post>> posts_;
    std::map<Key, std::int64_t> refused_;  // until when a role is not asked to wait again
    bool stopping_ = false;
    bool woken_ = false;
    std::thread thread_;
};

}  // namespace belay::tool::dashboard
