#include "pg/scopes.hpp"

namespace belay::pg {

namespace {

constinit bool read_only_call = false;

}  // namespace

void set_read_only(bool read_only) {
    read_only_call = read_only;
}

bool is_read_only() {
    return read_only_call;
}

}  // namespace belay::pg
