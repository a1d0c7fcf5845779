// The row of table belay_hub, and the catalogs that belong to a hub as a whole.
#pragma once

#include "core/levels.hpp"
#include "pg/pg.hpp"
#include "store/hub.hpp"

namespace belay::store {

// Writes the row of a new hub. Inside with_spi, with the caller's rights.
void insert_hub_row(const char* hub, Oid schema, const char* api, bool adopted);

// Holds the hub row against other changes until the transaction ends; waits for it.
void lock_hub_row(const Hub& hub);

// Holds the hub against all calls that change or lock rows until the transaction ends: the hub row,
// then every table. Waits for those that have begun.
void lock_whole_hub(const Hub& hub);
// The same against all who look at its tables, too. Calls that then wait for it can hold tables
// that it waits for: it lets go of everything and begins again.
void lock_whole_hub_from_readers(const Hub& hub);

// The hub's place has changed: all sessions look again, and those that wait for work return.
void announce_place(const Hub& hub);

// Sets the version after an upgrade.
void set_hub_version(const Hub& hub, int32 version);

// Sets one key of the options to a text, or removes it.
void set_stored_option(const Hub& hub, const char* name, std::optional<std::string_view> value);

// Notes which queues have limits, for all sessions.
void set_limited_queues(const Hub& hub, std::span<const std::string_view> queues);

// Marks a queue as paused, with a reason, or as running again.
void set_paused(const Hub& hub, std::string_view queue, std::optional<std::string_view> reason);

// Drops the hub: its schema with all that is in it, or only the hub's objects.
void drop_hub_objects(const Hub& hub, bool keep_schema);

// A relation that a hub of the current version has.
struct HubRelation {
    const char* name;
    char kind;                                  // pg_class.relkind
    uint8 levels;                               // bits of core::Level that may read it
    uint8 duroxide_pg_levels = core::kNoLevel;  // in a hub of that api also these

    uint8 levels_in(Api api) const {
        return static_cast<uint8>(api == Api::kDuroxidePg ? levels | duroxide_pg_levels : levels);
    }
};
std::span<const HubRelation> hub_relations(Api api);

}  // namespace belay::store
