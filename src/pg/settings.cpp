#include "pg/settings.hpp"

#include "pg/pg.hpp"

namespace belay::pg {

constinit Settings settings{};

void define_settings() {
    // Sorted by name; each is described in docs/operations.md.
    DefineCustomBoolVariable(
        "belay.async_leases",
        "Lets a fetch or renewal that is alone in its transaction commit without waiting for disk.",
        "A lease lost in a crash only means that the item is delivered again.",
        &settings.async_leases, false, PGC_USERSET, 0, nullptr, nullptr, nullptr);
    MarkGUCPrefixReserved("belay");
}

}  // namespace belay::pg
