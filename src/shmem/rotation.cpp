// Positions of rotations: places by the hash of a table, each with a spinlock under which nothing
// but a copy is done. Touches belay's shared memory only.
#include "shmem/rotation.hpp"

#include "core/hash.hpp"
#include "shmem/shared_memory.hpp"

namespace belay::rotation {

namespace {

constexpr int kPlaces = 256;

struct Place {
    slock_t lock;
    Oid database;
    Oid table;
    Position position;
};

constinit Place* shared = nullptr;
constinit Place own{};  // without shared memory

Size rotation_bytes() {
    return sizeof(Place) * kPlaces;
}

void init_rotation(void* piece) {
    shared = static_cast<Place*>(piece);
    memset(shared, 0, rotation_bytes());
    for (int i = 0; i < kPlaces; ++i) {
        SpinLockInit(&shared[i].lock);
    }
}

void use_rotation(void* piece) {
    shared = static_cast<Place*>(piece);
}

// The place that the table shares with others of the same hash.
Place* shared_place(Oid table) {
    if (shared == nullptr && !shmem::attach()) {
        return nullptr;
    }
    const Oid name[] = {MyDatabaseId, table};
    return &shared[core::fnv1a64({reinterpret_cast<const char*>(name), sizeof name}) % kPlaces];
}

bool is_of(const Place& place, Oid table) {
    return place.database == MyDatabaseId && place.table == table;
}

void put(Place* place, Oid table, std::string_view stream) {
    place->database = MyDatabaseId;
    place->table = table;
    const bool fits = stream.size() <= Position::kMost;
    place->position.size = fits ? static_cast<uint8>(stream.size()) : 0;
    if (fits) {
        (void)stream.copy(place->position.bytes, Position::kMost);
    }
}

}  // namespace

Position position_of(Oid table) {
    Position position{};
    if (Place* place = shared_place(table)) {
        SpinLockAcquire(&place->lock);
        if (is_of(*place, table)) {
            position = place->position;
        }
        SpinLockRelease(&place->lock);
    } else if (is_of(own, table)) {
        position = own.position;
    }
    return position;
}

void move_to(Oid table, std::string_view stream) {
    if (Place* place = shared_place(table)) {
        SpinLockAcquire(&place->lock);
        put(place, table, stream);
        SpinLockRelease(&place->lock);
    } else {
        put(&own, table, stream);
    }
}

void install() {
    shmem::add_piece({rotation_bytes, init_rotation, use_rotation});
}

}  // namespace belay::rotation
