package dev.athanor.engine.ptx.text;

import dev.athanor.engine.ptx.Modifier;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.RegisterClass;
import dev.athanor.engine.ptx.Source;
import dev.athanor.engine.ptx.SpecialRegister;
import dev.athanor.engine.ptx.Statement;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.Variable;
import dev.athanor.engine.ptx.table.Instructions;
import dev.athanor.engine.ptx.text.Lexer.Kind;
import dev.athanor.engine.ptx.text.Lexer.Token;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Reads the statements of one kernel or function. */
final class BodyParser {

  /** The maximum number of vectors of registers in one declaration. */
  private static final int MAX_VECTORS = 1 << 16;

  /** The letters of the operands of video instructions that may be parts of registers. */
  private static final String VIDEO_OPERANDS = "dabc";

  private static final Pattern ELEMENT = Pattern.compile("[bh]\\d+");

  private final Tokens tokens;
  private final Declarations declarations;
  private final Expressions expressions;
  private final Parser.Table table;
  private final Map<Integer, String> files;
  private final Scopes scopes;
  private final List<Statement> body = new ArrayList<>();
  private final List<Variable> shared = new ArrayList<>();
  private final List<Variable> locals = new ArrayList<>();
  private final List<Variable> statics = new ArrayList<>();
  private final Set<String> symbols = new HashSet<>();
  private @Nullable Source origin;

  BodyParser(
      Tokens tokens,
      Declarations declarations,
      Parser.Table table,
      Map<Integer, String> files,
      Scopes scopes) {
    this.tokens = tokens;
    this.declarations = declarations;
    this.expressions = declarations.expressions();
    this.table = table;
    this.files = files;
    this.scopes = scopes;
  }

  List<Statement> body() {
    return body;
  }

  /** Returns the variables in shared memory. */
  List<Variable> shared() {
    return shared;
  }

  /** Returns the variables of which each thread has its own copy. */
  List<Variable> locals() {
    return locals;
  }

  /** Returns the variables that all threads of all kernels share. */
  List<Variable> statics() {
    return statics;
  }

  /** Returns the names that operands mention. */
  Set<String> symbols() {
    return symbols;
  }

  /** Reads up to the brace that closes the scope. */
  void statements() {
    tokens.enterScope();
    while (!tokens.takeIf("}")) {
      statement();
    }
    tokens.leaveScope();
  }

  private void statement() {
    var token = tokens.take();
    switch (token.text()) {
      case ".reg" -> registers();
      case ".shared" -> variables(Space.SHARED, shared);
      case ".local", ".param" -> variables((Space) Modifier.of(token.text().substring(1)), locals);
      case ".global", ".const" ->
          variables((Space) Modifier.of(token.text().substring(1)), statics);
      case ".pragma" -> declarations.pragma();
      case ".loc" -> location();
      case "{" -> {
        scopes.open(tokens, tokens.position());
        statements();
        scopes.close();
      }
      case "@" -> {
        boolean negated = tokens.takeIf("!");
        var predicate = register(tokens.take());
        if (predicate.registerClass() != RegisterClass.PRED) {
          throw Tokens.error(
              token,
              "a guard is a predicate, but "
                  + predicate
                  + " is a ."
                  + predicate.registerClass().word()
                  + " register");
        }
        instruction(tokens.take(), new Statement.Guard(predicate, negated));
      }
      default -> {
        if (token.kind() == Kind.WORD && tokens.peek().is(":")) {
          tokens.take();
          body.add(named(scopes.symbol(token.text()), token.source().withOrigin(origin)));
        } else {
          instruction(token, null);
        }
      }
    }
  }

  /** Reads the statement after a name and its colon: a prototype, a list of targets, or a label. */
  private Statement named(String name, Source source) {
    var statement =
        switch (tokens.peek().text()) {
          case ".callprototype" -> {
            tokens.take();
            var results = declarations.prototype();
            tokens.name();
            var parameters = declarations.prototype();
            yield new Statement.Prototype(
                name, results, parameters, !tokens.takeIf(".noreturn"), source);
          }
          case ".calltargets", ".branchtargets" -> {
            boolean functions = tokens.take().text().equals(".calltargets");
            var names = new ArrayList<String>();
            do {
              names.add(scopes.symbol(tokens.name()));
            } while (tokens.takeIf(","));
            yield new Statement.TargetList(name, functions, names, source);
          }
          default -> null;
        };
    if (statement == null) {
      return new Statement.Label(name, source);
    }
    tokens.expect(";");
    return statement;
  }

  private void registers() {
    int length = declarations.vectorLength();
    var registerClass = tokens.type().registerClass();
    do {
      var name = tokens.take();
      if (name.kind() != Kind.WORD) {
        throw Tokens.expected(name, "the name of a register");
      }
      boolean numbered = tokens.takeIf("<");
      int count = numbered ? declarations.count() : 1;
      if (numbered) {
        tokens.expect(">");
      }
      if (length > 1) {
        if (count > MAX_VECTORS) {
          throw Tokens.error(
              name,
              "%d vectors of registers are declared; the maximum is %d"
                  .formatted(count, MAX_VECTORS));
        }
        for (int i = 0; i < count; i++) {
          scopes.vector(numbered ? name.text() + i : name.text(), registerClass, length);
        }
      } else if (numbered) {
        scopes.range(name.text(), registerClass, count);
      } else {
        scopes.register(name, registerClass);
      }
    } while (declarations.another());
  }

  private void variables(Space space, List<Variable> to) {
    declarations.variables("", space, scopes::declare, scopes::symbol, to::add);
  }

  /** {@code .loc 1 20 7, function_name …, inlined_at 1 30 9}. */
  private void location() {
    var file = tokens.take(Kind.NUMBER);
    var line = tokens.take(Kind.NUMBER);
    var column = tokens.take(Kind.NUMBER);
    while (tokens.takeIf(",")) {
      tokens.take(Kind.WORD);
      while (tokens.peek().kind() == Kind.NUMBER
          || tokens.peek().is("+")
          || tokens.peek().text().startsWith("$")) {
        if (tokens.peek().kind() == Kind.WORD && tokens.at(tokens.position() + 1).is(":")) {
          break; // a label, which is the next statement
        }
        tokens.take();
      }
    }
    var name = files.getOrDefault(number(file), "file " + file.text());
    origin = new Source(name, number(line), number(column));
  }

  private static int number(Token token) {
    try {
      return Integer.parseInt(token.text());
    } catch (NumberFormatException e) {
      throw Tokens.expected(token, "an integer");
    }
  }

  private void instruction(Token opcode, Statement.@Nullable Guard guard) {
    if (opcode.kind() != Kind.WORD || opcode.text().startsWith(".")) {
      throw Tokens.expected(
          opcode,
          "an instruction, a label, .reg, .shared, .local, .param, .global, .const, { or }");
    }
    boolean call = opcode.text().equals("call") || opcode.text().startsWith("call.");
    var operands = new ArrayList<Operand>();
    var parts = new StringBuilder();
    if (!tokens.peek().is(";")) {
      do {
        int number = operands.size();
        operands.add(
            call && tokens.takeIf("(")
                ? arguments()
                : number == 0
                    ? part(VIDEO_OPERANDS.charAt(number), parts)
                    : sum(
                        number < VIDEO_OPERANDS.length()
                            ? part(VIDEO_OPERANDS.charAt(number), parts)
                            : operand()));
      } while (tokens.takeIf(","));
    }
    tokens.expect(";");
    if (operands.size() == 2
        && operands.get(0) instanceof Operand.Vector to
        && operands.get(1) instanceof Operand.Vector from
        && opcode.text().equals("mov.v%d".formatted(to.elements().size()) + type(opcode))
        && from.elements().size() == to.elements().size()) {
      move(opcode, to.elements(), from.elements(), guard);
    } else {
      add(opcode, opcode.text() + parts, operands, guard);
    }
  }

  /**
   * Reads an operand. If it is a part of a register or negated, as operands of video instructions
   * may be, returns the register and adds the {@link Modifier.Part} to the opcode.
   */
  private Operand part(char letter, StringBuilder parts) {
    if (tokens.peek().is("-") && isRegister(tokens.at(tokens.position() + 1))) {
      tokens.take();
      parts.append(".%s:%s".formatted(letter, Modifier.Part.NEGATED));
    }
    var text = tokens.peek().text();
    int dot = text.lastIndexOf('.');
    var register = dot > 0 ? scopes.find(text.substring(0, dot)) : null;
    if (register == null || scopes.find(text) != null) {
      return operand();
    }
    var element = text.substring(dot + 1);
    if (!ELEMENT.matcher(element).matches()) {
      return operand();
    }
    tokens.take();
    parts.append(".%s:%s".formatted(letter, element));
    return register;
  }

  private boolean isRegister(Token token) {
    int dot = token.text().lastIndexOf('.');
    return scopes.find(token.text()) != null
        || (dot > 0 && scopes.find(token.text().substring(0, dot)) != null);
  }

  private static String type(Token opcode) {
    return opcode.text().substring(Math.max(0, opcode.text().lastIndexOf('.')));
  }

  /**
   * Expands a vector move, which ptxas accepts although the manual does not define it. Overlapping
   * results and sources go through temporary registers.
   */
  private void move(
      Token opcode, List<Operand> to, List<Operand> from, Statement.@Nullable Guard guard) {
    var word = "mov" + type(opcode);
    var sources = new ArrayList<Operand>(from);
    if (to.stream().anyMatch(from::contains)) {
      for (int i = 0; i < sources.size(); i++) {
        if (sources.get(i) instanceof Register source) {
          var other = scopes.fresh(source.registerClass());
          add(opcode, word, List.of(other, source), null);
          sources.set(i, other);
        }
      }
    }
    for (int i = 0; i < to.size(); i++) {
      if (!(to.get(i) instanceof Operand.Sink)) {
        add(opcode, word, List.of(to.get(i), sources.get(i)), guard);
      }
    }
  }

  private void add(
      Token at, String opcode, List<Operand> operands, Statement.@Nullable Guard guard) {
    try {
      body.add(table.instruction(opcode, operands, guard, at.source().withOrigin(origin)));
    } catch (IllegalArgumentException e) {
      throw Tokens.error(at, String.valueOf(e.getMessage()));
    }
  }

  private Operand arguments() {
    var list = new ArrayList<Operand>();
    while (!tokens.takeIf(")")) {
      if (!list.isEmpty()) {
        tokens.expect(",");
      }
      // a vector of registers is passed element by element
      var next = single();
      list.addAll(next instanceof Operand.Vector vector ? vector.elements() : List.of(next));
    }
    return new Operand.Arguments(list);
  }

  /** Reads the literal added to a source: ptxas accepts it, the manual only in addresses. */
  private Operand sum(Operand source) {
    var plus = tokens.peek();
    if (!plus.is("+") || !(source instanceof Register register)) {
      return source;
    }
    var registerClass = register.registerClass();
    if (!registerClass.isBits()) {
      throw Tokens.error(
          plus,
          "a literal is added to a .b16, .b32 or .b64 register, got %s, a .%s register"
              .formatted(register, registerClass.word()));
    }
    var sum = scopes.fresh(registerClass);
    body.add(
        Instructions.add(
            Instructions.integerType(true, registerClass.bits()),
            sum,
            register,
            new Operand.Immediate(Type.S64, offset()),
            plus.source().withOrigin(origin)));
    return sum;
  }

  private Operand operand() {
    var first = single();
    if (first instanceof Operand.Symbol array && tokens.peek().is("[")) {
      return element(array);
    }
    return tokens.takeIf("|") ? new Operand.Pair(first, single()) : first;
  }

  private Operand element(Operand.Symbol array) {
    var bracket = tokens.take();
    var bytes = declarations.elementBytes(array.name());
    if (bytes == null) {
      throw Tokens.error(
          bracket,
          "%s is not an array; write %s+BYTES for an address behind it"
              .formatted(array.name(), array.name()));
    }
    long offset = (long) bytes * expressions.integer();
    tokens.expect("]");
    return new Operand.Element(new Operand.Symbol(array.name(), offset));
  }

  private Operand single() {
    if (expressions.begin()) {
      return expressions.value();
    }
    var token = tokens.take();
    return switch (token.text()) {
      case "{" -> new Operand.Vector(elements());
      case "[" -> address();
      case "!" -> new Operand.Negation(register(tokens.take()));
      case "_" -> new Operand.Sink();
      default -> {
        var register = scopes.find(token.text());
        if (register != null) {
          yield register;
        }
        var vector = scopes.findVector(token.text());
        if (vector != null) {
          yield Operand.Vector.of(vector);
        }
        var special = SpecialRegister.of(token.text());
        if (special.isPresent()) {
          yield special.get();
        }
        var elements =
            Stream.of(".x", ".y", ".z", ".w")
                .flatMap(element -> SpecialRegister.of(token.text() + element).stream())
                .toList();
        if (elements.size() == 4) {
          yield Operand.Vector.of(elements); // %tid and the like
        }
        yield token.text().startsWith("%") && !scopes.isSymbol(token.text())
            ? register(token)
            : withOffset(symbol(token));
      }
    };
  }

  /** Reads the operands up to the brace that closes a vector. */
  private List<Operand> elements() {
    tokens.enter();
    var elements = new ArrayList<Operand>();
    do {
      elements.add(single());
    } while (tokens.takeIf(","));
    tokens.expect("}");
    tokens.leave();
    return elements;
  }

  private Operand address() {
    var base = tokens.take();
    var register = scopes.find(base.text());
    var operand = register != null ? register : symbol(base);
    if (tokens.takeIf(",")) {
      tokens.expect("{");
      var tile = new Operand.Tile(operand, elements());
      tokens.expect("]");
      return tile;
    }
    long offset = offset();
    tokens.expect("]");
    return new Operand.Address(operand, offset);
  }

  private Operand.Symbol withOffset(Operand.Symbol symbol) {
    return new Operand.Symbol(symbol.name(), offset());
  }

  /** Reads the bytes that are added to an address; 0 = none. */
  private long offset() {
    var sign = tokens.peek();
    if (!sign.is("+") && !sign.is("-")) {
      return 0;
    }
    tokens.take();
    var value = expressions.value();
    if (value.type().kind() == Type.Kind.FLOAT) {
      throw Tokens.error(sign, "an offset counts bytes, got " + value);
    }
    if (sign.is("-")) {
      throw Tokens.error(sign, "an offset is added: write +-%s".formatted(value));
    }
    return value.bits();
  }

  private Operand.Symbol symbol(Token token) {
    if (token.kind() != Kind.WORD || token.text().startsWith(".")) {
      throw Tokens.expected(token, "an operand");
    }
    if (token.text().startsWith("%") && !scopes.isSymbol(token.text())) {
      throw Tokens.error(token, "the register " + token.text() + " is not declared");
    }
    var name = scopes.symbol(token.text());
    symbols.add(name);
    return new Operand.Symbol(name);
  }

  private Register register(Token token) {
    var register = scopes.find(token.text());
    if (register == null) {
      throw Tokens.error(token, "the register " + token.text() + " is not declared");
    }
    return register;
  }
}
