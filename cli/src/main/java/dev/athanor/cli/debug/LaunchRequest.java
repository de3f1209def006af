package dev.athanor.cli.debug;

import dev.athanor.cli.argument.BadUse;
import dev.athanor.engine.debug.Debuggee;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The arguments of a launch request. Apart from those of the debugger, they have the names and
 * forms of the options of {@code athanor profile} for an op, and of {@code athanor emulate} for a
 * PTX file.
 */
final class LaunchRequest {

  private static final String OP = "op";
  private static final String PROGRAM = "program";
  private static final String STOP_ON_ENTRY = "stopOnEntry";
  private static final String SOURCE_PATH = "sourcePath";

  /** Options that an op and a PTX file have. */
  private static final Set<String> COMMON =
      Set.of("kernel", "target", "schedule", "timing", "seed", "sanitize", "ignore");

  private static final Set<String> OF_OP = Set.of("shape", "dtype", "attr");
  private static final Set<String> OF_PROGRAM =
      Set.of("args", "grid", "block", "cluster", "shared", "cooperative");

  private final Map<String, Object> given;
  private final List<Path> sourcePath;
  private final Debuggee debuggee;

  /**
   * @throws IllegalArgumentException with a sentence if an argument is missing or wrong
   */
  LaunchRequest(Map<String, Object> given) {
    this.given = given;
    this.sourcePath = folders();
    this.debuggee = debuggee();
  }

  Debuggee target() {
    return debuggee;
  }

  /** The kinds of debuggees: each has an argument of its own in the request. */
  private Debuggee debuggee() {
    boolean isOp = given.containsKey(OP);
    boolean isProgram = given.containsKey(PROGRAM);
    if (isOp == isProgram) {
      throw new IllegalArgumentException(
          isOp
              ? "`op` and `program` are both given; a session debugs one of them"
              : "`op` or `program` is missing; give the name of an op or the path of a PTX file");
    }
    return isOp
        ? OpDebuggee.of(words(text(OP), OF_OP, OF_PROGRAM))
        : ProgramDebuggee.of(words(text(PROGRAM), OF_PROGRAM, OF_OP));
  }

  boolean stopsOnEntry() {
    return flag(STOP_ON_ENTRY);
  }

  /** Returns the folders under which Java sources are looked for. */
  List<Path> sourcePath() {
    return sourcePath;
  }

  private List<Path> folders() {
    var folders = list(SOURCE_PATH).stream().map(Path::of).toList();
    for (var folder : folders) {
      if (!Files.isDirectory(folder)) {
        throw wrong(SOURCE_PATH, folder.toString(), "folders that exist");
      }
    }
    return folders.isEmpty() ? List.of(Path.of("")) : folders;
  }

  /** Returns sentences on arguments that are probably misspelled. */
  List<String> warnings() {
    var known = new ArrayList<>(List.of(OP, PROGRAM, STOP_ON_ENTRY, SOURCE_PATH));
    known.addAll(COMMON);
    known.addAll(OF_OP);
    known.addAll(OF_PROGRAM);
    return given.keySet().stream()
        .filter(name -> !known.contains(name) && !name.equals("type") && !name.equals("name"))
        .map(name -> "`%s` is not used; %s".formatted(name, BadUse.hint(name, known, "")))
        .filter(sentence -> sentence.endsWith("?"))
        .toList();
  }

  /** Returns the request as a command line. */
  private List<String> words(String what, Set<String> own, Set<String> others) {
    var words = new ArrayList<String>();
    words.add(what);
    for (var name : given.keySet()) {
      if (others.contains(name)) {
        throw new IllegalArgumentException(
            "`%s` is not an argument of %s"
                .formatted(
                    name,
                    own.equals(OF_OP)
                        ? "an op; it is one of `program`"
                        : "a PTX file; it is one of `op`"));
      }
      if (!own.contains(name) && !COMMON.contains(name)) {
        continue;
      }
      switch (name) {
        case "sanitize", "cooperative" -> {
          if (flag(name)) {
            words.add("--" + name);
          }
        }
        case "args" -> list(name).forEach(each -> words.addAll(List.of("--arg", each)));
        case "shape", "dtype", "attr" ->
            pairs(name)
                .forEach((key, value) -> words.addAll(List.of("--" + name, key + "=" + value)));
        default -> words.addAll(List.of("--" + name, text(name)));
      }
    }
    return words;
  }

  private boolean flag(String name) {
    var value = given.getOrDefault(name, false);
    if (!(value instanceof Boolean flag)) {
      throw wrong(name, value, "true or false");
    }
    return flag;
  }

  private String text(String name) {
    return text(name, given.get(name));
  }

  private static String text(String name, @Nullable Object value) {
    return switch (value) {
      case String text when !text.isBlank() -> text;
      case Boolean flag -> flag.toString();
      case Number number when number.doubleValue() == (double) number.longValue() ->
          Long.toString(number.longValue());
      case Number number -> number.toString();
      case List<?> list when !list.isEmpty() ->
          String.join(",", list.stream().map(each -> text(name, each)).toList());
      case null, default -> throw wrong(name, value, "a text or a number");
    };
  }

  private List<String> list(String name) {
    var value = given.get(name);
    return switch (value) {
      case null -> List.of();
      case List<?> list -> list.stream().map(each -> text(name, each)).toList();
      default -> List.of(text(name, value));
    };
  }

  /** Returns the members of an object, or the texts NAME=VALUE of a list. */
  private Map<String, String> pairs(String name) {
    var pairs = new LinkedHashMap<String, String>();
    if (given.get(name) instanceof Map<?, ?> map) {
      map.forEach((key, value) -> pairs.put(String.valueOf(key), text(name, value)));
    } else {
      for (var each : list(name)) {
        var parts = each.split("=", 2);
        if (parts.length < 2) {
          throw wrong(name, each, "an object, {\"x\": \"4,64\"}, or texts such as \"x=4,64\"");
        }
        pairs.put(parts[0], parts[1]);
      }
    }
    return pairs;
  }

  private static IllegalArgumentException wrong(String name, @Nullable Object value, String right) {
    return new IllegalArgumentException("`%s` is %s; it takes %s".formatted(name, value, right));
  }
}
