// Outcomes of handlers.
#include "belay/outcome.hpp"

namespace belay {

// Not in the header: inlined, the move of an optional Json draws a false warning from g++ 12.
Outcome& Outcome::with_failure(TaskFailure failure) {
    failure_ = std::move(failure);
    return *this;
}

Outcome& Outcome::with_suspension(NewSuspension given) {
    suspension_ = std::move(given);
    return *this;
}

}  // namespace belay
