// dead_letters.cpp — set items aside that were leased too often, put them back, throw them away.
//
// Calls    store::dead_letter_work, store::take_dead_letter, store::insert_work,
// store::insert_message,
//          store::insert_intent
// Touches  <hub>.dead_letters, <hub>.worker_queue, <hub>.orchestrator_queue, <hub>.intent_queue,
//          <hub>.outbox_events
// Locks    the worker row, then the dead letter; dead letters by id
// Raises   QB002 dead letter not found, QB006 bad filter, QB010 a letter that has no queue, QB016
//          too much to look through; what concerns one letter of a portion stands in the answer
#include <algorithm>

#include "core/work_item.hpp"
#include "ops/audit.hpp"
#include "ops/browse/browse.hpp"
#include "ops/intents/intents.hpp"
#include "ops/own_fault.hpp"
#include "ops/worker_queue/worker_queue.hpp"
#include "pg/errors.hpp"
#include "pg/subtransaction.hpp"
#include "store/dead_letters.hpp"
#include "store/orchestrator_queue.hpp"

namespace belay::ops {

namespace {

// How much of an item that was set aside its completion repeats: the dead letter has all of it.
constexpr std::size_t kMaxName = 1024;
constexpr std::size_t kMaxMessage = 65536;

// The name of the activity, if its text still has it.
std::string_view activity_name(std::string_view work_item) {
    const auto item = core::parse_work_item(work_item, nullptr);
    core::Activity activity;
    if (!item || !core::read_activity(*item, &activity, nullptr) || !activity.name) {
        return "";
    }
    return decode(*activity.name);
}

// The completion that reports to an orchestration that its activity will never run.
const char* poison_completion(const store::DeadWork& dead, int64 max_attempts) {
    StringInfo out = makeStringInfo();
    appendStringInfoString(out, "{\"ActivityFailed\":{\"instance\":");
    append_json(out, *dead.instance_id);
    appendStringInfo(out, ",\"execution_id\":" INT64_FORMAT ",\"id\":" INT64_FORMAT,
                     *dead.execution_id, *dead.activity_id);
    appendStringInfo(out,
                     ",\"details\":{\"Poison\":{\"attempt_count\":%d,\"max_attempts\":" INT64_FORMAT
                     ",\"message_type\":{\"Activity\":{\"instance\":",
                     dead.attempt, max_attempts);
    append_json(out, *dead.instance_id);
    appendStringInfo(out,
                     ",\"execution_id\":" INT64_FORMAT ",\"activity_name\":", *dead.execution_id);
    append_json(out, clip(activity_name(dead.work_item), kMaxName));
    appendStringInfo(out, ",\"activity_id\":" INT64_FORMAT "}},\"message\":", *dead.activity_id);
    append_json(out, clip(dead.work_item, kMaxMessage));
    appendStringInfoString(out, "}}}}");
    return out->data;
}

// Puts a dead letter back into its queue; returns the new id.
int64 put_back(store::Tables& tables, const store::DeadLetter& dead, int64 now) {
    if (dead.queue == "worker") {
        return store::insert_work(tables, {.work_item = dead.work_item,
                                           .visible_at = now,
                                           .delayed = false,
                                           .created_at = now,
                                           .instance_id = dead.instance_id,
                                           .execution_id = dead.execution_id,
                                           .activity_id = dead.activity_id,
                                           .session_id = dead.session_id,
                                           .tag = dead.tag});
    }
    if (dead.queue == "intent") {
        return store::insert_intent(
            tables, intent_of_detail(dead.id, dead.source_id, dead.work_item, dead.instance_id,
                                     dead.detail));
    }
    if (dead.queue != "orchestrator" || !dead.instance_id) {
        pg::raise(pg::kNotEligible,
                  psprintf("dead letter " INT64_FORMAT " cannot be put back", dead.id),
                  pg::Facts("no_queue").add("id", dead.id).add("queue", dead.queue),
                  "Discard it: its queue is unknown, or it names no instance.");
    }
    const auto item = core::parse_work_item(dead.work_item, nullptr);
    return store::insert_message(tables, {.instance_id = *dead.instance_id,
                                          .work_item = dead.work_item,
                                          .kind = item ? item->kind : core::ItemKind::kOther,
                                          .visible_at = now,
                                          .created_at = now});
}

[[noreturn]] void raise_missing(int64 id) {
    pg::raise(pg::kNotFound, psprintf("dead letter " INT64_FORMAT " does not exist", id),
              pg::Facts("unknown_dead_letter").add("id", id),
              "Check the id; list_dead_letters shows the dead letters that are left.");
}

void emit_one(store::Tables& tables, int event, const store::DeadLetter& dead) {
    emit_operator_event(tables, {.event = event,
                                 .subject = psprintf(INT64_FORMAT, dead.id),
                                 .details = store::Details()
                                                .add("count", int64{1})
                                                .add("queue", dead.queue)
                                                .add("instance_id", dead.instance_id)});
}

void emit_many(store::Tables& tables, int event, const Tally& tally,
               const BulkArguments& arguments) {
    if (tally.done > 0) {
        emit_operator_event(
            tables, {.event = event,
                     .subject = std::nullopt,
                     .details = store::Details()
                                    .add("count", tally.done)
                                    .add_json("filter",
                                              checked_object("p_filter", arguments.filter).text)});
    }
}

// Puts one letter of a portion back, unless it is gone or another transaction holds it; if it
// cannot be put back it stays where it is.
void put_back_one(store::Tables& tables, int64 id, Tally* tally) {
    const auto end = pg::try_in_subtransaction([&tables, id] {
        return store::with_tables(tables.hub, [id](store::Tables& own) {
            const auto dead = store::take_dead_letters(own, {&id, 1});
            if (!dead.empty()) {
                (void)put_back(own, dead[0], pg::server_now_ms());
            }
            return !dead.empty();
        });
    });
    if (end.error == nullptr) {
        ++(end.kept ? tally->done : tally->skipped);
        return;
    }
    if (!is_its_own_fault(end.error)) {
        ReThrowError(end.error);
    }
    tally->add_failure(psprintf(INT64_FORMAT, id), end.error->sqlerrcode,
                       code_detail_of(end.error));
}

}  // namespace

void dead_letter_work_item(store::Tables& tables, const store::WorkKey& key, int32 attempts,
                           int64 now) {
    const store::DeadWork dead = store::dead_letter_work(tables, key, attempts, now);
    if (tables.hub.options[store::Option::kDeadLetterFailsActivity] == 1 && dead.instance_id &&
        dead.execution_id && dead.activity_id) {
        (void)store::insert_message(
            tables,
            {.instance_id = *dead.instance_id,
             .work_item = poison_completion(dead, tables.hub.options[store::Option::kMaxAttempts]),
             .kind = core::ItemKind::kActivityFailed,
             .visible_at = now,
             .created_at = now});
    }
}

store::Listing list_dead_letters(store::Tables& tables, std::optional<std::string_view> queue,
                                 std::optional<std::string_view> reason,
                                 std::optional<std::string_view> instance_id, int64 after,
                                 int limit) {
    const auto list = store::list_dead(tables, queue, reason, instance_id, after, limit);
    if (!list.whole) {
        raise_long_search("list_dead_letters", "browse_dead_letters");
    }
    return list.rows;
}

int64 redrive_dead_letter(store::Tables& tables, int64 id) {
    auto clock = pg::start_clock(std::nullopt, 0);
    enter(tables, {.worker_queue = true, .orchestrator_queue = true, .intents = true}, &clock);
    const auto dead = store::take_dead_letter(tables, id);
    if (!dead) {
        raise_missing(id);
    }
    const int64 put = put_back(tables, *dead, pg::server_now_ms());
    constexpr int kRedriven = core::event_place("operator", "dead_letters_redriven");
    emit_one(tables, kRedriven, *dead);
    return put;
}

Jsonb* redrive_dead_letters(store::Tables& tables, const BulkArguments& arguments) {
    BulkArguments oldest_first = arguments;
    oldest_first.order = arguments.order.value_or("oldest");
    const auto chosen = choose_dead_letters(tables, "redrive_dead_letters", oldest_first);
    auto clock = pg::start_clock(std::nullopt, 0);
    enter(tables, {.worker_queue = true, .orchestrator_queue = true, .intents = true}, &clock);
    Tally tally;
    std::sort(chosen.ids.begin(), chosen.ids.end());
    for (const int64 id : chosen.ids) {
        put_back_one(tables, id, &tally);
        CHECK_FOR_INTERRUPTS();
    }
    constexpr int kRedriven = core::event_place("operator", "dead_letters_redriven");
    emit_many(tables, kRedriven, tally, arguments);
    return tally.answer(chosen.next);
}

void discard_dead_letter(store::Tables& tables, int64 id) {
    const auto dead = store::take_dead_letter(tables, id);
    if (!dead) {
        raise_missing(id);
    }
    constexpr int kDiscarded = core::event_place("operator", "dead_letters_discarded");
    emit_one(tables, kDiscarded, *dead);
}

Jsonb* discard_dead_letters(store::Tables& tables, const BulkArguments& arguments) {
    const auto chosen = choose_dead_letters(tables, "discard_dead_letters", arguments);
    Tally tally;
    tally.done = static_cast<int64>(store::take_dead_letters(tables, chosen.ids.span()).size());
    tally.skipped = chosen.ids.count - tally.done;
    constexpr int kDiscarded = core::event_place("operator", "dead_letters_discarded");
    emit_many(tables, kDiscarded, tally, arguments);
    return tally.answer(chosen.next);
}

}  // namespace belay::ops
