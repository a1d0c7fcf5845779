#include "task_runner.hpp"

#include <sstream>

#include "runner.hpp"

namespace belay::test::model {

namespace {

constexpr int kClients = 4;
constexpr std::size_t kHistory = 60;
// Far from the server's clock, as in the other runs.
constexpr int64_t kPast = 1'000'000'000'000;
constexpr int64_t kFuture = 4'000'000'000'000;

void make_hub(Conn* observer, bool slots) {
    observer->exec("DROP VIEW IF EXISTS shown_tables");
    observer->exec("SELECT belay.drop_hub(name, true) FROM belay.hubs WHERE name = 'app'");
    observer->exec(
        "SELECT belay.create_hub('app'); "
        "SELECT belay.set_hub_option('app', 'max_clock_skew', '0'), "
        "belay.set_hub_option('app', 'task_retention', '4000')");
    if (slots) {
        observer->exec("SELECT belay.set_hub_option('app', 'slot_count', '3')");
    }
    make_table_view(observer);
    prepare_tables(observer);
}

// The code_detail of an error.
std::string reason_of(const Answer& answer) {
    constexpr std::string_view kName = "\"code_detail\"";
    const auto at = answer.detail.find(kName);
    if (at == std::string::npos) {
        return "";
    }
    const auto from = answer.detail.find('"', at + kName.size()) + 1;
    return answer.detail.substr(from, answer.detail.find('"', from) - from);
}

}  // namespace

TaskRunner::TaskRunner(Cluster* cluster, uint64_t seed, Twin* twin)
    : seed_(seed),
      random_(seed),
      observer_(cluster->connect()),
      twin_(twin),
      slots_(seed / 2 % 3 == 0),
      now_(seed % 2 == 0 ? kPast : kFuture) {
    const std::string patience = "SET lock_timeout = '8ms'; ";
    for (Conn* observer : {&observer_, &twin_->observer()}) {
        make_hub(observer, slots_);
    }
    for (int i = 0; i < kClients; ++i) {
        clients_.push_back({cluster->connect()});
        clients_.back().conn.exec(patience + kFirstPath);
        prepare_tables(&clients_.back().conn);
    }
    twin_->connect(kClients, patience + kTwinsPath);
    if (random_.percent(60)) {
        leave_dead_entries();
    }
    if (random_.percent(75)) {
        command(0, "SELECT belay.set_hub_option('app', 'events', 'lease,operator,completion')");
    }
}

// Runs of tasks that were there once, ready and delayed: claims learn to jump over them, and must
// still see what comes to lie between.
void TaskRunner::leave_dead_entries() {
    const std::string now = std::to_string(now_);
    command(0,
            "SELECT count(*) FROM generate_series(0, 14) AS k, LATERAL app.create_tasks(("
            "SELECT jsonb_agg(jsonb_build_object('lane', 'a', 'priority', n % 3, 'delay_ms', "
            "CASE WHEN n > 45 THEN n * 10 ELSE 0 END, 'task_id', '00000000-0000-4000-9000-' || "
            "lpad((k * 100 + n)::text, 12, '0'))) FROM generate_series(1, 55) AS n), " +
                now + " + k * 100)");
    command(0, "SELECT count(*) FROM app.tasks AS t, app.cancel_task(t.id, p_now_ms => " + now +
                   ") AS c");
    command(0, "SELECT count(*) FROM app.tasks AS t WHERE app.delete_task(t.id)");
}

void TaskRunner::fail(const std::string& what) {
    std::ostringstream text;
    text << what << "\nThe last calls:\n";
    for (const auto& line : history_) {
        text << "  " << line << "\n";
    }
    text << "Run again with BELAY_SEED=" << seed_ << "\n";
    throw Mismatch(text.str());
}

// Asks both hubs and compares the answers.
void TaskRunner::both(int client, const std::string& sql, Answer* answer) {
    history_.push_back("client " + std::to_string(client) + ": " + sql);
    if (history_.size() > kHistory) {
        history_.pop_front();
    }
    *answer = ask(clients_[static_cast<std::size_t>(client)].conn, sql);
    history_.back() += answer->sqlstate.empty() ? " -- rows: " + std::to_string(answer->rows.size())
                                                : " -- " + answer->sqlstate + " " + answer->detail;
    const std::string its = twin_->translated(sql);
    const std::string difference = twin_->difference(*answer, ask(twin_->client(client), its));
    if (!difference.empty()) {
        fail("the access paths differ: " + sql + "\n" + difference);
    }
}

void TaskRunner::command(int client, const std::string& sql) {
    Answer answer;
    both(client, sql, &answer);
    if (!answer.sqlstate.empty()) {
        fail(sql + ": " + answer.sqlstate + " " + answer.message);
    }
}

void TaskRunner::end_transaction(int client, bool commit) {
    auto& state = clients_[static_cast<std::size_t>(client)];
    command(client, commit ? "COMMIT" : "ROLLBACK");
    state.in_transaction = state.failed = false;
}

void TaskRunner::compare_tables(int client) {
    auto& state = clients_[static_cast<std::size_t>(client)];
    std::string difference = difference_of_tables(&observer_, *twin_, &twin_->observer());
    if (difference.empty() && state.in_transaction && !state.failed) {
        difference = difference_of_tables(&state.conn, *twin_, &twin_->client(client));
    }
    if (!difference.empty()) {
        fail("the access paths leave different tables: " + history_.back() + "\n" + difference);
    }
}

std::vector<SeenTask> TaskRunner::look(int client) {
    const Answer answer =
        ask(clients_[static_cast<std::size_t>(client)].conn,
            "SELECT id, state, lease_epoch, attempt_index, lease_until_ms, attempt_deadline_ms, "
            "available_at_ms, deadline_ms FROM app.tasks ORDER BY id");
    std::vector<SeenTask> seen;
    for (const auto& row : answer.rows) {
        auto& task = seen.emplace_back(SeenTask{*row.at(0),
                                                *row.at(1),
                                                std::stoll(*row.at(2)),
                                                std::stoll(*row.at(3)),
                                                std::stoll(row.at(4).value_or("0")),
                                                {}});
        for (std::size_t i = 4; i < row.size(); ++i) {
            if (row[i]) {
                task.instants.push_back(std::stoll(*row[i]));
            }
        }
    }
    return seen;
}

// Little by little, by leaps, and to the very instants at which something begins or ends; never
// twice the same: it makes the ids of the server sort alike in both hubs.
void TaskRunner::advance_clock(const std::vector<SeenTask>& seen) {
    std::vector<int64_t> instants;
    if (random_.percent(12)) {
        for (const auto& task : seen) {
            for (const int64_t instant : task.instants) {
                if (instant > now_ + 1 && instant <= now_ + 1000) {
                    instants.push_back(instant);
                }
            }
        }
    }
    if (!instants.empty()) {
        now_ = random_.pick(instants) - (random_.percent(25) ? 1 : 0);
    } else {
        now_ += random_.percent(97) ? random_.number(1, 20) : random_.number(200, 2500);
    }
}

void TaskRunner::step() {
    const auto client = static_cast<int>(random_.number(0, kClients - 1));
    auto& state = clients_[static_cast<std::size_t>(client)];
    if (state.failed) {
        end_transaction(client, false);
    } else if (state.in_transaction && random_.percent(25)) {
        end_transaction(client, random_.percent(65));
    } else {
        if (!state.in_transaction && random_.percent(22)) {
            command(client, "BEGIN");
            state.in_transaction = true;
        }
        call(client);
    }
    compare_tables(client);
}

// One call. In a transaction it may stand between a savepoint and a rollback to it.
void TaskRunner::call(int client) {
    auto& state = clients_[static_cast<std::size_t>(client)];
    const auto seen = look(client);
    advance_clock(seen);
    TaskScene scene{random_, now_, now_, slots_, seen, serial_};
    if (random_.percent(5)) {
        scene.now -= random_.number(0, 300);  // a clock that is late
    }
    int64_t sum = 0;
    for (const auto& operation : task_operations()) {
        sum += operation.weight;
    }
    int64_t at = random_.number(1, sum);
    const TaskOperation* chosen = nullptr;
    for (const auto& operation : task_operations()) {
        at -= operation.weight;
        if (at <= 0) {
            chosen = &operation;
            break;
        }
    }
    const std::string sql = chosen->make(&scene);
    const bool savepoint = state.in_transaction && random_.percent(50);
    if (savepoint) {
        command(client, "SAVEPOINT s");
    }
    Answer answer;
    both(client, sql, &answer);
    ++calls_[chosen->name];
    const bool done = answer.sqlstate.empty();
    if (done) {
        served_[chosen->name] += answer.rows.empty() ? 0 : 1;
    } else {
        ++refused_[answer.sqlstate + " " + reason_of(answer)];
    }
    if (savepoint) {
        command(client, done && random_.percent(70) ? "RELEASE s" : "ROLLBACK TO s; RELEASE s");
    } else if (state.in_transaction) {
        state.failed = !done;
    }
}

void TaskRunner::finish() {
    for (int client = 0; client < kClients; ++client) {
        const auto& state = clients_[static_cast<std::size_t>(client)];
        if (state.in_transaction) {
            end_transaction(client, !state.failed);
        }
        compare_tables(client);
    }
    Answer answer;
    both(0, "SELECT * FROM app.check_tasks()", &answer);
    if (!answer.sqlstate.empty() || !answer.rows.empty()) {
        fail("check_tasks finds something: " +
             (answer.rows.empty()
                  ? answer.message
                  : answer.rows[0][0].value_or("") + ": " + answer.rows[0][1].value_or("")));
    }
}

}  // namespace belay::test::model
