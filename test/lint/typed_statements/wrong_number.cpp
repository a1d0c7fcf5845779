// expect: as many arguments as it has parameters
#include "store/statements.hpp"

namespace belay::store {

constexpr auto kFind = statement<In<int32, Text>, Out<pg_uuid_t, int64>>(R"sql(
    SELECT t.id, t.due FROM {hub}.t AS t WHERE t.a {=} $1 AND t.b {=} $2
)sql");

uint64 use(const Hub& hub) {
    return run(hub, kFind, 1).count;
}

}  // namespace belay::store
