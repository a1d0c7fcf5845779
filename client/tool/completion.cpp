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

// Those that are followed by a value, as the shell sees them.
std::vector<std::string> options_with_value(const CLI::App& app) {
    std::vector<std::string> names;
    for (const auto* option : app.get_options()) {
        if (option->get_items_expected_max() == 0) {
            continue;
        }
        for (const auto& name : option->get_lnames()) {
            names.push_back("--" + name);
        }
        for (const auto& name : option->get_snames()) {
            names.push_back("-" + name);
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

// As a pattern of a shell's case.
std::string alternatives(const std::vector<std::string>& words) {
    std::string text = joined(words);
    std::ranges::replace(text, ' ', '|');
    return text;
}

// The branches of a case of the command: sets offered to what may follow it, and values to the
// options whose value is not completed.
std::string branches(const CLI::App& app, const char* open, const char* close) {
    const std::string common = joined(options_with_value(app));
    const auto branch = [&](const std::string& pattern, const std::string& offered,
                            const std::string& values) {
        return "        " + pattern + ") offered=" + open + offered + close + " values='" + common +
               (values.empty() ? "" : " " + values) + "' ;;\n";
    };
    std::string text;
    for (const auto* command : commands_of(app)) {
        text += branch(command->get_name(), words_after(app, *command),
                       joined(options_with_value(*command)));
    }
    return text +
           branch("*", joined(names_of(commands_of(app))) + " " + joined(options_of(app)), "");
}

// The value of an option before the command is no command, even if it is the name of one.
void print_bash(const CLI::App& app) {
    std::cout << "# bash completion of belay: source <(belay completion bash)\n"
                 "_belay() {\n"
                 "    local i command= offered values\n"
                 "    COMPREPLY=()\n"
                 "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
                 "        case ${COMP_WORDS[i]} in\n"
                 "            "
              << alternatives(options_with_value(app))
              << ")\n"
                 "                # bash makes three words of --hub=app.\n"
                 "                [[ ${COMP_WORDS[i + 1]} != = ]] || i=$((i + 1))\n"
                 "                i=$((i + 1))\n"
                 "                ;;\n"
                 "            "
              << alternatives(names_of(commands_of(app)))
              << ")\n"
                 "                command=${COMP_WORDS[i]}\n"
                 "                break\n"
                 "                ;;\n"
                 "        esac\n"
                 "    done\n"
                 "    case $command in\n"
              << branches(app, "'", "'")
              << "    esac\n"
                 "    [[ \" = $values \" != *\" ${COMP_WORDS[COMP_CWORD - 1]} \"* ]] || return 0\n"
                 "    mapfile -t COMPREPLY < <(compgen -W \"$offered\" -- "
                 "\"${COMP_WORDS[COMP_CWORD]}\")\n"
                 "}\n"
                 "complete -F _belay belay\n";
}

// The file is found through fpath and is the body of a function that defines the function: the
// first call has to call it, too. Sourced, it only registers the function.
void print_zsh(const CLI::App& app) {
    std::cout << "#compdef belay\n"
                 "# zsh completion of belay: belay completion zsh >\"${fpath[1]}/_belay\"\n"
                 "_belay() {\n"
                 "    local i command= values\n"
                 "    local -a described offered\n"
                 "    described=(\n";
    for (const auto* command : commands_of(app)) {
        std::cout << "        '" << command->get_name() << ":"
                  << summary_of(command->get_description()) << "'\n";
    }
    std::cout
        << "    )\n"
           "    for ((i = 2; i < CURRENT; i++)); do\n"
           "        case $words[i] in\n"
           "            ("
        << alternatives(options_with_value(app)) << ") ((i++)) ;;\n"
        << "            (" << alternatives(names_of(commands_of(app)))
        << ") command=$words[i]; break ;;\n"
           "        esac\n"
           "    done\n"
           "    case $command in\n"
        << branches(app, "(", ")")
        << "    esac\n"
           "    [[ \" $values \" != *\" $words[CURRENT-1] \"* ]] || return 0\n"
           "    if [[ -z $command ]]; then _describe command described; fi\n"
           "    compadd -- $offered\n"
           "}\n"
           "if [[ $funcstack[1] == _belay ]]; then _belay \"$@\"; else compdef _belay belay; fi\n";
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
                 "# True if the command line has this command, or with '' none yet.\n"
                 "function __belay_command_is --argument-names wanted\n"
                 "    set -l found ''\n"
                 "    set -l is_value no\n"
                 "    for word in (commandline -opc)[2..]\n"
                 "        if test $is_value = yes\n"
                 "            set is_value no\n"
                 "        else if contains -- $word "
              << joined(options_with_value(app))
              << "\n"
                 "            set is_value yes\n"
                 "        else if not string match -q -- '-*' $word\n"
                 "            set found $word\n"
                 "            break\n"
                 "        end\n"
                 "    end\n"
                 "    test \"$found\" = \"$wanted\"\n"
                 "end\n"
                 "complete -c belay -f\n";
    for (const auto* option : app.get_options()) {
        print_fish_option("", *option);
    }
    for (const auto* command : commands_of(app)) {
        const std::string& name = command->get_name();
        std::cout << "complete -c belay -n '__belay_command_is \"\"' -a " << name << " -d '"
                  << summary_of(command->get_description()) << "'\n";
        const std::string inside = " -n '__belay_command_is " + name + "'";
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
