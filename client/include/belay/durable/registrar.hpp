// What Runtime and testing::World have in common: the functions of a program are registered with
// typed names.
#pragma once

#include <functional>
#include <string>
#include <type_traits>
#include <utility>

#include "belay/durable/registry.hpp"

namespace belay::detail {

// A is what the function of an activity may ask: belay::Task or testing::Activity.
template <class A>
class Registrar {
 public:
    template <class O, class R, class... I>
    requires Implements<R, O>
    void on(const OrchestrationOf<O(I...)>& name, Durable<R> (*code)(Context, I...),
            OrchestrationOptions options = {}) {
        registry().on(name, code, std::move(options));
    }

    // The function of an activity: O(I) or O(Activity&, I), or without the input if the name has
    // none. It is called as a const object, by several threads at once if a Runtime calls it. A
    // Failure that it throws fails the activity; another exception is tried again, as a Worker
    // does.
    template <class O, class... I, class F>
    requires(std::is_invocable_v<const F&, I...> ||
             std::is_invocable_v<const F&, A&, I...>) void on(const ActivityOf<O(I...)>& name,
                                                              F function) {
        check_result<O, F, I...>();
        on_activity(name.name,
                    [function = std::move(function)](A& activity, const std::string& input) {
                        const auto run = [&](I... decoded) -> O {
                            if constexpr (std::is_invocable_v<const F&, A&, I...>) {
                                return static_cast<O>(function(activity, std::move(decoded)...));
                            } else {
                                static_cast<void>(activity);
                                return static_cast<O>(function(std::move(decoded)...));
                            }
                        };
                        static_cast<void>(input);  // if there is nothing to decode
                        if constexpr (std::is_void_v<O>) {
                            run(decode<I>(input, "input of the activity")...);
                            return std::string();
                        } else {
                            return encode<O>(run(decode<I>(input, "input of the activity")...));
                        }
                    });
    }

    // An activity without types: input and result are the stored text.
    using Function = std::function<std::string(A&, const std::string& input)>;
    virtual void on_activity(std::string name, Function function) = 0;

 protected:
    ~Registrar() = default;

    template <class O, class F, class... I>
    static constexpr void check_result() {
        if constexpr (std::is_invocable_v<const F&, A&, I...>) {
            check_convertible<O, std::invoke_result_t<const F&, A&, I...>>();
        } else {
            check_convertible<O, std::invoke_result_t<const F&, I...>>();
        }
    }
    template <class O, class R>
    static constexpr void check_convertible() {
        static_assert(std::is_void_v<O> || std::is_convertible_v<R, O>,
                      "the function of an activity returns what its name says: "
                      "ActivityOf<Out(In)>");
    }

    virtual Registry& registry() = 0;
};

}  // namespace belay::detail
