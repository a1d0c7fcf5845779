// The server's clock, and the clock of a call.
//
// Touches  the system's clocks
// Must not choose a time: what counts is p_now_ms, then belay.now, then the server's clock
#include "pg/clock.hpp"

#include "core/time.hpp"
#include "pg/errors.hpp"
#include "pg/transaction_clock.hpp"

namespace belay::pg {

int64 server_now_ms() {
    return core::pg_us_to_ms(GetCurrentTimestamp());
}

int64 monotonic_ms() {
    instr_time now;
    INSTR_TIME_SET_CURRENT(now);
    return static_cast<int64>(INSTR_TIME_GET_MILLISEC(now));
}

int64 Clock::now() const {
    if (from_server) {
        return server_now_ms();
    }
    return waited ? core::add_ms(entry_ms, server_now_ms() - server_entry_ms) : entry_ms;
}

Clock start_clock(std::optional<int64> p_now_ms, int64 max_skew_ms) {
    const int64 server = server_now_ms();
    if (!p_now_ms) {
        p_now_ms = transaction_now();
    }
    if (!p_now_ms) {
        return {
            .from_server = true, .waited = false, .entry_ms = server, .server_entry_ms = server};
    }
    const int64 now = *p_now_ms;
    if (now < 0 || now > core::kMaxTimestampMs) {
        raise(kInvalidArgument, "p_now_ms is outside the range of timestamps",
              Facts("out_of_range").add("path", "p_now_ms").add("value", now),
              "Pass milliseconds since the Unix epoch, or NULL for the server's clock.");
    }
    const Clock clock{
        .from_server = false, .waited = false, .entry_ms = now, .server_entry_ms = server};
    check_skew(clock, max_skew_ms);
    return clock;
}

void check_skew(const Clock& clock, int64 max_skew_ms) {
    const int64 now = clock.entry_ms;
    const int64 server = clock.server_entry_ms;
    const int64 distance = now > server ? now - server : server - now;
    if (!clock.from_server && max_skew_ms > 0 && distance > max_skew_ms) {
        raise(kClockSkew, "the caller's clock is too far from the server's",
              Facts("clock_skew")
                  .add("p_now_ms", now)
                  .add("server_ms", server)
                  .add("max_clock_skew_ms", max_skew_ms),
              "Correct the caller's clock, or pass NULL (RESET belay.now) to use the server's. The "
              "hub option max_clock_skew sets the limit.");
    }
}

}  // namespace belay::pg
