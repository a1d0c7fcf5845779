#include "runner.hpp"

#include <cstdlib>
#include <sstream>

namespace belay::test::model {

namespace {

constexpr int kClients = 5;
constexpr std::size_t kHistory = 60;
// The test's clock stays far from the server's, before or behind it: then the two cannot be
// confused. Leases of the past are dead for the server's clock, those of the future are not.
constexpr int64_t kPast = 1'000'000'000'000;
constexpr int64_t kFuture = 4'000'000'000'000;

constexpr const char* kBlocked = "55P03";

std::string show(const std::vector<Text>& row) {
    std::string text;
    for (const auto& field : row) {
        text += (text.empty() ? "" : " | ") + (field == kAnything ? "(any)"
                                               : field            ? *field
                                                                  : "NULL");
    }
    return text;
}

std::string show(const Expected& rows) {
    std::string text;
    for (const auto& row : rows) {
        text += "    " + show(row) + "\n";
    }
    return text.empty() ? "    no rows\n" : text;
}

}  // namespace

Runner::Runner(Cluster* cluster, const Subject& subject, uint64_t seed)
    : subject_(subject),
      seed_(seed),
      random_(seed),
      observer_(cluster->connect()),
      now_(seed % 2 == 0 ? kPast : kFuture) {
    hub_.server_is_ahead = now_ == kPast;
    make_hubs();
    lease_elsewhere();
    for (int i = 0; i < kClients; ++i) {
        clients_.push_back({cluster->connect()});
        // A call that waits, waits for another client, who cannot continue: so it waits for ever.
        clients_.back().conn.exec("SET lock_timeout = '8ms'");
    }
}

void Runner::make_hubs() {
    observer_.exec(showing_functions());
    for (const char* hub : {"app", "other"}) {
        const std::string name = "'" + std::string(hub) + "'";
        observer_.exec("SELECT belay.drop_hub(name, true) FROM belay.hubs WHERE name = " + name);
        observer_.exec("SELECT belay.create_hub(" + name + ")");
        observer_.exec("SELECT belay.set_hub_option(" + name + ", 'max_clock_skew', '0')");
    }
    // Transactions that register the same queue or set of capabilities would wait for each other.
    observer_.exec(registering_tasks());
}

// Tokens of another hub, whose numbers are those of the first leases here.
void Runner::lease_elsewhere() {
    observer_.exec(
        "SELECT other.enqueue_worker_work('{\"ActivityExecute\":{}}', p_now_ms => 1), "
        "other.start_orchestration('o', '', 'i0', p_now_ms => 1)");
    memory_.tokens.push_back(
        observer_.value("SELECT lock_token FROM other.fetch_work_item(1000, p_now_ms => 1)"));
    memory_.turn_tokens.push_back(observer_.value(
        "SELECT lock_token FROM other.fetch_orchestration_item(1000, p_now_ms => 1)"));
}

void Runner::note(int client, const std::string& text) {
    history_.push_back("client " + std::to_string(client) + ": " + text);
    if (history_.size() > kHistory) {
        history_.pop_front();
    }
}

void Runner::fail(const std::string& what) {
    std::ostringstream text;
    text << what << "\nThe last calls:\n";
    for (const auto& line : history_) {
        text << "  " << line << "\n";
    }
    text << "Rows that open transactions hold:\n";
    const auto list = [&text](const char* name, const auto& table) {
        int listed = 0;
        for (const auto& [key, cell] : table.cells) {
            if (cell.holder != kNobody && ++listed <= 20) {
                text << "  " << name << " " << key << ": client " << cell.holder
                     << (cell.pending     ? ""
                         : cell.committed ? ", deleted"
                                          : ", absent")
                     << (cell.pending && !cell.committed ? ", new" : "") << "\n";
            }
        }
    };
    list("worker_queue", hub_.items);
    list("sessions", hub_.sessions);
    list("dead_letters", hub_.dead_letters);
    list("orchestrator_queue", hub_.messages);
    list("instance_locks", hub_.locks);
    list("instances", hub_.instances);
    list("deletions", hub_.removal);
    list("tasks", hub_.tasks.rows);
    text << "incarnation " << hub_.incarnation << ", slot_count " << hub_.slot_count
         << ", max_attempts "
         << (hub_.max_attempts ? std::to_string(*hub_.max_attempts) : std::string("off"))
         << ", batch_messages " << hub_.batch_messages << ", instance_retention "
         << hub_.instance_retention.value_or(-1) << ", orphan_retention " << hub_.orphan_retention
         << (hub_.worker_paused ? ", worker queue paused" : "")
         << (hub_.orchestrator_paused ? ", orchestrator queue paused" : "") << "\n"
         << "Run again with BELAY_SEED=" << seed_ << "\n";
    throw Mismatch(text.str());
}

void Runner::command(int client, const std::string& sql) {
    note(client, sql);
    const Answer answer = ask(clients_[static_cast<std::size_t>(client)].conn, sql);
    if (!answer.sqlstate.empty()) {
        fail(sql + ": " + answer.sqlstate + " " + answer.message);
    }
}

void Runner::end_transaction(int client, bool commit) {
    auto& state = clients_[static_cast<std::size_t>(client)];
    command(client, commit ? "COMMIT" : "ROLLBACK");
    hub_.end(client, commit);
    state.in_transaction = state.failed = false;
}

// Little by little, by leaps, and to the very instants at which something begins or ends.
void Runner::advance_clock() {
    std::vector<int64_t> instants;
    if (random_.percent(15)) {
        const auto add = [&](int64_t instant) {
            if (instant > now_ && instant <= now_ + 3000) {
                instants.push_back(instant);
            }
        };
        for (const Item* item : hub_.items.seen_by(kNobody)) {
            add(item->locked_until);
            add(item->due);
        }
        for (const Session* session : hub_.sessions.seen_by(kNobody)) {
            add(session->locked_until);
        }
        for (const Message* message : hub_.messages.seen_by(kNobody)) {
            add(message->visible_at);
        }
        for (const TurnLock* lock : hub_.locks.seen_by(kNobody)) {
            add(lock->locked_until);
        }
        for (const Task* task : hub_.tasks.rows.seen_by(kNobody)) {
            for (const auto& instant : {task->lease_until, task->lease_check, task->available,
                                        task->deadline, task->attempt_deadline}) {
                add(instant.value_or(0));
            }
        }
    }
    if (!instants.empty()) {
        now_ = random_.pick(instants) - (random_.percent(25) ? 1 : 0);
    } else {
        now_ += random_.percent(95) ? random_.number(0, 25) : random_.number(200, 2500);
    }
}

void Runner::step() {
    const auto client = static_cast<int>(random_.number(0, kClients - 1));
    auto& state = clients_[static_cast<std::size_t>(client)];
    advance_clock();
    if (state.failed) {
        end_transaction(client, false);
    } else if (state.in_transaction && random_.percent(22)) {
        end_transaction(client, random_.percent(70));
    } else {
        if (!state.in_transaction && random_.percent(22)) {
            command(client, "BEGIN");
            state.in_transaction = true;
        }
        call(client);
    }
}

const Operation* Runner::choose(int client) {
    const bool in_transaction = clients_[static_cast<std::size_t>(client)].in_transaction;
    bool alone = !in_transaction;
    for (const auto& other : clients_) {
        alone = alone && !other.in_transaction;
    }
    const auto possible = [&](const Operation& operation) {
        return operation.when == Operation::When::kAlways ||
               (operation.when == Operation::When::kAlone ? alone : !in_transaction);
    };
    int64_t sum = 0;
    for (const auto& operation : subject_.operations) {
        sum += possible(operation) ? operation.weight : 0;
    }
    int64_t at = random_.number(1, sum);
    for (const auto& operation : subject_.operations) {
        at -= possible(operation) ? operation.weight : 0;
        if (at <= 0) {
            return &operation;
        }
    }
    return nullptr;
}

// One call. In a transaction it may stand between a savepoint and a rollback to it.
void Runner::call(int client) {
    auto& state = clients_[static_cast<std::size_t>(client)];
    Scene scene{random_, hub_, client, now_, memory_};
    if (random_.percent(5)) {
        scene.now -= random_.number(0, 300);  // a clock that is late
    }
    const Operation* operation = nullptr;
    std::optional<Call> made;
    Hub after;
    Expected expected;
    std::optional<Refused> refused;
    Outcome outcome = Outcome::kDone;
    // Few calls are such that wait or fail: they take long, or end transactions too early. But
    // those of a rare case are welcome.
    do {
        operation = choose(client);
        made = operation->make(&scene);
        if (!made) {
            continue;
        }
        after = hub_;
        outcome = Outcome::kDone;
        try {
            expected = made->apply(&after);
        } catch (const Refused& error) {
            refused = error;
            outcome = Outcome::kRefused;
        } catch (const Blocked&) {
            outcome = Outcome::kBlocked;
        }
    } while (!made || (outcome == Outcome::kBlocked && after.met == hub_.met &&
                       after.tasks.met == hub_.tasks.met && random_.percent(85)));

    const bool savepoint = state.in_transaction && random_.percent(40);
    if (savepoint) {
        command(client, "SAVEPOINT s");
    }
    note(client, made->sql);
    const Answer answer = ask(state.conn, made->sql);
    history_.back() += answer.sqlstate.empty() ? " -- rows: " + std::to_string(answer.rows.size())
                                               : " -- " + answer.sqlstate + " " + answer.detail;
    ++calls_[operation->name];

    if (outcome == Outcome::kDone) {
        if (!answer.sqlstate.empty()) {
            fail(made->sql + ":\n  expected rows, got " + answer.sqlstate + " " + answer.message +
                 " " + answer.detail);
        }
        compare_rows(expected, answer);
        const std::string complaint = made->learn ? made->learn(&after, answer) : "";
        if (!complaint.empty()) {
            fail(complaint);
        }
        if (savepoint && random_.percent(30)) {
            command(client, "ROLLBACK TO s; RELEASE s");
            hub_.last = after.last;
        } else {
            if (savepoint) {
                command(client, "RELEASE s");
            }
            hub_ = std::move(after);
        }
        if (!state.in_transaction) {
            hub_.end(client, true);
        }
        return;
    }
    hub_.last = after.last;
    hub_.met = after.met;
    hub_.tasks.met = after.tasks.met;
    if (outcome == Outcome::kBlocked) {
        ++blocked_;
        if (answer.sqlstate != kBlocked) {
            fail(made->sql + ":\n  expected to wait, got " +
                 (answer.sqlstate.empty() ? "rows\n" + show(answer.rows)
                                          : answer.sqlstate + " " + answer.message));
        }
    } else {
        ++refused_[refused->sqlstate + " " + refused->code_detail];
        compare_error(answer, *refused);
    }
    if (savepoint) {
        command(client, "ROLLBACK TO s; RELEASE s");
    } else if (state.in_transaction) {
        // The server lets go of everything at once.
        hub_.end(client, false);
        state.failed = true;
    }
}

void Runner::compare_rows(const Expected& expected, const Answer& answer) {
    bool same = expected.size() == answer.rows.size();
    for (std::size_t row = 0; same && row < expected.size(); ++row) {
        same = expected[row].size() == answer.rows[row].size();
        for (std::size_t i = 0; same && i < expected[row].size(); ++i) {
            same = expected[row][i] == kAnything || expected[row][i] == answer.rows[row][i];
        }
    }
    if (!same) {
        fail(history_.back() + ":\n  expected\n" + show(expected) + "  got\n" + show(answer.rows));
    }
}

void Runner::compare_error(const Answer& answer, const Refused& refused) {
    const bool same =
        answer.sqlstate == refused.sqlstate && answer.message.starts_with(refused.message) &&
        answer.detail.starts_with("{\"code_detail\":\"" + refused.code_detail + "\"") &&
        answer.detail.find(refused.facts) != std::string::npos && !answer.hint.empty();
    if (!same) {
        fail(history_.back() + ":\n  expected " + refused.sqlstate + " " + refused.message + " " +
             refused.code_detail + " " + refused.facts + "\n  got " + answer.sqlstate + " " +
             answer.message + " " + answer.detail + "\n" + show(answer.rows));
    }
}

void Runner::compare_all() {
    const auto compare = [this](const Picture& picture, int client, const Expected& expected,
                                const Expected& found) {
        if (expected == found) {
            return;
        }
        std::string text = std::string(picture.name) + " as " +
                           (client == kNobody ? "committed" : "client " + std::to_string(client)) +
                           " differ:\n";
        for (std::size_t i = 0; i < std::max(expected.size(), found.size()); ++i) {
            const bool both = i < expected.size() && i < found.size();
            if (!both || expected[i] != found[i]) {
                text += "  expected " + (i < expected.size() ? show(expected[i]) : "no row") +
                        "\n  got      " + (i < found.size() ? show(found[i]) : "no row") + "\n";
            }
        }
        fail(text);
    };
    for (const auto& picture : subject_.pictures) {
        compare(picture, kNobody, picture.expected(hub_, kNobody),
                ask(observer_, picture.sql).rows);
        for (int client = 0; client < kClients; ++client) {
            auto& state = clients_[static_cast<std::size_t>(client)];
            if (state.in_transaction && !state.failed) {
                compare(picture, client, picture.expected(hub_, client),
                        ask(state.conn, picture.sql).rows);
            }
        }
    }
}

void Runner::finish() {
    for (int client = 0; client < kClients; ++client) {
        const auto& state = clients_[static_cast<std::size_t>(client)];
        if (state.in_transaction) {
            end_transaction(client, !state.failed);
        }
    }
    compare_all();
    const Answer faults = ask(observer_, "SELECT * FROM index_faults('app')");
    if (!faults.sqlstate.empty() || !faults.rows.empty()) {
        fail("partial indexes: " + faults.message + "\n" + show(faults.rows));
    }
}

}  // namespace belay::test::model
