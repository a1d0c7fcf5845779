// expect: needs the type of its parameter
#include "store/statements.hpp"

namespace belay::store {

constexpr auto kFind = statement<In<int32, Text>, Out<pg_uuid_t, int64>>(R"sql(
    SELECT t.id, t.due FROM {hub}.t AS t WHERE t.a {=} $1 AND t.b {=} $2
)sql");

uint64 use(const Hub& hub, const pg_uuid_t& id) {
    return run(hub, kFind, 1, id).count;
}

}  // namespace belay::store
