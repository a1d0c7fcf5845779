// libFuzzer's way into src/core: the first byte chooses what reads the rest. Beside what the
// sanitizers look for, what was read has to be the same when it is written and read again.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "core/condition.hpp"
#include "core/cron.hpp"
#include "core/cursor.hpp"
#include "core/duration.hpp"
#include "core/events.hpp"
#include "core/hash.hpp"
#include "core/json.hpp"
#include "core/names.hpp"
#include "core/tags.hpp"
#include "core/token.hpp"
#include "core/work_item.hpp"

namespace {

using namespace belay::core;

void require(bool holds) {
    if (!holds) {
        std::abort();
    }
}

bool lies_in(std::string_view part, std::string_view whole) {
    return part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size();
}

void read_string(json::Value value) {
    std::string text(json::decoded_bound(value), '\0');
    const json::Decoded decoded = json::decode(value, text.data());
    require(decoded.size <= text.size());
    text.resize(decoded.size);
    const json::StringCheck check = json::inspect(value);
    require(check.has_nul == decoded.has_nul &&
            check.has_lone_surrogate == decoded.has_lone_surrogate);
    // Written as JSON and read again it is the same text.
    if (!decoded.has_lone_surrogate) {
        std::string escaped(json::escaped_bound(text), '\0');
        escaped.resize(json::escape(text, escaped.data()));
        const auto again = json::parse(escaped);
        require(again && again->kind == json::Kind::kString);
        std::string second(json::decoded_bound(*again), '\0');
        second.resize(json::decode(*again, second.data()).size);
        require(second == text);
    }
}

void read_value(json::Value value, std::string_view whole, int depth) {
    require(lies_in(value.text, whole));
    (void)json::as_int64(value);
    (void)json::as_bool(value);
    std::size_t seen = 0;
    switch (value.kind) {
        case json::Kind::kString:
            read_string(value);
            break;
        case json::Kind::kArray: {
            json::Elements elements(value);
            for (json::Value each; elements.next(each); ++seen) {
                if (depth < 20) {
                    read_value(each, whole, depth + 1);
                }
            }
            require(seen == json::count(value));
            break;
        }
        case json::Kind::kObject: {
            json::Members members(value);
            std::string_view key;
            for (json::Value each; members.next(key, each); ++seen) {
                require(lies_in(key, whole));
                (void)json::key_is(key, "instance");
                if (depth < 20) {
                    read_value(each, whole, depth + 1);
                }
            }
            require(seen == json::count(value));
            const std::string_view names[] = {"instance", "id", "execution_id", ""};
            std::optional<json::Value> found[4];
            json::find_each(value, names, found);
            for (int i = 0; i < 4; ++i) {
                require(found[i].has_value() == json::find(value, names[i]).has_value());
            }
            break;
        }
        default:
            break;
    }
}

void read_json(std::string_view text) {
    json::Fault fault;
    const auto value = json::parse(text, &fault);
    if (!value) {
        require(fault.offset <= text.size());
        return;
    }
    read_value(*value, text, 0);
    (void)json::jsonb_bound(text);
}

void read_work_item(std::string_view text) {
    Problem problem{};
    const auto item = parse_work_item(text, &problem);
    if (!item) {
        return;
    }
    (void)kind_name(item->kind);
    (void)routing(*item, &problem);
    Activity activity{};
    (void)read_activity(*item, &activity, &problem);
    std::int64_t fire_at = 0;
    (void)read_timer(*item, &fire_at, &problem);
}

template <typename Token, std::size_t chars>
void read_token(std::optional<Token> token, std::string_view text) {
    if (token) {
        char again[chars];
        encode(*token, again);
        require(std::string_view(again, chars) == text);  // one text for one token
    }
}

struct Utc {
    LocalTime local(std::int64_t ms) const {
        std::int64_t minutes = ms / kMinuteMs;
        return {date_of(minutes / 1440), static_cast<int>(minutes / 60 % 24),
                static_cast<int>(minutes % 60)};
    }
    std::int64_t utc(const LocalTime& time) const {
        return ((days_of(time.date) * 24 + time.hour) * 60 + time.minute) * kMinuteMs;
    }
};

void read_cron(std::string_view text) {
    Cron cron{};
    if (parse_cron(text, &cron)) {
        return;
    }
    const std::int64_t after = 1'700'000'000'000;
    const auto next = next_time(cron, after, Utc{});
    require(!next || (*next > after && *next % kMinuteMs == 0));
}

// The list, a zero byte, and a cursor; or, what few changes make, a key of which one is written.
void read_list_cursor(std::string_view text) {
    const std::size_t end = std::min(text.find('\0'), text.size());
    const std::string_view list = text.substr(0, end);
    const std::string_view rest = text.substr(std::min(end + 1, text.size()));
    std::string room(rest.size() / 2, '?');
    if (const auto key = read_cursor(list, rest, room.data())) {
        std::string again(cursor_size(key->size()), '?');
        write_cursor(list, *key, again.data());
        require(again == rest);  // one text for one cursor
    }
    std::string written(cursor_size(rest.size()), '?');
    write_cursor(list, rest, written.data());
    std::string more(written.size() / 2, '?');
    const auto key = read_cursor(list, written, more.data());
    require(key.has_value() == !rest.empty() && (!key || *key == rest));
}

void read_condition(std::string_view text) {
    const auto value = json::parse(text);
    const std::vector<std::string_view> keys = {"a", "b", "c\"d"};
    if (value && !check_condition(*value, keys)) {
        const std::vector<SignalCount> signals = {
            {"a", "x", std::nullopt, 1}, {"a", "x", "s", 2}, {"b", "", "t", 1000000}};
        (void)is_met(*value, signals);
        (void)is_met(*value, {});
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    // A copy of its own size: reading past its end is found.
    const std::vector<char> bytes(data + 1, data + size);
    const std::string_view text(bytes.data(), bytes.size());
    switch (data[0]) {
        case 'j':
            read_json(text);
            break;
        case 'w':
            read_work_item(text);
            break;
        case 't':
            read_token<WorkToken, kWorkTokenChars>(decode_work_token(text), text);
            read_token<TurnToken, kTurnTokenChars>(decode_turn_token(text), text);
            read_token<EventPlace, kEventPlaceChars>(decode_event_place(text), text);
            read_token<TaskLease, kTaskLeaseChars>(decode_task_lease(text), text);
            break;
        case 'c':
            read_cron(text);
            break;
        case 'd':
            if (const auto ms = parse_duration_ms(text)) {
                require(*ms >= 0);
            }
            (void)parse_bytes(text);
            (void)parse_bool(text);
            (void)parse_int(text);
            break;
        case 'p':
            read_list_cursor(text);
            break;
        case 'o':
            read_condition(text);
            break;
        case 'n':
            (void)check_hub_name(text);
            (void)parse_events(text);
            (void)parse_tag_mode(text);
            (void)instance_key(text);
            require(slot_of(text, 7) >= 0 && slot_of(text, 7) < 7);
            break;
        default:
            break;
    }
    return 0;
}
