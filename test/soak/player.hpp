// What the clients of the load have in common: a journaled connection, and the choices of a client.
#pragma once

#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "../stress/client.hpp"
#include "journal.hpp"
#include "load.hpp"

namespace belay::test::soak {

using std::to_string;
using stress::Answer;
using stress::Random;
using stress::Text;

inline constexpr int kMostOpen = 150;  // a client creates no more than it has seen ended, plus this

inline std::string quoted(const std::string& text) {
    return "'" + text + "'";
}

inline void rest(int64_t ms) {
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

// The statements of a client, journaled, over a connection that may be lost at any moment.
class Line {
 public:
    Line(Shared* shared, const Player& player, const std::string& journal_path)
        : shared_(shared), player_(player), journal_(journal_path), random_(player.seed + 1) {}

    Phase phase() const { return shared_->phase; }
    int most_lease_ms() const { return shared_->most_lease_ms; }
    bool crowded() const { return shared_->crowded; }

    // Runs one or more statements as one transaction; the rows are those of the last. Before it is
    // sent, the call is in the journal; afterwards, what became of it, with the fields that answer
    // makes of the rows.
    template <typename Fields>
    Answer ask(const char* kind, const std::vector<std::string>& args, const std::string& sql,
               Fields fields) {
        if (!conn_ && !connect()) {
            return lost();
        }
        const bool hurried = random_.in_thousand(20);
        if (hurried) {
            (void)run("SET statement_timeout = " + to_string(random_.number(1, 30)));
            if (!conn_) {
                return lost();
            }
        }
        journal_.begin(kind, args);
        ++shared_->calls;
        unreplicated_ = false;
        Answer answer = run(sql);
        if (unreplicated_) {
            // Committed here, and perhaps nowhere else.
            answer.lost = true;
            answer.sqlstate = "01000";
        }
        if (answer.lost) {
            ++shared_->unknown;
            journal_.end(Outcome::kUnknown, {answer.sqlstate});
        } else if (!answer.ok()) {
            ++shared_->refused;
            journal_.end(Outcome::kRefused, {answer.sqlstate, answer.message});
        } else {
            ++shared_->done;
            journal_.end(Outcome::kDone, fields(answer));
        }
        if (hurried && conn_) {
            (void)run("SET statement_timeout = 0");
        }
        return answer;
    }
    Answer ask(const char* kind, const std::vector<std::string>& args, const std::string& sql) {
        return ask(kind, args, sql, [](const Answer&) { return std::vector<std::string>(); });
    }

    // A statement that is no call of the load.
    void mutter(const std::string& sql) {
        if (conn_ || connect()) {
            (void)run(sql);
        }
    }

 private:
    static Answer lost() {
        Answer answer;
        answer.lost = true;
        return answer;
    }

    bool connect() {
        while (phase() != Phase::kStop) {
            try {
                conn_.emplace(shared_->addresses[shared_->server]);
                PQsetNoticeReceiver(
                    conn_->raw(),
                    [](void* line, const PGresult* notice) {
                        const char* text = PQresultErrorField(notice, PG_DIAG_MESSAGE_PRIMARY);
                        if (text != nullptr &&
                            std::strstr(text, "wait for synchronous replication") != nullptr) {
                            static_cast<Line*>(line)->unreplicated_ = true;
                        }
                    },
                    this);
                conn_->exec("SET application_name = 'soak'");
                conn_->exec("SET lock_timeout = '500ms'");
                conn_->exec(std::string("SET belay.async_leases = ") +
                            (has_async_leases(player_.number) ? "on" : "off"));
                return true;
            } catch (const std::exception&) {
                // The server is starting again, or another one takes over.
                conn_.reset();
                rest(30);
            }
        }
        return false;
    }

    Answer run(const std::string& sql) {
        Answer answer = stress::ask(*conn_, sql);
        if (answer.lost) {
            conn_.reset();
        }
        return answer;
    }

    Shared* shared_;
    Player player_;
    Journal journal_;
    Random random_;
    std::optional<Conn> conn_;
    bool unreplicated_ = false;
};

// What all roles have in common.
class Client {
 public:
    Client(Shared* shared, const Player& player, const std::string& journal_path)
        : line_(shared, player, journal_path), number_(player.number), random_(player.seed) {}
    virtual ~Client() = default;

    void run() {
        while (line_.phase() != Phase::kStop) {
            if (!step()) {
                idle();
            }
        }
    }

 protected:
    // False if there was nothing to do.
    virtual bool step() = 0;
    virtual const char* waits_for() const = 0;

    bool may_create() const {
        return line_.phase() == Phase::kRun && !line_.crowded() && created_ < ended_ + kMostOpen;
    }
    std::string new_name(const char* prefix) {
        return prefix + to_string(number_) + "." + to_string(++names_);
    }
    // Short, so that many run out; long enough in the end, on any machine.
    std::string lease() {
        const int most = line_.phase() == Phase::kRun ? line_.most_lease_ms() : 5000;
        return to_string(random_.number(most / 10, most));
    }

    // Some waits are for the server to end.
    void idle() {
        if (random_.in_thousand(300)) {
            line_.mutter(waits_for());
        } else {
            rest(random_.number(2, 25));
        }
    }

    // Between fetch and ack: mostly nothing, sometimes work, rarely a sleep through the lease.
    void linger() {
        if (line_.phase() == Phase::kRun && random_.in_thousand(15)) {
            rest(random_.number(300, 3500));
        } else if (random_.in_thousand(200)) {
            rest(random_.number(1, 40));
        }
    }

    Line line_;
    int number_;
    Random random_;
    int64_t created_ = 0;
    int64_t ended_ = 0;

 private:
    int64_t names_ = 0;
};

}  // namespace belay::test::soak
