// The type belay.hub_mark: its input and output.
//
// Touches  its argument and its answer
// Must not compare a mark with where the server is now: dumps contain marks of other places
#include "pg/boundary.hpp"
#include "store/hub.hpp"

namespace {

using belay::store::Mark;

Datum mark_datum(const Mark& mark) {
    auto* result = static_cast<Mark*>(palloc(sizeof(Mark)));
    *result = mark;
    return PointerGetDatum(result);
}

}  // namespace

BELAY_FUNCTION(belay_hub_mark_in) {
    const char* text = PG_GETARG_CSTRING(0);
    const auto mark = belay::store::parse_mark(text);
    if (!mark) {
        ereport(ERROR,
                (errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
                 errmsg("invalid input syntax for type %s: \"%s\"", "belay.hub_mark", text)));
    }
    return mark_datum(*mark);
}

BELAY_FUNCTION(belay_hub_mark_out) {
    const auto* mark = reinterpret_cast<const Mark*>(PG_GETARG_POINTER(0));
    PG_RETURN_CSTRING(pstrdup(belay::store::print_mark(*mark)));
}

BELAY_FUNCTION(belay_hub_mark_recv) {
    StringInfo buffer = reinterpret_cast<StringInfo>(PG_GETARG_POINTER(0));
    Mark mark{};
    mark.system_id = static_cast<uint64>(pq_getmsgint64(buffer));
    mark.timeline = pq_getmsgint(buffer, 4);
    mark.database = pq_getmsgint(buffer, 4);
    mark.schema = pq_getmsgint(buffer, 4);
    return mark_datum(mark);
}

BELAY_FUNCTION(belay_hub_mark_send) {
    const auto* mark = reinterpret_cast<const Mark*>(PG_GETARG_POINTER(0));
    StringInfoData buffer;
    pq_begintypsend(&buffer);
    pq_sendint64(&buffer, mark->system_id);
    pq_sendint32(&buffer, mark->timeline);
    pq_sendint32(&buffer, mark->database);
    pq_sendint32(&buffer, mark->schema);
    PG_RETURN_BYTEA_P(pq_endtypsend(&buffer));
}
