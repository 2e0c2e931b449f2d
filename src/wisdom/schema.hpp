// The layout of a wisdom database: how a file is recognised as one, made, and brought up from an older
// version. The records themselves are read and written by store.hpp.
#pragma once

#include <chrono>

#include "wisdom/sqlite.hpp"

namespace tilewright {

inline constexpr std::int64_t wisdom_application_id = 0x54777773;  // "Twws", in the header of the file
// 1: records without driver, default time, candidates, reason and keys. 2: with them, but error, energy and
// what was observed only as other keys of the line, and kinds without their extent. 3: with columns for them.
// 4: keys that hold c of real types as t; the columns are those of 3. 5: keys with operation and math mode,
// source hashes as they are taken since kernels have a folder for each family, and fitted models. 6: without
// what a search on disk needed (cells, the extent of kinds), models with variants.
inline constexpr std::int64_t wisdom_schema_version = 6;

// What a file that SQLite could open is.
enum class SchemaState : std::uint8_t { empty, older, current };

// To be asked within a transaction, or what another process is making may look like a foreign file half-way.
// Throws Error(io) with the reason where it is another program's database, was made by a newer version, or
// holds what no tilewright puts there: triggers, views, virtual tables, other columns.
SchemaState schema_state(sqlite::Connection& connection);

// Makes the tables, or moves what an older version holds into them, within one transaction. Several processes
// may try at once, and wait so long for each other.
void upgrade_schema(sqlite::Connection& connection, std::chrono::milliseconds wait);

// The same from a file of an older version, which stays as it is, to an empty database.
void upgrade_copy(sqlite::Connection& older, sqlite::Connection& copy, std::chrono::milliseconds wait);

}  // namespace tilewright
