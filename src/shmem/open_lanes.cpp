// Open lanes: places by the hash of a table, each with a lock under which at most kMost lanes are
// compared. Touches belay's shared memory only.
#include "shmem/open_lanes.hpp"

#include <algorithm>

#include "core/hash.hpp"
#include "core/time.hpp"
#include "pg/clock.hpp"
#include "shmem/prepared_marks.hpp"
#include "shmem/shared_memory.hpp"

namespace belay::open_lanes {

namespace {

constexpr int kPlaces = 128;
constexpr int64 kLongestMs = 60000;  // that a look counts: rows may be written by hand

struct Place {
    LWLock lock;
    pg_atomic_uint32 used;  // by a look; read without the lock
    Oid database;
    Key key;
    uint64 look;  // a number that no earlier one has
    bool complete;
    bool with_sessions;
    int64 began;  // by the server's clock, in ms
    int64 empty_until;
    uint32 stamps;
    int count;
    Lane lanes[kMost];
};

constinit Place* shared = nullptr;

Size place_bytes() {
    return sizeof(Place) * kPlaces;
}

void init_places(void* piece) {
    shared = static_cast<Place*>(piece);
    memset(shared, 0, place_bytes());
    for (int i = 0; i < kPlaces; ++i) {
        LWLockInitialize(&shared[i].lock, shmem::lock_tranche());
        pg_atomic_init_u32(&shared[i].used, 0);
    }
}

void use_places(void* piece) {
    shared = static_cast<Place*>(piece);
}

// The place that the table shares with others of the same hash.
Place* place_of(Oid table) {
    if (shared == nullptr && !shmem::attach()) {
        return nullptr;
    }
    const Oid name[] = {MyDatabaseId, table};
    return &shared[core::fnv1a64({reinterpret_cast<const char*>(name), sizeof name}) % kPlaces];
}

bool is_of(const Place& place, Oid table) {
    return place.database == MyDatabaseId && place.key.table == table;
}

bool is_of(const Place& place, const Key& key) {
    return is_of(place, key.table) && place.key.life == key.life;
}

bool is_current(const Place& place, int64 now) {
    return now < place.empty_until && pg::server_now_ms() - place.began < kLongestMs;
}

void clear(Place* place) {
    pg_atomic_write_u32(&place->used, 0);
    ++place->look;
    place->complete = false;
    place->count = 0;
    place->empty_until = core::kNever;
}

Lane* find(Place* place, int32 lane) {
    Lane* const end = place->lanes + place->count;
    Lane* const found =
        std::find_if(place->lanes, end, [lane](const Lane& open) { return open.lane == lane; });
    return found == end ? nullptr : found;
}

void add(Place* place, int32 lane) {
    if (Lane* open = find(place, lane)) {
        open->stamp = ++place->stamps;
    } else if (place->count == kMost) {
        clear(place);
    } else {
        place->lanes[place->count++] = {lane, ++place->stamps};
    }
}

void remove(Place* place, Lane* lane) {
    std::move(lane + 1, place->lanes + place->count, lane);
    --place->count;
}

// Lends body the table's place, if a look uses it.
template <typename Body>
void with_used(Oid table, Body body) {
    Place* place = place_of(table);
    if (place == nullptr) {
        return;
    }
    // Our rows are visible before this is read; a look marks the place before its first snapshot.
    pg_memory_barrier();
    if (pg_atomic_read_u32(&place->used) == 0) {
        return;
    }
    LWLockAcquire(&place->lock, LW_EXCLUSIVE);
    if (pg_atomic_read_u32(&place->used) != 0 && is_of(*place, table)) {
        body(place);
    }
    LWLockRelease(&place->lock);
}

}  // namespace

View read(const Key& key, bool with_sessions, int64 now) {
    View view;
    view.complete = false;
    view.empty_until = 0;
    view.count = 0;
    Place* place = place_of(key.table);
    if (place == nullptr || pg_atomic_read_u32(&place->used) == 0 ||
        !prepared_marks::is_none_open()) {
        return view;
    }
    LWLockAcquire(&place->lock, LW_SHARED);
    view.complete = is_of(*place, key) && place->complete && is_current(*place, now) &&
                    (place->with_sessions || !with_sessions);
    if (view.complete) {
        view.empty_until = place->empty_until;
        view.count = place->count;
        std::copy_n(place->lanes, place->count, view.lanes);
    }
    LWLockRelease(&place->lock);
    return view;
}

void looked_at(const Key& key, const Lane& lane, std::optional<int64> empty_until) {
    with_used(key.table, [&](Place* place) {
        Lane* open = is_of(*place, key) ? find(place, lane.lane) : nullptr;
        if (open == nullptr || open->stamp != lane.stamp) {
            return;
        }
        remove(place, open);
        if (empty_until) {
            place->empty_until = std::min(place->empty_until, *empty_until);
        } else {
            place->lanes[place->count++] = lane;  // the others come first
        }
    });
}

uint64 begin(const Key& key, int64 now) {
    Place* place = place_of(key.table);
    if (place == nullptr) {
        return 0;
    }
    LWLockAcquire(&place->lock, LW_EXCLUSIVE);
    // A look that is under way may be joined: what was announced since it began is kept.
    if (pg_atomic_read_u32(&place->used) == 0 || !is_of(*place, key) || !is_current(*place, now)) {
        clear(place);
        place->database = MyDatabaseId;
        place->key = key;
        place->began = pg::server_now_ms();
        pg_atomic_write_u32(&place->used, 1);
    }
    const uint64 look = place->look;
    LWLockRelease(&place->lock);
    // A transaction that is prepared counts itself, then forgets what is used: it is seen here, or
    // it has seen the mark.
    pg_memory_barrier();
    return prepared_marks::is_none_open() ? look : 0;
}

void complete(const Key& key, uint64 look, bool with_sessions, std::span<const int32> lanes,
              int64 empty_until) {
    with_used(key.table, [&](Place* place) {
        if (!is_of(*place, key) || place->look != look || lanes.size() > kMost) {
            return;
        }
        for (const int32 lane : lanes) {
            add(place, lane);
        }
        if (place->look != look) {
            return;  // they do not fit
        }
        place->with_sessions = with_sessions || (place->complete && place->with_sessions);
        place->complete = true;
        place->empty_until = std::min(place->empty_until, empty_until);
    });
}

void opened(Oid table, int32 lane) {
    with_used(table, [lane](Place* place) { add(place, lane); });
}

void opens_at(const Key& key, int32 lane, int64 at) {
    with_used(key.table, [&](Place* place) {
        if (place->key.life != key.life || at <= pg::server_now_ms()) {
            add(place, lane);
        } else {
            place->empty_until = std::min(place->empty_until, at);
        }
    });
}

void forget(Oid table) {
    with_used(table, clear);
}

void install() {
    shmem::add_piece({place_bytes, init_places, use_places});
}

}  // namespace belay::open_lanes
