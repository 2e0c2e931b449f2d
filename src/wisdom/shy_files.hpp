// Files as SQLite opens them for wisdom: a database file is open only while it is locked. Between two lookups
// a Context holds no descriptor, so that a program that closes all (closefrom, as daemons do) and gives the
// numbers to files of its own never has these read, written or closed. And the first bytes of any file, read
// in the one way that leaves other connections of the process their locks.
#pragma once

#include <string>

namespace tilewright::sqlite {

// The name under which SQLite knows these files. A write-ahead log would need files that stay open: databases
// that have one cannot be opened under this name. Throws std::bad_alloc where SQLite cannot be started.
const char* shy_files();

// At most `count` bytes; fewer at the end of the file, none where it is missing, unreadable or not a regular
// file. POSIX drops every lock of a process on a file when the process closes any descriptor of it, and
// nothing but SQLite knows of its own: no other code may open a file that may be a database.
std::string first_bytes(const std::string& path, int count);

// Whether a file begins as databases of SQLite do.
bool is_database(const std::string& path);

}  // namespace tilewright::sqlite
