// An overview of a hub in one call, who has leases, and a search.
#pragma once

#include "pg/pg.hpp"
#include "store/glance.hpp"
#include "store/table/tables.hpp"

namespace belay::ops {

// The most rows that a count of glance and list_queues looks at; QB006 unless from 100 to 100,000.
int64 checked_cap(std::optional<int32> value);

Jsonb* glance(store::Tables& tables, int64 cap);
store::TaskQueueRows list_queues(store::Tables& tables, int64 cap);
Jsonb* list_owners(store::Tables& tables, std::optional<std::string_view> after,
                   std::optional<int32> limit, std::optional<int32> scan);
store::Listing find(store::Tables& tables, std::string_view text);

}  // namespace belay::ops
