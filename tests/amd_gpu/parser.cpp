// SPDX-License-Identifier: Apache-2.0
// From the disassembler's text to operands and modifiers. The syntax is that of LLVM's pages
// AMDGPUOperandSyntax and AMDGPUModifierSyntax.
// Invariant: parse() is false for any text that it does not understand; it skips nothing.
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>

#include "operands.hpp"

namespace amd_gpu {
namespace {

bool skip(std::string_view& text, std::string_view what) {
  if (!text.starts_with(what)) return false;
  text.remove_prefix(what.size());
  return true;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// Splits at the separators outside of brackets.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t at = 0; at <= text.size(); ++at) {
    const char c = at < text.size() ? text[at] : separator;
    if (c == '[' || c == '(') ++depth;
    if (c == ']' || c == ')') --depth;
    if (c != separator || (depth > 0 && at < text.size())) continue;
    const std::string_view part = trimmed(text.substr(begin, at - begin));
    if (!part.empty()) parts.push_back(part);
    begin = at + 1;
  }
  return parts;
}

std::optional<std::int64_t> number(std::string_view text) {
  const bool negative = skip(text, "-");
  const int base = skip(text, "0x") ? 16 : 10;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return {};
  return negative ? -static_cast<std::int64_t>(value) : static_cast<std::int64_t>(value);
}

// "3" or "[4:5]".
bool parse_range(std::string_view text, unsigned base, unsigned limit, Operand& operand) {
  std::int64_t first = 0, last = 0;
  if (skip(text, "[")) {
    const std::size_t colon = text.find(':');
    if (!text.ends_with(']')) return false;
    text.remove_suffix(1);
    const auto begin = number(text.substr(0, colon));
    const auto end = colon == text.npos ? begin : number(text.substr(colon + 1));
    if (!begin || !end) return false;
    first = *begin, last = *end;
  } else {
    const auto only = number(text);
    if (!only) return false;
    first = last = *only;
  }
  if (first < 0 || last < first || last >= limit) return false;
  operand.first = static_cast<std::uint16_t>(first + base);
  operand.words = static_cast<std::uint8_t>(last - first + 1);
  return true;
}

struct Named {
  std::string_view name;
  unsigned first, words;
};
constexpr Named kNamed[] = {
    {"vcc", kVcc, 2},
    {"vcc_lo", kVcc, 1},
    {"vcc_hi", kVcc + 1, 1},
    {"exec", kExec, 2},
    {"exec_lo", kExec, 1},
    {"exec_hi", kExec + 1, 1},
    {"m0", kM0, 1},
    {"flat_scratch", kFlatScratch, 2},
    {"flat_scratch_lo", kFlatScratch, 1},
    {"flat_scratch_hi", kFlatScratch + 1, 1},
    {"xnack_mask", kXnackMask, 2},
    {"xnack_mask_lo", kXnackMask, 1},
    {"xnack_mask_hi", kXnackMask + 1, 1},
};

bool parse_register(std::string_view text, Operand& operand) {
  for (const Named& named : kNamed) {
    if (named.name != text) continue;
    operand.kind = Kind::kScalar;
    operand.first = static_cast<std::uint16_t>(named.first);
    operand.words = static_cast<std::uint8_t>(named.words);
    return true;
  }
  operand.kind = Kind::kVector;
  if (text.starts_with('v')) return parse_range(text.substr(1), 0, 256, operand);
  if (text.starts_with('a')) return parse_range(text.substr(1), 256, 256, operand);
  operand.kind = Kind::kScalar;
  return text.starts_with('s') && parse_range(text.substr(1), 0, 102, operand);
}

bool parse_constant(std::string_view text, Operand& operand) {
  constexpr std::pair<std::string_view, std::uint64_t> kApertures[] = {
      {"src_shared_base", kSharedAperture}, {"src_private_base", kPrivateAperture}};
  for (const auto& [name, value] : kApertures) {
    if (text != name) continue;
    operand.kind = Kind::kConstant;
    operand.value = value;
    return true;
  }
  if (const auto value = number(text)) {
    operand.kind = Kind::kConstant;
    operand.value = static_cast<std::uint64_t>(*value);
    return true;
  }
  if (text.find('.') == text.npos) return false;
  const std::string copy(text);
  char* end = nullptr;
  const double value = std::strtod(copy.c_str(), &end);
  operand.kind = Kind::kFloat;
  operand.value = bits_of(value);
  return *end == '\0';
}

bool parse_hwreg(std::string_view text, Instruction& i) {
  const auto parts = split(text.substr(0, text.size() - 1), ',');
  if (parts.empty() || parts.size() == 2 || parts.size() > 3) return false;
  constexpr std::pair<std::string_view, unsigned> kRegisters[] = {
      {"HW_REG_MODE", 1}, {"HW_REG_HW_ID", 4}, {"HW_REG_SH_MEM_BASES", 15}};
  const auto* found = std::find_if(std::begin(kRegisters), std::end(kRegisters),
                                   [&](const auto& known) { return known.first == parts[0]; });
  if (found == std::end(kRegisters)) return false;
  i.hwreg_id = static_cast<std::uint8_t>(found->second);
  if (parts.size() == 1) return true;
  const auto first = number(parts[1]), bits = number(parts[2]);
  if (!first || !bits) return false;
  i.hwreg_first = static_cast<std::uint8_t>(*first);
  i.hwreg_bits = static_cast<std::uint8_t>(*bits);
  return true;
}

bool parse_operand(std::string_view text, Instruction& i) {
  if (skip(text, "hwreg(")) return parse_hwreg(text, i);
  if (i.operands == i.operand.size()) return false;
  Operand& operand = i.operand[i.operands++];
  if (text == "off") {
    operand.kind = Kind::kOff;
    return true;
  }
  if (text == "src_scc") {
    operand.kind = Kind::kScc;
    return true;
  }
  if (parse_constant(text, operand)) return true;
  if (skip(text, "-")) operand.negate = true;
  if (skip(text, "sext(")) operand.extend_sign = true;
  if (skip(text, "|")) operand.absolute = true;
  if (operand.extend_sign || operand.absolute) text.remove_suffix(1);
  if (operand.absolute && parse_constant(text, operand)) return true;
  return parse_register(text, operand);
}

bool parse_part(std::string_view text, Part& part) {
  constexpr std::string_view kParts[] = {"DWORD",  "BYTE_0", "BYTE_1", "BYTE_2",
                                         "BYTE_3", "WORD_0", "WORD_1"};
  const auto* found = std::find(std::begin(kParts), std::end(kParts), text);
  part = static_cast<Part>(found - std::begin(kParts));
  return found != std::end(kParts);
}

// "[0,1,1]": bit n is what stands in place n.
bool parse_bits(std::string_view text, std::uint8_t& bits) {
  if (!skip(text, "[")) return false;
  bits = 0;
  const auto parts = split(text.substr(0, text.size() - 1), ',');
  for (std::size_t n = 0; n < parts.size(); ++n)
    if (parts[n] == "1") bits = static_cast<std::uint8_t>(bits | 1u << n);
  return true;
}

bool parse_quad_perm(std::string_view text, Dpp& dpp) {
  const auto parts = split(text.substr(1, text.size() - 2), ',');
  if (parts.size() != 4) return false;
  dpp.control = Dpp::Control::kQuadPerm;
  for (unsigned n = 0; n < 4; ++n)
    dpp.amount = static_cast<std::uint8_t>(dpp.amount | *number(parts[n]) << 2 * n);
  return true;
}

bool parse_dpp(std::string_view name, std::string_view value, Dpp& dpp) {
  using Control = Dpp::Control;
  constexpr std::pair<std::string_view, Control> kControls[] = {
      {"row_shl", Control::kRowShl},
      {"row_shr", Control::kRowShr},
      {"row_ror", Control::kRowRor},
      {"wave_shl", Control::kWaveShl},
      {"wave_shr", Control::kWaveShr},
      {"wave_rol", Control::kWaveRol},
      {"wave_ror", Control::kWaveRor},
      {"row_mirror", Control::kRowMirror},
      {"row_half_mirror", Control::kRowHalfMirror},
      {"row_newbcast", Control::kRowNewBcast},
  };
  if (name == "quad_perm") return parse_quad_perm(value, dpp);
  if (name == "row_bcast") {
    dpp.control = value == "15" ? Control::kRowBcast15 : Control::kRowBcast31;
    return true;
  }
  for (const auto& [known, control] : kControls) {
    if (name != known) continue;
    dpp.control = control;
    if (!value.empty()) dpp.amount = static_cast<std::uint8_t>(number(value).value_or(0));
    return true;
  }
  return false;
}

bool parse_flag(std::string_view name, Instruction& i) {
  constexpr std::pair<std::string_view, bool Instruction::*> kFlags[] = {
      {"glc", &Instruction::glc},     {"sc0", &Instruction::glc},
      {"sc1", &Instruction::sc1},     {"offen", &Instruction::offen},
      {"idxen", &Instruction::idxen}, {"clamp", &Instruction::clamp},
      {"high", &Instruction::high}};
  for (const auto& [known, member] : kFlags) {
    if (name != known) continue;
    i.*member = true;
    return true;
  }
  // About caches and traffic alone, or a message.
  return name == "slc" || name == "scc" || name == "nt" || name == "gds" ||
         name.starts_with("sendmsg(");  // nobody receives it
}

bool parse_wait(std::string_view text, Instruction& i) {
  if (!text.ends_with(')')) return false;
  if (text.starts_with("vmcnt("))
    i.most_outstanding = static_cast<std::uint8_t>(std::atoi(text.data() + 6));
  return text.starts_with("vmcnt(") || text.starts_with("lgkmcnt(") || text.starts_with("expcnt(");
}

bool parse_value(std::string_view name, std::string_view value, Instruction& i) {
  if (name == "dst_sel") return parse_part(value, i.result_part);
  if (name == "src0_sel") return parse_part(value, i.operand[1].part);
  if (name == "src1_sel") return parse_part(value, i.operand[2].part);
  if (name == "dst_unused") {
    i.preserves = value == "UNUSED_PRESERVE";
    i.extends_result = value == "UNUSED_SEXT";
    return true;
  }
  if (name == "op_sel") return parse_bits(value, i.op_sel);
  if (name == "op_sel_hi") return parse_bits(value, i.op_sel_hi);
  if (name == "neg_lo") return parse_bits(value, i.neg_lo);
  if (name == "neg_hi") return parse_bits(value, i.neg_hi);
  if (parse_dpp(name, value, i.dpp)) return true;
  const auto found = number(value);
  if (!found) return false;
  if (name == "offset")
    i.offset = static_cast<std::int32_t>(*found);
  else if (name == "offset0")
    i.offset0 = static_cast<std::uint8_t>(*found);
  else if (name == "offset1")
    i.offset1 = static_cast<std::uint8_t>(*found);
  else if (name == "row_mask")
    i.dpp.row_mask = static_cast<std::uint8_t>(*found);
  else if (name == "bank_mask")
    i.dpp.bank_mask = static_cast<std::uint8_t>(*found);
  else if (name == "bound_ctrl")
    i.dpp.bound_control = true;
  else if (name == "mul")
    i.output_factor = static_cast<float>(*found);
  else if (name == "div")
    i.output_factor = 0.5f;
  else
    return false;
  return true;
}

bool parse_modifier(std::string_view text, Instruction& i) {
  if (parse_wait(text, i) || parse_flag(text, i)) return true;
  const std::size_t colon = text.find(':');
  if (colon == text.npos) return parse_dpp(text, {}, i.dpp);
  return parse_value(text.substr(0, colon), text.substr(colon + 1), i);
}

// Scalar loads say glc and offsets as operands do; s_waitcnt, s_sendmsg, buffer_wbl2 and
// buffer_inv have modifiers only.
bool is_modifier(std::string_view text) {
  const std::size_t colon = text.find(':');
  const bool in_brackets = colon != text.npos && text.find('[') < colon;
  return (colon != text.npos && !in_brackets) || text.ends_with("cnt(0)") ||
         text.find("cnt(") != text.npos || text == "glc" || text == "sc0" || text == "sc1" ||
         text.starts_with("sendmsg(");
}

}  // namespace

bool parse(std::string_view text, Instruction& i, std::string& mnemonic) {
  text = trimmed(text);
  const std::size_t space = text.find(' ');
  mnemonic = text.substr(0, space);
  for (std::string_view ending : {"_e32", "_e64", "_dpp", "_sdwa"}) {
    if (!mnemonic.ends_with(ending)) continue;
    mnemonic.resize(mnemonic.size() - ending.size());
    i.is_sdwa = ending == "_sdwa";
    break;
  }
  if (mnemonic.starts_with("v_fma_mix")) i.op_sel_hi = 0;  // others have all bits set by default
  if (space == text.npos) return true;
  for (std::string_view piece : split(text.substr(space), ',')) {
    const auto words = split(piece, ' ');
    const bool has_operand = !is_modifier(words[0]);
    if (has_operand && !parse_operand(words[0], i)) return false;
    for (std::size_t n = has_operand; n < words.size(); ++n)
      if (!parse_modifier(words[n], i)) return false;
  }
  return true;
}

}  // namespace amd_gpu
