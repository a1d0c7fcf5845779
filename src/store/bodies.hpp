// One body of one thing: payloads, results, events, items.
//
// Touches  nothing: declarations only
#pragma once

#include "pg/pg.hpp"
#include "store/hub.hpp"
#include "store/statements.hpp"

namespace belay::store {

// A text or a document; one of them at most, none if there is no such thing or it is NULL.
using BodyRows = Out<Maybe<Text>, Jsonb*>;

// payload, result, checkpoint, tags, policy, failure_message, failure_details, progress_message.
BodyRows task_body(const Hub& hub, const pg_uuid_t& id, std::string_view field);
// input, output, custom_status of the present execution.
BodyRows instance_body(const Hub& hub, std::string_view instance_id, std::string_view field);
// The data of an event of a history.
BodyRows history_body(const Hub& hub, std::string_view instance_id, int64 execution_id,
                      int64 event_id);
// The details of an event of the outbox.
BodyRows event_body(const Hub& hub, int32 incarnation, int64 position);
// work_item, detail.
BodyRows dead_letter_body(const Hub& hub, int64 id, std::string_view field);
// work_item, last_error.
BodyRows work_item_body(const Hub& hub, int64 id, std::string_view field);

}  // namespace belay::store
