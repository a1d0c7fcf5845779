// Names with types: both ends of a call name the same constant, and so agree on its types.
//
//     inline constexpr belay::ActivityOf<Receipt(Order)> charge{"Charge"};
//     inline constexpr belay::OrchestrationOf<std::string(Order)> buy{"Buy", "1.1.0"};
//
// Input and output are types that nlohmann::json converts; either may be void. A name may be
// declared in several translation units: it is text at run time.
#pragma once

namespace belay {

template <class Signature>
struct ActivityOf;

template <class O, class I>
struct ActivityOf<O(I)> {
    using Out = O;
    using In = I;
    const char* name;
};

template <class O>
struct ActivityOf<O()> {
    using Out = O;
    using In = void;
    const char* name;
};

// The version is the one that a registration has. A call or a start without a version takes the
// greatest version that is registered.
template <class Signature>
struct OrchestrationOf;

template <class O, class I>
struct OrchestrationOf<O(I)> {
    using Out = O;
    using In = I;
    const char* name;
    const char* version = "1.0.0";
};

template <class O>
struct OrchestrationOf<O()> {
    using Out = O;
    using In = void;
    const char* name;
    const char* version = "1.0.0";
};

}  // namespace belay
