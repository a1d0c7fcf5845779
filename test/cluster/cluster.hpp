// A throw-away PostgreSQL server for tests: made, started, killed and removed by the test.
//
// The programs are those of the directory that the environment variable BELAY_BINDIR names; data
// lives under BELAY_RUN_DIR (default: the current directory). Servers listen on a unix socket in a
// directory of their own, under BELAY_SOCKET_DIR (default: /tmp), and nowhere else. Anything that
// goes wrong throws std::runtime_error with the text of the program or server, which fails the
// test.
#pragma once

#include <libpq-fe.h>
#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::test {

// The rows of one statement, as text. A null field has no value.
class Rows {
 public:
    explicit Rows(PGresult* result) : result_(result, &PQclear) {}

    int size() const { return PQntuples(result_.get()); }
    int columns() const { return PQnfields(result_.get()); }
    std::optional<std::string> at(int row, int column) const;

 private:
    std::unique_ptr<PGresult, void (*)(PGresult*)> result_;
};

// One connection. Notices are swallowed.
class Conn {
 public:
    explicit Conn(const std::string& conninfo);

    // Runs one or more statements and returns the rows of the last.
    Rows exec(const std::string& sql);

    // The only field of the only row; "" if it is null.
    std::string value(const std::string& sql);

    // The SQLSTATE that the statement raises: "" if it succeeds, "08006" if the connection breaks.
    std::string error_of(const std::string& sql);

    // Process id of the backend.
    pid_t backend_pid() const;

    PGconn* raw() { return conn_.get(); }

 private:
    std::unique_ptr<PGconn, void (*)(PGconn*)> conn_;
};

// What a program printed and how it ended.
struct Output {
    int code;
    std::string text;
};

// Runs a program of BELAY_BINDIR, or one that is given with its path, with arguments and waits for
// it; its output and errors together.
Output run_program(const std::vector<std::string>& command,
                   const std::vector<std::string>& environment = {});

// The lines of a server's log that tell of a mistake in the server or in a module: a crash, a
// failed assertion, a resource that was not released, memory that was overwritten. A process that
// was killed with SIGKILL is none.
std::vector<std::string> mistakes_in(const std::string& log);

// When a cluster goes, its log is looked through: a mistake there fails the running test.
class Cluster {
 public:
    struct Options {
        bool preload = false;
        // Clusters of one test program share their system identifier, unless this is true.
        bool own_identity = false;
        // The server gets an installation of its own, whose hub files the test may replace.
        bool own_hub_files = false;
        // The server runs the library that has mutants (src/shmem/mutants.hpp); mistakes in its log
        // are expected.
        bool mutants = false;
        std::vector<std::string> conf = {};  // lines for postgresql.conf
    };

    // Makes and starts a server.
    explicit Cluster(Options options);
    Cluster() : Cluster(Options{}) {}
    ~Cluster();
    Cluster(const Cluster&) = delete;
    Cluster& operator=(const Cluster&) = delete;

    void start();
    // mode: "smart", "fast" or "immediate", as of pg_ctl.
    void stop(const std::string& mode = "fast");
    void restart() {
        stop();
        start();
    }
    // Ends the postmaster with SIGKILL, as the machine's death would. start() then recovers.
    void kill9();
    void promote();
    // Waits until connections are accepted again, after a backend crashed.
    void wait_ready();

    // Adds a line to postgresql.conf; seen by the next start or reload.
    void configure(const std::string& line);

    // A standby that streams from this server; started.
    std::unique_ptr<Cluster> make_standby();
    // A server of its own with a copy of this one's files; started.
    std::unique_ptr<Cluster> make_copy();

    Conn connect(const std::string& database = "postgres", const std::string& user = "postgres");
    std::string conninfo(const std::string& database = "postgres",
                         const std::string& user = "postgres") const;

    // Runs a client program (pg_dump, psql, ...) against this server. Throws if it fails, unless
    // the test wants to look at the code.
    std::string run(const std::vector<std::string>& command);
    Output try_run(const std::vector<std::string>& command);

    // A file for the test's own use, removed with the cluster.
    std::string file(const std::string& name) const { return home_ + "/" + name; }
    const std::string& data() const { return data_; }
    // The directory of the hub's step files, if the server has files of its own.
    const std::string& hub_steps() const { return hub_steps_; }
    std::string log() const;

 private:
    struct Backup {
        std::string conninfo;  // of the server to copy
        bool standby;
    };
    explicit Cluster(const Backup& backup);

    void make_directories();
    void make_installation(bool mutants);

    std::string home_;  // everything but the socket
    std::string data_;
    std::string server_;     // the server program, if it is not that of BELAY_BINDIR
    std::string hub_steps_;  // empty without files of its own
    std::string socket_;     // short, because a socket's path is limited
    bool running_ = false;
    bool killed_ = false;
    bool mutants_ = false;
};

}  // namespace belay::test
