// expect: the_text_does_not_use_every_declared_parameter
#include "store/statements.hpp"

namespace belay::store {

constexpr auto kFind = statement<In<int32, Text>, Out<int64>>(R"sql(
    SELECT t.id FROM {hub}.t AS t WHERE t.b {=} $2
)sql");

}  // namespace belay::store
