// Where hubs are that other servers have, and families of hubs: tables hub_places and hub_families
// of schema belay.
#pragma once

#include "pg/pg.hpp"

namespace belay::store {

struct Place {
    const char* host;
    int32 port;
};

// Where the hub of that name is, if it is on another server, also by Citus. As it was last
// committed, or as this transaction has changed it.
std::optional<Place> place_of(const char* hub);

// Raises QB017 for a hub that has a place.
[[noreturn]] void raise_elsewhere(const char* hub);
[[noreturn]] void raise_elsewhere(const char* hub, const Place& place);
[[noreturn]] void raise_unknown_hub(const char* hub);
// Of a hub that is not here any more: raises QB017 on a node of Citus that is not the coordinator,
// which has the hub, or knows.
void raise_if_brought_back(const char* hub);

// Writes a place, or a new one; takes it away. False: there was none. With the rights of the
// extension's owner: the caller has checked who may.
void put_place(const char* hub, const Place& place);
bool remove_place(const char* hub);

// How many hubs the family has; no value if it is not known here.
std::optional<int32> family_size(const char* family);
void put_family(const char* family, int32 hubs);
bool remove_family(const char* family);

}  // namespace belay::store
