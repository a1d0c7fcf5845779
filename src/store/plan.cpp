// Plans of store statements: made at the first execution, kept per session and hub, freed with it.
//
// May touch: SPI and the plans of a hub's cache entry. Must not: name a table of the hub; the
// texts stand beside the functions that run them.
#include "store/plan.hpp"

#include "pg/errors.hpp"
#include "pg/faults.hpp"
#include "store/index_plans.hpp"
#include "store/shards.hpp"

namespace belay::store {

namespace {

struct Kept {
    const void* statement;  // its address: the key
    SPIPlanPtr plan;
    bool brief;   // see keep_plans_briefly
    bool pinned;  // runs with a search_path of its own
};

constinit bool briefly = false;

bool is_name(char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

std::string_view name_at(const char* at) {
    const char* end = at;
    while (is_name(*end)) {
        ++end;
    }
    return {at, static_cast<std::size_t>(end - at)};
}

// The table, or its shard.
void append_table(StringInfo sql, const Hub& hub, std::string_view table) {
    appendStringInfo(sql, "%s.%.*s", hub.quoted_name, static_cast<int>(table.size()), table.data());
    if (const Shard* shard = shard_of(hub, table)) {
        appendStringInfo(sql, "_" INT64_FORMAT, shard->id);
    }
}

// A view reads the tables by their names; where those are shells, its query over the shards takes
// its place. The server prints it with operators that have no schema, so that it must be analysed
// with a search_path that is ours.
void append_query_of_view(StringInfo sql, const Hub& hub, Oid view) {
    const char* query =
        TextDatumGetCString(OidFunctionCall1(F_PG_GET_VIEWDEF_OID, ObjectIdGetDatum(view)));
    const auto schema = strlen(hub.quoted_name);
    appendStringInfoChar(sql, '(');
    for (const char* at = query; *at != '\0' && *at != ';';) {
        const bool starts = at == query || (!is_name(at[-1]) && at[-1] != '.' && at[-1] != '"');
        if (starts && strncmp(at, hub.quoted_name, schema) == 0 && at[schema] == '.') {
            const std::string_view name = name_at(at + schema + 1);
            append_table(sql, hub, name);
            at += schema + 1 + name.size();
        } else {
            appendStringInfoChar(sql, *at++);
        }
    }
    appendStringInfoChar(sql, ')');
}

struct Expanded {
    const char* sql;
    bool pinned;
};

// {hub}.name of a hub that Citus has distributed. Returns where the text continues.
const char* append_shard(StringInfo sql, const Hub& hub, const char* at, Expanded* expanded) {
    const std::string_view name = *at == '.' ? name_at(at + 1) : std::string_view();
    if (name.empty()) {
        appendStringInfoString(sql, hub.quoted_name);
        return at;
    }
    const char* word = pnstrdup(name.data(), name.size());
    const Oid relation = get_relname_relid(word, hub.schema);
    if (OidIsValid(relation) && get_rel_relkind(relation) == RELKIND_VIEW) {
        append_query_of_view(sql, hub, relation);
        expanded->pinned = true;
    } else {
        append_table(sql, hub, name);
    }
    return at + 1 + name.size();
}

// Expands {hub} and {operator}.
Expanded expand(const Hub& hub, const SqlText& statement) {
    Expanded expanded{nullptr, false};
    StringInfoData text;
    initStringInfo(&text);
    if (!statement.planned_freely) {
        appendBinaryStringInfo(&text, kForIndexes.data(), static_cast<int>(kForIndexes.size()));
    }
    for (const char* at = statement.sql; *at != '\0';) {
        if (*at != '{') {
            appendStringInfoChar(&text, *at++);
            continue;
        }
        const char* end = strchr(at, '}');
        Assert(end != nullptr);
        const std::string_view word(at + 1, static_cast<std::size_t>(end - at - 1));
        if (word == "hub" && hub.shards != nullptr) [[unlikely]] {
            at = append_shard(&text, hub, end + 1, &expanded);
            continue;
        }
        if (word == "hub") {
            appendStringInfoString(&text, hub.quoted_name);
        } else {
            appendStringInfo(&text, "OPERATOR(pg_catalog.%.*s)", static_cast<int>(word.size()),
                             word.data());
        }
        at = end + 1;
    }
    expanded.sql = text.data;
    return expanded;
}

// Runs body with a search_path that is ours.
template <typename Body>
auto with_pinned_path(Body body) {
    const int level = NewGUCNestLevel();
    (void)set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET, PGC_S_SESSION,
                            GUC_ACTION_SAVE, true, 0, false);
    const auto result = body();
    AtEOXact_GUC(false, level);
    return result;
}

struct Prepared {
    SPIPlanPtr plan;
    bool pinned;
};

Prepared prepare(const Hub& hub, const SqlText& statement) {
    const Expanded text =
        hub.shards == nullptr
            ? expand(hub, statement)
            : with_pinned_path([&hub, &statement] { return expand(hub, statement); });
    // The parser hook fills in the parameters' types; the array is only read.
    SPIPlanPtr plan =
        SPI_prepare_cursor(text.sql, statement.parameter_count,
                           const_cast<Oid*>(statement.parameter_types), CURSOR_OPT_GENERIC_PLAN);
    if (plan == nullptr) {
        elog(ERROR, "could not prepare a store statement: %s", SPI_result_code_string(SPI_result));
    }
    if (SPI_keepplan(plan) != 0) {
        elog(ERROR, "could not keep a store statement");
    }
    return {plan, text.pinned};
}

}  // namespace

// Open addressing by the statement's address. Grows by doubling; never shrinks.
struct PlanCache {
    PlanCache* next_doomed;
    int used;
    int size;
    Kept* kept;
};

namespace {

constinit PlanCache* doomed = nullptr;

Kept* slot_for(PlanCache* cache, const void* statement) {
    const auto mask = static_cast<std::size_t>(cache->size - 1);
    auto at = (reinterpret_cast<std::uintptr_t>(statement) >> 4) & mask;
    while (cache->kept[at].statement != nullptr && cache->kept[at].statement != statement) {
        at = (at + 1) & mask;
    }
    return &cache->kept[at];
}

Kept* allocate_slots(int size) {
    return static_cast<Kept*>(
        MemoryContextAllocZero(CacheMemoryContext, static_cast<Size>(size) * sizeof(Kept)));
}

void grow(PlanCache* cache) {
    const PlanCache old = *cache;
    cache->kept = allocate_slots(old.size * 2);
    cache->size = old.size * 2;
    for (int i = 0; i < old.size; ++i) {
        if (old.kept[i].statement != nullptr) {
            *slot_for(cache, old.kept[i].statement) = old.kept[i];
        }
    }
    pfree(old.kept);
}

PlanCache* make_cache() {
    constexpr int kFirstSize = 64;
    auto* cache =
        static_cast<PlanCache*>(MemoryContextAllocZero(CacheMemoryContext, sizeof(PlanCache)));
    cache->size = kFirstSize;
    cache->kept = allocate_slots(kFirstSize);
    return cache;
}

const Kept& plan_for(const Hub& hub, const void* key, const SqlText& statement) {
    if (hub.plans == nullptr) {
        // The plans are a cache inside the hub's cache entry: filling it changes no meaning.
        const_cast<Hub&>(hub).plans = make_cache();
    }
    Kept* slot = slot_for(hub.plans, key);
    if (slot->statement == nullptr) {
        const auto [plan, pinned] = prepare(hub, statement);
        if (++hub.plans->used * 2 > hub.plans->size) {
            grow(hub.plans);
        }
        slot = slot_for(hub.plans, key);
        *slot = {key, plan, briefly, pinned};
    }
    return *slot;
}

}  // namespace

void free_plans(PlanCache* plans) {
    if (plans == nullptr) {
        return;
    }
    for (int i = 0; i < plans->size; ++i) {
        if (plans->kept[i].statement != nullptr) {
            SPI_freeplan(plans->kept[i].plan);
        }
    }
    pfree(plans->kept);
    pfree(plans);
}

void keep_plans_briefly(bool yes) {
    briefly = yes;
}

void free_brief_plans(PlanCache* plans) {
    if (plans == nullptr) {
        return;
    }
    const PlanCache old = *plans;
    plans->kept = allocate_slots(old.size);
    plans->used = 0;
    for (int i = 0; i < old.size; ++i) {
        const Kept& kept = old.kept[i];
        if (kept.statement != nullptr && kept.brief) {
            SPI_freeplan(kept.plan);
        } else if (kept.statement != nullptr) {
            *slot_for(plans, kept.statement) = kept;
            ++plans->used;
        }
    }
    pfree(old.kept);
}

void doom_plans(PlanCache* plans) {
    plans->next_doomed = doomed;
    doomed = plans;
}

void free_doomed_plans() {
    while (doomed != nullptr) {
        PlanCache* plans = doomed;
        doomed = plans->next_doomed;
        free_plans(plans);
    }
}

namespace {

void check_types(TupleDesc found, std::span<const Oid> wanted) {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        const Oid type = TupleDescAttr(found, static_cast<int>(i))->atttypid;
        if (type != wanted[i]) {
            ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                            errmsg("column %zu of a store statement is of type %s, not %s", i + 1,
                                   format_type_be(type), format_type_be(wanted[i])),
                            errhint("Call belay.check_hub, which shows what was altered in the "
                                    "tables of the hub.")));
        }
    }
}

}  // namespace

void check_columns(TupleDesc found, std::span<const Oid> wanted) {
    if (static_cast<std::size_t>(found->natts) != wanted.size()) {
        elog(ERROR, "a store statement has %d columns instead of %zu", found->natts, wanted.size());
    }
    check_types(found, wanted);
}

void raise_unexpected_null(int column) {
    elog(ERROR, "unexpected null in column %d of a store statement", column);
}

void check_one(const Hub& hub, uint64 count) {
    if (count != 1) {
        // The plan of a change that a rule has taken away depends on no table any more, so that the
        // server would not report that the rule is gone. An outer call may be running another one.
        doom_plans(hub.plans);
        const_cast<Hub&>(hub).plans = nullptr;
        ereport(ERROR,
                (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                 errmsg("a change of hub \"%s\" touched " UINT64_FORMAT " rows instead of one",
                        NameStr(hub.name), count),
                 errhint("belay.check_hub shows rules and row security on the hub's tables.")));
    }
}

void Listing::check(TupleDesc row) const {
    Oid types[kMostColumns];
    if (row->natts > table->tupdesc->natts || table->tupdesc->natts > kMostColumns) {
        elog(ERROR, "a list has %d columns instead of %d", table->tupdesc->natts, row->natts);
    }
    for (int i = 0; i < row->natts; ++i) {
        types[i] = TupleDescAttr(row, i)->atttypid;
    }
    check_types(table->tupdesc, {types, static_cast<std::size_t>(row->natts)});
}

Listing execute(const Hub& hub, const void* key, const SqlText& statement, const Datum* values,
                const char* nulls) {
    pg::pass_store_faults();
    const Kept kept = plan_for(hub, key, statement);
    const auto execute_it = [&kept, values, nulls, &statement] {
        return SPI_execute_plan(kept.plan, const_cast<Datum*>(values), nulls, statement.read_only,
                                0);
    };
    const int result = kept.pinned ? with_pinned_path(execute_it) : execute_it();
    if (result < 0) {
        elog(ERROR, "a store statement failed: %s", SPI_result_code_string(result));
    }
    if (hub.stale && !statement.read_only) [[unlikely]] {
        // It may have waited for a table while the hub went to another server.
        check_is_here(hub);
    }
    return {SPI_tuptable, SPI_processed};
}

void run_once(const char* sql) {
    pg::pass_store_faults();
    const int result = SPI_execute(sql, false, 0);
    if (result < 0) {
        elog(ERROR, "a store statement failed: %s", SPI_result_code_string(result));
    }
}

}  // namespace belay::store
