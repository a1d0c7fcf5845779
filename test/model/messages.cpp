#include "hub.hpp"

namespace belay::test::model {

// EO-5, AO-18.
int64_t Hub::send(int client, const Mail& mail, int64_t visible_at, int64_t now) {
    Message message;
    message.id = ++last.message;
    message.mail = mail;
    message.visible_at = visible_at;
    message.created_at = now;
    const int64_t fire_at = mail.fire_at.value_or(0);
    if (fire_at > 0 && fire_at > (visible_at == kServerClock ? server_now() : visible_at)) {
        message.visible_at = fire_at;
    }
    messages.hold(message.id, client) = message;
    return message.id;
}

std::vector<const Message*> Hub::messages_of(int client, const std::string& instance) const {
    std::vector<const Message*> found;
    for (const Message* message : messages.seen_by(client)) {
        if (message->mail.instance == instance) {
            found.push_back(message);
        }
    }
    return found;
}

void Hub::settle_aside(int client, const std::string& instance, const std::string& token) {
    for (const Message* message : messages_of(client, instance)) {
        if (message->token != token || token.empty()) {
            messages.hold(message->id, client)->aside = false;
        }
    }
}

}  // namespace belay::test::model
