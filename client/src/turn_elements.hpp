// Histories and batches, element by element.
#pragma once

#include <string_view>
#include <vector>

#include "belay/dispatcher.hpp"

namespace belay {

// What is stored as text, which need not be JSON.
TurnElement element_of_text(std::string text);

// The elements of a JSON array as the server sends it, each as it is spelt there. A string stands
// for a text that the server could not represent: it is decoded, and what it holds is the element
// if that is JSON. Throws Error if the whole is no array.
std::vector<TurnElement> elements_of_array(std::string_view array);

}  // namespace belay
