#include "checker.hpp"

#include <algorithm>
#include <set>
#include <sstream>
#include <unordered_map>
#include <unordered_set>

#include "../stress/tree.hpp"
#include "load.hpp"

namespace belay::test::soak {

using std::to_string;
namespace tree = stress::tree;

int64_t Findings::count(const std::string& kind) const {
    return std::count_if(violations.begin(), violations.end(),
                         [&](const Violation& violation) { return violation.kind == kind; });
}

void Findings::add(const Findings& other) {
    checks += other.checks;
    violations.insert(violations.end(), other.violations.begin(), other.violations.end());
}

namespace {

// Clocks are read in steps of a millisecond, on both sides.
constexpr int64_t kGrainMs = 3;

// ---------------------------------------------------------------- leases

struct Grant {
    std::string token;
    const Call* call;
    int64_t lease_ms;
};

enum class Use { kKeep, kGive, kEnd };

struct Used {
    std::string token;
    const Call* call;
    Use use;
    Outcome outcome;
    int64_t extend_ms = 0;
};

// What happened to one thing that can be leased.
struct Subject {
    std::vector<Grant> grants;
    std::vector<Used> uses;
    std::vector<const Call*> steered;  // an operator's calls, which may end leases
    bool is_task = false;
    bool is_turn = false;
};

using Subjects = std::unordered_map<std::string, Subject>;

const std::map<std::string, Use> kUses = {
    {"ack", Use::kEnd},        {"ackfetch", Use::kEnd}, {"renew", Use::kKeep},
    {"guard", Use::kKeep},     {"abandon", Use::kGive}, {"turnack", Use::kEnd},
    {"turnrenew", Use::kKeep}, {"complete", Use::kEnd}, {"turnabandon", Use::kGive},
    {"taskrenew", Use::kKeep}, {"release", Use::kGive}, {"completeclaim", Use::kEnd},
    {"taskguard", Use::kKeep}, {"fail", Use::kEnd},
};

bool is_of_task(const std::string& kind) {
    static const std::set<std::string> kKinds = {
        "claim", "complete", "completeclaim", "release", "taskrenew", "fail", "taskguard"};
    return kKinds.contains(kind);
}

void note_grants(const Call& call, const std::string& lease, Subjects* subjects) {
    if (call.outcome != Outcome::kDone || call.answer.empty()) {
        return;
    }
    for (const auto& text : split(call.answer[0], ',')) {
        const auto [name, token] = pair_of(text);
        const bool turn = call.kind == "turn";
        Subject& subject = (*subjects)[turn ? "turn:" + name : name];
        subject.is_turn = turn;
        subject.is_task = is_of_task(call.kind);
        subject.grants.push_back({token, &call, std::stoll(lease)});
    }
}

Subjects subjects_of(const std::vector<Call>& calls) {
    Subjects subjects;
    for (const auto& call : calls) {
        if (call.kind == "fetch" || call.kind == "turn" || call.kind == "claim") {
            note_grants(call, call.args.at(0), &subjects);
        } else if (call.kind == "ackfetch" || call.kind == "completeclaim") {
            note_grants(call, call.args.at(2), &subjects);
        }
        if (const auto use = kUses.find(call.kind); use != kUses.end()) {
            const std::string& name = call.args.at(0);
            const bool extends = call.kind.ends_with("renew");
            subjects[call.kind.starts_with("turn") ? "turn:" + name : name].uses.push_back(
                {call.args.at(1), &call, use->second, call.outcome,
                 extends ? std::stoll(call.args.at(2)) : 0});
        } else if (call.kind == "acks") {
            const auto acked = split(
                call.answer.empty() || call.outcome != Outcome::kDone ? "" : call.answer[0], ',');
            const std::unordered_set<std::string> done(acked.begin(), acked.end());
            for (const auto& text : split(call.args.at(0), ',')) {
                const auto [name, token] = pair_of(text);
                subjects[name].uses.push_back(
                    {token, &call, Use::kEnd,
                     call.outcome == Outcome::kDone && !done.contains(text) ? Outcome::kRefused
                                                                            : call.outcome});
            }
        } else if (call.kind == "cancel" || call.kind == "revoke" || call.kind == "replay") {
            if (call.outcome != Outcome::kRefused) {
                subjects[call.args.at(0)].steered.push_back(&call);
            }
        }
    }
    return subjects;
}

// Until when a lease certainly lives, if nothing ends it before.
int64_t certain_deadline(const Subject& subject, const Grant& grant, const Grant& next) {
    int64_t deadline = grant.call->sent_ms + grant.lease_ms;
    for (const auto& use : subject.uses) {
        if (use.token != grant.token || use.extend_ms == 0 || use.outcome == Outcome::kRefused ||
            use.call->sent_us > next.call->got_us) {
            continue;
        }
        const int64_t renewed = use.call->sent_ms + use.extend_ms;
        // Of work items and turns a renewal may also bring the deadline nearer.
        if (!subject.is_task) {
            deadline = use.outcome == Outcome::kDone && use.call->got_us < next.call->sent_us
                           ? renewed
                           : std::min(deadline, renewed);
        } else if (use.outcome == Outcome::kDone && use.call->got_us < next.call->sent_us) {
            deadline = std::max(deadline, renewed);
        }
    }
    return deadline;
}

// When a lease was certainly over, unless it was renewed again.
int64_t latest_deadline(const Subject& subject, const Grant& grant) {
    int64_t deadline = grant.call->got_ms + grant.lease_ms;
    for (const auto& use : subject.uses) {
        if (use.token == grant.token && use.extend_ms > 0 && use.outcome != Outcome::kRefused) {
            if (use.outcome == Outcome::kUnknown) {
                return INT64_MAX - kGrainMs;  // it is unknown when it was done
            }
            deadline = std::max(deadline, use.call->got_ms + use.extend_ms);
        }
    }
    return deadline;
}

// Whether a crash may undo what is known of a lease: that it was given, or renewed. A claim of
// tasks waits for the disk, because nothing else tells its epoch from that of the next claim.
bool is_forgettable(const Subject& subject, const Grant& grant) {
    return has_async_leases(grant.call->client) &&
           (grant.call->kind == "fetch" || grant.call->kind == "turn" ||
            std::any_of(subject.uses.begin(), subject.uses.end(), [&](const Used& use) {
                return use.token == grant.token && use.extend_ms > 0;
            }));
}

// Whether something may have ended the lease before the next one was given.
bool may_have_ended(const Subject& subject, const Grant& grant, const Grant& next,
                    const std::vector<Break>& breaks) {
    return std::any_of(subject.uses.begin(), subject.uses.end(),
                       [&](const Used& use) {
                           return use.token == grant.token && use.use != Use::kKeep &&
                                  use.outcome != Outcome::kRefused &&
                                  use.call->sent_us < next.call->got_us;
                       }) ||
           std::any_of(subject.steered.begin(), subject.steered.end(),
                       [&](const Call* call) {
                           return call->sent_us < next.call->got_us &&
                                  call->got_us > grant.call->sent_us;
                       }) ||
           std::any_of(breaks.begin(), breaks.end(), [&](const Break& gap) {
               return gap.from_us < next.call->got_us && gap.to_us > grant.call->sent_us &&
                      (!gap.crash || is_forgettable(subject, grant));
           });
}

void check_subject(const std::string& name, const Subject& subject,
                   const std::vector<Break>& breaks, Findings* findings) {
    std::unordered_map<std::string, const Grant*> by_token;
    for (const auto& grant : subject.grants) {
        findings->expect(by_token.emplace(grant.token, &grant).second, "overlap",
                         [&] { return name + " was leased twice as " + grant.token; });
    }
    for (const auto& first : subject.grants) {
        for (const auto& second : subject.grants) {
            if (first.call->got_us >= second.call->sent_us) {
                continue;  // not certainly in this order
            }
            if (subject.is_task) {
                findings->expect(std::stoll(first.token) < std::stoll(second.token), "fence", [&] {
                    return name + " was leased with epoch " + second.token + " after " +
                           first.token;
                });
            }
            if (!may_have_ended(subject, first, second, breaks)) {
                findings->expect(
                    second.call->got_ms + kGrainMs >= certain_deadline(subject, first, second),
                    "overlap", [&] {
                        return name + " was leased again as " + second.token + " while " +
                               first.token + " was live";
                    });
            }
        }
    }
    int ends = 0;
    for (const auto& use : subject.uses) {
        const auto grant = by_token.find(use.token);
        if (use.outcome != Outcome::kDone || grant == by_token.end()) {
            continue;
        }
        const Grant& own = *grant->second;
        if (use.use != Use::kGive || subject.is_task) {
            findings->expect(use.call->sent_ms <= latest_deadline(subject, own) + kGrainMs, "fence",
                             [&] {
                                 return use.call->kind + " of " + name + " with " + use.token +
                                        " was accepted after its deadline";
                             });
        }
        for (const auto& later : subject.grants) {
            if (own.call->got_us < later.call->sent_us) {
                findings->expect(later.call->got_us >= use.call->sent_us, "fence", [&] {
                    return use.call->kind + " of " + name + " with " + use.token +
                           " was accepted after it was leased as " + later.token;
                });
                if (use.use == Use::kEnd && !subject.is_task && !subject.is_turn) {
                    findings->expect(use.call->got_us >= later.call->sent_us, "duplicate", [&] {
                        return name + " was leased as " + later.token + " after it was acked";
                    });
                }
            }
        }
        for (const auto& gap : breaks) {
            findings->expect(
                !gap.certain || own.call->got_us >= gap.from_us || use.call->sent_us <= gap.to_us,
                "fence", [&] {
                    return use.call->kind + " of " + name + " with " + use.token +
                           " was accepted in another incarnation";
                });
        }
        ends += use.use == Use::kEnd ? 1 : 0;
    }
    if (!subject.is_task && !subject.is_turn) {
        findings->expect(ends <= 1, "duplicate",
                         [&] { return name + " was acked " + to_string(ends) + " times"; });
    }
}

// Errors that the faults explain. Everything else is a bug.
const std::vector<std::string> kExpectedErrors = {
    "QB001",                             // a lease is gone
    "QB010", "QB011", "QB012", "QB013",  // a task is in another state by now
    "QB016",                             // enough replays
    "53100", "53200",                    // injected: disk full, out of memory
    "57014", "55P03",                    // cancelled, timed out, a lock timed out
};
constexpr const char* kInjected = "injected fault at";

bool is_expected(const Call& call) {
    const std::string sqlstate = call.answer.empty() ? "" : call.answer[0];
    return std::find(kExpectedErrors.begin(), kExpectedErrors.end(), sqlstate) !=
               kExpectedErrors.end() ||
           (call.answer.size() > 1 && call.answer[1].starts_with(kInjected));
}

// ---------------------------------------------------------------- the database

// Two text columns, counted.
using Counts = std::unordered_map<std::string, int>;

Counts counts_of(Conn* conn, const std::string& sql) {
    Counts counts;
    const Rows rows = conn->exec(sql);
    for (int i = 0; i < rows.size(); ++i) {
        ++counts[rows.at(i, 0).value_or("")];
    }
    return counts;
}

int count_in(const Counts& counts, const std::string& name) {
    const auto found = counts.find(name);
    return found == counts.end() ? 0 : found->second;
}

class DatabaseCheck {
 public:
    DatabaseCheck(Conn* conn, const std::vector<Call>& calls, const Window& window)
        : conn_(*conn), calls_(calls), window_(window) {}

    Findings run() {
        is_copy_ = window_.to_us != INT64_MAX;
        check_jobs();
        if (!is_copy_) {
            check_acks();
        }
        check_trees();
        check_boxes();
        check_events();
        check_tasks();
        check_flows();
        return findings_;
    }

 private:
    // Something that a call made, and that is there so often.
    void expect_made(const Call& call, const std::string& name, int times, const char* what) {
        const bool must = call.outcome == Outcome::kDone && call.got_us <= window_.from_us;
        const bool must_not = call.outcome == Outcome::kRefused || call.sent_us > window_.to_us;
        findings_.expect(times <= 1, "duplicate", [&] {
            return std::string(what) + " " + name + " ended " + to_string(times) + " times";
        });
        findings_.expect(!must || times > 0, "lost",
                         [&] { return std::string(what) + " " + name + " is lost"; });
        findings_.expect(!must_not || times == 0, "phantom", [&] {
            return std::string(what) + " " + name + " is there, and was never accepted";
        });
    }

    void check_jobs() {
        Counts ends = counts_of(&conn_, "SELECT item FROM effects WHERE item !~ '^[at]:'");
        for (const auto& [item, times] :
             counts_of(&conn_,
                       "SELECT work_item::json -> 'ActivityExecute' ->> 'input' FROM "
                       "jobs.dead_letters WHERE queue = 'worker'")) {
            ends[item] += times;
        }
        std::unordered_set<std::string> known;
        for (const auto& call : calls_) {
            if (call.kind == "enqueue" || call.kind == "send") {
                for (const auto& item : split(call.args.at(0), ',')) {
                    known.insert(item);
                    expect_made(call, item, count_in(ends, item), "item");
                }
            }
        }
        // What completed roots send to the other hub, by a turn's ack.
        for (const auto& [instance, times] :
             counts_of(&conn_, "SELECT instance_id FROM done WHERE instance_id NOT LIKE '%::%'")) {
            const std::string item = "r:" + instance;
            known.insert(item);
            const int arrived = count_in(ends, item);
            findings_.expect(arrived == 1, arrived == 0 ? "lost" : "duplicate", [&] {
                return "intent " + item + " ended " + to_string(arrived) + " times";
            });
        }
        for (const auto& [item, times] : ends) {
            findings_.expect(known.contains(item), "phantom",
                             [&] { return "item " + item + " comes from nowhere"; });
        }
        // An activity ends once, or is cancelled.
        for (const auto& [item, times] :
             counts_of(&conn_, "SELECT item FROM effects WHERE item LIKE 'a:%'")) {
            findings_.expect(times == 1, "duplicate", [&] {
                return "activity " + item + " ended " + to_string(times) + " times";
            });
        }
    }

    // What the application wrote is there if and only if its transaction was accepted.
    void check_acks() {
        const Counts effects = counts_of(&conn_, "SELECT item || '=' || token FROM effects");
        const Counts guarded = counts_of(&conn_, "SELECT id FROM guarded");
        const auto agree = [&](Outcome outcome, const std::string& name, int times) {
            findings_.expect(times <= 1, "duplicate",
                             [&] { return "effect " + name + " is there more than once"; });
            findings_.expect(outcome != Outcome::kDone || times == 1, "lost",
                             [&] { return "effect " + name + " was accepted and is not there"; });
            findings_.expect(outcome != Outcome::kRefused || times == 0, "phantom",
                             [&] { return "effect " + name + " was refused and is there"; });
        };
        for (const auto& call : calls_) {
            if (call.kind == "ack" || call.kind == "ackfetch") {
                const std::string name = call.args.at(0) + "=" + call.args.at(1);
                agree(call.outcome, name, count_in(effects, name));
            } else if (call.kind == "complete" || call.kind == "completeclaim") {
                const std::string name = "t:" + call.args.at(0) + "=" + call.args.at(1);
                agree(call.outcome, name, count_in(effects, name));
            } else if (call.kind == "guard" || call.kind == "taskguard") {
                agree(call.outcome, call.args.at(2), count_in(guarded, call.args.at(2)));
            } else if (call.kind == "acks") {
                const auto acked = split(
                    call.outcome == Outcome::kDone && !call.answer.empty() ? call.answer[0] : "",
                    ',');
                const std::unordered_set<std::string> done(acked.begin(), acked.end());
                for (const auto& name : split(call.args.at(0), ',')) {
                    agree(call.outcome == Outcome::kDone && !done.contains(name) ? Outcome::kRefused
                                                                                 : call.outcome,
                          name, count_in(effects, name));
                }
            }
        }
    }

    void check_trees() {
        const Counts done = counts_of(&conn_, "SELECT instance_id FROM done");
        for (const auto& [instance, times] : done) {
            findings_.expect(times == 1, "duplicate", [&] {
                return "instance " + instance + " completed " + to_string(times) + " times";
            });
        }
        std::unordered_map<std::string, std::string> outputs;
        const Rows rows = conn_.exec(
            "SELECT instance_id, output FROM app.executions WHERE status = 'Completed' AND "
            "instance_id NOT LIKE '%::%'");
        for (int i = 0; i < rows.size(); ++i) {
            outputs[rows.at(i, 0).value_or("")] = rows.at(i, 1).value_or("");
        }
        const Counts instances =
            counts_of(&conn_, "SELECT substring(instance_id from '^[^:]*') FROM app.instances");
        for (const auto& call : calls_) {
            if (call.kind != "start") {
                continue;
            }
            const std::string& instance = call.args.at(0);
            expect_made(call, instance, count_in(done, instance), "instance");
            if (count_in(done, instance) > 0) {
                const tree::Outcome outcome =
                    tree::expected_outcome(std::stoll(call.args.at(1)), 0);
                findings_.expect(outputs[instance] == to_string(outcome.output), "output", [&] {
                    return "instance " + instance + " came to '" + outputs[instance] + "', not " +
                           to_string(outcome.output);
                });
                findings_.expect(count_in(instances, instance) == outcome.instances, "output", [&] {
                    return "the tree of " + instance + " has " +
                           to_string(count_in(instances, instance)) + " instances, not " +
                           to_string(outcome.instances);
                });
            }
        }
        expect_none("output", "not completed",
                    "SELECT instance_id FROM app.instances JOIN app.executions USING (instance_id) "
                    "WHERE execution_id = current_execution_id AND status <> 'Completed' AND "
                    "instance_id NOT LIKE 'box%'");
        expect_none("output", "history with a gap",
                    "SELECT instance_id FROM app.history GROUP BY instance_id, execution_id HAVING "
                    "min(event_id) <> 1 OR max(event_id) <> count(*)");
        expect_none("duplicate", "answered twice",
                    "SELECT instance_id FROM app.history WHERE event_data::json ->> "
                    "'source_event_id' <> '0' GROUP BY instance_id, execution_id, event_data::json "
                    "->> 'source_event_id' HAVING count(*) <> 1");
    }

    // Rows that must not be there.
    void expect_none(const std::string& kind, const std::string& what, const std::string& sql) {
        const Rows rows = conn_.exec(sql);
        ++findings_.checks;
        for (int i = 0; i < rows.size(); ++i) {
            findings_.violate(kind, what + ": " + rows.at(i, 0).value_or("NULL"));
        }
    }

    void check_boxes() {
        const Rows rows = conn_.exec("SELECT box, number FROM inbox ORDER BY at");
        Counts arrived;
        std::unordered_map<std::string, int64_t> last;
        for (int i = 0; i < rows.size(); ++i) {
            const std::string box = rows.at(i, 0).value_or("");
            const int64_t number = std::stoll(rows.at(i, 1).value_or(""));
            ++arrived[box + "/" + to_string(number)];
            findings_.expect(number > last[box], "order", [&] {
                return "in " + box + " message " + to_string(number) + " came after " +
                       to_string(last[box]);
            });
            last[box] = number;
        }
        for (const auto& call : calls_) {
            if (call.kind == "post") {
                for (const auto& number : split(call.args.at(1), ',')) {
                    const std::string name = call.args.at(0) + "/" + number;
                    expect_made(call, name, count_in(arrived, name), "message");
                }
            }
        }
    }

    struct Told {
        int incarnation;
        int64_t position;
        std::string topic;
        std::string type;
    };

    void check_events() {
        const Rows rows =
            conn_.exec("SELECT event_id, topic, type, subject FROM audit ORDER BY at");
        std::unordered_set<std::string> seen;
        for (int i = 0; i < rows.size(); ++i) {
            const std::string id = rows.at(i, 0).value_or("");
            findings_.expect(seen.insert(id).second, "event",
                             [&] { return "event " + id + " was read twice"; });
            const auto dash = id.find_first_not_of("0123456789");
            auto& told = told_[rows.at(i, 3).value_or("")];
            told.push_back({std::stoi(id.substr(0, dash)), std::stoll(id.substr(dash + 1)),
                            rows.at(i, 1).value_or(""), rows.at(i, 2).value_or("")});
            if (told.size() > 1) {
                const Told& before = told[told.size() - 2];
                findings_.expect(std::pair(before.incarnation, before.position) <
                                     std::pair(told.back().incarnation, told.back().position),
                                 "order", [&] {
                                     return "of " + rows.at(i, 3).value_or("") + " event " + id +
                                            " came after " + to_string(before.incarnation) + "-" +
                                            to_string(before.position);
                                 });
            }
        }
        const Rows left =
            conn_.exec("SELECT incarnation, position, subject, type FROM app.outbox_events");
        std::unordered_set<std::string> places;
        for (const auto& id : seen) {
            const auto dash = id.find_first_not_of("0123456789");
            places.insert(id.substr(0, dash) + "-" + id.substr(dash + 1));
        }
        for (int i = 0; i < left.size(); ++i) {
            const std::string place = left.at(i, 0).value_or("") + "-" + left.at(i, 1).value_or("");
            findings_.expect(places.contains(place), "event", [&] {
                return "event " + place + " (" + left.at(i, 3).value_or("") + " of " +
                       left.at(i, 2).value_or("") + ") was never read";
            });
        }
    }

    // The ends of a task or flow and its replays, in the order in which they were told.
    struct Life {
        std::string last_end;
        int ends = 0;
        int replays = 0;
        int successes = 0;
        int cancels = 0;
        bool in_order = true;
    };
    Life life_of(const std::string& subject) const {
        Life life;
        const auto told = told_.find(subject);
        if (told == told_.end()) {
            return life;
        }
        for (const auto& event : told->second) {
            if (event.topic == "completion") {
                ++life.ends;
                life.in_order = life.in_order && life.ends == life.replays + 1;
                life.last_end = event.type;
                life.successes += event.type == "success" ? 1 : 0;
                life.cancels += event.type == "cancelled" ? 1 : 0;
            } else if (event.type == "replayed") {
                ++life.replays;
                life.in_order = life.in_order && life.ends == life.replays;
            }
        }
        return life;
    }

    void load_states() {
        const Rows rows = conn_.exec("SELECT id, state FROM app.tasks");
        for (int i = 0; i < rows.size(); ++i) {
            states_[rows.at(i, 0).value_or("")] = rows.at(i, 1).value_or("");
        }
    }
    std::string state_of(const std::string& task) const {
        const auto found = states_.find(task);
        return found == states_.end() ? "" : found->second;
    }

    // Of members that their flow's cancellation ended, only the flow's event tells.
    void check_task(const Call& call, const std::string& task, bool may_end_silently) {
        const std::string state = state_of(task);
        expect_made(call, task, state.empty() ? 0 : 1, "task");
        if (state.empty()) {
            return;
        }
        const Life life = life_of(task);
        const std::string expected = state == "completed" ? "success" : state;
        if (may_end_silently && state == "cancelled" && life.ends == 0) {
            return;
        }
        findings_.expect(life.ends > 0, "event",
                         [&] { return "the end of task " + task + " was never told"; });
        findings_.expect(life.in_order && (life.ends == 0 || life.ends == life.replays + 1),
                         "event", [&] {
                             return "task " + task + " has " + to_string(life.ends) + " ends and " +
                                    to_string(life.replays) + " replays";
                         });
        findings_.expect(life.ends == 0 || life.last_end == expected, "event", [&] {
            return "task " + task + " is " + state + ", and its last event " + life.last_end;
        });
        const int effects = count_in(task_effects_, "t:" + task);
        findings_.expect(
            effects == life.successes, effects > life.successes ? "event" : "lost", [&] {
                return "task " + task + " has " + to_string(effects) + " effects and " +
                       to_string(life.successes) + " events of success";
            });
    }

    void check_tasks() {
        load_states();
        task_effects_ = counts_of(&conn_, "SELECT item FROM effects WHERE item LIKE 't:%'");
        std::unordered_map<std::string, std::pair<int, int>> replays;  // done, perhaps
        for (const auto& call : calls_) {
            if (call.kind == "create") {
                for (const auto& task : split(call.args.at(0), ',')) {
                    check_task(call, task, false);
                }
            } else if (call.kind == "cancel" && call.outcome == Outcome::kDone &&
                       call.got_us <= window_.from_us && call.answer.at(0) == "t") {
                findings_.expect(life_of(call.args.at(0)).cancels > 0, "event", [&] {
                    return "task " + call.args.at(0) + " was cancelled, and no event tells";
                });
            } else if (call.kind == "replay" && call.sent_us <= window_.to_us) {
                auto& [sure, perhaps] = replays[call.args.at(0)];
                sure += call.outcome == Outcome::kDone && call.got_us <= window_.from_us ? 1 : 0;
                perhaps += call.outcome == Outcome::kRefused ? 0 : 1;
            }
        }
        for (const auto& [task, times] : replays) {
            const Life life = life_of(task);
            findings_.expect(life.replays >= times.first && life.replays <= times.second, "event",
                             [&] {
                                 return "task " + task + " was replayed " + to_string(times.first) +
                                        " to " + to_string(times.second) + " times, and " +
                                        to_string(life.replays) + " events tell of it";
                             });
        }
    }

    void check_flows() {
        std::unordered_map<std::string, std::string> flows;
        const Rows rows = conn_.exec("SELECT id, state FROM app.flows");
        for (int i = 0; i < rows.size(); ++i) {
            flows[rows.at(i, 0).value_or("")] = rows.at(i, 1).value_or("");
        }
        std::unordered_set<std::string> cancelled;
        for (const auto& call : calls_) {
            if (call.kind == "cancelflow" && call.outcome != Outcome::kRefused) {
                cancelled.insert(call.args.at(0));
            }
        }
        for (const auto& call : calls_) {
            if (call.kind == "flow") {
                const auto found = flows.find(call.args.at(0));
                expect_made(call, call.args.at(0), found == flows.end() ? 0 : 1, "flow");
                if (found != flows.end()) {
                    check_flow(call, found->second, cancelled.contains(call.args.at(0)));
                }
            }
        }
    }

    // The states of the members follow from each other, and that of the flow from theirs.
    void check_flow(const Call& call, const std::string& state, bool was_cancelled) {
        const std::string& flow = call.args.at(0);
        std::unordered_set<std::string> sinks;
        for (const auto& text : split(call.args.at(1), ',')) {
            const auto parts = split(text, ':');
            const std::string& task = parts.at(0);
            const auto upstream = split(parts.size() > 2 ? parts[2] : "", '+');
            check_task(call, task, state == "cancelled");
            int completed = 0;
            for (const auto& before : upstream) {
                sinks.erase(before);
                completed += state_of(before) == "completed" ? 1 : 0;
            }
            sinks.insert(task);
            const bool satisfied = parts.at(1) == "any_of"
                                       ? completed > 0
                                       : completed == static_cast<int>(upstream.size());
            const std::string own = state_of(task);
            if (!upstream.empty() && own != "cancelled") {
                findings_.expect(satisfied == (own != "skipped"), "flow", [&] {
                    return "member " + task + " of flow " + flow + " is " + own + " after " +
                           to_string(completed) + " of " + to_string(upstream.size()) + " (" +
                           parts.at(1) + ")";
                });
            }
        }
        const bool all = std::all_of(sinks.begin(), sinks.end(), [&](const std::string& sink) {
            return state_of(sink) == "completed";
        });
        const std::string expected = all ? "completed" : "failed";
        findings_.expect(state == expected || (was_cancelled && state == "cancelled"), "flow",
                         [&] { return "flow " + flow + " is " + state + ", not " + expected; });
        const Life life = life_of(flow);
        findings_.expect(life.ends == 1, "event", [&] {
            return "flow " + flow + " has " + to_string(life.ends) + " events of its end";
        });
    }

    Conn& conn_;
    const std::vector<Call>& calls_;
    Window window_;
    bool is_copy_ = false;
    Findings findings_;
    std::unordered_map<std::string, std::vector<Told>> told_;
    std::unordered_map<std::string, std::string> states_;
    Counts task_effects_;
};

}  // namespace

Findings check_calls(const std::vector<Call>& calls, const std::vector<Break>& breaks) {
    Findings findings;
    const Subjects subjects = subjects_of(calls);
    for (const auto& [name, subject] : subjects) {
        check_subject(name, subject, breaks, &findings);
    }
    for (const auto& call : calls) {
        if (call.outcome == Outcome::kRefused) {
            findings.expect(is_expected(call), "error", [&] {
                return call.kind + " " + joined(call.args, ' ') + ": " + joined(call.answer, ' ');
            });
        }
    }
    return findings;
}

Findings check_database(Conn* conn, const std::vector<Call>& calls, const Window& window) {
    Findings findings = DatabaseCheck(conn, calls, window).run();
    findings.add(check_library(conn, calls, window));
    return findings;
}

Findings check_log(const std::string& log) {
    Findings findings;
    // Of connections and servers that come and go.
    std::vector<std::string> expected = {"57P01", "57P02", "57P03", "08006", "08P01"};
    expected.insert(expected.end(), kExpectedErrors.begin(), kExpectedErrors.end());
    for (const auto& line : stress::unexpected_errors(log, expected)) {
        const auto has = [&line](const char* text) { return line.find(text) != std::string::npos; };
        // Autovacuum chooses a database first, and then it may be dropped. A worker leaves a hub
        // alone whose indexes pg_restore has not made yet.
        findings.expect(has(kInjected) || has("] autovacuum worker SQLSTATE=3D000") ||
                            (has("] belay worker SQLSTATE=QB018") && has(" lacks index ")),
                        "error", [&] { return line; });
    }
    std::istringstream lines(log);
    for (std::string line; std::getline(lines, line);) {
        const auto signal = line.find(" was terminated by signal ");
        if (signal != std::string::npos) {
            findings.expect(line.find("signal 9", signal) != std::string::npos, "crash",
                            [&] { return line; });
        }
        findings.expect(line.find(" PANIC: ") == std::string::npos, "crash", [&] { return line; });
    }
    return findings;
}

Findings check_hubs(Conn* conn) {
    Findings findings;
    const auto expect_none = [&](const std::string& kind, const std::string& what,
                                 const std::string& sql) {
        const Rows rows = conn->exec(sql);
        ++findings.checks;
        for (int i = 0; i < rows.size(); ++i) {
            findings.violate(kind, what + ": " + rows.at(i, 0).value_or("NULL"));
        }
    };
    for (const std::string hub : {"app", "jobs", "lib"}) {
        expect_none("stuck", "left work item", "SELECT work_item FROM " + hub + ".work_items");
        expect_none("stuck", "left message", "SELECT work_item FROM " + hub + ".messages");
        expect_none("stuck", "left intent", "SELECT work_item FROM " + hub + ".intents");
        expect_none("stuck", "dead letter",
                    "SELECT queue || ' ' || reason || ' ' || work_item FROM " + hub +
                        ".dead_letters WHERE queue <> 'worker' OR reason <> 'max_attempts' OR '" +
                        hub + "' <> 'jobs'");
        expect_none("stuck", "task without an end",
                    "SELECT id || ' ' || state FROM " + hub +
                        ".tasks WHERE state NOT IN ('completed', 'failed', 'cancelled', 'expired', "
                        "'skipped')");
        expect_none(
            "stuck", "flow without an end",
            "SELECT id || ' ' || state FROM " + hub + ".flows WHERE state IN ('open', 'running')");
        expect_none("stuck", "lease of a turn",
                    "SELECT instance_id FROM " + hub +
                        ".instance_lock_states WHERE locked_until > extract(epoch FROM "
                        "clock_timestamp()) * 1000");
        expect_none("check", "check_hub",
                    "SELECT object || ': ' || problem FROM belay.check_hub('" + hub + "')");
        expect_none("check", "heap of " + hub,
                    "SELECT c.oid::regclass || ' ' || v.msg FROM pg_class AS c, LATERAL "
                    "verify_heapam(c.oid) AS v WHERE c.relkind = 'r' AND c.relnamespace = '" +
                        hub + "'::regnamespace");
        try {
            const Rows checked = conn->exec(
                "SELECT bt_index_check(i.indexrelid, true) FROM pg_index AS i JOIN pg_class AS c "
                "ON "
                "c.oid = i.indexrelid JOIN pg_am AS a ON a.oid = c.relam WHERE a.amname = 'btree' "
                "AND c.relnamespace = '" +
                hub + "'::regnamespace AND i.indisvalid AND i.indisready");
            findings.checks += checked.size();
        } catch (const std::exception& problem) {
            findings.violate("check", problem.what());
        }
        expect_none(
            "check", "index that is not valid",
            "SELECT i.indexrelid::regclass FROM pg_index AS i JOIN pg_class AS c ON c.oid = "
            "i.indexrelid WHERE c.relnamespace = '" +
                hub +
                "'::regnamespace AND NOT i.indisvalid AND c.relname NOT LIKE "
                "'%\\_ccnew%' AND c.relname NOT LIKE '%\\_ccold%'");
    }
    return findings;
}

}  // namespace belay::test::soak
