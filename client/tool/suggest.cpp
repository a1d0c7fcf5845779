// Which command was perhaps meant: names at a small distance.
//
// May touch: its arguments. Must not: run anything; the program prints what is found.
#include "suggest.hpp"

#include <algorithm>

namespace belay::tool {

std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::vector<std::size_t>> cost(a.size() + 1,
                                               std::vector<std::size_t>(b.size() + 1));
    for (std::size_t i = 0; i <= a.size(); ++i) {
        for (std::size_t j = 0; j <= b.size(); ++j) {
            if (i == 0 || j == 0) {
                cost[i][j] = i + j;
                continue;
            }
            const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
            cost[i][j] =
                std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + change});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
            }
        }
    }
    return cost[a.size()][b.size()];
}

std::vector<std::string> near_names(std::string_view word, const std::vector<std::string>& names) {
    std::vector<std::pair<std::size_t, std::string>> found;
    for (const auto& name : names) {
        // Of short words fewer letters may be wrong; the beginning of a name is as good.
        const std::size_t most = word.size() < 4 ? 1 : word.size() < 8 ? 2 : 3;
        const std::size_t far = distance(word, name);
        if (far <= most) {
            found.emplace_back(far, name);
        } else if (word.size() >= 2 && name.starts_with(word)) {
            found.emplace_back(most, name);
        }
    }
    std::ranges::stable_sort(found, {}, &std::pair<std::size_t, std::string>::first);
    std::vector<std::string> near;
    for (std::size_t i = 0; i < found.size() && i < 3; ++i) {
        near.push_back(found[i].second);
    }
    return near;
}

std::optional<UnknownCommand> unknown_command(const CLI::App& app, int argc,
                                              const char* const* argv) {
    const CLI::App* at = &app;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        if (word.starts_with("-")) {
            // Options of the program may stand anywhere; the value of one is no command.
            const CLI::Option* option = at->get_option_no_throw(word);
            if (option == nullptr) {
                option = app.get_option_no_throw(word);
            }
            i += option != nullptr && option->get_items_expected_max() > 0 ? 1 : 0;
            continue;
        }
        std::vector<std::string> names;
        const CLI::App* next = nullptr;
        for (const CLI::App* command : at->get_subcommands({})) {
            names.push_back(command->get_name());
            next = command->get_name() == word ? command : next;
        }
        if (names.empty()) {
            return std::nullopt;
        }
        if (next == nullptr) {
            return UnknownCommand{word, at == &app ? "" : at->get_name(), near_names(word, names)};
        }
        at = next;
    }
    return std::nullopt;
}

}  // namespace belay::tool
