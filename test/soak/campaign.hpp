// The campaign: a server, load clients in processes of their own, and everything that can go wrong.
//
// Faults come one after the other at random moments, from a seed. In the end there are no more, the
// clients work off what is left, and the checker looks at journals and database.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "../stress/client.hpp"
#include "checker.hpp"
#include "cluster.hpp"
#include "load.hpp"

namespace belay::test::soak {

struct Plan {
    double seconds = 30;
    int64_t least_calls = 0;  // continues until so many were made, on a slow machine
    uint64_t seed = 1;
    int most_lease_ms = 3000;
    bool kills_servers = true;  // crashes, restarts, promotions, copies
    // A fault point of the engine that breaks a promise, armed again and again; none if empty.
    std::string planted = "";
    // Of the client library: how many portions of each worker lose an outcome (mutants.hpp).
    int portions_to_cut = 0;
};

struct Report {
    int64_t calls = 0;
    int64_t done = 0;
    int64_t refused = 0;
    int64_t unknown = 0;
    std::map<std::string, int> faults;
    std::map<std::string, int64_t> kinds;     // acknowledged calls
    std::map<std::string, int64_t> refusals;  // refused ones, by SQLSTATE and what it means
    Findings findings;

    std::string text() const;
};

class Campaign {
 public:
    explicit Campaign(const Plan& plan);
    ~Campaign();
    Campaign(const Campaign&) = delete;
    Campaign& operator=(const Campaign&) = delete;

    Report run();

 private:
    struct Process {
        pid_t pid;
        Role role;
        int64_t thaws_us = 0;  // when it continues, if it is frozen
    };

    // Clients of one database. Those of a copy only drain.
    struct Crew {
        Shared* shared;
        std::string journals;
        std::vector<Process> processes = {};
    };

    void start_client(Crew* crew, Role role);
    void start_crew(Crew* crew);
    // Notices clients that ended by themselves; lets frozen ones continue.
    void look_after(Crew* crew);
    void stop_crew(Crew* crew);
    // The status of a process that is asked to end; it is killed if it does not.
    int await_end(pid_t pid);
    // Waits until nothing is left, without any fault. False if the work does not end.
    bool drain(Crew* crew, const std::string& conninfo);

    void make_mischief();
    void do_something_big();
    // Runs a statement on the primary. False if it fails: that is a fault of its own.
    bool try_exec(const std::string& sql);
    // Tells the clients whether there is enough to do.
    void watch_backlog();
    void watch_dashboard(Conn* conn);
    void progress();

    void kill_backend();
    void kill_worker(bool launcher);
    void kill_client();
    // Asks a program of the client library to end, which it has to do in time.
    void terminate_program();
    void freeze_client();
    void signal_backend(const char* function);
    void restart_server(const char* how);
    // Notes that the server crashed since, and is there again.
    void note_crash(int64_t from_us);
    void inject();
    void hold_locks();
    void rest_a_queue();
    void begin_incarnation();
    void maintain();
    void promote_standby();
    void check_dump();
    void check_base_backup();
    // Drains and checks a copy of the database as it was between the two times.
    void check_copy(const std::string& what, const std::string& conninfo, const Window& window);
    // Looks at the log of a server that is about to go.
    void judge_log(const Cluster& server);
    void disarm(const std::string& conninfo);

    Plan plan_;
    stress::Random random_;
    std::unique_ptr<Cluster> primary_;
    std::string directory_;
    Crew crew_;
    int clients_ = 0;
    int copies_ = 0;
    int big_ = 0;
    std::vector<Break> breaks_;
    Report report_;
    int64_t began_us_ = 0;
    int64_t next_line_us_ = 0;
    int64_t next_watch_us_ = 0;
    std::size_t told_ = 0;  // violations that were printed
    int64_t next_big_us_ = 0;
};

}  // namespace belay::test::soak
