// checks.cpp — what the arguments of task calls may be, and the policy that is in force.
//
// Calls    store::read_queue
// Touches  nothing
// Locks    nothing
// Raises   QB006
#include <algorithm>

#include "ops/task/task.hpp"
#include "pg/errors.hpp"
#include "pg/jsonb.hpp"
#include "store/grants.hpp"
#include "store/queues.hpp"

namespace belay::ops {

namespace {

namespace json = core::json;

constexpr std::size_t kMaxTokens = 256;
constexpr std::size_t kMaxTokenBytes = 4096;
// Of one body. A row that is handed out has four of them, and must stay far below 1 GiB.
constexpr int64 kMostPrinted = int64{64} << 20;

bool has_control(std::string_view text) {
    return std::any_of(text.begin(), text.end(), [](char byte) {
        const auto code = static_cast<unsigned char>(byte);
        return code < 0x20 || code == 0x7f;
    });
}

json::Value printed(Jsonb* value) {
    StringInfo text = makeStringInfo();
    (void)JsonbToCString(text, &value->root, VARSIZE(value));
    const auto parsed = json::parse({text->data, static_cast<std::size_t>(text->len)});
    if (!parsed) {
        elog(ERROR, "a jsonb could not be read");
    }
    return *parsed;
}

}  // namespace

std::string_view checked_word(const Path& where, std::string_view word, std::size_t most) {
    const char* code = word.empty()         ? "empty"
                       : word.size() > most ? "too_long"
                       : has_control(word)  ? "bad_value"
                                            : nullptr;
    if (code != nullptr) {
        const char* path = where.text();
        pg::raise(pg::kInvalidArgument,
                  psprintf("%s must have 1 to %zu bytes and no control characters", path, most),
                  pg::Facts(code).add("path", path).add("bytes", static_cast<int64>(word.size())),
                  word.empty()         ? "Pass a name that is not empty."
                  : word.size() > most ? "Use a shorter name."
                                       : "Remove the control characters.");
    }
    return word;
}

std::string_view checked_queue(const Path& path, std::optional<std::string_view> queue) {
    if (!queue) {
        pg::raise_invalid("null", path.text(), psprintf("%s must not be null", path.text()),
                          "Pass a queue.");
    }
    return checked_word(path, *queue, kMaxQueue);
}

std::span<const std::string_view> checked_capabilities(const char* path,
                                                       std::span<const std::string_view> tokens) {
    auto* sorted =
        static_cast<std::string_view*>(palloc(sizeof(std::string_view) * (tokens.size() + 1)));
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        const char* token_path = psprintf("%s[%zu]", path, i);
        sorted[i] = checked_word(token_path, tokens[i]);
        if (tokens[i].find_first_of(", ") != std::string_view::npos) {
            pg::raise(pg::kInvalidArgument,
                      psprintf("%s must not contain a comma or a blank", token_path),
                      pg::Facts("bad_value").add("path", token_path).add("value", tokens[i]),
                      "Pass words such as gpu or region:eu.");
        }
    }
    std::sort(sorted, sorted + tokens.size());
    const auto count =
        static_cast<std::size_t>(std::unique(sorted, sorted + tokens.size()) - sorted);
    for (std::size_t i = 0; i < count; ++i) {
        bytes += sorted[i].size();
    }
    if (count > kMaxTokens || bytes > kMaxTokenBytes) {
        pg::raise(pg::kInvalidArgument,
                  psprintf("%s must have at most %zu tokens and %zu bytes", path, kMaxTokens,
                           kMaxTokenBytes),
                  pg::Facts("too_many")
                      .add("path", path)
                      .add("tokens", static_cast<int64>(count))
                      .add("bytes", static_cast<int64>(bytes)),
                  "Ask for fewer capabilities.");
    }
    return {sorted, count};
}

bool is_body_too_long(const store::Hub& hub, Jsonb* body) {
    const int64 most = hub.options[store::Option::kMaxBodyBytes];
    // Every claim prints it again, and must be able to.
    return body != nullptr &&
           (static_cast<int64>(VARSIZE(body)) > most || pg::is_printed_longer(body, kMostPrinted));
}

Jsonb* checked_body(store::Tables& tables, const Path& where, Jsonb* body) {
    if (!is_body_too_long(tables, body)) {
        return body;
    }
    const char* path = where.text();
    const int64 most = tables.hub.options[store::Option::kMaxBodyBytes];
    if (static_cast<int64>(VARSIZE(body)) > most) {
        pg::raise(pg::kInvalidArgument, psprintf("%s is too large", path),
                  pg::Facts("too_long")
                      .add("path", path)
                      .add("bytes", static_cast<int64>(VARSIZE(body)))
                      .add("max_body_bytes", most),
                  "Store large bodies elsewhere and pass a reference; the hub option "
                  "max_body_bytes sets the limit.");
    }
    pg::raise(pg::kInvalidArgument, psprintf("%s is too large as text", path),
              pg::Facts("too_long").add("path", path).add("max_text_bytes", kMostPrinted),
              "Pass numbers such as 1e100000 as strings: they are printed with all their digits.");
}

int64 checked_lease_ms(std::optional<int64> value) {
    if (!value || *value < 1 || *value > core::kMaxLeaseMs) {
        pg::raise(pg::kInvalidArgument, "p_lease_ms must be from 1 to 86400000",
                  value ? pg::Facts("out_of_range").add("path", "p_lease_ms").add("value", *value)
                        : pg::Facts("null").add("path", "p_lease_ms"),
                  "Pass a number of milliseconds, at most a day; renew for longer work.");
    }
    return *value;
}

Datum checked_percent(const char* path, Datum value) {
    const auto least = DirectFunctionCall1(int4_numeric, Int32GetDatum(0));
    const auto most = DirectFunctionCall1(int4_numeric, Int32GetDatum(100));
    if (!DatumGetBool(DirectFunctionCall2(numeric_ge, value, least)) ||
        !DatumGetBool(DirectFunctionCall2(numeric_le, value, most))) {
        pg::raise_invalid("out_of_range", path, psprintf("%s must be from 0 to 100", path),
                          "Pass a percentage.");
    }
    return value;
}

bool is_operator(store::Tables& tables, Oid role) {
    return store::may_execute(tables, "revoke_lease", role);
}

void check_policy(const Path& where, Jsonb* policy) {
    if (policy == nullptr) {
        return;
    }
    core::Policy unused;
    if (const auto fault = core::lay_over(printed(policy), &unused)) {
        const char* path = where.text();
        const char* place = fault->path[0] == '\0' ? path : psprintf("%s.%s", path, fault->path);
        if (!fault->unknown.empty()) {
            const std::string_view key = decode(json::Value{json::Kind::kString, fault->unknown});
            pg::raise(pg::kInvalidArgument,
                      psprintf("%s has an unrecognized key \"%s\"", place, pg::excerpt(key)),
                      pg::Facts(fault->code_detail).add("path", place).add("key", key),
                      "Check the spelling: an unrecognized key is refused rather than ignored.");
        }
        pg::raise_invalid(
            fault->code_detail, place,
            psprintf(fault->path[0] == '\0' ? "%s must be a JSON object"
                                            : "%s has a value that is not allowed in a policy",
                     place),
            "Pass an object with any of the keys max_attempts, attempt_timeout_ms, backoff, "
            "retryable, on_lease_expiry, max_reclaims, max_replays and max_signals.");
    }
}

core::Policy policy_of(store::Tables& tables, const store::Task& task) {
    core::Policy policy;
    const auto queue = store::read_queue(tables, task.queue);
    for (Jsonb* layer : {queue ? queue->policy : nullptr, task.policy}) {
        if (layer != nullptr) {
            if (const auto fault = core::lay_over(printed(layer), &policy)) {
                ereport(ERROR,
                        (errcode(ERRCODE_DATA_CORRUPTED),
                         errmsg("a stored policy has an invalid value in \"%s\"", fault->path)));
            }
        }
    }
    return policy;
}

}  // namespace belay::ops
