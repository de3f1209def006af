package dev.athanor.engine.ptx.text;

import dev.athanor.engine.ptx.Function;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Kernel.Parameter;
import dev.athanor.engine.ptx.Kernel.SharedArray;
import dev.athanor.engine.ptx.LaunchBounds;
import dev.athanor.engine.ptx.Modifier;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Source;
import dev.athanor.engine.ptx.Statement;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.Variable;
import dev.athanor.engine.ptx.Version;
import dev.athanor.engine.ptx.table.InstructionTable;
import dev.athanor.engine.ptx.text.Lexer.Kind;
import dev.athanor.engine.ptx.text.Lexer.Token;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Parses PTX text. It knows PTX's punctuation and directives; a table defines the instructions. It
 * skips sections of debugging information and pragmas, which change no result.
 */
public final class Parser {

  /** Looks up instructions by their opcodes. */
  public interface Table {
    Statement.Instruction instruction(
        String opcode, List<Operand> operands, Statement.@Nullable Guard guard, Source source);
  }

  private static final Predicate<String> FILE_NUMBER =
      Pattern.compile("\\d{1,9}").asMatchPredicate();

  private final Tokens tokens;
  private final Declarations declarations;
  private final Table table;
  private final Map<Integer, String> files;
  private final Set<String> names = new HashSet<>();
  private final Map<String, SharedArray> shared = new LinkedHashMap<>();
  private final List<Variable> variables = new ArrayList<>();
  private final Map<String, Function> functions = new LinkedHashMap<>();
  private final List<Kernel> kernels = new ArrayList<>();
  private final Set<String> declaredKernels = new HashSet<>();

  private Parser(List<Token> tokens, Table table) {
    this.tokens = new Tokens(tokens);
    this.files = files(tokens);
    this.declarations = new Declarations(this.tokens);
    this.table = table;
  }

  /**
   * Reads a module.
   *
   * @param file the name of the text in error messages and in the instructions' sources
   * @throws PtxSyntaxException naming the position, the token there and the legal ones
   */
  public static Module parse(String text, String file) {
    return parse(text, file, InstructionTable::instruction);
  }

  /** Reads a module with the instructions of another table. */
  public static Module parse(String text, String file, Table table) {
    return new Parser(Lexer.tokens(text, file), table).module();
  }

  private Module module() {
    tokens.expectWord(".version");
    var version = tokens.read(Version::of);
    tokens.expectWord(".target");
    var target = tokens.read(Target::of);
    while (tokens.takeIf(",")) {
      tokens.name(); // debug and the like
    }
    if (tokens.takeIf(".address_size")) {
      var size = tokens.take();
      if (!size.text().equals("64")) {
        throw Tokens.error(size, "addresses are 64 bits wide, not " + size.text());
      }
    }
    while (tokens.peek().kind() != Kind.END) {
      definition();
    }
    return new Module(version, target, variables, List.copyOf(functions.values()), kernels);
  }

  private void definition() {
    var linkage =
        switch (tokens.peek().text()) {
          case ".extern", ".visible", ".weak", ".common" -> tokens.take().text().substring(1);
          default -> "";
        };
    var token = tokens.take();
    switch (token.text()) {
      case ".entry" -> kernel();
      case ".func" -> function(linkage);
      case ".global", ".const", ".shared" -> {
        var space = (Space) Modifier.of(token.text().substring(1));
        declarations.variables(linkage, space, this::declareVariable, name -> name, this::variable);
      }
      case ".file" -> file();
      case ".section" -> section();
      case ".pragma" -> declarations.pragma();
      case ".alias" -> alias();
      default ->
          throw Tokens.expected(
              token,
              ".entry, .func, .global, .const, .shared, .alias,"
                  + " or .extern, .visible, .weak before");
    }
  }

  private String declare(Token name) {
    if (!names.add(name.text())) {
      throw Tokens.error(name, name + " is declared twice");
    }
    return name.text();
  }

  /** Declares a variable; it may have been declared as external before. */
  private String declareVariable(Token name) {
    boolean isForeign =
        variables.removeIf(v -> v.name().equals(name.text()) && v.linkage().equals("extern"))
            || (shared.containsKey(name.text()) && shared.get(name.text()).isDynamic());
    return isForeign ? name.text() : declare(name);
  }

  private void variable(Variable variable) {
    if (variable.space() == Space.SHARED) {
      shared.put(variable.name(), sharedArray(variable, true));
    } else {
      variables.add(variable);
    }
  }

  private SharedArray sharedArray(Variable variable, boolean ofModule) {
    return new SharedArray(
        variable.name(),
        variable.alignment(),
        variable.count() == Variable.UNSIZED || variable.linkage().equals("extern")
            ? SharedArray.DYNAMIC
            : declarations.size(variable),
        ofModule);
  }

  /** Returns the numbered files. They may stand anywhere in a module; nvcc puts them at its end. */
  private static Map<Integer, String> files(List<Token> tokens) {
    var files = new HashMap<Integer, String>();
    for (int i = 0; i + 2 < tokens.size(); i++) {
      var number = tokens.get(i + 1).text();
      var name = tokens.get(i + 2);
      if (tokens.get(i).text().equals(".file")
          && name.kind() == Kind.STRING
          && FILE_NUMBER.test(number)) {
        files.put(Integer.valueOf(number), name.text());
      }
    }
    return files;
  }

  private void file() {
    declarations.count();
    tokens.take(Kind.STRING);
    while (tokens.takeIf(",")) {
      tokens.take(Kind.NUMBER);
    }
  }

  private void section() {
    tokens.take(Kind.WORD); // its name
    tokens.expect("{");
    for (int depth = 1; depth > 0; ) {
      var token = tokens.take();
      if (token.kind() == Kind.END) {
        throw Tokens.expected(token, "\"}\"");
      }
      depth += token.is("{") ? 1 : token.is("}") ? -1 : 0;
    }
  }

  private void kernel() {
    var scopes = new Scopes(names);
    var name = tokens.peek();
    tokens.name();
    if (!declaredKernels.contains(name.text())) {
      declare(name);
    }
    var parameters = declarations.parameters(scopes);
    for (var parameter : parameters) {
      if (parameter.count() == Variable.UNSIZED) {
        throw Tokens.error(
            name, "parameter %s of kernel %s has no size".formatted(parameter.name(), name.text()));
      }
    }
    if (tokens.takeIf(";")) {
      declaredKernels.add(name.text());
      return;
    }
    declaredKernels.remove(name.text());
    kernels.add(body(name.text(), parameters, declarations.limits(), scopes));
  }

  /** Reads {@code .alias other, function;}: another name of a function that is defined before. */
  private void alias() {
    var other = tokens.peek();
    tokens.name();
    tokens.expect(",");
    var name = tokens.peek();
    tokens.name();
    tokens.expect(";");
    var known = functions.get(name.text());
    var declared = functions.get(other.text());
    if (known == null || !known.isDefined()) {
      throw Tokens.error(name, name + " is not a function defined before this line");
    }
    if (declared == null || declared.isDefined()) {
      throw Tokens.error(
          other, other + " is not a function declared, but not defined, before this line");
    }
    var code = known.code();
    functions.put(
        other.text(),
        new Function(
            declared.linkage(),
            known.results(),
            new Kernel(
                other.text(),
                code.parameters(),
                code.shared(),
                code.locals(),
                code.launchBounds(),
                code.body()),
            true,
            known.returns()));
  }

  private void function(String linkage) {
    var scopes = new Scopes(names);
    var results = declarations.parameters(scopes);
    var name = tokens.peek();
    tokens.name();
    var parameters = declarations.parameters(scopes);
    boolean returns = !tokens.takeIf(".noreturn");
    var known = functions.get(name.text());
    if (known == null) {
      declare(name);
    } else if (known.isDefined() && tokens.peek().is("{")) {
      throw Tokens.error(name, name + " is defined twice");
    }
    boolean ends = tokens.takeIf(";");
    // old compilers omit the semicolon after external functions
    if (ends || (linkage.equals("extern") && !tokens.peek().is("{"))) {
      var head = new Kernel(name.text(), parameters, List.of(), 0, 0, List.of());
      functions.putIfAbsent(name.text(), new Function(linkage, results, head, false, returns));
      return;
    }
    var code = body(name.text(), parameters, declarations.limits(), scopes);
    functions.put(name.text(), new Function(linkage, results, code, true, returns));
  }

  private Kernel body(String name, List<Parameter> parameters, LaunchBounds limits, Scopes scopes) {
    tokens.expect("{");
    scopes.open(tokens, tokens.position());
    var body = new BodyParser(tokens, declarations, table, files, scopes);
    body.statements();
    scopes.close();
    for (var variable : body.statics()) {
      names.add(variable.name());
      variables.add(variable);
    }
    var used =
        new ArrayList<>(
            body.shared().stream().map(variable -> sharedArray(variable, false)).toList());
    var mentioned = body.symbols();
    shared.values().stream().filter(array -> mentioned.contains(array.name())).forEach(used::add);
    return new Kernel(name, parameters, used, body.locals(), limits, body.body());
  }
}
