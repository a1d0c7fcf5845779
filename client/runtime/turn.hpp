// A turn: the history and the messages of an instance in, what is to be stored out.
//
// run_turn is a function of its arguments; it touches no server, no clock and no cache.
//
// Thread-safety: turns of different instances may run at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "belay/durable/hook.hpp"
#include "belay/durable/registry.hpp"
#include "execution.hpp"

namespace belay::engine {

struct TurnRequest {
    std::string instance_id;
    std::int64_t execution_id = 1;
    int attempt = 1;
    std::int64_t now_ms = 0;
    std::vector<std::string_view> history = {};
    bool history_omitted = false;  // only an execution in memory can continue
    std::vector<std::string_view> messages = {};
    Values values = {};                  // at the beginning of the execution
    Resumptions* resumptions = nullptr;  // times the code; null: not timed
};

struct TurnOptions {
    std::string history_version = "0.1.30";
    std::int64_t history_warning = 10000;
    OnNondeterminism on_nondeterminism = OnNondeterminism::kBlock;
    int max_attempts = 10;
    bool verify = false;  // replay the result and compare
    RuntimeHook hook = {};
    std::atomic<std::uint64_t>* teardown_actions = nullptr;  // outlives the executions
};

// What the ack carries.
struct TurnDecision {
    std::int64_t execution_id = 1;
    std::vector<NewEvent> events = {};
    std::vector<std::string> worker_items = {};
    std::vector<std::string> orchestrator_items = {};
    std::vector<std::int64_t> cancelled_activities = {};
    std::string metadata = "{}";
};

// Messages that were dropped, by reason.
struct DroppedMessages {
    std::uint64_t other_execution = 0;
    std::uint64_t duplicate = 0;
    std::uint64_t ended = 0;
};

struct TurnResult {
    enum class Kind {
        kAck,
        kNoHandler,         // release, with a delay that grows, attempt not counted
        kNondeterministic,  // the same
        kEarly,             // release for 1 s, attempt not counted: the continuation is not here
        kCorrupt,           // release for 1 s, attempt counted
    };
    Kind kind = Kind::kAck;
    TurnDecision decision = {};
    std::string text = {};      // why it is not acked
    std::int64_t event_id = 0;  // where the code differs from its history
    // To be kept in memory once the ack is known to have succeeded; null if there is nothing.
    std::unique_ptr<Execution> execution = {};
    DroppedMessages dropped = {};
    std::size_t events_replayed = 0;
    bool ended = false;
    std::string version = {};  // of the code that ran; "" if none did
};

// `live` is the execution in memory, if it is known to be the one that is stored.
TurnResult run_turn(const TurnRequest& request, const Registry& registry,
                    const TurnOptions& options, std::unique_ptr<Execution> live = {});

// The stored values, as a fetch has them: {"key": {"value": "text", ...}}. Throws Corrupt.
Values parse_values(std::string_view snapshot);

// Thrown by run_turn where the history is omitted and needed after all: to end an instance without
// its code. The execution is gone then.
struct HistoryNeeded {};

// Throws std::invalid_argument unless the version is three numbers, as instances are pinned to.
void check_history_version(const std::string& version);

// Throws Corrupt if these events cannot be a history.
std::vector<Event> parse_history(const std::vector<std::string_view>& history);

// The pin of an instance, of a version that check_history_version accepts.
std::string pin_of(const std::string& version);

// The first event of an execution that the message begins with this version of the code.
Event start_event(const Message& message, const std::string& version);

// An end that the code has no part in: of a refused ack, for example. `version` is that of the
// code, for an execution that the turn begins.
TurnDecision failure_of_turn(const TurnRequest& request, const EndOfCode& end,
                             const TurnOptions& options, const std::string& version,
                             std::int64_t event_id = 0);

}  // namespace belay::engine
