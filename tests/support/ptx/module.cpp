#include "tests/support/ptx/module.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <optional>
#include <unordered_map>
#include <utility>

#include "tests/support/ptx/fault.h"

namespace hexaplan::tests::ptx {
namespace {

/// Between arrays in shared memory, so that whoever runs over the end of one does not reach the next.
constexpr std::uint64_t kGap = 256;

std::string trimmed(std::string_view s) {
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.front())) != 0) s.remove_prefix(1);
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.back())) != 0) s.remove_suffix(1);
  return std::string{s};
}
bool starts_with(std::string_view s, std::string_view prefix) {
  return s.substr(0, prefix.size()) == prefix;
}

/// At commas outside of braces and brackets.
std::vector<std::string> split(std::string_view s) {
  std::vector<std::string> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= s.size(); ++i) {
    if (i < s.size() && (s[i] == '{' || s[i] == '[')) ++depth;
    if (i < s.size() && (s[i] == '}' || s[i] == ']')) --depth;
    if (i < s.size() && (s[i] != ',' || depth > 0)) continue;
    if (std::string part = trimmed(s.substr(begin, i - begin)); !part.empty())
      parts.push_back(std::move(part));
    begin = i + 1;
  }
  return parts;
}

/// ".align 4 .b8 name[64]": a name, its bytes (0: as many as the launch says) and how it is aligned.
struct Declared {
  std::string name;
  std::uint64_t bytes = 0, align = 1;
};
std::uint64_t size_of_type(std::string_view type) {
  const auto digits = type.find_first_of("0123456789");
  return digits == std::string_view::npos
             ? 1
             : std::strtoul(std::string{type.substr(digits)}.c_str(), nullptr, 10) / 8;
}
Declared declared(const std::string& statement) {
  Declared out;
  std::uint64_t element = 1;
  std::size_t at = 0;
  while (at < statement.size()) {
    const std::size_t end = std::min(statement.find_first_of(" \t", at), statement.size());
    const std::string word = statement.substr(at, end - at);
    at = std::min(statement.find_first_not_of(" \t", end), statement.size());
    if (word == ".align") {
      out.align = std::strtoul(statement.c_str() + at, nullptr, 10);
      at = std::min(statement.find_first_of(" \t", at), statement.size());
      at = std::min(statement.find_first_not_of(" \t", at), statement.size());
    } else if (word[0] == '.') {
      element = size_of_type(word);
    } else {
      const auto bracket = word.find('[');
      out.name = word.substr(0, bracket);
      out.bytes = element;
      if (bracket != std::string::npos) out.bytes *= std::strtoul(word.c_str() + bracket + 1, nullptr, 10);
    }
  }
  out.align = std::max(out.align, element);
  return out;
}

std::uint64_t aligned(std::uint64_t offset, std::uint64_t align) {
  return (offset + align - 1) / align * align;
}

const std::unordered_map<std::string, Special>& special_registers() {
  static const std::unordered_map<std::string, Special> kNames{
      {"%tid.x", Special::TidX},       {"%tid.y", Special::TidY},       {"%tid.z", Special::TidZ},
      {"%ntid.x", Special::NtidX},     {"%ntid.y", Special::NtidY},     {"%ntid.z", Special::NtidZ},
      {"%ctaid.x", Special::CtaidX},   {"%ctaid.y", Special::CtaidY},   {"%ctaid.z", Special::CtaidZ},
      {"%nctaid.x", Special::NctaidX}, {"%nctaid.y", Special::NctaidY}, {"%nctaid.z", Special::NctaidZ},
      {"%laneid", Special::LaneId}};
  return kNames;
}

/// The bits of an immediate; nothing where it is none.
std::optional<std::uint64_t> immediate(const std::string& word) {
  const bool negative = word[0] == '-';
  const std::string digits = negative ? word.substr(1) : word;
  if (digits.empty() || std::isdigit(static_cast<unsigned char>(digits[0])) == 0) return std::nullopt;
  // 0f and 0d: the bits of a number (PTX ISA, §4.5.2).
  const bool number =
      digits.size() > 2 && (digits[1] == 'f' || digits[1] == 'F' || digits[1] == 'd' || digits[1] == 'D');
  const std::uint64_t bits =
      number ? std::strtoull(digits.c_str() + 2, nullptr, 16) : std::strtoull(digits.c_str(), nullptr, 0);
  return negative ? std::uint64_t{0} - bits : bits;
}

/// Reads one entry.
class Reader {
 public:
  Reader(std::string_view text, unsigned first_line, const std::string& shared_declarations)
      : text_{text}, line_{first_line} {
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = shared_declarations.find('\n', begin)) != std::string::npos;
         begin = end + 1) {
      const Declared d = declared(shared_declarations.substr(begin, end - begin));
      shared_of_module_[d.name] = d;
    }
  }

  Kernel run(const std::string& name) {
    kernel_.name = name;
    const std::size_t open = text_.find('('), close = text_.find(')', open), body = text_.find('{', close);
    read_parameters(text_.substr(open + 1, close - open - 1));
    line_ += static_cast<unsigned>(
        std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(body), '\n'));
    read_body(text_.substr(body + 1));
    for (const auto& [instruction, label] : branches_) {
      const auto target = labels_.find(label);
      if (target == labels_.end()) throw Fault{name + ": a branch to " + label + ", which is no label"};
      kernel_.code[instruction].target = target->second;
    }
    // Where the array without a size begins: behind all others.
    kernel_.dynamic_shared = aligned(shared_end_, 16);
    for (auto& [r, bits] : kernel_.constants) {
      if (r == dynamic_) bits = kernel_.dynamic_shared;
    }
    kernel_.registers = static_cast<std::uint32_t>(registers_);
    return std::move(kernel_);
  }

 private:
  void read_parameters(std::string_view text) {
    for (const std::string& parameter : split(text)) {
      const Declared d = declared(parameter);
      const std::uint64_t offset = aligned(kernel_.parameter_bytes, d.align);
      parameters_[d.name] = offset;
      kernel_.parameters.push_back({offset, d.bytes});
      kernel_.parameter_bytes = offset + d.bytes;
    }
  }

  void read_body(std::string_view body) {
    std::size_t begin = 0;
    while (begin < body.size()) {
      const std::size_t end = std::min(body.find('\n', begin), body.size());
      std::string_view line = body.substr(begin, end - begin);
      begin = end + 1;
      ++line_;
      line = line.substr(0, line.find("//"));
      const std::string statement = trimmed(line);
      if (statement.empty() || statement == "{" || statement == "}") continue;
      if (statement.back() == ':') {
        labels_[statement.substr(0, statement.size() - 1)] = static_cast<std::uint32_t>(kernel_.code.size());
      } else if (statement.back() != ';') {
        throw error(statement, "is no statement");
      } else if (statement[0] == '.') {
        read_directive(statement.substr(0, statement.size() - 1));
      } else {
        read_instruction(statement.substr(0, statement.size() - 1));
      }
    }
  }

  void read_directive(const std::string& statement) {
    if (starts_with(statement, ".reg") || starts_with(statement, ".pragma")) return;
    if (starts_with(statement, ".shared")) {
      const Declared d = declared(statement);
      shared_of_module_[d.name] = d;
    } else if (starts_with(statement, ".local")) {
      const Declared d = declared(statement);
      kernel_.local_bytes = aligned(kernel_.local_bytes, d.align);
      locals_[d.name] = kernel_.local_bytes;
      kernel_.local_bytes += d.bytes;
    } else {
      throw error(statement, "is a directive that the interpreter does not know");
    }
  }

  [[nodiscard]] Fault error(const std::string& what, const std::string& why) const {
    return Fault{kernel_.name + ", line " + std::to_string(line_) + ": `" + what + "` " + why};
  }

  std::uint32_t new_constant(std::uint64_t bits) {
    const auto r = static_cast<std::uint32_t>(registers_++);
    kernel_.constants.emplace_back(r, bits);
    return r;
  }
  /// The same register for the same bits.
  std::uint32_t constant(std::uint64_t bits) {
    const auto [known, is_new] = constants_.try_emplace(bits, 0);
    if (is_new) known->second = new_constant(bits);
    return known->second;
  }
  std::uint32_t register_of(const std::string& word) {
    if (word[0] == '%') {
      const auto [entry, is_new] = names_.try_emplace(word, static_cast<std::uint32_t>(registers_));
      if (is_new) {
        ++registers_;
        if (const auto special = special_registers().find(word); special != special_registers().end())
          kernel_.specials.emplace_back(entry->second, special->second);
        else if (word.find('.') != std::string::npos)
          throw error(word, "is a special register that the interpreter does not know");
      }
      return entry->second;
    }
    if (const auto bits = immediate(word)) return constant(*bits);
    return address_of(word);
  }
  std::uint32_t address_of(const std::string& symbol) {
    if (const auto p = parameters_.find(symbol); p != parameters_.end()) return constant(p->second);
    if (const auto l = locals_.find(symbol); l != locals_.end()) return constant(l->second);
    const auto s = shared_of_module_.find(symbol);
    if (s == shared_of_module_.end()) throw error(symbol, "is declared nowhere");
    if (s->second.bytes == 0) {  // as many as the launch says: behind all others
      if (!dynamic_) dynamic_ = new_constant(0);
      return *dynamic_;
    }
    const auto [placed, is_new] = shared_.try_emplace(symbol, 0);
    if (is_new) {
      placed->second = aligned(shared_end_, s->second.align);
      kernel_.shared.push_back({symbol, placed->second, s->second.bytes});
      shared_end_ = placed->second + s->second.bytes + kGap;
    }
    return constant(placed->second);
  }

  void read_instruction(const std::string& statement) {
    Instruction in{.text = statement, .line = line_};
    std::string rest = statement;
    if (rest[0] == '@') {
      const std::size_t end = rest.find_first_of(" \t");
      in.guard_negated = rest[1] == '!';
      in.guard = static_cast<std::int32_t>(
          register_of(rest.substr(in.guard_negated ? 2 : 1, end - (in.guard_negated ? 2 : 1))));
      rest = trimmed(std::string_view{rest}.substr(end));
    }
    const std::size_t end = std::min(rest.find_first_of(" \t"), rest.size());
    const std::string opcode = rest.substr(0, end);
    const std::vector<std::string> words = split(std::string_view{rest}.substr(end));
    if (opcode == "bra" || opcode == "bra.uni") {
      in.act = Act::Branch;
      branches_.emplace_back(kernel_.code.size(), words.at(0));
    } else if (opcode == "ret" || opcode == "exit") {
      in.act = Act::End;
    } else if (starts_with(opcode, "ld.") || starts_with(opcode, "st.")) {
      read_access(in, opcode, words);
    } else if (starts_with(opcode, "cvta.")) {
      // Global and local addresses are their own generic ones: no access through a generic address is known.
      read_computed(in, "mov.u64", words);
    } else if (!read_synchronising(in, opcode, words)) {
      read_computed(in, opcode, words);
    }
    kernel_.code.push_back(std::move(in));
  }

  bool read_synchronising(Instruction& in, const std::string& opcode, const std::vector<std::string>& words) {
    const std::unordered_map<std::string, Act> kActs{{"shfl.sync.bfly.b32", Act::ShuffleXor},
                                                     {"vote.sync.ballot.b32", Act::Ballot},
                                                     {"bar.warp.sync", Act::WarpBarrier},
                                                     {"bar.sync", Act::BlockBarrier},
                                                     {"barrier.sync", Act::BlockBarrier}};
    const auto act = kActs.find(opcode);
    if (act == kActs.end()) return false;
    in.act = act->second;
    if (in.act == Act::BlockBarrier && (words.size() != 1 || words[0] != "0"))
      throw error(in.text, "is a barrier of part of a block, which the interpreter does not know");
    for (const std::string& word : words) {
      const std::size_t bar = word.find('|');
      in.operands.push_back(register_of(word.substr(0, bar)));
      if (bar != std::string::npos) in.operands.push_back(register_of(word.substr(bar + 1)));
    }
    return true;
  }

  void read_computed(Instruction& in, std::string opcode, const std::vector<std::string>& words) {
    if (starts_with(opcode, "mov.b") && words.size() == 2) {
      if (words[1][0] == '{') opcode = "pack" + opcode.substr(3);
      if (words[0][0] == '{') opcode = "unpack" + opcode.substr(3);
    }
    in.compute = find_compute(opcode);
    if (in.compute == nullptr)
      throw error(in.text,
                  "is an instruction that the interpreter does not know (tests/support/ptx/compute.cpp)");
    for (const std::string& word : words) append(in.operands, word);
  }
  void append(std::vector<std::uint32_t>& operands, const std::string& word) {
    if (word[0] != '{') return operands.push_back(register_of(word));
    for (const std::string& part : split(std::string_view{word}.substr(1, word.size() - 2)))
      operands.push_back(register_of(part));
  }

  /// ld.global.nc.v4.u32 {…}, [address + offset]
  void read_access(Instruction& in, const std::string& opcode, const std::vector<std::string>& words) {
    in.act = opcode[0] == 'l' ? Act::Load : Act::Store;
    std::optional<Space> space;
    std::string type;
    for (std::size_t at = 3; at <= opcode.size();) {
      const std::size_t end = std::min(opcode.find('.', at), opcode.size());
      const std::string word = opcode.substr(at, end - at);
      at = end + 1;
      if (word == "global")
        space = Space::Global;
      else if (word == "shared")
        space = Space::Shared;
      else if (word == "local")
        space = Space::Local;
      else if (word == "param")
        space = Space::Parameter;
      else if (word == "v2" || word == "v4" || word == "nc")
        continue;
      else if (at > opcode.size())
        type = word;
      else
        throw error(in.text, "has a modifier that the interpreter does not know: ." + word);
    }
    if (!space) throw error(in.text, "has a generic address, which the interpreter does not know");
    if (type.size() < 2 || std::string_view{"usbf"}.find(type[0]) == std::string_view::npos)
      throw error(in.text, "has a type that the interpreter does not know");
    in.space = *space;
    in.bytes = static_cast<unsigned>(size_of_type(type));
    in.sign_extended = type[0] == 's';
    const std::string& address = words.at(in.act == Act::Load ? 1 : 0);
    append(in.operands, words.at(in.act == Act::Load ? 0 : 1));
    const std::string inside = address.substr(1, address.size() - 2);
    const std::size_t plus = inside.find('+');
    in.address = register_of(trimmed(inside.substr(0, plus)));
    if (plus != std::string::npos) in.offset = std::strtoll(inside.c_str() + plus + 1, nullptr, 0);
  }

  std::string_view text_;
  unsigned line_;
  Kernel kernel_;
  std::size_t registers_ = 0;
  std::unordered_map<std::string, std::uint32_t> names_, labels_;
  std::unordered_map<std::string, std::uint64_t> parameters_, locals_, shared_;
  std::unordered_map<std::string, Declared> shared_of_module_;
  std::uint64_t shared_end_ = 0;
  std::optional<std::uint32_t> dynamic_;
  std::unordered_map<std::uint64_t, std::uint32_t> constants_;
  std::vector<std::pair<std::size_t, std::string>> branches_;
};

}  // namespace

Module::Module(std::string text) : text_{std::move(text)} {
  const std::string_view all = text_;
  if (all.find(".version") == std::string_view::npos)
    throw Fault{"a PTX module begins with .version, this text has none"};
  for (std::size_t at = all.find(".entry "); at != std::string_view::npos; at = all.find(".entry ", at)) {
    const std::size_t name = at + 7, open = all.find('(', name), close = all.find("\n}", open);
    if (open == std::string_view::npos || close == std::string_view::npos)
      throw Fault{"a PTX entry has no end"};
    entries_[trimmed(all.substr(name, open - name))] = {name, close};
    at = close;
  }
  // Shared memory of the module, outside of entries.
  for (std::size_t begin = 0; begin < all.size();) {
    const std::size_t end = std::min(all.find('\n', begin), all.size());
    const std::string_view line = all.substr(begin, end - begin);
    begin = end + 1;
    if (!starts_with(line, ".shared") && !starts_with(line, ".extern .shared") &&
        !starts_with(line, ".visible .shared") && !starts_with(line, ".weak .shared"))
      continue;
    shared_declarations_ += std::string{line.substr(0, line.find(';'))} + "\n";
  }
}

std::vector<std::string> Module::kernels() const {
  std::vector<std::string> names;
  names.reserve(entries_.size());
  for (const auto& [name, range] : entries_) names.push_back(name);
  return names;
}

Kernel Module::read(const std::string& kernel) const {
  const auto entry = entries_.find(kernel);
  if (entry == entries_.end()) throw Fault{"the module has no kernel " + kernel};
  const std::string_view all = text_;
  const auto [begin, end] = entry->second;
  const auto line =
      static_cast<unsigned>(std::count(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(begin), '\n'));
  return Reader{all.substr(begin, end - begin), line, shared_declarations_}.run(kernel);
}

}  // namespace hexaplan::tests::ptx
