package dev.athanor.engine.ptx.text;

import dev.athanor.engine.ptx.Kernel.Parameter;
import dev.athanor.engine.ptx.LaunchBounds;
import dev.athanor.engine.ptx.Literals;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.Variable;
import dev.athanor.engine.ptx.Variable.Initializer;
import dev.athanor.engine.ptx.text.Lexer.Kind;
import dev.athanor.engine.ptx.text.Lexer.Token;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** Reads declarations of variables, parameters and limits. */
final class Declarations {

  /** The maximum number of values of a row. */
  private static final int MAX_VALUES = 1 << 20;

  private final Tokens tokens;
  private final Expressions expressions;

  /** The element size of each array in bytes. */
  private final Map<String, Integer> elementBytes = new HashMap<>();

  Declarations(Tokens tokens) {
    this.tokens = tokens;
    this.expressions = new Expressions(tokens);
  }

  /** Returns the element size of an array in bytes; null if the name denotes no array. */
  @Nullable Integer elementBytes(String array) {
    return elementBytes.get(array);
  }

  Expressions expressions() {
    return expressions;
  }

  int count() {
    return expressions.count();
  }

  /** Reads a comma, if another name of the same kind follows, or the semicolon; returns which. */
  boolean another() {
    if (tokens.takeIf(",")) {
      return true;
    }
    tokens.expect(";");
    return false;
  }

  void pragma() {
    do {
      tokens.take(Kind.STRING);
    } while (tokens.takeIf(","));
    tokens.expect(";");
  }

  private int alignment() {
    var token = tokens.peek();
    int alignment = expressions.integer();
    if (alignment < 1 || Integer.bitCount(alignment) != 1) {
      throw Tokens.error(token, "an alignment is a power of two, not " + alignment);
    }
    return alignment;
  }

  /**
   * Reads variables of one type, up to the semicolon.
   *
   * @param declare declares a name and returns its name in the module or function
   * @param symbol resolves a name in an initial value
   */
  void variables(
      String linkage,
      Space space,
      java.util.function.Function<Token, String> declare,
      UnaryOperator<String> symbol,
      Consumer<Variable> to) {
    int alignment = 1;
    int vector = 1;
    while (true) {
      if (tokens.takeIf(".align")) {
        alignment = alignment();
      } else if (tokens.peek().text().matches("\\.v[24]")) {
        vector = vectorLength();
      } else if (tokens.takeIf(".attribute")) {
        tokens.expect("(");
        do {
          tokens.take(Kind.WORD);
        } while (tokens.takeIf(","));
        tokens.expect(")");
      } else {
        break;
      }
    }
    var type = type();
    do {
      to.accept(variable(linkage, space, alignment, vector, type, declare, symbol));
    } while (tokens.takeIf(","));
    tokens.expect(";");
  }

  private Variable variable(
      String linkage,
      Space space,
      int alignment,
      int vector,
      Type type,
      java.util.function.Function<Token, String> declare,
      UnaryOperator<String> symbol) {
    var at = tokens.peek();
    tokens.name();
    var lengths = new ArrayList<Integer>();
    long count = vector;
    while (tokens.takeIf("[")) {
      lengths.add(tokens.peek().is("]") ? Variable.UNSIZED : expressions.count());
      tokens.expect("]");
      count = Math.min(1L << 32, count * lengths.getLast());
    }
    var name = declare.apply(at);
    noteElements(name, type, !lengths.isEmpty());
    if (vector > 1) {
      lengths.add(vector);
    }
    if (count * type.bytes() > Integer.MAX_VALUE) {
      throw Tokens.error(at, at + " is larger than 2 GiB");
    }
    var values = new ArrayList<Initializer>();
    if (tokens.peek().is("=") && space != Space.GLOBAL && space != Space.CONST) {
      throw Tokens.error(
          tokens.peek(),
          "only variables in global and const memory have first values, %s is in %s memory"
              .formatted(at, space.word()));
    }
    if (tokens.takeIf("=")) {
      initial(type, lengths, 0, symbol, values);
    }
    if (lengths.contains(Variable.UNSIZED)) {
      count = values.isEmpty() ? Variable.UNSIZED : values.size();
    } else if (lengths.isEmpty()) {
      count = Variable.SCALAR;
    } else if (values.size() > count) {
      throw Tokens.error(at, "%s has %d elements, got %d".formatted(at, count, values.size()));
    }
    return new Variable(
        linkage,
        space,
        Math.max(alignment, type.bytes() * vector),
        type,
        name,
        (int) count,
        values);
  }

  /** Records the element size. Indices count numbers, even in arrays of arrays or vectors. */
  private void noteElements(String name, Type type, boolean isArray) {
    if (isArray) {
      elementBytes.put(name, type.bytes());
    } else {
      elementBytes.remove(name); // an array of another function
    }
  }

  private Type type() {
    var token = tokens.peek();
    var type = tokens.type();
    if (type == Type.PRED) {
      throw Tokens.error(token, "a predicate cannot be stored in memory; use .b8");
    }
    return type;
  }

  /** Returns the size of a variable in bytes. */
  int size(Variable variable) {
    return (int) variable.bytes();
  }

  private void initial(
      Type type,
      List<Integer> lengths,
      int depth,
      UnaryOperator<String> symbol,
      List<Initializer> all) {
    if (!tokens.peek().is("{")) {
      all.add(value(type, symbol));
      return;
    }
    var at = tokens.take();
    tokens.enter();
    int before = all.size();
    if (!tokens.peek().is("}")) {
      do {
        initial(type, lengths, depth + 1, symbol, all);
      } while (tokens.takeIf(","));
    }
    tokens.expect("}");
    tokens.leave();
    if (depth > 0) {
      long row =
          lengths.stream().skip(depth).mapToLong(n -> n).reduce(1, LaunchBounds::saturatedProduct);
      if (depth >= lengths.size() || all.size() - before > row || row > MAX_VALUES) {
        throw Tokens.error(
            at,
            "a row here has %d values, got %d"
                .formatted(depth < lengths.size() ? row : 0, all.size() - before));
      }
      while (all.size() - before < row) {
        all.add(new Initializer("", false, Literals.convert(type, zero(type))));
      }
    }
  }

  private static Operand.Immediate zero(Type type) {
    return type.kind() == Type.Kind.FLOAT ? Operand.Immediate.of(0.0) : Operand.Immediate.of(0);
  }

  private Initializer value(Type type, UnaryOperator<String> symbol) {
    var token = tokens.peek();
    if (expressions.begin()) {
      var number = expressions.value();
      if (tokens.takeIf("(")) { // one byte of an address: 0xFF00(x)
        var whole = address(symbol);
        tokens.expect(")");
        return new Initializer(whole.symbol(), whole.generic(), whole.number(), number.bits());
      }
      try {
        return new Initializer("", false, Literals.convert(type, number));
      } catch (IllegalArgumentException e) {
        throw Tokens.error(token, String.valueOf(e.getMessage()));
      }
    }
    return address(symbol);
  }

  private Initializer address(UnaryOperator<String> symbol) {
    boolean generic = tokens.peek().text().equals("generic");
    if (generic) {
      tokens.take();
      tokens.expect("(");
    }
    var name = symbol.apply(tokens.name());
    if (generic) {
      tokens.expect(")");
    }
    var zero = Operand.Immediate.of(0);
    if (tokens.takeIf("+")) {
      return new Initializer(name, generic, expressions.value());
    }
    return new Initializer(
        name, generic, tokens.takeIf("-") ? Literals.negate(expressions.value()) : zero);
  }

  /** Reads parameters or results in parentheses; none if there are no parentheses. */
  List<Parameter> parameters(Scopes scopes) {
    var parameters = new ArrayList<Parameter>();
    if (!tokens.takeIf("(")) {
      return parameters;
    }
    while (!tokens.peek().is(")")) {
      if (!parameters.isEmpty()) {
        tokens.expect(",");
      }
      parameters.addAll(parameter(scopes));
    }
    tokens.take();
    return parameters;
  }

  /** Reads the parameters or results of a prototype, whose names are ignored. */
  List<Parameter> prototype() {
    var parameters = new ArrayList<Parameter>();
    if (tokens.takeIf("(")) {
      while (!tokens.takeIf(")")) {
        if (!parameters.isEmpty()) {
          tokens.expect(",");
        }
        parameters.addAll(parameter(new Scopes(java.util.Set.of())));
      }
    }
    return parameters;
  }

  /** Reads a parameter; several if it is a vector of registers. */
  private List<Parameter> parameter(Scopes scopes) {
    if (tokens.takeIf(".reg")) {
      int length = vectorLength();
      var type = tokens.type();
      var name = tokens.name();
      if (length > 1) {
        return scopes.vector(name, type.registerClass(), length).stream()
            .map(element -> inRegister(element.name(), type))
            .toList();
      }
      scopes.register(name, type.registerClass());
      return List.of(inRegister(java.util.Objects.requireNonNull(scopes.find(name)).name(), type));
    }
    tokens.expectWord(".param");
    int alignment = tokens.takeIf(".align") ? alignment() : 1;
    var type = type();
    if (tokens.takeIf(".ptr")) { // the state space of a pointer is a hint
      if (tokens.peek().text().matches("\\.(global|shared|const|local)")) {
        tokens.take();
      }
      if (tokens.takeIf(".align")) {
        alignment();
      }
    }
    var at = tokens.peek();
    tokens.name();
    int count = Variable.SCALAR;
    if (tokens.takeIf("[")) {
      count = tokens.peek().is("]") ? Variable.UNSIZED : expressions.count();
      tokens.expect("]");
    }
    if ((long) count * type.bytes() > 1 << 16) {
      throw Tokens.error(at, "parameter " + at + " is larger than 64 KiB");
    }
    var name = scopes.declare(at);
    noteElements(name, type, count != Variable.SCALAR);
    return List.of(new Parameter(name, type, Math.max(alignment, type.bytes()), count, false));
  }

  private static Parameter inRegister(String name, Type type) {
    return new Parameter(name, type, type.bytes(), Variable.SCALAR, true);
  }

  /** Reads {@code .v2} or {@code .v4} and returns the vector's length; 1 if there is neither. */
  int vectorLength() {
    return tokens.takeIf(".v2") ? 2 : tokens.takeIf(".v4") ? 4 : 1;
  }

  /** Reads the directives between the parameters of a kernel and its body. */
  LaunchBounds limits() {
    var limits = LaunchBounds.NONE;
    while (!tokens.peek().is("{")) {
      var directive = tokens.take();
      limits =
          switch (directive.text()) {
            case ".maxntid" -> limits.withMaxBlockShape(three());
            case ".reqntid" -> limits.withRequiredBlockShape(three());
            case ".reqnctapercluster" -> limits.withClusterShape(three());
            case ".minnctapersm" -> limits.withMinBlocks(count());
            case ".maxnreg" -> limits.withMaxRegisters(count());
            case ".explicitcluster" -> limits.withExplicitCluster();
            case ".maxclusterrank" -> limits.withMaxClusterRank(count());
            case ".abi_preserve", ".abi_preserve_control" -> {
              count(); // only the assembler needs the number of preserved registers
              yield limits;
            }
            case ".noinline", ".blocksareclusters" -> limits;
            case ".pragma" -> {
              pragma();
              yield limits;
            }
            default ->
                throw Tokens.expected(
                    directive,
                    ".maxntid, .reqntid, .minnctapersm, .maxnreg, .reqnctapercluster,"
                        + " .explicitcluster, .maxclusterrank, .pragma or {");
          };
    }
    return limits;
  }

  private List<Integer> three() {
    var sizes = new ArrayList<Integer>();
    do {
      sizes.add(count());
    } while (sizes.size() < 3 && tokens.takeIf(","));
    while (sizes.size() < 3) {
      sizes.add(1);
    }
    return sizes;
  }
}
