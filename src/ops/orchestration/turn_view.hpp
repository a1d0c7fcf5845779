// What a turn is made of, read in one view. For fetch_orchestration_item.cpp.
#pragma once

#include "ops/orchestration/orchestration.hpp"
#include "store/instances.hpp"

namespace belay::ops {

// What the reading of a turn needs of the fetch.
struct TurnSource {
    store::Tables& tables;
    const TurnRequest& request;
    pg::Clock* clock;
};

// What the hub's option name_pins says of instances without a pin of their own.
struct PatternPin {
    std::string_view pattern;
    store::Pin pin;
};

// Which instances a fetch hands out, as far as that depends on their names and pins.
struct InstanceFilter {
    const TurnRequest& request;
    std::span<const PatternPin> name_pins;  // none unless the request asks for pins

    // Without a name: one that never started.
    bool includes(const std::optional<store::Pin>& pin, std::optional<std::string_view> name) const;
};
InstanceFilter filter_of(const store::Hub& hub, const TurnRequest& request);

// What is read after the exclusion, in one view.
struct View {
    std::optional<store::Instance> instance;  // with its pin if the request asks for pins
    std::span<const store::BatchMessage> messages;
    std::optional<int64> history_execution;  // without an instance row: the latest with events
    store::Arrivals arrived;                 // likewise
    std::optional<std::string_view> history;
    int64 history_after;  // the caller has what comes before
    int64 last_event_id;
    std::optional<std::string_view> kv_snapshot;
    std::optional<std::string_view> started_name;  // of the first readable OrchestrationStarted
    std::optional<std::string_view> started_version;
};

struct Context {
    std::string_view name;
    std::string_view version;
    int64 execution_id;
};

std::span<const store::BatchMessage> visible_page(const TurnSource& from,
                                                  std::string_view instance_id, int64 after_id);

// Reads with the active snapshot; the instance's exclusion is held.
View read_view(const TurnSource& from, std::string_view instance_id, const core::CacheHint& cache);

// Name and version in a start message.
Context start_context(const std::optional<store::StartMessage>& start, int64 execution_id);

// C1 to C4; no value for C5 and C6.
std::optional<Context> find_context(const View& view);

// The batch as one JSON array.
std::string_view messages_json(store::Tables& tables,
                               std::span<const store::LeasedMessage> messages);

}  // namespace belay::ops
