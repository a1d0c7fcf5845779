// Random bytes, drawn from the system in portions.
//
// Touches  a pool of the process
// Must not hand out a byte twice, or share the pool with a forked process
#include "pg/random.hpp"

namespace belay::pg {

namespace {

constexpr Size kPool = 512;

// Of this process: nothing fills it before the postmaster has forked.
constinit unsigned char pool[kPool];
constinit Size left = 0;

void draw(void* bytes, Size count) {
    if (!pg_strong_random(bytes, count)) {
        ereport(ERROR,
                (errcode(ERRCODE_INTERNAL_ERROR), errmsg("could not generate random values")));
    }
}

}  // namespace

void fill_random(void* bytes, Size count) {
    if (count > kPool / 4 || (IsPostmasterEnvironment && !IsUnderPostmaster)) {
        draw(bytes, count);
        return;
    }
    if (left < count) {
        left = 0;
        draw(pool, kPool);
        left = kPool;
    }
    left -= count;
    memcpy(bytes, pool + left, count);
    explicit_bzero(pool + left, count);
}

}  // namespace belay::pg
