// wait_queues.cpp — which queues a wait names, and whether the caller may wait for them.
//
// Calls    store::hub_by_name, store::may_execute
// Touches  nothing
// Locks    nothing
// Raises   QB006 bad queue, 42501; for the hub of a qualified queue QB002 if there is none, QB017
//          if it is elsewhere
#include <algorithm>

#include "core/names.hpp"
#include "ops/wait/wait_for_work.hpp"
#include "pg/datum.hpp"
#include "pg/errors.hpp"
#include "store/grants.hpp"

namespace belay::ops {

namespace {

struct TopicWord {
    const char* word;
    wakeups::Topic topic;
    bool named;
    const char* verb;                  // a role that may call it may wait
    const char* other_verb = nullptr;  // or this one
};

constexpr TopicWord kTopics[] = {
    {"orchestrator", wakeups::Topic::kOrchestrator, false, "fetch_orchestration_item"},
    {"worker", wakeups::Topic::kWorker, false, "fetch_work_item"},
    {"instance", wakeups::Topic::kInstance, true, "get_instance_info"},
    {"owner", wakeups::Topic::kOwner, true, "fetch_work_item"},
    {"outbox", wakeups::Topic::kOutbox, false, "read_events", "browse_events"},
    {"queue", wakeups::Topic::kQueue, true, "claim_tasks"},
    {"task", wakeups::Topic::kTask, true, "get_task"},
    {"flow", wakeups::Topic::kFlow, true, "get_flow"},
};

constexpr const char* kQueueWords =
    "Queues are orchestrator, worker, outbox, queue:<name>, queue:*, instance:<id>, task:<id>, "
    "flow:<id> and owner:<id>, each with the name of a hub and a dot before it or without.";

[[noreturn]] void refuse_word(std::size_t index, std::string_view word) {
    pg::raise(
        pg::kInvalidArgument, psprintf("\"%s\" names no queue", pg::excerpt(word)),
        pg::Facts("unknown_queue").add("path", psprintf("p_queues[%zu]", index)).add("value", word),
        kQueueWords);
}

// The form in which ids of tasks are printed.
bool is_uuid(std::string_view text) {
    constexpr std::string_view kForm = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    return text.size() == kForm.size() &&
           std::equal(text.begin(), text.end(), kForm.begin(), [](char c, char form) {
               return form == '-' ? c == '-' : (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
           });
}

// The kind of queue that the word begins with; null if it is none. "queue:a" has a name, "worker"
// has not.
const TopicWord* topic_of(std::string_view word) {
    const auto colon = word.find(':');
    const std::string_view head = word.substr(0, colon);
    const bool named = colon != std::string_view::npos;
    const auto* known = std::ranges::find_if(kTopics, [head, named](const TopicWord& topic) {
        return head == topic.word && named == topic.named;
    });
    return known == std::end(kTopics) ? nullptr : known;
}

// Where the name of a hub ends in "app_003.queue:a": at the first dot that a queue follows.
std::size_t end_of_hub(std::string_view word) {
    auto dot = word.find('.');
    while (dot != std::string_view::npos && topic_of(word.substr(dot + 1)) == nullptr) {
        dot = word.find('.', dot + 1);
    }
    return dot;
}

void check_may_wait(const store::Hub& hub, const TopicWord& topic, std::string_view word) {
    if (!store::may_execute(hub, topic.verb, GetUserId()) &&
        (topic.other_verb == nullptr || !store::may_execute(hub, topic.other_verb, GetUserId()))) {
        ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                        errmsg("permission denied to wait for queue \"%s\"", pg::excerpt(word)),
                        errhint("Ask the hub's owner to grant a level with belay.grant_hub.")));
    }
}

WaitQueue checked_queue(const store::Hub& own, std::size_t index, std::string_view word) {
    const store::Hub* hub = &own;
    std::string_view queue = word;
    const TopicWord* topic = topic_of(word);
    if (topic == nullptr) {
        const auto dot = end_of_hub(word);
        if (dot == std::string_view::npos || dot == 0 || dot > core::kMaxNameBytes) {
            refuse_word(index, word);
        }
        hub = &store::hub_by_name(pg::c_string(word.substr(0, dot)));
        queue = word.substr(dot + 1);
        topic = topic_of(queue);
    }
    const std::string_view name =
        topic->named ? queue.substr(queue.find(':') + 1) : std::string_view();
    const bool has_uuid =
        topic->topic == wakeups::Topic::kTask || topic->topic == wakeups::Topic::kFlow;
    if (topic->named && name.empty()) {
        refuse_word(index, word);
    }
    check_may_wait(*hub, *topic, word);
    // A task's has the usual form of its id.
    if (has_uuid && !is_uuid(name)) {
        refuse_word(index, word);
    }
    // queue:* is the channel without a name.
    const std::string_view key = topic->topic == wakeups::Topic::kQueue && name == "*" ? "" : name;
    return {pg::c_string(word), topic->topic, name,
            wakeups::channel_of(hub->schema, topic->topic, key), hub->shards != nullptr};
}

// Of each hub that Citus can move, one queue is enough to show that it has left.
void keep_first_of_each_hub(std::span<WaitQueue> queues) {
    for (std::size_t i = 1; i < queues.size(); ++i) {
        const Oid schema = queues[i].channel.hub;
        queues[i].shows_move =
            queues[i].shows_move &&
            std::ranges::none_of(queues.first(i), [schema](const WaitQueue& earlier) {
                return earlier.channel.hub == schema;
            });
    }
}

}  // namespace

std::span<const WaitQueue> checked_queues(const store::Hub& hub, std::span<const Datum> words) {
    if (words.empty() || words.size() > wakeups::kMaxChannels) {
        pg::raise(pg::kInvalidArgument, "p_queues must name 1 to 256 queues",
                  pg::Facts(words.empty() ? "empty" : "too_many")
                      .add("path", "p_queues")
                      .add("elements", static_cast<int64>(words.size())),
                  kQueueWords);
    }
    auto* queues = static_cast<WaitQueue*>(palloc(sizeof(WaitQueue) * words.size()));
    for (std::size_t i = 0; i < words.size(); ++i) {
        queues[i] = checked_queue(hub, i, words[i] == 0 ? "" : pg::text_view(words[i]));
    }
    keep_first_of_each_hub({queues, words.size()});
    return {queues, words.size()};
}

}  // namespace belay::ops
