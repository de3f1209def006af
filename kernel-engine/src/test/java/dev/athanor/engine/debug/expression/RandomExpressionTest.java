package dev.athanor.engine.debug.expression;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Compares random expressions with methods that javac compiles from the same texts. */
class RandomExpressionTest {

  private static final int COUNT = 600;

  private static final String VARIABLES =
      "boolean p, byte b, short s, char c, int i, int n, long l, float f, double d, int[] x";

  private static final List<String> NUMBERS =
      List.of(
          "b",
          "s",
          "c",
          "i",
          "n",
          "l",
          "f",
          "d",
          "0",
          "1",
          "-1",
          "7",
          "0x8000_0000",
          "64L",
          "-3L",
          "'q'",
          "1.5f",
          "-0.0",
          "1e10",
          "255",
          "x.length");

  private static final List<String> INTEGRAL =
      List.of("b", "s", "c", "i", "n", "l", "3", "-1", "0xFF", "33L", "'q'", "x.length");

  @TempDir Path folder;

  private final Random random = new Random(20_261_128);

  private String oneOf(List<String> words) {
    return words.get(random.nextInt(words.size()));
  }

  private String number(int depth) {
    if (depth == 0) {
      return oneOf(NUMBERS);
    }
    return switch (random.nextInt(9)) {
      case 0, 1, 2 ->
          number(depth - 1)
              + " "
              + oneOf(List.of("+", "-", "*", "/", "%"))
              + " "
              + number(depth - 1);
      case 3 -> "(" + number(depth - 1) + ")";
      case 4 -> "(" + bool(depth - 1) + " ? " + number(depth - 1) + " : " + number(depth - 1) + ")";
      case 5 ->
          "(%s) (%s)"
              .formatted(
                  oneOf(List.of("byte", "short", "char", "int", "long", "float", "double")),
                  number(depth - 1));
      case 6 ->
          oneOf(List.of("Math.min", "Math.max"))
              + "("
              + number(depth - 1)
              + ", "
              + number(depth - 1)
              + ")";
      case 7 ->
          oneOf(List.of("Math.abs", "Math.round", "Math.sqrt", "Math.floor", "- ", "+ "))
              + "("
              + number(depth - 1)
              + ")";
      default -> "(" + integral(depth - 1) + ")";
    };
  }

  private String integral(int depth) {
    if (depth == 0) {
      return oneOf(INTEGRAL);
    }
    return switch (random.nextInt(6)) {
      case 0, 1 ->
          integral(depth - 1)
              + oneOf(List.of(" & ", " | ", " ^ ", " << ", " >> ", " >>> ", " % ", " * "))
              + integral(depth - 1);
      case 2 -> "~(" + integral(depth - 1) + ")";
      case 3 -> "x[(int) (" + integral(depth - 1) + ") & 7]";
      case 4 -> "(int) (" + number(depth - 1) + ")";
      default -> "(" + integral(depth - 1) + ")";
    };
  }

  private String bool(int depth) {
    if (depth == 0) {
      return oneOf(List.of("p", "true", "false", "(n == 7)", "(i < l)", "(f != d)"));
    }
    return switch (random.nextInt(5)) {
      case 0, 1 ->
          "("
              + number(depth - 1)
              + oneOf(List.of(" < ", " <= ", " > ", " >= ", " == ", " != "))
              + number(depth - 1)
              + ")";
      case 2, 3 ->
          bool(depth - 1)
              + oneOf(List.of(" && ", " || ", " & ", " | ", " ^ ", " == ", " != "))
              + bool(depth - 1);
      default -> "!(" + bool(depth - 1) + ")";
    };
  }

  @Test
  void agreesWithJavac() throws Exception {
    var texts = new ArrayList<String>();
    for (int k = 0; k < COUNT; k++) {
      int depth = 1 + random.nextInt(5);
      texts.add(k % 3 == 0 ? bool(depth) : k % 3 == 1 ? integral(depth) : number(depth));
    }
    int failing = 0;
    try (var loader = compile(texts)) {
      var methods = loader.loadClass("Compiled").getMethods();
      var byName = new HashMap<String, Method>();
      for (var method : methods) {
        byName.put(method.getName(), method);
      }
      for (int k = 0; k < COUNT; k++) {
        var text = texts.get(k);
        var bound = Expression.parse(text).bind(new Variables());
        var method = Objects.requireNonNull(byName.get("e" + k));
        Object expected;
        try {
          expected =
              method.invoke(
                  null,
                  Variables.P,
                  Variables.B,
                  Variables.S,
                  Variables.C,
                  Variables.I,
                  Variables.N,
                  Variables.L,
                  Variables.F,
                  Variables.D,
                  Variables.X);
        } catch (InvocationTargetException e) {
          failing++;
          assertThat(e.getCause())
              .isInstanceOfAny(ArithmeticException.class, ArrayIndexOutOfBoundsException.class);
          try {
            fail("%s has the value %s; Java: %s", text, bound.value(0), e.getCause());
          } catch (EvaluationException same) {
            continue;
          }
          continue;
        }
        assertThat(bound.value(0)).as(text).isEqualTo(expected);
      }
    }
    assertThat(failing).as("expressions without a value").isBetween(1, COUNT / 2);
  }

  /** Compiles a method per expression; its result is boxed, which shows the type. */
  private URLClassLoader compile(List<String> texts) throws Exception {
    var code = new StringBuilder("public class Compiled {\n");
    for (int k = 0; k < texts.size(); k++) {
      code.append(
          "  public static Object e%d(%s) { return %s; }\n".formatted(k, VARIABLES, texts.get(k)));
    }
    code.append("}\n");
    var source =
        new SimpleJavaFileObject(
            URI.create("string:///Compiled.java"), JavaFileObject.Kind.SOURCE) {
          @Override
          public CharSequence getCharContent(boolean ignoreEncodingErrors) {
            return code;
          }
        };
    var compiled =
        ToolProvider.getSystemJavaCompiler()
            .getTask(
                null,
                null,
                null,
                List.of("-d", folder.toString(), "-Xlint:none", "-proc:none"),
                null,
                List.of(source))
            .call();
    assertThat(compiled).isTrue();
    return new URLClassLoader(new URL[] {folder.toUri().toURL()});
  }
}
