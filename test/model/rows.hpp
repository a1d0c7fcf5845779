// Rows as several transactions see them.
//
// A row has a committed form and, while a transaction holds it, the form that this transaction gave
// it. A row that does not exist can be held, too: then no other client can make it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace belay::test::model {

using Text = std::optional<std::string>;

constexpr int kNobody = -1;

// The call would wait for another transaction.
struct Blocked {};

// The call raises an error.
struct Refused {
    std::string sqlstate;
    std::string message;      // how it begins
    std::string code_detail;  // of the DETAIL
    std::string facts;        // what else the DETAIL must contain
};

// One row as the transactions see it.
template <typename Row>
struct Cell {
    std::optional<Row> committed;
    std::optional<Row> pending;
    int holder = kNobody;
    bool taken_away = false;  // the holder deleted the committed form, regardless of later changes
    std::set<int> keepers;    // they keep it from being deleted, not from being changed

    const std::optional<Row>& seen_by(int client) const {
        return holder == client && client != kNobody ? pending : committed;
    }
    bool held_from(int client) const { return holder != kNobody && holder != client; }
    bool kept_from(int client) const {
        return !keepers.empty() && (keepers.size() > 1 || !keepers.contains(client));
    }

    // What the client may change. Waits, that is throws, if another client holds the row.
    std::optional<Row>& hold(int client) {
        if (held_from(client)) {
            throw Blocked{};
        }
        if (holder == kNobody) {
            holder = client;
            pending = committed;
        }
        return pending;
    }

    // Keeps a row that the client sees. Waits for a client that deletes it.
    void keep(int client) {
        if (held_from(client) && taken_away) {
            throw Blocked{};
        }
        keepers.insert(client);
    }
    // Waits for a client that holds or keeps it, too.
    void take_away(int client) {
        if (kept_from(client)) {
            throw Blocked{};
        }
        hold(client) = std::nullopt;
        taken_away = taken_away || committed;
    }
};

template <typename Key, typename Row>
struct Table {
    std::map<Key, Cell<Row>> cells;

    const Row* find(const Key& key, int client) const {
        const auto cell = cells.find(key);
        const bool seen = cell != cells.end() && cell->second.seen_by(client);
        return seen ? &*cell->second.seen_by(client) : nullptr;
    }
    bool held_from(const Key& key, int client) const {
        const auto cell = cells.find(key);
        return cell != cells.end() && cell->second.held_from(client);
    }
    std::optional<Row>& hold(const Key& key, int client) { return cells[key].hold(client); }
    void keep(const Key& key, int client) {
        if (find(key, client) != nullptr) {
            cells[key].keep(client);
        }
    }
    // Whether no other client holds or keeps the row.
    bool is_free(const Key& key, int client) const {
        const auto cell = cells.find(key);
        return cell == cells.end() ||
               (!cell->second.held_from(client) && !cell->second.kept_from(client));
    }
    void take_away(const Key& key, int client) { cells[key].take_away(client); }

    // The rows that the client sees, by key.
    std::vector<const Row*> seen_by(int client) const {
        std::vector<const Row*> rows;
        for (const auto& [key, cell] : cells) {
            if (cell.seen_by(client)) {
                rows.push_back(&*cell.seen_by(client));
            }
        }
        return rows;
    }
    std::size_t count() const { return cells.size(); }

    void end(int client, bool commit) {
        for (auto at = cells.begin(); at != cells.end();) {
            auto& cell = at->second;
            cell.keepers.erase(client);
            if (cell.holder == client) {
                if (commit) {
                    cell.committed = cell.pending;
                }
                cell.pending = std::nullopt;
                cell.holder = kNobody;
                cell.taken_away = false;
            }
            at = cell.holder == kNobody && !cell.committed ? cells.erase(at) : std::next(at);
        }
    }
};

}  // namespace belay::test::model
