// Events that a runtime reports.
//
// kStarted, kEnded and kLog, as all that the code causes, are reported while the turn runs, before
// its ack. If the ack fails, no part of the turn is stored, and the next attempt reports them
// again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace belay {

struct RuntimeEvent {
    enum class Kind {
        kStarted,           // an execution has begun
        kEnded,             // an execution has ended
        kNondeterministic,  // the requests of the code differ from its history
        kCorrupt,           // a history or a message cannot be read
        kNoHandler,         // the orchestration is not registered here
        kSlow,              // the code held its thread for long, without a suspension
        kBlocked,           // the code holds its thread for very long, and still does
        kEvicted,           // an instance left the cache
        kCarriedTooMany,    // more messages than continue-as-new carries
        kLongHistory,       // the execution should continue as new
        kLog,               // Context::log
        kSlotsNotShared,    // once, by run(): instances that are kept in memory may not be found
        kError,             // of a call to the server; the runtime continues
    };
    static constexpr std::size_t kKinds = static_cast<std::size_t>(Kind::kError) + 1;

    Kind kind;
    std::string instance_id = {};
    std::int64_t execution_id = 0;
    std::string name = {};
    std::string version = {};
    std::int64_t event_id = 0;  // the last one that was applied
    std::string text = {};
};

// May be called by several threads at once.
using RuntimeHook = std::function<void(const RuntimeEvent&)>;

// What happens to an instance whose code differs from its history.
enum class OnNondeterminism {
    kBlock,  // nothing is stored; the turn is tried again later, perhaps with other code
    kFail,   // the instance fails
};

}  // namespace belay
