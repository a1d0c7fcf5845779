// What the reads of a hub are written with: statements that keep their text and time, pages of
// browse functions, and checked parts of a request.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "api_reads.hpp"
#include "statement.hpp"

namespace belay::tool::dashboard {

constexpr int kPreview = 200;     // bytes of a body in a list
constexpr int kBody = 16 * 1024;  // bytes of a body on a page

// Runs statements and keeps their text and time for the answer.
class Reader {
 public:
    explicit Reader(ReadRequest& request) : request_(request) {}

    Hub& hub() { return request_.hub; }
    const Route& route() const { return request_.route; }
    const std::string& id(std::size_t at = 0) const { return request_.route.ids.at(at); }
    bool is_operator() const { return request_.is_operator; }
    const std::vector<std::string>& redact() const { return request_.redact; }
    bool shows_whole_bodies() const { return request_.shows_bodies && request_.redact.empty(); }

    // {h} stands for the hub's schema.
    Result rows(std::string_view sql, const Values& values = {}) {
        return rows_and(sql, "", values);
    }

    // With more columns than the page shows: the clock, an estimate.
    Result rows_and(std::string_view sql, const std::string& more, const Values& values) {
        const std::string text = with_schema(std::string(sql) + more, hub().schema());
        const auto begin = std::chrono::steady_clock::now();
        const Result result = hub().query(Effect::kRepeatable, text, params_of(values));
        took_ += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
                     .count();
        last_shown_ = shown(with_schema(sql, shown_identifier(hub().name())), values) + ";";
        shown_ += (shown_.empty() ? "" : "\n") + last_shown_;
        return result;
    }

    // The JSON in the first field of the first row; null if there is none.
    Json value(std::string_view sql, const Values& values = {}) {
        const Result result = rows(sql, values);
        return result.empty() || result.is_null(0, 0) ? Json(nullptr)
                                                      : Json::parse(result.get<std::string>(0, 0));
    }

    // As value(), of an object that has to be there.
    Json object(const std::string& what, std::string_view sql, const Values& values = {}) {
        Json json = value(sql, values);
        if (json.is_null()) {
            throw NotFound(what + " does not exist");
        }
        return json;
    }

    // A statement that only some roles may run, or that an older hub does not know; discarded then.
    Json if_allowed(std::string_view sql, const Values& values = {}) {
        try {
            return value(sql, values);
        } catch (const Error& error) {
            if (error.sqlstate() != "42501" && error.sqlstate() != "42883") {
                throw;
            }
            return Json(Json::value_t::discarded);
        }
    }

    // The last statement, as a page shows it.
    const std::string& last_shown() const { return last_shown_; }

    // The answer with what every answer has.
    Json finished(Json json) const {
        json["took_ms"] = static_cast<double>(static_cast<std::int64_t>(took_ * 10)) / 10;
        json["sql"] = shown_;
        return json;
    }

 private:
    static std::string with_schema(std::string_view sql, const std::string& schema) {
        std::string text(sql);
        for (std::size_t at = 0; (at = text.find("{h}", at)) != std::string::npos;) {
            text.replace(at, 3, schema);
            at += schema.size();
        }
        return text;
    }

    ReadRequest& request_;
    std::string shown_;
    std::string last_shown_;
    double took_ = 0;
};

constexpr const char* kNow = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

// A timestamp in milliseconds.
std::string ms(const std::string& column);
// The first bytes of a text, and its size.
std::string body_sql(const std::string& text);

Uuid uuid_of(const std::string& text, const std::string& what);
std::int64_t number_of(const std::string& text, const char* what, std::int64_t least,
                       std::int64_t most);
int limit_of(const Route& route);
// Throws BadRequest for a filter that looks into bodies of which not all is shown.
void refuse_body_filters(const Json& filter, bool bodies_are_whole);
// The filter of a list, with nothing but these keys.
Json filter_of(const Reader& reader, const std::set<std::string>& keys);
OptionalText order_of(const Route& route);

// A page of a browse function: its rows, and where the next one begins. A download is several
// pages.
//
// estimate: the table whose size says how much there is to search; none if the order does not
// follow the whole table. newest: an expression for the newest object that there is: what is
// created later is not among "all that match".
Json browse(Reader& reader, const std::string& function, const Json& filter,
            const OptionalText& order, const char* estimate, int preview = kPreview,
            const std::string& newest = {});

// What the page calls a body that the function calls otherwise.
void rename(Json& row, const char* from, const char* to);
// A number that can be too large for JavaScript.
void as_text(Json& row, const char* key);

}  // namespace belay::tool::dashboard
