// What coroutines, calls and groups know of the engine. Not for applications.
//
// An Instance is the memory of one execution: the frames of its coroutines, and the calls they
// hold. Coroutines are resumed through a queue of ready coroutines, never by symmetric transfer:
// the stack stays flat without optimization, too. Functions that need the instance of the running
// thread are not inline: a compiler may keep the address of a thread_local over a suspension.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "belay/durable/options.hpp"

namespace belay::detail {

class Instance;
class GroupState;
struct CallState;
struct Wait;

// The part of a promise that does not depend on its type.
struct PromiseBase {
    PromiseBase();
    ~PromiseBase();
    PromiseBase(const PromiseBase&) = delete;
    PromiseBase& operator=(const PromiseBase&) = delete;

    static void* operator new(std::size_t size);
    static void operator delete(void* frame, std::size_t size);

    // At the final suspension: wakes the coroutine or the group that waits, or ends the instance.
    void finished() noexcept;

    Instance* const instance;
    std::coroutine_handle<> self;
    PromiseBase* parent = nullptr;  // the coroutine that awaits this one, by itself or in a group
    GroupState* group = nullptr;    // set if that is a group
    std::uint32_t index = 0;        // in the group
    std::uint32_t shields = 0;
    bool cancel_pending = false;  // came under a shield: thrown by the next wait after it
    bool queued = false;
    bool done = false;
    Wait* waiting = nullptr;
    std::exception_ptr error;
};

// A co_await in progress, of one call or of a group of them.
struct Wait {
    Wait() = default;
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;
    virtual ~Wait();

    // A call of this wait has got its outcome.
    virtual void settled(CallState& call) = 0;
    // The instance is being cancelled: the wait ends.
    virtual void cancel() = 0;
    // Position in the order in which calls were requested.
    virtual std::uint64_t order() const = 0;

    // Throws Cancelled if the wait has ended so.
    void check_cancelled();

    PromiseBase* promise = nullptr;  // that waits; null if none does
    Wait* previous = nullptr;        // in the instance's list of waits
    Wait* next = nullptr;
    bool cancelled = false;
};

enum class CallKind : std::uint8_t { kActivity, kTimer, kChild, kEvent, kQueue };

// A call that was requested. Shared by the handle, and by the engine until it has its outcome.
struct CallState final : Wait {
    CallState(Instance* owner, CallKind kind_of_call, std::uint64_t number);
    ~CallState() override;

    void settled(CallState& call) override;
    void cancel() override;
    std::uint64_t order() const override { return sequence; }

    Instance* instance;  // null after the instance has left memory, or if there is none
    CallState* previous_call = nullptr;
    CallState* next_call = nullptr;
    Wait* waiter = nullptr;
    // Reports to the instance how much memory the call holds now: after each change of its texts.
    void account();

    std::size_t accounted = 0;
    std::uint64_t sequence;
    std::int64_t event_id = 0;  // 0 until the decision event is written
    std::uint32_t references = 1;
    std::uint32_t index = 0;  // in the group that waits
    CallKind kind;
    bool done = false;
    bool failed = false;
    bool dropped = false;
    bool raw = false;  // its text is not decoded
    std::string name;
    std::string target;  // of a sub-orchestration: its instance id
    std::string value;   // result, data or details; empty once taken
};

void release(CallState* call);

// The move-only handle inside of Call<T>. Destroyed before there is an outcome, it drops the call.
class CallHandle {
 public:
    explicit CallHandle(CallState* call) : call_(call) {}
    CallHandle(CallHandle&& other) noexcept : call_(std::exchange(other.call_, nullptr)) {}
    CallHandle& operator=(CallHandle&& other) noexcept;
    ~CallHandle() { reset(); }

    void reset() noexcept;
    CallState& state() const;  // throws std::logic_error after a move

 private:
    CallState* call_;
};

// co_await of one call. False: there is no need to suspend.
bool begin_wait(CallState& call, PromiseBase& promise);

// The text of the outcome, which is thereby freed; throws the failure.
std::string take_outcome(CallState& call);

// For the text of a DecodeError.
std::string describe(const CallState& call);

// What the code requests.
struct CallRequest {
    CallKind kind = CallKind::kActivity;
    std::string name = {};
    std::string input = {};
    CallOptions options = {};
    std::int64_t fire_at_ms = 0;
    bool raw = false;
};

struct ContinuedAsNew {
    std::string input;
    OptionalText version;
};

// Implemented by the engine.
class Instance {
 public:
    Instance();
    virtual ~Instance();
    Instance(const Instance&) = delete;
    Instance& operator=(const Instance&) = delete;

    std::uint64_t serial() const { return serial_; }

    // ---- For Context. ----
    virtual const std::string& instance_id() const = 0;
    virtual std::int64_t execution_id() const = 0;
    virtual const std::string& name() const = 0;
    virtual const std::string& version() const = 0;
    virtual std::int64_t history_size() const = 0;
    virtual std::int64_t now_ms() const = 0;
    virtual bool replaying() const = 0;
    virtual bool cancel_requested() const = 0;
    virtual const std::string& cancel_reason() const = 0;

    virtual CallState* ask(CallRequest request) = 0;
    virtual void start_detached(std::string name, std::string id, std::string input,
                                OptionalText version) = 0;
    virtual void set_status(OptionalText status) = 0;
    virtual void set_value(std::string key, std::string value) = 0;
    virtual std::optional<std::string> value(std::string_view key) const = 0;
    virtual void clear_value(std::string key) = 0;
    virtual void clear_values() = 0;
    virtual int change_version(std::string_view change, int current) = 0;
    // The value that the history has for the next record(); none if the value is to be made now.
    virtual std::optional<std::string> recorded() = 0;
    // Throws Failure if what is recorded is one.
    virtual void record(std::string value, bool failed) = 0;
    virtual std::uint64_t random() = 0;
    virtual void log(std::string text) = 0;
    virtual void drop(CallState& call) = 0;

    // ---- Scheduling. ----
    void wake(PromiseBase& promise);
    void forget(PromiseBase& promise);  // it is being destroyed
    bool add_wait(Wait& wait, PromiseBase& promise);
    void remove_wait(Wait& wait);
    void count_frame(std::ptrdiff_t bytes) { frame_bytes_ += bytes; }
    std::ptrdiff_t frame_bytes() const { return frame_bytes_; }

    bool recording = false;  // inside of the function of Context::record

 protected:
    friend struct CallState;
    friend struct PromiseBase;

    virtual void root_finished() = 0;
    // Around each resumption of a coroutine.
    virtual void before_resumption() = 0;
    virtual void after_resumption() = 0;
    // Runs coroutines until none is ready, in the order in which they became ready.
    void run_ready();
    // Ends every wait outside of shields with Cancelled, in the order of the calls.
    void cancel_waits();
    void forget_calls();
    bool has_ready() const { return ready_head_ < ready_.size(); }

    CallState* calls_ = nullptr;  // all that exist
    std::size_t call_bytes_ = 0;  // of these
    bool stopped_ = false;        // no coroutine is resumed any more

 private:
    const std::uint64_t serial_;
    std::vector<PromiseBase*> ready_;
    std::size_t ready_head_ = 0;
    Wait* waits_ = nullptr;
    std::ptrdiff_t frame_bytes_ = 0;
};

// The instance whose code this thread runs; null if it runs none.
Instance* current_instance() noexcept;
// The coroutine that runs, of the current instance.
PromiseBase* current_promise() noexcept;

// Makes an instance the current one of this thread while it lives.
class InstanceScope {
 public:
    explicit InstanceScope(Instance* instance) noexcept;
    ~InstanceScope();
    InstanceScope(const InstanceScope&) = delete;
    InstanceScope& operator=(const InstanceScope&) = delete;

 private:
    Instance* before_;
    PromiseBase* before_promise_;
};

}  // namespace belay::detail
