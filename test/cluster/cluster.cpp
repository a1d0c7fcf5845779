#include "cluster.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace belay::test {
namespace {

constexpr auto kPatience = std::chrono::seconds(60);

std::string bindir() {
    const char* dir = std::getenv("BELAY_BINDIR");
    if (dir == nullptr || *dir == '\0') {
        throw std::runtime_error(
            "BELAY_BINDIR is not set: run these tests with test/run.sh --suite cluster");
    }
    return dir;
}

std::string make_temporary(std::string pattern) {
    if (mkdtemp(pattern.data()) == nullptr) {
        throw std::runtime_error("cannot make directory " + pattern);
    }
    return pattern;
}

// Calls ready until it is true.
template <typename Ready>
void wait_until(const std::string& what, Ready ready) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (!ready()) {
        if (std::chrono::steady_clock::now() > deadline) {
            throw std::runtime_error("waited in vain until " + what);
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
}

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const auto& word : words) {
        text += (text.empty() ? "" : " ") + word;
    }
    return text;
}

void run_or_throw(const std::vector<std::string>& command) {
    const Output output = run_program(command);
    if (output.code != 0) {
        throw std::runtime_error(joined(command) + ":\n" + output.text);
    }
}

std::string run_dir() {
    const char* dir = std::getenv("BELAY_RUN_DIR");
    return dir != nullptr ? dir : ".";
}

void init_data(const std::string& data) {
    run_or_throw({"initdb", "-N", "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C.UTF-8",
                  "-D", data});
}

// A data directory as initdb makes it, made once and copied by every cluster: initdb is slow.
class Template {
 public:
    Template() : home_(make_temporary(run_dir() + "/cluster-XXXXXX")) {
        init_data(home_ + "/data");
    }
    ~Template() {
        std::error_code ignored;
        std::filesystem::remove_all(home_, ignored);
    }
    void copy_to(const std::string& data) const {
        std::filesystem::copy(home_ + "/data", data, std::filesystem::copy_options::recursive);
    }

 private:
    std::string home_;
};

}  // namespace

std::optional<std::string> Rows::at(int row, int column) const {
    if (row >= size() || column >= PQnfields(result_.get())) {
        throw std::out_of_range("no such field in the answer");
    }
    if (PQgetisnull(result_.get(), row, column)) {
        return std::nullopt;
    }
    return std::string(PQgetvalue(result_.get(), row, column),
                       static_cast<size_t>(PQgetlength(result_.get(), row, column)));
}

Conn::Conn(const std::string& conninfo) : conn_(PQconnectdb(conninfo.c_str()), &PQfinish) {
    if (PQstatus(conn_.get()) != CONNECTION_OK) {
        throw std::runtime_error(PQerrorMessage(conn_.get()));
    }
    PQsetNoticeProcessor(
        conn_.get(), [](void*, const char*) {}, nullptr);
}

Rows Conn::exec(const std::string& sql) {
    PGresult* result = PQexec(conn_.get(), sql.c_str());
    const ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK && status != PGRES_EMPTY_QUERY) {
        const std::string message = PQerrorMessage(conn_.get());
        PQclear(result);
        throw std::runtime_error(sql + ": " + message);
    }
    return Rows(result);
}

std::string Conn::value(const std::string& sql) {
    const Rows rows = exec(sql);
    if (rows.size() != 1) {
        throw std::runtime_error(sql + ": " + std::to_string(rows.size()) + " rows, expected 1");
    }
    return rows.at(0, 0).value_or("");
}

std::string Conn::error_of(const std::string& sql) {
    PGresult* result = PQexec(conn_.get(), sql.c_str());
    const char* sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    std::string answer = sqlstate != nullptr ? sqlstate : "";
    if (answer.empty() && PQstatus(conn_.get()) != CONNECTION_OK) {
        answer = "08006";
    }
    PQclear(result);
    return answer;
}

pid_t Conn::backend_pid() const {
    return PQbackendPID(conn_.get());
}

Output run_program(const std::vector<std::string>& command,
                   const std::vector<std::string>& environment) {
    const std::string program =
        command.at(0).starts_with('/') ? command[0] : bindir() + "/" + command[0];
    std::vector<char*> arguments;
    arguments.push_back(const_cast<char*>(program.c_str()));
    for (size_t i = 1; i < command.size(); ++i) {
        arguments.push_back(const_cast<char*>(command[i].c_str()));
    }
    arguments.push_back(nullptr);

    // A file, not a pipe: pg_ctl's server inherits it and would keep a pipe open.
    std::FILE* output = std::tmpfile();
    if (output == nullptr) {
        throw std::runtime_error("cannot make a temporary file");
    }
    const pid_t child = fork();
    if (child < 0) {
        throw std::runtime_error("cannot fork");
    }
    if (child == 0) {
        dup2(fileno(output), STDOUT_FILENO);
        dup2(fileno(output), STDERR_FILENO);
        dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
        for (const auto& setting : environment) {
            putenv(const_cast<char*>(setting.c_str()));
        }
        execv(program.c_str(), arguments.data());
        _exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);

    Output result{WIFEXITED(status) ? WEXITSTATUS(status) : -1, ""};
    std::rewind(output);
    char buffer[4096];
    for (size_t n; (n = std::fread(buffer, 1, sizeof buffer, output)) > 0;) {
        result.text.append(buffer, n);
    }
    std::fclose(output);
    return result;
}

std::vector<std::string> mistakes_in(const std::string& log) {
    // Up to PostgreSQL 16 each kind of resource has a text of its own, as "relcache reference
    // leak".
    static constexpr const char* kWarnings[] = {
        " leak: ",         "resource was not closed: ",     " still active",
        "you don't own a", "problem in alloc set",          "problem in slab",
        "problem in bump", "problem in generation context", "transaction left non-empty SPI stack"};
    std::vector<std::string> found;
    std::istringstream lines(log);
    for (std::string line; std::getline(lines, line);) {
        const auto has = [&line](const char* text, size_t from = 0) {
            return line.find(text, from) != std::string::npos;
        };
        const size_t warning = line.find("WARNING:  ");
        const bool is_mistake =
            has("TRAP: ") || has("PANIC:  ") ||
            (has(" was terminated by signal ") && !has(" was terminated by signal 9:")) ||
            (warning != std::string::npos &&
             std::any_of(std::begin(kWarnings), std::end(kWarnings),
                         [&](const char* text) { return has(text, warning); }));
        if (is_mistake) {
            found.push_back(line);
        }
    }
    return found;
}

void Cluster::make_directories() {
    home_ = make_temporary(run_dir() + "/cluster-XXXXXX");
    data_ = home_ + "/data";
    const char* socket_dir = std::getenv("BELAY_SOCKET_DIR");
    socket_ =
        make_temporary(std::string(socket_dir != nullptr ? socket_dir : "/tmp") + "/belay-XXXXXX");
}

namespace {

// What `make mutants` builds.
std::string mutant_library() {
    const char* root = std::getenv("BELAY_ROOT");
    const std::string library =
        std::string(root != nullptr ? root : ".") + "/build/mutants/belay.so";
    if (!std::filesystem::exists(library)) {
        throw std::runtime_error(library + " is missing: run 'make mutants'");
    }
    return library;
}

}  // namespace

// The server finds its files relative to its own program, after following links: so that program
// and the hub files are copied, and all else is linked; belay.so perhaps to the one with mutants.
void Cluster::make_installation(bool mutants) {
    namespace fs = std::filesystem;
    fs::path stage = bindir();
    while (stage.has_relative_path() && stage.parent_path().filename() != "stage") {
        stage = stage.parent_path();
    }
    if (!stage.has_relative_path()) {
        throw std::runtime_error("BELAY_BINDIR is no directory of a stage");
    }
    const fs::path root = home_ + "/installation";
    fs::create_directories(root);
    for (const auto& entry : fs::recursive_directory_iterator(stage)) {
        const fs::path copy = root / entry.path().lexically_relative(stage);
        const bool hub_file =
            entry.path().string().find("/extension/belay/hub/") != std::string::npos;
        if (entry.is_directory() && !entry.is_symlink()) {
            fs::create_directory(copy);
        } else if (hub_file || entry.path().filename() == "postgres") {
            fs::copy_file(entry.path(), copy);
        } else if (mutants && entry.path().filename() == "belay.so") {
            fs::create_symlink(mutant_library(), copy);
        } else {
            fs::create_symlink(entry.path(), copy);
        }
        if (hub_file && copy.filename() == "001_hub.sql") {
            hub_steps_ = copy.parent_path();
        } else if (copy.filename() == "postgres" && copy.parent_path().filename() == "bin") {
            server_ = copy;
        }
    }
}

Cluster::Cluster(Options options) : mutants_(options.mutants) {
    make_directories();
    if (options.own_hub_files || options.mutants) {
        make_installation(options.mutants);
    }
    if (options.own_identity) {
        init_data(data_);
    } else {
        static const Template once;
        once.copy_to(data_);
    }
    configure("listen_addresses = ''");
    configure("unix_socket_directories = '" + socket_ + "'");
    // The kernel keeps what was written when a process is killed; only machines need fsync.
    configure("fsync = off");
    configure("wal_level = logical");
    configure("max_prepared_transactions = 10");
    configure("timezone = 'UTC'");
    configure("belay.dense_epochs = on");
    if (options.preload) {
        configure("shared_preload_libraries = 'belay'");
    }
    for (const auto& line : options.conf) {
        configure(line);
    }
    start();
}

Cluster::Cluster(const Backup& backup) {
    make_directories();
    std::vector<std::string> command = {"pg_basebackup", "-d",       backup.conninfo, "-D",
                                        data_,           "-X",       "stream",        "-c",
                                        "fast",          "--no-sync"};
    if (backup.standby) {
        command.push_back("-R");
    }
    run_or_throw(command);
    configure("unix_socket_directories = '" + socket_ + "'");
    start();
}

Cluster::~Cluster() {
    try {
        if (running_) {
            stop("immediate");
        }
    } catch (const std::exception&) {
        // The directories go anyway; the server notices and ends.
    }
    if (!mutants_) {
        for (const auto& line : mistakes_in(log())) {
            ADD_FAILURE() << "in the server's log: " << line;
        }
    }
    std::error_code ignored;
    std::filesystem::remove_all(home_, ignored);
    std::filesystem::remove_all(socket_, ignored);
}

void Cluster::start() {
    Output output{};
    const auto try_once = [&] {
        std::vector<std::string> command = {"pg_ctl",       "-D", data_, "-l",
                                            home_ + "/log", "-w", "-s"};
        if (!server_.empty()) {
            command.insert(command.end(), {"-p", server_});
        }
        command.push_back("start");
        output = run_program(command);
        return output.code == 0;
    };
    if (killed_) {
        // Backends notice their postmaster's death by themselves; until then a start is refused.
        wait_until("the killed server can be started again", try_once);
    } else if (!try_once()) {
        throw std::runtime_error("the server did not start: " + output.text + "\n" + log());
    }
    running_ = true;
    killed_ = false;
}

void Cluster::stop(const std::string& mode) {
    run_or_throw({"pg_ctl", "-D", data_, "-m", mode, "-w", "-s", "stop"});
    running_ = false;
}

void Cluster::kill9() {
    pid_t postmaster = 0;
    std::ifstream(data_ + "/postmaster.pid") >> postmaster;
    if (postmaster <= 0 || kill(postmaster, SIGKILL) != 0) {
        throw std::runtime_error("cannot kill the postmaster");
    }
    wait_until("the postmaster is gone", [&] { return kill(postmaster, 0) != 0; });
    running_ = false;
    killed_ = true;
}

void Cluster::promote() {
    run_or_throw({"pg_ctl", "-D", data_, "-w", "-s", "promote"});
}

void Cluster::wait_ready() {
    wait_until("the server accepts connections", [&] {
        try {
            connect().exec("SELECT 1");
            return true;
        } catch (const std::exception&) {
            return false;
        }
    });
}

void Cluster::configure(const std::string& line) {
    std::ofstream(data_ + "/postgresql.conf", std::ios::app) << line << '\n';
}

std::unique_ptr<Cluster> Cluster::make_standby() {
    return std::unique_ptr<Cluster>(
        new Cluster(Backup{"host=" + socket_ + " port=5432 user=postgres", true}));
}

std::unique_ptr<Cluster> Cluster::make_copy() {
    return std::unique_ptr<Cluster>(
        new Cluster(Backup{"host=" + socket_ + " port=5432 user=postgres", false}));
}

Conn Cluster::connect(const std::string& database, const std::string& user) {
    return Conn(conninfo(database, user));
}

std::string Cluster::conninfo(const std::string& database, const std::string& user) const {
    return "host=" + socket_ + " port=5432 dbname=" + database + " user=" + user;
}

Output Cluster::try_run(const std::vector<std::string>& command) {
    return run_program(command, {"PGHOST=" + socket_, "PGPORT=5432", "PGUSER=postgres"});
}

std::string Cluster::run(const std::vector<std::string>& command) {
    Output output = try_run(command);
    if (output.code != 0) {
        throw std::runtime_error(joined(command) + ":\n" + output.text);
    }
    return output.text;
}

std::string Cluster::log() const {
    std::ostringstream text;
    text << std::ifstream(home_ + "/log").rdbuf();
    return text.str();
}

}  // namespace belay::test
