package dev.athanor.junit;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/**
 * The findings of a test run, written as SARIF 2.1.0 when the run ends. A finding of several
 * invocations is one result, which the first of them reproduces.
 */
final class SarifLog implements AutoCloseable {
  private static final Namespace NAMESPACE = Namespace.create(SarifLog.class);
  private static final String SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json";
  private static final JsonNodeFactory JSON = JsonNodeFactory.instance;

  private final Path file;
  private final Path project;
  private final Map<Key, Result> results = new LinkedHashMap<>();
  private @Nullable SourceFiles sources;

  /** A source line in SARIF. Column 0 means unknown. */
  private record Location(String uri, int line, int column, String text) {
    String position() {
      return uri + ":" + line;
    }
  }

  /** The identity of a finding. A race may be reported from either side. */
  private record Key(String rule, Set<String> positions) {}

  private static final class Result {
    final Finding finding;
    final List<Location> locations;
    final Configuration first;
    final String test;
    int times;

    Result(Finding finding, List<Location> locations, Configuration first, String test) {
      this.finding = finding;
      this.locations = locations;
      this.first = first;
      this.test = test;
    }
  }

  SarifLog(Path file, Path project) {
    this.file = file;
    this.project = project;
  }

  /** Returns the log of the run that a test belongs to. */
  static SarifLog of(ExtensionContext context) {
    return context
        .getRoot()
        .getStore(NAMESPACE)
        .computeIfAbsent(
            SarifLog.class,
            _ -> {
              var path = context.getConfigurationParameter(GpuTest.SARIF);
              return new SarifLog(
                  ofFork(
                      Path.of(path.orElse(GpuTest.DEFAULT_SARIF)),
                      System.getProperty("surefire.forkNumber")),
                  Path.of(""));
            },
            SarifLog.class);
  }

  /**
   * Returns the path for one of several JVMs of Surefire, such as {@code athanor-2.sarif} for the
   * second, so that they do not overwrite each other's file.
   */
  static Path ofFork(Path path, @Nullable String number) {
    if (number == null || number.equals("1")) {
      return path;
    }
    var name = path.getFileName().toString();
    int dot = name.lastIndexOf('.');
    return path.resolveSibling(
        dot < 0
            ? name + "-" + number
            : name.substring(0, dot) + "-" + number + name.substring(dot));
  }

  synchronized void add(Finding finding, Configuration configuration, ExtensionContext context) {
    var testClass = context.getRequiredTestClass();
    var locations = finding.places().stream().map(place -> location(place, testClass)).toList();
    var positions = locations.stream().map(Location::position).collect(Collectors.toSet());
    results.computeIfAbsent(
            new Key(finding.rule(), positions),
            _ -> new Result(finding, locations, configuration, TestNames.of(context)))
        .times++;
  }

  private Location location(Finding.Place place, Class<?> test) {
    var source = place.source();
    var known = sources;
    if (known == null) {
      known = new SourceFiles(project);
      sources = known;
    }
    // Generated instructions have no line; the test is then the best location.
    return source.line() > 0
        ? new Location(known.uri(source.file(), test), source.line(), source.column(), place.text())
        : new Location(known.uri(fileOf(test), test), 1, 0, place.text());
  }

  private static String fileOf(Class<?> test) {
    var outermost = test;
    for (var outer = test.getEnclosingClass(); outer != null; outer = outer.getEnclosingClass()) {
      outermost = outer;
    }
    return outermost.getSimpleName() + ".java";
  }

  /** Writes the file. */
  @Override
  public synchronized void close() {
    try {
      var directory = file.toAbsolutePath().getParent();
      if (directory != null) {
        Files.createDirectories(directory);
      }
      JsonMapper.builder().build().writerWithDefaultPrettyPrinter().writeValue(file, json());
    } catch (IOException e) {
      throw new UncheckedIOException("cannot write " + file, e);
    }
  }

  private ObjectNode json() {
    var log = JSON.objectNode().put("$schema", SCHEMA).put("version", "2.1.0");
    var run = log.putArray("runs").addObject();
    var driver = run.putObject("tool").putObject("driver").put("name", "Athanor");
    run.put("columnKind", "utf16CodeUnits");
    var descriptions = new TreeMap<String, String>();
    results
        .values()
        .forEach(result -> descriptions.put(result.finding.rule(), result.finding.description()));
    var rules = driver.putArray("rules");
    descriptions.forEach((id, description) -> {
      var rule = rules.addObject().put("id", id);
      for (var member : List.of("shortDescription", "fullDescription", "help")) {
        rule.putObject(member).put("text", description);
      }
      rule.putObject("defaultConfiguration").put("level", "error");
    });
    var ids = new ArrayList<>(descriptions.keySet());
    var array = run.putArray("results");
    results.values().forEach(result -> array.add(json(result, ids)));
    return log;
  }

  private static ObjectNode json(Result result, List<String> ids) {
    var finding = result.finding;
    var json =
        JSON.objectNode()
            .put("ruleId", finding.rule())
            .put("ruleIndex", ids.indexOf(finding.rule()))
            .put("level", "error");
    json.putObject("message")
        .put(
            "text",
            "%s (test %s on %s)".formatted(finding.text(), result.test, result.first.name()));
    json.putArray("locations").add(json(result.locations.getFirst()));
    var related = json.putArray("relatedLocations");
    for (int i = 0; i < result.locations.size(); i++) {
      var location = json(result.locations.get(i)).put("id", i + 1);
      location.putObject("message").put("text", result.locations.get(i).text());
      related.add(location);
    }
    json.put("occurrenceCount", result.times);
    var properties = json.putObject("properties").put("test", result.test);
    new TreeMap<>(result.first.properties())
        .forEach((name, value) -> properties.putPOJO(name, value));
    return json;
  }

  private static ObjectNode json(Location location) {
    var json = JSON.objectNode();
    var physical = json.putObject("physicalLocation");
    physical.putObject("artifactLocation").put("uri", location.uri()).put("uriBaseId", "%SRCROOT%");
    var region = physical.putObject("region").put("startLine", location.line());
    if (location.column() > 0) {
      region.put("startColumn", location.column());
    }
    return json;
  }
}
