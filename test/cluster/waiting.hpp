// Sessions that wait for work while the test continues.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cluster.hpp"

namespace belay::test {

inline constexpr int kLong = 60000;  // ms: no test waits so long for what it expects

// A connection that waits, and what came of it.
struct Waiting {
    explicit Waiting(Conn conn) : conn(std::move(conn)) {}

    void send(const std::string& sql) { ASSERT_EQ(PQsendQuery(conn.raw(), sql.c_str()), 1); }

    // Whether the answer is there, after at most so many ms.
    bool answered(int ms) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(ms);
        PQconsumeInput(conn.raw());
        while (PQisBusy(conn.raw()) != 0) {
            const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
                end - std::chrono::steady_clock::now());
            if (left.count() <= 0) {
                return false;
            }
            pollfd socket{PQsocket(conn.raw()), POLLIN, 0};
            ::poll(&socket, 1, static_cast<int>(left.count()));
            PQconsumeInput(conn.raw());
        }
        return true;
    }

    // Queue and reason, or the SQLSTATE.
    std::string answer() {
        if (!answered(kLong)) {
            return "nothing";
        }
        std::string text;
        while (PGresult* result = PQgetResult(conn.raw())) {
            if (PQresultStatus(result) == PGRES_TUPLES_OK) {
                text = std::string(PQgetvalue(result, 0, 0)) + " " + PQgetvalue(result, 0, 1);
            } else if (const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE)) {
                text = state;
                if (text == "XX000") {
                    text += PQresultErrorMessage(result);
                }
            }
            PQclear(result);
        }
        return text.empty() ? "08006" : text;
    }

    Conn conn;
};

// Until as many sessions sleep in a wait.
inline void until_asleep(Conn* conn, int count) {
    for (int i = 0; i < 3000; ++i) {
        if (conn->value("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = "
                        "'Extension' AND query LIKE 'CALL app.%wait%'") == std::to_string(count)) {
            return;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    FAIL() << "not all sessions wait";
}

// Payload of the next notification to a session that listens; "" if none comes.
inline std::string next_notification(Conn& listener, int ms = kLong) {
    for (int i = 0; i < ms / 10; ++i) {
        PQconsumeInput(listener.raw());
        if (PGnotify* notification = PQnotifies(listener.raw())) {
            const std::string payload = notification->extra;
            PQfreemem(notification);
            return payload;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return "";
}

// The next one that is this; "" if none comes.
inline std::string notification(Conn& listener, const std::string& wanted) {
    std::string payload;
    do {
        payload = next_notification(listener);
    } while (payload != wanted && !payload.empty());
    return payload;
}

// New sessions that sleep in a wait, once all of them do.
inline std::vector<std::unique_ptr<Waiting>> sleepers(Cluster* cluster, Conn* conn, int count,
                                                      const std::string& sql) {
    std::vector<std::unique_ptr<Waiting>> all;
    for (int i = 0; i < count; ++i) {
        all.push_back(std::make_unique<Waiting>(cluster->connect()));
        all.back()->send(sql);
    }
    until_asleep(conn, count);
    return all;
}

}  // namespace belay::test
