// belay move against real nodes: what it does, and what it says to a user who is mistaken.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "nodes.hpp"

namespace belay::test {
namespace {

class CitusTool : public Citus {
 protected:
    // The program that lies beside this one; the file pid has its process.
    static Output belay(Server& server, std::vector<std::string> words,
                        const std::string& user = "postgres") {
        words.insert(words.begin(),
                     {std::filesystem::read_symlink("/proc/self/exe").parent_path() / "belay"});
        words.insert(words.begin() + 2, {"--dsn", server.cluster.conninfo("postgres", user)});
        words.insert(words.begin(), {"/bin/sh", "-c", "echo $$ >\"$0\"; exec \"$@\"", pid_file()});
        return run_program(words);
    }
    static std::string pid_file() { return shared->coordinator.cluster.file("pid"); }
    static std::string place(const Server& server) { return server.host + ":" + server.port; }

    void expect_refused(Server& server, const std::vector<std::string>& words,
                        const std::string& why, const std::string& hint,
                        const std::string& user = "postgres") {
        const Output ran = belay(server, words, user);
        EXPECT_EQ(ran.code, 1) << ran.text;
        EXPECT_NE(ran.text.find(why), std::string::npos) << ran.text;
        EXPECT_NE(ran.text.find(hint), std::string::npos) << ran.text;
    }
};

// SO-52
TEST_F(CitusTool, MovesAHub) {
    nodes.make_app();
    const Output moved =
        belay(nodes.coordinator, {"move", "app", place(nodes.second), "--mode", "block_writes"});
    EXPECT_EQ(moved.code, 0);
    EXPECT_NE(moved.text.find("moving hub app from " + place(nodes.first) + "; Ctrl-C cancels\n"),
              std::string::npos)
        << moved.text;
    EXPECT_NE(moved.text.find("moved hub app to " + place(nodes.second) + "\n"), std::string::npos)
        << moved.text;
    EXPECT_EQ(nodes.second.connect().error_of("SELECT app.send('mail')"), "");
    // It is there: nothing is announced, and nothing done.
    const Output again = belay(nodes.coordinator, {"move", "app", place(nodes.second)});
    EXPECT_EQ(again.code, 0);
    EXPECT_EQ(again.text, "hub app is on " + place(nodes.second) + " already\n");
}

// SO-52: typical mistakes, and what leads on from them.
TEST_F(CitusTool, SaysWhatIsWrong) {
    nodes.make_app();
    Conn conn = nodes.coordinator.connect();
    conn.exec("SELECT belay.create_hub('at_home')");
    conn.exec("CREATE ROLE regress_mover LOGIN");
    Server& hub = nodes.coordinator;
    expect_refused(hub, {"move", "nowhere", place(nodes.second)}, "hub \"nowhere\" does not exist",
                   "belay.hubs");
    expect_refused(hub, {"move", "app", "db9:5432"}, "db9:5432 is not a node that takes shards",
                   place(nodes.first));
    expect_refused(hub, {"move", "app", place(hub)}, "is not a node that takes shards",
                   place(nodes.second));
    expect_refused(hub, {"move", "at_home", place(nodes.second)},
                   "hub \"at_home\" is not distributed", "belay.distribute_hub");
    expect_refused(hub, {"move", "app", place(nodes.second)}, "must be owner of hub \"app\"", "",
                   "regress_mover");
    for (Server* server : {&nodes.first, &nodes.second}) {
        expect_refused(*server, {"move", "app", place(nodes.second)},
                       "belay.move_hub runs on the coordinator", "Connect to " + place(hub));
    }
    EXPECT_EQ(conn.value("SELECT host FROM belay.hub_location('app')"), nodes.first.host);
}

// SO-12: a node is also known by the address that clients see.
TEST_F(CitusTool, KnowsTheAddressesOfClients) {
    nodes.make_app();
    Conn conn = nodes.coordinator.connect();
    conn.exec("ALTER SYSTEM SET belay.node_addresses = '" + place(nodes.second) + "=pool:6432'");
    conn.exec("SELECT pg_reload_conf()");
    EXPECT_TRUE(becomes(conn, "SELECT current_setting('belay.node_addresses') <> ''", "t"));
    expect_refused(nodes.coordinator, {"move", "app", "db9:5432"},
                   "is not a node that takes shards", "pool:6432");
    const Output moved =
        belay(nodes.coordinator, {"move", "app", "pool:6432", "--mode", "block_writes"});
    EXPECT_EQ(moved.code, 0);
    EXPECT_NE(moved.text.find("moved hub app to pool:6432\n"), std::string::npos) << moved.text;
    EXPECT_EQ(nodes.second.connect().error_of("SELECT app.send('mail')"), "");
    conn.exec("ALTER SYSTEM RESET belay.node_addresses");
    conn.exec("SELECT pg_reload_conf()");
}

// SO-52: a move that is cancelled, in the midst of Citus' work, has moved nothing; another one
// succeeds.
TEST_F(CitusTool, CancelsAMove) {
    nodes.make_app();
    Conn conn = nodes.coordinator.connect();
    Conn writer = nodes.first.connect();
    writer.exec("BEGIN");
    writer.exec("SELECT app.send('mail')");  // the move waits for it
    std::thread stopper([&conn] {
        EXPECT_TRUE(becomes(conn,
                            "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%move_hub%' "
                            "AND state = 'active' AND application_name = 'belay'",
                            "1"));
        pid_t pid = 0;
        std::ifstream(pid_file()) >> pid;
        ASSERT_GT(pid, 0);
        kill(pid, SIGINT);
    });
    const Output ran = belay(nodes.coordinator, {"move", "app", place(nodes.second)});
    stopper.join();
    EXPECT_EQ(ran.code, 1);
    EXPECT_NE(ran.text.find("the move was cancelled"), std::string::npos) << ran.text;
    EXPECT_NE(ran.text.find("is still on " + place(nodes.first)), std::string::npos) << ran.text;
    writer.exec("COMMIT");
    EXPECT_EQ(nodes.first.connect().value("SELECT count(*) FROM app.receive('mail')"), "1");
    const Output moved = belay(nodes.coordinator, {"move", "app", place(nodes.second)});
    EXPECT_EQ(moved.code, 0) << moved.text;
    EXPECT_EQ(nodes.second.connect().value("SELECT count(*) FROM app.tasks"), "1");
}

}  // namespace
}  // namespace belay::test
