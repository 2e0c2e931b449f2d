// Reads and writes the header of .npy files, versions 1 to 3: a Python dictionary literal with descr,
// fortran_order and shape, read by a small parser of exactly that form and written in NumPy's form.
#include <fmt/format.h>

#include <cctype>
#include <limits>

#include "arrays/npy.hpp"
#include "core/input/checked.hpp"
#include "core/input/printable.hpp"
#include "people/refusal.hpp"

namespace tilewright::cli {

namespace {

constexpr std::string_view magic = "\x93NUMPY";

// Parses the dictionary literal; reports any deviation through fail().
class Literal {
 public:
  Literal(std::string_view text, const std::string& argument, const std::string& what)
      : text_(text), argument_(argument), what_(what) {}

  bool accept(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect_end() {
    skip_space();
    if (at_ < text_.size())
      fail(fmt::format("its header continues after its dictionary, at position {}", at_));
  }
  void expect(char c) {
    if (!accept(c)) fail(fmt::format("its header lacks '{}' at position {}", c, at_));
  }
  bool peek(char c) {
    skip_space();
    return at_ < text_.size() && text_[at_] == c;
  }

  std::string quoted() {
    skip_space();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '\'' && quote != '"')
      fail(fmt::format("its header lacks a quoted word at position {}", at_));
    const auto end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail("its header ends inside a quoted word");
    std::string word(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return word;
  }

  bool boolean() {
    skip_space();
    for (const auto& [word, value] : {std::pair{std::string_view("True"), true}, {"False", false}})
      if (text_.substr(at_, word.size()) == word) {
        at_ += word.size();
        return value;
      }
    fail("fortran_order in its header is neither True nor False");
  }

  std::int64_t integer() {
    skip_space();
    std::int64_t value = 0;
    const std::size_t begin = at_;
    for (; at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])); ++at_)
      if (__builtin_mul_overflow(value, 10, &value) ||
          __builtin_add_overflow(value, text_[at_] - '0', &value))
        fail("a number in its shape exceeds 2^63");
    if (at_ == begin) fail(fmt::format("its header lacks a number at position {}", at_));
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // written by Python 2
    return value;
  }

  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> values;
    expect('(');
    while (!accept(')')) {
      values.push_back(integer());
      if (accept(',')) continue;
      expect(')');
      break;
    }
    return values;
  }

  [[noreturn]] void fail(const std::string& reason) const {
    wrong_use(argument_, "{} is not a valid .npy file: {}", what_, reason);
  }

 private:
  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  const std::string& argument_;
  const std::string& what_;
};

DType dtype_from_descr(const std::string& descr, const std::string& argument, const std::string& what) {
  for (const auto& [name, dtype] :
       {std::pair{"f4", DType::f32}, {"f8", DType::f64}, {"c8", DType::c64}, {"c16", DType::c128}}) {
    if (descr == std::string("<") + name) return dtype;
    if (descr == std::string(">") + name)
      wrong_use(argument, "{} has dtype '{}', which is big-endian (expected '<{}')", what, printable(descr),
                name);
  }
  wrong_use(argument, "{} has dtype '{}', which is not one of '<f4', '<f8', '<c8', '<c16'", what,
            printable(descr));
}

const char* descr_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "<f4";
    case DType::f64:
      return "<f8";
    case DType::c64:
      return "<c8";
    case DType::c128:
      return "<c16";
  }
  return "";
}

std::uint32_t little_endian(std::string_view bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

// Returns the text of the dictionary in the file.
std::string_view dictionary(std::string_view file, Literal& report) {
  if (file.substr(0, magic.size()) != magic) report.fail("it does not begin with the NumPy magic");
  if (file.size() < 10) report.fail("it ends inside its header");
  const int version = static_cast<unsigned char>(file[6]);
  if (version < 1 || version > 3)
    report.fail(fmt::format("its format version is {}, not 1, 2 or 3", version));
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  const std::size_t begin = 8 + length_bytes;
  if (file.size() < begin) report.fail("it ends inside its header");
  const std::size_t length = little_endian(file.substr(8, length_bytes));
  if (length > file.size() - begin) report.fail("it ends inside its header");
  return file.substr(begin, length);
}

void check_product(const NpyHeader& header, const Literal& report) {
  std::int64_t bytes = size_bytes(header.dtype);
  for (const std::int64_t extent : header.shape)
    if (extent != 0) bytes = saturating_product(bytes, extent);
  if (bytes > std::numeric_limits<std::int64_t>::max() / 2)
    report.fail(fmt::format("its shape {} exceeds 2^62 bytes", shape_text(header.shape)));
}

}  // namespace

std::int64_t NpyHeader::count() const {
  std::int64_t product = 1;
  for (const std::int64_t extent : shape) product = saturating_product(product, extent);
  return product;
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  if (shape.size() == 1) return fmt::format("({},)", shape[0]);
  return fmt::format("({})", fmt::join(shape, ", "));
}

NpyHeader parse_npy_header(std::string_view file, const std::string& argument, const std::string& what) {
  Literal report({}, argument, what);
  const std::string_view text = dictionary(file, report);
  NpyHeader header;
  header.data_offset = static_cast<std::int64_t>(text.data() + text.size() - file.data());
  Literal literal(text, argument, what);
  bool has_descr = false, has_order = false, has_shape = false;
  literal.expect('{');
  while (!literal.accept('}')) {
    const std::string key = literal.quoted();
    if ((key == "descr" && has_descr) || (key == "fortran_order" && has_order) ||
        (key == "shape" && has_shape))
      literal.fail(fmt::format("its header has '{}' twice", key));
    literal.expect(':');
    if (key == "descr") {
      if (literal.peek('[')) literal.fail("its dtype has fields (expected '<f4', '<f8', '<c8' or '<c16')");
      header.dtype = dtype_from_descr(literal.quoted(), argument, what);
      has_descr = true;
    } else if (key == "fortran_order") {
      header.fortran_order = literal.boolean();
      has_order = true;
    } else if (key == "shape") {
      header.shape = literal.tuple();
      has_shape = true;
    } else {
      literal.fail(fmt::format("its header has the unknown key '{}'", printable(key)));
    }
    if (!literal.accept(',') && !literal.peek('}')) literal.expect('}');
  }
  literal.expect_end();
  if (!has_descr || !has_order || !has_shape) literal.fail("its header lacks descr, fortran_order or shape");
  check_product(header, literal);
  return header;
}

namespace {

std::string header_bytes(const char* descr, bool fortran_order, const std::vector<std::int64_t>& shape) {
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}", descr,
                                 fortran_order ? "True" : "False", shape_text(shape));
  const std::size_t front = magic.size() + 4;  // magic, version, length
  const std::size_t total = (front + text.size() + 1 + 63) / 64 * 64;
  text.append(total - front - text.size() - 1, ' ');
  text += '\n';
  std::string bytes(magic);
  bytes += '\1';
  bytes += '\0';
  bytes += static_cast<char>(text.size() & 0xff);
  bytes += static_cast<char>(text.size() >> 8);
  return bytes + text;
}

}  // namespace

std::string npy_header_bytes(DType dtype, bool fortran_order, const std::vector<std::int64_t>& shape) {
  return header_bytes(descr_of(dtype), fortran_order, shape);
}

std::string npy_integers_header_bytes(const std::vector<std::int64_t>& shape) {
  return header_bytes("<i8", false, shape);
}

}  // namespace tilewright::cli
