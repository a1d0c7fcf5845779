// state.cpp — what clients read of an instance: custom status and key/value state.
//
// Calls    store::read_custom_status, store::read_value, store::read_values
// Touches  nothing
// Locks    nothing
// Raises   nothing itself
#include "ops/orchestration/orchestration.hpp"
#include "ops/wait/wait_for_work.hpp"
#include "store/kv.hpp"

namespace belay::ops {

std::optional<store::CustomStatus> get_custom_status(store::Tables& tables,
                                                     std::string_view instance_id) {
    const auto status = store::read_custom_status(tables, instance_id);
    remember_custom_status(tables, instance_id,
                           status ? std::optional(status->version) : std::nullopt);
    return status;
}

std::optional<std::string_view> get_kv_value(store::Tables& tables, std::string_view instance_id,
                                             std::string_view key) {
    return store::read_value(tables, instance_id, key);
}

store::Listing get_kv_all_values(store::Tables& tables, std::string_view instance_id) {
    return store::read_values(tables, instance_id);
}

}  // namespace belay::ops
