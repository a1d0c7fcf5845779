// Administration: schema belay, dead letters, and the care of one hub.
#include "belay/admin.hpp"

#include "rows.hpp"

namespace belay {

// ---- Schema belay. ----

std::string Admin::version(Where where) {
    return connection_->call(Effect::kRepeatable, "SELECT belay.version()", {}, where)
        .get<std::string>(0, 0);
}

void Admin::create_hub(std::string_view name, Api api, bool adopt, Where where) {
    connection_->call(Effect::kWrite, "SELECT belay.create_hub($1::name, $2, $3)",
                      {name, text_of(api), adopt}, where);
}

void Admin::drop_hub(std::string_view name, bool force, Where where) {
    connection_->call(Effect::kWrite, "SELECT belay.drop_hub($1::name, $2)", {name, force}, where);
}

void Admin::upgrade_hub(std::string_view name, Where where) {
    connection_->call(Effect::kRepeatable, "SELECT belay.upgrade_hub($1::name)", {name}, where);
}

std::vector<Problem> Admin::check_hub(std::string_view name, Where where) {
    return all_rows<Problem>(
        connection_->call(Effect::kRepeatable, "SELECT * FROM belay.check_hub($1::name)", {name},
                          where),
        [](Reader& from, Problem& to) { from >> to.object >> to.problem; });
}

void Admin::set_hub_option(std::string_view name, std::string_view option,
                           const OptionalText& value, Where where) {
    connection_->call(Effect::kRepeatable, "SELECT belay.set_hub_option($1::name, $2, $3)",
                      {name, option, value}, where);
}

void Admin::grant_hub(std::string_view name, std::string_view role, const Word<Level>& level,
                      Where where) {
    connection_->call(Effect::kRepeatable, "SELECT belay.grant_hub($1::name, $2::name, $3)",
                      {name, role, level}, where);
}

void Admin::revoke_hub(std::string_view name, std::string_view role, const Word<Level>& level,
                       Where where) {
    connection_->call(Effect::kRepeatable, "SELECT belay.revoke_hub($1::name, $2::name, $3)",
                      {name, role, level}, where);
}

int Admin::new_incarnation(const OptionalText& name, Where where) {
    return connection_
        ->call(Effect::kWrite, "SELECT belay.new_incarnation($1::name)", {name}, where)
        .get<int>(0, 0);
}

void Admin::create_hub_link(std::string_view hub, std::string_view target_hub,
                            std::string_view server, Where where) {
    connection_->call(Effect::kWrite, "SELECT belay.create_hub_link($1::name, $2::name, $3)",
                      {hub, target_hub, server}, where);
}

void Admin::drop_hub_link(std::string_view hub, std::string_view target_hub, Where where) {
    connection_->call(Effect::kWrite, "SELECT belay.drop_hub_link($1::name, $2::name)",
                      {hub, target_hub}, where);
}

bool Admin::start_worker(Where where) {
    return connection_->call(Effect::kRepeatable, "SELECT belay.start_worker()", {}, where)
        .get<bool>(0, 0);
}

bool Admin::stop_worker(Where where) {
    return connection_->call(Effect::kRepeatable, "SELECT belay.stop_worker()", {}, where)
        .get<bool>(0, 0);
}

std::string Admin::metrics(Where where) {
    return connection_->call(Effect::kRepeatable, "SELECT belay.metrics()", {}, where)
        .get<std::string>(0, 0);
}

void Admin::stat_reset(Where where) {
    connection_->call(Effect::kRepeatable, "SELECT belay.stat_reset()", {}, where);
}

std::vector<HubInfo> Admin::hubs(Where where) {
    return all_rows<HubInfo>(
        connection_->call(
            Effect::kRepeatable,
            "SELECT name, owner, api, version, is_current, paused, " BELAY_MS(
                "created_at") ", size_bytes, array_to_string(paused_queues, ','), "
                              "p.host || ':' || p.port, h.is_here FROM belay.hubs AS h "
                              "LEFT JOIN belay.hub_locations AS p ON p.hub = h.name "
                              "ORDER BY name",
            {}, where),
        [](Reader& from, HubInfo& to) {
            OptionalText paused_queues;
            from >> to.name >> to.owner >> to.api >> to.version >> to.is_current >> to.paused >>
                to.created_at >> to.size_bytes >> paused_queues >> to.place >> to.is_here;
            for (const auto& word : split_of(paused_queues.value_or(""))) {
                to.paused_queues.emplace_back(word);
            }
        });
}

std::vector<HubOption> Admin::hub_options(std::string_view name, Where where) {
    return all_rows<HubOption>(
        connection_->call(Effect::kRepeatable,
                          "SELECT option, value, is_default FROM belay.hub_options "
                          "WHERE hub = $1 ORDER BY option",
                          {name}, where),
        [](Reader& from, HubOption& to) { from >> to.option >> to.value >> to.is_default; });
}

std::vector<QueueStats> Admin::queue_stats(Where where) {
    return all_rows<QueueStats>(
        connection_->call(Effect::kRepeatable,
                          "SELECT hub, queue, enqueued, fetched, empty_fetches, acked, abandoned, "
                          "renewed, lost_leases, expired, dead_lettered, wake_ups, waiters, "
                          "leases, oldest_ready_ms "
                          "FROM belay.pg_stat_belay_queue ORDER BY hub, queue",
                          {}, where),
        [](Reader& from, QueueStats& to) {
            from >> to.hub >> to.queue >> to.enqueued >> to.fetched >> to.empty_fetches >>
                to.acked >> to.abandoned >> to.renewed >> to.lost_leases >> to.expired >>
                to.dead_lettered >> to.wake_ups >> to.waiters >> to.leases >> to.oldest_ready;
        });
}

std::vector<BackgroundWorker> Admin::workers(Where where) {
    return all_rows<BackgroundWorker>(
        connection_->call(
            Effect::kRepeatable,
            "SELECT database, pid, state, " BELAY_MS("last_loop_at") ", duty, " BELAY_MS(
                "last_run") ", runs, errors, last_error FROM belay.workers ORDER BY pid, duty",
            {}, where),
        [](Reader& from, BackgroundWorker& to) {
            from >> to.database >> to.pid >> to.state >> to.last_loop_at >> to.duty >>
                to.last_run >> to.runs >> to.errors >> to.last_error;
        });
}

Rights Admin::rights_on(std::string_view hub, Where where) {
    const Result found = connection_->call(
        Effect::kRepeatable,
        "SELECT n.nspowner = s.oid AND coalesce(h.owner = session_user, true), "
        "pg_catalog.pg_has_role(current_user, coalesce(o.oid, n.nspowner), 'USAGE'), "
        "s.rolsuper "
        "FROM pg_catalog.pg_namespace AS n "
        "JOIN pg_catalog.pg_roles AS s ON s.rolname = session_user "
        "LEFT JOIN belay.hubs AS h ON h.name = n.nspname "
        "LEFT JOIN pg_catalog.pg_roles AS o ON o.rolname = h.owner "
        "WHERE n.nspname = $1::name",
        {hub}, where);
    if (found.empty() || found.get<bool>(0, 0)) {
        return Rights::kOwn;  // no such hub: the statement says so
    }
    if (found.get<bool>(0, 1)) {
        return Rights::kOwner;
    }
    if (found.get<bool>(0, 2)) {
        throw Error({.message = "a superuser has set the role of this session",
                     .sqlstate = "42501",
                     .detail = "The owner of hub \"" + std::string(hub) +
                               "\" could put code into it that sets the role back.",
                     .hint = "Connect as the role itself."},
                    where);
    }
    return Rights::kOwn;
}

// ---- Dead letters. ----

std::vector<DeadLetter> DeadLetters::list(const DeadLetterFilter& filter, Where where) {
    return all_rows<DeadLetter>(
        hub().call(Effect::kRepeatable,
                   "id, queue, source_id, instance_id, execution_id, activity_id, session_id, tag, "
                   "work_item, attempt_count, reason, detail, " BELAY_MS(
                       "enqueued_at") ", " BELAY_MS("dead_at"),
                   "list_dead_letters",
                   {text_of(filter.queue), text_of(filter.reason), filter.instance_id, filter.after,
                    filter.limit},
                   where),
        [](Reader& from, DeadLetter& to) {
            from >> to.id >> to.queue >> to.source_id >> to.instance_id >> to.execution_id >>
                to.activity_id >> to.session_id >> to.tag >> to.work_item >> to.attempt >>
                to.reason >> to.detail >> to.enqueued_at >> to.dead_at;
        });
}

std::int64_t DeadLetters::redrive(std::int64_t id, Where where) {
    return number_of(hub().call(Effect::kWrite, kAll, "redrive_dead_letter", {id}, where));
}

RedrivenLetters DeadLetters::redrive_matching(const Json& filter, OptionalNumber most,
                                              Where where) {
    constexpr std::int64_t kMostAtOnce = 500;
    RedrivenLetters all;
    OptionalText after;
    std::int64_t left = most.value_or(INT64_MAX);
    while (left > 0) {
        const auto answer = Json::parse(hub()
                                            .call(Effect::kWrite, kAll, "redrive_dead_letters",
                                                  {filter, OptionalText(), after,
                                                   static_cast<int>(std::min(left, kMostAtOnce))},
                                                  where)
                                            .get<std::string>(0, 0));
        all.done += answer["done"].get<std::int64_t>();
        all.skipped += answer["skipped"].get<std::int64_t>();
        for (const auto& one : answer["failed"]) {
            all.failed.push_back({std::stoll(one["id"].get<std::string>()),
                                  one["code"].get<std::string>(), one["word"].get<std::string>()});
        }
        left -= kMostAtOnce;
        if (answer["next"].is_null()) {
            break;
        }
        after = answer["next"].get<std::string>();
    }
    return all;
}

void DeadLetters::discard(std::int64_t id, Where where) {
    hub().call(Effect::kWrite, kAll, "discard_dead_letter", {id}, where);
}

// ---- The care of a hub. ----

SystemMetrics Maintenance::metrics(Where where) {
    return first_row<SystemMetrics>(
               hub().call(Effect::kRepeatable, kAll, "get_system_metrics", {}, where),
               [](Reader& from, SystemMetrics& to) {
                   from >> to.total_instances >> to.total_executions >> to.running_instances >>
                       to.completed_instances >> to.failed_instances >> to.total_events;
               })
        .value();
}

ProviderDepths Maintenance::depths(Where where) {
    return first_row<ProviderDepths>(
               hub().call(Effect::kRepeatable, kAll, "get_queue_depths", {hub().now()}, where),
               [](Reader& from, ProviderDepths& to) {
                   from >> to.orchestrator_queue >> to.worker_queue >> to.timer_queue;
               })
        .value();
}

std::vector<LeaseOwner> Maintenance::owners(Where where) {
    return all_rows<LeaseOwner>(
        hub().query(Effect::kRepeatable,
                    "SELECT o ->> 'owner_id', (o ->> 'live')::bigint, (o ->> 'overdue')::bigint "
                    "FROM jsonb_array_elements(" +
                        hub().schema() + ".list_owners(NULL, 1000) -> 'rows') AS o",
                    {}, where),
        [](Reader& from, LeaseOwner& to) { from >> to.owner_id >> to.live >> to.overdue; });
}

std::vector<DutyRun> Maintenance::reconcile(const std::optional<std::vector<std::string>>& duties,
                                            Where where) {
    return all_rows<DutyRun>(
        hub().call(Effect::kRepeatable, kAll, "reconcile", {duties, hub().now()}, where),
        [](Reader& from, DutyRun& to) { from >> to.duty >> to.rows >> to.elapsed; });
}

void Maintenance::pause(const std::optional<Word<HubQueue>>& queue, std::string_view reason,
                        Where where) {
    hub().call(Effect::kRepeatable, kAll, "pause_hub", {queue, reason}, where);
}

void Maintenance::resume(const std::optional<Word<HubQueue>>& queue, Where where) {
    hub().call(Effect::kRepeatable, kAll, "resume_hub", {queue}, where);
}

}  // namespace belay
