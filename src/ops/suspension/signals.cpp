// signals.cpp — the signals of a suspension: as much as an answer carries, and the list of all.
//
// Calls    store::read_signals, store::list_signals
// Touches  nothing
// Locks    nothing
// Raises   nothing of its own
// Races    none: it only reads, what a claim reads belongs to a task that the claim holds
// Faults   none: it only reads
#include "ops/suspension/suspension.hpp"

namespace belay::ops {

namespace {

constexpr int kPage = 100;

// The columns of store::read_signals.
enum Column { kNr = 1, kSignalId, kWaitpoint, kKey, kName, kSource, kPayload, kAcceptedAt };

void append_member(StringInfo out, const char* name, const store::Rows& rows, uint64 row,
                   Column column) {
    appendStringInfoString(out, name);
    if (const auto text = rows.optional_text(row, column)) {
        append_json(out, *text);
    } else {
        appendStringInfoString(out, "null");
    }
}

// Appends a signal as an object; false if it does not fit into what is left.
bool append_signal(StringInfo out, const store::Rows& rows, uint64 row, int64* left) {
    const int before = out->len;
    append_member(out, "{\"signal_id\":", rows, row, kSignalId);
    const auto waitpoint = rows.optional_uuid(row, kWaitpoint);
    appendStringInfo(out, ",\"waitpoint_id\":%s",
                     waitpoint ? psprintf("\"%s\"", store::uuid_text(*waitpoint)) : "null");
    append_member(out, ",\"key\":", rows, row, kKey);
    append_member(out, ",\"name\":", rows, row, kName);
    append_member(out, ",\"source\":", rows, row, kSource);
    appendStringInfo(
        out, ",\"accepted_at_ms\":" INT64_FORMAT ",\"payload\":", rows.int8(row, kAcceptedAt));
    int64 rest = *left - (out->len - before);
    if (rest > 0 && append_within(out, rows, row, kPayload, &rest)) {
        appendStringInfoChar(out, '}');
        *left = rest;
        return true;
    }
    out->len = before;
    out->data[before] = '\0';
    *left = 0;
    return false;
}

}  // namespace

SignalTexts read_signal_texts(const store::Hub& hub, const pg_uuid_t& task, int32 suspension_nr,
                              int64* left) {
    SignalTexts found{};
    int64 after = 0;
    while (true) {
        const store::Rows rows = store::read_signals(hub, task, suspension_nr, after, kPage);
        for (uint64 i = 0; i < rows.count; ++i) {
            StringInfo text = makeStringInfo();
            if (!append_signal(text, rows, i, left)) {
                found.cut_after = after;
                return found;
            }
            found.all.add({rows.optional_uuid(i, kWaitpoint), text->data});
            after = rows.int8(i, kNr);
        }
        const bool last = rows.count < static_cast<uint64>(kPage);
        rows.release();
        if (last) {
            return found;
        }
        CHECK_FOR_INTERRUPTS();
    }
}

void append_signals(StringInfo out, const SignalTexts& signals,
                    const std::optional<pg_uuid_t>& waitpoint) {
    appendStringInfoChar(out, '[');
    const int begin = out->len;
    const auto add = [out, begin](const char* text) {
        if (out->len > begin) {
            appendStringInfoChar(out, ',');
        }
        appendStringInfoString(out, text);
    };
    for (const auto& signal : signals.all) {
        if (!waitpoint ||
            (signal.waitpoint && memcmp(signal.waitpoint->data, waitpoint->data, UUID_LEN) == 0)) {
            add(signal.text);
        }
    }
    if (signals.cut_after) {
        add(psprintf("{\"truncated\":true,\"after\":" INT64_FORMAT "}", *signals.cut_after));
    }
    appendStringInfoChar(out, ']');
}

store::Rows list_signals(const store::Hub& hub, const pg_uuid_t& task, int64 after, int limit) {
    return store::list_signals(hub, task, after, limit);
}

}  // namespace belay::ops
