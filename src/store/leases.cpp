#include "store/leases.hpp"

namespace belay::store {

int64 count_live_leases(const Hub&) {
    return 0;
}

}  // namespace belay::store
