#include "operations.hpp"

#include <memory>

namespace belay::test::model {

namespace {

std::string field_of(const PGresult* result, int field) {
    const char* text = PQresultErrorField(result, field);
    return text != nullptr ? text : "";
}

}  // namespace

Answer ask(Conn& conn, const std::string& sql) {
    const std::unique_ptr<PGresult, void (*)(PGresult*)> result(PQexec(conn.raw(), sql.c_str()),
                                                                &PQclear);
    Answer answer;
    const auto status = PQresultStatus(result.get());
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
        answer.sqlstate = field_of(result.get(), PG_DIAG_SQLSTATE);
        answer.message = field_of(result.get(), PG_DIAG_MESSAGE_PRIMARY);
        answer.detail = field_of(result.get(), PG_DIAG_MESSAGE_DETAIL);
        answer.hint = field_of(result.get(), PG_DIAG_MESSAGE_HINT);
        if (answer.sqlstate.empty()) {
            answer.sqlstate = "08006";
        }
        return answer;
    }
    for (int row = 0; row < PQntuples(result.get()); ++row) {
        auto& fields = answer.rows.emplace_back();
        for (int column = 0; column < PQnfields(result.get()); ++column) {
            fields.push_back(PQgetisnull(result.get(), row, column)
                                 ? Text()
                                 : Text(PQgetvalue(result.get(), row, column)));
        }
    }
    return answer;
}

std::span<const Operation> operations() {
    static const std::vector<Operation> all = [] {
        std::vector<Operation> list;
        for (const auto part : {worker_operations(), message_operations(), turn_operations(),
                                state_operations(), dead_letter_operations(), hub_operations(),
                                management_operations(), removal_operations()}) {
            list.insert(list.end(), part.begin(), part.end());
        }
        return list;
    }();
    return all;
}

}  // namespace belay::test::model
