// expect: names (were )?provided|structured binding
#include "store/statements.hpp"

namespace belay::store {

constexpr auto kFind = statement<In<int32, Text>, Out<pg_uuid_t, int64>>(R"sql(
    SELECT t.id, t.due FROM {hub}.t AS t WHERE t.a {=} $1 AND t.b {=} $2
)sql");

int64 use(const Hub& hub) {
    int64 sum = 0;
    for (const auto [id, due, more] : run(hub, kFind, 1, "b")) {
        sum += due + more;
    }
    return sum;
}

}  // namespace belay::store
