// input.cpp — checks of what callers send, each with the path of the argument.
//
// Calls    no function of the store
// Touches  nothing
// Locks    nothing
// Raises   QB006
#include "ops/input.hpp"

#include <algorithm>

#include "core/hash.hpp"
#include "pg/datum.hpp"
#include "pg/errors.hpp"
#include "pg/jsonb.hpp"
#include "pg/list.hpp"
#include "pg/once.hpp"

namespace belay::ops {

namespace {

namespace json = core::json;

const char* problem_text(std::string_view code) {
    if (code == "not_json")
        return "is not valid JSON";
    if (code == "not_an_object")
        return "is not a JSON object";
    if (code == "not_one_key")
        return "is not an object with exactly one key, the kind";
    if (code == "missing_field")
        return "is missing";
    if (code == "wrong_type")
        return "has a wrong type";
    if (code == "escaped_nul")
        return "contains an escaped NUL, which text cannot hold";
    if (code == "wrong_kind")
        return "is of a kind that does not belong here";
    return "has a value that is not allowed";
}

[[noreturn]] void raise_unknown_key(const Path& path, std::string_view raw_key) {
    const std::string_view name = decode(json::Value{json::Kind::kString, raw_key});
    pg::raise(pg::kInvalidArgument,
              psprintf("%s has an unrecognized key \"%s\"", path.text(), pg::excerpt(name)),
              pg::Facts("unknown_key").add("path", path.text()).add("key", name),
              "Check the spelling: an unrecognized key is refused rather than ignored.");
}

void refuse_below_one(const char* path, int64 value, const char* hint) {
    if (value < 1) {
        pg::raise(pg::kInvalidArgument, psprintf("%s must be at least 1", path),
                  pg::Facts("out_of_range").add("path", path).add("value", value), hint);
    }
}

}  // namespace

const char* Path::text() const {
    StringInfo out = makeStringInfo();
    appendStringInfoString(out, argument);
    if (index) {
        appendStringInfo(out, "[%zu]", *index);
    }
    if (name != nullptr) {
        appendStringInfo(out, ".%s", name);
    }
    return out->data;
}

void warn_of_unknown_kind(const store::Hub& hub, std::string_view raw_kind) {
    if (hub.api == store::Api::kDuroxidePg || !pg::is_first(core::fnv1a64(raw_kind))) {
        return;
    }
    ereport(WARNING, (errmsg("work item of unrecognized kind %s", pg::excerpt(raw_kind)),
                      errdetail("It is stored and delivered as it is."),
                      errhint("Check the spelling: work items for workers are of kind "
                              "ActivityExecute.")));
}

void raise_problem(const Path& argument, const core::Problem& problem) {
    const char* path = psprintf("%s%s", argument.text(), problem.path);
    pg::raise_invalid(
        problem.code_detail, path, psprintf("%s %s", path, problem_text(problem.code_detail)),
        "Send one JSON object with one key, the kind of the item, and the fields that "
        "the kind needs.");
}

std::string_view decode(json::Value string) {
    auto* out = static_cast<char*>(palloc(json::decoded_bound(string) + 1));
    return {out, json::decode(string, out).size};
}

std::optional<std::string_view> decode(std::optional<json::Value> string) {
    return string ? std::optional(decode(*string)) : std::nullopt;
}

void check_instance_id(const Path& path, std::string_view id) {
    if (!is_instance_id(id)) {
        pg::raise(pg::kInvalidArgument,
                  psprintf("%s must have 1 to %zu bytes", path.text(), kMaxId),
                  pg::Facts(id.empty() ? "empty" : "too_long")
                      .add("path", path.text())
                      .add("bytes", static_cast<int64>(id.size())),
                  "Use a shorter, non-empty instance id.");
    }
}

void check_label(const Path& path, std::optional<std::string_view> label) {
    if (label && label->size() > kMaxId) {
        pg::raise(pg::kInvalidArgument,
                  psprintf("%s must have at most %zu bytes", path.text(), kMaxId),
                  pg::Facts("too_long")
                      .add("path", path.text())
                      .add("bytes", static_cast<int64>(label->size())),
                  "Use a shorter value; it is part of an index key.");
    }
}

Extension extension_ms(std::optional<int64> value) {
    return {checked_timeout("p_extend_ms", value), false};
}

Extension extension_secs(std::optional<int64> value) {
    if (!value || *value < 0) {
        pg::raise(pg::kInvalidArgument, "p_extend_secs must be at least 0",
                  value
                      ? pg::Facts("out_of_range").add("path", "p_extend_secs").add("value", *value)
                      : pg::Facts("null").add("path", "p_extend_secs"),
                  "Pass a number of whole seconds.");
    }
    constexpr int64 kMsPerSecond = 1000;
    return {*value > core::kNever / kMsPerSecond ? core::kNever : *value * kMsPerSecond, true};
}

int64 checked_timeout(const char* path, std::optional<int64> value) {
    if (!value || *value <= 0) {
        pg::raise(pg::kInvalidArgument, psprintf("%s must be greater than 0", path),
                  value ? pg::Facts("out_of_range").add("path", path).add("value", *value)
                        : pg::Facts("null").add("path", path),
                  "Pass a number of milliseconds.");
    }
    return *value;
}

std::optional<int64> checked_delay(const Path& path, std::optional<int64> value) {
    if (value && *value < 0) {
        pg::raise(pg::kInvalidArgument, psprintf("%s must not be negative", path.text()),
                  pg::Facts("out_of_range").add("path", path.text()).add("value", *value),
                  "Pass a number of milliseconds, or NULL for no delay.");
    }
    return value;
}

int checked_limit(const char* path, std::optional<int32> value, int32 fallback, int32 most) {
    const int32 limit = value.value_or(fallback);
    if (limit < 1 || limit > most) {
        pg::raise(pg::kInvalidArgument, psprintf("%s must be from 1 to %d", path, most),
                  pg::Facts("out_of_range").add("path", path).add("value", limit),
                  "Ask for several smaller portions.");
    }
    return limit;
}

void raise_long_search(const char* function, const char* instead) {
    constexpr int64 kMost = 10000;
    pg::raise(pg::kLimitExceeded,
              psprintf("%s has looked at " INT64_FORMAT " rows without filling the page", function,
                       kMost),
              pg::Facts("long_search").add("most", kMost),
              psprintf("Narrow the filter, or use %s, which goes on page by page.", instead));
}

std::optional<int64> checked_list_limit(std::optional<int32> value, const char* listed) {
    if (!value) {
        return std::nullopt;
    }
    refuse_below_one("p_limit", *value, psprintf("Leave it out for all %s.", listed));
    return *value;
}

int64 checked_filter_limit(json::Value filter) {
    constexpr int64 kDefaultLimit = 1000;
    const int64 limit = optional_int(filter, "limit", "p_filter").value_or(kDefaultLimit);
    refuse_below_one("p_filter.limit", limit, "Leave it out for the default of 1000.");
    return limit;
}

Item::Item(json::Value value)
    : text(value.kind == json::Kind::kString ? decode(value) : value.text) {
    if (value.kind != json::Kind::kString) {
        json = value;
    }
}

std::optional<Completion> read_completion(const Item& given, core::Problem* problem) {
    const auto item = given.read(problem);
    if (!item) {
        return std::nullopt;
    }
    if (item->kind != core::ItemKind::kActivityCompleted &&
        item->kind != core::ItemKind::kActivityFailed) {
        core::set_problem(problem, "wrong_kind");
        return std::nullopt;
    }
    const auto target = core::routing(*item, problem);
    if (!target) {
        return std::nullopt;
    }
    const std::string_view instance = decode(*target);
    if (!is_instance_id(instance)) {
        core::set_problem(problem, instance.empty() ? "empty" : "too_long",
                          core::kind_name(item->kind), "instance");
    }
    return Completion{.text = given.text, .kind = item->kind, .instance_id = instance};
}

Completion checked_completion(const Path& path, const Item& given, const Path& instance_path,
                              std::optional<std::string_view> instance_id) {
    core::Problem problem;
    const auto completion = read_completion(given, &problem);
    if (!completion) {
        raise_problem(path, problem);
    }
    const std::string_view instance = completion->instance_id;
    if (!is_instance_id(instance)) {
        check_instance_id(psprintf("%s%s", path.text(), problem.path), instance);
    }
    if (instance_id && *instance_id != instance) {
        pg::raise(pg::kInvalidArgument,
                  psprintf("%s is not the instance of the completion", instance_path.text()),
                  pg::Facts("instance_mismatch")
                      .add("path", instance_path.text())
                      .add("value", *instance_id)
                      .add("completion_instance", instance),
                  "Pass the instance that the completion names, or NULL.");
    }
    return *completion;
}

void check_elements(const char* path, std::size_t count, std::size_t most) {
    if (count > most) {
        pg::raise(
            pg::kInvalidArgument, psprintf("%s has more than %zu elements", path, most),
            pg::Facts("too_many").add("path", path).add("elements", static_cast<int64>(count)),
            "Send several smaller batches.");
    }
}

std::size_t checked_count(const char* path, Jsonb* value, std::size_t most) {
    if (value == nullptr) {
        return 0;
    }
    if (!JB_ROOT_IS_ARRAY(value) || JB_ROOT_IS_SCALAR(value)) {
        pg::raise_invalid("not_an_array", path, psprintf("%s is not a JSON array", path),
                          "Pass a JSON array.");
    }
    const std::size_t count = JB_ROOT_COUNT(value);
    check_elements(path, count, most);
    return count;
}

JsonArray checked_array(const char* path, Jsonb* value, std::size_t most) {
    const std::size_t count = checked_count(path, value, most);
    return count == 0 ? JsonArray{} : JsonArray{json::known(pg::print_jsonb(value)), count, value};
}

void raise_member(const char* code, const Path& path, const char* member) {
    core::Problem problem;
    core::set_problem(&problem, code, member);
    raise_problem(path, problem);
}

std::string_view required_string(json::Value object, const char* member, const Path& path) {
    const auto value = optional_string(object, member, path);
    if (!value) {
        raise_member("missing_field", path, member);
    }
    return *value;
}

std::optional<std::string_view> optional_string(json::Value object, const char* member,
                                                const Path& path) {
    return string_of(json::find(object, member), member, path);
}

std::optional<std::string_view> string_of(const std::optional<json::Value>& value,
                                          const char* member, const Path& path) {
    if (!value || value->kind == json::Kind::kNull) {
        return std::nullopt;
    }
    if (value->kind != json::Kind::kString) {
        raise_member("wrong_type", path, member);
    }
    auto* out = static_cast<char*>(palloc(json::decoded_bound(*value) + 1));
    const json::Decoded decoded = json::decode(*value, out);
    if (decoded.has_nul) {
        raise_member("escaped_nul", path, member);
    }
    if (decoded.has_lone_surrogate) {
        raise_member("bad_value", path, member);
    }
    return std::string_view(out, decoded.size);
}

std::optional<pg_uuid_t> parse_uuid(std::string_view text) {
    // The shape that uuid_in takes without doubt; it raises an error of its own for others.
    const bool good =
        text.size() == 36 &&
        std::all_of(
            text.begin(), text.end(),
            [](char c) { return c == '-' || isxdigit(static_cast<unsigned char>(c)) != 0; }) &&
        text[8] == '-' && text[13] == '-' && text[18] == '-' && text[23] == '-' &&
        std::count(text.begin(), text.end(), '-') == 4;
    return good ? std::optional(*DatumGetUUIDP(
                      DirectFunctionCall1(uuid_in, CStringGetDatum(pg::c_string(text)))))
                : std::nullopt;
}

std::optional<pg_uuid_t> optional_uuid(json::Value object, const char* member, const char* path) {
    return uuid_of(json::find(object, member), member, path);
}

std::optional<pg_uuid_t> uuid_of(const std::optional<json::Value>& value, const char* member,
                                 const Path& path) {
    const auto text = string_of(value, member, path);
    const auto id = text ? parse_uuid(*text) : std::nullopt;
    if (text && !id) {
        const char* place = path.member(member).text();
        pg::raise_invalid("bad_value", place, psprintf("%s is not a uuid", place), "Pass a uuid.");
    }
    return id;
}

void check_new_id(const Path& path, const std::optional<pg_uuid_t>& id) {
    const auto is_all = [&id](uint8 byte) {
        return std::all_of(std::begin(id->data), std::end(id->data),
                           [byte](uint8 found) { return found == byte; });
    };
    if (id && (is_all(0) || is_all(0xff))) {
        const char* argument = path.text();
        pg::raise_invalid("bad_value", argument,
                          psprintf("%s must not be the nil uuid or the max uuid", argument),
                          "Pass a uuid of your own, or NULL for one that belay makes.");
    }
}

std::optional<int64> optional_int(json::Value object, const char* member, const Path& path) {
    return int_of(json::find(object, member), member, path);
}

std::optional<int64> int_of(const std::optional<json::Value>& value, const char* member,
                            const Path& path) {
    if (!value || value->kind == json::Kind::kNull) {
        return std::nullopt;
    }
    const auto number = json::as_int64(*value);
    if (!number) {
        raise_member(value->kind == json::Kind::kNumber ? "bad_value" : "wrong_type", path, member);
    }
    return number;
}

namespace {

// Calls add(element) for each element of an array member; false if there is none. add returns
// whether it took the element.
template <typename Add>
bool each_element(const std::optional<json::Value>& array, const char* member, const char* path,
                  const char* hint, Add add) {
    if (!array || array->kind == json::Kind::kNull) {
        return false;
    }
    const char* array_path = psprintf("%s.%s", path, member);
    if (array->kind != json::Kind::kArray) {
        pg::raise_invalid("wrong_type", array_path, psprintf("%s has a wrong type", array_path),
                          "Pass a JSON array.");
    }
    check_elements(array_path, json::count(*array), kMaxElements);
    json::Elements elements(*array);
    json::Value element;
    for (std::size_t i = 0; elements.next(element); ++i) {
        if (!add(element)) {
            const char* element_path = psprintf("%s[%zu]", array_path, i);
            pg::raise_invalid("wrong_type", element_path,
                              psprintf("%s has a wrong type", element_path), hint);
        }
    }
    return true;
}

}  // namespace

std::optional<std::span<const std::string_view>> optional_texts(json::Value object,
                                                                const char* member,
                                                                const char* path) {
    return texts_of(json::find(object, member), member, path);
}

std::optional<std::span<const std::string_view>> texts_of(const std::optional<json::Value>& value,
                                                          const char* member, const char* path) {
    pg::List<std::string_view> texts;
    const auto add = [&texts](json::Value element) {
        const bool good = element.kind == json::Kind::kString && !json::inspect(element).has_nul;
        if (good) {
            texts.add(decode(element));
        }
        return good;
    };
    if (!each_element(value, member, path, "Pass strings.", add)) {
        return std::nullopt;
    }
    return texts.span();
}

std::optional<std::span<const int64>> optional_ints(json::Value object, const char* member,
                                                    const char* path) {
    pg::List<int64> numbers;
    const auto add = [&numbers](json::Value element) {
        const auto number = json::as_int64(element);
        if (number) {
            numbers.add(*number);
        }
        return number.has_value();
    };
    if (!each_element(json::find(object, member), member, path, "Pass integers.", add)) {
        return std::nullopt;
    }
    return numbers.span();
}

void check_members(json::Value object, const char* path, std::span<const char* const> known) {
    json::Members members(object);
    std::string_view key;
    json::Value value;
    while (members.next(key, value)) {
        bool found = false;
        for (const char* name : known) {
            found = found || json::key_is(key, name);
        }
        if (!found) {
            raise_unknown_key(path, key);
        }
    }
}

void find_members(json::Value object, const Path& path, std::span<const std::string_view> known,
                  std::optional<json::Value>* found) {
    const std::string_view unknown = json::find_each(object, known, found);
    if (!unknown.empty()) {
        raise_unknown_key(path, unknown);
    }
}

json::Value checked_object(const char* path, Jsonb* value) {
    if (value == nullptr) {
        pg::raise_invalid("null", path, psprintf("%s must not be null", path),
                          "Pass a JSON object; {} selects everything.");
    }
    if (!JB_ROOT_IS_OBJECT(value)) {
        pg::raise_invalid("not_an_object", path, psprintf("%s is not a JSON object", path),
                          "Pass a JSON object.");
    }
    return json::known(pg::print_jsonb(value));
}

void check_element(json::Value element, const Path& path, std::span<const std::string_view> keys,
                   std::optional<json::Value>* found) {
    if (element.kind != json::Kind::kObject) {
        pg::raise_invalid("not_an_object", path.text(),
                          psprintf("%s is not a JSON object", path.text()),
                          "Pass objects that have a key work_item.");
    }
    const std::string_view unknown = json::find_each(element, keys, found);
    if (!unknown.empty()) {
        raise_unknown_key(path, unknown);
    }
    if (!found[0] || found[0]->kind == json::Kind::kNull) {
        const char* item_path = path.member("work_item").text();
        pg::raise_invalid("missing_field", item_path, psprintf("%s is missing", item_path),
                          "Pass objects that have a key work_item.");
    }
}

std::string_view clip(std::string_view text, std::size_t bytes) {
    if (text.size() <= bytes) {
        return text;
    }
    return text.substr(
        0, static_cast<std::size_t>(
               pg_mbcliplen(text.data(), static_cast<int>(text.size()), static_cast<int>(bytes))));
}

void append_json(StringInfo out, std::string_view text) {
    enlargeStringInfo(out, static_cast<int>(json::escaped_bound(text)) + 1);
    out->len += static_cast<int>(json::escape(text, out->data + out->len));
    out->data[out->len] = '\0';
}

Jsonb* jsonb_member(json::Value object, const char* member) {
    return jsonb_of(json::find(object, member));
}

Jsonb* jsonb_of(const std::optional<json::Value>& value) {
    return !value || value->kind == json::Kind::kNull
               ? nullptr
               : DatumGetJsonbP(pg::jsonb_datum(value->text));
}

std::optional<bool> optional_bool(json::Value object, const char* member, const char* path) {
    const auto value = json::find(object, member);
    if (!value || value->kind == json::Kind::kNull) {
        return std::nullopt;
    }
    if (value->kind != json::Kind::kBool) {
        const char* place = psprintf("%s.%s", path, member);
        pg::raise_invalid("wrong_type", place, psprintf("%s must be true or false", place),
                          "Pass a JSON boolean.");
    }
    return value->text == "true";
}

std::optional<std::span<const std::string_view>> optional_words(json::Value object,
                                                                const char* member,
                                                                const char* path) {
    const auto value = json::find(object, member);
    if (!value || value->kind != json::Kind::kString) {
        return optional_texts(object, member, path);
    }
    auto* one = static_cast<std::string_view*>(palloc(sizeof(std::string_view)));
    *one = decode(*value);
    return std::span<const std::string_view>(one, 1);
}

Jsonb* object_member(json::Value object, const char* member, const char* path) {
    const auto value = json::find(object, member);
    if (value && value->kind != json::Kind::kNull && value->kind != json::Kind::kObject) {
        const char* place = psprintf("%s.%s", path, member);
        pg::raise_invalid("bad_value", place, psprintf("%s has a value that is not allowed", place),
                          "Pass an object of strings.");
    }
    return jsonb_member(object, member);
}

bool append_within(StringInfo out, const std::optional<store::Unread<Jsonb*>>& json, int64* left) {
    // The binary form of a value is never larger than so many times its text.
    constexpr int64 kBinaryPerText = 8;
    if (!json) {
        appendStringInfoString(out, "null");
        return true;
    }
    const Datum stored = json->value;
    // What is surely too large is not read at all.
    if (static_cast<int64>(toast_raw_datum_size(stored)) > *left * kBinaryPerText) {
        return false;
    }
    const int before = out->len;
    Jsonb* value = DatumGetJsonbP(stored);
    (void)JsonbToCString(out, &value->root, static_cast<int>(VARSIZE(value)));
    if (static_cast<void*>(value) != DatumGetPointer(stored)) {
        pfree(value);
    }
    const int64 bytes = out->len - before;
    if (bytes > *left) {
        out->len = before;
        out->data[before] = '\0';
        return false;
    }
    *left -= bytes;
    return true;
}

}  // namespace belay::ops
