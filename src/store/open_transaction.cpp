// Who holds a row or a key: read from the row's header and the server's tables of locks.
//
// Touches  nothing; reads rows by their places
// Must not wait for the transaction that it finds
#include "store/open_transaction.hpp"

#include "pg/errors.hpp"
#include "pg/row_holder.hpp"

namespace belay::store {

namespace {

// The process, or the prepared transaction, that has a lock; and for how long it is open. $1 is a
// transaction, not a subtransaction, whose lock goes with its end. Or $2 and $3 are a key, and $4
// is its space.
constexpr auto kHolder = query<In<Maybe<RowXid>, Maybe<ObjectId>, Maybe<ObjectId>, Maybe<int16>>,
                               Out<Maybe<int32>, Maybe<Text>, Maybe<int64>>>(R"sql(
    SELECT l.pid, p.gid,
           CAST(pg_catalog.floor(pg_catalog.date_part(
                    'epoch', pg_catalog.clock_timestamp() {-} COALESCE(p.prepared, a.xact_start))
                {*} CAST(1000 AS pg_catalog.float8)) AS pg_catalog.int8)
      FROM pg_catalog.pg_lock_status() AS l
      LEFT JOIN pg_catalog.pg_prepared_xact() AS p
        ON l.pid IS NULL
       AND EXISTS (SELECT 1
                     FROM pg_catalog.pg_lock_status() AS x
                    WHERE x.pid IS NULL AND x.virtualtransaction {=} l.virtualtransaction
                      AND x.locktype {=} 'transactionid' AND x.transactionid {=} p.transaction)
      LEFT JOIN LATERAL pg_catalog.pg_stat_get_activity(COALESCE(l.pid, 0)) AS a ON true
     WHERE l.granted AND NOT COALESCE(l.pid {=} pg_catalog.pg_backend_pid(), false)
       AND ((l.locktype {=} 'transactionid' AND l.transactionid {=} $1)
            OR (l.locktype {=} 'advisory' AND l.classid {=} $2 AND l.objid {=} $3
                AND l.objsubid {=} $4))
     LIMIT 1
)sql");

OpenTransaction transaction_of(Maybe<int32> pid, Maybe<Text> gid, Maybe<int64> age_ms) {
    return {.pid = pid.value_or(0), .gid = gid, .age_ms = age_ms};
}

TransactionId holder_of(Oid table, const Places& places) {
    Relation relation = table_open(table, AccessShareLock);
    TransactionId holder = InvalidTransactionId;
    if (relation->rd_tableam == GetHeapamTableAmRoutine()) {
        for (uint64 i = 0; i < places.count && !TransactionIdIsValid(holder); ++i) {
            HeapTupleData tuple;
            Buffer buffer = InvalidBuffer;
            tuple.t_self = std::get<0>(places[i]);
            // The query that found the place has seen the row.
            if (heap_fetch(relation, SnapshotAny, &tuple, &buffer, false)) {
                holder = pg::row_holder(tuple.t_data);
                ReleaseBuffer(buffer);
            }
        }
    }
    table_close(relation, AccessShareLock);
    return holder;
}

}  // namespace

std::optional<OpenTransaction> row_holder(const Hub& hub, Oid table, const Places& places) {
    const TransactionId holder = holder_of(table, places);
    if (!TransactionIdIsValid(holder)) {
        return std::nullopt;
    }
    return transaction_holder(hub, holder);
}

std::optional<OpenTransaction> transaction_holder(const Hub& hub, TransactionId transaction) {
    return run(hub, kHolder, RowXid{pg::top_transaction(transaction)}, std::nullopt, std::nullopt,
               std::nullopt)
        .first(transaction_of);
}

bool is_row_held(Oid table, const Places& places) {
    return TransactionIdIsValid(holder_of(table, places));
}

std::optional<OpenTransaction> key_holder(const Hub& hub, pg::LockSpace space, uint64 key) {
    const pg::LockKey lock = pg::key_of_lock(space, hub.schema, key);
    return run(hub, kHolder, std::nullopt, ObjectId{lock.classid}, ObjectId{lock.objid},
               static_cast<int16>(lock.objsubid))
        .first(transaction_of);
}

const char* json_of(const OpenTransaction& transaction) {
    StringInfo out = makeStringInfo();
    if (transaction.gid) {
        appendStringInfoString(out, "{\"gid\":");
        escape_json(out, pg::c_string(*transaction.gid));
    } else {
        appendStringInfo(out, "{\"pid\":%d", transaction.pid);
    }
    if (transaction.age_ms) {
        appendStringInfo(out, ",\"age_ms\":" INT64_FORMAT, *transaction.age_ms);
    }
    appendStringInfoChar(out, '}');
    return out->data;
}

const char* words_of(const OpenTransaction& transaction) {
    const char* who = transaction.gid ? psprintf("the prepared transaction \"%s\"",
                                                 pg::c_string(*transaction.gid))
                                      : psprintf("a transaction of process %d", transaction.pid);
    return transaction.age_ms
               ? psprintf("%s (open for " INT64_FORMAT " s)", who, *transaction.age_ms / 1000)
               : who;
}

}  // namespace belay::store
