package dev.athanor.ops.expression;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.ops.DType;
import dev.athanor.ops.OpException;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.DoubleStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ExpressionTest {

  private static Expression compile(String text, String dtypes, double... constants) {
    return Expression.of(
        text,
        Arrays.stream(dtypes.split(" ", -1)).map(name -> DType.of(name).orElseThrow()).toList(),
        DoubleStream.of(constants)
            .mapToObj(value -> new Expression.Constant("constants", value))
            .toList(),
        Optional.empty());
  }

  private static double evaluate(String text, double x) {
    var compiled = compile(text, "f64");
    return Evaluator.evaluate(compiled.program(), compiled.literals(), List.of(ScalarValue.of(x)))
        .toReal();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {
        "1 + x * 3; 7",
        "-x ** 2; -4",
        "2 ** 2 ** 3 + x; 258",
        "2 ** -1 * x; 1",
        "7 // 2 * x; 6",
        "-7 // 2 * x; -8",
        "-7 % 3 + x; 4",
        "7.5 % -2 + x; 1.5",
        "(1 | 6 & 3 ^ 1) + x; 4",
        "(1 + 1 << 3) + x; 18",
        "(-16 >> 2) + x; -2",
        "where(1 < x && !(x < 1) || false, 5, 6); 5",
        "~5 + x; -4",
        "x - 1 - 1; 0",
        "x / 2 / 2; 0.5",
        "1 / 4 * x; 0.5",
        "x-1e-1; 1.9",
        ".5*x; 1",
        "max(x, min(3, 4)); 3",
        "clamp(x, 3, 4); 3",
        "2 ** 62 // 2 ** 61 + x; 4",
        "exp(0) + cos(pi) + x; 2",
        "sign(-inf) * x; -2",
        "i8(300) + x; 129",
      })
  void followsThePrecedenceOfOperators(String text, double expected) {
    assertThat(evaluate(text, 2)).isEqualTo(expected);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {
        "x0 + x1; i8 i8; i8",
        "x0 + x1; i8 u8; i16",
        "x0 + x1; u32 i32; i64",
        "x0 + x1; u8 u32; u32",
        "x0 + x1; i64 f16; f16",
        "x0 + x1; f16 bf16; f32",
        "x0 + x1; f16 f32; f32",
        "x0 + x1; f64 bf16; f64",
        "x0 + x1; bool bool; i32",
        "x0 & x1; bool bool; bool",
        "x0 & x1; bool u8; u8",
        "x + 1; bf16; bf16",
        "x + 1.5; bf16; bf16",
        "x + 1; i8; i8",
        "x + 1.5; i64; f32",
        "x + 1; bool; i64",
        "x / 2; i32; f32",
        "x / 2; f16; f16",
        "x // 2; i16; i16",
        "x * c0; i16; i16",
        "x * c1; i16; f32",
        "sqrt(x); u8; f32",
        "floor(x); i16; i16",
        "floor(x); f16; f16",
        "x > 1; f64; bool",
        "x && 1; i8; bool",
        "where(x > 0, 1, 2); f32; i64",
        "where(x > 0, 1, 2.5); f32; f32",
        "where(x > 0, 1, 2) + x; f16; f16",
        "where(x > 0, 0.1, 2) + x; f64; f64",
        "isnan(x); i8; bool",
        "f16(x); f64; f16",
        "x ** 2; i8; i8",
        "x ** 0.5; i8; f32",
        "x >> 1; bool; i64",
      })
  void promotesDtypes(String text, String dtypes, String result) {
    assertThat(compile(text, dtypes, 2, 2.5).program().output().text()).isEqualTo(result);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '@',
      quoteCharacter = '`',
      value = {
        "exp(x0 + 2.0 x1)@ character 14: expected \")\" but found \"x1\"",
        "x +@ character 4: expected a number, a name or \"(\" but found the end",
        "x 1@ character 3: expected an operator or the end but found \"1\"",
        "x # 1@ character 3: expected an operator or the end but found \"#\"",
        "exp x@ character 5: expected \"(\" after the function exp but found \"x\"",
        "max(x@ character 6: expected \",\" or \")\" but found the end",
        "max(x)@ character 1: max takes 2 arguments but has 1",
        "exp(x, 1)@ character 1: exp takes 1 argument but has 2",
        "exp()@ character 1: exp takes 1 argument but has 0",
        "expp(x)@ character 1: unknown function \"expp\"; did you mean exp, exp2 or expm1?",
        "y + x@ character 1: unknown name \"y\"; use x0, x1, … for inputs, c0, c1, … for constants, or true, false, inf, nan, pi",
        "x + x3@ character 5: input x3 is not given; the inputs are x0",
        "x + c2@ character 5: constant c2 is not given; the attribute \"constants\" has length 0",
        "0 < x < 1@ character 7: comparisons cannot be chained; combine them with &&, for example 0 < x && x < 1",
        "x + 9223372036854775808@ character 5: integers are at most 9223372036854775807; for a float, add a point or an exponent",
        "x + 1e999@ character 5: \"1e999\" exceeds the range of f64; for infinity, write inf",
        "x & 1@ character 3: & of f64 is not supported; use integers, for example i32(…)",
        "1 + exp(x)@ character 5: exp is not available in f64; cast its operand to f32, for example exp(f32(x))",
        "x ** 1.5@ character 3: ** is not available in f64; cast its operand to f32, for example f32(x) ** 1.5",
        "i8(x) + 200@ character 7: 200 does not fit i8, the dtype of the other operand; use a number from -128 to 127, or cast that operand, for example i64(x)",
        "2 ** i8(x)@ character 3: ** of integers needs a literal exponent from 0 to 64; cast the base to f32, for example f32(x) ** y",
      })
  void errorsNameThePosition(String text, String message) {
    assertThatThrownBy(() -> compile(text, "f64"))
        .isInstanceOf(OpException.InvalidAttribute.class)
        .hasMessage("expression, " + message)
        .extracting(e -> ((OpException) e).field())
        .isEqualTo("expression");
  }

  @Test
  void refusesUnusedInputs() {
    assertThatThrownBy(() -> compile("x0 + 1", "f32 f32"))
        .hasMessage("expression does not use input x1, which is given; use it or omit it");
  }

  @Test
  void listsTheFunctionsIfNoneIsNear() {
    assertThatThrownBy(() -> compile("convolution(x)", "f32"))
        .hasMessageContaining("unknown function \"convolution\"; the functions are where, abs,")
        .hasMessageContaining("softplus")
        .hasMessageContaining("bf16");
  }

  @Test
  void limitsTheSizeOfExpressions() {
    assertThat(compile("x" + "+x".repeat(127), "f32").program().code()).hasSize(128);
    assertThatThrownBy(() -> compile("x" + "+x".repeat(128), "f32"))
        .hasMessage(
            "expression, character 256: the expression has more than 256 numbers, names and operators");
    compile("(".repeat(63) + "x" + ")".repeat(63), "f32");
    assertThatThrownBy(() -> compile("(".repeat(64) + "x" + ")".repeat(64), "f32"))
        .hasMessage("expression, character 65: the expression is nested more than 64 deep");
    assertThatThrownBy(() -> compile("-".repeat(64) + "x", "f32"))
        .hasMessage("expression, character 65: the expression is nested more than 64 deep");
    assertThatThrownBy(() -> compile("x" + " ".repeat(4096), "f32"))
        .hasMessage("expression has 4097 characters; the maximum is 4096");
  }

  @Test
  void numbersAreParametersOfOneKernel() {
    var one = compile("x * 0.1 + c0", "f32", 2);
    assertThat(compile("x*0.2+c0", "f32", 7).program()).isEqualTo(one.program());
    assertThat(one.literals()).containsExactly(ScalarValue.of((float) 0.1), ScalarValue.of(2.0));
    assertThat(compile("x * 0.1 - c0", "f32", 2).program().hash())
        .isNotEqualTo(one.program().hash());
    assertThat(compile("x * 0.1 + c0", "f16", 2).program().hash())
        .isNotEqualTo(one.program().hash());
  }

  @Test
  void computesLiteralsAndCommonSubexpressionsOnce() {
    var literals = compile("x + (2 * 3 - 1 / 4)", "f64");
    assertThat(literals.program().code()).hasSize(3);
    assertThat(literals.literals()).containsExactly(ScalarValue.of(5.75));
    var common = compile("exp(x * 2) / (1 + exp(x * 2))", "f32");
    assertThat(common.program().code().stream().filter(e -> e.function() == Function.EXP))
        .hasSize(1);
    assertThat(compile("x ** 8", "f32").program().operations()).isEqualTo(3);
  }
}
