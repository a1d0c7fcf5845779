// The hub in memory that World uses: queues, instances, histories, and what an ack changes in them.
//
// May touch: its own memory. Must not: read a clock or start a thread: World supplies the time.
#include "memory_hub.hpp"

#include <algorithm>
#include <stdexcept>

#include <nlohmann/json.hpp>

namespace belay::engine {
namespace {

using nlohmann::json;

OptionalText text_of(const json& object, const char* key) {
    const auto found = object.find(key);
    return found == object.end() || found->is_null() ? OptionalText() : found->get<std::string>();
}

bool is_queue_message(const HubMessage& message) {
    return message.text.starts_with("{\"QueueMessage\"");
}

}  // namespace

HubInstance& MemoryHub::instance(const std::string& id) {
    auto& slot = instances_[id];
    if (!slot) {
        slot = std::make_unique<HubInstance>();
        slot->id = id;
    }
    return *slot;
}

HubInstance* MemoryHub::find(const std::string& id) {
    const auto found = instances_.find(id);
    return found == instances_.end() ? nullptr : found->second.get();
}

void MemoryHub::make_ready(HubInstance& instance) {
    if (!instance.ready) {
        instance.ready = true;
        ready_.push_back({&instance, {}});
    }
}

void MemoryHub::set_now(std::int64_t now_ms) {
    now_ms_ = std::max(now_ms_, now_ms);
    while (!due_.empty() && due_.begin()->first <= now_ms_) {
        Due due = std::move(due_.begin()->second);
        due_.erase(due_.begin());
        if (due.instance != nullptr) {
            make_ready(*due.instance);
        } else if (!due.work->cancelled) {
            ready_.push_back({nullptr, std::move(due.work)});
        }
    }
}

std::optional<std::int64_t> MemoryHub::next_due() const {
    // What was cancelled meanwhile is nothing to wait for.
    for (const auto& [at, due] : due_) {
        if (due.instance != nullptr ? !due.instance->messages.empty() : !due.work->cancelled) {
            return at;
        }
    }
    return std::nullopt;
}

void MemoryHub::send(std::string item, std::int64_t visible_at) {
    const json parsed = json::parse(item);
    const std::string& kind = parsed.begin().key();
    const json& fields = parsed.begin().value();
    const bool answer = kind == "SubOrchCompleted" || kind == "SubOrchFailed";
    HubInstance& target =
        instance(fields.at(answer ? "parent_instance" : "instance").get<std::string>());
    if (kind == "TimerFired") {
        visible_at = fields.at("fire_at_ms").get<std::int64_t>();
    }
    HubMessage message;
    message.text = std::move(item);
    message.visible_at = std::max(visible_at, now_ms_);
    message.starts = kind == "StartOrchestration";
    for (int copies = duplicate_next_ ? 2 : 1; copies > 0; --copies) {
        message.id = ++last_id_;
        target.messages.push_back(message);
    }
    duplicate_next_ = false;
    if (message.visible_at <= now_ms_) {
        make_ready(target);
    } else {
        due_.emplace(message.visible_at, Due{&target, {}});
    }
}

std::optional<Runnable> MemoryHub::next() {
    if (ready_.empty()) {
        return std::nullopt;
    }
    if (shuffled_) {
        const std::size_t index =
            std::uniform_int_distribution<std::size_t>(0, ready_.size() - 1)(random_);
        std::swap(ready_[index], ready_.front());
    }
    Runnable runnable = std::move(ready_.front());
    ready_.pop_front();
    if (runnable.instance != nullptr) {
        runnable.instance->ready = false;
    }
    return runnable;
}

bool MemoryHub::fetch(HubInstance& instance, std::vector<HubMessage>& batch) {
    if (instance.executions.empty()) {
        const auto visible_start = std::any_of(
            instance.messages.begin(), instance.messages.end(), [this](const HubMessage& message) {
                return message.starts && message.visible_at <= now_ms_;
            });
        const bool any_start =
            std::any_of(instance.messages.begin(), instance.messages.end(),
                        [](const HubMessage& message) { return message.starts; });
        if (!any_start &&
            std::all_of(instance.messages.begin(), instance.messages.end(), is_queue_message)) {
            instance.messages.clear();
        }
        if (!visible_start) {
            return false;
        }
    }
    for (HubMessage& message : instance.messages) {
        if (message.visible_at <= now_ms_) {
            ++message.attempt;
            batch.push_back(message);
        }
    }
    if (reorder_) {
        std::shuffle(batch.begin(), batch.end(), *reorder_);
    }
    return !batch.empty();
}

void MemoryHub::give_back(HubInstance& instance, const std::vector<HubMessage>& batch,
                          std::int64_t delay_ms, bool count_attempt) {
    for (HubMessage& message : instance.messages) {
        const bool taken = std::any_of(batch.begin(), batch.end(), [&](const HubMessage& other) {
            return other.id == message.id;
        });
        if (taken) {
            message.attempt -= count_attempt ? 0 : 1;
            message.visible_at = now_ms_ + delay_ms;
        }
    }
    if (delay_ms > 0) {
        due_.emplace(now_ms_ + delay_ms, Due{&instance, {}});
    } else {
        make_ready(instance);
    }
}

void MemoryHub::store_events(HubInstance& instance, const TurnDecision& decision) {
    auto& events = instance.executions[decision.execution_id];
    for (const NewEvent& event : decision.events) {
        if (!events.empty() && event.id <= events.back().id) {
            throw std::logic_error("event " + std::to_string(event.id) + " of " + instance.id +
                                   " does not follow the stored events");
        }
        events.push_back({event.id, event.text});
        if (event.kind == EventKind::kCustomStatusUpdated) {
            instance.custom_status = parse_event(event.text).text;
            ++instance.status_version;
        }
    }
}

void MemoryHub::store_metadata(HubInstance& instance, const TurnDecision& decision) {
    const json metadata = json::parse(decision.metadata);
    if (const auto name = text_of(metadata, "orchestration_name")) {
        instance.name = *name;
        instance.version = text_of(metadata, "orchestration_version").value_or("");
        instance.current = std::max(instance.current, decision.execution_id);
        instance.status = "Running";
    }
    if (const auto parent = text_of(metadata, "parent_instance_id")) {
        instance.parent = parent;
    }
    for (const json& mutation : metadata.value("kv_mutations", json::array())) {
        const std::string action = mutation.at("action").get<std::string>();
        if (action == "set") {
            instance.delta[mutation.at("key").get<std::string>()] =
                mutation.at("value").get<std::string>();
        } else if (action == "clear_key") {
            instance.delta[mutation.at("key").get<std::string>()] = std::nullopt;
        } else {
            for (auto& [key, value] : instance.delta) {
                value.reset();
            }
            for (const auto& [key, value] : instance.values) {
                instance.delta[key] = std::nullopt;
            }
        }
    }
    if (const auto status = text_of(metadata, "status")) {
        instance.status = *status;
        instance.output = text_of(metadata, "output");
        for (const auto& [key, value] : instance.delta) {
            if (value) {
                instance.values.insert_or_assign(key, *value);
            } else {
                instance.values.erase(key);
            }
        }
        instance.delta.clear();
    }
}

void MemoryHub::add_work(const std::string& item) {
    const json parsed = json::parse(item);
    const json& fields = parsed.at("ActivityExecute");
    auto work = std::make_shared<HubWork>();
    work->id = ++last_id_;
    work->instance = fields.at("instance").get<std::string>();
    work->execution_id = fields.at("execution_id").get<std::int64_t>();
    work->activity_id = fields.at("id").get<std::int64_t>();
    work->name = fields.at("name").get<std::string>();
    work->input = fields.at("input").get<std::string>();
    work->tag = text_of(fields, "tag");
    work->session = text_of(fields, "session_id");
    work_[{work->instance, work->execution_id, work->activity_id}] = work;
    ready_.push_back({nullptr, std::move(work)});
}

void MemoryHub::ack(HubInstance& instance, const std::vector<HubMessage>& batch,
                    const TurnDecision& decision) {
    store_events(instance, decision);
    store_metadata(instance, decision);
    for (const std::string& item : decision.worker_items) {
        add_work(item);
    }
    for (const std::int64_t id : decision.cancelled_activities) {
        const auto found = work_.find({instance.id, decision.execution_id, id});
        if (found != work_.end()) {
            found->second->cancelled = true;
            work_.erase(found);
        }
    }
    std::set<std::uint64_t> taken;
    for (const HubMessage& message : batch) {
        taken.insert(message.id);
    }
    std::erase_if(instance.messages,
                  [&](const HubMessage& message) { return taken.contains(message.id); });
    for (const std::string& item : decision.orchestrator_items) {
        send(item);
    }
    const bool more =
        std::any_of(instance.messages.begin(), instance.messages.end(),
                    [this](const HubMessage& message) { return message.visible_at <= now_ms_; });
    if (more) {
        make_ready(instance);
    }
}

void MemoryHub::delay(const std::shared_ptr<HubWork>& work, std::int64_t visible_at) {
    if (visible_at > now_ms_) {
        due_.emplace(visible_at, Due{nullptr, work});
        return;
    }
    if (work->completion && !work->retry) {
        work_.erase({work->instance, work->execution_id, work->activity_id});
        send(*work->completion);
    } else {
        ready_.push_back({nullptr, work});
    }
}

}  // namespace belay::engine
