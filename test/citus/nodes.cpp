#include "nodes.hpp"

#include <chrono>
#include <thread>

namespace belay::test {
namespace {

std::vector<std::string> with_citus(std::vector<std::string> conf) {
    conf.insert(conf.begin(),
                {"shared_preload_libraries = 'citus,belay'", "max_worker_processes = 20",
                 "max_prepared_transactions = 50", "citus.node_conninfo = 'sslmode=disable'",
                 "citus.enable_statistics_collection = off"});
    return conf;
}

}  // namespace

Server::Server(const std::vector<std::string>& conf)
    : cluster({.own_identity = true, .conf = with_citus(conf)}),
      host(connect().value("SHOW unix_socket_directories")),
      port(connect().value("SHOW port")) {
    connect().exec("ALTER SYSTEM SET citus.local_hostname = '" + host + "'");
    connect().exec("SELECT pg_reload_conf()");
    connect().exec("CREATE EXTENSION citus");
}

Nodes::Nodes(const std::vector<std::string>& conf) : coordinator(conf), first(conf), second(conf) {
    Conn conn = coordinator.connect();
    conn.exec("SELECT citus_set_coordinator_host(" + coordinator.place() + ")");
    conn.exec("SELECT citus_add_node(" + first.place() + ")");
    conn.exec("SELECT citus_add_node(" + second.place() + ")");
    conn.exec("CREATE EXTENSION belay");
}

void Nodes::make_app() {
    Conn conn = coordinator.connect();
    conn.exec("SELECT belay.create_hub('app')");
    insist("SELECT belay.distribute_hub('app', " + first.place() + ")");
}

void Nodes::insist(const std::string& sql) {
    std::string error = "40P01";
    for (int i = 0; i < 5 && error == "40P01"; ++i) {
        error = coordinator.connect().error_of(sql);
    }
    if (!error.empty()) {
        coordinator.connect().exec(sql);  // throws, with its text
    }
}

void Nodes::move(Server& to, const std::string& mode) {
    const std::string sql = "SELECT belay.move_hub('app', " + to.place() + ", '" + mode + "')";
    for (int i = 0; i < 20; ++i) {
        Conn conn = coordinator.connect();
        const std::string message = conn.error_of(sql).empty() ? "" : PQerrorMessage(conn.raw());
        if (message.empty()) {
            return;
        }
        if (message.find("could not be cleaned up") == std::string::npos) {
            break;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
    }
    coordinator.connect().exec(sql);  // throws, with its text
}

std::string Follower::run(const std::string& sql) {
    for (int hop = 0; hop < 10; ++hop) {
        PGresult* result = PQexec(conn_.raw(), sql.c_str());
        const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
        const std::string error = state == nullptr ? "" : state;
        const char* detail = PQresultErrorField(result, PG_DIAG_MESSAGE_DETAIL);
        const std::string place = detail == nullptr ? "" : detail;
        std::string value;
        if (error.empty() && PQntuples(result) > 0) {
            value = PQgetvalue(result, 0, 0);
        }
        const std::string message = PQresultErrorMessage(result);
        PQclear(result);
        if (error.empty()) {
            return value;
        }
        if (error != "QB017") {
            return "!" + error + " " + message;
        }
        ++hops_;
        for (Server* server : nodes_.all()) {
            if (place.find("\"host\":\"" + server->host + "\"") != std::string::npos) {
                conn_ = server->connect();
            }
        }
    }
    return "!hops";
}

void Citus::TearDown() {
    Conn conn = nodes.coordinator.connect();
    const Rows hubs = conn.exec("SELECT hub, host IS NOT NULL FROM belay.hub_locations");
    for (int row = 0; row < hubs.size(); ++row) {
        if (*hubs.at(row, 1) == "t") {
            nodes.bring_back(*hubs.at(row, 0));
        }
        conn.exec("SELECT belay.drop_hub('" + *hubs.at(row, 0) + "', true)");
    }
}

std::string enqueue(const std::string& name) {
    return "SELECT app.enqueue_worker_work('{\"ActivityExecute\":{\"name\":\"" + name + "\"}}')";
}

testing::AssertionResult becomes(Conn& conn, const std::string& sql, const std::string& value) {
    std::string found;
    for (int i = 0; i < 3000; ++i) {
        found = conn.value(sql);
        if (found == value) {
            return testing::AssertionSuccess();
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return testing::AssertionFailure() << sql << ": " << found;
}

}  // namespace belay::test
