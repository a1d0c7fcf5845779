// Statements with the rights of a hub's owner.
#pragma once

#include "belay/connection.hpp"

namespace belay {

// Runs a statement through belay.run_as_owner, which takes text: the server makes literals of the
// parameters. The rows are as those of the statement itself.
Result call_as_owner(Connection& connection, const std::string& hub, Effect effect,
                     std::string_view sql, const Params& params, const Where& where);

// The statement as a template of PostgreSQL's format(): $2 becomes %2$L and its type.
std::string owner_template(std::string_view sql, const Params& params);

}  // namespace belay
