#include "pg/event_writers.hpp"

#include <algorithm>

#include "pg/boundary.hpp"
#include "pg/compat.hpp"
#include "pg/shared_memory.hpp"

namespace belay::pg {

namespace {

constexpr int kSpare = 128;
constexpr int kMaxHubs = 32;  // of one transaction, that are registered one by one

struct Writer {
    Oid database;
    Oid hub;  // InvalidOid: free
    int64 position;
    int32 pid;          // 0: a prepared transaction
    TransactionId xid;  // of a transaction that is being prepared
};

// A process has one place of its own, for the first hub that it writes to: it changes that under
// the shared lock, and readers take the lock alone. Other hubs and prepared transactions share the
// spare places.
struct Shared {
    LWLock lock;
    pg_atomic_uint32 unregistered;  // transactions that found no place
    int own_places;
    int places;
    Writer writers[FLEXIBLE_ARRAY_MEMBER];
};

constinit Shared* shared = nullptr;

// What this transaction registered.
constinit Oid my_hubs[kMaxHubs] = {};
constinit int my_hub_count = 0;
constinit bool am_unregistered = false;
constinit bool am_in_spare_places = false;

int place_count() {
    return MaxBackends + 2 * max_prepared_xacts + kSpare;
}

Size writers_bytes() {
    return offsetof(Shared, writers) + sizeof(Writer) * static_cast<Size>(place_count());
}

void init_writers(void* piece) {
    shared = static_cast<Shared*>(piece);
    memset(shared, 0, writers_bytes());
    LWLockInitialize(&shared->lock, shared_lock_tranche());
    pg_atomic_init_u32(&shared->unregistered, 0);
    shared->own_places = MaxBackends;
    shared->places = place_count();
}

void use_writers(void* piece) {
    shared = static_cast<Shared*>(piece);
}

std::span<Writer> spare_places() {
    return {shared->writers + shared->own_places,
            static_cast<std::size_t>(shared->places - shared->own_places)};
}

Writer* own_place() {
    return my_proc_number() < shared->own_places ? &shared->writers[my_proc_number()] : nullptr;
}

bool put_into_spare_place(const Writer& writer) {
    LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
    const auto places = spare_places();
    const auto place = std::find_if(places.begin(), places.end(),
                                    [](const Writer& other) { return other.hub == InvalidOid; });
    const bool found = place != places.end();
    if (found) {
        *place = writer;
        am_in_spare_places = true;
    }
    LWLockRelease(&shared->lock);
    return found;
}

void go_unregistered() {
    if (!am_unregistered) {
        am_unregistered = true;
        pg_atomic_fetch_add_u32(&shared->unregistered, 1);
    }
}

// The transaction is over, or others look after it from now on.
void leave() {
    if (am_unregistered) {
        pg_atomic_fetch_sub_u32(&shared->unregistered, 1);
        am_unregistered = false;
    }
    Writer* own = own_place();
    if (own != nullptr && own->hub != InvalidOid) {
        LWLockAcquire(&shared->lock, LW_SHARED);
        own->hub = InvalidOid;
        LWLockRelease(&shared->lock);
    }
    my_hub_count = 0;
}

// What this process has in spare places is given back, or left to a prepared transaction.
void settle_spare_places(bool prepared) {
    if (!am_in_spare_places) {
        return;
    }
    am_in_spare_places = false;
    LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
    for (Writer& writer : spare_places()) {
        if (writer.hub != InvalidOid && writer.pid == MyProcPid) {
            writer.pid = 0;
            writer.hub = prepared ? writer.hub : InvalidOid;
        }
    }
    LWLockRelease(&shared->lock);
}

// Gives the writers of a transaction that is about to be prepared places that outlive the session.
void move_to_spare_places() {
    const TransactionId xid = GetTopTransactionId();
    LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
    for (Writer& writer : spare_places()) {
        if (writer.hub != InvalidOid && writer.pid == MyProcPid) {
            writer.xid = xid;
        }
    }
    LWLockRelease(&shared->lock);
    const Writer* own = own_place();
    bool moved = !am_unregistered;
    if (moved && own != nullptr && own->hub != InvalidOid) {
        Writer writer = *own;
        writer.xid = xid;
        moved = put_into_spare_place(writer);
    }
    if (!moved) {
        ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY),
                        errmsg("too many prepared transactions have written events"),
                        errhint("Finish some with COMMIT PREPARED, or commit without preparing.")));
    }
}

extern "C" void belay_end_of_event_writer(XactEvent event, void*) {
    if (my_hub_count == 0 && !am_unregistered) {
        return;
    }
    switch (event) {
        case XACT_EVENT_PRE_PREPARE:
            at_boundary([] { move_to_spare_places(); });
            break;
        case XACT_EVENT_PREPARE:
            settle_spare_places(true);
            leave();
            break;
        case XACT_EVENT_COMMIT:
        case XACT_EVENT_ABORT:
            settle_spare_places(false);
            leave();
            break;
        default:
            break;
    }
}

}  // namespace

int64 last_position(Oid sequence) {
    LOCAL_FCINFO(fcinfo, 1);
    InitFunctionCallInfoData(*fcinfo, nullptr, 1, InvalidOid, nullptr, nullptr);
    fcinfo->args[0].value = ObjectIdGetDatum(sequence);
    fcinfo->args[0].isnull = false;
    const Datum value = pg_sequence_last_value(fcinfo);
    return fcinfo->isnull ? 0 : DatumGetInt64(value);
}

void register_event_writer(Oid hub, Oid sequence) {
    // Whoever reads by xids relies on this order, too: first the xid, then a position.
    (void)GetTopTransactionId();
    if (am_unregistered || !attach_shared_memory() ||
        std::find(my_hubs, my_hubs + my_hub_count, hub) != my_hubs + my_hub_count) {
        return;
    }
    const Writer writer{MyDatabaseId, hub, last_position(sequence), MyProcPid,
                        InvalidTransactionId};
    Writer* own = own_place();
    if (my_hub_count == kMaxHubs) {
        go_unregistered();
        return;
    }
    if (own != nullptr && own->hub == InvalidOid) {
        LWLockAcquire(&shared->lock, LW_SHARED);
        *own = writer;
        LWLockRelease(&shared->lock);
    } else if (!put_into_spare_place(writer)) {
        go_unregistered();
        return;
    }
    my_hubs[my_hub_count++] = hub;
}

EventHorizon event_horizon(Oid hub, Oid sequence) {
    if (!attach_shared_memory()) {
        return {false, 0, 0};
    }
    // Whoever registers after the look below draws positions above this one.
    EventHorizon horizon{true, last_position(sequence), 0};
    const auto places = static_cast<Size>(shared->places);
    auto* found = static_cast<Writer*>(palloc(sizeof(Writer) * places));
    std::size_t count = 0;
    LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
    for (int i = 0; i < shared->places; ++i) {
        const Writer& writer = shared->writers[i];
        if (writer.hub == hub && writer.database == MyDatabaseId) {
            found[count++] = writer;
        }
    }
    horizon.exact = pg_atomic_read_u32(&shared->unregistered) == 0;
    LWLockRelease(&shared->lock);
    for (const Writer& writer : std::span(found, count)) {
        if (writer.pid == 0 && !TransactionIdIsInProgress(writer.xid)) {
            LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
            for (Writer& place : spare_places()) {
                if (place.xid == writer.xid && place.pid == 0 && place.hub == hub) {
                    place.hub = InvalidOid;
                }
            }
            LWLockRelease(&shared->lock);
        } else if (writer.position < horizon.position) {
            horizon.position = writer.position;
            horizon.writer_pid = writer.pid;
        }
    }
    return horizon;
}

void install_event_writers() {
    add_shared_piece({writers_bytes, init_writers, use_writers});
    RegisterXactCallback(belay_end_of_event_writer, nullptr);
}

}  // namespace belay::pg
