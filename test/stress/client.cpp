#include "client.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <random>
#include <set>
#include <sstream>
#include <thread>

namespace belay::test::stress {

bool Client::connect() {
    while (!give_up_->load()) {
        try {
            conn_.emplace(cluster_->connect());
            conn_->exec(greeting_);
            return true;
        } catch (const std::exception&) {
            // The server is starting again, or the killer was quicker.
            conn_.reset();
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
    }
    return false;
}

Answer ask(Conn& conn, const std::string& sql) {
    Answer answer;
    const std::unique_ptr<PGresult, void (*)(PGresult*)> result(PQexec(conn.raw(), sql.c_str()),
                                                                &PQclear);
    const auto status = PQresultStatus(result.get());
    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) {
        for (int row = 0; row < PQntuples(result.get()); ++row) {
            auto& fields = answer.rows.emplace_back();
            for (int column = 0; column < PQnfields(result.get()); ++column) {
                fields.push_back(PQgetisnull(result.get(), row, column)
                                     ? Text()
                                     : Text(PQgetvalue(result.get(), row, column)));
            }
        }
        return answer;
    }
    const char* sqlstate = PQresultErrorField(result.get(), PG_DIAG_SQLSTATE);
    answer.sqlstate = sqlstate != nullptr ? sqlstate : "08006";
    const char* message = PQresultErrorField(result.get(), PG_DIAG_MESSAGE_PRIMARY);
    answer.message = message != nullptr ? message : "";
    answer.lost = PQstatus(conn.raw()) != CONNECTION_OK || answer.sqlstate.starts_with("08") ||
                  answer.sqlstate.starts_with("57P");
    return answer;
}

Answer Client::ask(const std::string& sql) {
    if (!conn_ && !connect()) {
        Answer none;
        none.lost = true;
        return none;
    }
    Answer answer = stress::ask(*conn_, sql);
    if (answer.lost) {
        ++losses_;
        conn_.reset();
    } else if (PQtransactionStatus(conn_->raw()) == PQTRANS_INERROR) {
        PQclear(PQexec(conn_->raw(), "ROLLBACK"));
    }
    return answer;
}

void Client::drop() {
    if (conn_) {
        ::shutdown(PQsocket(conn_->raw()), SHUT_RDWR);
        conn_.reset();
    }
}

namespace {

int64_t steady_us() {
    return std::chrono::duration_cast<std::chrono::microseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

}  // namespace

void Complaints::complain(const std::string& text) {
    const std::lock_guard lock(mutex);
    if (complaints.size() < 20) {
        complaints.push_back(text);
    }
}

bool Complaints::has_complaints() {
    const std::lock_guard lock(mutex);
    return !complaints.empty();
}

Answer TaskGame::ask(Client* client, const std::string& sql) {
    static const std::set<std::string> kGame = {"QB001", "QB010", "QB011",
                                                "QB012", "QB013", "QB016"};
    Answer answer = client->ask(sql);
    ++calls;
    if (!answer.ok()) {
        ++refused;
        if (answer.lost || !kGame.contains(answer.sqlstate)) {
            complain(answer.sqlstate + " " + answer.message + " in " + sql);
        }
    }
    return answer;
}

Stopwatch::Stopwatch() : began_(steady_us()) {}

double Stopwatch::seconds() const {
    return static_cast<double>(steady_us() - began_) / 1e6;
}

uint64_t run_seed() {
    static const uint64_t seed = [] {
        const char* given = std::getenv("BELAY_SEED");
        const uint64_t chosen = given != nullptr && *given != '\0'
                                    ? std::strtoull(given, nullptr, 10)
                                    : std::random_device{}();
        std::cout << "BELAY_SEED=" << chosen << std::endl;
        return chosen;
    }();
    return seed;
}

bool is_long() {
    const char* value = std::getenv("BELAY_LONG");
    return value != nullptr && std::string(value) == "1";
}

std::vector<std::string> unexpected_errors(const std::string& log,
                                           const std::vector<std::string>& expected) {
    const auto has = [](const std::string& line, const std::string& text) {
        return line.find(text) != std::string::npos;
    };
    std::vector<std::string> found;
    std::istringstream lines(log);
    bool goes_on = false;  // what follows explains the last error
    for (std::string line; std::getline(lines, line);) {
        const bool is_error =
            has(line, " ERROR:  ") || has(line, " FATAL:  ") || has(line, " PANIC:  ");
        const bool is_expected = std::any_of(
            expected.begin(), expected.end(),
            [&](const std::string& sqlstate) { return has(line, "SQLSTATE=" + sqlstate); });
        const bool explains = line.starts_with('\t') || has(line, " DETAIL:  ") ||
                              has(line, " HINT:  ") || has(line, " CONTEXT:  ") ||
                              has(line, " STATEMENT:  ");
        if (is_error && !is_expected) {
            found.push_back(line);
            goes_on = true;
        } else if (goes_on && explains) {
            found.back() += "\n" + line;
        } else {
            goes_on = false;
        }
    }
    return found;
}

}  // namespace belay::test::stress
