package dev.athanor.engine.ptx.meaning;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Immediate;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.RegisterClass;
import dev.athanor.engine.ptx.Statement;
import dev.athanor.engine.ptx.text.Parser;
import dev.athanor.testing.TestTier;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Lane functions match ptxas's constant folding, bit by bit. Each row of the file has a name, the
 * final bits of {@code %r1}, and statements. Rows from number 632 on come from ptxas 13.0 for
 * sm_90a: corner cases of bit fields, number classes and NaNs, and a seeded sweep over everything
 * that ptxas folds, at edge cases and random values.
 *
 * <p>Three kinds of results are excluded: NaN sums and products of f32, which only whole kernels
 * make canonical; {@code slct} by {@code 0x80000000} as s32, which ptxas treats as non-negative,
 * contrary to the manual; and NaNs of {@code neg}, {@code abs} and some conversions, for which an
 * H200 gives other bits than ptxas folds.
 */
@Tag(TestTier.THOROUGH_TAG)
class FoldOracleTest {

  private static final Path ROWS = Path.of("src/test/resources/ptxas-folds.tsv");

  record Row(String name, int expected, String statements) {
    @Override
    public String toString() {
      return name;
    }
  }

  static Stream<Row> rows() {
    try {
      return Files.readAllLines(ROWS).stream()
          .skip(1)
          .map(line -> line.split("\t", -1))
          .map(cells -> new Row(cells[0], Integer.parseUnsignedInt(cells[1], 16), cells[2]));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Test
  void allRowsArePresent() {
    assertThat(rows()).hasSize(3374);
  }

  @ParameterizedTest
  @MethodSource("rows")
  void foldsAsPtxasDoes(Row row) throws Throwable {
    var text =
        """
        .version 8.0
        .target sm_90
        .visible .entry fold()
        {
            .reg .pred %%p<8>;
            .reg .b16 %%h<8>;
            .reg .b32 %%r<8>;
            .reg .b64 %%l<8>;
            .reg .f32 %%f<8>;
            .reg .f64 %%d<8>;
            %s
        }
        """
            .formatted(row.statements());
    var values = new HashMap<Operand, Object>();
    for (var statement : Parser.parse(text, row.name()).kernels().getFirst().body()) {
      execute((Statement.Instruction) statement, values);
    }
    assertThat("%08x".formatted((Integer) values.get(new Register(RegisterClass.B32, "%r1"))))
        .as(row.statements())
        .isEqualTo("%08x".formatted(row.expected()));
  }

  private static void execute(Statement.Instruction i, Map<Operand, Object> values)
      throws Throwable {
    var types = LaneSemantics.types(i.form(), i.modifiers(), false);
    var sources = new ArrayList<Object>();
    for (var operand : operands(i, false)) {
      var carrier = types.get(sources.size()).carrier();
      Object value =
          operand instanceof Immediate literal
              ? (Object) literal.bits()
              : Objects.requireNonNull(values.get(operand), operand::toString);
      sources.add(convert(value, carrier));
    }
    var results = operands(i, true);
    List<MethodHandle> meanings = LaneSemantics.of(i.form(), i.modifiers());
    for (int r = 0; r < results.size(); r++) {
      var register = (Register) results.get(r);
      values.put(
          register,
          convert(
              meanings.get(r).invokeWithArguments(sources), register.registerClass().carrier()));
    }
  }

  /** Returns the same bits in another carrier. */
  private static Object convert(Object value, Class<?> carrier) {
    if (value instanceof Boolean) {
      return value;
    }
    long bits =
        switch (value) {
          case Float f -> Float.floatToRawIntBits(f);
          case Double d -> Double.doubleToRawLongBits(d);
          case Number n -> n.longValue();
          default -> throw new IllegalArgumentException("no value " + value);
        };
    if (carrier == int.class) {
      return (int) bits;
    } else if (carrier == long.class) {
      return bits;
    }
    return carrier == float.class
        ? (Object) Float.intBitsToFloat((int) bits)
        : (Object) Double.longBitsToDouble(bits);
  }

  private static List<Operand> operands(Statement.Instruction i, boolean results) {
    var all = new ArrayList<Operand>();
    for (int at = 0; at < i.operands().size(); at++) {
      if (i.form().operands().get(at).isResult() == results) {
        switch (i.operands().get(at)) {
          case Operand.Vector v -> all.addAll(v.elements());
          case Operand.Pair p -> all.addAll(List.of(p.first(), p.second()));
          case Operand other -> all.add(other);
        }
      }
    }
    all.addAll(i.form().impliedRegisters(results));
    return all;
  }
}
