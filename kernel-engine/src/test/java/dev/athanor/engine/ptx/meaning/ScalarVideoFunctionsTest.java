package dev.athanor.engine.ptx.meaning;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.ptx.InstructionForm;
import dev.athanor.engine.ptx.table.VideoRows;
import dev.athanor.engine.ptx.text.Parser;
import dev.athanor.testing.TestTier;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Scalar video instructions, compared with the pseudocode of PTX ISA 9.7.18.1 in exact arithmetic.
 * Where the code that ptxas substitutes deviates, they are compared with what it does on an H200.
 */
class ScalarVideoFunctionsTest {

  private static final int[] EDGES = {
    0, 1, -1, Integer.MIN_VALUE, Integer.MAX_VALUE, 0x7F80FF81, 0x80017FFF, 32, 0x1F20
  };

  /** Number of spellings to test per row. */
  private static final int SPELLINGS = TestTier.choose(200, 800, 100_000);

  private static final long SEED = TestTier.seed();

  static Stream<String> mnemonics() {
    return VideoRows.ALL.stream()
        .map(InstructionForm::mnemonic)
        .filter(mnemonic -> !mnemonic.matches(".*[24]"))
        .distinct();
  }

  @ParameterizedTest
  @MethodSource("mnemonics")
  void spellingsMatchTheReference(String mnemonic) throws Throwable {
    var random = new Random(SEED);
    for (var form : VideoRows.ALL) {
      if (!form.mnemonic().equals(mnemonic)) {
        continue;
      }
      boolean three = form.operands().size() == 4;
      var spellings = new ArrayList<>(VideoFunctionsTest.everyType(form));
      Collections.shuffle(spellings, random);
      for (var modifiers : spellings.subList(0, Math.min(SPELLINGS, spellings.size()))) {
        var meaning = LaneSemantics.of(form, modifiers).getFirst();
        var words = List.of(modifiers.toString().substring(1).split("\\.", -1));
        for (int i = 0; i < 6; i++) {
          int a = value(random);
          int b = value(random);
          int c = value(random);
          var given =
              three ? meaning.invokeWithArguments(a, b, c) : meaning.invokeWithArguments(a, b);
          assertThat((int) given)
              .as("%s%s of %08x, %08x, %08x, seed %d", mnemonic, modifiers, a, b, c, SEED)
              .isEqualTo(expected(mnemonic, words, a, b, c));
        }
      }
    }
  }

  private static int value(Random random) {
    return random.nextBoolean() ? EDGES[random.nextInt(EDGES.length)] : random.nextInt();
  }

  private static int expected(String mnemonic, List<String> words, int a, int b, int c) {
    boolean compares = mnemonic.equals("vset");
    int firstSource = compares ? 0 : 1;
    if (mnemonic.equals("vmad")) {
      return multipliedAndAdded(words, a, b, c);
    }
    var x = selected(a, part(words, "a"), words.get(firstSource));
    var y = selected(b, part(words, "b"), words.get(firstSource + 1));
    int distance = y.intValue() & 31;
    if (!words.contains("wrap") && y.compareTo(BigInteger.valueOf(32)) > 0) {
      distance = 32;
    } else if (!words.contains("wrap")) {
      distance = y.intValue();
    }
    var result =
        switch (mnemonic) {
          case "vadd" -> x.add(y);
          case "vsub" -> x.subtract(y);
          case "vabsdiff" -> x.subtract(y).abs();
          case "vmin" -> x.min(y);
          case "vmax" -> x.max(y);
          case "vshl" -> x.shiftLeft(distance);
          case "vshr" -> x.shiftRight(distance);
          default -> BigInteger.valueOf(holds(words.get(2), x.compareTo(y)) ? 1 : 0);
        };
    var to = part(words, "d");
    int bits = to.isEmpty() ? 32 : to.startsWith("b") ? 8 : 16;
    boolean signed = words.getFirst().equals("s32");
    boolean shifts = mnemonic.startsWith("vsh");
    boolean saturates = words.contains("sat");
    if (saturates && shifts) {
      result = clamped(wrapped(result, 34), 32, signed);
    } else if (saturates && !to.isEmpty()) {
      result = unsigned(result).min(clamped(unsigned(result), bits, signed));
    } else if (saturates) {
      result = signed ? clamped(result, 32, true) : result.max(BigInteger.ZERO);
    }
    if (words.contains("add")) {
      return result.intValue() + c;
    }
    if (words.contains("min") || words.contains("max")) {
      boolean narrow = mnemonic.equals("vadd") || mnemonic.equals("vsub") || (shifts && saturates);
      var left = narrow ? wrapped(result, 32) : wrapped(result, 64);
      left = signed ? left : unsigned(left);
      var right = selected(c, "", signed ? "s32" : "u32");
      return (words.contains("min") ? left.min(right) : left.max(right)).intValue();
    }
    if (to.isEmpty()) {
      return result.intValue();
    }
    int at = Character.digit(to.charAt(1), 10) * bits;
    if (to.equals("h1")) {
      result = result.shiftRight(16);
    }
    var whole = BigInteger.valueOf(Integer.toUnsignedLong(c));
    for (int i = 0; i < bits; i++) {
      whole = result.testBit(i) ? whole.setBit(at + i) : whole.clearBit(at + i);
    }
    return whole.intValue();
  }

  private static int multipliedAndAdded(List<String> words, int a, int b, int c) {
    var x = selected(a, part(words, "a"), part(words, "a").isEmpty() ? "s32" : words.get(1));
    var y = selected(b, part(words, "b"), part(words, "b").isEmpty() ? "s32" : words.get(2));
    boolean negatedProduct = words.contains("a:negated") != words.contains("b:negated");
    boolean signed =
        words.get(1).equals("s32")
            || words.get(2).equals("s32")
            || negatedProduct
            || words.contains("c:negated");
    var product = x.multiply(y);
    int lowest = words.contains("po") ? 1 : 0;
    int addend = c;
    if (negatedProduct) {
      product = product.not();
      lowest = 1;
    } else if (words.contains("c:negated")) {
      addend = ~c;
      lowest = 1;
    }
    var sum = product.add(BigInteger.valueOf(addend)).add(BigInteger.valueOf(lowest));
    boolean scales = words.contains("shr7") || words.contains("shr15");
    boolean logical = scales && words.contains("sat") && !signed;
    var scaled =
        (logical ? unsigned(sum) : sum)
            .shiftRight(words.contains("shr7") ? 7 : words.contains("shr15") ? 15 : 0);
    return (words.contains("sat") ? clamped(scaled, 32, signed) : scaled).intValue();
  }

  private static boolean holds(String comparison, int order) {
    return switch (comparison) {
      case "eq" -> order == 0;
      case "ne" -> order != 0;
      case "lt" -> order < 0;
      case "le" -> order <= 0;
      case "gt" -> order > 0;
      default -> order >= 0;
    };
  }

  private static BigInteger clamped(BigInteger value, int bits, boolean signed) {
    var greatest = BigInteger.ONE.shiftLeft(signed ? bits - 1 : bits).subtract(BigInteger.ONE);
    return value.min(greatest).max(signed ? greatest.not() : BigInteger.ZERO);
  }

  /** Returns the low bits as a signed number. */
  private static BigInteger wrapped(BigInteger value, int bits) {
    int unused = 64 - bits;
    return BigInteger.valueOf(value.longValue() << unused >> unused);
  }

  /** Returns the low 64 bits as an unsigned number. */
  private static BigInteger unsigned(BigInteger value) {
    return value.mod(BigInteger.ONE.shiftLeft(64));
  }

  private static BigInteger selected(int word, String part, String type) {
    int bits = part.isEmpty() ? 32 : part.startsWith("b") ? 8 : 16;
    int at = part.isEmpty() ? 0 : Character.digit(part.charAt(1), 10) * bits;
    var range = BigInteger.ONE.shiftLeft(bits);
    var value = BigInteger.valueOf(Integer.toUnsignedLong(word)).shiftRight(at).mod(range);
    return type.equals("s32") && value.testBit(bits - 1) ? value.subtract(range) : value;
  }

  /** Returns the selected element of an operand, such as that of {@code a:b1}. */
  private static String part(List<String> words, String operand) {
    return words.stream()
        .filter(word -> word.matches(operand + ":[bh]\\d"))
        .findFirst()
        .map(word -> word.substring(2))
        .orElse("");
  }

  @Test
  void rejectsPartsInOtherInstructions() {
    var text =
        """
        .version 7.0
        .target sm_80
        .address_size 64
        .visible .entry k() {
            .reg .b32 %r<4>;
            add.s32 %r1, %r2.b0, %r3;
            ret;
        }
        """;
    assertThatThrownBy(() -> Parser.parse(text, "parts.ptx"))
        .hasMessageContaining("add.s32 takes whole registers, not part b0 of operand a");
  }
}
