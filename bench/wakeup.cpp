// How fast a consumer learns of work, and what telling it costs the producers.
//
// The queue is belay's in all rows; only the signal differs: belay's own wake-ups, LISTEN/NOTIFY,
// or polling every 100 ms. Run by bench/wakeup.sh, which starts the server.
#include <libpq-fe.h>
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::duration;
using std::chrono::milliseconds;

enum class Signal { kBelay, kNotify, kPoll };

const char* name_of(Signal signal) {
    switch (signal) {
        case Signal::kBelay:
            return "belay wait_for_work";
        case Signal::kNotify:
            return "LISTEN/NOTIFY";
        case Signal::kPoll:
            return "polling, 100 ms";
    }
    return "";
}

class Connection {
 public:
    Connection() : conn_(PQconnectdb("")) {
        if (PQstatus(conn_) != CONNECTION_OK) {
            throw std::runtime_error(PQerrorMessage(conn_));
        }
        PQsetNoticeProcessor(
            conn_, [](void*, const char*) {}, nullptr);
    }
    ~Connection() { PQfinish(conn_); }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    // Runs a statement and returns its first field, or "".
    std::string run(const std::string& sql) {
        PGresult* result = PQexec(conn_, sql.c_str());
        const auto status = PQresultStatus(result);
        if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
            const std::string error = PQresultErrorMessage(result);
            PQclear(result);
            throw std::runtime_error(error);
        }
        std::string value;
        if (PQntuples(result) > 0 && PQnfields(result) > 0) {
            value = PQgetvalue(result, 0, 0);
        }
        PQclear(result);
        return value;
    }

    // Waits for a notification, at most so long.
    void wait_notification(milliseconds timeout) {
        const auto end = Clock::now() + timeout;
        while (true) {
            PQconsumeInput(conn_);
            bool any = false;
            while (PGnotify* notification = PQnotifies(conn_)) {
                PQfreemem(notification);
                any = true;
            }
            const auto left = std::chrono::duration_cast<milliseconds>(end - Clock::now());
            if (any || left.count() <= 0) {
                return;
            }
            pollfd socket{PQsocket(conn_), POLLIN, 0};
            ::poll(&socket, 1, static_cast<int>(left.count()));
        }
    }

 private:
    PGconn* conn_;
};

const std::string kItem =
    R"({"ActivityExecute":{"instance":"i","execution_id":1,"id":1,"name":"n","input":")" +
    std::string(100, 'x') + R"("}})";

std::string enqueue_sql(Signal signal) {
    const std::string call = "SELECT bench.enqueue_worker_work('" + kItem + "')";
    return signal == Signal::kNotify ? "BEGIN; " + call + "; NOTIFY bench; COMMIT" : call;
}

const std::string kFetch = "SELECT lock_token FROM bench.fetch_work_item(60000)";

void ack(Connection& conn, const std::string& token) {
    conn.run("SELECT bench.ack_worker('" + token + "')");
}

// Sleeps until there may be work.
void wait_for_signal(Connection& conn, Signal signal) {
    switch (signal) {
        case Signal::kBelay:
            conn.run("CALL bench.wait_for_work(ARRAY['worker'], 1000)");
            break;
        case Signal::kNotify:
            conn.wait_notification(milliseconds(1000));
            break;
        case Signal::kPoll:
            std::this_thread::sleep_for(milliseconds(100));
            break;
    }
}

double percentile(std::vector<double> values, double share) {
    std::sort(values.begin(), values.end());
    return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

double ms_since(Clock::time_point begin) {
    return duration<double, std::milli>(Clock::now() - begin).count();
}

// ---------------------------------------------------------------- latency

struct Latency {
    double p50;
    double p99;
};

// From the moment the producer sends its enqueue until the consumer holds the item, on an idle hub.
Latency measure_latency(Signal signal, int items) {
    Connection producer;
    Connection consumer;
    if (signal == Signal::kNotify) {
        consumer.run("LISTEN bench");
    }
    std::vector<double> times;
    std::atomic<bool> ready = false;
    std::atomic<Clock::rep> sent = 0;
    std::thread reader([&] {
        for (int i = 0; i < items; ++i) {
            std::string token = consumer.run(kFetch);
            ready = true;
            while (token.empty()) {
                wait_for_signal(consumer, signal);
                token = consumer.run(kFetch);
            }
            times.push_back(ms_since(Clock::time_point(Clock::duration(sent.load()))));
            ack(consumer, token);
        }
    });
    for (int i = 0; i < items; ++i) {
        while (!ready.exchange(false)) {
            std::this_thread::sleep_for(milliseconds(1));
        }
        // The consumer is asleep by now.
        std::this_thread::sleep_for(milliseconds(5 + i % 7));
        sent = Clock::now().time_since_epoch().count();
        producer.run(enqueue_sql(signal));
    }
    reader.join();
    return {percentile(times, 0.5), percentile(times, 0.99)};
}

// What enqueue and fetch take by themselves, one after the other.
Latency measure_floor(int items) {
    Connection conn;
    std::vector<double> times;
    for (int i = 0; i < items; ++i) {
        const auto begin = Clock::now();
        conn.run(enqueue_sql(Signal::kBelay));
        const std::string token = conn.run(kFetch);
        times.push_back(ms_since(begin));
        ack(conn, token);
    }
    return {percentile(times, 0.5), percentile(times, 0.99)};
}

// ---------------------------------------------------------------- throughput

// Enqueues per second of so many producers while consumers are told of each item.
double measure_throughput(Signal signal, int producers, int consumers, double seconds) {
    std::atomic<bool> stop = false;
    std::atomic<long> enqueued = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < consumers; ++i) {
        threads.emplace_back([&] {
            Connection conn;
            if (signal == Signal::kNotify) {
                conn.run("LISTEN bench");
            }
            while (!stop) {
                const std::string token = conn.run(kFetch);
                if (token.empty()) {
                    wait_for_signal(conn, signal);
                } else {
                    ack(conn, token);
                }
            }
        });
    }
    std::this_thread::sleep_for(milliseconds(300));
    const auto begin = Clock::now();
    for (int i = 0; i < producers; ++i) {
        threads.emplace_back([&] {
            Connection conn;
            const std::string sql = enqueue_sql(signal);
            while (!stop) {
                conn.run(sql);
                ++enqueued;
            }
        });
    }
    std::this_thread::sleep_for(duration<double>(seconds));
    const long done = enqueued;
    const double passed = duration<double>(Clock::now() - begin).count();
    stop = true;
    for (auto& thread : threads) {
        thread.join();
    }
    Connection().run("TRUNCATE bench.worker_queue");
    return static_cast<double>(done) / passed;
}

int number_from(const char* variable, int otherwise) {
    const char* text = std::getenv(variable);
    return text != nullptr ? std::atoi(text) : otherwise;
}

}  // namespace

int main() {
    const int items = number_from("BELAY_BENCH_ITEMS", 300);
    const int seconds = number_from("BELAY_BENCH_SECONDS", 5);
    try {
        Connection conn;
        conn.run("CREATE EXTENSION IF NOT EXISTS belay");
        conn.run("SELECT belay.create_hub('bench')");

        std::printf("latency, ms, enqueue sent to item in hand; one consumer, %d items\n", items);
        std::printf("  %-22s %9s %9s %9s %9s\n", "", "p50", "p99", "p50 over", "p99 over");
        const Latency floor = measure_floor(items);
        std::printf("  %-22s %9.3f %9.3f\n", "enqueue, then fetch", floor.p50, floor.p99);
        for (const Signal signal : {Signal::kBelay, Signal::kNotify, Signal::kPoll}) {
            const Latency got =
                measure_latency(signal, signal == Signal::kPoll ? items / 5 + 1 : items);
            std::printf("  %-22s %9.3f %9.3f %9.3f %9.3f\n", name_of(signal), got.p50, got.p99,
                        got.p50 - floor.p50, got.p99 - floor.p50);
            std::fflush(stdout);
        }
        std::printf("\nenqueues per second with 4 waiting consumers, %d s each\n", seconds);
        std::printf("  %-10s %12s %15s %9s\n", "producers", "belay", "NOTIFY", "ratio");
        for (const int producers : {16, 64}) {
            const double belay = measure_throughput(Signal::kBelay, producers, 4, seconds);
            const double notify = measure_throughput(Signal::kNotify, producers, 4, seconds);
            std::printf("  %-10d %12.0f %15.0f %9.2f\n", producers, belay, notify, belay / notify);
            std::fflush(stdout);
        }
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
