// What made-up calls are made of: SQL, JSON, and values that make sense now.
#pragma once

#include "operations.hpp"

namespace belay::test::model {

constexpr std::size_t kFull = 220;  // so many rows are enough

inline const std::vector<std::string> kSessions = {"s0", "s1", "s2", "s3"};
inline const std::vector<std::string> kTags = {"a", "b", "c"};
inline const std::vector<std::string> kOwners = {"w0", "w1", "w2"};

inline const Expected kVoid = {{""}};

// ---- SQL ----

std::string sql(const Text& text);
std::string sql(std::optional<int64_t> number);
std::string sql(const std::optional<std::vector<Text>>& list);
std::string sql(const std::optional<std::vector<int>>& list);

Text text_of(std::optional<int64_t> number);
Text truth(bool value);

// The texts, with commas between them.
std::string listed(const std::vector<std::string>& texts);

// ---- JSON ----

std::string json(const Text& text);

// An object. Printed as PostgreSQL prints a jsonb, so that it does not matter whether it is sent as
// an object or as a string; or without blanks.
class JsonObject {
 public:
    JsonObject& text(const std::string& name, const Text& value) { return raw(name, json(value)); }
    JsonObject& number(const std::string& name, int64_t value) {
        return raw(name, std::to_string(value));
    }
    JsonObject& raw(const std::string& name, const std::string& value);
    // Nothing if there is no value.
    JsonObject& some(const std::string& name, const Text& value);
    JsonObject& some(const std::string& name, std::optional<int64_t> value);

    std::string printed() const { return print(", ", ": "); }
    std::string packed() const { return print(",", ":"); }

 private:
    std::string print(const char* comma, const char* colon) const;

    std::vector<std::pair<std::string, std::string>> members_;
};

// The text of an item as an element of a JSON array: as it stands, or as a string.
std::string element(Scene* scene, const std::string& text);

// A payload that is JSON, but nothing that jsonb could hold.
inline const std::string kUnfit = "\"\\u0000\"";
// How the tests show a text that came as an element of a JSON array.
std::string shown_element(const std::string& text);
std::string shown_elements(const std::vector<std::string>& texts);
std::string shown_values(const std::vector<Value>& values);

// ---- Made-up values ----

template <typename T>
std::optional<T> sometimes(Scene* scene, int chance, const T& value) {
    return scene->random.percent(chance) ? std::optional(value) : std::nullopt;
}

int64_t made_timeout(Scene* scene);
int64_t made_turn_timeout(Scene* scene);
// Of an abandon.
std::optional<int64_t> made_delay(Scene* scene);
std::optional<std::vector<int>> made_slots(Scene* scene);

// One of a few instances; they change with time, so that there are always such as never started.
std::string made_instance(Scene* scene);

// Mostly one that has left traces.
std::string known_instance(Scene* scene);

Activity made_activity(Scene* scene);
// The item's text, with these fields.
std::string item_text(Scene* scene, const Activity& what);

// A completion of an activity.
Mail made_completion(Scene* scene);
// A message of any kind; to a made-up instance if none is given.
Mail made_mail(Scene* scene, const Text& instance = std::nullopt);
// The ContinueAsNew of an instance to itself.
Mail made_continuation(Scene* scene, const std::string& instance);

// Events that follow those of an execution; at times one of them is a duplicate.
std::vector<Event> made_events(Scene* scene, const std::string& instance, int64_t execution);
// The delta with these events, as an SQL argument.
std::string delta_sql(Scene* scene, std::vector<Event>* events);

std::string made_key(Scene* scene);

// A token of the worker queue, and one of a turn: mostly of a lease that is live now, at times an
// old one or none at all.
Text made_token(Scene* scene);
Text made_turn_token(Scene* scene);
// Whether a call with a token makes sense: seldom if nothing is leased.
bool has_leases(Scene* scene);
bool has_turns(Scene* scene);
// Notes a token of either kind. False if it was given before.
bool note_token(Scene::Memory* memory, std::deque<std::string>* known, const std::string& token);

// ---- Bad calls ----

// A call that is refused with QB006. $N stands for now, $W for a token of the worker queue, $T for
// one of a turn.
struct BadCall {
    const char* sql;
    const char* code_detail;
    const char* path;
};
// One of them.
Call refused_call(Scene* scene, std::span<const BadCall> calls);

}  // namespace belay::test::model
