// Parts of turns as the JSON that the provider interface takes.
#pragma once

#include <vector>

#include "belay/provider.hpp"
#include "rows.hpp"

namespace belay {

inline JsonText events_json(const std::vector<NewEvent>& events, const Where& where) {
    Json array = Json::array();
    for (const auto& event : events) {
        Json object = {{"event_id", event.event_id}, {"event_data", event.event_data}};
        put(object, "event_type", event.event_type);
        array.push_back(std::move(object));
    }
    return {dumped(array, where)};
}

inline JsonText activities_json(const std::vector<ActivityKey>& activities, const Where& where) {
    Json array = Json::array();
    for (const auto& [instance, execution_id, activity_id] : activities) {
        array.push_back(
            {{"instance", instance}, {"execution_id", execution_id}, {"activity_id", activity_id}});
    }
    return {dumped(array, where)};
}

inline JsonText strings_json(const std::vector<std::string>& items, const Where& where) {
    return {dumped(Json(items), where)};
}

}  // namespace belay
