// Sessions that wait for a change of an instance, a task or a flow: what they have read of it
// counts.
#include <gtest/gtest.h>

#include "cluster.hpp"
#include "waiting.hpp"

namespace belay::test {
namespace {

std::string call_wait(const std::string& queues, int timeout_ms = kLong) {
    return "CALL app.wait_for_work(ARRAY[" + queues + "], " + std::to_string(timeout_ms) + ")";
}

class WaitForChange : public testing::Test {
 protected:
    WaitForChange()
        : cluster({.preload = true, .conf = {"belay.reconcile_interval = 0"}}),
          conn(cluster.connect()) {
        conn.exec("CREATE EXTENSION belay");
        conn.exec("SELECT belay.create_hub('app')");
    }

    Cluster cluster;
    Conn conn;
};

TEST_F(WaitForChange, ADeletedInstanceIsTold) {
    conn.exec("SELECT app.start_orchestration('O', '', 'o')");
    const std::string token =
        conn.value("SELECT lock_token FROM app.fetch_orchestration_item(60000)");
    conn.exec("SELECT app.ack_orchestration_item('" + token +
              "', 1, '[]', '[]', '[]', '{\"orchestration_name\":\"O\","
              "\"orchestration_version\":\"1\"}')");
    auto all = sleepers(&cluster, &conn, 1, call_wait("'instance:o'"));
    conn.exec("SELECT * FROM app.delete_instance('o', true)");
    EXPECT_EQ(all[0]->answer(), "instance:o changed");
}

// A session that has read that there is no such row is told of one that has appeared before it
// waits.
TEST_F(WaitForChange, WhatWasNotThereIsAChange) {
    const auto first_turn = [this](const std::string& id) {
        conn.exec("SELECT app.start_orchestration('O', '', '" + id + "')");
        const std::string token =
            conn.value("SELECT lock_token FROM app.fetch_orchestration_item(60000)");
        conn.exec("SELECT app.ack_orchestration_item('" + token +
                  "', 1, '[]', '[]', '[]', '{\"orchestration_name\":\"O\","
                  "\"orchestration_version\":\"1\"}')");
    };
    Conn client = cluster.connect();
    const auto reason = [&client](const std::string& what) {
        return client.exec(call_wait("'" + what + "'", 0)).at(0, 1);
    };
    client.exec("SELECT * FROM app.get_instance_info('info')");
    client.exec("SELECT * FROM app.get_custom_status('status', 0)");
    EXPECT_EQ(reason("instance:info"), "timeout");
    EXPECT_EQ(reason("instance:status"), "timeout");
    first_turn("info");
    first_turn("status");
    // What it sees now by another function does not make up for what it saw before.
    client.exec("SELECT * FROM app.get_custom_status('info', 0)");
    EXPECT_EQ(reason("instance:info"), "changed");
    EXPECT_EQ(reason("instance:status"), "changed");
    client.exec("SELECT * FROM app.get_instance_info('info')");
    EXPECT_EQ(reason("instance:info"), "timeout");

    conn.exec("BEGIN");
    const std::string task = conn.value("SELECT app.send('q', '1')");
    const std::string flow = conn.value(
        "SELECT flow_id FROM app.create_flow('{\"tasks\":[{\"key\":\"a\",\"queue\":\"q\"}]}')");
    client.exec("SELECT app.get_task('" + task + "'), app.get_flow('" + flow + "')");
    EXPECT_EQ(reason("task:" + task), "timeout");
    EXPECT_EQ(reason("flow:" + flow), "timeout");
    conn.exec("COMMIT");
    EXPECT_EQ(reason("task:" + task), "changed");
    EXPECT_EQ(reason("flow:" + flow), "changed");
}

// A session that reads one part of an instance again after each report is not told at once, for
// ever, of a change of the other part, which it has read before.
TEST_F(WaitForChange, AChangeIsReportedUntilTheNextRead) {
    const auto turn = [this](const std::string& status) {
        const std::string token =
            conn.value("SELECT lock_token FROM app.fetch_orchestration_item(60000)");
        conn.exec("SELECT app.ack_orchestration_item('" + token +
                  "', 1, '[]', '[]', '[]', '{\"orchestration_name\":\"O\","
                  "\"orchestration_version\":\"1\",\"custom_status_action\":\"set\","
                  "\"custom_status_value\":\"" +
                  status + "\"}')");
    };
    Conn client = cluster.connect();
    const auto reason = [&client] { return client.exec(call_wait("'instance:o'", 0)).at(0, 1); };
    client.exec("SELECT * FROM app.get_custom_status('o', 0)");
    conn.exec("SELECT app.start_orchestration('O', '', 'o')");
    turn("a");
    client.exec("SELECT * FROM app.get_instance_info('o')");
    EXPECT_EQ(reason(), "changed");
    EXPECT_EQ(reason(), "changed");  // it has not read since
    client.exec("SELECT * FROM app.get_instance_info('o')");
    EXPECT_EQ(reason(), "timeout");
    client.exec("SELECT * FROM app.get_custom_status('o', 0)");
    conn.exec("SELECT app.raise_event('o', 'm', '')");
    turn("b");
    EXPECT_EQ(reason(), "changed");
    client.exec("SELECT * FROM app.get_instance_info('o')");
    EXPECT_EQ(reason(), "timeout");
    // It has not lost sight of that part.
    conn.exec("SELECT app.raise_event('o', 'm', '')");
    turn("c");
    EXPECT_EQ(reason(), "changed");
}

// The first ack of an instance or of an execution wakes a session that has read how it was before,
// although it has no status.
TEST_F(WaitForChange, ABeginIsAChange) {
    const auto turn = [this](const std::string& execution, const std::string& status) {
        const std::string token =
            conn.value("SELECT lock_token FROM app.fetch_orchestration_item(60000)");
        conn.exec("SELECT app.ack_orchestration_item('" + token + "', " + execution +
                  ", '[]', '[]', '[]', '{\"orchestration_name\":\"O\","
                  "\"orchestration_version\":\"1\"" +
                  status + "}')");
    };
    const auto until_woken = [this](auto body) {
        Waiting client(cluster.connect());
        client.conn.exec("SELECT * FROM app.get_instance_info('o')");
        client.send(call_wait("'instance:o'"));
        until_asleep(&conn, 1);
        body();
        return client.answer();
    };
    conn.exec("SELECT app.start_orchestration('O', '', 'o')");
    EXPECT_EQ(until_woken([&] { turn("1", ""); }), "instance:o changed");
    conn.exec("SELECT app.raise_event('o', 'm', '')");
    turn("1", ",\"status\":\"ContinuedAsNew\"");
    conn.exec("SELECT app.raise_event('o', 'm', '')");
    EXPECT_EQ(until_woken([&] { turn("2", ""); }), "instance:o changed");
}

// A caller can choose the id of a task or a flow, and another wait for it before it is there.
TEST_F(WaitForChange, ACreationIsAChange) {
    const std::string id = "018f0000-0000-7000-8000-000000000001";
    Waiting client(cluster.connect());
    client.conn.exec("SELECT app.get_task('" + id + "'), app.get_flow('" + id + "')");
    client.send(call_wait("'task:" + id + "'"));
    until_asleep(&conn, 1);
    conn.exec("SELECT app.create_task('q', p_task_id => '" + id + "')");
    EXPECT_EQ(client.answer(), "task:" + id + " changed");
    client.send(call_wait("'flow:" + id + "'"));
    until_asleep(&conn, 1);
    conn.exec("SELECT app.create_flow('{\"flow_id\":\"" + id + "\",\"tasks\":[]}')");
    EXPECT_EQ(client.answer(), "flow:" + id + " changed");
}

// So is that of a member, by both functions that make one.
TEST_F(WaitForChange, TheCreationOfAMemberIsAChange) {
    const std::string flow = "018f0000-0000-7000-8000-00000000000f";
    const std::string first = "018f0000-0000-7000-8000-000000000001";
    const std::string second = "018f0000-0000-7000-8000-000000000002";
    Waiting client(cluster.connect());
    const auto until_created = [this, &client](const std::string& id, const std::string& call) {
        client.conn.exec("SELECT app.get_task('" + id + "')");
        client.send(call_wait("'task:" + id + "'"));
        until_asleep(&conn, 1);
        conn.exec(call);
        return client.answer();
    };
    const auto member = [](const std::string& id, const std::string& key) {
        return R"({"task_id":")" + id + R"(","key":")" + key + R"(","queue":"q"})";
    };
    EXPECT_EQ(until_created(first, R"(SELECT app.create_flow('{"flow_id":")" + flow +
                                       R"(","seal":false,"tasks":[)" + member(first, "a") + "]}')"),
              "task:" + first + " changed");
    EXPECT_EQ(until_created(second, "SELECT app.add_task_to_flow('" + flow + "', '" +
                                        member(second, "b") + "')"),
              "task:" + second + " changed");
}

}  // namespace
}  // namespace belay::test
