package dev.athanor.engine.ptx.table;

import dev.athanor.engine.ptx.InstructionForm.ModifierSlot;
import dev.athanor.engine.ptx.Modifier;
import dev.athanor.engine.ptx.OperandSlot;
import dev.athanor.engine.ptx.OperandSlot.Kind;
import dev.athanor.engine.ptx.OperandSlot.Name;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.LongStream;

/**
 * The notation of a row's syntax, which follows the PTX manual: {@code add{.rn}{.ftz}.f32 d, a, b}.
 *
 * <ul>
 *   <li>{@code {.x}} is an optional modifier, {@code <x|y>} is a choice, and a word of {@link
 *       Vocabulary} denotes a class of modifiers.
 *   <li>An operand is {@code d}, {@code a:u32} (with its own type), {@code d:b32*4} or {@code
 *       d*vec} (a vector), {@code d|p:pred} (a pair), {@code d+:f32*4} (a result that is also
 *       read), {@code d?} (a result that {@code _} may replace), {@code [a]:shared} (memory),
 *       {@code n:literal(4,8,16)}, {@code a:u32(0..15)} or {@code a:u16(0..3;0..1)*2} (literals for
 *       each element of a vector).
 *   <li>{@code {1…}} is optional part 1; all parts of one number are present or absent together:
 *       {@code setp.cmp{2.<and|or|xor>}.sint p:pred{1|q:pred}, a, b{2, c:pred}} is four forms.
 * </ul>
 *
 * @param text syntax with one combination of the optional parts
 * @param chosen numbers of the parts that are present
 */
record RowNotation(String text, Set<Integer> chosen) {

  private static final Pattern MODIFIER =
      Pattern.compile("(\\{?)\\.(?:<([^>]+)>|([A-Za-z0-9_:]+))}?");
  private static final Pattern PART = Pattern.compile("\\{(\\d)((?:[^{}]|\\{[^{}]*})*)}");
  private static final Pattern OPERAND =
      Pattern.compile(
          "(\\[?)([a-z_]+)]?([+?]?)(?::([a-z0-9]+))?(?:\\(([-\\d,.;]+)\\))?"
              + "(?:\\*(\\d+|vec|half|quarter))?(?:\\|(.+))?");

  /** Returns all combinations of optional parts, those without part 1 first. */
  static List<RowNotation> choices(String syntax) {
    var numbers = new TreeSet<Integer>();
    PART.matcher(syntax).results().forEach(part -> numbers.add(Integer.valueOf(part.group(1))));
    var all = new ArrayList<RowNotation>();
    for (int mask = 0; mask < 1 << numbers.size(); mask++) {
      var chosen = new TreeSet<Integer>();
      int bit = 0;
      for (int number : numbers) {
        if ((mask >> bit++ & 1) != 0) {
          chosen.add(number);
        }
      }
      all.add(new RowNotation(choose(syntax, chosen), chosen));
    }
    return all;
  }

  /** Returns the text without absent parts. */
  String choose(String text) {
    return choose(text, chosen);
  }

  private static String choose(String text, Set<Integer> chosen) {
    return PART.matcher(text)
        .replaceAll(part ->
            chosen.contains(Integer.valueOf(part.group(1)))
                ? java.util.regex.Matcher.quoteReplacement(part.group(2))
                : "");
  }

  private String head() {
    return text.split(" ", 2)[0];
  }

  String mnemonic() {
    return head().split("[.{]", 2)[0];
  }

  /**
   * Returns the modifier slots.
   *
   * @throws IllegalArgumentException if the text is not in this notation
   */
  List<ModifierSlot> modifiers() {
    var head = head();
    var slots = new ArrayList<ModifierSlot>();
    var m = MODIFIER.matcher(head);
    for (int at = mnemonic().length(); at < head.length(); at = m.end()) {
      if (!m.find(at) || m.start() != at) {
        throw new IllegalArgumentException("no modifier slot at " + at + " of " + text);
      }
      var choices =
          m.group(2) != null
              ? Arrays.stream(m.group(2).split("\\|")).map(Modifier::of).toList()
              : Vocabulary.choices(m.group(3));
      slots.add(
          new ModifierSlot(
              !m.group(1).isEmpty(),
              choices,
              m.group(3) != null && Vocabulary.isIndependent(m.group(3))));
    }
    return List.copyOf(slots);
  }

  /** Returns whether the row sets the carry flag. */
  boolean setsCarry() {
    return head().contains(".cc");
  }

  /** Returns the number of registers that the row writes. */
  int results() {
    return operands().stream()
        .filter(OperandSlot::isResult)
        .mapToInt(slot -> Math.max(1, slot.length()) + (slot.second() == null ? 0 : 1))
        .sum();
  }

  /**
   * Returns the operand slots.
   *
   * @throws IllegalArgumentException if the text is not in this notation
   */
  List<OperandSlot> operands() {
    var parts = text.split(" ", 2);
    return parts.length == 1
        ? List.of()
        : Arrays.stream(parts[1].split(", ")).map(RowNotation::operand).toList();
  }

  private static OperandSlot operand(String text) {
    var m = OPERAND.matcher(text);
    if (!m.matches()) {
      throw new IllegalArgumentException("not an operand slot: " + text);
    }
    var name = Name.of(m.group(2));
    var rule = m.group(4) == null ? "type" : m.group(4);
    var kind = kind(name, rule, !m.group(1).isEmpty());
    var allowed =
        m.group(5) == null
            ? List.<Set<Long>>of()
            : Arrays.stream(m.group(5).split(";")).map(RowNotation::literals).toList();
    var typeRule =
        switch (kind) {
          case LITERAL ->
              allowed.stream().flatMap(Set::stream).anyMatch(literal -> literal < 0)
                  ? "s32"
                  : "u32";
          case SPECIAL ->
              rule.equals("special64") ? "u64" : rule.equals("specialpred") ? "pred" : "u32";
          case LABEL, SYMBOL, TILE, FUNCTION, ARGUMENTS, TARGETS -> "u64";
          case RESULT, SOURCE, MEMORY, SINK -> rule;
        };
    return new OperandSlot(
        name,
        kind,
        typeRule,
        length(m.group(6)),
        m.group(3).equals("+"),
        m.group(3).equals("?"),
        allowed,
        m.group(7) == null ? null : operand(m.group(7)));
  }

  private static Kind kind(Name name, String rule, boolean brackets) {
    if (rule.equals("tile")) {
      return Kind.TILE;
    }
    if (brackets) {
      return Kind.MEMORY;
    }
    return switch (rule) {
      case "literal" -> Kind.LITERAL;
      case "label" -> Kind.LABEL;
      case "special", "special64", "specialpred" -> Kind.SPECIAL;
      case "symbol" -> Kind.SYMBOL;
      case "function" -> Kind.FUNCTION;
      case "arguments" -> Kind.ARGUMENTS;
      case "targets" -> Kind.TARGETS;
      default -> name == Name.SINK ? Kind.SINK : name.isResult() ? Kind.RESULT : Kind.SOURCE;
    };
  }

  /** Parses literals such as {@code 4,8,16} or {@code 0..15}. */
  private static Set<Long> literals(String text) {
    var range = text.split("\\.\\.", 2);
    var all = new TreeSet<Long>();
    if (range.length == 2) {
      LongStream.rangeClosed(Long.parseLong(range[0]), Long.parseLong(range[1])).forEach(all::add);
    } else {
      Arrays.stream(text.split(",")).map(Long::valueOf).forEach(all::add);
    }
    return all;
  }

  private static int length(@org.jspecify.annotations.Nullable String text) {
    return text == null
        ? OperandSlot.SCALAR
        : switch (text) {
          case "vec" -> OperandSlot.BY_MODIFIER;
          case "half" -> OperandSlot.HALF_ROW;
          case "quarter" -> OperandSlot.QUARTER_ROW;
          default -> Integer.parseInt(text);
        };
  }
}
