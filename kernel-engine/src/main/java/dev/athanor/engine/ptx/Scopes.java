package dev.athanor.engine.ptx;

import dev.athanor.engine.ptx.Lexer.Kind;
import dev.athanor.engine.ptx.Lexer.Token;
import dev.athanor.engine.ptx.Operand.Register;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What the names mean at one place of a function. Braces open a scope whose names hide those
 * outside; each gets a name that is its alone in the function.
 */
final class Scopes {

  /** {@code .reg .b32 %r<12>}. */
  private record Range(RegisterClass registerClass, int count, Map<Integer, Register> registers) {}

  private static final class Scope {
    final Map<String, Register> registers = new HashMap<>();
    final Map<String, Range> ranges = new HashMap<>();
    final Map<String, String> symbols = new HashMap<>();
  }

  private final Deque<Scope> open = new ArrayDeque<>();
  private final Set<String> taken;
  private final Map<String, Integer> repeated = new HashMap<>();

  /**
   * @param taken the names of the module
   */
  Scopes(Set<String> taken) {
    this.taken = new HashSet<>(taken);
    open.push(new Scope());
  }

  /**
   * Opens a scope.
   *
   * @param position that of the first token after its brace
   */
  void open(Tokens tokens, int position) {
    open.push(new Scope());
    labels(tokens, position);
  }

  void close() {
    open.pop();
  }

  /** Labels can be named before they stand there. Those of the scope that begins here are noted. */
  private void labels(Tokens tokens, int position) {
    int depth = 0;
    for (int at = position; depth >= 0 && tokens.at(at).kind() != Kind.END; at++) {
      var token = tokens.at(at);
      if (token.is("{")) {
        depth++;
      } else if (token.is("}")) {
        depth--;
      } else if (depth == 0 && token.kind() == Kind.WORD && tokens.at(at + 1).is(":")) {
        // a label twice is for the verifier to complain of
        scope().symbols.computeIfAbsent(token.text(), this::unique);
      }
    }
  }

  private Scope scope() {
    return open.getFirst();
  }

  private String unique(String name) {
    var free = name;
    while (!taken.add(free)) {
      free = name + "$" + repeated.merge(name, 1, Integer::sum);
    }
    return free;
  }

  /** A variable or a parameter; answers its name in the function. */
  String declare(Token name) {
    var own = unique(name.text());
    if (scope().symbols.put(name.text(), own) != null) {
      throw Tokens.error(name, name + " is declared twice");
    }
    return own;
  }

  void register(String name, RegisterClass registerClass) {
    scope().registers.put(name, new Register(registerClass, unique(name)));
  }

  void range(String prefix, RegisterClass registerClass, int count) {
    scope().ranges.put(prefix, new Range(registerClass, count, new HashMap<>()));
  }

  /** What a name of a variable or label stands for; names that nothing declares are kept. */
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
    // the digits that count may be fewer than there are: in %r12 the prefix can be %r or %r1
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
