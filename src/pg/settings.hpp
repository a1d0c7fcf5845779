// Server settings of belay. What changes rules is a hub option, never one of these.
#pragma once

namespace belay::pg {

struct Settings {
    bool async_leases;
    int counter_slots;
    int cursor_slots;
    int duty_timeout_ms;
    bool fast_path;
    int intent_age_ms;
    int lease_slots;
    bool logical_events;
    int max_workers;
    bool notify;
    int reconcile_interval_ms;  // 0: the background worker rests
};

extern constinit Settings settings;

// Defines every belay.* setting and reserves the prefix. Called once, from _PG_init.
void define_settings();

}  // namespace belay::pg
