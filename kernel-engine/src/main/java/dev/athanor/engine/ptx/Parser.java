package dev.athanor.engine.ptx;

import dev.athanor.engine.ptx.Kernel.Parameter;
import dev.athanor.engine.ptx.Kernel.SharedArray;
import dev.athanor.engine.ptx.Lexer.Kind;
import dev.athanor.engine.ptx.Lexer.Token;
import dev.athanor.engine.ptx.Operand.Register;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Reads PTX text. It knows PTX's punctuation and directives; all that it has to know of
 * instructions it asks of the table.
 */
public final class Parser {

  private final List<Token> tokens;
  private int next;
  private final Map<String, SharedArray> dynamicShared = new HashMap<>();

  // of the kernel that is being read
  private final Map<String, RegisterClass> registers = new HashMap<>();
  private final Map<String, Range> ranges = new HashMap<>();
  private final List<SharedArray> shared = new ArrayList<>();

  /** {@code .reg .b32 %r<12>}. */
  private record Range(RegisterClass registerClass, int count) {}

  private Parser(List<Token> tokens) {
    this.tokens = tokens;
  }

  /**
   * Reads a module.
   *
   * @param file what the text is called in error messages and in the instructions' sources
   * @throws PtxSyntaxException naming the place, what stands there and what would be legal
   */
  public static Module parse(String text, String file) {
    return new Parser(Lexer.tokens(text, file)).module();
  }

  private Module module() {
    expectWord(".version");
    var version = read(Version::of);
    expectWord(".target");
    var target = read(Target::of);
    if (peek().text().equals(".address_size")) {
      take();
      var size = take();
      if (!size.text().equals("64")) {
        throw error(size, "addresses are 64 bits wide, not " + size.text());
      }
    }
    var kernels = new ArrayList<Kernel>();
    while (peek().kind() != Kind.END) {
      var token = take();
      switch (token.text()) {
        case ".extern" -> dynamicArray();
        case ".visible", ".weak" -> {
          expectWord(".entry");
          kernels.add(kernel());
        }
        case ".entry" -> kernels.add(kernel());
        default -> throw expected(token, ".extern, .visible, .weak or .entry");
      }
    }
    return new Module(version, target, kernels);
  }

  private void dynamicArray() {
    expectWord(".shared");
    int alignment = alignment();
    var type = type();
    var name = name();
    expect("[");
    expect("]");
    expect(";");
    dynamicShared.put(
        name, new SharedArray(name, Math.max(alignment, type.bytes()), SharedArray.DYNAMIC));
  }

  private Kernel kernel() {
    registers.clear();
    ranges.clear();
    shared.clear();
    var name = name();
    var parameters = new ArrayList<Parameter>();
    if (peek().is("(")) {
      take();
      while (!peek().is(")")) {
        if (!parameters.isEmpty()) {
          expect(",");
        }
        expectWord(".param");
        var type = type();
        parameters.add(new Parameter(name(), type));
      }
      take();
    }
    int maxThreads = 0;
    int minBlocks = 0;
    while (!peek().is("{")) {
      var directive = take();
      switch (directive.text()) {
        case ".maxntid" -> {
          maxThreads = integer();
          while (takeIf(",")) {
            maxThreads = Math.multiplyExact(maxThreads, integer());
          }
        }
        case ".minnctapersm" -> minBlocks = integer();
        default -> throw expected(directive, ".maxntid, .minnctapersm or {");
      }
    }
    expect("{");
    var body = new ArrayList<Statement>();
    while (!peek().is("}")) {
      statement(body);
    }
    take();
    var used = new ArrayList<>(shared);
    dynamicShared.values().stream()
        .filter(array -> mentions(body, array.name()))
        .forEach(used::add);
    return new Kernel(name, parameters, used, maxThreads, minBlocks, body);
  }

  private static boolean mentions(List<Statement> body, String symbol) {
    return body.stream()
        .filter(Statement.Instruction.class::isInstance)
        .map(Statement.Instruction.class::cast)
        .flatMap(i -> i.operands().stream())
        .map(o -> o instanceof Operand.Address a ? a.base() : o)
        .anyMatch(o -> o instanceof Operand.Symbol s && s.name().equals(symbol));
  }

  private void statement(List<Statement> body) {
    var token = take();
    switch (token.text()) {
      case ".reg" -> declareRegisters();
      case ".shared" -> declareShared();
      case "@" -> {
        boolean negated = peek().is("!");
        if (negated) {
          take();
        }
        var predicate = register(take());
        if (predicate.registerClass() != RegisterClass.PRED) {
          throw error(
              token,
              "a guard is a predicate, but "
                  + predicate
                  + " is a ."
                  + predicate.registerClass().word()
                  + " register");
        }
        body.add(instruction(take(), new Statement.Guard(predicate, negated)));
      }
      default -> {
        if (token.kind() == Kind.WORD && peek().is(":")) {
          take();
          body.add(new Statement.Label(token.text(), token.source()));
        } else {
          body.add(instruction(token, null));
        }
      }
    }
  }

  private void declareRegisters() {
    var registerClass = type().registerClass();
    do {
      var name = take();
      if (name.kind() != Kind.WORD) {
        throw expected(name, "the name of a register");
      }
      if (peek().is("<")) {
        take();
        ranges.put(name.text(), new Range(registerClass, integer()));
        expect(">");
      } else {
        registers.put(name.text(), registerClass);
      }
    } while (takeIf(","));
    expect(";");
  }

  private void declareShared() {
    int alignment = alignment();
    var type = type();
    var name = name();
    expect("[");
    int count = integer();
    expect("]");
    expect(";");
    shared.add(
        new SharedArray(
            name, Math.max(alignment, type.bytes()), Math.multiplyExact(count, type.bytes())));
  }

  private int alignment() {
    if (!peek().text().equals(".align")) {
      return 1;
    }
    take();
    var token = peek();
    int alignment = integer();
    if (Integer.bitCount(alignment) != 1) {
      throw error(token, "an alignment is a power of two, not " + alignment);
    }
    return alignment;
  }

  private Statement.Instruction instruction(Token opcode, Statement.@Nullable Guard guard) {
    if (opcode.kind() != Kind.WORD || opcode.text().startsWith(".")) {
      throw expected(opcode, "an instruction, a label, .reg, .shared or }");
    }
    var operands = new ArrayList<Operand>();
    if (!peek().is(";")) {
      do {
        operands.add(operand());
      } while (takeIf(","));
    }
    expect(";");
    try {
      return Opcodes.instruction(opcode.text(), operands, guard, opcode.source());
    } catch (IllegalArgumentException e) {
      throw error(opcode, String.valueOf(e.getMessage()));
    }
  }

  private Operand operand() {
    var first = single();
    return takeIf("|") ? new Operand.Pair(first, single()) : first;
  }

  private Operand single() {
    var token = take();
    return switch (token.text()) {
      case "{" -> {
        var elements = new ArrayList<Operand>();
        do {
          elements.add(single());
        } while (takeIf(","));
        expect("}");
        yield new Operand.Vector(elements);
      }
      case "[" -> {
        var base = take();
        var name = base.text();
        var operand = isRegister(name) ? register(base) : symbol(base);
        long offset =
            takeIf("+")
                ? Long.parseLong(take(Kind.NUMBER).text())
                : takeIf("-") ? -Long.parseLong(take(Kind.NUMBER).text()) : 0;
        expect("]");
        yield new Operand.Address(operand, offset);
      }
      case "-" -> Literals.negate(literal(take(Kind.NUMBER)));
      default -> {
        if (token.kind() == Kind.NUMBER) {
          yield literal(token);
        }
        var special = SpecialRegister.of(token.text());
        yield special.isPresent()
            ? special.get()
            : token.text().startsWith("%") || isRegister(token.text())
                ? register(token)
                : symbol(token);
      }
    };
  }

  private static Operand.Immediate literal(Token token) {
    try {
      return Literals.parse(token.text());
    } catch (NumberFormatException e) {
      throw error(token, token + " is too large for a literal of 64 bits");
    }
  }

  private Operand.Symbol symbol(Token token) {
    if (token.kind() != Kind.WORD || token.text().startsWith(".")) {
      throw expected(token, "an operand");
    }
    return new Operand.Symbol(token.text());
  }

  private boolean isRegister(String name) {
    return find(name) != null;
  }

  private Register register(Token token) {
    var registerClass = find(token.text());
    if (registerClass == null) {
      throw error(token, "the register " + token.text() + " is not declared");
    }
    return new Register(registerClass, token.text());
  }

  private @Nullable RegisterClass find(String name) {
    var single = registers.get(name);
    if (single != null) {
      return single;
    }
    int digits = name.length();
    while (digits > 0 && Character.isDigit(name.charAt(digits - 1))) {
      digits--;
    }
    // the digits that count may be fewer than there are: in %r12 the prefix can be %r or %r1
    for (int at = digits; at < name.length(); at++) {
      var range = ranges.get(name.substring(0, at));
      var number = name.substring(at);
      if (range != null
          && number.length() < 10
          && (number.equals("0") || !number.startsWith("0"))
          && Integer.parseInt(number) < range.count()) {
        return range.registerClass();
      }
    }
    return null;
  }

  // tokens

  private Token peek() {
    return tokens.get(next);
  }

  private Token take() {
    var token = tokens.get(next);
    if (token.kind() != Kind.END) {
      next++;
    }
    return token;
  }

  private Token take(Kind kind) {
    var token = take();
    if (token.kind() != kind) {
      throw expected(token, "a " + kind.name().toLowerCase(java.util.Locale.ROOT));
    }
    return token;
  }

  private boolean takeIf(String punctuation) {
    boolean there = peek().is(punctuation);
    if (there) {
      take();
    }
    return there;
  }

  private void expect(String punctuation) {
    var token = take();
    if (!token.is(punctuation)) {
      throw expected(token, "\"" + punctuation + "\"");
    }
  }

  private void expectWord(String word) {
    var token = take();
    if (!token.text().equals(word)) {
      throw expected(token, word);
    }
  }

  private String name() {
    var token = take();
    if (token.kind() != Kind.WORD || token.text().startsWith(".") || token.text().startsWith("%")) {
      throw expected(token, "a name");
    }
    return token.text();
  }

  private int integer() {
    var token = take(Kind.NUMBER);
    try {
      return Integer.parseInt(token.text());
    } catch (NumberFormatException e) {
      throw expected(token, "an integer");
    }
  }

  private Type type() {
    var token = take();
    if (token.text().startsWith(".")
        && Modifier.of(token.text().substring(1)) instanceof Type type) {
      return type;
    }
    throw expected(token, "a type such as .b32");
  }

  private <T> T read(java.util.function.Function<String, T> reader) {
    var token = take();
    try {
      return reader.apply(token.text());
    } catch (IllegalArgumentException e) {
      throw error(token, String.valueOf(e.getMessage()));
    }
  }

  private static PtxSyntaxException expected(Token got, String right) {
    return error(got, "expected " + right + ", got " + got);
  }

  private static PtxSyntaxException error(Token at, String problem) {
    return new PtxSyntaxException(at.source(), problem);
  }
}
