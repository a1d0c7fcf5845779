// Hubs of older versions, frozen in test/upgrade, brought to life in a database of the test.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cluster.hpp"

namespace belay::test {

// The versions that are frozen with rows in them.
inline constexpr int kFrozen[] = {2, 3, 7, 9};

// When the frozen rows were made, in ms. Leases of then end an hour later, or more.
inline constexpr long long kThen = 4102444800000;

// Makes the roles that own and use a frozen hub. Once per cluster.
void make_upgrade_roles(Cluster& cluster);

// A database in which upgrade_owner may have hubs.
void make_upgrade_database(Cluster& cluster, const std::string& database);

// A database with hub "old" of that version, as if it had always been there: its leases are live.
void revive(Cluster& cluster, const std::string& database, int version);

// A database with a hub "old" made by this library, with the grants of a frozen one.
void make_fresh(Cluster& cluster, const std::string& database);

// Dumps a database and restores it as another one.
void dump_and_restore(Cluster& cluster, const std::string& from, const std::string& to);

// What the hub is made of, one line for each part, sorted: schema, tables, columns, constraints,
// indexes, sequences, functions, views, comments, owners, grants.
std::vector<std::string> shape(Conn& conn);

// The rows of each of the hub's tables, and the state of each of its sequences, as text, sorted.
std::map<std::string, std::vector<std::string>> contents(Conn& conn);

// What the frozen hub's workers remember: a token, an epoch.
std::string kept(Conn& conn, const std::string& what);

}  // namespace belay::test
