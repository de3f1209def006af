package dev.athanor.engine.ptx.meaning;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.ptx.InstructionForm;
import dev.athanor.engine.ptx.Modifier;
import dev.athanor.engine.ptx.Modifiers;
import dev.athanor.engine.ptx.table.VideoRows;
import dev.athanor.testing.TestTier;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** SIMD video instructions, compared with arrays of elements. */
class VideoFunctionsTest {

  private static final int[] EDGES = {
    0,
    -1,
    0x7F7F7F7F,
    0x80808080,
    0x01FF00FE,
    0x7FFF8000,
    0x80007FFF,
    0x00010001,
    0xFF00FF00,
    0x80FF017F
  };

  private static final long SEED = TestTier.seed();

  static Stream<String> mnemonics() {
    return VideoRows.ALL.stream()
        .map(InstructionForm::mnemonic)
        .filter(mnemonic -> mnemonic.matches(".*[24]"))
        .distinct();
  }

  @ParameterizedTest
  @MethodSource("mnemonics")
  void spellingsMatchTheManual(String mnemonic) throws Throwable {
    var random = new Random(SEED);
    var spellings = new HashSet<Modifiers>();
    for (var form : VideoRows.ALL) {
      if (!form.mnemonic().equals(mnemonic)) {
        continue;
      }
      for (var modifiers : everyType(form)) {
        var meaning = LaneSemantics.of(form, modifiers).getFirst();
        var words = List.of(modifiers.toString().substring(1).split("\\.", -1));
        for (int i = 0; i < 120; i += TestTier.choose(7, 1, 1)) {
          int a = i < 100 ? EDGES[i % 10] : random.nextInt();
          int b = i < 100 ? EDGES[i / 10] : random.nextInt();
          int c = random.nextInt();
          assertThat((int) meaning.invokeWithArguments(a, b, c))
              .as("%s%s of %08x, %08x, %08x, seed %d", mnemonic, modifiers, a, b, c, SEED)
              .isEqualTo(expected(mnemonic, words, a, b, c));
        }
        spellings.add(modifiers);
      }
    }
    int masks = mnemonic.endsWith("2") ? 1 + 3 : 1 + 15;
    assertThat(spellings).hasSize((mnemonic.startsWith("vset") ? 48 : 24) * masks);
  }

  /** Returns all legal modifiers of a row, with types and parts combined. */
  static List<Modifiers> everyType(InstructionForm form) {
    List<List<Modifier>> all = List.of(List.of());
    for (var slot : form.modifiers()) {
      var longer = new ArrayList<List<Modifier>>();
      for (var words : all) {
        if (slot.optional()) {
          longer.add(words);
        }
        for (var choice : slot.choices()) {
          longer.add(Stream.concat(words.stream(), Stream.of(choice)).toList());
        }
      }
      all = longer;
    }
    return all.stream().map(Modifiers::new).filter(form.legal()).toList();
  }

  private static int expected(String mnemonic, List<String> words, int a, int b, int c) {
    boolean bytes = mnemonic.endsWith("4");
    boolean compares = mnemonic.startsWith("vset");
    int first = compares ? 0 : 1; // whose types they are
    var left = elements(a, bytes, words.get(first).equals("s32"));
    var right = elements(b, bytes, words.get(first + 1).equals("s32"));
    var results = new ArrayList<Integer>();
    for (int i = 0; i < left.size(); i++) {
      int x = left.get(i);
      int y = right.get(i);
      int value =
          switch (mnemonic.substring(0, mnemonic.length() - 1)) {
            case "vadd" -> x + y;
            case "vsub" -> x - y;
            case "vavrg" -> Integer.signum(x + y) * ((Math.abs(x + y) + 1) / 2);
            case "vabsdiff" -> x > y ? x - y : y - x;
            case "vmin" -> x < y ? x : y;
            case "vmax" -> x > y ? x : y;
            default -> {
              int sign = Integer.compare(x, y);
              yield switch (words.get(2)) {
                    case "eq" -> sign == 0;
                    case "ne" -> sign != 0;
                    case "lt" -> sign < 0;
                    case "le" -> sign <= 0;
                    case "gt" -> sign > 0;
                    default -> sign >= 0;
                  }
                  ? 1
                  : 0;
            }
          };
      if (words.contains("sat")) {
        boolean signed = words.getFirst().equals("s32");
        int range = bytes ? 256 : 65_536;
        int least = signed ? -range / 2 : 0;
        value = Math.max(least, Math.min(least + range - 1, value));
      }
      results.add(value);
    }
    var old = elements(c, bytes, false);
    var mask = words.getLast().startsWith("d:") ? words.getLast().substring(3) : "3210";
    for (int i = 0; i < results.size(); i++) {
      if (!mask.contains(String.valueOf(i))) {
        results.set(i, words.contains("add") ? 0 : old.get(i));
      }
    }
    if (words.contains("add")) {
      return results.stream().reduce(c, Integer::sum);
    }
    var buffer = ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN);
    for (int value : results) {
      if (bytes) {
        buffer.put((byte) value);
      } else {
        buffer.putShort((short) value);
      }
    }
    return buffer.getInt(0);
  }

  private static List<Integer> elements(int word, boolean bytes, boolean signed) {
    var buffer = ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN).putInt(0, word);
    var all = new ArrayList<Integer>();
    for (int i = 0; i < 4; i += bytes ? 1 : 2) {
      int value = bytes ? buffer.get(i) : buffer.getShort(i);
      all.add(signed ? value : value & (bytes ? 0xFF : 0xFFFF));
    }
    return all;
  }
}
