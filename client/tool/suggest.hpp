// Which command was perhaps meant.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

namespace belay::tool {

// How many letters have to be changed, added, left out or swapped with their neighbour to make one
// word of the other.
std::size_t distance(std::string_view a, std::string_view b);

// The names that are near to a word, nearest first; at most three.
std::vector<std::string> near_names(std::string_view word, const std::vector<std::string>& names);

// A word of a command line in the place of a command, and what was perhaps meant.
struct UnknownCommand {
    std::string word;
    std::string group;  // that should have it; "" for the program itself
    std::vector<std::string> near;
};

// The first word of the command line that is no command though it should be one; none if that is
// not what is wrong with it.
std::optional<UnknownCommand> unknown_command(const CLI::App& app, int argc,
                                              const char* const* argv);

}  // namespace belay::tool
