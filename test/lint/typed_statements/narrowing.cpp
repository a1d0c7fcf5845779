// expect: needs the type of its parameter
#include "store/statements.hpp"

namespace belay::store {

constexpr auto kFind = statement<In<int32, Text>, Out<pg_uuid_t, int64>>(R"sql(
    SELECT t.id, t.due FROM {hub}.t AS t WHERE t.a {=} $1 AND t.b {=} $2
)sql");

uint64 use(const Hub& hub, int64 wide) {
    return run(hub, kFind, wide, "b").count;
}

}  // namespace belay::store
