// Typed statements of the store.
//
//     constexpr auto kFind = statement<In<int32, std::string_view>,
//                                      Out<int64, std::optional<std::string_view>>>(R"sql(
//         SELECT q.id, q.name FROM {hub}.queue AS q WHERE q.lane {=} $1 AND q.key {=} $2
//     )sql");
//
//     for (const auto [id, name] : run(hub, kFind, lane, key)) { … }
//
// A wrong number or type of arguments, a text that does not use exactly the declared parameters,
// and a row taken apart into a wrong number of columns do not compile. Which columns a text yields
// only the server knows: run compares them with the declaration, once per execution, because the
// owner of a hub can alter its tables.
//
// May touch: SPI, through plan.hpp. Must not: name a table. How texts are written is in
// src/README.md, "Store SQL".
#pragma once

#include <memory>
#include <tuple>

#include "store/plan.hpp"
#include "store/sql_types.hpp"

namespace belay::store {

// ---- Rows ----

template <typename Column>
Column read_column(Datum value, bool null, int column) {
    using Value = NotNull<Column>;
    if constexpr (std::is_pointer_v<Column>) {
        return null ? nullptr : SqlType<Value>::from(value);
    } else if constexpr (Nullable<Column>::value) {
        return null ? Column() : Column(SqlType<Value>::from(value));
    } else {
        if (null) {
            raise_unexpected_null(column);
        }
        return SqlType<Value>::from(value);
    }
}

// The rows of a statement with these columns. A row is read when it is asked for.
template <typename... Columns>
struct RowsOf : Listing {
    static constexpr std::array<Oid, sizeof...(Columns)> kTypes{kTypeOf<Columns>...};
    using Row = std::tuple<Columns...>;

    Row operator[](uint64 row) const {
        constexpr int kRoom = sizeof...(Columns);
        Datum values[kRoom];
        bool nulls[kRoom];
        get(row, values, nulls);
        return [&values, &nulls ]<std::size_t... I>(std::index_sequence<I...>) {
            return Row{read_column<Columns>(values[I], nulls[I], static_cast<int>(I) + 1)...};
        }
        (std::index_sequence_for<Columns...>());
    }

    struct Iterator {
        const RowsOf* rows;
        uint64 at;

        Row operator*() const { return (*rows)[at]; }
        Iterator& operator++() {
            ++at;
            return *this;
        }
        bool operator==(const Iterator&) const = default;
    };
    Iterator begin() const { return {this, 0}; }
    Iterator end() const { return {this, count}; }

    // What make(columns...) makes of each row.
    template <typename Make>
    auto collect(Make make) const {
        using Item = std::invoke_result_t<Make, Columns...>;
        static_assert(std::is_trivially_destructible_v<Item>);
        auto* items = static_cast<Item*>(palloc(sizeof(Item) * (count + 1)));
        for (uint64 i = 0; i < count; ++i) {
            std::construct_at(&items[i], std::apply(make, (*this)[i]));
        }
        return std::span<Item>(items, static_cast<std::size_t>(count));
    }
    // A struct for each row, of the columns in their order.
    template <typename Item>
    auto collect() const {
        return collect([](Columns... columns) { return Item{columns...}; });
    }
    // What make(columns...) makes of the first row; no value if there is none.
    template <typename Make>
    auto first(Make make) const -> std::optional<std::invoke_result_t<Make, Columns...>> {
        return count == 0 ? std::nullopt : std::optional(std::apply(make, (*this)[0]));
    }
    template <typename Item>
    std::optional<Item> first() const {
        return first([](Columns... columns) { return Item{columns...}; });
    }
    // The only column of all rows.
    auto values() const {
        static_assert(sizeof...(Columns) == 1);
        return collect([](Columns... column) { return (column, ...); });
    }
};

template <>
struct RowsOf<> : Listing {};

// A row as a caller of one row gets it: a single column is its value.
template <typename Result>
struct OneOf;
template <typename... Columns>
struct OneOf<RowsOf<Columns...>> {
    using Row = std::tuple<Columns...>;
};
template <typename Column>
struct OneOf<RowsOf<Column>> {
    using Row = Column;
};
template <typename Result>
typename OneOf<Result>::Row first_of(const Result& rows) {
    if constexpr (Result::kTypes.size() == 1) {
        return std::get<0>(rows[0]);
    } else {
        return rows[0];
    }
}

// ---- Statements ----

// The types of a statement's parameters, and of its columns: none if it returns no rows. Listing
// instead of Out if the columns are those of a hub function, which lists them as they are.
template <typename... Parameters>
struct In {
    static constexpr std::array<Oid, sizeof...(Parameters)> kTypes{kTypeOf<Parameters>...};
};
template <typename... Columns>
using Out = RowsOf<Columns...>;

template <typename Parameters, typename Result>
struct StatementOf {
    SqlText text;
};

// The errors of a text that does not fit its declaration: they are not constexpr, so a call of them
// does not compile.
void the_text_has_parameters_that_are_not_declared();
void the_text_does_not_use_every_declared_parameter();

consteval void check_parameters(const char* sql, std::size_t count) {
    std::uint64_t used = 0;
    for (const char* at = sql; *at != '\0'; ++at) {
        if (*at != '$') {
            continue;
        }
        std::size_t number = 0;
        while (at[1] >= '0' && at[1] <= '9') {
            number = number * 10 + static_cast<std::size_t>(*++at - '0');
        }
        if (number == 0 || number > count) {
            the_text_has_parameters_that_are_not_declared();
        }
        used |= std::uint64_t{1} << number;
    }
    if (used != (std::uint64_t{2} << count) - 2) {
        the_text_does_not_use_every_declared_parameter();
    }
}

template <typename Parameters, typename Result>
consteval StatementOf<Parameters, Result> make_statement(const char* sql, bool read_only,
                                                         bool planned_freely) {
    static_assert(Parameters::kTypes.size() < 64);
    check_parameters(sql, Parameters::kTypes.size());
    return {{sql, read_only, planned_freely, static_cast<int>(Parameters::kTypes.size()),
             Parameters::kTypes.data()}};
}

// A statement: each execution sees the latest committed state, and what the call itself has
// written.
template <typename Parameters, typename Result>
consteval auto statement(const char* sql) {
    return make_statement<Parameters, Result>(sql, false, false);
}
// A statement that only reads, with the snapshot that is active: the one of the caller's query, or
// that of with_one_view.
template <typename Parameters, typename Result>
consteval auto query(const char* sql) {
    return make_statement<Parameters, Result>(sql, true, false);
}
// A query that reads whole tables: it is planned as the statistics say, not for its indexes.
template <typename Parameters, typename Result>
consteval auto report(const char* sql) {
    return make_statement<Parameters, Result>(sql, true, true);
}

// ---- Running them ----

template <typename Parameter, typename Argument>
void put(const Argument& argument, Datum* value, char* null) {
    *null = ' ';
    if constexpr (std::is_same_v<Argument, std::nullopt_t>) {
        *null = 'n';
        *value = 0;
    } else if constexpr (IsOptional<Argument>::value) {
        if (argument) {
            put<Parameter>(*argument, value, null);
        } else {
            put<Parameter>(std::nullopt, value, null);
        }
    } else if constexpr (IsArray<Argument>::value) {
        *value = argument.value;
    } else if constexpr (std::is_pointer_v<NotNull<Parameter>>) {
        *null = argument == nullptr ? 'n' : ' ';
        *value = argument == nullptr ? 0 : SqlType<NotNull<Parameter>>::to(argument);
    } else {
        *value = SqlType<NotNull<Parameter>>::to(argument);
    }
}

// Runs the statement on the hub and returns its rows. Inside with_spi only.
template <typename... Parameters, typename Result, typename... Arguments>
Result run(const Hub& hub, const StatementOf<In<Parameters...>, Result>& statement,
           const Arguments&... arguments) {
    static_assert(sizeof...(Arguments) == sizeof...(Parameters),
                  "a statement needs as many arguments as it has parameters");
    if constexpr (sizeof...(Arguments) == sizeof...(Parameters)) {
        static_assert((Fits<Parameters, Arguments>::value && ...),
                      "an argument of a statement needs the type of its parameter");
        if constexpr ((Fits<Parameters, Arguments>::value && ...)) {
            Datum values[sizeof...(Parameters) + 1];
            char nulls[sizeof...(Parameters) + 1];
            int at = 0;
            ((put<Parameters>(arguments, &values[at], &nulls[at]), ++at), ...);
            values[at] = 0;
            nulls[at] = '\0';
            const Result rows{execute(hub, &statement, statement.text, values, nulls)};
            if constexpr (!std::is_same_v<Result, Listing> && !std::is_same_v<Result, RowsOf<>>) {
                check_columns(rows.table->tupdesc, Result::kTypes);
            }
            return rows;
        }
    }
}

// Runs a statement that finds one row or none.
template <typename... Parameters, typename... Columns, typename... Arguments>
auto run_one(const Hub& hub, const StatementOf<In<Parameters...>, RowsOf<Columns...>>& statement,
             const Arguments&... arguments)
    -> std::optional<typename OneOf<RowsOf<Columns...>>::Row> {
    const auto rows = run(hub, statement, arguments...);
    return rows.count == 0 ? std::nullopt : std::optional(first_of(rows));
}

// Runs a statement that has to change or find exactly one row, and raises otherwise. Returns the
// row, if the statement does.
template <typename... Parameters, typename... Columns, typename... Arguments>
auto run_for_one(const Hub& hub,
                 const StatementOf<In<Parameters...>, RowsOf<Columns...>>& statement,
                 const Arguments&... arguments) {
    const auto rows = run(hub, statement, arguments...);
    check_one(hub, rows.count);
    if constexpr (sizeof...(Columns) > 0) {
        return first_of(rows);
    }
}

// Whether the statement finds or changes a row.
template <typename... Parameters, typename Result, typename... Arguments>
bool run_any(const Hub& hub, const StatementOf<In<Parameters...>, Result>& statement,
             const Arguments&... arguments) {
    return run(hub, statement, arguments...).count > 0;
}

}  // namespace belay::store
