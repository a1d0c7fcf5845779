// expect: the_text_has_parameters_that_are_not_declared
#include "store/statements.hpp"

namespace belay::store {

constexpr auto kFind = statement<In<int32>, Out<int64>>(R"sql(
    SELECT t.id FROM {hub}.t AS t WHERE t.a {=} $1 AND t.b {=} $2
)sql");

}  // namespace belay::store
