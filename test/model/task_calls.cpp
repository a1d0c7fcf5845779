// The made-up calls of tasks.
#include <algorithm>

#include "made_up.hpp"
#include "task_runner.hpp"

namespace belay::test::model {

using std::to_string;

namespace {

constexpr std::size_t kEnough = 60;  // so many tasks

const std::vector<std::string> kLanes = {"a", "b", "c", "d"};
const std::vector<std::string> kCapabilities = {"gpu", "eu"};
const std::vector<std::string> kWorkers = {"w0", "w1"};
const std::vector<std::string> kPolicies = {
    R"({"max_attempts": 2, "backoff": {"kind": "fixed", "delay_ms": 0}})",
    R"({"max_attempts": 0, "backoff": {"kind": "fixed", "delay_ms": 40}})",
    R"({"backoff": {"kind": "exponential", "initial_ms": 10, "max_ms": 70, "multiplier": 2.0}})",
    R"({"attempt_timeout_ms": 150, "max_attempts": 3})",
    R"({"attempt_timeout_ms": 90, "retryable": ["transient"]})",
    R"({"on_lease_expiry": "retry", "max_attempts": 3})",
    R"({"max_reclaims": 1})",
    R"({"max_reclaims": 0, "max_replays": 1})",
    R"({"max_attempts": 1})"};

std::string quoted(const std::string& text) {
    return "'" + text + "'";
}

// The id of a caller.
std::string own_id(int64_t number) {
    const std::string digits = to_string(number);
    return "00000000-0000-4000-8000-" + std::string(12 - digits.size(), '0') + digits;
}

// As an argument of create_task, and as a member of an item of create_tasks.
struct Argument {
    std::string name;
    std::string sql;
    std::string json;
};

std::vector<std::string> some_of(TaskScene* scene, const std::vector<std::string>& all,
                                 int chance) {
    std::vector<std::string> some;
    for (const auto& one : all) {
        if (scene->random.percent(chance)) {
            some.push_back(one);
        }
    }
    return some;
}

std::string array(const std::vector<std::string>& texts) {
    return sql(std::vector<Text>(texts.begin(), texts.end()));
}

std::string json_array(const std::vector<std::string>& texts) {
    std::vector<std::string> parts;
    for (const auto& text : texts) {
        parts.push_back(json(text));
    }
    return "[" + listed(parts) + "]";
}

std::string object(TaskScene* scene) {
    JsonObject object;
    object.number("n", scene->random.number(0, 99));
    if (scene->random.percent(4)) {  // out of line
        std::string text;
        for (int i = 0; i < 150; ++i) {
            text += to_string(scene->random.number(100'000'000'000, 999'999'999'999));
        }
        object.text("text", text);
    }
    return object.printed();
}

std::vector<Argument> made_task(TaskScene* scene) {
    Random& random = scene->random;
    std::vector<Argument> task;
    const auto text = [&task](const char* name, const std::string& value) {
        task.push_back({name, quoted(value), json(value)});
    };
    const auto document = [&task](const char* name, const std::string& value) {
        task.push_back({name, quoted(value), value});
    };
    const auto number = [&task](const char* name, int64_t value) {
        task.push_back({name, to_string(value), to_string(value)});
    };
    text("lane", random.pick(kLanes));
    if (random.percent(60)) {
        document("payload", object(scene));
    }
    if (scene->slots || random.percent(45)) {
        text("task_id",
             own_id(scene->serial > 0 && random.percent(8) ? random.number(1, scene->serial)
                                                           : ++scene->serial));
    }
    if (random.percent(25)) {
        text("kind", "k" + to_string(random.number(0, 2)));
    }
    if (random.percent(50)) {
        number("priority",
               random.percent(10) ? random.pick(std::vector{-5, 99999}) : random.number(0, 4));
    }
    if (random.percent(25)) {
        number("delay_ms", random.number(0, 300));
    }
    if (random.percent(10)) {
        number("available_at_ms", scene->latest + random.number(-100, 300));
    }
    if (random.percent(20)) {
        number("deadline_ms", scene->latest + (random.percent(3) ? 0 : random.number(1, 1200)));
    }
    if (random.percent(30)) {
        const auto capabilities = some_of(scene, kCapabilities, 60);
        task.push_back({"capabilities", array(capabilities), json_array(capabilities)});
    }
    if (random.percent(45)) {
        document("policy", random.percent(2) ? R"({"x": 1})" : random.pick(kPolicies));
    }
    if (random.percent(20)) {
        text("dedup_key", "d" + to_string(random.number(0, 3)));
        if (random.percent(60)) {
            number("dedup_window_ms", random.number(0, 1) * random.number(0, 600));
        }
    }
    if (random.percent(15)) {
        document("tags", JsonObject().text("t", "v" + to_string(random.number(0, 2))).printed());
    }
    return task;
}

std::string now_of(const TaskScene* scene) {
    return "p_now_ms => " + to_string(scene->now);
}

std::string create_task(TaskScene* scene) {
    std::string arguments;
    for (const auto& [name, sql, json] : made_task(scene)) {
        arguments += "p_" + name + " => " + sql + ", ";
    }
    return "SELECT * FROM app.create_task(" + arguments + "p_now_ms => " +
           to_string(scene->latest) + ")";
}

std::string create_tasks(TaskScene* scene) {
    std::vector<std::string> items;
    const int64_t count = scene->random.number(0, 8);
    for (int64_t i = 0; i < count; ++i) {
        JsonObject item;
        for (const auto& [name, sql, json] : made_task(scene)) {
            item.raw(name, json);
        }
        items.push_back(item.printed());
    }
    return "SELECT * FROM app.create_tasks('[" + listed(items) + "]', " + to_string(scene->latest) +
           ")";
}

std::string lease_ms(TaskScene* scene) {
    return to_string(scene->random.percent(1)    ? 0
                     : scene->random.percent(30) ? scene->random.number(1, 300)
                                                 : scene->random.number(300, 4000));
}

// From the worker on.
std::string claim_arguments(TaskScene* scene) {
    Random& random = scene->random;
    const std::string worker = random.pick(kWorkers);
    std::string text =
        quoted(worker) + ", " + quoted(worker + "-" + to_string(random.number(1, 2)));
    if (random.percent(60)) {
        text += ", p_lanes => " + array(some_of(scene, kLanes, random.percent(50) ? 60 : 30));
    }
    if (random.percent(50)) {
        text += ", p_capabilities => " + array(some_of(scene, kCapabilities, 70));
    }
    if (random.percent(70)) {
        text += ", p_max => " + to_string(random.number(1, random.percent(20) ? 40 : 4));
    }
    if (scene->slots && random.percent(60)) {
        std::vector<int> slots;
        for (int slot = 0; slot < 3; ++slot) {
            if (random.percent(60)) {
                slots.push_back(slot);
            }
        }
        text += ", p_slots => " + sql(slots);
    }
    return text + ", p_lease_ms => " + lease_ms(scene) + ", " + now_of(scene);
}

std::string claim_tasks(TaskScene* scene) {
    return "SELECT * FROM app.claim_tasks(" + claim_arguments(scene) + ")";
}

// A task, mostly in one of these states if there is any.
SeenTask some_task(TaskScene* scene, const std::vector<std::string_view>& states) {
    std::vector<SeenTask> fit;
    for (const auto& task : scene->seen) {
        if (std::find(states.begin(), states.end(), task.state) != states.end()) {
            fit.push_back(task);
        }
    }
    if (!fit.empty() && scene->random.percent(90)) {
        return scene->random.pick(fit);
    }
    if (!scene->seen.empty() && scene->random.percent(90)) {
        return scene->random.pick(scene->seen);
    }
    return {own_id(scene->serial + 1'000'000), "ready", 1, 1, 0, {}};
}

// Mostly the epoch of the lease.
int64_t some_epoch(TaskScene* scene, const SeenTask& task) {
    return task.epoch - (scene->random.percent(8) ? scene->random.number(-1, 2) : 0);
}

// A task that is leased, mostly by a lease that is not over.
SeenTask leased_task(TaskScene* scene) {
    std::vector<SeenTask> live;
    for (const auto& task : scene->seen) {
        if (task.lease_until > scene->now) {
            live.push_back(task);
        }
    }
    return !live.empty() && scene->random.percent(85) ? scene->random.pick(live)
                                                      : some_task(scene, {"active"});
}

// Its id and epoch.
std::string lease(TaskScene* scene) {
    const SeenTask task = leased_task(scene);
    const int64_t epoch = some_epoch(scene, task);
    return quoted(task.id) + ", " + (scene->random.percent(1) ? "NULL" : to_string(epoch));
}

std::string renew_task(TaskScene* scene) {
    return "SELECT * FROM app.renew_task(" + lease(scene) + ", " + lease_ms(scene) + ", " +
           now_of(scene) + ")";
}

std::string renew_tasks(TaskScene* scene) {
    std::vector<std::string> ids;
    std::vector<std::string> epochs;
    const int64_t count = scene->random.number(1, 6);
    for (int64_t i = 0; i < count; ++i) {
        const SeenTask task = leased_task(scene);
        ids.push_back(quoted(task.id));
        epochs.push_back(to_string(some_epoch(scene, task)));
    }
    return "SELECT * FROM app.renew_tasks(ARRAY[" + listed(ids) + "]::uuid[], ARRAY[" +
           listed(epochs) + "]::bigint[], " + lease_ms(scene) + ", " + now_of(scene) + ")";
}

std::string progress_task(TaskScene* scene) {
    Random& random = scene->random;
    std::string text = lease(scene);
    if (random.percent(60)) {
        text += ", p_percent => " + to_string(random.number(0, 101));
    }
    if (random.percent(40)) {
        text += ", p_message => 'm'";
    }
    if (random.percent(50)) {
        text += ", p_checkpoint => " + quoted(object(scene));
    }
    if (random.percent(40)) {
        text += ", p_lease_ms => " + lease_ms(scene);
    }
    return "SELECT * FROM app.progress_task(" + text + ", " + now_of(scene) + ")";
}

std::string by_operator(TaskScene* scene) {
    return scene->random.percent(8) ? "p_source => 'operator_override', " : "";
}

std::string complete_task(TaskScene* scene) {
    return "SELECT * FROM app.complete_task(" + lease(scene) + ", " +
           (scene->random.percent(70) ? quoted(object(scene)) : "NULL") + ", " +
           by_operator(scene) + now_of(scene) + ")";
}

// A completed task and an epoch before its own: a repeated call.
std::string complete_again(TaskScene* scene) {
    const SeenTask task = some_task(scene, {"completed"});
    return "SELECT * FROM app.complete_task(" + quoted(task.id) + ", " + to_string(task.epoch - 1) +
           ", '{}', " + now_of(scene) + ")";
}

std::string complete_and_claim(TaskScene* scene) {
    return "SELECT * FROM app.complete_and_claim(" + lease(scene) + ", " +
           (scene->random.percent(70) ? quoted(object(scene)) : "NULL") + ", " +
           claim_arguments(scene) + ")";
}

std::string fail_task(TaskScene* scene) {
    Random& random = scene->random;
    const char* const kind = random.percent(55)
                                 ? "transient"
                                 : random.pick(std::vector{"permanent", "permanent", "timeout",
                                                           "infra_crash", "cancelled", "x"});
    std::string text = lease(scene) + ", " + quoted(kind);
    if (random.percent(60)) {
        text += ", p_message => 'it \"broke\"'";
    }
    if (random.percent(50)) {
        text += ", p_details => " + quoted(random.percent(80) ? object(scene) : "[1, null]");
    }
    if (random.percent(30)) {
        text += ", p_retry_after_ms => " + to_string(random.number(0, 100));
    }
    return "SELECT * FROM app.fail_task(" + text + ", " + by_operator(scene) + now_of(scene) + ")";
}

std::string delay_task(TaskScene* scene) {
    return "SELECT * FROM app.delay_task(" + lease(scene) + ", " +
           to_string(scene->random.number(0, 200)) + ", " +
           (scene->random.percent(30) ? quoted(object(scene)) : "NULL") + ", " + now_of(scene) +
           ")";
}

std::string release_task(TaskScene* scene) {
    return "SELECT * FROM app.release_task(" + lease(scene) + ", " +
           to_string(scene->random.number(0, 1) * scene->random.number(0, 200)) + ", " +
           now_of(scene) + ")";
}

std::string cancel_task(TaskScene* scene) {
    Random& random = scene->random;
    const SeenTask task = some_task(scene, {"ready", "delayed", "active"});
    std::string text = quoted(task.id) + ", 'enough'";
    if (random.percent(35)) {
        text += ", 'lease_holder', " +
                (random.percent(90) ? to_string(some_epoch(scene, task)) : "NULL");
    }
    return "SELECT * FROM app.cancel_task(" + text + ", " + now_of(scene) + ")";
}

std::string revoke_lease(TaskScene* scene) {
    Random& random = scene->random;
    const SeenTask task = some_task(scene, {"active"});
    std::string text = quoted(task.id) + ", 'over'";
    if (random.percent(30)) {
        text += ", p_worker_instance => 'w0-1'";
    }
    if (random.percent(30)) {
        text += ", p_expected_lease_id => 'belay:" + task.id + ":" + to_string(task.attempt) + ":" +
                to_string(some_epoch(scene, task)) + "'";
    }
    if (random.percent(30)) {
        text += ", p_expected_epoch => " + to_string(some_epoch(scene, task));
    }
    return "SELECT * FROM app.revoke_lease(" + text + ", " + now_of(scene) + ")";
}

std::string change_priority(TaskScene* scene) {
    return "SELECT * FROM app.change_priority(" + quoted(some_task(scene, {"ready"}).id) + ", " +
           to_string(scene->random.number(-1, 6)) + ", " + now_of(scene) + ")";
}

std::string replay_task(TaskScene* scene) {
    return "SELECT * FROM app.replay_task(" +
           quoted(some_task(scene, {"completed", "failed", "cancelled", "expired"}).id) + ", " +
           now_of(scene) + ")";
}

std::string delete_task(TaskScene* scene) {
    return "SELECT app.delete_task(" +
           quoted(some_task(scene, {"completed", "failed", "cancelled", "expired"}).id) + ")";
}

std::string set_lane(TaskScene* scene) {
    static const std::vector<std::string> kSettings = {
        R"({"concurrency": 3})",
        R"({"concurrency": null, "rate_per_s": null})",
        R"({"rate_per_s": 20, "burst": 2})",
        R"({"policy": {"max_attempts": 2, "attempt_timeout_ms": 400}})",
        R"({"policy": null})",
        R"({"retention_ms": 300})",
        R"({"retention_ms": null})",
        R"({"pause": true})"};
    // Mostly of one lane, so that others have no limits.
    return "SELECT app.set_lane(" +
           quoted(scene->random.percent(75) ? "d" : scene->random.pick(kLanes)) + ", " +
           quoted(scene->random.pick(kSettings)) + ")";
}

std::string pause(TaskScene* scene) {
    const std::string lane = quoted(scene->random.pick(kLanes));
    if (scene->random.percent(15)) {
        return "SELECT app.pause_hub('tasks')";
    }
    return "SELECT app.pause_lane(" + lane + ")";
}

std::string resume(TaskScene* scene) {
    const std::string lane = quoted(scene->random.pick(kLanes));
    if (scene->random.percent(40)) {
        return "SELECT app.resume_hub('tasks')";
    }
    return "SELECT app.resume_lane(" + lane + ")";
}

std::string reconcile(TaskScene* scene) {
    static const std::vector<std::string> kDuties = {"lease_expiry", "deadlines", "due_timers",
                                                     "retention"};
    const auto duties =
        scene->random.percent(40) ? kDuties : std::vector{scene->random.pick(kDuties)};
    return "SELECT duty, rows FROM app.reconcile(" + to_string(scene->now) + ", " + array(duties) +
           ")";
}

std::string read_task(TaskScene* scene) {
    const std::string id = quoted(some_task(scene, {"ready", "active"}).id);
    if (scene->random.percent(50)) {
        return "SELECT app.get_task(" + id + ")";
    }
    return "SELECT reason, detail - 'pid' FROM app.explain_claim(" + id + ", " +
           array(some_of(scene, kCapabilities, 50)) + ", " + now_of(scene) + ")";
}

std::string list_tasks(TaskScene* scene) {
    if (scene->random.percent(50)) {
        return "SELECT * FROM app.list_expired_leases(" + to_string(scene->now) + ", p_limit => " +
               to_string(scene->random.number(1, 10)) + ")";
    }
    return "SELECT * FROM app.list_tasks('" +
           JsonObject().text("lane", scene->random.pick(kLanes)).printed() + "', p_limit => " +
           to_string(scene->random.number(1, 20)) + ")";
}

std::string create(TaskScene* scene) {
    if (scene->seen.size() > kEnough) {
        return claim_tasks(scene);
    }
    return scene->random.percent(70) ? create_task(scene) : create_tasks(scene);
}

}  // namespace

const std::vector<TaskOperation>& task_operations() {
    static const std::vector<TaskOperation> all = {
        {"create_task, create_tasks", 22, create},
        {"claim_tasks", 20, claim_tasks},
        {"renew_task", 5, renew_task},
        {"renew_tasks", 4, renew_tasks},
        {"progress_task", 4, progress_task},
        {"complete_task", 8, complete_task},
        {"complete_task, repeated", 2, complete_again},
        {"complete_and_claim", 7, complete_and_claim},
        {"fail_task", 10, fail_task},
        {"delay_task", 4, delay_task},
        {"release_task", 4, release_task},
        {"cancel_task", 5, cancel_task},
        {"revoke_lease", 4, revoke_lease},
        {"change_priority", 4, change_priority},
        {"replay_task", 5, replay_task},
        {"delete_task", 2, delete_task},
        {"set_lane", 3, set_lane},
        {"pause_lane, pause_hub", 1, pause},
        {"resume_lane, resume_hub", 3, resume},
        {"reconcile", 8, reconcile},
        {"get_task, explain_claim", 2, read_task},
        {"list_tasks, list_expired_leases", 2, list_tasks},
    };
    return all;
}

}  // namespace belay::test::model
