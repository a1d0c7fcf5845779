// Jobs that act on many objects: their table of actions, their portions, and what they report.
//
// May touch: hubs, through the connection that each portion is given. Must not: wait for a browser.
#include "bulk.hpp"

#include <algorithm>

namespace belay::tool::dashboard {
namespace {

constexpr std::size_t kMostSelected = 500;
constexpr std::size_t kMostText = 1000;
constexpr std::int64_t kCountTo = 10000;
constexpr int kCountPage = 1000;

const std::vector<BulkAction> kBulk = {
    {"cancel_task", "task", "cancel_tasks",
     "{h}.cancel_tasks(:filter, :reason, p_order => :order, p_after => :after)", "browse_tasks",
     "task_id", "kind", "state", "upto",
     "The tasks end as cancelled. Workers that hold their leases lose them."},
    {"replay_task", "task", "replay_tasks",
     "{h}.replay_tasks(:filter, p_order => :order, p_after => :after)", "browse_tasks", "task_id",
     "kind", "state", "upto", "The tasks are queued again and run once more."},
    {"cancel_instance", "instance", "cancel_instances",
     "{h}.cancel_instances(:filter, :reason, p_order => :order, p_after => :after)",
     "browse_instances", "instance_id", "name", "status", "upto_ms",
     "The instances are requested to cancel. Their code decides when they end."},
    {"redrive_dead_letter", "dead letter", "redrive_dead_letters",
     "{h}.redrive_dead_letters(:filter, p_order => :order, p_after => :after)",
     "browse_dead_letters", "id", "name", "reason", "max_id",
     "The dead letters are put back into their queues."},
    {"discard_dead_letter", "dead letter", "discard_dead_letters",
     "{h}.discard_dead_letters(:filter, p_order => :order, p_after => :after)",
     "browse_dead_letters", "id", "name", "reason", "max_id",
     "The dead letters are deleted. This cannot be undone."},
};

// An id as the functions have it: those of dead letters are numbers.
Json id_value(const BulkCall& call, const std::string& id) {
    if (std::string_view(call.bulk->browse) != "browse_dead_letters") {
        return id;
    }
    try {
        return parse_integer(id, 0, INT64_MAX);
    } catch (const Error&) {
        throw BadRequest("\"" + id + "\" is no id of a dead letter");
    }
}

// The filter of the page as the functions have it, with what leaves out what came later.
void read_filter(BulkCall& call, Json filter, const Json& upto) {
    if (filter.contains("order")) {
        if (!filter["order"].is_string()) {
            throw BadRequest("filter has an invalid key \"order\"");
        }
        call.order = filter["order"].get<std::string>();
        filter.erase("order");
    }
    if (filter.contains("worker")) {
        filter["worker_instance"] = filter["worker"];
        filter.erase("worker");
    }
    if (call.selected) {
        return;
    }
    if (!upto.is_string() || upto.get<std::string>().empty()) {
        throw BadRequest("the request does not say up to where the list was read");
    }
    const bool is_number = std::string_view(call.bulk->upto) != "upto";
    filter[call.bulk->upto] =
        is_number ? id_value({.bulk = &kBulk.back()}, upto.get<std::string>()) : upto;
    call.filter = std::move(filter);
}

Json filter_of_call(const BulkCall& call) {
    if (!call.selected) {
        return call.filter;
    }
    Json ids = Json::array();
    for (const auto& id : call.ids) {
        ids.push_back(id_value(call, id));
    }
    return {{"ids", ids}};
}

std::string text_of(const Json& row, const char* key) {
    return !row.contains(key) || row[key].is_null() ? ""
           : row[key].is_string()                   ? row[key].get<std::string>()
                                                    : row[key].dump();
}

}  // namespace

namespace {

// Why an object in this state is skipped; "" if it is not.
std::string skip_reason(const BulkCall& call, const std::string& state) {
    static const std::set<std::string> ended = {"completed", "failed",    "cancelled", "expired",
                                                "skipped",   "Completed", "Failed"};
    if (state.empty()) {
        return "gone meanwhile";
    }
    if (std::string_view(call.bulk->name) == "replay_task") {
        return ended.contains(state) ? "" : "not ended yet";
    }
    return std::string_view(call.bulk->name).starts_with("cancel_") && ended.contains(state)
               ? "already ended"
               : "";
}

// The states of selected objects, in their order; "" for one that is gone.
std::vector<std::string> states_of_selected(Hub& hub, const BulkCall& call) {
    const std::string_view what = call.bulk->browse;
    const std::string state =
        what == "browse_tasks" ? hub.schema() + ".get_task(u.id::uuid) ->> 'state'"
        : what == "browse_instances"
            ? "(SELECT i.status FROM " + hub.schema() + ".get_instance_info(u.id) AS i)"
            : "CASE WHEN " + hub.schema() +
                  ".read_body('dead_letter', u.id, 'work_item', 0, 1) IS NOT NULL THEN 'there' END";
    const Result rows = hub.query(Effect::kRepeatable,
                                  "SELECT coalesce(" + state +
                                      ", '') FROM jsonb_array_elements_text($1) WITH ORDINALITY "
                                      "AS u(id, nr) ORDER BY u.nr",
                                  {JsonText{Json(call.ids).dump()}});
    std::vector<std::string> states;
    for (int i = 0; i < rows.size(); ++i) {
        states.push_back(rows.get<std::string>(i, 0));
    }
    return states;
}

}  // namespace

const std::vector<BulkAction>& bulk_actions() {
    return kBulk;
}

BulkCall parse_bulk(const std::string& body) {
    const Json json = Json::parse(body, nullptr, false);
    if (!json.is_object()) {
        throw BadRequest("the body is no JSON object");
    }
    BulkCall call;
    Json filter = Json::object();
    Json upto;
    std::string name;
    for (const auto& [key, value] : json.items()) {
        if (key == "action" && value.is_string()) {
            name = value.get<std::string>();
        } else if (key == "ids" && value.is_array() && value.size() <= kMostSelected &&
                   !value.empty()) {
            for (const auto& id : value) {
                if (!id.is_string()) {
                    throw BadRequest("an id is a string");
                }
                call.ids.push_back(id.get<std::string>());
            }
            call.selected = true;
        } else if (key == "filter" && value.is_object()) {
            filter = value;
        } else if (key == "upto" && (value.is_string() || value.is_null())) {
            upto = value;
        } else if (key == "reason" && value.is_string() &&
                   value.get_ref<const std::string&>().size() <= kMostText &&
                   value.get_ref<const std::string&>().find('\0') == std::string::npos) {
            call.reason = value.get<std::string>();
        } else if (key == "key" && value.is_string() &&
                   value.get_ref<const std::string&>().size() <= kMostText) {
            call.key = value.get<std::string>();
        } else if (key == "dry_run" && value.is_boolean()) {
            call.dry_run = value.get<bool>();
        } else if (key != "ids" || !value.is_null()) {
            throw BadRequest("the body has an unrecognized or invalid key \"" + key + "\"");
        }
    }
    const auto found =
        std::ranges::find_if(kBulk, [&](const BulkAction& bulk) { return name == bulk.name; });
    if (found == kBulk.end()) {
        throw BadRequest("there is no such action on many objects");
    }
    call.bulk = &*found;
    call.action = find_action(name);
    if (!call.dry_run && call.key.empty()) {
        throw BadRequest("the request has no key");
    }
    if (!call.dry_run && call.action->reason == Action::Reason::kRequired && call.reason.empty()) {
        throw BadRequest("this action needs a reason");
    }
    read_filter(call, std::move(filter), upto);
    return call;
}

std::string bulk_statement(const BulkCall& call, const std::string& schema,
                           const OptionalText& after, Values& values) {
    const std::string text = filled(call.bulk->call, [&](const std::string& key) {
        if (key == "filter") {
            values.emplace_back(JsonText{filter_of_call(call).dump()});
        } else if (key == "reason") {
            values.emplace_back(call.reason);
        } else {
            values.emplace_back(key == "order" ? (call.selected ? OptionalText() : call.order)
                                               : after);
        }
        return "$" + std::to_string(values.size());
    });
    return "SELECT " + schema + text.substr(3);
}

Json describe_bulk(Hub& hub, const BulkCall& call, bool allowed) {
    Json examples = Json::array();
    std::int64_t count = 0;
    bool capped = false;
    std::map<std::string, std::int64_t> skipped;
    const auto note_state = [&](const std::string& state) {
        const std::string reason = skip_reason(call, state);
        if (!reason.empty()) {
            ++skipped[reason];
        }
    };
    if (call.selected) {
        for (const auto& state : states_of_selected(hub, call)) {
            note_state(state);
        }
        count = static_cast<std::int64_t>(call.ids.size());
        for (const auto& id : call.ids) {
            if (examples.size() < 5) {
                examples.push_back({{"id", id}, {"label", ""}});
            }
        }
    }
    const std::string browse = "SELECT " + hub.schema() + "." + call.bulk->browse +
                               "($1, $2, $3, " + std::to_string(kCountPage) + ", p_preview => 0)";
    OptionalText after;
    for (std::int64_t scanned = 0; !call.selected;) {
        const Result result = hub.query(Effect::kRepeatable, browse,
                                        {JsonText{call.filter.dump()}, call.order, after});
        const Json page = Json::parse(result.get<std::string>(0, 0));
        for (const auto& row : page["rows"]) {
            ++count;
            note_state(text_of(row, call.bulk->state));
            if (examples.size() < 5) {
                examples.push_back({{"id", text_of(row, call.bulk->id)},
                                    {"label", text_of(row, call.bulk->label)}});
            }
        }
        scanned += page["scanned"].get<std::int64_t>();
        capped = !page["next"].is_null() && (count >= kCountTo || scanned >= 10 * kCountTo);
        if (page["next"].is_null() || capped) {
            break;
        }
        after = page["next"].get<std::string>();
    }
    Json skips = Json::array();
    for (const auto& [reason, n] : skipped) {
        skips.push_back({{"reason", reason}, {"n", n}});
    }
    Values values;
    const std::string sql =
        bulk_statement(call, shown_identifier(hub.name()), std::nullopt, values);
    return {{"count", {{"n", count}, {"capped", capped}}},
            {"examples", examples},
            {"skipped", skips},
            {"sql", shown(sql, values) + ";"},
            {"effect", call.bulk->effect},
            {"allowed", allowed},
            {"level", call.action->level},
            {"kind", word_of(call.action->kind)},
            {"reason", word_of(call.action->reason)}};
}

}  // namespace belay::tool::dashboard
