// The setting belay.now, checked when it is set and when it is used.
//
// Touches  memory of the setting
// Must not hold for another transaction than the one that has set it
#include "pg/transaction_clock.hpp"

#include <algorithm>
#include <charconv>

#include "core/time.hpp"
#include "pg/compat.hpp"
#include "pg/errors.hpp"

namespace belay::pg {

namespace {

// What the setting keeps beside its text.
struct SetTime {
    int64 ms;
    LocalTransactionId transaction;
};

constinit const SetTime* set_time = nullptr;

bool is_number(std::string_view text) {
    return !text.empty() &&
           std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Digits are milliseconds since 1970, everything else is a timestamptz.
std::optional<int64> parse_time(const char* text) {
    const std::string_view view(text);
    if (is_number(view)) {
        int64 ms = 0;
        const auto [end, error] = std::from_chars(text, text + view.size(), ms);
        return error == std::errc() ? std::optional(ms) : std::nullopt;
    }
    const TimestampTz time = DatumGetTimestampTz(DirectFunctionCall3(
        timestamptz_in, CStringGetDatum(text), ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1)));
    return core::pg_us_to_ms(time);
}

}  // namespace

extern "C" bool belay_check_now(char** value, void** parsed, GucSource source) {
    *parsed = nullptr;
    if (*value == nullptr || **value == '\0') {
        return true;
    }
    if (source != PGC_S_SESSION || !IsTransactionState()) {
        GUC_check_errdetail("\"belay.now\" can only be set inside a transaction.");
        GUC_check_errhint("Use SET LOCAL belay.now.");
        return false;
    }
    const auto ms = parse_time(*value);
    if (!ms || *ms < 0 || *ms > core::kMaxTimestampMs) {
        GUC_check_errdetail("The time is outside the range of timestamps.");
        GUC_check_errhint("Pass a timestamp, or milliseconds since 1970.");
        return false;
    }
    auto* time = static_cast<SetTime*>(allocate_setting(sizeof(SetTime)));
    if (time == nullptr) {
        return false;
    }
    *time = {*ms, local_transaction_id()};
    *parsed = time;
    return true;
}

extern "C" void belay_assign_now(const char* /*value*/, void* parsed) {
    set_time = static_cast<const SetTime*>(parsed);
}

std::optional<int64> transaction_now() {
    if (set_time == nullptr) [[likely]] {
        return std::nullopt;
    }
    if (set_time->transaction != local_transaction_id()) {
        raise_invalid("not_local", "belay.now",
                      "belay.now was set by another transaction and does not apply to this one",
                      "RESET belay.now, then use SET LOCAL belay.now inside the transaction.");
    }
    return set_time->ms;
}

}  // namespace belay::pg
