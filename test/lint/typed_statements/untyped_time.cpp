// expect: needs the type of its parameter
#include "store/statements.hpp"

namespace belay::store {

constexpr auto kOld = statement<In<Ms>, Out<int64>>(R"sql(
    SELECT t.id FROM {hub}.t AS t WHERE t.at {<} $1
)sql");

uint64 use(const Hub& hub, int64 now) {
    return run(hub, kOld, now).count;
}

}  // namespace belay::store
