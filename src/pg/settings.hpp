// Server settings of belay. What changes rules is a hub option, never one of these.
#pragma once

#include "pg/pg.hpp"

namespace belay::pg {

struct Settings {
    bool async_leases;
    int counter_slots;
    int cursor_slots;
    bool dense_epochs;  // of tests
    int duty_timeout_ms;
    int intent_age_ms;
    int lease_slots;
    bool logical_events;
    int max_workers;
    char* node_addresses;  // of Citus' nodes, as clients see them
    bool notify;
    char* now;                  // of tests: read it with pg::transaction_now
    char* reason;               // of an operator's call, for its event
    int reconcile_interval_ms;  // 0: no background maintenance
    int stat_slots;
    int worker_cache_kb;
};

extern constinit Settings settings;

extern "C" bool belay_check_reason(char** value, void** extra, GucSource source);

// Defines every belay.* setting and reserves the prefix. Called once, from _PG_init.
void define_settings();

}  // namespace belay::pg
