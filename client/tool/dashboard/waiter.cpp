// Waits for changes of watched tasks, instances and flows, and notifies the pages.
//
// May touch: hubs, reading, with a connection per hub and role of its own threads. Must not: hold a
// snapshot while it waits, or report one object more often than its limit.
#include "waiter.hpp"

#include <poll.h>

#include <algorithm>

namespace belay::tool::dashboard {
namespace {

constexpr std::chrono::milliseconds kWait{20000};
constexpr std::int64_t kRefusedFor = 60000;
constexpr std::int64_t kPause = 1000;  // a new watch ends a wait at most this often

// A change costs about four statements: the wait, a look, and what the page reads anew. An object
// that changes all the time is reported kBurst times at once, and then once per kRefill: at most 60
// statements a minute.
constexpr double kBurst = 4;
constexpr std::int64_t kRefill = 6500;

bool can_wait_on(const Want& want) {
    return want.what == "task" || want.what == "instance" || want.what == "flow";
}

// The channels of one wait: of more objects than fit, those that were asked for last.
std::set<Want> waited_on(const std::map<Want, std::int64_t>& objects) {
    std::vector<std::pair<std::int64_t, Want>> all;
    for (const auto& [want, asked] : objects) {
        if (can_wait_on(want)) {
            all.emplace_back(-asked, want);
        }
    }
    std::ranges::sort(all);
    std::set<Want> wants;
    for (const auto& [asked, want] : all) {
        if (wants.size() < Waiter::kMostChannels) {
            wants.insert(want);
        }
    }
    return wants;
}

}  // namespace

Waiter::Waiter(Database& database, Streams& streams, Sampler& sampler, FindHub find_hub,
               std::function<void(const std::string&)> changed)
    : database_(database),
      streams_(streams),
      sampler_(sampler),
      find_hub_(std::move(find_hub)),
      changed_hub_(std::move(changed)),
      thread_([this] { run(); }) {}

Waiter::~Waiter() {
    stop();
}

void Waiter::wake() {
    {
        const std::lock_guard lock(mutex_);
        woken_ = true;
    }
    changed_.notify_all();
}

void Waiter::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
        for (const auto& [key, post] : posts_) {
            post->interrupt.signal();
        }
    }
    changed_.notify_all();
    if (thread_.joinable()) {
        thread_.join();
    }
}

// Starts and ends waits as the pages ask for.
void Waiter::run() {
    for (;;) {
        const auto watched = streams_.watched();
        std::vector<std::shared_ptr<Post>> over;
        {
            std::unique_lock lock(mutex_);
            for (auto entry = posts_.begin(); entry != posts_.end();) {
                const auto still = std::ranges::find_if(watched, [&](const auto& watch) {
                    return Key{watch.credential->key, watch.hub} == entry->first &&
                           !waited_on(watch.objects).empty();
                });
                if (still == watched.end() || stopping_) {
                    entry->second->watched.objects.clear();
                    entry->second->interrupt.signal();
                } else if (waited_on(still->objects) != waited_on(entry->second->watched.objects)) {
                    entry->second->watched = *still;
                    entry->second->interrupt.signal();
                }
                if (entry->second->ended) {
                    over.push_back(entry->second);
                    entry = posts_.erase(entry);
                } else {
                    ++entry;
                }
            }
            for (const auto& watch : watched) {
                const Key key{watch.credential->key, watch.hub};
                const auto refused = refused_.find(key);
                if (stopping_ || waited_on(watch.objects).empty() || posts_.contains(key) ||
                    posts_.size() >= kMostThreads ||
                    (refused != refused_.end() && refused->second > steady_ms())) {
                    continue;
                }
                auto post = std::make_shared<Post>();
                post->watched = watch;
                posts_[key] = post;
                post->thread = std::thread([this, post] { wait(post); });
            }
            if (stopping_ && posts_.empty() && over.empty()) {
                return;
            }
            if (over.empty()) {
                const bool stopping = stopping_;
                changed_.wait_for(lock, std::chrono::milliseconds(stopping ? 20 : 60000),
                                  [&] { return woken_ || stopping_ != stopping; });
                woken_ = false;
            }
        }
        for (const auto& post : over) {
            post->thread.join();
        }
    }
}

void Waiter::wait(const std::shared_ptr<Post>& post) {
    const std::string credential = post->watched.credential->key;
    const std::string name = post->watched.hub;
    bool possible = true;
    try {
        auto connection = database_.lease(post->watched.credential);
        Hub hub = find_hub_(*connection, *post->watched.credential, name);
        possible = hub.rights() == Rights::kOwn;
        if (possible) {
            // However the wait ends, no read gets a connection without a limit.
            connection.spoil();
            connection->call(Effect::kRepeatable,
                             "SELECT set_config('statement_timeout', '0', false)");
            std::map<Want, Seen> seen;
            while (wait_once(*post, hub, seen)) {
            }
        }
    } catch (const Error& error) {
        // Without the right or without shared memory, pages follow the sampler.
        possible = error.connection_lost();
    } catch (const std::exception&) {
        possible = false;
    }
    sampler_.set_waits(credential, name, false);
    const std::lock_guard lock(mutex_);
    if (!post->watched.objects.empty()) {
        refused_[{credential, name}] = steady_ms() + (possible ? 2000 : kRefusedFor);
    }
    post->ended = true;
    woken_ = true;
    changed_.notify_all();
}

// The object as it is now, in few bytes. The session remembers what it has seen, and waits for what
// differs from that.
std::string Waiter::look(Hub& hub, const Want& want, const std::string& known) {
    if (want.what == "task" || want.what == "flow") {
        const Uuid id{want.id};
        try {
            const Param param(id);
        } catch (const Error&) {
            return "";
        }
        if (want.what == "flow") {
            // One that is as it was has no answer.
            return hub
                .query(Effect::kRepeatable,
                       "SELECT " + hub.schema() + ".get_flow($1, $2) ->> 'revision'",
                       {id, known.empty() ? OptionalText() : OptionalText(known)})
                .get<OptionalText>(0, 0)
                .value_or(known);
        }
        return hub
            .query(Effect::kRepeatable, "SELECT md5(" + hub.schema() + ".get_task($1)::text)", {id})
            .get<OptionalText>(0, 0)
            .value_or("");
    }
    return hub
        .query(Effect::kRepeatable,
               "SELECT md5(string_agg(i::text || coalesce(c::text, ''), '')) FROM " + hub.schema() +
                   ".get_instance_info($1) AS i LEFT JOIN LATERAL " + hub.schema() +
                   ".get_custom_status($1, 0) AS c ON true",
               {want.id})
        .get<OptionalText>(0, 0)
        .value_or("");
}

void Waiter::Seen::refill(std::int64_t now) {
    tokens = std::min(kBurst, tokens + static_cast<double>(now - at_ms) / kRefill);
    at_ms = now;
}

void Waiter::look_again(const Post& post, Hub& hub, const Want& want, std::map<Want, Seen>& seen) {
    const auto known = seen.find(want);
    const std::string now = look(hub, want, known == seen.end() ? "" : known->second.text);
    // A new one is reported as well: it may have changed since the page read it.
    if (known == seen.end()) {
        seen[want] = {now, kBurst, steady_ms()};
    } else {
        // One that is gone ends each wait at once, too.
        known->second.tokens -= 1;
        if (known->second.text == now) {
            return;
        }
        known->second.text = now;
    }
    changed_hub_(want.hub);
    streams_.send(post.watched.credential->key, want, "changed",
                  {{"hub", want.hub}, {"what", want.what}, {"id", want.id}});
}

bool Waiter::wait_once(Post& post, Hub& hub, std::map<Want, Seen>& seen) {
    std::set<Want> wants;
    {
        const std::lock_guard lock(mutex_);
        wants = waited_on(post.watched.objects);
        post.interrupt.reset();
        if (wants.empty() || stopping_) {
            return false;
        }
    }
    const std::int64_t begin = steady_ms();
    std::vector<std::string> queues;
    std::int64_t longest = kWait.count();
    for (const auto& want : wants) {
        if (!seen.contains(want)) {
            look_again(post, hub, want, seen);
        }
        Seen& known = seen[want];
        known.refill(steady_ms());
        if (known.tokens >= 1) {
            queues.push_back(want.what + ":" + want.id);
        } else {
            longest =
                std::min(longest, static_cast<std::int64_t>((1 - known.tokens) * kRefill) + 1);
        }
    }
    std::erase_if(seen, [&](const auto& entry) { return !wants.contains(entry.first); });
    sampler_.set_waits(post.watched.credential->key, hub.name(), true);
    if (queues.empty()) {
        pollfd ready{.fd = post.interrupt.descriptor(), .events = POLLIN, .revents = 0};
        poll(&ready, 1, static_cast<int>(longest));
        return true;
    }
    const auto wake =
        hub.provider().wait_for_work(queues, std::chrono::milliseconds(longest), post.interrupt);
    if (wake && (wake->reason == WakeReason::kShutdown || wake->reason == WakeReason::kMoved)) {
        return false;
    }
    if (wake && wake->queue) {
        for (const auto& want : wants) {
            if (want.what + ":" + want.id == *wake->queue) {
                look_again(post, hub, want, seen);
            }
        }
    }
    // Neither a new watch nor an object that changes all the time costs more than this.
    const std::int64_t rest = kPause - (steady_ms() - begin);
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::milliseconds(std::max<std::int64_t>(0, rest)),
                      [this] { return stopping_; });
    return true;
}

}  // namespace belay::tool::dashboard
