// Lays the pieces out, one behind the other, in the server's shared memory or in a named segment.
//
// Touches the pieces only to have them initialized, each by its own function. Must not know what is
// in them. Locks: AddinShmemInitLock while they are made. The order and sizes of the pieces are the
// same in all processes of a server: sizes depend on settings that need a restart, and on nothing
// else.
#include "shmem/shared_memory.hpp"

#include "pg/boundary.hpp"
#include "pg/compat.hpp"

namespace belay::shmem {

namespace {

constexpr int kMaxPieces = 16;

// What comes before the pieces.
struct Header {
    int tranche;
    TimestampTz since;
};

constinit Piece pieces[kMaxPieces] = {};
constinit int piece_count = 0;
constinit Header* header = nullptr;
constinit bool preloaded = false;
constinit shmem_request_hook_type previous_request = nullptr;
constinit shmem_startup_hook_type previous_startup = nullptr;

Size all_bytes() {
    Size sum = MAXALIGN(sizeof(Header));
    for (int i = 0; i < piece_count; ++i) {
        sum = add_size(sum, MAXALIGN(pieces[i].bytes()));
    }
    return sum;
}

// Calls visit(piece, place) for each piece of the segment.
template <typename Visit>
void each_piece(void* segment, Visit visit) {
    char* place = static_cast<char*>(segment) + MAXALIGN(sizeof(Header));
    for (int i = 0; i < piece_count; ++i) {
        visit(pieces[i], place);
        place += MAXALIGN(pieces[i].bytes());
    }
}

extern "C" void belay_init_segment(void* segment) {
    header = static_cast<Header*>(segment);
    header->tranche = LWLockNewTrancheId();
    header->since = GetCurrentTimestamp();
    each_piece(segment, [](const Piece& piece, void* place) { piece.init(place); });
}

void use_segment(void* segment) {
    header = static_cast<Header*>(segment);
    LWLockRegisterTranche(header->tranche, "belay");
    each_piece(segment, [](const Piece& piece, void* place) { piece.use(place); });
}

extern "C" void belay_shmem_request() {
    if (previous_request != nullptr) {
        previous_request();
    }
    RequestAddinShmemSpace(all_bytes());
}

extern "C" void belay_shmem_startup() {
    if (previous_startup != nullptr) {
        previous_startup();
    }
    LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
    bool found = false;
    void* segment = ShmemInitStruct("belay", all_bytes(), &found);
    if (!found) {
        belay_init_segment(segment);
    }
    use_segment(segment);
    LWLockRelease(AddinShmemInitLock);
}

}  // namespace

void add_piece(const Piece& piece) {
    Assert(piece_count < kMaxPieces);
    pieces[piece_count++] = piece;
}

bool is_preloaded() {
    return preloaded;
}

void install() {
    preloaded = true;
    previous_request = shmem_request_hook;
    shmem_request_hook = belay_shmem_request;
    previous_startup = shmem_startup_hook;
    shmem_startup_hook = belay_shmem_startup;
}

bool attach() {
    if (header == nullptr) {
        if (void* segment = pg::named_segment("belay", all_bytes(), belay_init_segment)) {
            use_segment(segment);
        }
    }
    return header != nullptr;
}

TimestampTz since() {
    return header->since;
}

int lock_tranche() {
    return header->tranche;
}

}  // namespace belay::shmem
