// Files that appear under their name only when they are whole: they are written beside it under a name of
// nobody's and renamed. What is written belongs to the callers.
#pragma once

#include <functional>
#include <string>

namespace tilewright {

// The file that a path means: symbolic links are followed, also one to a file that does not exist yet, so
// that replacing the file leaves the link in place. Of links that lead round in a circle it is one of them.
std::string followed_path(const std::string& path);

// Calls make(name) with names in the folder of `path` until one is nobody's, which make tells by returning
// another error number than EEXIST: 0, or what went wrong. Names do not grow with that of `path`.
int make_beside(const std::string& path, const std::function<int(const std::string& name)>& make,
                std::string& name);

// Gives an open file the access rights of the file that it is to replace, where there is one.
void keep_mode(int file, const std::string& path);

// Replaces the file by one that holds `text`; the access rights stay. Returns 0, or an error number, and then
// the file is as it was and nothing lies beside it.
int replace_file(const std::string& path, const std::string& text);

// Whether an error number says that nobody could write a file of that path.
bool is_wrong_path(int error);

// As replace_file, and a device or pipe of that name is written into.
int write_file(const std::string& path, const std::string& text);

}  // namespace tilewright
