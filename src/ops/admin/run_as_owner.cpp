// run_as_owner.cpp — run a statement with the rights of a hub's owner, and with none of the
// caller's.
//
// The owner of a hub can put code into its views and functions. A superuser who reads them by hand
// runs that code as superuser, and SET ROLE does not help: the code can reset it. Here it runs in a
// security-restricted operation, as maintenance commands do.
//
// Calls    SPI
// Touches  what the statement touches
// Locks    what the statement locks
// Raises   QB002 unknown hub, 42501
// Races    none: it decides nothing itself
// Faults   none: it writes nothing itself
#include "ops/admin/admin.hpp"
#include "pg/errors.hpp"
#include "pg/scopes.hpp"
#include "store/hub.hpp"

namespace belay::ops {

namespace {

// A row as an array of text; read gives a column's text, or null.
template <typename Read>
Datum text_row(int columns, Read read) {
    auto* values = static_cast<Datum*>(palloc(sizeof(Datum) * static_cast<Size>(columns)));
    auto* nulls = static_cast<bool*>(palloc(sizeof(bool) * static_cast<Size>(columns)));
    for (int i = 0; i < columns; ++i) {
        const char* text = read(i + 1);
        nulls[i] = text == nullptr;
        values[i] = nulls[i] ? 0 : CStringGetTextDatum(text);
    }
    int dims[] = {columns};
    int lower[] = {1};
    return PointerGetDatum(construct_md_array(values, nulls, columns == 0 ? 0 : 1, dims, lower,
                                              TEXTOID, -1, false, TYPALIGN_INT));
}

void run_statement(const char* statement, TextRowVisitor visit, const void* context) {
    const int result = SPI_execute(statement, false, 0);
    if (result < 0) {
        ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                        errmsg("statement cannot be run with the owner's rights: %s",
                               SPI_result_code_string(result))));
    }
    SPITupleTable* rows = SPI_tuptable;
    if (rows == nullptr) {
        return;
    }
    const TupleDesc descriptor = rows->tupdesc;
    visit(0,
          text_row(descriptor->natts,
                   [descriptor](int column) { return SPI_fname(descriptor, column); }),
          context);
    for (uint64 i = 0; i < rows->numvals; ++i) {
        HeapTuple row = rows->vals[i];
        visit(i + 1,
              text_row(
                  descriptor->natts,
                  [descriptor, row](int column) { return SPI_getvalue(row, descriptor, column); }),
              context);
    }
}

}  // namespace

void run_as_owner(const char* name, const char* statement, TextRowVisitor visit,
                  const void* context) {
    const store::Hub& hub = store::hub_by_name(name);
    const Oid owner = hub.owner;
    if (!has_privs_of_role(GetUserId(), owner)) {
        pg::raise_not_owner(name);
    }
    pg::as_role(owner, [statement, visit, context] {
        pg::with_spi([statement, visit, context] { run_statement(statement, visit, context); });
    });
}

}  // namespace belay::ops
