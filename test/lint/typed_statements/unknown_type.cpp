// expect: SqlType
#include "store/statements.hpp"

namespace belay::store {

constexpr auto kFind = statement<In<const char*>, Out<int64>>(R"sql(
    SELECT t.id FROM {hub}.t AS t WHERE t.b {=} $1
)sql");

}  // namespace belay::store
