// Calls that send messages to instances.
#include "made_up.hpp"

namespace belay::test::model {

namespace {

using std::to_string;
using When = Operation::When;

bool is_full(const Scene& scene) {
    return scene.hub.messages.count() > kFull;
}

// When a message is to be seen: now, around now, or never.
int64_t made_visible_at(Scene* scene) {
    auto& random = scene->random;
    const int64_t dice = random.number(1, 100);
    return dice <= 55 ? scene->now : dice <= 99 ? scene->now + random.number(-800, 2500) : kNever;
}

// Cut to whole milliseconds, it is the instant.
std::string timestamp_sql(Scene* scene, int64_t ms) {
    if (ms == kNever) {
        return "'infinity'";
    }
    return "timestamptz 'epoch' + interval '1 ms' * " + to_string(ms) +
           (scene->random.percent(20) ? " + interval '900 us'" : "");
}

// The caller's clock, at times the server's, in the model and in SQL.
struct Now {
    int64_t ms;
    std::string sql;
};

Now made_now(Scene* scene) {
    return scene->random.percent(92) ? Now{scene->now, to_string(scene->now)}
                                     : Now{kServerClock, "NULL"};
}

std::optional<Call> enqueue_orchestrator_work(Scene* scene) {
    if (is_full(*scene)) {
        return std::nullopt;
    }
    const Mail mail = made_mail(scene);
    const auto visible_at = sometimes(scene, 90, made_visible_at(scene));
    return Call{"SELECT app.enqueue_orchestrator_work(" + sql(sometimes(scene, 50, mail.instance)) +
                    ", " + sql(Text(mail.text)) + ", " +
                    (visible_at ? timestamp_sql(scene, *visible_at) : std::string("NULL")) +
                    (scene->random.percent(20) ? ", 'ignored', 'ignored', 7)" : ")"),
                [mail, visible_at, client = scene->client](Hub* hub) {
                    hub->send(client, mail, visible_at.value_or(kServerClock), kServerClock);
                    return kVoid;
                }};
}

std::optional<Call> enqueue_orchestrator_items(Scene* scene) {
    if (is_full(*scene)) {
        return std::nullopt;
    }
    auto& random = scene->random;
    std::vector<std::pair<Mail, int64_t>> sent;
    std::vector<std::string> elements;
    const Text to_one = sometimes(scene, 30, made_instance(scene));
    for (int64_t n = random.number(0, 5); n > 0; --n) {
        const Mail mail = made_mail(scene, to_one);
        JsonObject item;
        item.raw("work_item", element(scene, mail.text));
        item.some("instance_id", sometimes(scene, 30, mail.instance));
        int64_t visible_at = scene->now;
        if (random.percent(40)) {
            visible_at = scene->now + random.number(-800, 2500);
            item.number("visible_at_ms", visible_at);
        }
        sent.emplace_back(mail, visible_at);
        elements.push_back(item.printed());
    }
    return Call{"SELECT app.enqueue_orchestrator_items('[" + listed(elements) + "]', " +
                    to_string(scene->now) + ")",
                [sent, client = scene->client, now = scene->now](Hub* hub) {
                    for (const auto& [mail, visible_at] : sent) {
                        hub->send(client, mail, visible_at, now);
                    }
                    return Expected{{to_string(sent.size())}};
                }};
}

// ---- Short forms ----

Mail start_mail(const std::string& instance, const std::string& name, const std::string& input,
                const Text& version) {
    Mail mail;
    mail.instance = instance;
    mail.kind = "StartOrchestration";
    mail.name = name;
    mail.version = version;
    mail.text = "{\"StartOrchestration\":{\"instance\":" + json(instance) +
                ",\"orchestration\":" + json(name) + ",\"input\":" + json(input) +
                ",\"version\":" + json(version) +
                ",\"parent_instance\":null,\"parent_id\":null,\"execution_id\":1}}";
    return mail;
}

bool is_uuid7(const std::string& text) {
    return text.size() == 36 && text[14] == '7' && std::count(text.begin(), text.end(), '-') == 4;
}

std::optional<Call> start_orchestration(Scene* scene) {
    if (is_full(*scene)) {
        return std::nullopt;
    }
    auto& random = scene->random;
    const Text instance = sometimes(scene, 85, made_instance(scene));
    const std::string name = "orch" + to_string(random.number(0, 3));
    const std::string input = to_string(++scene->memory.serial);
    const Text version = sometimes(scene, 50, std::string("1.1"));
    const Now now = made_now(scene);
    const int64_t delay = now.ms == kServerClock || random.percent(75) ? 0 : random.number(1, 2500);
    Call call;
    call.sql = "SELECT app.start_orchestration(" + sql(Text(name)) + ", " + sql(Text(input)) +
               ", " + sql(instance) + ", " + sql(version) + ", " + to_string(delay) + ", " +
               now.sql + ")";
    call.apply = [=, client = scene->client](Hub* hub) {
        hub->send(client, start_mail(instance.value_or("?"), name, input, version), now.ms + delay,
                  now.ms);
        return Expected{{instance ? instance : kAnything}};
    };
    call.learn = [=, client = scene->client](Hub* hub, const Answer& answer) {
        const std::string id = answer.rows.at(0).at(0).value_or("");
        if (!instance) {
            if (!is_uuid7(id)) {
                return "not a version-7 uuid: " + id;
            }
            hub->messages.hold(hub->last.message, client)->mail =
                start_mail(id, name, input, version);
        }
        return std::string();
    };
    return call;
}

std::optional<Call> raise_event(Scene* scene) {
    if (is_full(*scene)) {
        return std::nullopt;
    }
    const bool queued = scene->random.percent(50);
    Mail mail;
    mail.instance = made_instance(scene);
    mail.kind = queued ? "QueueMessage" : "ExternalRaised";
    const std::string data = to_string(++scene->memory.serial);
    mail.text = "{\"" + mail.kind + "\":{\"instance\":" + json(mail.instance) +
                ",\"name\":\"go\",\"data\":" + json(data) + "}}";
    const Now now = made_now(scene);
    return Call{"SELECT app.raise_event(" + sql(Text(mail.instance)) + ", 'go', " +
                    sql(Text(data)) + ", " + (queued ? "true" : "false") + ", " + now.sql + ")",
                [mail, client = scene->client, now = now.ms](Hub* hub) {
                    hub->send(client, mail, now, now);
                    return kVoid;
                }};
}

std::optional<Call> cancel_instance(Scene* scene) {
    if (is_full(*scene)) {
        return std::nullopt;
    }
    Mail mail;
    mail.instance = made_instance(scene);
    mail.kind = "CancelInstance";
    mail.text =
        "{\"CancelInstance\":{\"instance\":" + json(mail.instance) + ",\"reason\":\"user\"}}";
    const Now now = made_now(scene);
    return Call{
        "SELECT app.cancel_instance(" + sql(Text(mail.instance)) + ", 'user', " + now.sql + ")",
        [mail, client = scene->client, now = now.ms](Hub* hub) {
            hub->send(client, mail, now, now);
            return kVoid;
        }};
}

// ---- Bad calls ----

std::optional<Call> bad_message_call(Scene* scene) {
    static constexpr BadCall kBad[] = {
        {"SELECT app.enqueue_orchestrator_work(NULL, '{', NULL)", "not_json", "p_work_item"},
        {"SELECT app.enqueue_orchestrator_work('i1', '[]', NULL)", "not_an_object", "p_work_item"},
        {"SELECT app.enqueue_orchestrator_work(NULL, '{\"A\":{},\"B\":{}}', NULL)", "not_one_key",
         "p_work_item"},
        {"SELECT app.enqueue_orchestrator_work(NULL, '{\"ActivityExecute\":{\"instance\":\"i1\"}}',"
         " NULL)",
         "wrong_kind", "p_work_item"},
        {"SELECT app.enqueue_orchestrator_work('i1', '{\"QueueMessage\":{\"name\":\"q\"}}', NULL)",
         "missing_field", "p_work_item.QueueMessage.instance"},
        {"SELECT app.enqueue_orchestrator_work(NULL, '{\"TimerFired\":{\"instance\":\"i1\"}}', "
         "NULL)",
         "missing_field", "p_work_item.TimerFired.fire_at_ms"},
        {"SELECT app.enqueue_orchestrator_work('i2', '{\"Pinged\":{\"instance\":\"i1\"}}', NULL)",
         "instance_mismatch", "p_instance_id"},
        {"SELECT app.enqueue_orchestrator_items('[{\"work_item\":{\"Pinged\":{\"instance\":\"i1\"}}"
         "}, {\"work_item\":{\"SubOrchFailed\":{\"instance\":\"i1\"}}}]', $N)",
         "missing_field", "p_items[1].work_item.SubOrchFailed.parent_instance"},
        {"SELECT app.start_orchestration('', p_now_ms => $N)", "empty", "p_name"},
        {"SELECT app.start_orchestration('o', p_delay_ms => -1, p_now_ms => $N)", "out_of_range",
         "p_delay_ms"},
        {"SELECT app.raise_event('i1', NULL, p_now_ms => $N)", "null", "p_name"},
        {"SELECT app.cancel_instance(NULL, p_now_ms => $N)", "null", "p_instance_id"},
    };
    return refused_call(scene, kBad);
}

constexpr Operation kOperations[] = {
    {"enqueue_orchestrator_work", 16, When::kAlways, enqueue_orchestrator_work},
    {"enqueue_orchestrator_items", 6, When::kAlways, enqueue_orchestrator_items},
    {"start_orchestration", 8, When::kAlways, start_orchestration},
    {"raise_event", 4, When::kAlways, raise_event},
    {"cancel_instance", 2, When::kAlways, cancel_instance},
    {"bad_message_call", 2, When::kAlways, bad_message_call},
};

}  // namespace

std::span<const Operation> message_operations() {
    return kOperations;
}

}  // namespace belay::test::model
