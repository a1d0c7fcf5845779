#include "load.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <new>
#include <stdexcept>

#include "../stress/tree.hpp"
#include "library.hpp"
#include "player.hpp"
#include "viewer.hpp"

namespace belay::test::soak {

namespace tree = stress::tree;

Shared* Shared::make() {
    void* memory =
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        throw std::runtime_error("cannot map memory");
    }
    auto* shared = new (memory) Shared();
    shared->server = -1;
    shared->most_lease_ms = 3000;
    return shared;
}

void Shared::set_address(const std::string& conninfo) {
    const int next = server + 1;
    if (next >= kMostServers || conninfo.size() >= sizeof addresses[0]) {
        throw std::runtime_error("no room for another address");
    }
    std::strcpy(addresses[next], conninfo.c_str());
    server = next;
}

const char* const kWorkLeft =
    "SELECT (SELECT count(*) FROM jobs.work_items) + (SELECT count(*) FROM jobs.messages) + "
    "(SELECT count(*) FROM jobs.intents) + (SELECT count(*) FROM app.intents) + "
    "(SELECT count(*) FROM app.work_items) + (SELECT count(*) FROM app.messages) + "
    "(SELECT count(*) FROM app.tasks WHERE state NOT IN "
    "('completed', 'failed', 'cancelled', 'expired', 'skipped')) + "
    "(SELECT count(*) FROM app.flows WHERE state IN ('open', 'running')) + "
    "(SELECT count(*) FROM app.cascade_queue) + "
    "(SELECT coalesce(sum(lag_rows), 0) FROM app.subscriptions) + "
    "(SELECT count(*) FROM lib.work_items) + (SELECT count(*) FROM lib.messages) + "
    "(SELECT count(*) FROM lib.executions WHERE status = 'Running') + "
    "(SELECT count(*) FROM lib.tasks WHERE state NOT IN ('completed', 'failed'))";

void make_hubs(Conn* conn) {
    conn->exec("CREATE EXTENSION IF NOT EXISTS amcheck");
    conn->exec("CREATE EXTENSION belay");
    conn->exec("SELECT belay.create_hub('app'), belay.create_hub('jobs')");
    // However often faults take a lease, nothing of app may be set aside.
    conn->exec("SELECT belay.set_hub_option('app', 'max_attempts', 'off')");
    conn->exec("SELECT belay.set_hub_option('jobs', 'max_attempts', '12')");
    conn->exec("SELECT app.create_subscription('audit', NULL, 'start')");
    for (const char* queue : {"l0", "l1", "l2"}) {
        conn->exec(std::string("SELECT app.set_queue('") + queue +
                   "', '{\"policy\": {\"max_attempts\": 5, \"max_reclaims\": 1000, \"backoff\": "
                   "{\"kind\": \"fixed\", \"delay_ms\": 50}}}')");
    }
    // Without unique keys: what happens twice must show.
    conn->exec("CREATE TABLE effects (item text NOT NULL, token text NOT NULL)");
    library::make_hub(conn);
    conn->exec("CREATE TABLE guarded (id text NOT NULL)");
    conn->exec("CREATE TABLE done (instance_id text NOT NULL)");
    conn->exec("CREATE TABLE inbox (at bigserial, box text NOT NULL, number bigint NOT NULL)");
    conn->exec(
        "CREATE TABLE audit (at bigserial, event_id text NOT NULL, topic text NOT NULL, "
        "type text NOT NULL, subject text NOT NULL)");
}

bool has_async_leases(int client) {
    return client % 4 == 1;
}

bool is_poison(const std::string& item) {
    return item.ends_with('p');
}

namespace {

// ---------------------------------------------------------------- the worker queue

struct Leased {
    std::string item;
    std::string token;
};

// Rows of a fetch: work item, token, attempt.
std::vector<Leased> leased_of(const Answer& answer) {
    std::vector<Leased> leased;
    for (const auto& row : answer.rows) {
        // {"ActivityExecute": {"input": "<item>"}}
        const std::string text = row.at(0).value_or("");
        const auto at = text.find("\"input\"");
        const auto first = text.find('"', at + 8) + 1;
        leased.push_back(
            {text.substr(first, text.find('"', first) - first), row.at(1).value_or("")});
    }
    return leased;
}

std::vector<std::string> leased_fields(const Answer& answer) {
    std::vector<std::string> fields;
    for (const auto& leased : leased_of(answer)) {
        fields.push_back(leased.item + "=" + leased.token);
    }
    return {joined(fields)};
}

std::string job_item(const std::string& item) {
    return "{\"ActivityExecute\":{\"input\":\"" + item + "\"}}";
}

class Jobs : public Client {
 public:
    using Client::Client;

 private:
    const char* waits_for() const override { return "CALL jobs.wait_for_work('{worker}', 100)"; }

    bool step() override {
        if (may_create() && random_.in_thousand(350)) {
            enqueue();
            return true;
        }
        const bool many = random_.in_thousand(300);
        const std::string lease_ms = lease();
        const Answer answer =
            line_.ask("fetch", {lease_ms},
                      many ? "SELECT * FROM jobs.fetch_work_items(" + terms(lease_ms) + ", " +
                                 to_string(random_.number(2, 10)) + ")"
                           : "SELECT * FROM jobs.fetch_work_item(" + terms(lease_ms) + ")",
                      leased_fields);
        const auto all = leased_of(answer);
        if (many) {
            finish_all(all);
        } else {
            for (auto next = all; !next.empty();) {
                next = finish(next[0]);
            }
        }
        return !all.empty();
    }

    std::string terms(const std::string& lease_ms) {
        return lease_ms + ", 'w" + to_string(number_) + "', " +
               to_string(random_.number(300, 1500)) + ", NULL, 'any'";
    }

    void enqueue() {
        const int count = random_.in_thousand(400) ? 1 : static_cast<int>(random_.number(2, 12));
        std::vector<std::string> names;
        std::string elements;
        for (int i = 0; i < count; ++i) {
            names.push_back(new_name("j") + (random_.in_thousand(10) ? "p" : ""));
            std::string element = "{\"work_item\":" + job_item(names.back());
            if (random_.in_thousand(200)) {
                element += ",\"session_id\":\"s" + to_string(random_.number(1, 20)) + "\"";
            }
            if (random_.in_thousand(200)) {
                element += ",\"tag\":\"t" + to_string(random_.number(1, 3)) + "\"";
            }
            if (random_.in_thousand(100)) {
                element += ",\"delay_ms\":" + to_string(random_.number(1, 500));
            }
            elements += (elements.empty() ? "" : ",") + element + "}";
        }
        created_ += count;
        (void)line_.ask("enqueue", {joined(names)},
                        count == 1 ? "SELECT jobs.enqueue_worker_work('" + job_item(names[0]) + "')"
                                   : "SELECT jobs.enqueue_worker_items('[" + elements + "]')");
    }

    // What may happen between fetch and ack. False if the item is not to be acked.
    bool goes_well(const Leased& leased) {
        linger();
        const std::string token = quoted(leased.token);
        if (is_poison(leased.item) || random_.in_thousand(40)) {
            static constexpr const char* kHow[] = {"", ", 5", ", 30", ", 200"};
            (void)line_.ask(
                "abandon", {leased.item, leased.token},
                "SELECT jobs.abandon_work_item(" + token + kHow[random_.number(0, 3)] + ")");
            return false;
        }
        if (random_.in_thousand(60)) {
            const std::string extend = lease();
            if (!line_
                     .ask("renew", {leased.item, leased.token, extend},
                          "SELECT jobs.renew_work_item_lock(" + token + ", " + extend + ")")
                     .ok()) {
                return random_.in_thousand(500);  // some do not listen
            }
        }
        if (random_.in_thousand(50)) {
            const std::string id = new_name("g");
            const std::string nap =
                random_.in_thousand(200)
                    ? "SELECT pg_sleep(" + to_string(random_.number(1, 15)) + " / 10.0);"
                    : "";
            (void)line_.ask("guard", {leased.item, leased.token, id},
                            "SELECT jobs.guard(" + token + "); INSERT INTO guarded VALUES ('" + id +
                                "');" + nap);
        }
        return !random_.in_thousand(10);  // forgotten, until the lease is over
    }

    static std::string effect(const Leased& leased) {
        return "INSERT INTO effects VALUES ('" + leased.item + "', '" + leased.token + "')";
    }

    std::vector<Leased> finish(const Leased& leased) {
        if (!goes_well(leased)) {
            return {};
        }
        const std::string token = quoted(leased.token);
        Answer answer;
        if (random_.in_thousand(500)) {
            const std::string lease_ms = lease();
            answer = line_.ask("ackfetch", {leased.item, leased.token, lease_ms},
                               effect(leased) + "; SELECT * FROM jobs.ack_and_fetch_work_item(" +
                                   token + ", NULL, NULL, " + terms(lease_ms) + ")",
                               leased_fields);
        } else if (random_.in_thousand(500)) {
            answer = line_.ask("ack", {leased.item, leased.token},
                               "SELECT jobs.ack_worker(" + token + "); " + effect(leased));
        } else {
            answer = line_.ask("ack", {leased.item, leased.token},
                               effect(leased) + "; SELECT jobs.ack_worker(" + token + ")");
        }
        ended_ += answer.ok() ? 1 : 0;
        return answer.ok() && !answer.rows.empty() && answer.rows[0].size() > 1
                   ? leased_of(answer)
                   : std::vector<Leased>();
    }

    void finish_all(const std::vector<Leased>& all) {
        std::vector<std::string> pairs;
        std::string acks;
        std::string tokens;
        std::string items;
        for (const auto& leased : all) {
            if (goes_well(leased)) {
                items += (items.empty() ? "(" : ", (") + to_string(pairs.size()) + ", '" +
                         leased.token + "', '" + leased.item + "')";
                pairs.push_back(leased.item + "=" + leased.token);
                acks += (acks.empty() ? "" : ",") + ("{\"lock_token\":\"" + leased.token + "\"}");
                tokens += (tokens.empty() ? "'" : ", '") + leased.token + "'";
            }
        }
        if (pairs.empty()) {
            return;
        }
        // The two forms of a call that ends many leases.
        const std::string ended =
            random_.in_thousand(500)
                ? "SELECT lock_token, NULL::int AS place FROM jobs.ack_workers('[" + acks +
                      "]') WHERE acked"
                : "SELECT NULL AS lock_token, outcome_index AS place FROM "
                  "jobs.settle_and_fetch_work_items(ARRAY[" +
                      tokens + "]) WHERE error IS NULL";
        const Answer answer = line_.ask(
            "acks", {joined(pairs)},
            "WITH a AS MATERIALIZED (" + ended +
                ") INSERT INTO effects SELECT i.item, i.token FROM a JOIN (VALUES " + items +
                ") AS i(place, token, item) ON i.token = a.lock_token OR i.place = a.place "
                "RETURNING item || '=' || token",
            [](const Answer& got) {
                std::vector<std::string> acked;
                for (const auto& row : got.rows) {
                    acked.push_back(row.at(0).value_or(""));
                }
                return std::vector<std::string>{joined(acked)};
            });
        ended_ += static_cast<int64_t>(answer.rows.size());
    }
};

// ---------------------------------------------------------------- orchestrations

class Runtime : public Client {
 public:
    using Client::Client;

 private:
    const char* waits_for() const override {
        return "CALL app.wait_for_work('{orchestrator,worker}', 100)";
    }

    bool step() override {
        if (may_create() && random_.in_thousand(25)) {
            const std::string n = to_string(random_.number(0, 3000));
            const std::string instance = new_name("i");
            created_ += 40;  // turns and activities of its tree
            (void)line_.ask("start", {instance, n},
                            "SELECT app.start_orchestration('Tree', '" +
                                tree::root_input(std::stoll(n)) + "', '" + instance + "', '1')");
            return true;
        }
        return random_.in_thousand(500) ? turn() || activity() : activity() || turn();
    }

    bool turn() {
        const std::string lease_ms = lease();
        const Answer answer = line_.ask(
            "turn", {lease_ms}, tree::fetch_turn_sql("app", lease_ms), [](const Answer& got) {
                return got.rows.empty()
                           ? std::vector<std::string>()
                           : std::vector<std::string>{got.rows[0].at(0).value_or("") + "=" +
                                                      got.rows[0].at(2).value_or("")};
            });
        if (!answer.ok() || answer.rows.empty()) {
            return false;
        }
        const tree::Fetched fetched = tree::read_turn(answer.rows[0]);
        linger();
        if (!keeps("turn", "orchestration_item", fetched.instance, fetched.token)) {
            return true;
        }
        std::string sql;
        bool completes = false;
        std::vector<std::string> numbers;
        if (fetched.instance.starts_with("box")) {
            sql = take_out(fetched, &numbers);
        } else {
            tree::Decision decision = tree::decide(fetched);
            completes = decision.completes;
            if (completes && decision.is_root) {
                decision.activities.push_back("{\"ToHub\":{\"hub\":\"jobs\",\"item\":" +
                                              job_item("r:" + fetched.instance) + "}}");
            }
            sql = decision.ack_sql("app", fetched.token);
            if (completes) {
                sql += "; INSERT INTO done VALUES ('" + fetched.instance + "')";
            }
        }
        const Answer acked = line_.ask(
            "turnack",
            {fetched.instance, fetched.token, completes ? "completes" : "", joined(numbers)}, sql);
        ended_ += acked.ok() ? 1 : 0;
        return true;
    }

    // An instance that takes out what others send to it.
    std::string take_out(const tree::Fetched& fetched, std::vector<std::string>* numbers) {
        std::string rows;
        for (const auto& message : fetched.messages) {
            if (message.kind == "ExternalRaised") {
                numbers->push_back(message.value);
                rows +=
                    (rows.empty() ? "('" : ", ('") + fetched.instance + "', " + message.value + ")";
            }
        }
        tree::Decision decision;
        decision.execution = 1;
        if (fetched.history.empty()) {
            decision.delta.push_back(
                "{\"event_id\":1,\"event_type\":\"OrchestrationStarted\",\"event_data\":"
                "\"{\\\"event_id\\\":1,\\\"type\\\":\\\"OrchestrationStarted\\\","
                "\\\"source_event_id\\\":0,\\\"value\\\":\\\"\\\"}\"}");
            decision.metadata = "{\"orchestration_name\":\"Box\",\"orchestration_version\":\"1\"}";
        }
        return (rows.empty() ? "" : "INSERT INTO inbox (box, number) VALUES " + rows + "; ") +
               decision.ack_sql("app", fetched.token);
    }

    bool activity() {
        const std::string lease_ms = lease();
        const auto name_of = [](const std::vector<Text>& row) {
            return "a:" + row.at(1).value_or("") + "/" + row.at(2).value_or("") + "/" +
                   row.at(3).value_or("");
        };
        const Answer answer = line_.ask(
            "fetch", {lease_ms}, tree::fetch_activity_sql("app", lease_ms), [&](const Answer& got) {
                return got.rows.empty() ? std::vector<std::string>()
                                        : std::vector<std::string>{name_of(got.rows[0]) + "=" +
                                                                   got.rows[0].at(0).value_or("")};
            });
        if (!answer.ok() || answer.rows.empty()) {
            return false;
        }
        const auto& row = answer.rows[0];
        const std::string name = name_of(row);
        const std::string token = row.at(0).value_or("");
        linger();
        if (keeps("", "work_item", name, token)) {
            (void)line_.ask("ack", {name, token},
                            tree::ack_activity_sql("app", row) + "; INSERT INTO effects VALUES ('" +
                                name + "', '" + token + "')");
        }
        return true;
    }

    // False if the lease was released or forgotten.
    bool keeps(const std::string& prefix, const std::string& what, const std::string& subject,
               const std::string& token) {
        if (random_.in_thousand(25)) {
            // A delay lets later messages pass, and those of a box are to stay in order.
            static constexpr const char* kHow[] = {"", ", NULL, true", ", 5", ", 30, true"};
            const int64_t most = subject.starts_with("box") ? 1 : 3;
            (void)line_.ask((prefix + "abandon").c_str(), {subject, token},
                            "SELECT app.abandon_" + what + "('" + token + "'" +
                                kHow[random_.number(0, most)] + ")");
            return false;
        }
        if (random_.in_thousand(40)) {
            const std::string extend = lease();
            (void)line_.ask((prefix + "renew").c_str(), {subject, token, extend},
                            "SELECT app.renew_" + what + "_lock('" + token + "', " + extend + ")");
        }
        return !random_.in_thousand(10);
    }
};

// ---------------------------------------------------------------- tasks and flows

class Tasks : public Client {
 public:
    using Client::Client;

 private:
    const char* waits_for() const override { return "CALL app.wait_for_work('{queue:*}', 100)"; }

    bool step() override {
        if (may_create() && random_.in_thousand(200)) {
            random_.in_thousand(250) ? create_flow() : create();
            return true;
        }
        if (!known_.empty() && line_.phase() == Phase::kRun && random_.in_thousand(60)) {
            operate(known_[static_cast<std::size_t>(
                random_.number(0, static_cast<int64_t>(known_.size()) - 1))]);
        }
        const std::string lease_ms = lease();
        const Answer answer =
            line_.ask("claim", {lease_ms},
                      "SELECT task_id, lease_epoch FROM app.claim_tasks(" + claim_terms(lease_ms) +
                          ", " + to_string(random_.number(1, 4)) + ")",
                      claimed);
        for (const auto& row : answer.rows) {
            work(row.at(0).value_or(""), row.at(1).value_or(""));
        }
        return !answer.rows.empty();
    }

    static std::vector<std::string> claimed(const Answer& answer) {
        std::vector<std::string> fields;
        for (const auto& row : answer.rows) {
            fields.push_back(row.at(0).value_or("") + "=" + row.at(1).value_or(""));
        }
        return {joined(fields)};
    }

    std::string claim_terms(const std::string& lease_ms) const {
        return "'w', 'w" + to_string(number_) + "', NULL, '{}', " + lease_ms;
    }

    // Its id says who made it, and that it fails permanently if the last digit is f.
    std::string new_task() {
        char text[40];
        std::snprintf(text, sizeof text, "%08x-%04x-4000-8000-%012llx", number_,
                      static_cast<unsigned>(random_.number(0, 0xffff)),
                      static_cast<unsigned long long>(++tasks_) * 16 +
                          static_cast<unsigned long long>(random_.number(0, 15)));
        return text;
    }
    static bool fails(const std::string& task) { return task.ends_with('f'); }

    std::string task_terms() {
        std::string terms = "\"queue\":\"l" + to_string(random_.number(0, 2)) +
                            "\",\"priority\":" + to_string(random_.number(0, 3) * 100);
        if (random_.in_thousand(150)) {
            terms += ",\"delay_ms\":" + to_string(random_.number(1, 400));
        }
        return terms;
    }

    void create() {
        const auto count = random_.number(1, 8);
        std::vector<std::string> ids;
        std::string items;
        for (int64_t i = 0; i < count; ++i) {
            ids.push_back(new_task());
            std::string item = "{\"task_id\":\"" + ids.back() + "\"," + task_terms();
            if (random_.in_thousand(20)) {
                item += ",\"deadline_in_ms\":" + to_string(random_.number(50, 2000));
            }
            items += (items.empty() ? "" : ",") + item + "}";
        }
        created_ += count;
        if (line_
                .ask("create", {joined(ids)},
                     "SELECT task_id FROM app.create_tasks('[" + items + "]')")
                .ok()) {
            for (const auto& id : ids) {
                known_.push_back(id);
            }
            while (known_.size() > 12) {
                known_.pop_front();
            }
        }
    }

    // Some tasks in levels, each after some of the level before.
    void create_flow() {
        const auto count = random_.number(2, 7);
        const std::string flow = new_task();
        std::vector<std::string> ids;
        std::vector<std::string> shape;  // task:join:after+after
        std::string items;
        for (int64_t i = 0; i < count; ++i) {
            ids.push_back(new_task());
            std::string after;
            std::vector<std::string> upstream;
            for (int64_t j = 0; j < i; ++j) {
                if (random_.in_thousand(400)) {
                    after += (after.empty() ? "\"t" : ",\"t") + to_string(j) + "\"";
                    upstream.push_back(ids[static_cast<std::size_t>(j)]);
                }
            }
            std::string join = "all_of";
            std::string item = "{\"key\":\"t" + to_string(i) + "\",\"task_id\":\"" + ids.back() +
                               "\"," + task_terms();
            if (!upstream.empty()) {
                item += ",\"after\":[" + after + "]";
                if (random_.in_thousand(250)) {
                    join = "any_of";
                    item += random_.in_thousand(500)
                                ? ",\"join\":{\"kind\":\"any_of\"}"
                                : ",\"join\":{\"kind\":\"any_of\",\"on_satisfied\":\"let_run\"}";
                }
            }
            items += (items.empty() ? "" : ",") + item + "}";
            shape.push_back(ids.back() + ":" + join + ":" + joined(upstream, '+'));
        }
        created_ += count;
        const bool made = line_
                              .ask("flow", {flow, joined(shape)},
                                   "SELECT flow_id FROM app.create_flow('{\"flow_id\":\"" + flow +
                                       "\",\"tasks\":[" + items + "]}')")
                              .ok();
        if (made && random_.in_thousand(100)) {
            (void)line_.ask("cancelflow", {flow},
                            "SELECT result FROM app.cancel_flow('" + flow + "', 'soak')", first);
        }
    }

    static std::vector<std::string> first(const Answer& answer) {
        std::vector<std::string> fields;
        if (!answer.rows.empty()) {
            for (const auto& field : answer.rows[0]) {
                fields.push_back(field.value_or(""));
            }
        }
        return fields;
    }

    void operate(const std::string& task) {
        switch (random_.number(0, 3)) {
            case 0:
                (void)line_.ask("cancel", {task},
                                "SELECT effective FROM app.cancel_task('" + task + "', 'soak')",
                                first);
                break;
            case 1:
                (void)line_.ask("revoke", {task},
                                "SELECT result FROM app.revoke_lease('" + task + "', 'soak')",
                                first);
                break;
            case 2:
                (void)line_.ask("replay", {task},
                                "SELECT result FROM app.replay_task('" + task + "')", first);
                break;
            default:
                (void)line_.ask("priority", {task},
                                "SELECT result FROM app.change_priority('" + task + "', " +
                                    to_string(random_.number(0, 9000)) + ")",
                                first);
        }
    }

    void work(const std::string& task, const std::string& epoch) {
        const std::string lease_terms = "'" + task + "', " + epoch;
        linger();
        if (random_.in_thousand(50)) {
            const std::string extend = lease();
            (void)line_.ask("taskrenew", {task, epoch, extend},
                            random_.in_thousand(500)
                                ? "SELECT lease_until_ms FROM app.renew_task(" + lease_terms +
                                      ", " + extend + ")"
                                : "SELECT lease_until_ms FROM app.progress_task(" + lease_terms +
                                      ", 50, 'half', '{\"at\": 1}', " + extend + ")");
        }
        if (random_.in_thousand(40)) {
            const std::string id = new_name("g");
            (void)line_.ask("taskguard", {task, epoch, id},
                            "SELECT app.guard_task(" + lease_terms +
                                "); INSERT INTO guarded VALUES ('" + id + "')");
        }
        const std::string effect =
            "INSERT INTO effects VALUES ('t:" + task + "', '" + epoch + "'); ";
        const auto chance = random_.number(1, 1000);
        if (chance <= 10) {
            return;  // forgotten
        }
        if (chance <= 40) {
            (void)line_.ask("release", {task, epoch},
                            "SELECT state FROM app.release_task(" + lease_terms + ", " +
                                to_string(random_.number(0, 1) * 50) + ")");
        } else if (chance <= 60) {
            (void)line_.ask("release", {task, epoch},
                            "SELECT state FROM app.delay_task(" + lease_terms + ", 40)");
        } else if (chance <= 110 || fails(task)) {
            const Answer answer = line_.ask("fail", {task, epoch},
                                            "SELECT result FROM app.fail_task(" + lease_terms +
                                                (fails(task) ? ", 'permanent')" : ", 'transient')"),
                                            first);
            ended_ += answer.ok() && fails(task) ? 1 : 0;
        } else if (chance <= 300) {
            const std::string lease_ms = lease();
            const Answer answer =
                line_.ask("completeclaim", {task, epoch, lease_ms},
                          effect + "SELECT task_id, lease_epoch FROM app.complete_and_claim(" +
                              lease_terms + ", '{\"ok\": true}', " + claim_terms(lease_ms) + ", 1)",
                          claimed);
            ended_ += answer.ok() ? 1 : 0;
            for (const auto& row : answer.rows) {
                work(row.at(0).value_or(""), row.at(1).value_or(""));
            }
        } else {
            ended_ += line_.ask("complete", {task, epoch},
                                effect + "SELECT result FROM app.complete_task(" + lease_terms +
                                    ", '{\"ok\": true}')",
                                first)
                              .ok()
                          ? 1
                          : 0;
        }
    }

    std::deque<std::string> known_;  // made by this client, newest last
    int64_t tasks_ = 0;
};

// ---------------------------------------------------------------- events and intents

class Events : public Client {
 public:
    using Client::Client;

 private:
    const char* waits_for() const override { return "CALL app.wait_for_work('{outbox}', 100)"; }

    // Copies a batch into table audit, in the transaction that acks it.
    bool step() override {
        const Answer answer =
            line_.ask("read", {},
                      "SELECT event_id, topic, type, subject, upto FROM app.read_events('audit', " +
                          to_string(random_.number(1, 100)) + ", " + lease() + ")");
        if (!answer.ok() || answer.rows.empty()) {
            return false;
        }
        linger();
        std::string rows;
        for (const auto& row : answer.rows) {
            rows += rows.empty() ? "('" : ", ('";
            for (std::size_t i = 0; i < 4; ++i) {
                rows += (i > 0 ? "', '" : "") + row.at(i).value_or("");
            }
            rows += "')";
        }
        const std::string upto = answer.rows.back().at(4).value_or("");
        (void)line_.ask("readack", {upto},
                        "INSERT INTO audit (event_id, topic, type, subject) VALUES " + rows +
                            "; SELECT app.ack_events('audit', '" + upto + "')");
        return true;
    }
};

class Sender : public Client {
 public:
    using Client::Client;

 private:
    const char* waits_for() const override { return "SELECT pg_sleep(0.02)"; }

    bool step() override {
        rest(random_.number(5, 60));
        if (line_.phase() != Phase::kRun || line_.crowded()) {
            return false;
        }
        if (random_.in_thousand(400)) {
            std::vector<std::string> names;
            std::string sql;
            for (auto left = random_.number(1, 4); left > 0; --left) {
                names.push_back(new_name("n"));
                sql +=
                    "SELECT app.send_to_hub('jobs', 'worker', '" + job_item(names.back()) + "');";
            }
            (void)line_.ask("send", {joined(names)}, sql);
            return true;
        }
        if (box_.empty() || random_.in_thousand(10)) {
            const std::string box = new_name("box");
            if (line_.ask("box", {box}, "SELECT app.start_orchestration('Box', '', '" + box + "')")
                    .ok()) {
                box_ = box;
                last_ = 0;
            }
            return true;
        }
        std::vector<std::string> numbers;
        std::string sql;
        for (auto left = random_.number(1, 4); left > 0; --left) {
            numbers.push_back(to_string(++last_));
            sql +=
                "SELECT jobs.send_to_hub('app', 'orchestrator', "
                "'{\"ExternalRaised\":{\"instance\":\"" +
                box_ + "\",\"name\":\"n\",\"data\":\"" + numbers.back() + "\"}}');";
        }
        (void)line_.ask("post", {box_, joined(numbers)}, sql);
        return true;
    }

    std::string box_;
    int64_t last_ = 0;
};

template <typename Kind>
void run_as(Shared* shared, const Player& player, const std::string& journal_path) {
    Kind client(shared, player, journal_path);
    client.run();
}

}  // namespace

void play(Shared* shared, const Player& player, const std::string& journal_path) {
    switch (player.role) {
        case Role::kJobs:
            return run_as<Jobs>(shared, player, journal_path);
        case Role::kRuntime:
            return run_as<Runtime>(shared, player, journal_path);
        case Role::kTasks:
            return run_as<Tasks>(shared, player, journal_path);
        case Role::kEvents:
            return run_as<Events>(shared, player, journal_path);
        case Role::kSender:
            return run_as<Sender>(shared, player, journal_path);
        case Role::kDashboard:
            return serve_dashboard(shared, journal_path);
        case Role::kViewer:
            return view_dashboard(shared, player, journal_path);
        default:
            return library::play(shared, player, journal_path);
    }
}

}  // namespace belay::test::soak
