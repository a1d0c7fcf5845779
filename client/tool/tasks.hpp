// What the commands about instances and those about tasks share: an id may name either.
#pragma once

#include "tool.hpp"

namespace belay::tool {

// The ID of a command that is for instances and for tasks.
struct Target {
    std::string id;
    bool is_task = false;      // --task was given
    bool is_instance = false;  // --instance was given
};

// Declares ID, --task and --instance.
void add_target(CLI::App* command, const std::shared_ptr<Target>& target);

// Whether a task is meant: as was said, else if there is a task of this id. Throws UsageError if
// there is also an instance of it.
bool means_task(Tool& tool, const Target& target);

void show_task(Tool& tool, const std::string& id);
void explain_task(Tool& tool, const std::string& id);
void cancel_task(Tool& tool, const std::string& id, const std::string& reason);

}  // namespace belay::tool
