#include "campaign.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <thread>

#include "serve.hpp"

namespace belay::test::soak {

using std::to_string;

namespace {

constexpr double kPatience = 60;  // seconds without any progress, then work is stuck

constexpr int kBigFaults = 3;
constexpr int kMostQueued = 1500;

constexpr Role kCrew[] = {
    Role::kJobs,    Role::kJobs,   Role::kJobs,      Role::kRuntime, Role::kRuntime,
    Role::kRuntime, Role::kTasks,  Role::kTasks,     Role::kTasks,   Role::kEvents,
    Role::kEvents,  Role::kSender, Role::kStarter,   Role::kDurable, Role::kDurable,
    Role::kWorker,  Role::kWorker, Role::kDashboard, Role::kViewer,
};

std::vector<std::string> settings() {
    return {
        "max_connections = 150",      "max_worker_processes = 24",
        "autovacuum_naptime = '5s'",  "deadlock_timeout = '200ms'",
        "restart_after_crash = on",   "max_wal_senders = 8",
        "wal_keep_size = '256MB'",    "belay.reconcile_interval = '200ms'",
        "belay.intent_age = '500ms'", "belay.dense_epochs = off",
        stress::kLogPrefix,
    };
}

constexpr const char* kPoints[] = {
    "store.memory",      "store.memory",       "store.disk",          "store.disk",
    "store.call",        "ack.before_commit",  "outbox.deliver",      "boundary.memory",
    "boundary.error",    "duty.lease_expiry",  "duty.due_timers",     "duty.dispatch_sweep",
    "duty.intent_relay", "duty.cursor_repair", "duty.sibling_cancel", "hot_table.ack",
    "hot_table.enqueue", "hot_table.fetch",    "hot_table.task",      "hot_table.turn",
    "hot_table.renew",
};

// Whether these are programs that obey a SIGTERM.
bool is_program(Role role) {
    return role == Role::kDurable || role == Role::kWorker || role == Role::kDashboard;
}

// The SQLSTATE of a refusal; what cancels a statement has the same one for all reasons.
std::string meaning_of(const std::vector<std::string>& answer) {
    const std::string sqlstate = answer.empty() ? "" : answer[0];
    return sqlstate == "57014" && answer.size() > 1 ? sqlstate + " " + answer[1] : sqlstate;
}

}  // namespace

std::string Report::text() const {
    std::ostringstream out;
    out << "calls: " << calls << " sent, " << done << " acknowledged, " << refused << " refused, "
        << unknown << " of unknown outcome\n";
    for (const auto& [kind, count] : kinds) {
        out << "    " << kind << ": " << count << "\n";
    }
    out << "refusals: " << refused << "\n";
    for (const auto& [refusal, count] : refusals) {
        out << "    " << refusal << ": " << count << "\n";
    }
    int all = 0;
    for (const auto& [fault, count] : faults) {
        all += count;
    }
    out << "faults: " << all << "\n";
    for (const auto& [fault, count] : faults) {
        out << "    " << fault << ": " << count << "\n";
    }
    out << "checks: " << findings.checks << "\n";
    out << "violations: " << findings.violations.size() << "\n";
    std::map<std::string, int> shown;
    for (const auto& violation : findings.violations) {
        if (++shown[violation.kind] <= 10) {
            out << "    " << violation.kind << ": " << violation.text << "\n";
        }
    }
    for (const auto& [kind, count] : shown) {
        if (count > 10) {
            out << "    " << kind << ": " << count - 10 << " more\n";
        }
    }
    return out.str();
}

Campaign::Campaign(const Plan& plan) : plan_(plan), random_(plan.seed), crew_{Shared::make(), ""} {
    primary_ = std::make_unique<Cluster>(
        Cluster::Options{.preload = true, .mutants = !plan.planted.empty(), .conf = settings()});
    const char* run_dir = std::getenv("BELAY_RUN_DIR");
    std::string pattern = std::string(run_dir != nullptr ? run_dir : ".") + "/soak-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) {
        throw std::runtime_error("cannot make directory " + pattern);
    }
    directory_ = pattern;
    crew_.journals = directory_ + "/journals";
    std::filesystem::create_directory(crew_.journals);
    Conn conn = primary_->connect();
    make_hubs(&conn);
    crew_.shared->most_lease_ms = plan_.most_lease_ms;
    crew_.shared->portions_to_cut = plan_.portions_to_cut;
    crew_.shared->set_address(primary_->conninfo());
}

Campaign::~Campaign() {
    for (const auto& process : crew_.processes) {
        kill(process.pid, SIGKILL);
        waitpid(process.pid, nullptr, 0);
    }
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
}

// ---------------------------------------------------------------- clients

void Campaign::start_client(Crew* crew, Role role) {
    const int number = ++clients_;
    std::cout.flush();
    const pid_t parent = getpid();
    // A SIGTERM that comes before the child is ready for it waits.
    sigset_t term;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    sigprocmask(SIG_BLOCK, &term, nullptr);
    const pid_t child = fork();
    if (child != 0) {
        sigprocmask(SIG_UNBLOCK, &term, nullptr);
    }
    if (child < 0) {
        throw std::runtime_error("cannot fork");
    }
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (is_program(role)) {
            obey_sigterm();
        }
        sigprocmask(SIG_UNBLOCK, &term, nullptr);
        int code = 0;
        try {
            if (getppid() == parent) {
                play(crew->shared,
                     {role, number, plan_.seed * 1000 + static_cast<uint64_t>(number)},
                     crew->journals + "/" + to_string(number));
            }
        } catch (const std::exception& problem) {
            std::cerr << "client " << number << ": " << problem.what() << std::endl;
            code = 1;
        }
        _exit(code);
    }
    crew->processes.push_back({child, role});
}

void Campaign::start_crew(Crew* crew) {
    for (const Role role : kCrew) {
        const bool looks = role == Role::kDashboard || role == Role::kViewer;
        if (crew == &crew_ || !looks) {
            start_client(crew, role);
        }
    }
}

void Campaign::look_after(Crew* crew) {
    for (auto& process : crew->processes) {
        if (process.thaws_us != 0 && steady_us() >= process.thaws_us) {
            kill(process.pid, SIGCONT);
            process.thaws_us = 0;
        }
        int status = 0;
        if (waitpid(process.pid, &status, WNOHANG) == process.pid) {
            report_.findings.violate("client", "a client ended by itself");
            process.pid = 0;
        }
    }
    std::erase_if(crew->processes, [](const Process& process) { return process.pid == 0; });
}

int Campaign::await_end(pid_t pid) {
    int status = 0;
    for (const stress::Stopwatch watch; waitpid(pid, &status, WNOHANG) == 0; rest(5)) {
        if (watch.seconds() > kPatience) {
            report_.findings.violate("client", "a client did not end when it was asked to");
            kill(pid, SIGKILL);
            waitpid(pid, &status, 0);
            return status;
        }
    }
    return status;
}

void Campaign::stop_crew(Crew* crew) {
    crew->shared->phase = Phase::kStop;
    for (const auto& process : crew->processes) {
        kill(process.pid, SIGCONT);
        const int status = await_end(process.pid);
        report_.findings.expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "client",
                                [] { return "a client died"; });
    }
    crew->processes.clear();
}

void Campaign::disarm(const std::string& conninfo) {
    Conn conn(conninfo);
    conn.exec(
        "SELECT belay.inject_fault(point, 0) FROM belay.faults() WHERE count > 0; "
        "SELECT app.resume_hub(), jobs.resume_hub(), lib.resume_hub()");
}

bool Campaign::drain(Crew* crew, const std::string& conninfo) {
    disarm(conninfo);
    crew->shared->phase = Phase::kDrain;
    Conn conn(conninfo);
    const std::size_t clients = crew->processes.size();
    stress::Stopwatch since_change;
    std::string left;
    for (int quiet = 0; quiet < 3; rest(100)) {
        look_after(crew);
        const std::string now = conn.value(kWorkLeft);
        quiet = now == "0" ? quiet + 1 : 0;
        if (now != left) {
            left = now;
            since_change = stress::Stopwatch();
        }
        if (since_change.seconds() > kPatience || crew->processes.size() < clients) {
            return false;
        }
        if (crew != &crew_) {
            look_after(&crew_);
            watch_backlog();
        }
        progress();
    }
    return true;
}

// ---------------------------------------------------------------- faults

bool Campaign::try_exec(const std::string& sql) {
    try {
        primary_->connect().exec(sql);
        return true;
    } catch (const std::exception&) {
        ++report_.faults["a fault that failed"];
        return false;
    }
}

void Campaign::note_crash(int64_t from_us) {
    breaks_.push_back({from_us, steady_us(), false, true});
}

void Campaign::kill_backend() {
    const int64_t from = steady_us();
    try {
        Conn conn = primary_->connect();
        const std::string pid = conn.value(
            "SELECT pid FROM pg_stat_activity WHERE application_name IN ('soak', 'belay "
            "dashboard') ORDER BY random() "
            "LIMIT 1");
        kill(std::stoi(pid), SIGKILL);
    } catch (const std::exception&) {
        ++report_.faults["a fault that failed"];
    }
    rest(50);
    primary_->wait_ready();
    note_crash(from);
}

void Campaign::kill_worker(bool launcher) {
    const int64_t from = steady_us();
    const bool crashes = random_.in_thousand(400);
    ++report_.faults[std::string(launcher ? "launcher " : "background worker ") +
                     (crashes ? "killed" : "terminated")];
    try {
        Conn conn = primary_->connect();
        const std::string pid =
            conn.value(std::string("SELECT pid FROM pg_stat_activity WHERE backend_type ") +
                       (launcher ? "= 'belay launcher'" : "LIKE 'belay worker%'") + " LIMIT 1");
        if (crashes) {
            kill(std::stoi(pid), SIGKILL);
        } else {
            conn.exec("SELECT pg_terminate_backend(" + pid + ")");
        }
    } catch (const std::exception&) {
        ++report_.faults["a fault that failed"];
    }
    rest(50);
    primary_->wait_ready();
    if (crashes) {
        note_crash(from);
    }
}

void Campaign::kill_client() {
    if (crew_.processes.empty()) {
        return;
    }
    const auto at = static_cast<std::size_t>(
        random_.number(0, static_cast<int64_t>(crew_.processes.size()) - 1));
    const Process victim = crew_.processes[at];
    kill(victim.pid, SIGKILL);
    waitpid(victim.pid, nullptr, 0);
    crew_.processes.erase(crew_.processes.begin() + static_cast<std::ptrdiff_t>(at));
    start_client(&crew_, victim.role);
}

void Campaign::terminate_program() {
    std::vector<std::size_t> programs;
    for (std::size_t i = 0; i < crew_.processes.size(); ++i) {
        if (is_program(crew_.processes[i].role)) {
            programs.push_back(i);
        }
    }
    if (programs.empty()) {
        return;
    }
    const std::size_t at = programs[static_cast<std::size_t>(
        random_.number(0, static_cast<int64_t>(programs.size()) - 1))];
    const Process process = crew_.processes[at];
    crew_.processes.erase(crew_.processes.begin() + static_cast<std::ptrdiff_t>(at));
    kill(process.pid, SIGCONT);
    kill(process.pid, SIGTERM);
    const int status = await_end(process.pid);
    report_.findings.expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "client", [&] {
        return "a program of role " + to_string(static_cast<int>(process.role)) +
               " that was asked to end died of signal " + to_string(WTERMSIG(status)) + ", code " +
               to_string(WEXITSTATUS(status));
    });
    start_client(&crew_, process.role);
}

void Campaign::freeze_client() {
    auto& process = crew_.processes[static_cast<std::size_t>(
        random_.number(0, static_cast<int64_t>(crew_.processes.size()) - 1))];
    kill(process.pid, SIGSTOP);
    process.thaws_us = steady_us() + random_.number(500, 4000) * 1000;
}

void Campaign::signal_backend(const char* function) {
    (void)try_exec(std::string("SELECT ") + function +
                   "(pid) FROM pg_stat_activity WHERE application_name IN ('soak', 'belay "
                   "dashboard') AND state = 'active' "
                   "ORDER BY random() LIMIT 2");
}

void Campaign::restart_server(const char* how) {
    const int64_t from = steady_us();
    if (std::string_view(how) == "kill") {
        primary_->kill9();
    } else {
        primary_->stop(how);
    }
    primary_->start();
    if (std::string_view(how) != "fast") {
        note_crash(from);
    }
}

void Campaign::inject() {
    const std::string point = kPoints[random_.number(0, std::size(kPoints) - 1)];
    ++report_.faults["injected: " + point];
    (void)try_exec("SELECT belay.inject_fault('" + point + "', " +
                   to_string(random_.number(1, 12)) + ", " + to_string(random_.number(0, 100)) +
                   ")");
}

void Campaign::hold_locks() {
    static constexpr const char* kLocks[] = {
        "LOCK TABLE jobs.worker_queue IN SHARE ROW EXCLUSIVE MODE",
        "LOCK TABLE app.tasks IN SHARE MODE",
        "LOCK TABLE app.orchestrator_queue IN SHARE ROW EXCLUSIVE MODE",
        "SELECT 1 FROM app.tasks WHERE state = 'active' LIMIT 5 FOR UPDATE SKIP LOCKED",
        "SELECT 1 FROM jobs.worker_queue LIMIT 5 FOR UPDATE SKIP LOCKED",
        "SELECT 1 FROM app.outbox_subscriptions FOR UPDATE",
        "LOCK TABLE lib.tasks IN SHARE MODE",
        "LOCK TABLE lib.worker_queue IN SHARE ROW EXCLUSIVE MODE",
        "LOCK TABLE lib.orchestrator_queue IN SHARE ROW EXCLUSIVE MODE",
    };
    (void)try_exec(std::string("SET lock_timeout = '2s'; BEGIN; ") +
                   kLocks[random_.number(0, std::size(kLocks) - 1)] + "; SELECT pg_sleep(" +
                   to_string(random_.number(1, 8)) + " / 10.0); COMMIT");
}

void Campaign::rest_a_queue() {
    static constexpr const char* kQueues[] = {"'worker'", "'orchestrator'", "'tasks'", "'intents'",
                                              "NULL"};
    static constexpr const char* kHubs[] = {"app", "jobs", "lib"};
    const std::string hub = kHubs[random_.number(0, std::size(kHubs) - 1)];
    const std::string queue = kQueues[random_.number(0, std::size(kQueues) - 1)];
    (void)try_exec("SELECT " + hub + ".pause_hub(" + queue + ", 'soak')");
    rest(random_.number(50, 500));
    (void)try_exec("SELECT " + hub + ".resume_hub(NULL)");
}

void Campaign::begin_incarnation() {
    const int64_t from = steady_us();
    const bool done = try_exec("SELECT belay.new_incarnation()");
    breaks_.push_back({from, steady_us(), done});
}

void Campaign::maintain() {
    static constexpr const char* kTables[] = {
        "jobs.worker_queue",
        "app.worker_queue",
        "app.orchestrator_queue",
        "app.tasks",
        "app.outbox_events",
        "app.intent_queue",
        "app.instance_locks",
        "app.history_turns",
        "app.edges",
        "app.outbox_subscriptions",
        "lib.orchestrator_queue",
        "lib.tasks",
        "lib.worker_queue",
    };
    const std::string table = kTables[random_.number(0, std::size(kTables) - 1)];
    const std::string limit = "SET lock_timeout = '5s'";
    try {
        Conn conn = primary_->connect();
        conn.exec(limit);
        conn.exec((random_.in_thousand(500)   ? "REINDEX TABLE CONCURRENTLY "
                   : random_.in_thousand(500) ? "VACUUM (ANALYZE) "
                                              : "VACUUM (FREEZE) ") +
                  table);
    } catch (const std::exception&) {
        ++report_.faults["a fault that failed"];
    }
}

// ---------------------------------------------------------------- other servers

void Campaign::promote_standby() {
    // Commits are acknowledged when the standby has them: then none is lost by its promotion.
    std::unique_ptr<Cluster> standby = primary_->make_standby();
    {
        Conn conn = primary_->connect();
        conn.exec("ALTER SYSTEM SET synchronous_standby_names = '*'");
        conn.exec("SELECT pg_reload_conf()");
        for (const stress::Stopwatch watch; conn.value("SELECT count(*) FROM pg_stat_replication "
                                                       "WHERE sync_state = 'sync'") == "0";) {
            if (watch.seconds() > 60) {
                throw std::runtime_error("the standby does not stream");
            }
            rest(20);
        }
        // This commit waits for the standby, and so for all before it.
        conn.exec("CREATE TABLE IF NOT EXISTS barrier (); DROP TABLE barrier");
    }
    for (const auto until = steady_us() + random_.number(500, 2500) * 1000; steady_us() < until;) {
        look_after(&crew_);
        rest(20);
    }
    const int64_t from = steady_us();
    primary_->kill9();
    standby->promote();
    breaks_.push_back({from, steady_us()});
    judge_log(*primary_);
    primary_ = std::move(standby);
    crew_.shared->set_address(primary_->conninfo());
}

void Campaign::check_copy(const std::string& what, const std::string& conninfo,
                          const Window& window) {
    Crew crew{Shared::make(), directory_ + "/copy" + to_string(++copies_)};
    crew.shared->phase = Phase::kDrain;
    std::filesystem::create_directory(crew.journals);
    crew.shared->set_address(conninfo);
    start_crew(&crew);
    const bool drained = drain(&crew, conninfo);
    stop_crew(&crew);
    Conn conn(conninfo);
    Findings findings = check_hubs(&conn);
    findings.expect(drained, "stuck", [] { return "work was left"; });
    findings.add(check_database(&conn, read_journals(crew_.journals), window));
    findings.add(check_calls(read_journals(crew.journals), {}));
    for (auto& violation : findings.violations) {
        violation.text = what + ": " + violation.text;
    }
    report_.findings.add(findings);
    std::filesystem::remove_all(crew.journals);
}

void Campaign::check_dump() {
    const std::string file = directory_ + "/dump";
    Window window;
    window.from_us = steady_us();
    primary_->run({"pg_dump", "-Fc", "-f", file, "postgres"});
    window.to_us = steady_us();
    primary_->connect().exec("CREATE DATABASE restored TEMPLATE template0");
    primary_->run({"pg_restore", "-d", "restored", "--exit-on-error", file});
    check_copy("restored dump", primary_->conninfo("restored"), window);
    primary_->connect().exec("DROP DATABASE restored WITH (FORCE)");
    std::filesystem::remove(file);
}

void Campaign::check_base_backup() {
    Window window;
    window.from_us = steady_us();
    std::unique_ptr<Cluster> copy = primary_->make_copy();
    window.to_us = steady_us();
    // Nothing tells a copy of the files from its model.
    copy->connect().exec("SELECT belay.new_incarnation()");
    check_copy("base backup", copy->conninfo(), window);
    judge_log(*copy);
}

void Campaign::judge_log(const Cluster& server) {
    report_.findings.add(check_log(server.log()));
}

void Campaign::do_something_big() {
    switch (big_++ % kBigFaults) {
        case 0:
            ++report_.faults["dump and restore"];
            check_dump();
            break;
        case 1:
            ++report_.faults["promotion of a standby"];
            promote_standby();
            break;
        default:
            ++report_.faults["base backup"];
            check_base_backup();
    }
}

// One fault of any kind.
void Campaign::make_mischief() {
    if (plan_.kills_servers && steady_us() > next_big_us_) {
        do_something_big();
        next_big_us_ = steady_us() + static_cast<int64_t>(std::max(8.0, plan_.seconds / 10) * 1e6);
        return;
    }
    const auto chance = random_.number(1, 100);
    const auto count = [&](const char* name) { ++report_.faults[name]; };
    if (chance <= 14) {
        inject();
    } else if (chance <= 24) {
        count("client killed");
        kill_client();
    } else if (chance <= 28) {
        count("program terminated");
        terminate_program();
    } else if (chance <= 36) {
        count("client frozen");
        freeze_client();
    } else if (chance <= 48) {
        count("backend terminated");
        signal_backend("pg_terminate_backend");
    } else if (chance <= 60) {
        count("statement cancelled");
        signal_backend("pg_cancel_backend");
    } else if (chance <= 66) {
        count("locks held");
        hold_locks();
    } else if (chance <= 71) {
        count("queue paused");
        rest_a_queue();
    } else if (chance <= 78) {
        count("vacuum or reindex");
        maintain();
    } else if (chance <= 80) {
        count("new incarnation");
        begin_incarnation();
    } else if (!plan_.kills_servers) {
        return;
    } else if (chance <= 87) {
        count("backend killed");
        kill_backend();
    } else if (chance <= 92) {
        kill_worker(false);
    } else if (chance <= 94) {
        kill_worker(true);
    } else if (chance <= 96) {
        count("server stopped at once");
        restart_server("immediate");
    } else if (chance <= 98) {
        count("postmaster killed");
        restart_server("kill");
    } else {
        count("server restarted");
        restart_server("fast");
    }
}

void Campaign::watch_backlog() {
    if (steady_us() < next_watch_us_) {
        return;
    }
    next_watch_us_ = steady_us() + 500'000;
    try {
        Conn conn = primary_->connect();
        crew_.shared->crowded = std::stoi(conn.value(kWorkLeft)) > kMostQueued;
        watch_dashboard(&conn);
    } catch (const std::exception&) {
        // The next look tells.
    }
}

// The dashboard holds no snapshot. One that is frozen cannot help it.
void Campaign::watch_dashboard(Conn* conn) {
    const bool is_frozen = std::ranges::any_of(crew_.processes, [](const Process& process) {
        return process.role == Role::kDashboard && process.thaws_us != 0;
    });
    const Rows rows = conn->exec(
        "SELECT state || ' ' || query FROM pg_stat_activity WHERE application_name = 'belay "
        "dashboard' AND backend_xmin IS NOT NULL AND clock_timestamp() - xact_start > '15 s'");
    report_.findings.expect(is_frozen || rows.size() == 0, "snapshot", [&] {
        return "the dashboard holds one: " + rows.at(0, 0).value_or("");
    });
}

void Campaign::progress() {
    for (; told_ < report_.findings.violations.size() && told_ < 20; ++told_) {
        const Violation& violation = report_.findings.violations[told_];
        std::cout << "  violation, " << violation.kind << ": " << violation.text << std::endl;
    }
    if (steady_us() < next_line_us_) {
        return;
    }
    next_line_us_ = steady_us() + 10'000'000;
    int faults = 0;
    for (const auto& [fault, times] : report_.faults) {
        faults += times;
    }
    std::cout << "  " << (steady_us() - began_us_) / 1'000'000 << " s: " << crew_.shared->calls
              << " calls, " << crew_.shared->refused << " refused, " << crew_.shared->unknown
              << " unknown, " << faults << " faults, " << report_.findings.violations.size()
              << " violations" << (crew_.shared->phase == Phase::kRun ? "" : ", draining")
              << std::endl;
}

Report Campaign::run() {
    began_us_ = steady_us();
    next_line_us_ = began_us_ + 10'000'000;
    next_big_us_ = began_us_ + static_cast<int64_t>(std::min(plan_.seconds / 4, 20.0) * 1e6);
    start_crew(&crew_);
    while (static_cast<double>(steady_us() - began_us_) < plan_.seconds * 1e6 ||
           crew_.shared->calls < plan_.least_calls) {
        look_after(&crew_);
        if (!plan_.planted.empty()) {
            (void)try_exec("SELECT belay.inject_fault('" + plan_.planted + "', 3)");
        }
        make_mischief();
        watch_backlog();
        progress();
        rest(random_.number(20, 700));
    }
    // A short campaign has each of them, too.
    while (plan_.kills_servers && big_ < kBigFaults) {
        do_something_big();
        progress();
    }
    const bool drained = drain(&crew_, primary_->conninfo());
    stop_crew(&crew_);
    judge_log(*primary_);

    Conn conn = primary_->connect();
    const std::vector<Call> calls = read_journals(crew_.journals);
    report_.findings.expect(drained, "stuck",
                            [&] { return "work was left: " + conn.value(kWorkLeft); });
    report_.findings.add(check_hubs(&conn));
    report_.findings.add(check_calls(calls, breaks_));
    report_.findings.add(check_database(&conn, calls, {}));
    for (const auto& call : calls) {
        if (call.outcome == Outcome::kDone) {
            ++report_.kinds[call.kind];
        }
        if (call.outcome == Outcome::kRefused) {
            ++report_.refusals[meaning_of(call.answer)];
        }
    }
    report_.calls = crew_.shared->calls;
    report_.done = crew_.shared->done;
    report_.refused = crew_.shared->refused;
    report_.unknown = crew_.shared->unknown;
    return report_;
}

}  // namespace belay::test::soak
