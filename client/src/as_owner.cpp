// Statements with the rights of a hub's owner: one call of belay.run_as_owner whose answer is
// folded back into the rows of the statement.
//
// May touch: the connection that it is given. Must not: put a value into the text; format() quotes
// it on the server.
#include "as_owner.hpp"

#include <libpq-fe.h>

#include <cctype>
#include <map>

namespace belay {
namespace {

// The name of a parameter's type: format() keeps values, not types.
const char* type_name(unsigned oid) {
    switch (oid) {
        case 16:
            return "boolean";
        case 20:
            return "bigint";
        case 23:
            return "integer";
        case 25:
            return "text";
        case 701:
            return "double precision";
        case 1007:
            return "integer[]";
        case 1009:
            return "text[]";
        case 1016:
            return "bigint[]";
        case 2950:
            return "uuid";
        case 2951:
            return "uuid[]";
        case 3802:
            return "jsonb";
        default:
            throw Error(
                {.message = "no name for the type " + std::to_string(oid) + " of a parameter",
                 .sqlstate = "0A000"});
    }
}

// Rows of (number of the row, number of the column, field) as the result that they came from. Row 0
// has the names of the columns.
Result folded(const Result& fields) {
    std::vector<std::string> names;
    for (int i = 0; i < fields.size(); ++i) {
        if (fields.get<std::int64_t>(i, 0) == 0 && !fields.is_null(i, 1)) {
            const auto column = static_cast<std::size_t>(fields.get<std::int64_t>(i, 1));
            names.resize(std::max(names.size(), column));
            names[column - 1] = fields.get<std::string>(i, 2);
        }
    }
    std::vector<PGresAttDesc> columns(names.size());
    for (std::size_t i = 0; i < names.size(); ++i) {
        columns[i].name = names[i].data();
        columns[i].typid = 25;
        columns[i].typlen = -1;
        columns[i].atttypmod = -1;
    }
    Result result(PQmakeEmptyPGresult(nullptr, PGRES_TUPLES_OK));
    PGresult* raw = result.raw();
    bool good = raw != nullptr &&
                (columns.empty() ||
                 PQsetResultAttrs(raw, static_cast<int>(columns.size()), columns.data()) == 1);
    for (int i = 0; good && i < fields.size(); ++i) {
        const auto row = fields.get<std::int64_t>(i, 0);
        if (row == 0 || fields.is_null(i, 1)) {
            continue;
        }
        const bool is_null = fields.is_null(i, 2);
        std::string text = is_null ? "" : fields.get<std::string>(i, 2);
        good = PQsetvalue(raw, static_cast<int>(row - 1),
                          static_cast<int>(fields.get<std::int64_t>(i, 1) - 1), text.data(),
                          is_null ? -1 : static_cast<int>(text.size())) == 1;
    }
    if (!good) {
        throw Error({.message = "out of memory", .sqlstate = "53200"});
    }
    return result;
}

}  // namespace

std::string owner_template(std::string_view sql, const Params& params) {
    std::string text;
    for (std::size_t i = 0; i < sql.size(); ++i) {
        if (sql[i] == '%') {
            text += "%%";
            continue;
        }
        std::size_t end = i + 1;
        while (sql[i] == '$' && end < sql.size() &&
               std::isdigit(static_cast<unsigned char>(sql[end])) != 0) {
            ++end;
        }
        if (end == i + 1) {
            text += sql[i];
            continue;
        }
        const std::string number(sql.substr(i + 1, end - i - 1));
        const std::size_t at = std::stoul(number);
        if (at == 0 || at > params.size()) {
            throw Error({.message = "there is no parameter $" + number, .sqlstate = "42P02"});
        }
        text += "%" + number + "$L::" + type_name(params[at - 1].type());
        i = end - 1;
    }
    return text;
}

Result call_as_owner(Connection& connection, const std::string& hub, Effect effect,
                     std::string_view sql, const Params& params, const Where& where) {
    std::string outer =
        "SELECT r.nr, u.i, u.f FROM belay.run_as_owner($1::name, pg_catalog.format($2::text";
    Params all = {hub, owner_template(sql, params)};
    for (const auto& param : params) {
        all.push_back(param);
        outer += ", $" + std::to_string(all.size());
    }
    outer +=
        ")) AS r(nr, fields) "
        "LEFT JOIN LATERAL pg_catalog.unnest(r.fields) WITH ORDINALITY AS u(f, i) ON true";
    return folded(connection.call(effect, outer, all, where));
}

}  // namespace belay
