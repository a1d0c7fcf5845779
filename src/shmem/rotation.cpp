// Positions of rotations: places by the hash of a table, each with a spinlock under which nothing
// but copies are done. Touches belay's shared memory only.
#include "shmem/rotation.hpp"

#include <algorithm>

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
    int preferred_count;
    Position preferred[kPreferred];  // the latest first
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

void put(Position* position, std::string_view stream) {
    const bool fits = stream.size() <= Position::kMost;
    position->size = fits ? static_cast<uint8>(stream.size()) : 0;
    if (fits) {
        (void)stream.copy(position->bytes, Position::kMost);
    }
}

void take_over(Place* place, Oid table) {
    if (!is_of(*place, table)) {
        place->database = MyDatabaseId;
        place->table = table;
        place->position.size = 0;
        place->preferred_count = 0;
    }
}

// Runs body on the table's place, in shared memory or the session's own.
template <typename Body>
void with_place(Oid table, Body body) {
    if (Place* place = shared_place(table)) {
        SpinLockAcquire(&place->lock);
        body(place);
        SpinLockRelease(&place->lock);
    } else {
        body(&own);
    }
}

}  // namespace

Position position_at(std::string_view stream) {
    Position position{};
    put(&position, stream);
    return position;
}

Position position_of(Oid table) {
    Position position{};
    with_place(table, [&position, table](const Place* place) {
        if (is_of(*place, table)) {
            position = place->position;
        }
    });
    return position;
}

void move_to(Oid table, std::string_view stream) {
    with_place(table, [stream, table](Place* place) {
        take_over(place, table);
        put(&place->position, stream);
    });
}

void prefer(Oid table, std::string_view stream) {
    if (stream.empty() || stream.size() > Position::kMost) {
        return;
    }
    with_place(table, [stream, table](Place* place) {
        take_over(place, table);
        int at = 0;
        while (at < place->preferred_count && place->preferred[at].text() != stream) {
            ++at;
        }
        if (at == place->preferred_count && at < kPreferred) {
            ++place->preferred_count;
        }
        const int last = at < kPreferred ? at : kPreferred - 1;
        std::move_backward(place->preferred, place->preferred + last, place->preferred + last + 1);
        put(&place->preferred[0], stream);
    });
}

int preferred(Oid table, Position* streams) {
    int count = 0;
    with_place(table, [&count, streams, table](const Place* place) {
        if (is_of(*place, table)) {
            count = place->preferred_count;
            std::copy_n(place->preferred, count, streams);
        }
    });
    return count;
}

void install() {
    shmem::add_piece({rotation_bytes, init_rotation, use_rotation});
}

}  // namespace belay::rotation
