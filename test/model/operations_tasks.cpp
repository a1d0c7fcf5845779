// Calls of tasks, and what the tables show of them.
#include <cstdio>

#include "made_up.hpp"

namespace belay::test::model {

namespace {

using std::to_string;
using When = Operation::When;

constexpr std::size_t kFullOfTasks = 50;

const std::vector<std::string> kTaskQueues = {"q0", "q1", "q2"};
const std::vector<std::string> kCapabilities = {"cpu", "gpu"};

// ---- Made-up values ----

std::string new_id(Scene* scene) {
    char id[40];
    (void)std::snprintf(id, sizeof id, "00000000-0000-4000-8000-%012llx",
                        static_cast<unsigned long long>(++scene->memory.serial));
    return id;
}

// Mostly one that wanted() accepts; at times any, or none that exists. Nothing without tasks.
template <typename Wanted>
std::optional<Task> made_task(Scene* scene, Wanted wanted) {
    std::vector<Task> all;
    std::vector<Task> fitting;
    for (const Task* task : scene->hub.tasks.rows.seen_by(scene->client)) {
        all.push_back(*task);
        if (wanted(*task)) {
            fitting.push_back(*task);
        }
    }
    if (scene->random.percent(1)) {
        Task unknown;
        unknown.id = new_id(scene);
        return unknown;
    }
    if (!fitting.empty() && scene->random.percent(88)) {
        return scene->random.pick(fitting);
    }
    return all.empty() || scene->random.percent(80) ? std::nullopt
                                                    : std::optional(scene->random.pick(all));
}

bool is_any(const Task&) {
    return true;
}

// A lease of a task: most often the one that it has, at times an older one.
std::optional<LeaseOf> made_lease(Scene* scene) {
    const auto task = made_task(scene, [](const Task& row) { return row.is_active(); });
    if (!task) {
        return std::nullopt;
    }
    const bool old = task->epoch > 0 && scene->random.percent(task->is_active() ? 8 : 60);
    return LeaseOf{task->id, task->epoch - (old ? 1 : 0)};
}

std::string sql(const LeaseOf& lease) {
    return "'" + lease.task + "', " + to_string(lease.epoch);
}

std::string uuid(const std::string& id) {
    return "'" + id + "'";
}

using model::sql;

TaskPolicy made_policy(Scene* scene, JsonObject* text) {
    auto& random = scene->random;
    TaskPolicy policy;
    if (random.percent(40)) {
        policy.max_attempts = random.number(0, 3);
        text->number("max_attempts", policy.max_attempts);
    }
    if (random.percent(40)) {
        policy.first_wait = random.number(0, 400);
        policy.longest_wait = random.number(0, 1000);
        JsonObject backoff;
        backoff.number("initial_ms", policy.first_wait).number("max_ms", policy.longest_wait);
        text->raw("backoff", backoff.printed());
    }
    if (random.percent(20)) {
        policy.attempt_timeout = random.number(1, 1200);
        text->number("attempt_timeout_ms", *policy.attempt_timeout);
    }
    if (random.percent(30)) {
        policy.expiry_retries = true;
        text->text("on_lease_expiry", Text("retry"));
    }
    if (random.percent(25)) {
        policy.max_reclaims = random.number(0, 2);
        text->number("max_reclaims", policy.max_reclaims);
    }
    if (random.percent(25)) {
        policy.max_replays = random.number(0, 2);
        text->number("max_replays", policy.max_replays);
    }
    return policy;
}

std::optional<std::set<std::string>> made_set(Scene* scene, const std::vector<std::string>& of,
                                              int chance) {
    std::set<std::string> chosen;
    for (const std::string& one : of) {
        if (scene->random.percent(chance)) {
            chosen.insert(one);
        }
    }
    return chosen;
}

std::string sql(const std::set<std::string>& texts) {
    std::vector<std::string> words;
    for (const std::string& text : texts) {
        words.push_back("'" + text + "'");
    }
    return "ARRAY[" + listed(words) + "]::text[]";
}

// ---- Creating ----

struct MadeTask {
    NewTask wanted;
    std::string policy;
};

MadeTask made_new_task(Scene* scene) {
    auto& random = scene->random;
    MadeTask made;
    Task& task = made.wanted.task;
    const auto known = random.percent(6) ? made_task(scene, is_any) : std::nullopt;
    task.id = known ? known->id : new_id(scene);
    task.queue = random.pick(kTaskQueues);
    task.needs = *made_set(scene, kCapabilities, 15);
    task.priority = static_cast<int>(random.percent(50) ? 0 : random.number(1, 3));
    JsonObject policy;
    task.policy = made_policy(scene, &policy);
    made.policy = policy.printed();
    task.deadline = sometimes(scene, 20, scene->now + random.number(1, 3000));
    made.wanted.delay = random.percent(70) ? 0 : random.number(1, 1500);
    made.wanted.available = sometimes(scene, 15, scene->now + random.number(-500, 1500));
    if (random.percent(30)) {
        task.dedup_key = "k" + to_string(random.number(0, 4));
        made.wanted.window = random.percent(50) ? 0 : random.number(1, 2000);
    }
    return made;
}

std::optional<Call> create_task(Scene* scene) {
    if (scene->hub.tasks.rows.count() > kFullOfTasks) {
        return std::nullopt;
    }
    const MadeTask made = made_new_task(scene);
    const NewTask& wanted = made.wanted;
    return Call{"SELECT * FROM app.create_task('" + wanted.task.queue + "', NULL, " +
                    uuid(wanted.task.id) + ", '', " + to_string(wanted.task.priority) + ", " +
                    to_string(wanted.delay) + ", " + sql(wanted.available) + ", " +
                    sql(wanted.task.deadline) + ", " + sql(wanted.task.needs) + ", '" +
                    made.policy + "', " + sql(wanted.task.dedup_key) + ", " +
                    to_string(wanted.window) + ", p_now_ms => " + to_string(scene->now) + ")",
                [wanted, client = scene->client, now = scene->now](Hub* hub) {
                    const CreatedTask created = hub->tasks.create(client, wanted, now);
                    return Expected{{created.id, created.state, truth(created.created)}};
                }};
}

// ---- Claiming ----

std::optional<Call> claim_tasks(Scene* scene) {
    auto& random = scene->random;
    Claim claim;
    claim.queues = random.percent(30) ? std::nullopt : made_set(scene, kTaskQueues, 60);
    claim.capabilities = *made_set(scene, kCapabilities, 60);
    claim.worker = random.pick(kOwners);
    claim.lease_ms = made_timeout(scene);
    claim.max = static_cast<int>(random.percent(60) ? 1 : random.number(2, 6));
    claim.now = scene->now;
    return Call{
        "SELECT task_id, queue, priority, attempt_index, attempt_kind, retry_count, reclaim_count, "
        "replay_count, lease_epoch, lease_until_ms, attempt_deadline_ms, deadline_ms, "
        "last_failure ->> 'class' FROM app.claim_tasks('w', '" +
            claim.worker + "', " + (claim.queues ? sql(*claim.queues) : "NULL") + ", " +
            sql(claim.capabilities) + ", " + to_string(claim.lease_ms) + ", " +
            to_string(claim.max) + ", p_now_ms => " + to_string(claim.now) + ")",
        [claim, client = scene->client](Hub* hub) {
            Claim with_clock = claim;
            with_clock.server_now = server_now();
            Expected rows;
            for (const Task& task : hub->tasks.claim(client, with_clock)) {
                rows.push_back(
                    {task.id, task.queue, to_string(task.priority), to_string(task.attempt),
                     task.pending, to_string(task.retries), to_string(task.reclaims),
                     to_string(task.replays), to_string(task.epoch), text_of(task.lease_until),
                     text_of(task.attempt_deadline), text_of(task.deadline), task.failure_class});
            }
            return rows;
        }};
}

// ---- Calls with a lease ----

std::optional<Call> renew_task(Scene* scene) {
    const auto lease = made_lease(scene);
    if (!lease) {
        return std::nullopt;
    }
    const int64_t lease_ms = made_timeout(scene);
    return Call{"SELECT * FROM app.renew_task(" + sql(*lease) + ", " + to_string(lease_ms) + ", " +
                    to_string(scene->now) + ")",
                [=, lease = *lease, client = scene->client, now = scene->now](Hub* hub) {
                    const auto [until, capped] = hub->tasks.renew(client, lease, lease_ms, now);
                    return Expected{{to_string(until), truth(capped)}};
                }};
}

std::optional<Call> complete_task(Scene* scene) {
    auto lease = made_lease(scene);
    // A repetition.
    const auto completed =
        made_task(scene, [](const Task& row) { return row.state == "completed"; });
    if (completed && completed->epoch > 0 && scene->random.percent(10)) {
        lease = LeaseOf{completed->id, completed->epoch - 1};
    }
    if (!lease) {
        return std::nullopt;
    }
    const Text result = sometimes(scene, 60, to_string(scene->random.number(0, 9)));
    return Call{"SELECT * FROM app.complete_task(" + sql(*lease) + ", " + sql(result) +
                    ", p_now_ms => " + to_string(scene->now) + ")",
                [=, lease = *lease, client = scene->client, now = scene->now](Hub* hub) {
                    const Task task = hub->tasks.complete(client, lease, result, now);
                    return Expected{{"completed", task.id, "completed", to_string(task.epoch)}};
                }};
}

std::optional<Call> fail_task(Scene* scene) {
    const auto lease = made_lease(scene);
    if (!lease) {
        return std::nullopt;
    }
    const std::vector<std::string> classes = {"transient", "transient", "transient",
                                              "timeout",   "permanent", "cancelled"};
    const TaskFailure failure{
        .failure_class = scene->random.pick(classes),
        .message = sometimes(scene, 50, "m" + to_string(scene->random.number(0, 9))),
        .retry_after = sometimes(scene, 30, scene->random.number(0, 800))};
    return Call{
        "SELECT * FROM app.fail_task(" + sql(*lease) + ", '" + failure.failure_class + "', " +
            sql(failure.message) + ", NULL, " + sql(failure.retry_after) + ", p_now_ms => " +
            to_string(scene->now) + ")",
        [=, lease = *lease, client = scene->client, now = scene->now](Hub* hub) {
            const Task task = hub->tasks.fail(client, lease, failure, now);
            if (task.is_over()) {
                return Expected{{task.state == "cancelled" ? "cancelled" : "terminal_failed",
                                 task.state, std::nullopt, std::nullopt}};
            }
            return Expected{{"retry_scheduled", task.state, text_of(task.available),
                             to_string(task.attempt + 1)}};
        }};
}

std::optional<Call> delay_task(Scene* scene) {
    const auto lease = made_lease(scene);
    if (!lease) {
        return std::nullopt;
    }
    const int64_t delay = scene->random.number(0, 800);
    return Call{"SELECT * FROM app.delay_task(" + sql(*lease) + ", " + to_string(delay) +
                    ", p_now_ms => " + to_string(scene->now) + ")",
                [=, lease = *lease, client = scene->client, now = scene->now](Hub* hub) {
                    const Task task = hub->tasks.delay(client, lease, delay, now);
                    return Expected{{task.state, text_of(task.available)}};
                }};
}

std::optional<Call> release_task(Scene* scene) {
    const auto lease = made_lease(scene);
    if (!lease) {
        return std::nullopt;
    }
    const int64_t delay = scene->random.percent(60) ? 0 : scene->random.number(1, 800);
    return Call{"SELECT * FROM app.release_task(" + sql(*lease) + ", " + to_string(delay) + ", " +
                    to_string(scene->now) + ")",
                [=, lease = *lease, client = scene->client, now = scene->now](Hub* hub) {
                    const Task task = hub->tasks.release(client, lease, delay, now);
                    return Expected{{task.state, text_of(task.available)}};
                }};
}

// ---- Operators ----

std::optional<Call> cancel_task(Scene* scene) {
    const auto task = made_task(
        scene, [](const Task& row) { return !row.is_over() || row.state == "cancelled"; });
    if (!task) {
        return std::nullopt;
    }
    const std::string reason = "r" + to_string(scene->random.number(0, 9));
    return Call{
        "SELECT * FROM app.cancel_task('" + task->id + "', '" + reason + "', p_now_ms => " +
            to_string(scene->now) + ")",
        [reason, id = task->id, client = scene->client, now = scene->now](Hub* hub) {
            const std::string before =
                hub->tasks.cancel(client, id, reason, "operator_override", now);
            return Expected{{"cancelled", id, "cancelled", before, truth(before != "cancelled")}};
        }};
}

std::optional<Call> revoke_lease(Scene* scene) {
    const auto task = made_task(scene, [](const Task& row) { return row.is_active(); });
    if (!task) {
        return std::nullopt;
    }
    return Call{
        "SELECT result, reason, lease_epoch FROM app.revoke_lease('" + task->id +
            "', p_now_ms => " + to_string(scene->now) + ")",
        [id = task->id, client = scene->client, now = scene->now](Hub* hub) {
            const auto [row, revoked] = hub->tasks.revoke(client, id, now);
            return Expected{{revoked ? "revoked" : "already_satisfied",
                             revoked ? Text() : Text("no_active_lease"), to_string(row.epoch)}};
        }};
}

std::optional<Call> change_priority(Scene* scene) {
    const auto task =
        made_task(scene, [scene](const Task& row) { return row.is_eligible(scene->now); });
    if (!task) {
        return std::nullopt;
    }
    const auto priority = static_cast<int>(scene->random.number(0, 3));
    return Call{"SELECT * FROM app.change_priority('" + task->id + "', " + to_string(priority) +
                    ", " + to_string(scene->now) + ")",
                [priority, id = task->id, client = scene->client, now = scene->now](Hub* hub) {
                    const int before = hub->tasks.change_priority(client, id, priority, now);
                    return Expected{{"changed", id, to_string(before), to_string(priority)}};
                }};
}

std::optional<Call> replay_task(Scene* scene) {
    const auto task = made_task(scene, [](const Task& row) { return row.is_over(); });
    if (!task) {
        return std::nullopt;
    }
    return Call{"SELECT result, task_id, public_state, replay_count FROM app.replay_task('" +
                    task->id + "', p_now_ms => " + to_string(scene->now) + ")",
                [id = task->id, client = scene->client, now = scene->now](Hub* hub) {
                    const Task row = hub->tasks.replay(client, id, now);
                    return Expected{{"replayed", id, "waiting", to_string(row.replays)}};
                }};
}

std::optional<Call> delete_task(Scene* scene) {
    const auto task = made_task(scene, [](const Task& row) { return row.is_over(); });
    if (!task) {
        return std::nullopt;
    }
    return Call{"SELECT app.delete_task('" + task->id + "')",
                [id = task->id, client = scene->client](Hub* hub) {
                    return Expected{{truth(hub->tasks.remove(client, id))}};
                }};
}

Call set_paused(const std::string& queue, bool paused) {
    return Call{
        std::string("SELECT app.") + (paused ? "pause" : "resume") + "_queue('" + queue + "')",
        [queue, paused](Hub* hub) {
            if (paused) {
                hub->tasks.paused.insert(queue);
            } else {
                hub->tasks.paused.erase(queue);
            }
            return kVoid;
        }};
}

std::optional<Call> pause_queue(Scene* scene) {
    return set_paused(scene->random.pick(kTaskQueues), true);
}

std::optional<Call> resume_queue(Scene* scene) {
    const auto& paused = scene->hub.tasks.paused;
    return paused.empty() ? std::nullopt : std::optional(set_paused(*paused.begin(), false));
}

std::optional<Call> reconcile_tasks(Scene* scene) {
    static const std::vector<std::string> kDuties = {"deadlines", "due_timers", "lease_expiry"};
    const std::string duty = scene->random.pick(kDuties);
    return Call{"SELECT duty, rows FROM app.reconcile(ARRAY['" + duty + "'], p_now_ms => " +
                    to_string(scene->now) + ")",
                [duty, client = scene->client, now = scene->now](Hub* hub) {
                    const int64_t rows =
                        duty == "deadlines"    ? hub->tasks.expire_deadlines(client, now)
                        : duty == "due_timers" ? hub->tasks.promote(client, now)
                                               : hub->tasks.expire_leases(client, now);
                    return Expected{{duty, to_string(rows)}};
                }};
}

std::optional<Call> vacuum_tasks(Scene*) {
    return Call{"VACUUM app.tasks, app.attempts, app.dedup_keys", [](Hub*) { return Expected{}; }};
}

// ---- The front door ----

// A call without an argument for the clock.
std::string at_now(Scene* scene, const std::string& call) {
    return "SELECT set_config('belay.now', '" + to_string(scene->now) + "', true); " + call;
}

std::string ms(int64_t count) {
    return "interval '" + to_string(count) + " ms'";
}

std::string shown_ms(const std::string& time) {
    return "SELECT round(extract(epoch FROM " + time + ") * 1000)::bigint";
}

// A lease that receive has told: most often one that a task has.
std::optional<LeaseOf> made_text(Scene* scene) {
    const auto& known = scene->memory.task_leases;
    if (known.empty()) {
        return std::nullopt;
    }
    std::vector<LeaseOf> held;
    for (const auto& [task, epoch, text] : known) {
        const Task* row = scene->hub.tasks.rows.find(task, scene->client);
        if (row != nullptr && row->is_active() && row->lease == text) {
            held.push_back({task, epoch, text});
        }
    }
    if (!held.empty() && scene->random.percent(85)) {
        return scene->random.pick(held);
    }
    if (!scene->random.percent(25)) {
        return std::nullopt;
    }
    const auto [task, epoch, text] = scene->random.pick(known);
    return LeaseOf{task, epoch, text};
}

std::optional<Call> send(Scene* scene) {
    if (scene->hub.tasks.rows.count() > kFullOfTasks) {
        return std::nullopt;
    }
    MadeTask made = made_new_task(scene);
    NewTask& wanted = made.wanted;
    wanted.task.id = "?";
    wanted.task.needs.clear();
    wanted.task.deadline = std::nullopt;
    wanted.available = std::nullopt;
    wanted.window = kDay;
    const std::string delay = wanted.delay == 0 ? "NULL" : ms(wanted.delay);
    Call call;
    call.sql =
        at_now(scene, "SELECT app.send('" + wanted.task.queue + "', key => " +
                          sql(wanted.task.dedup_key) + ", delay => " + delay + ", priority => " +
                          to_string(wanted.task.priority) + ", policy => '" + made.policy + "')");
    call.apply = [wanted, client = scene->client, now = scene->now](Hub* hub) {
        Tasks after = hub->tasks;
        const CreatedTask created = after.create(client, wanted, now);
        if (created.created) {
            return Expected{{kAnything}};  // learn does it
        }
        hub->tasks = after;
        return Expected{{created.id}};
    };
    call.learn = [wanted, client = scene->client, now = scene->now](Hub* hub,
                                                                    const Answer& answer) {
        const std::string id = answer.rows.at(0).at(0).value_or("");
        if (hub->tasks.rows.find(id, client) == nullptr) {
            NewTask with_id = wanted;
            with_id.task.id = id;
            (void)hub->tasks.create(client, with_id, now);
        }
        return std::string();
    };
    return call;
}

std::optional<Call> receive(Scene* scene) {
    auto& random = scene->random;
    Claim claim;
    claim.queues = made_set(scene, kTaskQueues, 60);
    if (claim.queues->empty()) {
        claim.queues->insert(random.pick(kTaskQueues));
    }
    claim.capabilities = *made_set(scene, kCapabilities, 60);
    claim.worker = random.pick(kOwners);
    claim.lease_ms = made_timeout(scene);
    claim.max = static_cast<int>(random.percent(60) ? 1 : random.number(2, 6));
    claim.now = scene->now;
    Call call;
    call.sql =
        at_now(scene,
               "SELECT id, queue, attempt, lease, round(extract(epoch FROM "
               "lease_until) * 1000)::bigint FROM app.receive(" +
                   sql(*claim.queues) + ", " + to_string(claim.max) + ", " + ms(claim.lease_ms) +
                   ", '" + claim.worker + "', " + sql(claim.capabilities) + ")");
    call.apply = [claim, client = scene->client](Hub* hub) {
        Claim with_clock = claim;
        with_clock.server_now = server_now();
        Expected rows;
        for (const Task& task : hub->tasks.claim(client, with_clock)) {
            rows.push_back({task.id, task.queue, to_string(task.attempt), kAnything,
                            text_of(task.lease_until)});
        }
        return rows;
    };
    call.learn = [memory = &scene->memory, client = scene->client](Hub* hub, const Answer& answer) {
        for (const auto& row : answer.rows) {
            const std::string text = row.at(3).value_or("");
            if (!memory->all_tokens.insert(text).second) {
                return "the lease was given before: " + text;
            }
            Task& task = *hub->tasks.rows.hold(*row.at(0), client);
            task.lease = text;
            memory->task_leases.emplace_back(task.id, task.epoch, text);
            if (memory->task_leases.size() > kFullOfTasks) {
                memory->task_leases.pop_front();
            }
        }
        return std::string();
    };
    return call;
}

std::optional<Call> extend(Scene* scene) {
    const auto lease = made_text(scene);
    if (!lease) {
        return std::nullopt;
    }
    const int64_t by = made_timeout(scene);
    return Call{at_now(scene, shown_ms("app.extend('" + *lease->text + "', " + ms(by) + ")")),
                [=, lease = *lease, client = scene->client, now = scene->now](Hub* hub) {
                    return Expected{{to_string(hub->tasks.renew(client, lease, by, now).first)}};
                }};
}

std::optional<Call> complete(Scene* scene) {
    const auto lease = made_text(scene);
    if (!lease) {
        return std::nullopt;
    }
    const Text result = to_string(scene->random.number(0, 9));
    return Call{at_now(scene, "SELECT app.complete('" + *lease->text + "', " + sql(result) + ")"),
                [=, lease = *lease, client = scene->client, now = scene->now](Hub* hub) {
                    (void)hub->tasks.complete(client, lease, result, now);
                    return kVoid;
                }};
}

std::optional<Call> fail(Scene* scene) {
    const auto lease = made_text(scene);
    if (!lease) {
        return std::nullopt;
    }
    const TaskFailure failure{
        .failure_class = scene->random.percent(80) ? "transient" : "permanent",
        .message = "m" + to_string(scene->random.number(0, 9)),
        .retry_after = sometimes(scene, 40, scene->random.number(0, 800))};
    const std::string retry_in = failure.retry_after ? ms(*failure.retry_after) : "NULL";
    return Call{at_now(scene, shown_ms("app.fail('" + *lease->text + "', " + sql(failure.message) +
                                       ", " + retry_in + ", '" + failure.failure_class + "')")),
                [=, lease = *lease, client = scene->client, now = scene->now](Hub* hub) {
                    const Task task = hub->tasks.fail(client, lease, failure, now);
                    return Expected{{text_of(task.available)}};
                }};
}

std::optional<Call> release(Scene* scene) {
    const auto lease = made_text(scene);
    if (!lease) {
        return std::nullopt;
    }
    const int64_t delay = scene->random.percent(60) ? 0 : scene->random.number(1, 800);
    return Call{at_now(scene, "SELECT app.release('" + *lease->text + "', " + ms(delay) + ")"),
                [=, lease = *lease, client = scene->client, now = scene->now](Hub* hub) {
                    (void)hub->tasks.release(client, lease, delay, now);
                    return kVoid;
                }};
}

std::optional<Call> cancel(Scene* scene) {
    const auto task = made_task(scene, is_any);
    if (!task) {
        return std::nullopt;
    }
    return Call{at_now(scene, "SELECT app.cancel('" + task->id + "', 'front')"),
                [id = task->id, client = scene->client, now = scene->now](Hub* hub) {
                    const Task* row = hub->tasks.rows.find(id, client);
                    if (row != nullptr && row->is_over()) {
                        hub->tasks.rows.hold(id, client);
                        return Expected{{truth(false)}};
                    }
                    (void)hub->tasks.cancel(client, id, "front", "client", now);
                    return Expected{{truth(true)}};
                }};
}

constexpr Operation kOperations[] = {
    {"send", 10, When::kAlways, send},
    {"receive", 14, When::kAlways, receive},
    {"extend", 5, When::kAlways, extend},
    {"complete", 7, When::kAlways, complete},
    {"fail", 6, When::kAlways, fail},
    {"release", 4, When::kAlways, release},
    {"cancel", 2, When::kAlways, cancel},
    {"create_task", 18, When::kAlways, create_task},
    {"claim_tasks", 18, When::kAlways, claim_tasks},
    {"renew_task", 6, When::kAlways, renew_task},
    {"complete_task", 9, When::kAlways, complete_task},
    {"fail_task", 9, When::kAlways, fail_task},
    {"delay_task", 4, When::kAlways, delay_task},
    {"release_task", 5, When::kAlways, release_task},
    {"cancel_task", 4, When::kAlways, cancel_task},
    {"revoke_lease", 2, When::kAlways, revoke_lease},
    {"change_priority", 3, When::kAlways, change_priority},
    {"replay_task", 4, When::kAlways, replay_task},
    {"delete_task", 6, When::kAlways, delete_task},
    {"pause_queue", 1, When::kOwnTransaction, pause_queue},
    {"resume_queue", 5, When::kOwnTransaction, resume_queue},
    {"reconcile", 6, When::kAlways, reconcile_tasks},
    {"vacuum", 1, When::kOwnTransaction, vacuum_tasks},
};

// ---- What is stored ----

Expected tasks(const Hub& hub, int client) {
    Expected rows;
    for (const Task* task : hub.tasks.rows.seen_by(client)) {
        rows.push_back({task->id,
                        task->queue,
                        task->state,
                        task->pending,
                        to_string(task->priority),
                        to_string(task->epoch),
                        text_of(task->lease_until),
                        text_of(task->lease_check),
                        task->worker,
                        text_of(task->available),
                        text_of(task->deadline),
                        text_of(task->attempt_started),
                        text_of(task->attempt_deadline),
                        task->attempt_kind,
                        task->attempt_worker,
                        to_string(task->created),
                        text_of(task->started),
                        to_string(task->updated),
                        text_of(task->ended),
                        to_string(task->attempt),
                        to_string(task->leases),
                        to_string(task->retries),
                        to_string(task->reclaims),
                        to_string(task->replays),
                        task->result,
                        task->failure_class,
                        task->failure_message,
                        task->cancel_reason,
                        task->cancelled_by,
                        task->dedup_key});
    }
    return rows;
}

Expected attempts(const Hub& hub, int client) {
    Expected rows;
    for (const Attempt* attempt : hub.tasks.attempts.seen_by(client)) {
        rows.push_back({attempt->task, to_string(attempt->index), to_string(attempt->leases),
                        to_string(attempt->epoch), to_string(attempt->started),
                        to_string(attempt->ended), attempt->kind, attempt->outcome, attempt->worker,
                        attempt->error_class});
    }
    return rows;
}

Expected dedup_keys(const Hub& hub, int client) {
    Expected rows;
    for (const auto& [key, cell] : hub.tasks.keys.cells) {
        if (const auto& row = cell.seen_by(client)) {
            rows.push_back({key.first, key.second, row->task, to_string(row->window_until)});
        }
    }
    return rows;
}

constexpr Picture kPictures[] = {
    {"tasks",
     "SELECT id, queue, state, pending_attempt, priority, lease_epoch, lease_until_ms, "
     "lease_check_ms, lease_owner, available_at_ms, deadline_ms, "
     // A completed task keeps its last attempt in its row; the picture `attempts` shows it.
     "CASE WHEN state <> 'completed' THEN attempt_started_ms END, attempt_deadline_ms, "
     "CASE WHEN state <> 'completed' THEN attempt_kind END, "
     "CASE WHEN state <> 'completed' THEN attempt_worker_instance END, created_at_ms, "
     "started_at_ms, updated_at_ms, terminal_at_ms, attempt_index, "
     "CASE WHEN state <> 'completed' THEN attempt_leases ELSE 0 END, retry_count, reclaim_count, "
     "replay_count, result, failure_class, failure_message, cancel_reason, cancelled_by, "
     "dedup_key FROM app.tasks ORDER BY id",
     tasks},
    {"attempts",
     "SELECT task_id, attempt_index, lease_count, lease_epoch, started_ms, ended_ms, kind, "
     "outcome, "
     "worker_instance, error ->> 'class' FROM app.task_attempts WHERE ended_ms IS NOT NULL "
     "ORDER BY 1, 2",
     attempts},
    {"dedup_keys", "SELECT queue, key, task_id, window_until_ms FROM app.dedup_keys ORDER BY 1, 2",
     dedup_keys},
    {"check_tasks", "SELECT object, problem FROM app.check_tasks()",
     [](const Hub&, int) { return Expected{}; }},
};

}  // namespace

const char* registering_tasks() {
    return R"sql(
DO $$
DECLARE
    created uuid;
BEGIN
    FOR created IN
        SELECT c.task_id
          FROM unnest(ARRAY['q0', 'q1', 'q2']) AS q(queue),
               unnest(ARRAY['{}', '{cpu}', '{gpu}', '{cpu,gpu}']::text[]) AS s(capabilities),
               app.create_task(q.queue, p_capabilities => s.capabilities::text[]) AS c
    LOOP
        PERFORM app.cancel_task(created);
        PERFORM app.delete_task(created);
    END LOOP;
END
$$;
)sql";
}

std::span<const Operation> task_operations() {
    return kOperations;
}

std::span<const Picture> task_pictures() {
    return kPictures;
}

}  // namespace belay::test::model
