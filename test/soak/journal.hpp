// What a load client writes down: every call before it is sent, and what became of it.
//
// One file per process, only ever appended to, each record in one write: so what a killed client
// knew is still there. Times are those of the machine: the steady clock orders calls of different
// processes, the wall clock is the one by which the server grants leases.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace belay::test::soak {

int64_t steady_us();
int64_t wall_ms();

enum class Outcome {
    kUnknown,  // sent, and no answer: it may have happened, or may still
    kDone,     // acknowledged
    kRefused,  // an error: nothing of it happened
};

// One call, as the reader of a journal sees it.
struct Call {
    std::string kind;
    std::vector<std::string> args;
    int64_t sent_us = 0;
    int64_t sent_ms = 0;
    Outcome outcome = Outcome::kUnknown;
    int64_t got_us = INT64_MAX;
    int64_t got_ms = INT64_MAX;
    std::vector<std::string> answer = {};  // of a refused call: SQLSTATE and message
    int client = 0;                        // number of the client that made it
};

class Journal {
 public:
    explicit Journal(const std::string& path);
    ~Journal();
    Journal(const Journal&) = delete;
    Journal& operator=(const Journal&) = delete;

    void begin(std::string_view kind, const std::vector<std::string>& args);
    void end(Outcome outcome, const std::vector<std::string>& answer);

 private:
    void write_line(char letter, std::string_view word, const std::vector<std::string>& fields);

    int file_;
};

// All calls of all journals of a directory; each is named after its client. A call without an end
// is of unknown outcome.
std::vector<Call> read_journals(const std::string& directory);

// "a,b" as its parts; "a=b" as its two.
std::vector<std::string> split(std::string_view text, char separator);
std::pair<std::string, std::string> pair_of(const std::string& text);
std::string joined(const std::vector<std::string>& parts, char separator = ',');

}  // namespace belay::test::soak
