// The parts of JSON text, each as it is spelt: numbers that no double can hold stay what they are.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "belay/hub.hpp"

namespace belay {

// The elements of an array that the server has sent. Throws Error if it is none.
std::vector<std::string_view> array_parts(std::string_view array);

// The values of an object that the server has sent, by key. Throws Error if it is none.
using ObjectParts = std::map<std::string, std::string_view>;
ObjectParts object_parts(std::string_view object);

// A value as it is spelt; none if it is missing or null.
OptionalText json_part(const ObjectParts& parts, const std::string& key);

// The same of a string, decoded.
OptionalText text_part(const ObjectParts& parts, const std::string& key);

}  // namespace belay
