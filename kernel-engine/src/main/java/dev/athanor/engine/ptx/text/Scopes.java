package dev.athanor.engine.ptx.text;

import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.RegisterClass;
import dev.athanor.engine.ptx.text.Lexer.Kind;
import dev.athanor.engine.ptx.text.Lexer.Token;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The names that are visible at one place of a function. Braces open a scope whose names hide those
 * outside; each gets a name that is unique in the function.
 */
final class Scopes {

  /** The element names of a vector of registers; colors are synonyms (PTX ISA 6.4.3). */
  private static final List<String> ELEMENTS = List.of("xr", "yg", "zb", "wa");

  /** {@code .reg .b32 %r<12>}. */
  private record Range(RegisterClass registerClass, int count, Map<Integer, Register> registers) {}

  private static final class Scope {
    final Map<String, Register> registers = new HashMap<>();
    final Map<String, List<Register>> vectors = new HashMap<>();
    final Map<String, Range> ranges = new HashMap<>();
    final Map<String, String> symbols = new HashMap<>();
  }

  private final Deque<Scope> open = new ArrayDeque<>();
  private final Set<String> ofModule;
  private final Set<String> taken = new HashSet<>();
  private final Map<String, Integer> repeated = new HashMap<>();

  /**
   * @param taken the names of the module
   */
  Scopes(Set<String> taken) {
    this.ofModule = taken;
    open.push(new Scope());
  }

  /**
   * Opens a scope.
   *
   * @param position the position of the first token after its brace
   */
  void open(Tokens tokens, int position) {
    open.push(new Scope());
    labels(tokens, position);
  }

  void close() {
    open.pop();
  }

  /**
   * Declares the labels of the scope that begins here, because branches may precede their labels.
   */
  private void labels(Tokens tokens, int position) {
    int depth = 0;
    for (int at = position; depth >= 0 && tokens.at(at).kind() != Kind.END; at++) {
      var token = tokens.at(at);
      if (token.is("{")) {
        depth++;
      } else if (token.is("}")) {
        depth--;
      } else if (depth == 0 && token.kind() == Kind.WORD && tokens.at(at + 1).is(":")) {
        // the verifier reports a label that is defined twice
        scope().symbols.computeIfAbsent(token.text(), this::unique);
      }
    }
  }

  private Scope scope() {
    return open.getFirst();
  }

  private String unique(String name) {
    var free = name;
    while (ofModule.contains(free) || !taken.add(free)) {
      free = name + "$" + repeated.merge(name, 1, Integer::sum);
    }
    return free;
  }

  /** Declares a variable or a parameter; returns its name in the function. */
  String declare(Token name) {
    var own = unique(name.text());
    if (scope().symbols.put(name.text(), own) != null) {
      throw Tokens.error(name, name + " is declared twice");
    }
    return own;
  }

  void register(Token at, RegisterClass registerClass) {
    if (scope().registers.containsKey(at.text())) {
      throw Tokens.error(at, at + " is declared twice");
    }
    register(at.text(), registerClass);
  }

  void register(String name, RegisterClass registerClass) {
    scope().registers.put(name, new Register(registerClass, unique(name)));
  }

  /**
   * Declares a vector of registers. Each element is a register of its own, {@code v.x} or {@code
   * v.r}.
   */
  List<Register> vector(String name, RegisterClass registerClass, int length) {
    var elements = new ArrayList<Register>();
    for (var names : ELEMENTS.subList(0, length)) {
      var element = new Register(registerClass, unique(name + "_" + names.charAt(0)));
      elements.add(element);
      names.chars().forEach(c -> scope().registers.put(name + "." + (char) c, element));
    }
    scope().vectors.put(name, List.copyOf(elements));
    return elements;
  }

  /** Returns a new register with a name that does not occur in the text. */
  Register fresh(RegisterClass registerClass) {
    return new Register(registerClass, unique("%element"));
  }

  void range(String prefix, RegisterClass registerClass, int count) {
    scope().ranges.put(prefix, new Range(registerClass, count, new HashMap<>()));
  }

  /** Resolves the name of a variable or label; returns an undeclared name as it is. */
  String symbol(String name) {
    for (var scope : open) {
      var own = scope.symbols.get(name);
      if (own != null) {
        return own;
      }
    }
    return name;
  }

  boolean isSymbol(String name) {
    return open.stream().anyMatch(scope -> scope.symbols.containsKey(name));
  }

  /** Returns the elements of a vector of registers; null if the name denotes no vector. */
  @Nullable List<Register> findVector(String name) {
    for (var scope : open) {
      var elements = scope.vectors.get(name);
      if (elements != null || scope.registers.containsKey(name)) {
        return elements;
      }
    }
    return null;
  }

  @Nullable Register find(String name) {
    for (var scope : open) {
      var single = scope.registers.get(name);
      if (single != null) {
        return single;
      }
      var numbered = numbered(scope, name);
      if (numbered != null) {
        return numbered;
      }
      if (scope.symbols.containsKey(name)) {
        return null;
      }
    }
    return null;
  }

  private @Nullable Register numbered(Scope scope, String name) {
    int digits = name.length();
    while (digits > Math.max(0, name.length() - 9) && Character.isDigit(name.charAt(digits - 1))) {
      digits--;
    }
    // the number may have fewer digits than the name ends with: the prefix of %r12 is %r or %r1
    for (int at = digits; at < name.length(); at++) {
      var range = scope.ranges.get(name.substring(0, at));
      var number = name.substring(at);
      if (range != null
          && (number.equals("0") || !number.startsWith("0"))
          && Integer.parseInt(number) < range.count()) {
        return range
            .registers()
            .computeIfAbsent(
                Integer.parseInt(number), _ -> new Register(range.registerClass(), unique(name)));
      }
    }
    return null;
  }
}
