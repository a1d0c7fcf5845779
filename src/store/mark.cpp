// The mark that distinguishes one place of a hub from its copies.
//
// May touch: the server's identity and catalog. Must not: read the hub's row; hub.cpp does.
#include "store/mark.hpp"

namespace belay::store {

Mark current_mark(Oid schema) {
    return {.system_id = GetSystemIdentifier(),
            .timeline = GetWALInsertionTimeLine(),
            .database = MyDatabaseId,
            .schema = schema,
            .unused = 0};
}

bool is_current(const Mark& mark, Oid schema) {
    return mark == current_mark(schema);
}

const char* print_mark(const Mark& mark) {
    return psprintf(UINT64_FORMAT "/%u/%u/%u", mark.system_id, mark.timeline, mark.database,
                    mark.schema);
}

std::optional<Mark> parse_mark(const char* text) {
    uint64 parts[4];
    for (int i = 0; i < 4; ++i) {
        if (*text < '0' || *text > '9') {
            return std::nullopt;
        }
        char* end = nullptr;
        errno = 0;
        parts[i] = strtou64(text, &end, 10);
        if (errno != 0 || *end != (i < 3 ? '/' : '\0') || (i > 0 && parts[i] > PG_UINT32_MAX)) {
            return std::nullopt;
        }
        text = end + 1;
    }
    return Mark{.system_id = parts[0],
                .timeline = static_cast<uint32>(parts[1]),
                .database = static_cast<Oid>(parts[2]),
                .schema = static_cast<Oid>(parts[3]),
                .unused = 0};
}

Oid mark_type() {
    const Oid schema = get_namespace_oid("belay", true);
    if (!OidIsValid(schema)) {
        return InvalidOid;
    }
    return GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid, CStringGetDatum("hub_mark"),
                           ObjectIdGetDatum(schema));
}

}  // namespace belay::store
