// New tasks as the JSON that create_tasks, flows and schedules take.
#pragma once

#include "belay/tasks.hpp"

namespace belay {

Json task_json(const NewTask& task);

}  // namespace belay
