// belay completion: scripts that complete commands and options in a shell, made of the command line
// itself, so that they cannot fall behind it.
#include <iostream>

#include "tool.hpp"

namespace belay::tool {
namespace {

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const auto& word : words) {
        text += (text.empty() ? "" : " ") + word;
    }
    return text;
}

std::vector<std::string> options_of(const CLI::App& app) {
    std::vector<std::string> names;
    for (const auto* option : app.get_options()) {
        for (const auto& name : option->get_lnames()) {
            names.push_back("--" + name);
        }
    }
    return names;
}

// The first line of a help text, without what a shell would read as its own.
std::string summary_of(const std::string& text) {
    std::string line;
    for (const char c : text.substr(0, text.find('\n'))) {
        line += c == '\'' || c == '[' || c == ']' || c == ':' || c == '\\' ? ' ' : c;
    }
    return line;
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
    return app.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<std::string> names_of(const std::vector<const CLI::App*>& commands) {
    std::vector<std::string> names;
    for (const auto* command : commands) {
        names.push_back(command->get_name());
    }
    return names;
}

// What may follow a command: its subcommands, its options, and those of the program.
std::string words_after(const CLI::App& app, const CLI::App& command) {
    auto words = names_of(commands_of(command));
    for (const auto& name : options_of(command)) {
        words.push_back(name);
    }
    for (const auto& name : options_of(app)) {
        if (std::ranges::find(words, name) == words.end()) {
            words.push_back(name);
        }
    }
    return joined(words);
}

void print_bash(const CLI::App& app) {
    std::cout << "# bash completion of belay: source <(belay completion bash)\n"
                 "_belay() {\n"
                 "    local word command=\n"
                 "    for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
                 "        case $word in\n"
                 "            "
              <<
        [&] {
            std::string names = joined(names_of(commands_of(app)));
            std::ranges::replace(names, ' ', '|');
            return names;
        }()
              << ")\n                command=$word\n                break\n                ;;\n"
                 "        esac\n"
                 "    done\n"
                 "    case $command in\n";
    for (const auto* command : commands_of(app)) {
        std::cout << "        " << command->get_name() << ") word='" << words_after(app, *command)
                  << "' ;;\n";
    }
    std::cout << "        *) word='"
              << joined(names_of(commands_of(app))) + " " + joined(options_of(app))
              << "' ;;\n"
                 "    esac\n"
                 "    mapfile -t COMPREPLY < <(compgen -W \"$word\" -- "
                 "\"${COMP_WORDS[COMP_CWORD]}\")\n"
                 "}\n"
                 "complete -F _belay belay\n";
}

void print_zsh(const CLI::App& app) {
    std::cout << "#compdef belay\n"
                 "# zsh completion of belay: belay completion zsh >\"${fpath[1]}/_belay\"\n"
                 "_belay() {\n"
                 "    local -a commands words\n"
                 "    commands=(\n";
    for (const auto* command : commands_of(app)) {
        std::cout << "        '" << command->get_name() << ":"
                  << summary_of(command->get_description()) << "'\n";
    }
    std::cout << "    )\n"
                 "    local word command=\n"
                 "    for word in \"${(@)words[2,CURRENT-1]}\"; do\n"
                 "        if (( ${commands[(I)$word:*]} )); then command=$word; break; fi\n"
                 "    done\n"
                 "    case $command in\n";
    for (const auto* command : commands_of(app)) {
        std::cout << "        " << command->get_name() << ") compadd -- "
                  << words_after(app, *command) << " ;;\n";
    }
    std::cout << "        *) _describe command commands; compadd -- " << joined(options_of(app))
              << " ;;\n"
                 "    esac\n"
                 "}\n"
                 "compdef _belay belay\n";
}

void print_fish_option(const std::string& condition, const CLI::Option& option) {
    for (const auto& name : option.get_lnames()) {
        std::cout << "complete -c belay" << condition << " -l " << name
                  << (option.get_items_expected_max() > 0 ? " -r" : "") << " -d '"
                  << summary_of(option.get_description()) << "'\n";
    }
}

void print_fish(const CLI::App& app) {
    std::cout << "# fish completion of belay: belay completion fish | source\n"
                 "complete -c belay -f\n";
    for (const auto* option : app.get_options()) {
        print_fish_option("", *option);
    }
    for (const auto* command : commands_of(app)) {
        const std::string& name = command->get_name();
        std::cout << "complete -c belay -n __fish_use_subcommand -a " << name << " -d '"
                  << summary_of(command->get_description()) << "'\n";
        const std::string inside = " -n '__fish_seen_subcommand_from " + name + "'";
        for (const auto* option : command->get_options()) {
            print_fish_option(inside, *option);
        }
        for (const auto& word : names_of(commands_of(*command))) {
            std::cout << "complete -c belay" << inside << " -a " << word << "\n";
        }
    }
}

}  // namespace

void add_completion(CLI::App& app, Tool& tool) {
    auto shell = std::make_shared<std::string>();
    auto* command =
        app.add_subcommand("completion", "print a script that completes commands in a shell");
    command->add_option("SHELL", *shell, "bash, zsh or fish")
        ->required()
        ->check(CLI::IsMember({"bash", "zsh", "fish"}));
    on_run(tool, command, [&app, shell] {
        *shell == "bash" ? print_bash(app) : *shell == "zsh" ? print_zsh(app) : print_fish(app);
    });
}

}  // namespace belay::tool
