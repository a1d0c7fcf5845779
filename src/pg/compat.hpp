// What differs between PostgreSQL 15, 16, 17 and 18. The only file that looks at PG_VERSION_NUM.
#pragma once

#include "pg/pg.hpp"

extern "C" {
#include "access/subtrans.h"
}

#if PG_VERSION_NUM < 150000 || PG_VERSION_NUM >= 190000
#error "belay supports PostgreSQL 15 to 18"
#endif

#if PG_VERSION_NUM >= 160000
#include <cstddef>
#endif

#if PG_VERSION_NUM >= 170000
extern "C" {
#include "storage/dsm_registry.h"
}
#endif

namespace belay::pg {

// Whether role may use the language.
inline AclResult may_use_language(Oid language, Oid role) {
#if PG_VERSION_NUM >= 160000
    return object_aclcheck(LanguageRelationId, language, role, ACL_USAGE);
#else
    return pg_language_aclcheck(language, role, ACL_USAGE);
#endif
}

// Whether role may call the function.
inline bool may_call(Oid function, Oid role) {
#if PG_VERSION_NUM >= 160000
    return object_aclcheck(ProcedureRelationId, function, role, ACL_EXECUTE) == ACLCHECK_OK;
#else
    return pg_proc_aclcheck(function, role, ACL_EXECUTE) == ACLCHECK_OK;
#endif
}

// Whether role owns the relation, or is a member of the role that does.
inline bool owns_relation(Oid relation, Oid role) {
#if PG_VERSION_NUM >= 160000
    return object_ownercheck(RelationRelationId, relation, role);
#else
    return pg_class_ownercheck(relation, role);
#endif
}

// Whether role may look into the schema.
inline bool may_use_schema(Oid schema, Oid role) {
#if PG_VERSION_NUM >= 160000
    return object_aclcheck(NamespaceRelationId, schema, role, ACL_USAGE) == ACLCHECK_OK;
#else
    return pg_namespace_aclcheck(schema, role, ACL_USAGE) == ACLCHECK_OK;
#endif
}

// Whether role may use the foreign server.
inline bool may_use_server(Oid server, Oid role) {
#if PG_VERSION_NUM >= 160000
    return object_aclcheck(ForeignServerRelationId, server, role, ACL_USAGE) == ACLCHECK_OK;
#else
    return pg_foreign_server_aclcheck(server, role, ACL_USAGE) == ACLCHECK_OK;
#endif
}

inline bool owns_schema(Oid schema, Oid role) {
#if PG_VERSION_NUM >= 160000
    return object_ownercheck(NamespaceRelationId, schema, role);
#else
    return pg_namespace_ownercheck(schema, role);
#endif
}

inline bool owns_database(Oid database, Oid role) {
#if PG_VERSION_NUM >= 160000
    return object_ownercheck(DatabaseRelationId, database, role);
#else
    return pg_database_ownercheck(database, role);
#endif
}

// How many rows of a table are dead, as far as the statistics know.
inline int64 dead_rows(Oid relation) {
    const PgStat_StatTabEntry* entry = pgstat_fetch_stat_tabentry(relation);
#if PG_VERSION_NUM >= 160000
    return entry == nullptr ? 0 : entry->dead_tuples;
#else
    return entry == nullptr ? 0 : entry->n_dead_tuples;
#endif
}

// What a process publishes about itself, from 1 to pgstat_fetch_stat_numbackends().
inline const LocalPgBackendStatus* backend_status(int index) {
#if PG_VERSION_NUM >= 160000
    return pgstat_get_local_beentry_by_index(index);
#else
    return pgstat_fetch_stat_local_beentry(index);
#endif
}

// A segment of shared memory by name, made and initialised at its first use. Null where the server
// has no registry of such segments.
inline void* named_segment(const char* name, Size bytes, void (*init)(void*)) {
#if PG_VERSION_NUM >= 170000
    bool found = false;
    return GetNamedDSMSegment(name, bytes, init, &found);
#else
    (void)name;
    (void)bytes;
    (void)init;
    return nullptr;
#endif
}

// The number of this process among those that can wait for a latch, from 0.
inline int my_proc_number() {
#if PG_VERSION_NUM >= 170000
    return MyProcNumber;
#else
    return MyProc->pgprocno;
#endif
}

// Writes a logical-decoding message that belongs to the current transaction.
inline void log_logical_message(const char* prefix, const char* message, Size size) {
#if PG_VERSION_NUM >= 170000
    (void)LogLogicalMessage(prefix, message, size, true, false);
#else
    (void)LogLogicalMessage(prefix, message, size, true);
#endif
}

// Begins a scan of an index of a table; the keys come with index_rescan.
inline IndexScanDesc begin_index_scan(Relation table, Relation index, Snapshot snapshot, int keys) {
#if PG_VERSION_NUM >= 180000
    return index_beginscan(table, index, snapshot, nullptr, keys, 0);
#else
    return index_beginscan(table, index, snapshot, keys, 0);
#endif
}

// Which indexes get an entry for the new version of a row.
enum class NewEntries { kNone, kAll, kSummarizing };

// Replaces a version of a row of a heap table, waiting for a transaction that has it.
inline TM_Result update_heap_row(Relation table, ItemPointer old_version, HeapTuple row,
                                 CommandId command, TM_FailureData* failure, NewEntries* entries) {
    LockTupleMode mode;
#if PG_VERSION_NUM >= 160000
    TU_UpdateIndexes indexes = TU_None;
    const TM_Result result = heap_update(table, old_version, row, command, InvalidSnapshot, true,
                                         failure, &mode, &indexes);
    *entries = indexes == TU_All           ? NewEntries::kAll
               : indexes == TU_Summarizing ? NewEntries::kSummarizing
                                           : NewEntries::kNone;
#else
    const TM_Result result =
        heap_update(table, old_version, row, command, InvalidSnapshot, true, failure, &mode);
    *entries = result == TM_Ok && !HeapTupleIsHeapOnly(row) ? NewEntries::kAll : NewEntries::kNone;
#endif
    return result;
}

// Gives a row entries in the indexes that the executor has opened.
inline void insert_index_tuples(ResultRelInfo* result, TupleTableSlot* row, EState* state,
                                NewEntries entries) {
#if PG_VERSION_NUM >= 160000
    list_free(ExecInsertIndexTuples(result, row, state, false, false, nullptr, nullptr,
                                    entries == NewEntries::kSummarizing));
#else
    (void)entries;
    list_free(ExecInsertIndexTuples(result, row, state, false, false, nullptr, nullptr));
#endif
}

// Pins the buffer that held a block of the table lately, if it still does.
inline bool pin_recent_buffer(Relation table, BlockNumber block, Buffer buffer) {
#if PG_VERSION_NUM >= 160000
    return ReadRecentBuffer(table->rd_locator, MAIN_FORKNUM, block, buffer);
#else
    return ReadRecentBuffer(table->rd_node, MAIN_FORKNUM, block, buffer);
#endif
}

// A set of events to wait for. It has to be freed.
inline WaitEventSet* make_wait_set(int events) {
#if PG_VERSION_NUM >= 170000
    return CreateWaitEventSet(nullptr, events);
#else
    return CreateWaitEventSet(TopMemoryContext, events);
#endif
}

// The wait event shown while a process sleeps for belay.
inline uint32 wait_event(const char* name) {
#if PG_VERSION_NUM >= 170000
    return WaitEventExtensionNew(name);
#else
    (void)name;
    return PG_WAIT_EXTENSION;
#endif
}

// The number of this transaction within the process.
inline LocalTransactionId local_transaction_id() {
#if PG_VERSION_NUM >= 170000
    return MyProc->vxid.lxid;
#else
    return MyProc->lxid;
#endif
}

// Memory for what the check hook of a setting parsed; the server frees it. Null if there is none.
inline void* allocate_setting(std::size_t size) {
#if PG_VERSION_NUM >= 160000
    return guc_malloc(LOG, size);
#else
    return malloc(size);
#endif
}

// Whether this session holds the lock, in that mode.
inline bool holds_lock(const LOCKTAG& tag, LOCKMODE mode) {
#if PG_VERSION_NUM >= 170000
    return LockHeldByMe(&tag, mode, false);
#else
    return LockHeldByMe(&tag, mode);
#endif
}

}  // namespace belay::pg
