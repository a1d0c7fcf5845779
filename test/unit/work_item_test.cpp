#include "core/work_item.hpp"

#include <cstring>
#include <limits>
#include <string>

#include <gtest/gtest.h>

namespace belay::core {
namespace {

constexpr ItemKind kAllKinds[] = {
    ItemKind::kStartOrchestration, ItemKind::kActivityExecute, ItemKind::kActivityCompleted,
    ItemKind::kActivityFailed,     ItemKind::kTimerFired,      ItemKind::kExternalRaised,
    ItemKind::kSubOrchCompleted,   ItemKind::kSubOrchFailed,   ItemKind::kCancelInstance,
    ItemKind::kContinueAsNew,      ItemKind::kQueueMessage,    ItemKind::kToHub,
};

WorkItem item_of(std::string_view text) {
    Problem problem;
    std::optional<WorkItem> item = parse_work_item(text, &problem);
    EXPECT_TRUE(item) << text << ' ' << problem.code_detail;
    return item.value_or(WorkItem{});
}

void expect_problem(const Problem& problem, const char* code_detail, const char* path) {
    EXPECT_STREQ(problem.code_detail, code_detail);
    EXPECT_STREQ(problem.path, path);
}

TEST(WorkItem, Kinds) {
    for (ItemKind kind : kAllKinds) {
        std::string name(kind_name(kind));
        ASSERT_FALSE(name.empty());
        std::string text = "{\"" + name + "\":{\"instance\":\"i\"}}";
        EXPECT_EQ(item_of(text).kind, kind) << name;
    }
    std::string_view text = R"({"Brand\u004eew":{"instance":"i"}})";
    WorkItem item = item_of(text);
    EXPECT_EQ(item.kind, ItemKind::kOther);
    EXPECT_EQ(item.raw_kind, R"("Brand\u004eew")");
    EXPECT_EQ(item.body.text, R"({"instance":"i"})");
    EXPECT_EQ(item_of(R"({"timerfired":{}})").kind, ItemKind::kOther);
    EXPECT_EQ(item_of(R"({"Timer\u0046ired":{}})").kind, ItemKind::kTimerFired);
    EXPECT_EQ(kind_name(ItemKind::kOther), "");
}

TEST(WorkItem, QueuesOfKinds) {
    for (ItemKind kind : kAllKinds) {
        EXPECT_EQ(for_worker(kind), kind == ItemKind::kActivityExecute);
        EXPECT_EQ(for_orchestrator(kind), kind != ItemKind::kActivityExecute);
        EXPECT_EQ(is_start(kind),
                  kind == ItemKind::kStartOrchestration || kind == ItemKind::kContinueAsNew);
    }
    EXPECT_TRUE(for_worker(ItemKind::kOther));
    EXPECT_TRUE(for_orchestrator(ItemKind::kOther));
    EXPECT_FALSE(is_start(ItemKind::kOther));
}

TEST(WorkItem, Shape) {
    struct {
        std::string_view text;
        const char* code_detail;
        const char* path;
    } cases[] = {
        {"", "not_json", ""},
        {"{\"TimerFired\":{}", "not_json", ""},
        {"[]", "not_an_object", ""},
        {"\"TimerFired\"", "not_an_object", ""},
        {"null", "not_an_object", ""},
        {"{}", "not_one_key", ""},
        {R"({"TimerFired":{},"Other":{}})", "not_one_key", ""},
        {R"({"TimerFired":{},"TimerFired":{}})", "not_one_key", ""},
        {R"({"TimerFired":null})", "wrong_type", ".TimerFired"},
        {R"({"TimerFired":[1]})", "wrong_type", ".TimerFired"},
        {R"({"":1})", "wrong_type", ""},
    };
    for (const auto& each : cases) {
        Problem problem;
        EXPECT_FALSE(parse_work_item(each.text, &problem)) << each.text;
        expect_problem(problem, each.code_detail, each.path);
        EXPECT_FALSE(parse_work_item(each.text, nullptr));
    }
}

TEST(WorkItem, ElementOfAnArray) {
    json::Elements elements(*json::parse(R"([{"QueueMessage":{"instance":"q"}},3])"));
    json::Value value;
    Problem problem;
    ASSERT_TRUE(elements.next(value));
    EXPECT_EQ(read_work_item(value, &problem)->kind, ItemKind::kQueueMessage);
    ASSERT_TRUE(elements.next(value));
    EXPECT_FALSE(read_work_item(value, &problem));
    expect_problem(problem, "not_an_object", "");
}

// EO-3.
TEST(WorkItem, Routing) {
    EXPECT_EQ(routing(item_of(R"({"TimerFired":{"instance":"ord-7"}})"), nullptr)->text,
              "\"ord-7\"");
    EXPECT_EQ(routing(item_of(R"({"New":{"instance":""}})"), nullptr)->text, "\"\"");
    for (std::string_view kind : {"SubOrchCompleted", "SubOrchFailed"}) {
        std::string text = "{\"" + std::string(kind) +
                           "\":{\"instance\":\"child\",\"parent_instance\":\"parent\"}}";
        EXPECT_EQ(routing(item_of(text), nullptr)->text, "\"parent\"");
    }
    // A parent elsewhere is no address.
    EXPECT_EQ(routing(item_of(R"({"StartOrchestration":{"parent_instance":"p","instance":"c"}})"),
                      nullptr)
                  ->text,
              "\"c\"");
}

TEST(WorkItem, RoutingProblems) {
    struct {
        std::string_view text;
        const char* code_detail;
        const char* path;
    } cases[] = {
        {R"({"TimerFired":{}})", "missing_field", ".TimerFired.instance"},
        {R"({"SubOrchFailed":{"instance":"i"}})", "missing_field",
         ".SubOrchFailed.parent_instance"},
        {R"({"TimerFired":{"instance":null}})", "wrong_type", ".TimerFired.instance"},
        {R"({"TimerFired":{"instance":7}})", "wrong_type", ".TimerFired.instance"},
        {R"({"TimerFired":{"instance":"a\u0000"}})", "escaped_nul", ".TimerFired.instance"},
        {R"({"TimerFired":{"instance":"\ud800"}})", "bad_value", ".TimerFired.instance"},
        {R"({"New":{"instance":[]}})", "wrong_type", ".New.instance"},
    };
    for (const auto& each : cases) {
        Problem problem;
        EXPECT_FALSE(routing(item_of(each.text), &problem)) << each.text;
        expect_problem(problem, each.code_detail, each.path);
        EXPECT_FALSE(routing(item_of(each.text), nullptr));
    }
}

TEST(WorkItem, Activity) {
    Activity activity;
    Problem problem;
    ASSERT_TRUE(read_activity(
        item_of(R"({"ActivityExecute":{"instance":"ord-7","execution_id":1,"id":0,)"
                R"("name":"Charge","input":"\u0000","session_id":"s1","tag":"gpu"}})"),
        &activity, &problem));
    EXPECT_EQ(activity.instance->text, "\"ord-7\"");
    EXPECT_EQ(activity.execution_id, 1);
    EXPECT_EQ(activity.activity_id, 0);
    EXPECT_EQ(activity.session_id->text, "\"s1\"");
    EXPECT_EQ(activity.tag->text, "\"gpu\"");
    EXPECT_EQ(activity.name->text, "\"Charge\"");
}

TEST(WorkItem, ActivityFieldsMayBeMissing) {
    for (std::string_view text :
         {R"({"ActivityExecute":{}})",
          R"({"ActivityExecute":{"instance":null,"execution_id":null,"id":null,"name":null,)"
          R"("session_id":null,"tag":null}})",
          // Stored nowhere, so a strange name does no harm.
          R"({"ActivityExecute":{"name":7}})"}) {
        Activity activity;
        activity.execution_id = 9;
        activity.tag = json::Value{};
        ASSERT_TRUE(read_activity(item_of(text), &activity, nullptr)) << text;
        EXPECT_FALSE(activity.instance);
        EXPECT_FALSE(activity.execution_id);
        EXPECT_FALSE(activity.activity_id);
        EXPECT_FALSE(activity.session_id);
        EXPECT_FALSE(activity.tag);
        EXPECT_FALSE(activity.name);
    }
}

TEST(WorkItem, ActivityProblems) {
    struct {
        std::string_view body;
        const char* code_detail;
        const char* field;
    } cases[] = {
        {R"({"instance":7})", "wrong_type", "instance"},
        {R"({"instance":"\u0000"})", "escaped_nul", "instance"},
        {R"({"execution_id":"1"})", "wrong_type", "execution_id"},
        {R"({"execution_id":1.0})", "wrong_type", "execution_id"},
        {R"({"execution_id":0})", "bad_value", "execution_id"},
        {R"({"execution_id":-1})", "bad_value", "execution_id"},
        {R"({"execution_id":9223372036854775808})", "bad_value", "execution_id"},
        {R"({"id":true})", "wrong_type", "id"},
        {R"({"id":-1})", "bad_value", "id"},
        {R"({"session_id":["s"]})", "wrong_type", "session_id"},
        {R"({"session_id":"\udc00"})", "bad_value", "session_id"},
        {R"({"tag":{}})", "wrong_type", "tag"},
        {R"({"tag":"a\u0000b"})", "escaped_nul", "tag"},
    };
    for (const auto& each : cases) {
        std::string text = "{\"ActivityExecute\":" + std::string(each.body) + "}";
        std::string path = std::string(".ActivityExecute.") + each.field;
        Activity activity;
        Problem problem;
        EXPECT_FALSE(read_activity(item_of(text), &activity, &problem)) << text;
        expect_problem(problem, each.code_detail, path.c_str());
    }
}

TEST(WorkItem, Timer) {
    struct {
        std::string_view value;
        int64_t fire_at_ms;
    } cases[] = {
        {"1800000000000", 1800000000000},
        {"0", 0},
        {"-5", -5},
        {"9223372036854775807", std::numeric_limits<int64_t>::max()},
        {"18446744073709551615", std::numeric_limits<int64_t>::max()},
        {"-18446744073709551615", std::numeric_limits<int64_t>::min()},
    };
    for (const auto& each : cases) {
        std::string text = "{\"TimerFired\":{\"fire_at_ms\":" + std::string(each.value) + "}}";
        int64_t fire_at_ms = 1;
        EXPECT_TRUE(read_timer(item_of(text), &fire_at_ms, nullptr)) << text;
        EXPECT_EQ(fire_at_ms, each.fire_at_ms);
    }
}

TEST(WorkItem, TimerProblems) {
    Problem problem;
    int64_t fire_at_ms = 0;
    EXPECT_FALSE(read_timer(item_of(R"({"TimerFired":{}})"), &fire_at_ms, &problem));
    expect_problem(problem, "missing_field", ".TimerFired.fire_at_ms");
    for (std::string_view value : {"null", "\"1\"", "1.5", "1e12", "[]"}) {
        std::string text = "{\"TimerFired\":{\"fire_at_ms\":" + std::string(value) + "}}";
        EXPECT_FALSE(read_timer(item_of(text), &fire_at_ms, &problem)) << text;
        expect_problem(problem, "wrong_type", ".TimerFired.fire_at_ms");
    }
}

TEST(WorkItem, LongPathsAreCutBetweenCharacters) {
    for (size_t shift = 0; shift < 4; ++shift) {
        std::string kind(shift, 'x');
        for (int i = 0; i < 100; ++i) {
            kind += "\xf0\x9f\x98\x80";
        }
        Problem problem;
        EXPECT_FALSE(routing(item_of("{\"" + kind + "\":{}}"), &problem));
        std::string path = problem.path;
        EXPECT_LT(path.size(), sizeof(problem.path));
        EXPECT_GE(path.size(), sizeof(problem.path) - 4);
        EXPECT_EQ((path.size() - 1 - shift) % 4, 0u);
        EXPECT_EQ("." + kind.substr(0, path.size() - 1), path);
    }
    Problem problem;
    set_problem(&problem, "bad_value", std::string(158, 'k'), "field");
    EXPECT_EQ(std::strlen(problem.path), 159u);
    set_problem(&problem, "bad_value", std::string(157, 'k'), "field");
    EXPECT_EQ(std::string(problem.path), "." + std::string(157, 'k') + ".");
    set_problem(&problem, "wrong_kind");
    expect_problem(problem, "wrong_kind", "");
}

}  // namespace
}  // namespace belay::core
