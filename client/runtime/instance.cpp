// Scheduling of the coroutines of an instance, and the life of calls.
#include "belay/durable/instance.hpp"

#include <algorithm>
#include <atomic>
#include <new>
#include <stdexcept>

#include "belay/durable/group.hpp"
#include "details.hpp"

namespace belay::detail {
namespace {

thread_local Instance* running_instance = nullptr;
thread_local PromiseBase* running_promise = nullptr;

std::atomic<std::uint64_t> last_serial{0};

// The coroutine of the chain that holds a shield; null if none does.
PromiseBase* shield_above(PromiseBase* promise) {
    while (promise != nullptr && promise->shields == 0) {
        promise = promise->parent;
    }
    return promise;
}

}  // namespace

// ---- The current instance. ----

[[gnu::noinline]] Instance* current_instance() noexcept {
    return running_instance;
}

[[gnu::noinline]] PromiseBase* current_promise() noexcept {
    return running_promise;
}

InstanceScope::InstanceScope(Instance* instance) noexcept
    : before_(std::exchange(running_instance, instance)),
      before_promise_(std::exchange(running_promise, nullptr)) {}

InstanceScope::~InstanceScope() {
    running_instance = before_;
    running_promise = before_promise_;
}

// ---- Promises. ----

PromiseBase::PromiseBase() : instance(current_instance()) {
    if (instance == nullptr) {
        throw std::logic_error("a durable coroutine is called by durable coroutines only");
    }
}

PromiseBase::~PromiseBase() {
    if (waiting != nullptr) {
        instance->remove_wait(*waiting);
    }
    if (queued) {
        instance->forget(*this);
    }
}

// No header in front of the frame: g++ 12 warns of operators that do not match.
void* PromiseBase::operator new(std::size_t size) {
    if (Instance* const instance = current_instance()) {
        instance->count_frame(static_cast<std::ptrdiff_t>(size));
    }
    return ::operator new(size);
}

void PromiseBase::operator delete(void* frame, std::size_t size) {
    if (Instance* const instance = current_instance()) {
        instance->count_frame(-static_cast<std::ptrdiff_t>(size));
    }
    ::operator delete(frame);
}

void PromiseBase::finished() noexcept {
    done = true;
    if (cancel_pending && parent != nullptr) {
        parent->cancel_pending = true;
    }
    if (group != nullptr) {
        group->coroutine_finished(index);
    } else if (parent != nullptr) {
        instance->wake(*parent);
    } else {
        instance->root_finished();
    }
}

// ---- Waits. ----

Wait::~Wait() {
    if (promise != nullptr) {
        promise->instance->remove_wait(*this);
    }
}

void Wait::check_cancelled() {
    if (std::exchange(cancelled, false)) {
        throw Cancelled(current_instance()->cancel_reason());
    }
}

bool begin_wait(CallState& call, PromiseBase& promise) {
    if (call.waiter != nullptr) {
        throw std::logic_error("a call is awaited by one coroutine");
    }
    if (call.instance != promise.instance) {
        throw std::logic_error("a call is awaited by the instance that asked for it");
    }
    if (!promise.instance->add_wait(call, promise)) {
        return false;
    }
    call.waiter = &call;
    return true;
}

// ---- Calls. ----

CallState::CallState(Instance* owner, CallKind kind_of_call, std::uint64_t number)
    : instance(owner), sequence(number), kind(kind_of_call) {
    if (instance == nullptr) {
        return;
    }
    next_call = instance->calls_;
    if (next_call != nullptr) {
        next_call->previous_call = this;
    }
    instance->calls_ = this;
    account();
}

void CallState::account() {
    if (instance != nullptr) {
        const std::size_t now = sizeof(CallState) + name.size() + value.size() + target.size();
        instance->call_bytes_ += now - accounted;
        accounted = now;
    }
}

CallState::~CallState() {
    if (instance != nullptr) {
        instance->call_bytes_ -= accounted;
        (previous_call != nullptr ? previous_call->next_call : instance->calls_) = next_call;
        if (next_call != nullptr) {
            next_call->previous_call = previous_call;
        }
    }
}

void CallState::settled(CallState&) {
    waiter = nullptr;
    if (PromiseBase* const waiting = promise) {
        instance->remove_wait(*this);
        instance->wake(*waiting);
    }
}

void CallState::cancel() {
    cancelled = true;
    settled(*this);
}

void release(CallState* call) {
    if (--call->references == 0) {
        delete call;
    }
}

CallHandle& CallHandle::operator=(CallHandle&& other) noexcept {
    if (this != &other) {
        reset();
        call_ = std::exchange(other.call_, nullptr);
    }
    return *this;
}

void CallHandle::reset() noexcept {
    CallState* const call = std::exchange(call_, nullptr);
    if (call == nullptr) {
        return;
    }
    if (call->promise != nullptr) {
        call->promise->instance->remove_wait(*call);
    }
    call->waiter = nullptr;
    if (!call->done && !call->dropped && call->instance != nullptr) {
        call->instance->drop(*call);
    }
    release(call);
}

CallState& CallHandle::state() const {
    if (call_ == nullptr) {
        throw std::logic_error("the call was moved away");
    }
    return *call_;
}

std::string take_outcome(CallState& call) {
    if (call.failed) {
        throw_failure(call.kind, call.name, call.value);
    }
    std::string value = std::exchange(call.value, {});
    call.account();
    return value;
}

std::string describe(const CallState& call) {
    switch (call.kind) {
        case CallKind::kActivity:
            return "result of activity \"" + call.name + "\"";
        case CallKind::kChild:
            return "result of orchestration \"" + call.name + "\"";
        case CallKind::kEvent:
            return "data of event \"" + call.name + "\"";
        case CallKind::kQueue:
            return "message of queue \"" + call.name + "\"";
        case CallKind::kTimer:
            break;
    }
    return "timer";
}

// ---- Instances. ----

Instance::Instance() : serial_(++last_serial) {}

Instance::~Instance() = default;

void Instance::wake(PromiseBase& promise) {
    if (!promise.queued) {
        promise.queued = true;
        ready_.push_back(&promise);
    }
}

void Instance::forget(PromiseBase& promise) {
    std::replace(ready_.begin(), ready_.end(), &promise, static_cast<PromiseBase*>(nullptr));
}

bool Instance::add_wait(Wait& wait, PromiseBase& promise) {
    if (shield_above(&promise) == nullptr) {
        for (PromiseBase* above = &promise; above != nullptr; above = above->parent) {
            if (std::exchange(above->cancel_pending, false)) {
                wait.cancelled = true;
                return false;
            }
        }
    }
    wait.promise = &promise;
    promise.waiting = &wait;
    wait.previous = nullptr;
    wait.next = waits_;
    if (waits_ != nullptr) {
        waits_->previous = &wait;
    }
    waits_ = &wait;
    return true;
}

void Instance::remove_wait(Wait& wait) {
    (wait.previous != nullptr ? wait.previous->next : waits_) = wait.next;
    if (wait.next != nullptr) {
        wait.next->previous = wait.previous;
    }
    wait.previous = nullptr;
    wait.next = nullptr;
    wait.promise->waiting = nullptr;
    wait.promise = nullptr;
}

void Instance::run_ready() {
    const InstanceScope scope(this);
    while (ready_head_ < ready_.size() && !stopped_) {
        PromiseBase* const promise = ready_[ready_head_++];
        if (promise == nullptr) {
            continue;
        }
        promise->queued = false;
        running_promise = promise;
        before_resumption();
        promise->self.resume();
        after_resumption();
        running_promise = nullptr;
    }
    if (!stopped_) {
        ready_.clear();
        ready_head_ = 0;
    }
}

void Instance::cancel_waits() {
    std::vector<Wait*> waits;
    for (Wait* wait = waits_; wait != nullptr; wait = wait->next) {
        waits.push_back(wait);
    }
    std::sort(waits.begin(), waits.end(),
              [](const Wait* a, const Wait* b) { return a->order() < b->order(); });
    for (Wait* const wait : waits) {
        if (PromiseBase* const shielded = shield_above(wait->promise)) {
            shielded->cancel_pending = true;
        } else {
            wait->cancel();
        }
    }
}

void Instance::forget_calls() {
    for (CallState* call = calls_; call != nullptr; call = call->next_call) {
        call->instance = nullptr;
    }
    calls_ = nullptr;
}

}  // namespace belay::detail
