// The orchestrations of a program, by name and version.
//
// Thread-safety: filled before it is used; then it is only read.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "belay/durable/context.hpp"

namespace belay {

enum class OnCancel {
    kCooperative,  // every wait throws Cancelled; the code may compensate
    kTerminate,    // the instance ends with the turn, even if the code continues
};

class OrchestrationOptions {
 public:
    OrchestrationOptions& on_cancel(OnCancel on_cancel) {
        on_cancel_ = on_cancel;
        return *this;
    }
    // The code does not support versions of this change below n any more.
    OrchestrationOptions& min_version(std::string change, int n) {
        min_versions_[std::move(change)] = n;
        return *this;
    }
    // The call of Context::version for this change was removed from the code.
    OrchestrationOptions& retired_version(std::string change) {
        retired_versions_.insert(std::move(change));
        return *this;
    }

    OnCancel on_cancel() const { return on_cancel_; }
    const std::map<std::string, int, std::less<>>& min_versions() const { return min_versions_; }
    const std::set<std::string, std::less<>>& retired_versions() const { return retired_versions_; }

 private:
    OnCancel on_cancel_ = OnCancel::kCooperative;
    std::map<std::string, int, std::less<>> min_versions_;
    std::set<std::string, std::less<>> retired_versions_;
};

namespace detail {

// The coroutine of an orchestration, without its type.
class Root {
 public:
    virtual ~Root() = default;
    virtual PromiseBase& promise() = 0;
    virtual std::optional<ContinuedAsNew>& continued() = 0;
    virtual std::string output() = 0;  // throws what the coroutine has thrown
};

template <class T>
class TypedRoot final : public Root {
 public:
    explicit TypedRoot(Durable<T> durable) : durable_(std::move(durable)) {}
    PromiseBase& promise() override { return DurableAccess::promise(durable_); }
    std::optional<ContinuedAsNew>& continued() override {
        return DurableAccess::promise(durable_).continued;
    }
    std::string output() override {
        if constexpr (std::is_void_v<T> || std::is_same_v<T, std::monostate>) {
            DurableAccess::promise(durable_).take();
            return {};
        } else {
            return encode<T>(DurableAccess::promise(durable_).take());
        }
    }

 private:
    Durable<T> durable_;
};

using RootMaker = std::function<std::unique_ptr<Root>(Context, const std::string& input)>;

// Semantic versions, by their rules; texts that are none come before all, in the order of bytes.
bool version_less(std::string_view a, std::string_view b);

struct VersionLess {
    using is_transparent = void;
    bool operator()(std::string_view a, std::string_view b) const { return version_less(a, b); }
};

struct Registered {
    std::string name;
    std::string version;
    RootMaker make;
    OrchestrationOptions options;
};

}  // namespace detail

namespace detail {

// Whether code that returns Durable<R> implements an orchestration with result O. In Durable<void>
// there is no co_return of continue_as_new; std::monostate stands for void there.
template <class R, class O>
concept Implements = std::is_same_v<R, O> ||(std::is_void_v<O>&& std::is_same_v<R, std::monostate>);

}  // namespace detail

class Registry {
 public:
    // Throws std::invalid_argument if the name has this version already.
    template <class O, class I, class R>
    requires detail::Implements<R, O>
    void on(const OrchestrationOf<O(I)>& orchestration, Durable<R> (*code)(Context, I),
            OrchestrationOptions options = {}) {
        add(
            orchestration.name, orchestration.version,
            [code](Context ctx, const std::string& input) -> std::unique_ptr<detail::Root> {
                return std::make_unique<detail::TypedRoot<R>>(
                    code(ctx, detail::decode<I>(input, "input of the orchestration")));
            },
            std::move(options));
    }
    template <class O, class R>
    requires detail::Implements<R, O>
    void on(const OrchestrationOf<O()>& orchestration, Durable<R> (*code)(Context),
            OrchestrationOptions options = {}) {
        add(
            orchestration.name, orchestration.version,
            [code](Context ctx, const std::string&) -> std::unique_ptr<detail::Root> {
                return std::make_unique<detail::TypedRoot<R>>(code(ctx));
            },
            std::move(options));
    }

    // The version, exactly; without one the greatest. Null if there is none.
    const detail::Registered* find(std::string_view name, const OptionalText& version) const;
    std::vector<std::string> names() const;

 private:
    void add(std::string name, std::string version, detail::RootMaker make,
             OrchestrationOptions options);

    using Versions = std::map<std::string, detail::Registered, detail::VersionLess>;
    std::map<std::string, Versions, std::less<>> names_;
};

}  // namespace belay
