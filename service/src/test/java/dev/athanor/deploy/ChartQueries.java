package dev.athanor.deploy;

import static dev.athanor.deploy.Chart.at;
import static dev.athanor.deploy.Chart.list;
import static dev.athanor.deploy.Chart.text;

import java.io.IOException;
import java.nio.file.Files;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.regex.Pattern;

/** Every PromQL expression of the chart: alerts, dashboards, autoscaling and its README. */
public final class ChartQueries {

  private static final Pattern LABEL_VALUES = Pattern.compile("label_values\\((.*), (\\w+)\\)");

  private ChartQueries() {}

  /** Returns the expressions by their origin. */
  public static Map<String, String> all() throws IOException {
    Map<String, String> queries = new LinkedHashMap<>();
    Map<String, Object> objects =
        Chart.render("{prometheusRule: {enabled: true}, autoscaling: {keda: {enabled: true}}}");
    for (Object rule : list(objects, "PrometheusRule", "spec", "groups", "0", "rules")) {
      queries.put("alert " + text(rule, "alert"), text(rule, "expr"));
    }
    for (Object trigger : list(objects, "ScaledObject", "spec", "triggers")) {
      queries.put("trigger " + text(trigger, "name"), text(trigger, "metadata", "query"));
    }
    queries.putAll(dashboards());
    Object adapter = Chart.yaml().load(adapterRules());
    for (Object rule : list(adapter, "rules", "custom")) {
      queries.put("README " + text(rule, "name", "as"), expand(text(rule, "metricsQuery")));
    }
    return queries;
  }

  /** Returns the expressions of the panels and variables of the dashboards. */
  static Map<String, String> dashboards() throws IOException {
    Map<String, String> queries = new LinkedHashMap<>();
    try (var files = Files.list(Chart.FOLDER.resolve("dashboards"))) {
      for (var file : files.sorted().toList()) {
        Object dashboard = Chart.yaml().load(Files.readString(file));
        String title = text(dashboard, "title");
        for (Object panel : list(dashboard, "panels")) {
          if (((Map<?, ?>) panel).get("targets") != null) {
            for (Object target : list(panel, "targets")) {
              String key = "%s: %s %s".formatted(title, at(panel, "title"), at(target, "refId"));
              queries.put(key, text(target, "expr").replace("$__rate_interval", "5m"));
            }
          }
        }
        for (Object variable : list(dashboard, "templating", "list")) {
          var values = LABEL_VALUES.matcher(text(variable, "query"));
          if (values.matches()) {
            queries.put(
                "%s: variable %s".formatted(title, at(variable, "name")),
                "group by (%s) (%s)".formatted(values.group(2), values.group(1)));
          }
        }
      }
    }
    return queries;
  }

  /** Returns the rules for prometheus-adapter from the chart's README. */
  private static String adapterRules() throws IOException {
    var block =
        Pattern.compile("(?ms)^```yaml\\R(rules:.*?)^```$")
            .matcher(Files.readString(Chart.FOLDER.resolve("README.md")));
    if (!block.find()) {
      throw new IllegalStateException("The chart's README has no rules for prometheus-adapter.");
    }
    return block.group(1);
  }

  /** Expands a query template as prometheus-adapter does. */
  private static String expand(String template) {
    return template
        .replace("<<.GroupBy>>", "namespace, pod")
        .replace("<<.LabelMatchers>>", "namespace=\"lab\",pod=\"kiln-athanor-0\"");
  }
}
