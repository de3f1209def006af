package dev.athanor.engine.debug.expression;

import static dev.athanor.engine.debug.expression.Variables.B;
import static dev.athanor.engine.debug.expression.Variables.C;
import static dev.athanor.engine.debug.expression.Variables.D;
import static dev.athanor.engine.debug.expression.Variables.F;
import static dev.athanor.engine.debug.expression.Variables.I;
import static dev.athanor.engine.debug.expression.Variables.L;
import static dev.athanor.engine.debug.expression.Variables.N;
import static dev.athanor.engine.debug.expression.Variables.P;
import static dev.athanor.engine.debug.expression.Variables.S;
import static dev.athanor.engine.debug.expression.Variables.X;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

class ExpressionTest {

  private static Object value(String text, int thread) {
    return Expression.parse(text).bind(new Variables()).value(thread);
  }

  /** Expressions, and what javac makes of the same expression; the box shows the type. */
  @SuppressWarnings({
    "cast",
    "divzero",
    "ConstantOverflow",
    "IdentityBinaryExpression",
    "IntLongMath",
    "FloatCast",
    "NarrowingCompoundAssignment",
    "ComparisonOutOfRange",
    "BadShiftAmount",
    "OperatorPrecedence",
    "UnnecessaryParentheses",
    "IntFloatConversion",
    "IntegerOverflow",
    "ShortCircuitBoolean",
    "LongFloatConversion",
    "MathRoundIntLong",
    "MathAbsoluteNegative",
    "NegativeCharLiteral",
    "ComplexBooleanConstant",
    "IntLiteralCast"
  })
  static List<Arguments> expressions() {
    return List.of(
        arguments("1 + 2 * 3 - 4 / 3 % 2", (Object) (1 + 2 * 3 - 4 / 3 % 2)),
        arguments("(1 + 2) * 3", (Object) ((1 + 2) * 3)),
        arguments("i * i", (Object) (I * I)),
        arguments("i * 2147483647", (Object) (I * 2147483647)),
        arguments("-i / n", (Object) (-I / N)),
        arguments("-i % -n", (Object) (-I % -N)),
        arguments("i >> 3", (Object) (I >> 3)),
        arguments("i >>> 3", (Object) (I >>> 3)),
        arguments("i << 35", (Object) (I << 35)),
        arguments("l << 70", (Object) (L << 70)),
        arguments("i >>> 33L", (Object) (I >>> 33L)),
        arguments("l >>> 4", (Object) (L >>> 4)),
        arguments("b + s", (Object) (B + S)),
        arguments("c + 1", (Object) (C + 1)),
        arguments("(char) (c + 1)", (Object) ((char) (C + 1))),
        arguments("(byte) 300", (Object) ((byte) 300)),
        arguments("(short) f", (Object) ((short) F)),
        arguments("(int) f", (Object) ((int) F)),
        arguments("(long) f", (Object) ((long) F)),
        arguments("(int) -f", (Object) ((int) -F)),
        arguments("(int) (0.0 / 0)", (Object) ((int) (0.0 / 0))),
        arguments("(char) -1", (Object) ((char) -1)),
        arguments("(byte) (char) 65_535", (Object) ((byte) (char) 65_535)),
        arguments("n / 2f", (Object) (N / 2f)),
        arguments("(float) n / 3", (Object) ((float) N / 3)),
        arguments("n / 2.0", (Object) (N / 2.0)),
        arguments("f * f", (Object) (F * F)),
        arguments("f + 0.1", (Object) (F + 0.1)),
        arguments("1e40 > f", (Object) (1e40 > F)),
        arguments("0.1f == 0.1", (Object) (0.1f == 0.1)),
        arguments("0.1 + 0.2", (Object) (0.1 + 0.2)),
        arguments("1 / 0.0", (Object) (1 / 0.0)),
        arguments("-1f / 0", (Object) (-1f / 0)),
        arguments("0.0 / 0 == 0.0 / 0", (Object) (0.0 / 0 == 0.0 / 0)),
        arguments("0.0 / 0 != 0.0 / 0", (Object) (0.0 / 0 != 0.0 / 0)),
        arguments("-0.0 == 0", (Object) (-0.0 == 0)),
        arguments("d % 2", (Object) (D % 2)),
        arguments("-7.5f % 2", (Object) (-7.5f % 2)),
        arguments("~i & 0xFF | 0b1010 ^ 017", (Object) (~I & 0xFF | 0b1010 ^ 017)),
        arguments("0xFFFFFFFF", (Object) (0xFFFFFFFF)),
        arguments("0xFFFFFFFFFFFFFFFFL", (Object) (0xFFFFFFFFFFFFFFFFL)),
        arguments("-2147483648", (Object) (-2147483648)),
        arguments("-9223372036854775808L", (Object) (-9223372036854775808L)),
        arguments("1_000 + .5 + 1. + 2e-3 + 3f + 4D", (Object) (1_000 + .5 + 1. + 2e-3 + 3f + 4D)),
        arguments("'a' + '\\n' + '\\'' + '\\\\'", (Object) ('a' + '\n' + '\'' + '\\')),
        arguments("p && n > 6 || i == 0", (Object) (P && N > 6 || I == 0)),
        arguments("p & n < 6 | !p ^ true", (Object) (P & N < 6 | !P ^ true)),
        arguments("p == (n > 3)", (Object) (P == (N > 3))),
        arguments("p != (n > 3)", (Object) (P != (N > 3))),
        arguments("!p || n >= 7 && n <= 7", (Object) (!P || N >= 7 && N <= 7)),
        arguments("n == 7.0", (Object) (N == 7.0)),
        arguments("c == 120", (Object) (C == 120)),
        arguments("l == (float) l", (Object) (L == (float) L)),
        arguments("n > 5 ? n > 6 ? 2 : 1 : 0", (Object) (N > 5 ? N > 6 ? 2 : 1 : 0)),
        arguments("p ? 'a' : 3", (Object) (P ? 'a' : 3)),
        arguments("p ? 'a' : 99999", (Object) (P ? 'a' : 99999)),
        arguments("p ? b : s", (Object) (P ? B : S)),
        arguments("p ? b : c", (Object) (P ? B : C)),
        arguments("p ? 1 : 2L", (Object) (P ? 1 : 2L)),
        arguments("p ? n : d", (Object) (P ? N : D)),
        arguments("x[1 + 1] * x[0]", (Object) (X[1 + 1] * X[0])),
        arguments("x[x.length - 1] + 1", (Object) (X[X.length - 1] + 1)),
        arguments("x[c - 119]", (Object) (X[C - 119])),
        arguments("n + -n - -5 - +n", (Object) (N + -N - -5 - +N)),
        arguments("(boolean) p", (Object) ((boolean) P)),
        arguments("(int) c", (Object) ((int) C)),
        arguments("(float) 16_777_217", (Object) ((float) 16_777_217)),
        arguments("(double) (float) 0.1", (Object) ((double) (float) 0.1)),
        arguments("Math.abs(i)", (Object) (Math.abs(I))),
        arguments("Math.abs(-2147483648)", (Object) (Math.abs(-2147483648))),
        arguments("Math.abs(d)", (Object) (Math.abs(D))),
        arguments("Math.min(n, l)", (Object) (Math.min(N, L))),
        arguments("Math.max(f, d)", (Object) (Math.max(F, D))),
        arguments("Math.min(b, s)", (Object) (Math.min(B, S))),
        arguments("Math.round(d)", (Object) (Math.round(D))),
        arguments("Math.round(2.5f)", (Object) (Math.round(2.5f))),
        arguments("Math.round(n)", (Object) (Math.round(N))),
        arguments("Math.sqrt(n)", (Object) (Math.sqrt(N))),
        arguments("Math.floor(d)", (Object) (Math.floor(D))),
        arguments("Math.ceil(d)", (Object) (Math.ceil(D))),
        arguments("Math.exp(0)", (Object) (Math.exp(0))),
        arguments("Math.log(1)", (Object) (Math.log(1))),
        arguments("Math.pow(2, n)", (Object) (Math.pow(2, N))),
        arguments("Math.sin(0)", (Object) (Math.sin(0))),
        arguments("Math.cos(0f)", (Object) (Math.cos(0f))),
        arguments("n!=0&&12/n>0", (Object) (N != 0 && 12 / N > 0)),
        arguments("n<<1>3==p", (Object) (N << 1 > 3 == P)));
  }

  @ParameterizedTest
  @MethodSource("expressions")
  void hasTheValueAndTypeOfJava(String text, Object expected) {
    var bound = Expression.parse(text).bind(new Variables());
    assertThat(bound.value(0)).isEqualTo(expected);
    assertThat(bound.type().cast(bound.value(0))).isEqualTo(expected);
  }

  @Test
  void readsOtherLanesOfTheWarp() {
    assertThat(value("t + t[5]", 70)).isEqualTo(70 + 69);
    assertThat(value("t[32 - 1]", 70)).isEqualTo(95);
    assertThat(Expression.parse("t[5] + 1").bind(new Variables()).uniform()).isTrue();
    assertThat(Expression.parse("t[t % 4] + 1").bind(new Variables()).uniform()).isFalse();
  }

  @Test
  void readsRegistersBesideTheRemainder() {
    assertThat(value("%r1%%r1", 0)).isEqualTo(0);
    assertThat(value("%r1 % 4 + point.x", 0)).isEqualTo(14);
  }

  @Test
  void evaluatesOnlyTheOperandsThatJavaEvaluates() {
    assertThat(value("p || 1 / 0 == 1", 0)).isEqualTo(true);
    assertThat(value("!p && x[99] == 1", 0)).isEqualTo(false);
    assertThat(value("p ? 1 : 1 / 0", 0)).isEqualTo(1);
    assertThatThrownBy(() -> value("p | 1 / 0 == 1", 0)).isInstanceOf(EvaluationException.class);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          n / (n - 7) | division by zero
          l % 0 | division by zero
          x[n] | x[7] is out of bounds; an index is a number from 0 to 4
          x[-1] | x[-1] is out of bounds; an index is a number from 0 to 4
          x[l] | x[20015998343868] is out of bounds; an index is a number from 0 to 4
          t[32] | t[32] is out of bounds; an index is a number from 0 to 31
          """)
  void saysWhyThereIsNoValue(String text, String sentence) {
    assertThatThrownBy(() -> value(text, 0))
        .isInstanceOf(EvaluationException.class)
        .hasMessage(sentence);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          `` | column 1: expected an operand, found the end
          n + | column 4: expected an operand, found the end
          n + * 2 | column 5: expected an operand, found "* 2"
          (n + 1 | column 7: expected ")", found the end
          x[1 | column 4: expected "]", found the end
          n ? 1 | column 6: expected ":", found the end
          n = 3 | column 3: expected an operator or the end, found "= 3"
          n++ | column 2: expected an operator or the end, found "++"
          --n | column 1: expected an operand, found "--n"
          n n | column 3: expected an operator or the end, found "n"
          3x | column 2: expected the end of the number, found "x"
          09 | column 2: expected the end of the number, found "9"
          'ab' | column 1: expected a character such as 'a', found "'ab'"
          2147483648 | column 1: 2147483648 is too large for an int; append L
          0x1FFFFFFFF | column 1: 0x1FFFFFFFF is too large for an int; append L
          9223372036854775808L | column 1: 9223372036854775808L is too large for a long
          n + tanh(1) | column 5: tanh cannot be called; the functions are Math.abs, Math.ceil, Math.cos, Math.exp, Math.floor, Math.log, Math.max, Math.min, Math.pow, Math.round, Math.sin, Math.sqrt
          Math.max(1) | column 1: Math.max takes two numbers
          Math.abs(p) | column 1: Math.abs takes one number
          n + p | column 3: the operands of + are int and boolean; expected numbers
          n == p | column 3: the operands of == are int and boolean; expected two numbers or two booleans
          p < p | column 3: the operands of < are boolean and boolean; expected numbers
          n && p | column 3: the operands of && are int and boolean; expected booleans
          f << 1 | column 3: the operands of << are float and int; expected whole numbers
          f & 1 | column 3: the operands of & are float and int; expected whole numbers or booleans
          !n | column 1: the operand of ! has the type int; expected a boolean
          ~f | column 1: the operand of ~ has the type float; expected a whole number
          -p | column 1: the operand of - has the type boolean; expected a number
          n ? 1 : 2 | column 3: the operand of ? has the type int; expected a boolean
          p ? 1 : p | column 3: the results of ?: are int and boolean; expected two numbers or two booleans
          (int) p | column 1: boolean cannot be cast to int
          (boolean) n | column 1: int cannot be cast to boolean
          x + 1 | x is an array; write an element such as x[0]
          x[f] | the index of x has the type float; expected a whole number
          what | unknown what
          """)
  void saysWhatIsWrong(String text, String sentence) {
    assertThatThrownBy(() -> value(text, 0))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(sentence);
  }

  @Test
  void boundsTheLength() {
    assertThat(value("(".repeat(499) + "1" + ")".repeat(499), 0)).isEqualTo(1);
    assertThatThrownBy(() -> Expression.parse("(".repeat(1001)))
        .hasMessage("the expression has 1001 characters; the limit is 1000");
  }

  @Test
  void listsNames() {
    assertThat(Expression.parse("p ? x[%r1] : -Math.abs((int) d + 3)").names())
        .containsExactly("p", "x", "%r1", "d");
  }
}
