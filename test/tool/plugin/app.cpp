// The plugin of the tests of `belay replay-history`: one orchestration as its histories have it,
// one that was changed.
#include <belay/durable.hpp>

namespace {

using belay::Context;
using belay::Durable;

constexpr belay::ActivityOf<std::string(std::string)> check{"Check"};
constexpr belay::OrchestrationOf<std::string(std::string)> same{"Same"};
constexpr belay::OrchestrationOf<std::string(std::string)> changed{"Changed"};

Durable<std::string> wait(Context ctx, std::string name) {
    if (ctx.version("greet first", 1) >= 1) {
        ctx.set_status("waiting for " + name);
    }
    std::string text = co_await ctx.event<std::string>("go");
    co_return text;
}

Durable<std::string> check_and_wait(Context ctx, std::string name) {
    std::string verdict = co_await ctx.call(check, name);
    std::string text = co_await ctx.event<std::string>("go");
    co_return verdict + text;
}

}  // namespace

extern "C" void belay_register(belay::Registry& registry) {
    registry.on(same, &wait);
    registry.on(changed, &check_and_wait);
}
