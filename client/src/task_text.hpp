// Tasks as the JSON that the server takes.
#pragma once

#include <string>

#include "belay/hub.hpp"

namespace belay {

// Adds a field whose value is JSON text already to the text of an object that has fields. The text
// stays as it is: numbers that no double can hold come through.
void append_json(std::string& object, const char* key, const OptionalText& text,
                 const Where& where);

// An item of create_tasks.
std::string task_text(const NewTask& task, const Where& where);

}  // namespace belay
