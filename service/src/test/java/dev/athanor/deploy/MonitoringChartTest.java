package dev.athanor.deploy;

import static dev.athanor.deploy.Chart.at;
import static dev.athanor.deploy.Chart.list;
import static dev.athanor.deploy.Chart.render;
import static dev.athanor.deploy.Chart.text;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.testing.Programs;
import dev.athanor.testing.TestTier;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests the alerts and dashboards of the chart. */
@Tag(TestTier.THOROUGH_TAG)
class MonitoringChartTest {

  private static final Path SCENARIOS =
      Path.of("src/test/resources/dev/athanor/deploy/alerts.yaml");

  @TempDir Path folder;

  /** Runs promtool in the temporary folder, or skips the test if promtool is not installed. */
  private void promtool(String... arguments) throws IOException, InterruptedException {
    var promtool = Programs.require("promtool", "apt-get install prometheus");
    List<String> command = new ArrayList<>(List.of(promtool.toString()));
    command.addAll(List.of(arguments));
    Path output = folder.resolve("output");
    Process process =
        new ProcessBuilder(command)
            .directory(folder.toFile())
            .redirectErrorStream(true)
            .redirectOutput(output.toFile())
            .start();
    try {
      assertThat(process.waitFor()).as(() -> read(output)).isZero();
    } finally {
      process.destroyForcibly();
    }
  }

  private static String read(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      return e.toString();
    }
  }

  private Object rule(String values) throws IOException {
    return at(render(values), "PrometheusRule");
  }

  @Test
  void alertsFireExactlyAsInTheScenarios() throws Exception {
    Object groups = at(rule("prometheusRule: {enabled: true}"), "spec");
    Files.writeString(folder.resolve("rules.yaml"), Chart.yaml().dump(groups));
    promtool("check", "rules", "rules.yaml");

    for (Object rule : list(groups, "groups", "0", "rules")) {
      ((Map<?, ?>) at(rule, "annotations")).remove("description");
    }
    Files.writeString(folder.resolve("rules.yaml"), Chart.yaml().dump(groups));
    Files.copy(SCENARIOS, folder.resolve("scenarios.yaml"));
    promtool("test", "rules", "scenarios.yaml");
  }

  /** Does not need promtool. */
  @Test
  void everyAlertHasAScenarioAndADescription() throws IOException {
    String scenarios = Files.readString(SCENARIOS);
    for (Object alert :
        list(rule("prometheusRule: {enabled: true}"), "spec", "groups", "0", "rules")) {
      assertThat(scenarios)
          .contains("alertname: " + text(alert, "alert") + "\n        exp_alerts:");
      assertThat(text(alert, "labels", "severity")).isIn("critical", "warning");
      assertThat(text(alert, "annotations", "summary")).isNotBlank();
      assertThat(text(alert, "annotations", "description")).hasSizeGreaterThan(80);
    }
  }

  @Test
  void queriesOfTheChartAreValid() throws Exception {
    List<Object> rules = new ArrayList<>();
    for (String query : ChartQueries.all().values()) {
      String record = "query:" + rules.size();
      rules.add(Map.of("record", record, "expr", query));
    }
    Object groups = Map.of("groups", List.of(Map.of("name", "queries", "rules", rules)));
    Files.writeString(folder.resolve("queries.yaml"), Chart.yaml().dump(groups));

    promtool("check", "rules", "queries.yaml");
  }

  @Test
  void thresholdsAndLabelsAreConfigurable() throws IOException {
    assertThat(render("{}")).doesNotContainKey("PrometheusRule");
    Object rule =
        rule(
            """
            prometheusRule:
              enabled: true
              labels: {release: prometheus}
              queueMilliseconds: 2500
              memoryRatio: 0.8
            """);
    assertThat(at(rule, "metadata", "labels", "release")).isEqualTo("prometheus");
    assertThat(rule.toString()).contains("> 2.5", "2500 ms", "> 0.8", "80%");
    // The largest bucket of the histogram is 10 s; quantiles above it are unknown.
    assertThatThrownBy(() -> rule("prometheusRule: {enabled: true, queueMilliseconds: 20000}"))
        .hasMessageContaining("/prometheusRule/queueMilliseconds");
  }

  @Test
  void dashboardsAreConfigMapsForTheSidecar() throws IOException {
    assertThat(render("{}").keySet()).noneMatch(key -> key.contains("ConfigMap"));
    Map<String, Object> objects =
        render("dashboards: {enabled: true, annotations: {grafana_folder: Athanor}}");

    for (String name : List.of("service", "device")) {
      Object map = at(objects, "ConfigMap/kiln-athanor-dashboard-" + name);
      assertThat(at(map, "metadata", "labels", "grafana_dashboard")).isEqualTo("1");
      assertThat(at(map, "metadata", "annotations")).isEqualTo(Map.of("grafana_folder", "Athanor"));
      Object dashboard = Chart.yaml().load(text(map, "data", "athanor-" + name + ".json"));
      assertThat(at(dashboard, "uid")).isEqualTo("athanor-" + name);
      assertThat(dashboard)
          .isEqualTo(
              Chart.yaml()
                  .load(Files.readString(Chart.FOLDER.resolve("dashboards/" + name + ".json"))));
    }
  }

  @Test
  void panelsAreDescribedAndDoNotOverlap() throws IOException {
    for (String name : List.of("service", "device")) {
      Object dashboard =
          Chart.yaml().load(Files.readString(Chart.FOLDER.resolve("dashboards/" + name + ".json")));
      Set<Object> ids = new HashSet<>();
      Set<String> cells = new HashSet<>();
      for (Object panel : list(dashboard, "panels")) {
        String title = text(panel, "title");
        assertThat(ids.add(at(panel, "id"))).as("ID of " + title).isTrue();
        Object grid = at(panel, "gridPos");
        int x = (int) at(grid, "x");
        int y = (int) at(grid, "y");
        for (int column = x; column < x + (int) at(grid, "w"); column++) {
          for (int row = y; row < y + (int) at(grid, "h"); row++) {
            assertThat(column).isLessThan(24);
            assertThat(cells.add(column + "," + row)).as("position of " + title).isTrue();
          }
        }
        if (!at(panel, "type").equals("row")) {
          assertThat(text(panel, "description")).as(title).isNotBlank();
          assertThat(text(panel, "fieldConfig", "defaults", "unit")).as(title).isNotBlank();
          assertThat(at(panel, "datasource", "uid")).isEqualTo("${datasource}");
        }
      }
    }
  }
}
