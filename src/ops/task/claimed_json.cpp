// claimed_json.cpp — what a claim returns of a task besides its row: the results of the
// tasks before it, and the signals of the suspension that its attempt has left.
//
// Calls    store::upstream_of_claim, store::suspensions_left_last, read_signal_texts
// Touches  nothing; reads the results of tasks before it, <hub>.suspensions, <hub>.signals
// Locks    nothing
// Raises   nothing itself
#include "ops/task/claimed_json.hpp"

#include <algorithm>

#include "ops/suspension/suspension.hpp"
#include "pg/datum.hpp"
#include "pg/list.hpp"
#include "store/flow_reads.hpp"
#include "store/suspensions.hpp"

namespace belay::ops {

namespace {

// What is returned for one claimed task at most, of what is left of the whole claim.
int64 share_of(int64 left_of_claim) {
    return std::min(kMostOfOne, left_of_claim);
}

// A column of the answer: a jsonb for each claimed task, 0 for none.
struct ClaimedJson {
    std::span<const store::ClaimedTask> tasks;
    Datum* values;

    explicit ClaimedJson(std::span<const store::ClaimedTask> claimed)
        : tasks(claimed),
          values(static_cast<Datum*>(palloc0(sizeof(Datum) * (claimed.size() + 1)))) {}
    void set(const pg_uuid_t& id, StringInfo text) {
        for (std::size_t i = 0; i < tasks.size(); ++i) {
            if (memcmp(tasks[i].id.data, id.data, UUID_LEN) == 0) {
                values[i] = pg::jsonb_datum({text->data, static_cast<std::size_t>(text->len)});
            }
        }
    }
};

void append_optional(StringInfo out, std::optional<std::string_view> text) {
    if (text) {
        append_json(out, *text);
    } else {
        appendStringInfoString(out, "null");
    }
}

// The task before a member: with its result, as long as something is left for that.
void append_upstream(StringInfo out, const store::UpstreamRows::Row& row, int64* left) {
    const auto& [member, upstream, key, pass_as, state, result] = row;
    appendStringInfo(out, "{\"task_id\":\"%s\",\"key\":", store::uuid_text(upstream));
    append_optional(out, key);
    appendStringInfoString(out, ",\"pass_as\":");
    append_optional(out, pass_as);
    appendStringInfoString(out, ",\"state\":");
    append_json(out, state);
    const int before = out->len;
    appendStringInfoString(out, ",\"result\":");
    if (*left < 0 || !append_within(out, result, left)) {
        *left = -1;  // nor the results behind it
        out->len = before;
        appendStringInfoString(out, ",\"truncated\":true");
    }
    appendStringInfoChar(out, '}');
}

}  // namespace

Datum* upstream_of(store::Tables& tables, std::span<const store::ClaimedTask> claimed,
                   int64* left_of_claim) {
    ClaimedJson column(claimed);
    pg::List<pg_uuid_t> members;
    for (const auto& task : claimed) {
        if (task.flow_id) {
            members.add(task.id);
        }
    }
    const auto found = members.count == 0 ? store::UpstreamRows{}
                                          : store::upstream_of_claim(tables, members.span());
    const auto member_of = [&found](uint64 row) { return std::get<0>(found[row]); };
    for (uint64 i = 0; i < found.count;) {
        const pg_uuid_t member = member_of(i);
        StringInfo out = makeStringInfo();
        const int64 share = share_of(*left_of_claim);
        int64 left = share;
        do {
            appendStringInfoChar(out, out->len == 0 ? '[' : ',');
            append_upstream(out, found[i], &left);
            ++i;
        } while (i < found.count && memcmp(member_of(i).data, member.data, UUID_LEN) == 0);
        appendStringInfoChar(out, ']');
        column.set(member, out);
        *left_of_claim -= share - std::max<int64>(left, 0);
    }
    return column.values;
}

Datum* signals_of(store::Tables& tables, std::span<const store::ClaimedTask> claimed,
                  int64* left_of_claim) {
    ClaimedJson column(claimed);
    pg::List<pg_uuid_t> continued;
    for (const auto& task : claimed) {
        if (!core::begins_attempt(task.life)) {
            continued.add(task.id);
        }
    }
    const auto left_last = continued.count == 0
                               ? store::LeftLastRows{}
                               : store::suspensions_left_last(tables, continued.span());
    for (const auto [task, suspension_nr] : left_last) {
        const int64 share = share_of(*left_of_claim);
        int64 left = share;
        StringInfo out = makeStringInfo();
        append_signals(out, read_signal_texts(tables, task, suspension_nr, &left), std::nullopt);
        column.set(task, out);
        *left_of_claim -= share - left;
    }
    return column.values;
}

}  // namespace belay::ops
