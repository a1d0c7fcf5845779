// Eight workers, operators and duties do random operations on random flows, under a test
// clock. In the end every flow is as an evaluator of its own says: it knows the graphs, because
// this test made them, and takes from the outbox only what happened to tasks; states of edges and
// groups, what is skipped, and the state of the flow it works out by itself (FM-10).
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <set>
#include <thread>

#include "client.hpp"

namespace belay::test::stress {
namespace {

using std::to_string;

constexpr int kWorkers = 8;
const std::string kDuties =
    "'{lease_expiry,deadlines,due_timers,sibling_cancel,dispatch_sweep,cancel_backlog}'";

// ---- Flows as they were made ----

struct Node {
    std::string id;
    std::vector<int> after;
    std::string kind = "all_of";
    int k = 0;
    bool cancels_remaining = false;
    std::vector<int> before;  // those that wait for it

    int needed() const {
        return kind == "all_of" ? static_cast<int>(after.size()) : kind == "any_of" ? 1 : k;
    }
};

struct Graph {
    std::string id;
    bool fail_fast = false;
    std::vector<Node> nodes;
};

std::string key_of(int number) {
    return "k" + to_string(number);
}

Graph random_graph(Random* random) {
    Graph graph;
    graph.fail_fast = random->in_thousand(300);
    const auto size = random->in_thousand(100) ? random->number(31, 200) : random->number(2, 30);
    const bool is_wide = random->in_thousand(300);
    for (int i = 0; i < size; ++i) {
        Node& node = graph.nodes.emplace_back();
        std::set<int> after;
        const auto edges = i == 0 ? 0 : is_wide ? random->number(0, 8) : random->number(0, 3);
        for (int e = 0; e < edges; ++e) {
            // Near ones make long chains, any ones short cuts.
            const auto from = random->in_thousand(500) ? std::max(0, i - 4) : 0;
            after.insert(static_cast<int>(random->number(from, i - 1)));
        }
        node.after.assign(after.begin(), after.end());
        for (const int upstream : after) {
            graph.nodes[static_cast<std::size_t>(upstream)].before.push_back(i);
        }
        if (after.empty() || random->in_thousand(400)) {
            continue;
        }
        node.kind = random->in_thousand(500) ? "any_of" : "quorum";
        node.k = static_cast<int>(random->number(1, static_cast<int64_t>(after.size())));
        node.cancels_remaining = random->in_thousand(600);
    }
    return graph;
}

std::string json_of(const Graph& graph, Random* random, int64_t now) {
    std::string tasks;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
        const Node& node = graph.nodes[i];
        std::string after;
        for (const int upstream : node.after) {
            after += (after.empty() ? "\"" : ",\"") + key_of(upstream) + "\"";
        }
        tasks += (tasks.empty() ? "" : ",") + std::string(R"({"key":")") +
                 key_of(static_cast<int>(i)) + R"(","queue":"l","after":[)" + after + "]";
        if (node.kind != "all_of") {
            tasks += R"(,"join":{"kind":")" + node.kind + "\"" +
                     (node.kind == "quorum" ? ",\"k\":" + to_string(node.k) : "") +
                     R"(,"on_satisfied":")" +
                     (node.cancels_remaining ? "cancel_remaining" : "let_run") + "\"}";
        }
        if (random->in_thousand(100)) {
            tasks += ",\"delay_ms\":" + to_string(random->number(1, 300));
        }
        if (random->in_thousand(50)) {
            tasks += ",\"deadline_ms\":" + to_string(now + random->number(500, 20000));
        }
        tasks += R"(,"policy":{"max_attempts":2,"max_reclaims":3,"max_replays":5)"
                 R"(,"backoff":{"kind":"fixed","delay_ms":20}})" +
                 std::string("}");
    }
    return R"({"fail_policy":")" + std::string(graph.fail_fast ? "fail_fast" : "continue") +
           R"(","tasks":[)" + tasks + "]}";
}

// ---- The clients ----

struct Play : TaskGame {
    bool with_replays = true;
    std::vector<std::string> tasks;
    std::vector<std::string> flows;
};

class FlowWorker {
 public:
    FlowWorker(Cluster* cluster, Play* play, int number, uint64_t seed,
               const std::atomic<bool>* stop)
        : client_(cluster, "SELECT 1", stop), play_(*play), number_(number), random_(seed) {}

    void run(int64_t steps) {
        for (int64_t i = 0; i < steps; ++i) {
            step();
        }
    }

 private:
    struct Lease {
        std::string task;
        std::string epoch;
    };

    std::string now() { return to_string(play_.clock += random_.number(0, 20)); }
    Answer call(const std::string& what) {
        return play_.ask(&client_, "SELECT * FROM app." + what);
    }
    std::string some(const std::vector<std::string>& ids) {
        return "'" +
               ids[static_cast<std::size_t>(
                   random_.number(0, static_cast<int64_t>(ids.size()) - 1))] +
               "'";
    }

    std::string claim_terms() {
        return "'w', 'w-" + to_string(number_) + "', NULL, '{}', " +
               to_string(random_.number(100, 2000)) + ", " + to_string(random_.number(1, 4)) +
               ", NULL, " + now();
    }
    void keep(const Answer& claimed) {
        for (const auto& row : claimed.rows) {
            leases_.push_back({*row[0], *row[1]});
        }
    }

    void work() {
        if (leases_.empty()) {
            return;
        }
        const auto place =
            leases_.begin() + random_.number(0, static_cast<int64_t>(leases_.size()) - 1);
        const Lease lease = *place;
        const std::string which = "'" + lease.task + "', " + lease.epoch;
        const auto chance = random_.number(1, 100);
        if (chance <= 15) {
            if (call("renew_task(" + which + ", 1000, " + now() + ")").ok()) {
                return;
            }
        } else if (chance <= 60) {
            call("complete_task(" + which + ", '1', p_now_ms => " + now() + ")");
        } else if (chance <= 70) {
            leases_.erase(place);
            keep(play_.ask(&client_, "SELECT task_id, lease_epoch FROM app.complete_and_claim(" +
                                         which + ", '2', " + claim_terms() + ")"));
            return;
        } else if (chance <= 88) {
            call("fail_task(" + which + ", '" +
                 (random_.in_thousand(500)   ? "transient"
                  : random_.in_thousand(800) ? "permanent"
                                             : "cancelled") +
                 "', p_now_ms => " + now() + ")");
        } else if (chance <= 92) {
            call("delay_task(" + which + ", 50, p_now_ms => " + now() + ")");
        } else if (chance <= 96) {
            call("release_task(" + which + ", p_now_ms => " + now() + ")");
        }  // else it is forgotten, and expires
        leases_.erase(place);
    }

    // All its leases, and tasks that are not its own: those it must not hold up.
    void renew_many() {
        std::string ids;
        std::string epochs;
        for (const Lease& lease : leases_) {
            ids += "'" + lease.task + "', ";
            epochs += lease.epoch + ", ";
        }
        for (int i = 0; i < 3; ++i) {
            ids += some(play_.tasks) + (i < 2 ? ", " : "");
            epochs += i < 2 ? "1, " : "1";
        }
        call("renew_tasks(ARRAY[" + ids + "]::uuid[], ARRAY[" + epochs + "]::bigint[], 1000, " +
             now() + ")");
    }

    void operate() {
        const auto chance = random_.number(1, 100);
        if (chance <= 25) {
            call("cancel_task(" + some(play_.tasks) + ", p_now_ms => " + now() + ")");
        } else if (chance <= 45) {
            call("revoke_lease(" + some(play_.tasks) + ", p_now_ms => " + now() + ")");
        } else if (chance <= 55) {
            call("change_priority(" + some(play_.tasks) + ", 5, " + now() + ")");
        } else if (chance <= 60) {
            const std::string task = some(play_.tasks);
            call("ack_cancel_member((SELECT flow_id FROM app.tasks WHERE id = " + task + "), " +
                 task + ")");
        } else if (chance <= 66) {
            const char* policies[] = {"cancel_all", "cancel_pending", "flow_only"};
            call("cancel_flow(" + some(play_.flows) + ", 'no', '" + policies[random_.number(0, 2)] +
                 "', 500, p_now_ms => " + now() + ")");
        } else if (play_.with_replays) {
            call("replay_task(" + some(play_.tasks) + ", " +
                 (random_.in_thousand(500) ? "true" : "false") + ", p_now_ms => " + now() + ")");
        }
    }

    void step() {
        const auto chance = random_.number(1, 100);
        if (chance <= 30) {
            keep(play_.ask(&client_, "SELECT task_id, lease_epoch FROM app.claim_tasks(" +
                                         claim_terms() + ")"));
        } else if (chance <= 78) {
            work();
        } else if (chance <= 82) {
            renew_many();
        } else if (chance <= 92) {
            operate();
        } else {
            call("reconcile(" + kDuties + ", p_now_ms => " + now() + ")");
        }
    }

    Client client_;
    Play& play_;
    int number_;
    Random random_;
    std::vector<Lease> leases_;
};

// ---- The evaluator ----

bool has_ended(const std::string& state) {
    return state == "completed" || state == "failed" || state == "cancelled" ||
           state == "expired" || state == "skipped";
}

// What is known of a task: its row, and what the outbox told of it since it was made.
struct Fate {
    std::string state;
    std::string by;  // who cancelled it
    std::string reason;
    int ever_completed = 0;
    bool replayed = false;
    int ends = 0;  // since the last replay
    std::string last_end;
    bool twice = false;  // two ends without a replay in between

    bool silent() const {
        return state == "cancelled" && (by == "flow_cascade" || reason == "flow_fail_fast");
    }
};

struct Found {
    std::string state;
    int total = 0;
    int satisfied = 0;
    int failed = 0;
    int skipped = 0;
};

class Evaluator {
 public:
    Evaluator(Conn* conn, const Graph& graph, bool small_bound)
        : conn_(*conn), graph_(graph), small_bound_(small_bound) {
        read();
    }

    std::string complaints() {
        for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
            check_task(i);
            check_edges(i);
            if (!graph_.nodes[i].after.empty()) {
                check_group(i);
            }
        }
        check_flow();
        return complaints_;
    }

 private:
    void complain(const std::string& text) {
        if (complaints_.size() < 4000) {
            complaints_ += "flow " + graph_.id + ": " + text + "\n";
        }
    }
    void complain(std::size_t node, const std::string& text) {
        complain(key_of(static_cast<int>(node)) + " (" + graph_.nodes[node].id + ", " +
                 fates_[node].state + "): " + text);
    }

    void read() {
        fates_.resize(graph_.nodes.size());
        std::map<std::string, std::size_t> places;
        for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
            places[graph_.nodes[i].id] = i;
        }
        const Rows tasks = conn_.exec(
            "SELECT id, state, coalesce(cancelled_by, ''), coalesce(cancel_reason, '') "
            "FROM app.tasks WHERE flow_id = '" +
            graph_.id + "'");
        members_ = tasks.size();
        for (int i = 0; i < tasks.size(); ++i) {
            Fate& fate = fates_[places.at(*tasks.at(i, 0))];
            fate.state = *tasks.at(i, 1);
            fate.by = *tasks.at(i, 2);
            fate.reason = *tasks.at(i, 3);
        }
        read_events(places);
        const Rows edges =
            conn_.exec("SELECT upstream_id, downstream_id, state FROM app.edges WHERE flow_id = '" +
                       graph_.id + "'");
        for (int i = 0; i < edges.size(); ++i) {
            edges_[{places.at(*edges.at(i, 0)), places.at(*edges.at(i, 1))}] = *edges.at(i, 2);
        }
        const Rows groups = conn_.exec(
            "SELECT downstream_id, state, total, satisfied, failed, skipped FROM app.groups "
            "WHERE flow_id = '" +
            graph_.id + "'");
        for (int i = 0; i < groups.size(); ++i) {
            groups_[places.at(*groups.at(i, 0))] = {
                *groups.at(i, 1), std::stoi(*groups.at(i, 2)), std::stoi(*groups.at(i, 3)),
                std::stoi(*groups.at(i, 4)), std::stoi(*groups.at(i, 5))};
        }
    }

    void read_events(const std::map<std::string, std::size_t>& places) {
        const Rows events = conn_.exec(
            "SELECT type, subject FROM app.outbox_events WHERE (topic = 'completion' OR type IN "
            "('flow_cancel_requested', 'replayed')) AND (subject = '" +
            graph_.id + "' OR subject IN (SELECT id::text FROM app.tasks WHERE flow_id = '" +
            graph_.id + "')) ORDER BY position");
        for (int i = 0; i < events.size(); ++i) {
            const std::string type = *events.at(i, 0);
            const auto place = places.find(*events.at(i, 1));
            if (place != places.end()) {
                note(&fates_[place->second], type);
            } else if (type == "flow_cancel_requested") {
                ever_cancelled_ = true;
            } else {
                ++flow_ends_;
                last_flow_end_ = type;
            }
        }
    }

    void note(Fate* fate, const std::string& type) {
        if (type == "replayed") {
            fate->replayed = true;
            fate->ends = 0;
            replayed_ = true;
            last_flow_end_.clear();  // it opened the flow again
            return;
        }
        fate->last_end = type == "success" ? "completed" : type;
        fate->ever_completed += type == "success" ? 1 : 0;
        fate->twice = fate->twice || ++fate->ends > 1;
    }

    // Every end is told once, but for those with the flow.
    void check_task(std::size_t i) {
        const Fate& fate = fates_[i];
        const bool with_flow = fate.state == "cancelled" && fate.by == "flow_cascade";
        if (fate.twice) {
            complain(i, "ended twice");
        }
        if (fate.ends != (has_ended(fate.state) && !with_flow ? 1 : 0)) {
            complain(i, "has " + to_string(fate.ends) + " completions since it began");
        }
        if (fate.ends == 1 && fate.last_end != fate.state) {
            complain(i, "was told to be " + fate.last_end);
        }
        if (fate.by == "engine" && fate.state == "cancelled") {
            check_cancelled_by_engine(i);
        }
    }

    void check_cancelled_by_engine(std::size_t i) {
        if (fates_[i].reason == "flow_fail_fast") {
            if (!graph_.fail_fast) {
                complain(i, "was cancelled by a policy that the flow does not have");
            }
            return;
        }
        bool wanted = false;
        for (const int downstream : graph_.nodes[i].before) {
            const auto place = static_cast<std::size_t>(downstream);
            const Node& node = graph_.nodes[place];
            wanted = wanted || node.cancels_remaining;
            if (!replayed_ && groups_[place].state == "open" && !struck()) {
                complain(i, "was cancelled though an open group needed it");
            }
        }
        if (!wanted) {
            complain(i, "was cancelled though no group cancels the others");
        }
    }

    // What the end of the upstream says of its edges. Several answers are right where duties had
    // to do it, and did not come to it before the flow was cancelled or the task replayed.
    void check_edges(std::size_t i) {
        for (const int upstream : graph_.nodes[i].after) {
            const auto place = static_cast<std::size_t>(upstream);
            const Fate& up = fates_[place];
            const std::string& edge = edges_[{place, i}];
            std::set<std::string> right;
            if (up.ever_completed > 0) {
                right.insert("satisfied");
            }
            const bool lost = has_ended(up.state) && up.state != "completed" && !up.silent();
            if (up.ever_completed == 0 && lost) {
                right.insert("impossible");
            }
            const bool undone = small_bound_ && (ever_cancelled_ || replayed_);
            if (up.ever_completed > 0 && lost && undone) {
                right.insert("impossible");  // its success had not arrived before the replay
            }
            // A downstream that began anew waits again for what had been lost.
            if (right.empty() || undone || (lost && fates_[i].replayed)) {
                right.insert("unsatisfied");
            }
            if (!right.contains(edge)) {
                complain(i, "its edge from " + key_of(upstream) + " (" + up.state + ") is " + edge);
            }
        }
    }

    void check_group(std::size_t i) {
        const Node& node = graph_.nodes[i];
        Found should;
        should.total = static_cast<int>(node.after.size());
        for (const int upstream : node.after) {
            const auto place = static_cast<std::size_t>(upstream);
            const std::string& edge = edges_[{place, i}];
            should.satisfied += edge == "satisfied" ? 1 : 0;
            if (edge == "impossible") {
                ++(fates_[place].state == "skipped" ? should.skipped : should.failed);
            }
        }
        const int lost = should.failed + should.skipped;
        should.state = should.satisfied >= node.needed()     ? "satisfied"
                       : should.total - lost < node.needed() ? "impossible"
                                                             : "open";
        const Found& is = groups_[i];
        if (is.total != should.total || is.satisfied != should.satisfied ||
            is.failed != should.failed || is.skipped != should.skipped) {
            complain(i, "its group has other counts than its edges");
        }
        if (is.state != should.state && !(struck() && is.state == "open")) {
            complain(i, "its group is " + is.state + ", not " + should.state);
        }
        check_waiting(i, is.state);
    }

    void check_waiting(std::size_t i, const std::string& group) {
        const Fate& fate = fates_[i];
        if (!struck() && (group == "open") != (fate.state == "blocked") && !has_ended(fate.state)) {
            complain(i, "does not go with its group, which is " + group);
        }
        if (group == "impossible" && !has_ended(fate.state) && !struck()) {
            complain(i, "should be skipped");
        }
        if (replayed_) {
            return;  // it may have ended before its group was opened again
        }
        if (fate.state == "skipped" && group != "impossible") {
            complain(i, "is skipped, and its group is " + group);
        }
        if ((fate.state == "completed" || fate.state == "failed") && group != "satisfied") {
            complain(i, "ran, and its group is " + group);
        }
    }

    bool struck() const { return struck_; }

    void check_flow() {
        int open = 0;
        int bad = 0;
        for (std::size_t i = 0; i < fates_.size(); ++i) {
            open += has_ended(fates_[i].state) ? 0 : 1;
            bad += graph_.nodes[i].before.empty() && has_ended(fates_[i].state) &&
                           fates_[i].state != "completed"
                       ? 1
                       : 0;
        }
        const Rows row = conn_.exec(
            "SELECT state, member_count, open_count, bad_sink_count FROM app.flows WHERE id = '" +
            graph_.id + "'");
        const std::string state = *row.at(0, 0);
        const std::string counts = *row.at(0, 1) + " " + *row.at(0, 2) + " " + *row.at(0, 3);
        const std::string should_counts =
            to_string(graph_.nodes.size()) + " " + to_string(open) + " " + to_string(bad);
        if (counts != should_counts || members_ != static_cast<int>(graph_.nodes.size())) {
            complain("has the counts " + counts + ", not " + should_counts);
        }
        const std::string by_counts = open > 0 ? "running" : bad > 0 ? "failed" : "completed";
        const std::string told = last_flow_end_.empty() ? "running" : last_flow_end_.substr(5);
        const bool is_right = told == "cancelled" ? state == "cancelled"
                              : told == "failed" && graph_.fail_fast
                                  ? state == "failed" && bad > 0
                                  : state == by_counts && told == by_counts;
        if (!is_right) {
            complain("is " + state + ", told to be " + told + ", by its members " + by_counts);
        }
        if (flow_ends_ > 1 && !replayed_) {
            complain("ended more than once");
        }
    }

 public:
    void set_struck(bool struck) { struck_ = struck; }

 private:
    Conn& conn_;
    const Graph& graph_;
    bool small_bound_;
    bool struck_ = false;
    int members_ = 0;
    std::vector<Fate> fates_;
    std::map<std::pair<std::size_t, std::size_t>, std::string> edges_;
    std::map<std::size_t, Found> groups_;
    bool replayed_ = false;
    bool ever_cancelled_ = false;
    int flow_ends_ = 0;
    std::string last_flow_end_;
    std::string complaints_;
};

// ---- Scenarios ----

constexpr const char* kClean =
    "TRUNCATE app.tasks, app.attempts, app.flows, app.edges, app.groups, app.cascade_queue, "
    "app.cancel_backlog, app.cancel_backlog_members, app.outbox_events";

std::vector<Graph> make_flows(Conn* conn, Random* random, Play* play) {
    std::vector<Graph> graphs;
    std::size_t tasks = 0;
    while (tasks < 250) {
        Graph graph = random_graph(random);
        const Rows made =
            conn->exec("SELECT f.flow_id, k.key, k.value FROM app.create_flow('" +
                       json_of(graph, random, play->clock) + "', " + to_string(play->clock) +
                       ") AS f, jsonb_each_text(f.task_ids) AS k");
        for (int i = 0; i < made.size(); ++i) {
            graph.id = *made.at(i, 0);
            graph.nodes[std::stoul(made.at(i, 1)->substr(1))].id = *made.at(i, 2);
        }
        for (const Node& node : graph.nodes) {
            play->tasks.push_back(node.id);
        }
        tasks += graph.nodes.size();
        play->flows.push_back(graph.id);
        graphs.push_back(graph);
    }
    return graphs;
}

// Left alone, all tasks that can run do so, and the duties finish what was left to them.
void let_end(Client* client, Play* play) {
    for (int round = 0; round < 2000; ++round) {
        const std::string now = to_string(play->clock += 10000);
        int64_t done = 0;
        const Answer duties =
            play->ask(client, "SELECT coalesce(sum(rows), 0) FROM app.reconcile(" + kDuties +
                                  ", p_now_ms => " + now + ")");
        done += duties.ok() ? std::stoll(*duties.rows[0][0]) : 0;
        const Answer claimed = play->ask(
            client,
            "SELECT task_id, lease_epoch FROM app.claim_tasks('w', 'last', NULL, '{}', 30000, "
            "200, NULL, " +
                now + ")");
        for (const auto& row : claimed.rows) {
            play->ask(client, "SELECT app.complete_task('" + *row[0] + "', " + *row[1] +
                                  ", p_now_ms => " + now + ")");
        }
        if (done == 0 && claimed.rows.empty()) {
            return;
        }
    }
    play->complain("it does not come to an end");
}

void run_scenario(Cluster* cluster, Conn* main, uint64_t seed, int64_t bound) {
    SCOPED_TRACE("scenario seed " + to_string(seed) + ", bound " + to_string(bound));
    Random random(seed);
    Play play;
    play.with_replays = random.in_thousand(600);
    main->exec(kClean);
    main->exec("SELECT belay.set_hub_option('app', 'fanout_bound', '" + to_string(bound) + "')");
    const auto graphs = make_flows(main, &random, &play);
    const std::atomic<bool> never = false;
    const auto steps = static_cast<int64_t>(play.tasks.size()) * random.number(2, 6) / kWorkers;
    std::vector<std::thread> threads;
    for (int i = 0; i < kWorkers; ++i) {
        threads.emplace_back([&, i] {
            FlowWorker(cluster, &play, i, seed * 100 + static_cast<uint64_t>(i), &never).run(steps);
        });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    const char* check =
        "SELECT string_agg(object || ' ' || problem, E'\n') FROM (SELECT * FROM app.check_tasks() "
        "LIMIT 20) AS c";
    EXPECT_EQ(main->value(check), "") << "before it was let end";
    Client client(cluster, "SELECT 1", &never);
    let_end(&client, &play);
    EXPECT_EQ(main->value(check), "");
    EXPECT_EQ(main->value("SELECT count(*) FROM app.cascade_queue"), "0");
    EXPECT_EQ(main->value("SELECT count(*) FROM app.cancel_backlog"), "0");
    EXPECT_EQ(main->value("SELECT count(*) FROM app.tasks WHERE terminal_at_ms IS NULL AND state "
                          "<> 'blocked'"),
              "0");
    std::string complaints;
    for (const auto& complaint : play.complaints) {
        complaints += complaint + "\n";
    }
    for (const Graph& graph : graphs) {
        Evaluator evaluator(main, graph, bound < 1000);
        evaluator.set_struck(
            main->value("SELECT struck FROM app.flows WHERE id = '" + graph.id + "'") == "t");
        complaints += evaluator.complaints();
    }
    EXPECT_EQ(complaints, "");
    std::cout << graphs.size() << " flows, " << play.tasks.size() << " tasks, " << play.calls
              << " calls, " << play.refused << " refused, replays "
              << main->value("SELECT sum(replay_count) FROM app.tasks") << ", skipped "
              << main->value("SELECT count(*) FROM app.tasks WHERE state = 'skipped'")
              << ", blocked "
              << main->value("SELECT count(*) FROM app.tasks WHERE state = 'blocked'") << "\n";
}

TEST(Flows, EndAsTheyShould) {
    const uint64_t seed = run_seed();
    Cluster cluster({.preload = true,
                     .conf = {"belay.reconcile_interval = 0", "synchronous_commit = off",
                              "max_connections = 40", kLogPrefix}});
    Conn main = cluster.connect();
    main.exec("CREATE EXTENSION belay");
    main.exec("SELECT belay.create_hub('app')");
    main.exec("SELECT belay.set_hub_option('app', 'max_clock_skew', '0')");
    main.exec("SELECT belay.set_hub_option('app', 'events', 'lease,operator,completion')");
    const int64_t bounds[] = {1000000, 1, 256, 3, 1000000, 20};
    const Stopwatch watch;
    const double budget = is_long() ? 900 : 18;
    for (uint64_t i = 0; watch.seconds() < budget && !::testing::Test::HasFailure(); ++i) {
        run_scenario(&cluster, &main, seed + i, bounds[i % std::size(bounds)]);
    }
}

}  // namespace
}  // namespace belay::test::stress
