// What must be true of hub `lib` in the end, from the journals and from what its programs wrote.
#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "checker.hpp"
#include "library.hpp"

namespace belay::test::soak {

using std::to_string;

namespace {

// An answer of the dashboard that neither its end, nor that of the server, nor a fault explains.
bool is_bad_answer(const Call& call) {
    static const std::set<std::string> kAsked = {"login", "page", "stream", "watch"};
    static const std::set<std::string> kExpected = {"0",   "200", "401", "403",
                                                    "404", "429", "503", "504"};
    const auto space = call.kind.find(' ');
    if (space == std::string::npos || !kAsked.contains(call.kind.substr(0, space))) {
        return false;
    }
    const std::string status = call.kind.substr(space + 1);
    const std::string body = call.args.size() > 1 ? call.args[1] : "";
    const bool is_refusal =
        status == "409" && (body.find("55P03") != std::string::npos ||
                            body.find("injected fault at") != std::string::npos);
    return !is_refusal && !kExpected.contains(status);
}

class LibraryCheck {
 public:
    LibraryCheck(Conn* conn, const std::vector<Call>& calls, const Window& window)
        : conn_(*conn), calls_(calls), window_(window) {}

    Findings run() {
        load();
        for (const auto& call : calls_) {
            if (call.kind == "libstart") {
                check_instance(call);
            } else if (call.kind == "libtask") {
                for (const auto& task : split(call.args.at(0), ',')) {
                    check_task(call, task);
                }
            }
        }
        check_histories();
        // What programs were told of a copy's work is about the original.
        if (window_.to_us == INT64_MAX) {
            check_reports();
        }
        return findings_;
    }

 private:
    struct Effect {
        int64_t epoch;
        std::string what;
    };

    void load() {
        Rows rows = conn_.exec("SELECT item, epoch, what FROM lib_effects ORDER BY at");
        for (int i = 0; i < rows.size(); ++i) {
            effects_[rows.at(i, 0).value_or("")].push_back(
                {std::stoll(rows.at(i, 1).value_or("0")), rows.at(i, 2).value_or("")});
        }
        rows = conn_.exec("SELECT id, state FROM lib.tasks");
        for (int i = 0; i < rows.size(); ++i) {
            states_[rows.at(i, 0).value_or("")] = rows.at(i, 1).value_or("");
        }
        rows = conn_.exec("SELECT instance_id, status, output FROM lib.executions");
        for (int i = 0; i < rows.size(); ++i) {
            const std::string instance = rows.at(i, 0).value_or("");
            executions_[instance].push_back(
                {rows.at(i, 1).value_or(""), rows.at(i, 2).value_or("")});
            if (const auto at = instance.find("::"); at != std::string::npos) {
                ++children_[instance.substr(0, at)];
            }
        }
    }

    void expect_made(const Call& call, const std::string& name, bool is_there) {
        const bool must = call.outcome == Outcome::kDone && call.got_us <= window_.from_us;
        const bool must_not = call.outcome == Outcome::kRefused || call.sent_us > window_.to_us;
        findings_.expect(!must || is_there, "lost", [&] { return "lib: " + name + " is lost"; });
        findings_.expect(!must_not || !is_there, "phantom",
                         [&] { return "lib: " + name + " is there, and was never accepted"; });
    }

    void check_instance(const Call& call) {
        const std::string& instance = call.args.at(0);
        const auto found = executions_.find(instance);
        expect_made(call, instance, found != executions_.end());
        if (found == executions_.end()) {
            return;
        }
        const auto& [status, output] = found->second.back();
        const std::string expected =
            to_string(library::expected_output(std::stoll(call.args.at(1))));
        findings_.expect(found->second.size() == 1, "duplicate", [&] {
            return "lib: " + instance + " has " + to_string(found->second.size()) + " executions";
        });
        findings_.expect(status == "Completed" && output == expected, "output", [&] {
            return "lib: " + instance + " is " + status + " with '" + output + "', not " + expected;
        });
        const int children = children_[instance];
        findings_.expect(children == library::kChildren, "output", [&] {
            return "lib: " + instance + " has " + to_string(children) + " children";
        });
    }

    int64_t count(const std::string& item, std::string_view what) const {
        const auto found = effects_.find(item);
        return found == effects_.end() ? 0 : std::ranges::count(found->second, what, &Effect::what);
    }

    void check_task(const Call& call, const std::string& task) {
        using library::Way;
        known_.insert(task);
        const auto found = states_.find(task);
        expect_made(call, task, found != states_.end());
        if (found == states_.end()) {
            return;
        }
        const Way way = library::way_of(task);
        const std::string expected = way == Way::kFails ? "failed" : "completed";
        findings_.expect(found->second == expected, "output", [&] {
            return "lib: task " + task + " is " + found->second + ", not " + expected;
        });
        const int64_t ends = count(task, "end");
        const int64_t begun = count(task, "begin");
        const int64_t once = way == Way::kOnce ? 1 : 0;
        findings_.expect(ends == once, ends < once ? "lost" : "duplicate", [&] {
            return "lib: task " + task + " has " + to_string(ends) +
                   " effects of its completion, not " + to_string(once);
        });
        const int64_t least = way == Way::kOnce || way == Way::kFails ? 0
                              : way == Way::kAgain                    ? 2
                                                                      : 1;
        findings_.expect(begun >= least, "lost", [&] {
            return "lib: task " + task + " completed with " + to_string(begun) +
                   " effects, and it should have " + to_string(least);
        });
    }

    // Rows that must not be there.
    void expect_none(const std::string& kind, const std::string& what, const std::string& sql) {
        const Rows rows = conn_.exec(sql);
        ++findings_.checks;
        for (int i = 0; i < rows.size(); ++i) {
            findings_.violate(kind, "lib: " + what + ": " + rows.at(i, 0).value_or("NULL"));
        }
    }

    void check_histories() {
        expect_none("output", "not completed",
                    "SELECT instance_id FROM lib.executions WHERE status <> 'Completed'");
        expect_none("output", "history with a gap",
                    "SELECT instance_id FROM lib.history GROUP BY instance_id, execution_id HAVING "
                    "min(event_id) <> 1 OR max(event_id) <> count(*)");
        conn_.exec(
            "CREATE TEMP TABLE lib_events AS SELECT instance_id, execution_id, event_id, "
            "instance_id || '/' || execution_id || '/' || event_id AS item, "
            "data ->> 'type' AS type, data ->> 'name' AS name, "
            "instance_id || '/' || execution_id || '/' || (data ->> 'source_event_id') AS source "
            "FROM (SELECT *, event_data::jsonb AS data FROM lib.history) AS h; "
            "ANALYZE lib_events");
        expect_none("duplicate", "ended twice",
                    "SELECT instance_id FROM lib_events WHERE type IN ('OrchestrationCompleted', "
                    "'OrchestrationFailed') GROUP BY instance_id, execution_id HAVING count(*) > "
                    "1");
        expect_none("duplicate", "answered twice",
                    "SELECT source FROM lib_events WHERE type IN ('ActivityCompleted', "
                    "'ActivityFailed', 'TimerFired', 'SubOrchestrationCompleted', "
                    "'SubOrchestrationFailed') GROUP BY source HAVING count(*) > 1");
        expect_none("lost", "activity that completed without its effect",
                    "SELECT s.item FROM lib_events AS e JOIN lib_events AS s ON s.item = e.source "
                    "WHERE e.type = 'ActivityCompleted' AND s.name IN ('Step', 'Ring', 'Pooled') "
                    "AND s.item NOT IN (SELECT item FROM lib_effects)");
        expect_none("phantom", "effect of an activity that was not scheduled",
                    "SELECT item FROM lib_effects WHERE item LIKE '%/%' AND item NOT IN (SELECT "
                    "item FROM lib_events WHERE type = 'ActivityScheduled')");
        expect_none("duplicate", "activity that was completed twice",
                    "SELECT item FROM lib_effects WHERE item LIKE '%/%' AND what = 'end' GROUP BY "
                    "item HAVING count(*) > 1");
        conn_.exec("DROP TABLE lib_events");
        for (const auto& [item, effects] : effects_) {
            int64_t last = 0;
            for (const auto& effect : effects) {
                findings_.expect(effect.epoch >= last, "fence", [&] {
                    return "lib: an effect of " + item + " with epoch " + to_string(effect.epoch) +
                           " came after one with " + to_string(last);
                });
                last = effect.epoch;
            }
            findings_.expect(item.find('/') != std::string::npos || known_.contains(item),
                             "phantom",
                             [&] { return "lib: task " + item + " comes from nowhere"; });
        }
    }

    // What the library has told its programs: a task that was reported as completed is completed,
    // and was not run again.
    void check_reports() {
        std::unordered_map<std::string, int64_t> done;
        for (const auto& call : calls_) {
            findings_.expect(call.kind != "libbroken", "client",
                             [&] { return "lib: " + joined(call.args, ' '); });
            findings_.expect(!is_bad_answer(call), "error", [&] {
                return "dashboard: " + call.kind + ": " + joined(call.args, ' ');
            });
            if (call.kind != "libdone" && call.kind != "libtold") {
                continue;
            }
            const std::string& task = call.args.at(0);
            const int64_t epoch = std::stoll(call.args.at(1));
            const auto state = states_.find(task);
            findings_.expect(state != states_.end() && state->second == "completed", "lost", [&] {
                return "lib: task " + task + " was reported as completed, and it is not";
            });
            const auto [first, is_first] = done.emplace(task, epoch);
            findings_.expect(is_first || first->second == epoch, "duplicate", [&] {
                return "lib: task " + task + " was reported as completed with epoch " +
                       to_string(epoch) + " and with " + to_string(first->second);
            });
            for (const auto& effect : effects_[task]) {
                findings_.expect(effect.epoch <= epoch, "duplicate", [&] {
                    return "lib: task " + task + " ran with epoch " + to_string(effect.epoch) +
                           " after it was reported as completed with " + to_string(epoch);
                });
            }
        }
    }

    Conn& conn_;
    const std::vector<Call>& calls_;
    Window window_;
    Findings findings_;
    std::unordered_map<std::string, std::vector<Effect>> effects_;
    std::unordered_map<std::string, std::string> states_;
    std::unordered_map<std::string, std::vector<std::pair<std::string, std::string>>> executions_;
    std::unordered_map<std::string, int> children_;
    std::unordered_set<std::string> known_;  // tasks
};

}  // namespace

Findings check_library(Conn* conn, const std::vector<Call>& calls, const Window& window) {
    return LibraryCheck(conn, calls, window).run();
}

}  // namespace belay::test::soak
