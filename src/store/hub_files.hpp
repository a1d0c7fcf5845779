// The SQL files that a hub is made of, installed next to the extension.
//
//   hub/steps/NNN_name.sql   tables; each runs once per hub, in order, by create_hub or upgrade_hub
//   hub/objects/*.sql        functions and views, CREATE OR REPLACE; run by every create and
//                            upgrade
//   hub/api/<api>/*.sql      the same, for what differs between apis
//
// In them @hub@ stands for the hub's schema. They run with the caller's rights under a fixed
// search_path.
#pragma once

#include "pg/pg.hpp"
#include "store/hub.hpp"

namespace belay::store {

// Runs the steps with a number above `after`, up to kHubVersion, in order.
void run_hub_steps(const char* hub, int32 after);

// Runs the files of functions and views.
void run_hub_objects(const char* hub, Api api);

// The texts of the files that a hub of this version is made of, in order, with the hub's name
// filled in.
std::span<const char* const> hub_file_texts(const char* hub, Api api);

// Lends body the settings that hub files and grants need: no setting of the caller changes what
// they mean. Citus takes part only if it is to bring the result to all of its nodes. Undone
// afterwards, by the transaction on ERROR.
enum class Reach { kThisNode, kAllNodes };
void pin_settings(Reach reach);
template <typename Body>
void with_pinned_settings(Body body, Reach reach = Reach::kThisNode) {
    static_assert(std::is_trivially_destructible_v<Body>);
    const int level = NewGUCNestLevel();
    pin_settings(reach);
    body();
    AtEOXact_GUC(false, level);
}

}  // namespace belay::store
