package dev.athanor.engine.lift.fuzz;

import static dev.athanor.engine.lift.fuzz.Piece.fixed;
import static dev.athanor.engine.lift.fuzz.Piece.statement;
import static dev.athanor.engine.lift.fuzz.Type.BOOLEAN;
import static dev.athanor.engine.lift.fuzz.Type.INT;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Random;

/**
 * Random statements that load or store neighboring elements, such as {@code a[4 * i]} to {@code a[4
 * * i + 3]}, which vector instructions could serve: at aligned and other indices, in any order,
 * with stores and conditions in between.
 */
record NeighborLoads(Random random, RandomExpressions expressions) {

  /**
   * Memory with 64 elements.
   *
   * @param before text before the index
   * @param after text after the index
   */
  private record Source(String word, String before, String after) {
    static Source array(String name, String word) {
      return new Source(word, name + "[", "]");
    }
  }

  /** Returns statements that read what the kernel can read, or the results of the thread. */
  Piece of(Scope scope) {
    return switch (random.nextInt(6)) {
      case 0 -> stores(scope);
      case 1 -> {
        var word = expressions.pick(Arguments.WORDS);
        yield loads(
            Source.array(word + "Results", word),
            "first" + expressions.pick(List.of("", " + 1", " + 2", " + 4")),
            scope);
      }
      case 2 -> inLoop(source(scope), scope);
      default -> loadsAtBase(source(scope), scope);
    };
  }

  /** Returns statements that read an array of 64 elements. */
  Piece ofArray(String name, Type type, Scope scope) {
    return loadsAtBase(Source.array(name, type.word()), scope);
  }

  private Source source(Scope scope) {
    if (random.nextInt(3) == 0) {
      var word = expressions.pick(Arguments.WORDS.subList(0, 7)); // without boolean
      boolean wide = word.equals("long") || word.equals("double");
      var segment = wide || random.nextBoolean() ? "segment" : "slice";
      var layout = "ValueLayout.JAVA_" + word.toUpperCase(Locale.ROOT);
      return new Source(word, segment + ".getAtIndex(" + layout + ", ", ")");
    }
    var array = expressions.pick(scope.arrays());
    return Source.array(array.name(), array.word());
  }

  private Piece loadsAtBase(Source source, Scope scope) {
    var base = scope.fresh("base");
    return statement(
        "int " + base + " = ",
        switch (random.nextInt(4)) {
          case 0 -> fixed("(", expressions.of(INT, scope, 1), " & 31)");
          case 1 -> fixed("2 * (", expressions.of(INT, scope, 1), " & 15)");
          case 2 -> fixed("((", expressions.of(INT, scope, 1), " & 7) << 2)");
          default -> fixed("4 * (", expressions.of(INT, scope, 1), " & 7)");
        },
        random.nextInt(3) == 0 ? " + " + random.nextInt(5) + ";\n" : ";\n",
        loads(source, base, scope));
  }

  /** Returns loads at a base and the next indices, and their sum. */
  private Piece loads(Source source, String base, Scope scope) {
    var offsets = new ArrayList<>(List.of(0, 1, 2, 3).subList(0, 2 + random.nextInt(3)));
    if (random.nextInt(3) == 0) {
      Collections.shuffle(offsets, random);
    }
    var parts = new ArrayList<Object>();
    var names = new ArrayList<String>();
    for (int offset : offsets) {
      var name = scope.fresh("near");
      var load = source.before + base + " + " + offset + source.after;
      boolean isGuarded = random.nextInt(8) == 0;
      parts.add(
          isGuarded
              ? fixed(
                  declaration(source.word, name) + "if (",
                  expressions.of(BOOLEAN, scope, 1),
                  ") { " + name + " = " + load + "; }\n")
              : source.word + " " + name + " = " + load + ";\n");
      if (random.nextInt(8) == 0) {
        parts.add(store(source.word, random.nextInt(Arguments.RESULTS), scope));
      }
      names.add(name);
    }
    parts.add(accumulate(source.word, names, scope));
    return statement(parts.toArray());
  }

  private static String declaration(String word, String name) {
    return word + " " + name + " = " + (word.equals("boolean") ? "false" : "0") + ";\n";
  }

  /** Returns a loop over rows of four elements. */
  private Piece inLoop(Source source, Scope scope) {
    var row = scope.fresh("row");
    var trips = scope.fresh("trips");
    var terms = new ArrayList<String>();
    for (int offset = 0; offset < 1 + random.nextInt(4); offset++) {
      terms.add(source.before + "4 * " + row + " + " + offset + source.after);
    }
    return statement(
        "int " + trips + " = (",
        expressions.of(INT, scope, 1),
        " & 15);\nfor (int " + row + " = 0; " + row + " < " + trips + "; " + row + "++) {\n",
        accumulate(source.word, terms, scope),
        "}\n");
  }

  private Piece accumulate(String word, List<String> terms, Scope scope) {
    boolean isBoolean = word.equals("boolean");
    var targets = isBoolean ? scope.of(BOOLEAN) : scope.assignableNumbers();
    var sum = String.join(isBoolean ? " ^ " : expressions.pick(List.of(" + ", " - ")), terms);
    if (targets.isEmpty()) {
      return fixed();
    }
    var operator = isBoolean ? " ^= " : expressions.pick(List.of(" += ", " -= ", " = "));
    var target = expressions.pick(targets);
    var cast = operator.equals(" = ") ? "(" + target.word() + ") (" : "(";
    return fixed(target.name() + operator + cast + sum + ");\n");
  }

  /** Returns stores to neighboring results of the thread. */
  private Piece stores(Scope scope) {
    var word = expressions.pick(Arguments.WORDS);
    var offsets = new ArrayList<>(List.of(0, 1, 2, 3).subList(0, 2 + random.nextInt(3)));
    if (random.nextInt(4) == 0) {
      Collections.shuffle(offsets, random);
    }
    int base = random.nextInt(5);
    var parts = new ArrayList<Object>();
    offsets.forEach(offset -> parts.add(store(word, base + offset, scope)));
    return statement(parts.toArray());
  }

  private Piece store(String word, int offset, Scope scope) {
    var type = Type.of(word);
    return statement(
        word + "Results[first + " + offset + "] = (" + word + ") (",
        expressions.of(type, scope, 1),
        ");\n");
  }
}
