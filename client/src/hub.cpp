// The hub: how its statements run.
#include "belay/hub.hpp"

#include "as_owner.hpp"
#include "belay/admin.hpp"
#include "belay/events.hpp"
#include "belay/flows.hpp"
#include "belay/orchestrations.hpp"
#include "belay/provider.hpp"
#include "belay/queue.hpp"
#include "belay/schedules.hpp"
#include "belay/suspensions.hpp"
#include "belay/tasks.hpp"

namespace belay {

std::string quoted_identifier(std::string_view name) {
    std::string quoted = "\"";
    for (const char c : name) {
        quoted += c;
        if (c == '"') {
            quoted += c;
        }
    }
    return quoted + "\"";
}

Hub::Hub(Connection& connection, std::string_view name, Clock clock, Rights rights)
    : connection_(&connection),
      name_(name),
      schema_(quoted_identifier(name)),
      clock_(std::move(clock)),
      rights_(rights) {
    if (name.empty() || name.find('\0') != std::string_view::npos) {
        throw Error({.message = "a hub has a name, without zero bytes", .sqlstate = "QB006"});
    }
}

Result Hub::call(Effect effect, std::string_view columns, std::string_view function,
                 const Params& params, const Where& where) {
    std::string sql = "SELECT ";
    sql.append(columns).append(" FROM ").append(schema_).append(".").append(function).append("(");
    for (std::size_t i = 1; i <= params.size(); ++i) {
        sql.append(i == 1 ? "$" : ", $").append(std::to_string(i));
    }
    sql += ")";
    return query(effect, sql, params, where);
}

Result Hub::call_named(Effect effect, std::string_view columns, std::string_view function,
                       const std::vector<Argument>& arguments, const Where& where) {
    std::string sql = "SELECT ";
    sql.append(columns).append(" FROM ").append(schema_).append(".").append(function).append("(");
    Params params;
    params.reserve(arguments.size());
    for (const auto& [name, value] : arguments) {
        params.push_back(value);
        sql.append(params.size() == 1 ? "" : ", ").append(name);
        sql.append(" => $").append(std::to_string(params.size()));
    }
    sql += ")";
    return query(effect, sql, params, where);
}

Result Hub::query(Effect effect, std::string_view sql, const Params& params, Where where) {
    return rights_ == Rights::kOwner
               ? call_as_owner(*connection_, name_, effect, sql, params, where)
               : connection_->call(effect, sql, params, where);
}

Result Hub::query_at_clock(Effect effect, const std::string& sql, const Params& params,
                           const Where& where) {
    const auto time = now();
    if (!time) {
        return query(effect, sql, params, where);
    }
    if (rights_ == Rights::kOwner) {
        throw Error({.message = "cannot set the clock with the rights of the hub's owner",
                     .sqlstate = "0A000",
                     .hint = "Use the server's clock, or connect as the owner."},
                    where);
    }
    const auto results = connection_->pipeline(
        {{"SELECT pg_catalog.set_config('belay.now', $1, true)", {std::to_string(to_ms(*time))}},
         {sql, params}},
        where);
    return results.back();
}

void Hub::check_can_wait(const Where& where) const {
    if (rights_ == Rights::kOwner) {
        throw Error({.message = "cannot wait for work with the rights of the hub's owner",
                     .sqlstate = "0A000",
                     .hint = "Connect as the owner, or as a role that was granted a level."},
                    where);
    }
}

// ---- The groups of calls. ----

Queues Hub::queues() {
    return Queues(*this);
}

Tasks Hub::tasks() {
    return Tasks(*this);
}

Signals Hub::signals() {
    return Signals(*this);
}

Flows Hub::flows() {
    return Flows(*this);
}

Orchestrations Hub::orchestrations() {
    return Orchestrations(*this);
}

Events Hub::events() {
    return Events(*this);
}

Schedules Hub::schedules() {
    return Schedules(*this);
}

DeadLetters Hub::dead_letters() {
    return DeadLetters(*this);
}

Maintenance Hub::maintenance() {
    return Maintenance(*this);
}

Provider Hub::provider() {
    return Provider(*this);
}

}  // namespace belay
