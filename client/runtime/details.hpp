// Errors as they are stored, and as the code sees them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "belay/durable/instance.hpp"

namespace belay::detail {

// Throws what an outcome with these details is for the code.
[[noreturn]] void throw_failure(CallKind kind, const std::string& name, const std::string& details);

// Throws what an instance with this output and these details has failed with: Cancelled or Failure.
[[noreturn]] void throw_end(const std::string& output, const std::string& details);

}  // namespace belay::detail

namespace belay::engine {

// What an exception that leaves an orchestration is stored as.
struct EndOfCode {
    std::string details;  // JSON
    std::string output;   // of the instance, for readers
};

EndOfCode end_of_exception(const std::exception_ptr& error);
EndOfCode end_of_cancel(const std::string& reason);
EndOfCode end_of_nondeterminism(const std::string& resource, const std::string& text);
EndOfCode end_of_infrastructure(const std::string& operation, const std::string& message);
// A history or a message that could not be read in so many attempts.
EndOfCode end_of_poison(int attempts, int max_attempts, const std::string& message);
// The same details as in an outcome of a call.
EndOfCode end_of_details(const std::string& details);

// The details of the failure that ends these events; "" if they end otherwise. Throws Corrupt.
std::string details_of_end(const std::vector<std::string>& events);

// Of an activity that has failed.
std::string activity_details(const std::string& message, bool retryable);

// Infrastructure, Configuration and Poison end the instance; the code does not see them.
bool ends_instance(std::string_view details);

}  // namespace belay::engine
