package dev.athanor.cli.debug;

import dev.athanor.cli.argument.UsageErrorHandler;
import dev.athanor.engine.debug.Debuggee;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The arguments of a launch request. Except for the debugger's own, they match the options of
 * {@code athanor profile} for an op and of {@code athanor emulate} for a PTX file; Java kernels
 * have separate options.
 */
final class LaunchRequest {

  private static final String STOP_ON_ENTRY = "stopOnEntry";
  private static final String SOURCE_PATH = "sourcePath";

  /** The options that all origins support. */
  private static final Set<String> COMMON =
      Set.of("target", "schedule", "timing", "seed", "sanitize", "ignore");

  /**
   * The origin of a debuggee.
   *
   * @param argument the argument of the request that names the debuggee
   * @param text the description for error messages
   * @param options the other arguments
   * @param reader creates the debuggee from the request as a command line
   */
  private record DebuggeeOrigin(
      String argument, String text, Set<String> options, Function<List<String>, Debuggee> reader) {
    DebuggeeOrigin {
      options = Set.copyOf(options);
    }
  }

  private static final List<DebuggeeOrigin> ORIGINS =
      List.of(
          new DebuggeeOrigin(
              "op", "an op", Set.of("kernel", "shape", "dtype", "attr", "plugins"), OpDebuggee::of),
          new DebuggeeOrigin(
              "program",
              "a PTX file",
              Set.of("kernel", "args", "grid", "block", "cluster", "shared", "cooperative"),
              ProgramDebuggee::of),
          new DebuggeeOrigin(
              "class",
              "a kernel in Java",
              Set.of("classPath", "method", "args", "grid", "block", "shared", "unchecked"),
              JavaDebuggee::of));

  private final Map<String, Object> given;
  private final List<Path> sourcePath;
  private final Debuggee debuggee;

  /**
   * @throws IllegalArgumentException if an argument is missing or invalid
   */
  LaunchRequest(Map<String, Object> given) {
    this.given = given;
    this.sourcePath = folders();
    this.debuggee = debuggee();
  }

  Debuggee target() {
    return debuggee;
  }

  private Debuggee debuggee() {
    var origins = ORIGINS.stream().filter(each -> given.containsKey(each.argument)).toList();
    if (origins.isEmpty()) {
      throw new IllegalArgumentException(
          "`op`, `program` or `class` is missing; give the name of an op, the path of a PTX file or the name of a Java class");
    }
    if (origins.size() > 1) {
      throw new IllegalArgumentException(
          "%s are given; a session debugs one of them".formatted(names(origins)));
    }
    var origin = origins.getFirst();
    return origin.reader.apply(words(origin));
  }

  private static String names(List<DebuggeeOrigin> origins) {
    return origins.stream()
        .map(each -> "`" + each.argument + "`")
        .collect(Collectors.joining(" and "));
  }

  boolean stopsOnEntry() {
    return flag(STOP_ON_ENTRY);
  }

  /** Returns the folders to search for Java sources. */
  List<Path> sourcePath() {
    return sourcePath;
  }

  private List<Path> folders() {
    var folders = list(SOURCE_PATH).stream().map(Path::of).toList();
    for (var folder : folders) {
      if (!Files.isDirectory(folder)) {
        throw wrong(SOURCE_PATH, folder.toString(), "existing folders");
      }
    }
    return folders.isEmpty() ? List.of(Path.of("")) : folders;
  }

  /** Returns the warnings of the debuggee and warnings about probably misspelled arguments. */
  List<String> warnings() {
    var known = new ArrayList<>(List.of(STOP_ON_ENTRY, SOURCE_PATH));
    known.addAll(COMMON);
    for (var origin : ORIGINS) {
      known.add(origin.argument);
      known.addAll(origin.options);
    }
    var sentences = new ArrayList<>(debuggee.warnings());
    given.keySet().stream()
        .filter(name -> !known.contains(name) && !name.equals("type") && !name.equals("name"))
        .map(
            name -> "`%s` is not used; %s".formatted(name, UsageErrorHandler.hint(name, known, "")))
        .filter(sentence -> sentence.endsWith("?"))
        .forEach(sentences::add);
    return sentences;
  }

  /** Returns the request as a command line. */
  private List<String> words(DebuggeeOrigin origin) {
    var words = new ArrayList<String>();
    words.add(text(origin.argument));
    for (var name : given.keySet()) {
      if (!origin.options.contains(name) && !COMMON.contains(name)) {
        var others = ORIGINS.stream().filter(each -> each.options.contains(name)).toList();
        if (!others.isEmpty()) {
          throw new IllegalArgumentException(
              "`%s` is not an argument of %s; it is one of %s"
                  .formatted(name, origin.text, names(others)));
        }
        continue;
      }
      switch (name) {
        case "sanitize", "cooperative", "unchecked" -> {
          if (flag(name)) {
            words.add("--" + name);
          }
        }
        case "args" -> list(name).forEach(each -> words.addAll(List.of("--arg", each)));
        case "classPath" -> list(name).forEach(each -> words.addAll(List.of("--classPath", each)));
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
      case null, default -> throw wrong(name, value, "a string or a number");
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

  /** Returns the members of an object, or the {@code NAME=VALUE} strings of a list. */
  private Map<String, String> pairs(String name) {
    var pairs = new LinkedHashMap<String, String>();
    if (given.get(name) instanceof Map<?, ?> map) {
      map.forEach((key, value) -> pairs.put(String.valueOf(key), text(name, value)));
    } else {
      for (var each : list(name)) {
        var parts = each.split("=", 2);
        if (parts.length < 2) {
          throw wrong(
              name, each, "an object such as {\"x\": \"4,64\"}, or strings such as \"x=4,64\"");
        }
        pairs.put(parts[0], parts[1]);
      }
    }
    return pairs;
  }

  private static IllegalArgumentException wrong(String name, @Nullable Object value, String right) {
    return new IllegalArgumentException("`%s` is %s; expected %s".formatted(name, value, right));
  }
}
