// The number of prepared transactions with something to say, and per database the number at which
// none was open. Touches belay's shared memory only; a spinlock guards each place.
#include "shmem/prepared_marks.hpp"

#include <algorithm>

#include "shmem/shared_memory.hpp"

namespace belay::prepared_marks {

namespace {

constexpr int kDatabases = 64;

// The mark of the last look in a database; databases of the same remainder share a place.
struct Look {
    slock_t lock;
    Oid database;
    uint64 mark;
};

struct Shared {
    pg_atomic_uint64 prepares;
    Look looks[kDatabases];
};

constinit Shared* shared = nullptr;

Size mark_bytes() {
    return sizeof(Shared);
}

void init_marks(void* piece) {
    shared = static_cast<Shared*>(piece);
    memset(shared, 0, sizeof(Shared));
    pg_atomic_init_u64(&shared->prepares, 1);
    for (Look& look : shared->looks) {
        SpinLockInit(&look.lock);
    }
}

void use_marks(void* piece) {
    shared = static_cast<Shared*>(piece);
}

bool is_shared() {
    return shared != nullptr || shmem::attach();
}

Look* own_counts() {
    return &shared->looks[MyDatabaseId % kDatabases];
}

}  // namespace

uint64 current() {
    return is_shared() ? pg_atomic_read_u64(&shared->prepares) : 0;
}

void none_open_at(uint64 mark) {
    if (mark == 0) {
        return;
    }
    Look* look = own_counts();
    SpinLockAcquire(&look->lock);
    look->mark = look->database == MyDatabaseId ? std::max(look->mark, mark) : mark;
    look->database = MyDatabaseId;
    SpinLockRelease(&look->lock);
}

bool is_none_open() {
    if (max_prepared_xacts == 0) {
        return true;
    }
    if (!is_shared()) {
        return false;
    }
    Look* look = own_counts();
    SpinLockAcquire(&look->lock);
    const bool known = look->database == MyDatabaseId;
    const uint64 mark = look->mark;
    SpinLockRelease(&look->lock);
    return known && mark == pg_atomic_read_u64(&shared->prepares);
}

void add() {
    if (is_shared()) {
        (void)pg_atomic_fetch_add_u64(&shared->prepares, 1);
    }
}

void install() {
    shmem::add_piece({mark_bytes, init_marks, use_marks});
}

}  // namespace belay::prepared_marks
