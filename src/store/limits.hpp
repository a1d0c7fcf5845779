// Tables lane_limits and lane_returns.
//
// The row of a limited lane is written by claims alone, which never wait for it. Whoever ends a
// lease gives the place back by inserting a row, so that completions wait neither for claims nor
// for each other; the next claim counts these rows and deletes them. Lanes without limits have
// neither row, and nobody asks: the hub's row lists those that have, or says that they are many.
#pragma once

#include "core/lane_limit.hpp"
#include "pg/pg.hpp"
#include "store/hub.hpp"

namespace belay::store {

// Whether the lane has limits, as far as whoever has entered table tasks must know.
bool is_limited(const Hub& hub, std::string_view lane);

// Holds the limits of a lane if nobody else does.
std::optional<core::LaneLimit> try_lock_limit(const Hub& hub, std::string_view lane);
// Takes so many places and tokens of limits that are held.
void charge_limit(const Hub& hub, std::string_view lane, const core::LaneLimit& limit, int64 taken,
                  int64 now);

// Gives the place of a task of a limited lane back.
void return_place(const Hub& hub, std::string_view lane);

// The limits as the caller's snapshot has them.
std::optional<core::LaneLimit> read_limit(const Hub& hub, std::string_view lane);

// ---- Settings ----

// Holds the limits of a lane, after waiting.
std::optional<core::LaneLimit> lock_limit(const Hub& hub, std::string_view lane);
// Stores the limits; active places are counted if there were none. Table tasks is held against
// writers then.
void insert_limit(const Hub& hub, std::string_view lane, const core::LaneLimit& limit);
void update_limit(const Hub& hub, std::string_view lane, const core::LaneLimit& limit);
void delete_limit(const Hub& hub, std::string_view lane);

}  // namespace belay::store
