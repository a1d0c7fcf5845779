// signals.cpp — the signals of a suspension: as much as an answer carries, and the list of all.
//
// Calls    store::read_signals, store::list_signals
// Touches  nothing
// Locks    nothing
// Raises   nothing itself
// Races    none: it only reads, what a claim reads belongs to a task that the claim holds
// Faults   none: it only reads
#include "ops/suspension/suspension.hpp"

namespace belay::ops {

namespace {

constexpr int kPage = 100;

void append_member(StringInfo out, const char* name, std::optional<std::string_view> text) {
    appendStringInfoString(out, name);
    if (text) {
        append_json(out, *text);
    } else {
        appendStringInfoString(out, "null");
    }
}

// Appends a signal as an object; false if it does not fit into what is left.
bool append_signal(StringInfo out, const store::SignalRows::Row& row, int64* left) {
    const auto& [nr, signal_id, waitpoint, key, name, source, payload, accepted_at] = row;
    const int before = out->len;
    append_member(out, "{\"signal_id\":", signal_id);
    appendStringInfo(out, ",\"waitpoint_id\":%s",
                     waitpoint ? psprintf("\"%s\"", store::uuid_text(*waitpoint)) : "null");
    append_member(out, ",\"key\":", key);
    append_member(out, ",\"name\":", name);
    append_member(out, ",\"source\":", source);
    appendStringInfo(out, ",\"accepted_at_ms\":" INT64_FORMAT ",\"payload\":", accepted_at);
    int64 rest = *left - (out->len - before);
    if (rest > 0 && append_within(out, payload, &rest)) {
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

SignalTexts read_signal_texts(store::Tables& tables, const pg_uuid_t& task, int32 suspension_nr,
                              int64* left) {
    SignalTexts found{};
    int64 after = 0;
    while (true) {
        const auto page = store::read_signals(tables, task, suspension_nr, after, kPage);
        for (const auto& row : page) {
            StringInfo text = makeStringInfo();
            if (!append_signal(text, row, left)) {
                found.cut_after = after;
                return found;
            }
            const auto& [nr, signal_id, waitpoint, key, name, source, payload, accepted_at] = row;
            found.all.add({waitpoint, text->data});
            after = nr;
        }
        const bool last = page.count < static_cast<uint64>(kPage);
        page.release();
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

store::Listing list_signals(store::Tables& tables, const pg_uuid_t& task, int64 after, int limit) {
    return store::list_signals(tables, task, after, limit);
}

}  // namespace belay::ops
