// state.cpp — what clients read of an instance: custom status and key/value state.
//
// Calls    store::read_custom_status, store::read_value, store::read_values
// Touches  nothing
// Locks    nothing
// Raises   nothing of its own
#include "ops/orchestration/orchestration.hpp"
#include "ops/wait/wait_for_work.hpp"
#include "store/kv.hpp"

namespace belay::ops {

std::optional<store::CustomStatus> get_custom_status(const store::Hub& hub,
                                                     std::string_view instance_id) {
    const auto status = store::read_custom_status(hub, instance_id);
    if (status) {
        remember_custom_status(hub, instance_id, status->version);
    }
    return status;
}

std::optional<std::string_view> get_kv_value(const store::Hub& hub, std::string_view instance_id,
                                             std::string_view key) {
    const store::Rows rows = store::read_value(hub, instance_id, key);
    return rows.count == 0 ? std::nullopt : rows.optional_text(0, 1);
}

store::Rows get_kv_all_values(const store::Hub& hub, std::string_view instance_id) {
    return store::read_values(hub, instance_id);
}

}  // namespace belay::ops
