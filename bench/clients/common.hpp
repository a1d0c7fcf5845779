// What the programs of bench/clients in C++ have in common: their arguments and their figures.
#pragma once

#include <sys/resource.h>

#include <charconv>
#include <cstddef>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

namespace bench {

// The NAME=VALUE arguments; all values are whole numbers.
class Settings {
 public:
    Settings(int count, char** words) {
        for (int i = 0; i < count; ++i) {
            const std::string_view word = words[i];
            const auto equals = word.find('=');
            std::size_t value = 0;
            const char* end = word.data() + word.size();
            if (equals == std::string_view::npos ||
                std::from_chars(word.data() + equals + 1, end, value).ptr != end) {
                throw std::invalid_argument("not NAME=NUMBER: " + std::string(word));
            }
            values_[std::string(word.substr(0, equals))] = value;
        }
    }
    std::size_t operator[](const std::string& name) const {
        const auto found = values_.find(name);
        if (found == values_.end()) {
            throw std::invalid_argument("no value for " + name);
        }
        return found->second;
    }

 private:
    std::map<std::string, std::size_t> values_;
};

inline void print(const char* name, double value) {
    std::printf("%s %.3f\n", name, value);
}

// CPU seconds of this process.
inline double cpu_seconds() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace bench
