#include "journal.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace belay::test::soak {

int64_t steady_us() {
    return std::chrono::duration_cast<std::chrono::microseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

int64_t wall_ms() {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

Journal::Journal(const std::string& path)
    : file_(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) {
    if (file_ < 0) {
        throw std::runtime_error("cannot open " + path);
    }
}

Journal::~Journal() {
    close(file_);
}

void Journal::write_line(char letter, std::string_view word,
                         const std::vector<std::string>& fields) {
    std::string line(1, letter);
    line += '\t' + std::to_string(steady_us()) + '\t' + std::to_string(wall_ms()) + '\t';
    line += word;
    for (const auto& field : fields) {
        line += '\t';
        for (const char c : field) {
            line += c == '\t' || c == '\n' ? ' ' : c;
        }
    }
    line += '\n';
    if (::write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
        throw std::runtime_error("cannot write the journal");
    }
}

void Journal::begin(std::string_view kind, const std::vector<std::string>& args) {
    write_line('B', kind, args);
}

void Journal::end(Outcome outcome, const std::vector<std::string>& answer) {
    write_line('E',
               outcome == Outcome::kDone      ? "done"
               : outcome == Outcome::kRefused ? "refused"
                                              : "unknown",
               answer);
}

std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> parts;
    while (!text.empty()) {
        const auto end = text.find(separator);
        parts.emplace_back(text.substr(0, end));
        text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    }
    return parts;
}

std::pair<std::string, std::string> pair_of(const std::string& text) {
    const auto at = text.find('=');
    return {text.substr(0, at), at == std::string::npos ? "" : text.substr(at + 1)};
}

std::string joined(const std::vector<std::string>& parts, char separator) {
    std::string text;
    for (const auto& part : parts) {
        text += (text.empty() ? std::string() : std::string(1, separator)) + part;
    }
    return text;
}

std::vector<Call> read_journals(const std::string& directory) {
    std::vector<Call> calls;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
        std::ifstream file(entry.path());
        const int client = std::stoi(entry.path().filename());
        bool open = false;
        for (std::string line; std::getline(file, line);) {
            auto parts = split(line, '\t');
            if (file.eof() || parts.size() < 4) {
                break;  // the last record of a killed client, cut short
            }
            const int64_t at_us = std::stoll(parts[1]);
            const int64_t at_ms = std::stoll(parts[2]);
            std::vector<std::string> fields(parts.begin() + 4, parts.end());
            if (parts[0] == "B") {
                calls.push_back({.kind = parts[3],
                                 .args = fields,
                                 .sent_us = at_us,
                                 .sent_ms = at_ms,
                                 .client = client});
                open = true;
            } else if (open) {
                Call& call = calls.back();
                call.outcome = parts[3] == "done"      ? Outcome::kDone
                               : parts[3] == "refused" ? Outcome::kRefused
                                                       : Outcome::kUnknown;
                call.answer = fields;
                if (call.outcome != Outcome::kUnknown) {
                    call.got_us = at_us;
                    call.got_ms = at_ms;
                }
                open = false;
            }
        }
    }
    return calls;
}

}  // namespace belay::test::soak
