// The work of a database's worker: the hubs that are there, and what is due in each.
//
// One transaction per portion of a duty and hub. In a round every duty that is due gets one portion
// in every hub, so the backlog of one hub never keeps another waiting for more than a portion.
#pragma once

#include "pg/pg.hpp"
#include "store/table/tables.hpp"

namespace belay::worker {

// Prepares the lists. Called once, after the connection is made.
void begin_duties();

// Looks which hubs there are. False: the extension is gone. An error is logged, and the hubs known
// before stay.
bool find_hubs();

// The hubs found last.
std::span<const Oid> known_hubs();

// Runs something that is no duty in a transaction of its own; an error is logged once per burst.
// False: it failed.
bool run_alone(const char* what, void (*body)(void*), void* context);

// Runs body in a transaction of its own as the owner of a hub, which is found and settled first. An
// error is logged unless quiet; its text goes to error. False: it failed, or the hub is gone or in
// quarantine.
struct HubFailure {
    char message[256];
};
bool run_for_hub(const char* what, Oid schema, void (*body)(store::Tables& tables, void* context),
                 void* context, HubFailure* failure = nullptr, bool quiet = false);

// Runs one round.
void run_round();

// Milliseconds until the next duty is due; 0 if one is.
int64 until_next_due();

// Makes everything due, as at the start.
void make_all_due();
// Those of one name; not those that have just failed.
void make_due(std::string_view name);

}  // namespace belay::worker
