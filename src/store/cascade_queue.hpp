// Table cascade_queue: what is left to duties. A caller that writes here holds the flow's row.
#pragma once

#include "pg/pg.hpp"
#include "store/hub.hpp"
#include "store/statements.hpp"

namespace belay::store {

enum class Left : int { kDispatch, kSiblingCancel, kFailFast };
inline constexpr std::string_view kLeftNames[] = {"dispatch", "sibling_cancel", "fail_fast"};
constexpr std::string_view name_of(Left what) {
    return kLeftNames[static_cast<int>(what)];
}
template <>
struct Word<Left> {
    static constexpr std::optional<Left> parse(std::string_view word) {
        return core::parse_word<Left>(kLeftNames, word);
    }
};

void leave_to_duty(const Hub& hub, const pg_uuid_t& flow, Left what,
                   std::span<const pg_uuid_t> tasks, int64 now);
void drop_left(const Hub& hub, const pg_uuid_t& flow);

struct LeftOver {
    pg_uuid_t flow;
    pg_uuid_t task;
    Left what;
};
// The oldest of the queue: of dispatch, or of the others.
std::span<const LeftOver> oldest_left(const Hub& hub, bool dispatch, int limit);
void delete_left(const Hub& hub, const LeftOver& left);
// Everything that is left to do about a task.
void delete_left_of_task(const Hub& hub, const pg_uuid_t& task);

}  // namespace belay::store
