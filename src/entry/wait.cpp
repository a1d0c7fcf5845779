// The procedure that waits: decode, wait, encode. It runs with the caller's rights, outside of SPI.
//
// Must not hold a snapshot, a lock or an open table while it waits
#include "entry/waiting.hpp"

#include "entry/verbs.hpp"
#include "ops/wait/wait_for_work.hpp"
#include "pg/datum.hpp"
#include "pg/errors.hpp"

namespace belay::entry {

void refuse_in_transaction(const Call& call, const char* procedure) {
    const auto* context = reinterpret_cast<CallContext*>(call.fcinfo->context);
    if (context == nullptr || !IsA(context, CallContext) || context->atomic) {
        ereport(ERROR, (errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
                        errmsg("%s cannot run inside a transaction block", procedure),
                        errhint("CALL it by itself: not after BEGIN, and not from a function or a "
                                "SECURITY DEFINER procedure.")));
    }
}

Datum answer_wait(const Call& call, const ops::WaitResult& result) {
    MemoryContext old = MemoryContextSwitchTo(call.result_memory);
    const Datum values[] = {result.queue != nullptr ? CStringGetTextDatum(result.queue) : 0,
                            CStringGetTextDatum(wakeups::reason_name(result.reason))};
    MemoryContextSwitchTo(old);
    const bool nulls[] = {result.queue == nullptr, false};
    return call.one_row(values, nulls);
}

Datum wait_for_work(const Call& call) {
    refuse_in_transaction(call, "wait_for_work");
    const auto timeout = call.int4(1);
    if (!timeout || *timeout < 0) {
        pg::raise(pg::kInvalidArgument, "p_timeout_ms must be at least 0",
                  timeout
                      ? pg::Facts("out_of_range").add("path", "p_timeout_ms").add("value", *timeout)
                      : pg::Facts("null").add("path", "p_timeout_ms"),
                  "Pass a number of milliseconds; 0 looks once.");
    }
    call.prepare_row();
    const auto queues = ops::checked_queues(call.tables, call.texts(0, "p_queues"));
    return answer_wait(call, ops::wait_for_work(call.tables, queues, *timeout));
}

}  // namespace belay::entry
