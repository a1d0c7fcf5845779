// Reading the arguments of a call, each with the error that names it.
//
// Touches  the call's arguments
// Must not know what a verb means
#include "entry/call.hpp"

#include "ops/input.hpp"
#include "pg/datum.hpp"
#include "pg/errors.hpp"

namespace belay::entry {

namespace {

// What is done for each element costs memory until the call ends.
ArrayType* checked_array(ArrayType* array, const char* name) {
    ops::check_elements(name,
                        static_cast<std::size_t>(ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array))));
    return array;
}

}  // namespace

std::optional<std::string_view> Call::text(int i) const {
    if (!has(i)) {
        return std::nullopt;
    }
    return pg::text_view(PG_GETARG_DATUM(at(i)));
}

std::string_view Call::required_text(int i, const char* name) const {
    const auto value = text(i);
    if (!value) {
        pg::raise_invalid("null", name, psprintf("%s must not be null", name), "Pass a value.");
    }
    return *value;
}

std::string_view Call::required_name(int i, const char* name) const {
    if (!has(i)) {
        pg::raise_invalid("null", name, psprintf("%s must not be null", name), "Pass a value.");
    }
    return pstrdup(NameStr(*PG_GETARG_NAME(at(i))));
}

std::optional<int64> Call::int8(int i) const {
    return has(i) ? std::optional(PG_GETARG_INT64(at(i))) : std::nullopt;
}

std::optional<int32> Call::int4(int i) const {
    return has(i) ? std::optional(PG_GETARG_INT32(at(i))) : std::nullopt;
}

std::optional<bool> Call::boolean(int i) const {
    return has(i) ? std::optional(PG_GETARG_BOOL(at(i))) : std::nullopt;
}

std::optional<pg_uuid_t> Call::uuid(int i) const {
    return has(i) ? std::optional(*PG_GETARG_UUID_P(at(i))) : std::nullopt;
}

pg_uuid_t Call::required_uuid(int i, const char* name) const {
    const auto value = uuid(i);
    if (!value) {
        pg::raise_invalid("null", name, psprintf("%s must not be null", name), "Pass an id.");
    }
    return *value;
}

Jsonb* Call::jsonb(int i) const {
    return has(i) ? PG_GETARG_JSONB_P(at(i)) : nullptr;
}

std::span<const Datum> Call::texts(int i, const char* name) const {
    if (!has(i)) {
        return {};
    }
    ArrayType* array = checked_array(PG_GETARG_ARRAYTYPE_P(at(i)), name);
    Datum* values = nullptr;
    bool* nulls = nullptr;
    int count = 0;
    deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &values, &nulls, &count);
    for (int at = 0; at < count; ++at) {
        if (nulls[at]) {
            values[at] = 0;
        }
    }
    return {values, static_cast<std::size_t>(count)};
}

std::span<const NullableDatum> Call::elements(int i, const char* name, Oid type) const {
    if (!has(i)) {
        return {};
    }
    ArrayType* array = checked_array(PG_GETARG_ARRAYTYPE_P(at(i)), name);
    int16 length = 0;
    bool by_value = false;
    char alignment = 0;
    get_typlenbyvalalign(type, &length, &by_value, &alignment);
    Datum* values = nullptr;
    bool* nulls = nullptr;
    int count = 0;
    deconstruct_array(array, type, length, by_value, alignment, &values, &nulls, &count);
    auto* found =
        static_cast<NullableDatum*>(palloc(sizeof(NullableDatum) * static_cast<Size>(count + 1)));
    for (int at = 0; at < count; ++at) {
        found[at] = {values[at], nulls[at]};
    }
    return {found, static_cast<std::size_t>(count)};
}

pg::Clock Call::clock(int p_now_ms) const {
    return pg::start_clock(int8(p_now_ms), hub.options[store::Option::kMaxClockSkew]);
}

pg::Clock Call::unchecked_clock(int p_now_ms) const {
    return pg::start_clock(int8(p_now_ms), 0);
}

pg::Clock Call::clock() const {
    return pg::start_clock(std::nullopt, hub.options[store::Option::kMaxClockSkew]);
}

pg::Clock Call::unchecked_clock() const {
    return pg::start_clock(std::nullopt, 0);
}

Datum Call::null() const {
    fcinfo->isnull = true;
    return static_cast<Datum>(0);
}

Datum Call::answer(std::string_view text) const {
    MemoryContext old = MemoryContextSwitchTo(result_memory);
    const Datum value = pg::text_datum(text);
    MemoryContextSwitchTo(old);
    return value;
}

ops::SlotFilter Call::slots(int i) const {
    if (!has(i)) {
        return {true, {}};
    }
    ArrayType* array = checked_array(PG_GETARG_ARRAYTYPE_P(at(i)), "p_slots");
    Datum* values = nullptr;
    bool* nulls = nullptr;
    int given = 0;
    deconstruct_array(array, INT4OID, sizeof(int32), true, TYPALIGN_INT, &values, &nulls, &given);
    auto* wanted = static_cast<int32*>(palloc(sizeof(int32) * static_cast<Size>(given + 1)));
    std::size_t count = 0;
    for (int at = 0; at < given; ++at) {
        if (!nulls[at]) {
            wanted[count++] = DatumGetInt32(values[at]);
        }
    }
    return {false, {wanted, count}};
}

void Call::prepare_row() const {
    if (site->row == nullptr) {
        TupleDesc row = nullptr;
        Oid type = InvalidOid;
        switch (get_call_result_type(fcinfo, &type, &row)) {
            case TYPEFUNC_COMPOSITE:
                break;
            case TYPEFUNC_SCALAR:  // a set of one column is a set of plain values
                row = CreateTemplateTupleDesc(1);
                TupleDescInitEntry(row, 1, "value", type, -1, 0);
                break;
            default:
                elog(ERROR, "a function of language belay does not return rows");
        }
        MemoryContext old = MemoryContextSwitchTo(CacheMemoryContext);
        site->row = BlessTupleDesc(CreateTupleDescCopy(row));
        MemoryContextSwitchTo(old);
    }
}

Datum Call::one_row(const Datum* values, const bool* nulls) const {
    MemoryContext old = MemoryContextSwitchTo(result_memory);
    prepare_row();
    // heap_form_tuple only reads them.
    HeapTuple tuple =
        heap_form_tuple(site->row, const_cast<Datum*>(values), const_cast<bool*>(nulls));
    const Datum result = HeapTupleGetDatum(tuple);
    MemoryContextSwitchTo(old);
    return result;
}

Datum Call::no_row() const {
    auto* info = reinterpret_cast<ReturnSetInfo*>(fcinfo->resultinfo);
    if (info == nullptr || !IsA(info, ReturnSetInfo)) {
        ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                        errmsg("set-valued function called in context that cannot accept a set")));
    }
    info->isDone = ExprEndResult;
    return null();
}

Call::Set Call::set() const {
    auto* info = reinterpret_cast<ReturnSetInfo*>(fcinfo->resultinfo);
    if (info == nullptr || !IsA(info, ReturnSetInfo) ||
        (info->allowedModes & SFRM_Materialize) == 0) {
        ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                        errmsg("set-valued function called in context that cannot accept a set")));
    }
    prepare_row();
    MemoryContext old = MemoryContextSwitchTo(info->econtext->ecxt_per_query_memory);
    TupleDesc row = CreateTupleDescCopy(site->row);  // the executor frees it
    info->returnMode = SFRM_Materialize;
    info->setResult =
        tuplestore_begin_heap((info->allowedModes & SFRM_Materialize_Random) != 0, false, work_mem);
    info->setDesc = row;
    MemoryContextSwitchTo(old);
    return {info->setResult, row};
}

Call::Set answer_rows(FunctionCallInfo fcinfo) {
    InitMaterializedSRF(fcinfo, 0);
    const auto* info = reinterpret_cast<ReturnSetInfo*>(fcinfo->resultinfo);
    return {info->setResult, info->setDesc};
}

}  // namespace belay::entry
