// page.cpp — arguments, cursors and answers of the browse functions.
//
// Calls    nothing
// Touches  nothing
// Locks    nothing
// Raises   QB006
#include "ops/browse/page.hpp"

#include "core/cursor.hpp"
#include "ops/input.hpp"
#include "pg/datum.hpp"
#include "pg/errors.hpp"
#include "pg/jsonb.hpp"

namespace belay::ops {

namespace {

namespace json = core::json;

constexpr int32 kDefaultLimit = 50;
constexpr int32 kMostRows = 1000;
constexpr int32 kMostPortion = 500;
constexpr int32 kDefaultScan = 10000;
constexpr int32 kLeastScan = 100;
constexpr int32 kMostScan = 100000;
constexpr int32 kDefaultPreview = 200;
constexpr int32 kMostPreview = 10000;
// A document whose stored form is larger is not read for a preview.
constexpr Size kMostDocument = Size{64} << 10;

int32 checked_between(const char* path, std::optional<int32> value, int32 fallback, int32 least,
                      int32 most) {
    const int32 number = value.value_or(fallback);
    if (number < least || number > most) {
        pg::raise(pg::kInvalidArgument, psprintf("%s must be from %d to %d", path, least, most),
                  pg::Facts("out_of_range").add("path", path).add("value", number),
                  "Ask for several smaller pages.");
    }
    return number;
}

std::size_t checked_order(std::optional<std::string_view> order,
                          std::span<const char* const> orders) {
    StringInfo known = makeStringInfo();
    for (std::size_t i = 0; i < orders.size(); ++i) {
        if (!order || *order == orders[i]) {
            return i;
        }
        appendStringInfo(known, "%s%s", i == 0 ? "" : ", ", orders[i]);
    }
    pg::raise(pg::kInvalidArgument, psprintf("unrecognized p_order \"%s\"", pg::excerpt(*order)),
              pg::Facts("bad_value").add("path", "p_order").add("value", *order),
              psprintf("Orders are %s.", known->data));
}

// ---- Cursors ----

void append_cursor(StringInfo out, const char* identity, Jsonb* key) {
    const std::string_view text = pg::print_jsonb(key);
    const std::size_t size = core::cursor_size(text.size());
    enlargeStringInfo(out, static_cast<int>(size));
    core::write_cursor(identity, text, out->data + out->len);
    out->len += static_cast<int>(size);
    out->data[out->len] = '\0';
}

// The key of a cursor; what is no cursor, or one of another list, is refused.
Jsonb* read_cursor(const char* identity, std::string_view cursor) {
    auto* room = static_cast<char*>(palloc(cursor.size() / 2 + 1));
    const auto key = core::read_cursor(identity, cursor, room);
    if (!key) {
        pg::raise_invalid("bad_cursor", "p_after", "p_after is no cursor of this list",
                          "Pass next of the page before, with the same filter and order.");
    }
    return DatumGetJsonbP(pg::jsonb_datum(*key));
}

// ---- Bodies ----

void append_body(StringInfo out, const char* name, std::optional<std::string_view> preview,
                 int64 bytes) {
    appendStringInfo(out, ", \"%s\": ", name);
    if (preview) {
        append_json(out, *preview);
    } else {
        appendStringInfoString(out, "null");
    }
    appendStringInfo(out, ", \"%s_bytes\": " INT64_FORMAT, name, bytes);
}

void append_document(StringInfo out, const char* name,
                     const std::optional<store::Unread<Jsonb*>>& body, std::size_t preview) {
    if (!body) {
        append_body(out, name, std::nullopt, 0);
        return;
    }
    const Size stored = toast_raw_datum_size(body->value);
    if (stored > kMostDocument) {
        append_body(out, name, std::nullopt, static_cast<int64>(stored));
        return;
    }
    const std::string_view text = pg::print_jsonb(DatumGetJsonbP(body->value));
    append_body(out, name, clip(text, preview), static_cast<int64>(text.size()));
}

void append_text(StringInfo out, const char* name,
                 const std::optional<store::Unread<store::Text>>& body, std::size_t preview) {
    if (!body) {
        append_body(out, name, std::nullopt, 0);
        return;
    }
    const auto bytes = static_cast<int64>(toast_raw_datum_size(body->value)) - VARHDRSZ;
    // Enough for the character that the end may lie in.
    const auto* slice =
        DatumGetTextPSlice(body->value, 0, static_cast<int32>(preview) + MAX_MULTIBYTE_CHAR_LEN);
    const std::string_view text(VARDATA_ANY(slice),
                                static_cast<std::size_t>(VARSIZE_ANY_EXHDR(slice)));
    append_body(out, name, clip(text, preview), bytes);
}

}  // namespace

PageRequest open_page(const PageArguments& arguments, std::span<const char* const> filter_keys,
                      std::span<const char* const> orders) {
    PageRequest request{};
    request.filter = checked_object("p_filter", arguments.filter);
    check_members(request.filter, "p_filter", filter_keys);
    request.order = checked_order(arguments.order, orders);
    request.range.limit = checked_between("p_limit", arguments.limit, kDefaultLimit, 1, kMostRows);
    request.range.scan =
        checked_between("p_scan", arguments.scan, kDefaultScan, kLeastScan, kMostScan);
    request.preview = static_cast<std::size_t>(
        checked_between("p_preview", arguments.preview, kDefaultPreview, 0, kMostPreview));
    request.identity =
        psprintf("%s %s %.*s %.*s ", arguments.function, orders[request.order],
                 static_cast<int>(arguments.scope.size()), arguments.scope.data(),
                 static_cast<int>(request.filter.text.size()), request.filter.text.data());
    request.range.after =
        arguments.after ? read_cursor(request.identity, *arguments.after) : nullptr;
    return request;
}

Jsonb* page_answer(const PageRequest& request, const store::PageRows& rows, const BodyNames& bodies,
                   ListEnd end) {
    StringInfo out = makeStringInfo();
    appendStringInfoString(out, "{\"rows\": [");
    int64 scanned = 0;
    Jsonb* next = end == ListEnd::kNever ? request.range.after : nullptr;
    bool first = true;
    for (const auto [fits, last, nr, key, row, document, document2, text, text2] : rows) {
        scanned = nr;
        // The last row of the index, unless the budget or the limit ended the walk.
        const bool at_end = last && nr < request.range.scan && end == ListEnd::kLastRow;
        next = at_end ? nullptr : key;
        if (!fits) {
            continue;
        }
        appendStringInfoString(out, first ? "" : ", ");
        first = false;
        const std::string_view columns = pg::print_jsonb(row);
        appendBinaryStringInfo(out, columns.data(), static_cast<int>(columns.size()) - 1);
        const auto& [documents, texts] = bodies;
        if (documents[0] != nullptr) {
            append_document(out, documents[0], document, request.preview);
        }
        if (documents[1] != nullptr) {
            append_document(out, documents[1], document2, request.preview);
        }
        if (texts[0] != nullptr) {
            append_text(out, texts[0], text, request.preview);
        }
        if (texts[1] != nullptr) {
            append_text(out, texts[1], text2, request.preview);
        }
        appendStringInfoChar(out, '}');
    }
    appendStringInfoString(out, "], \"next\": ");
    if (next == nullptr) {
        appendStringInfoString(out, "null");
    } else {
        appendStringInfoChar(out, '"');
        append_cursor(out, request.identity, next);
        appendStringInfoChar(out, '"');
    }
    appendStringInfo(out, ", \"scanned\": " INT64_FORMAT "}", scanned);
    return DatumGetJsonbP(pg::jsonb_datum({out->data, static_cast<std::size_t>(out->len)}));
}

PageRequest open_portion(const char* function, const BulkArguments& arguments,
                         std::span<const char* const> filter_keys,
                         std::span<const char* const> orders) {
    const int32 limit = checked_between("p_limit", arguments.limit, kMostPortion, 1, kMostPortion);
    return open_page({.function = function,
                      .filter = arguments.filter,
                      .order = arguments.order,
                      .after = arguments.after,
                      .limit = limit,
                      .scan = arguments.scan,
                      .preview = 0,
                      .scope = ""},
                     filter_keys, orders);
}

ChosenRows chosen_rows(const PageRequest& request, const store::PageRows& rows) {
    ChosenRows chosen{};
    Jsonb* next = nullptr;
    for (const auto [fits, last, nr, key, row, document, document2, text, text2] : rows) {
        next = last && nr < request.range.scan ? nullptr : key;
        if (fits) {
            chosen.rows.add(json::known(pg::print_jsonb(row)));
        }
    }
    if (next != nullptr) {
        StringInfo cursor = makeStringInfo();
        append_cursor(cursor, request.identity, next);
        chosen.next = cursor->data;
    }
    return chosen;
}

bool names_objects(const PageRequest& request) {
    if (!json::find(request.filter, "ids")) {
        return false;
    }
    if (json::count(request.filter) != 1) {
        pg::raise_invalid("bad_value", "p_filter.ids",
                          "p_filter.ids cannot be combined with other keys",
                          "Name the objects, or describe them.");
    }
    return true;
}

void check_named(std::size_t count) {
    check_elements("p_filter.ids", count, kMostPortion);
}

void Tally::add_failure(std::string_view id, int sqlstate, std::string_view word) {
    appendStringInfoString(failed, refused == 0 ? "{\"id\": " : ", {\"id\": ");
    append_json(failed, id);
    appendStringInfo(failed, ", \"code\": \"%s\", \"word\": ", unpack_sql_state(sqlstate));
    append_json(failed, word);
    appendStringInfoChar(failed, '}');
    ++refused;
}

Jsonb* Tally::answer(const char* next) const {
    StringInfo out = makeStringInfo();
    appendStringInfo(out,
                     "{\"done\": " INT64_FORMAT ", \"skipped\": " INT64_FORMAT
                     ", \"failed\": [%s], \"next\": ",
                     done, skipped, failed->data);
    if (next == nullptr) {
        appendStringInfoString(out, "null}");
    } else {
        appendStringInfo(out, "\"%s\"}", next);
    }
    return DatumGetJsonbP(pg::jsonb_datum({out->data, static_cast<std::size_t>(out->len)}));
}

}  // namespace belay::ops
