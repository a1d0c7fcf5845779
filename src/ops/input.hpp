// Checks of what callers send: ids, times, JSON. What fails is QB006 with the path of the argument.
#pragma once

#include "core/json.hpp"
#include "core/lease.hpp"
#include "core/time.hpp"
#include "core/work_item.hpp"
#include "pg/clock.hpp"
#include "pg/pg.hpp"
#include "store/hub.hpp"
#include "store/sql_types.hpp"

namespace belay::ops {

// The longest id, session, tag, owner or key: they are index keys.
inline constexpr std::size_t kMaxId = 1024;

// Where a value stands in the arguments, as p_items[7].work_item. Put into words only for an error.
struct Path {
    const char* argument;
    std::optional<std::size_t> index;
    const char* name = nullptr;  // behind a dot

    Path(const char* whole) : argument(whole) {}
    Path(const char* array, std::size_t element) : argument(array), index(element) {}

    Path member(const char* of_element) const {
        Path path = *this;
        path.name = of_element;
        return path;
    }
    const char* text() const;
};

// Warns, once per session and kind, of an item of a kind that belay does not know: it is stored,
// since a newer client may know it. raw_kind is quoted, as in the item. A hub of api duroxide-pg
// says nothing, as that project does.
void warn_of_unknown_kind(const store::Hub& hub, std::string_view raw_kind);

// Raises QB006 for a problem found inside an argument.
[[noreturn]] void raise_problem(const Path& argument, const core::Problem& problem);

// The text of a JSON string, decoded into the current memory context.
std::string_view decode(core::json::Value string);
std::optional<std::string_view> decode(std::optional<core::json::Value> string);

// A uuid in its usual form; none for any other text.
std::optional<pg_uuid_t> parse_uuid(std::string_view text);

// Whether it is short enough for its column, and not empty.
inline bool is_instance_id(std::string_view id) {
    return !id.empty() && id.size() <= kMaxId;
}
// Refuse an id that is too long for its column (or, for an instance id, empty).
void check_instance_id(const Path& path, std::string_view id);
void check_label(const Path& path, std::optional<std::string_view> label);

using core::Extension;

// An extension in milliseconds, from now; and in whole seconds, which may be 0, that never takes
// time away: a caller that rounds 900 ms down does not lose its lease.
Extension extension_ms(std::optional<int64> value);
Extension extension_secs(std::optional<int64> value);

// Refuse NULL, 0 and less; NULL and negative.
int64 checked_timeout(const char* path, std::optional<int64> value);
std::optional<int64> checked_delay(const Path& path, std::optional<int64> value);

// The limit of a page.
int checked_limit(const char* path, std::optional<int32> value, int32 fallback, int32 most);

// Refuses to look through more rows for a page: QB016. The hint names the function that can.
[[noreturn]] void raise_long_search(const char* function, const char* instead);

// p_limit of a list that is whole without it. The hint names what is listed.
std::optional<int64> checked_list_limit(std::optional<int32> value, const char* listed);

// p_filter.limit, or its default.
int64 checked_filter_limit(core::json::Value filter);

// An item as a caller sent it: its text, and the JSON it is where that is known already.
struct Item {
    std::string_view text;
    std::optional<core::json::Value> json;

    Item(std::string_view unread) : text(unread) {}
    // An item that stands as an object, or as a string that holds its text.
    explicit Item(core::json::Value value);

    std::optional<core::WorkItem> read(core::Problem* problem) const {
        return json ? core::read_work_item(*json, problem) : core::parse_work_item(text, problem);
    }
};

// A worker's completion: an ActivityCompleted or ActivityFailed, and the instance it goes to.
struct Completion {
    std::string_view text;
    core::ItemKind kind;
    std::string_view instance_id;
};

// Reads a completion; none, with a problem, if it is none. Also a completion for an instance id
// that is_instance_id refuses is returned with a problem.
std::optional<Completion> read_completion(const Item& item, core::Problem* problem);
// Checks a completion; instance_id, if given, must be its instance.
Completion checked_completion(const Path& path, const Item& item, const Path& instance_path,
                              std::optional<std::string_view> instance_id);

// What an array has at most, where nothing else is said.
constexpr std::size_t kMaxElements = 10000;
// Refuses an array of more elements.
void check_elements(const char* path, std::size_t count, std::size_t most = kMaxElements);

// Elements of an array parameter given as jsonb; NULL is the empty array.
struct JsonArray {
    core::json::Value array;
    std::size_t count;
    Jsonb* stored = nullptr;  // the same, as it was given
};
JsonArray checked_array(const char* path, Jsonb* value, std::size_t most);
// Only the check: how many elements there are.
std::size_t checked_count(const char* path, Jsonb* value, std::size_t most);

// Raises QB006 for a member of the object at the path.
[[noreturn]] void raise_member(const char* code, const Path& path, const char* member);
// A member that has to be a string.
std::string_view required_string(core::json::Value object, const char* member, const Path& path);
// A member that has to be a string, or absent or null.
std::optional<std::string_view> optional_string(core::json::Value object, const char* member,
                                                const Path& path);
// The same of one that was looked for already.
std::optional<std::string_view> string_of(const std::optional<core::json::Value>& value,
                                          const char* member, const Path& path);
std::optional<int64> int_of(const std::optional<core::json::Value>& value, const char* member,
                            const Path& path);
std::optional<pg_uuid_t> uuid_of(const std::optional<core::json::Value>& value, const char* member,
                                 const Path& path);
std::optional<pg_uuid_t> optional_uuid(core::json::Value object, const char* member,
                                       const char* path);
// Refuses the nil and the max uuid for an id that a caller has chosen: lists begin at them.
void check_new_id(const Path& path, const std::optional<pg_uuid_t>& id);
std::optional<int64> optional_int(core::json::Value object, const char* member, const Path& path);
std::optional<bool> optional_bool(core::json::Value object, const char* member, const char* path);
// Any member; null if absent or null.
Jsonb* jsonb_of(const std::optional<core::json::Value>& value);
Jsonb* jsonb_member(core::json::Value object, const char* member);
// One that has to be an object, or absent or null.
Jsonb* object_member(core::json::Value object, const char* member, const char* path);

// A member that has to be an array of strings or of integers, or absent or null.
std::optional<std::span<const std::string_view>> optional_texts(core::json::Value object,
                                                                const char* member,
                                                                const char* path);
std::optional<std::span<const std::string_view>> texts_of(
    const std::optional<core::json::Value>& value, const char* member, const char* path);
// A string stands for an array of one.
std::optional<std::span<const std::string_view>> optional_words(core::json::Value object,
                                                                const char* member,
                                                                const char* path);
std::optional<std::span<const int64>> optional_ints(core::json::Value object, const char* member,
                                                    const char* path);

// Refuses a member that is not in the list: a misspelt one must not be overlooked.
void check_members(core::json::Value object, const char* path, std::span<const char* const> known);

// The same, and finds them: found[i] is that of known[i].
void find_members(core::json::Value object, const Path& path,
                  std::span<const std::string_view> known, std::optional<core::json::Value>* found);

// The JSON of a jsonb object parameter. QB006 for NULL (if required) and for anything else.
core::json::Value checked_object(const char* path, Jsonb* value);

// Refuses an element of p_items unless it is an object with a work_item, which is the first of the
// keys, and some of the others. found[i] is the member keys[i].
void check_element(core::json::Value element, const Path& path,
                   std::span<const std::string_view> keys, std::optional<core::json::Value>* found);

// The beginning of a text, at most so many bytes, whole characters only.
std::string_view clip(std::string_view text, std::size_t bytes);

// Writes text as a JSON string, quotes included.
void append_json(StringInfo out, std::string_view text);

// How many bytes of JSON an answer carries of values whose size callers choose, for each thing that
// it reports, and in all. What goes beyond is read with a call of its own.
inline constexpr int64 kMostOfOne = int64{1} << 20;
inline constexpr int64 kMostOfAnswer = int64{64} << 20;

// Writes a stored jsonb, null for NULL, if it fits into what is left; otherwise nothing.
bool append_within(StringInfo out, const std::optional<store::Unread<Jsonb*>>& json, int64* left);

}  // namespace belay::ops
