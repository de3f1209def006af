package dev.athanor.service.security;

import static dev.athanor.service.security.Rule.anyCaller;
import static dev.athanor.service.security.Rule.needs;
import static dev.athanor.service.security.Rule.open;

import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.springframework.http.server.PathContainer;
import org.springframework.http.server.PathContainer.PathSegment;
import org.springframework.web.util.pattern.PathPattern;
import org.springframework.web.util.pattern.PathPatternParser;

/**
 * The access rules of all protocols. Operations without a rule are denied, so every new route or
 * RPC needs a row here; a test finds missing rows.
 */
public final class Rules {

  /** All rules, grouped by topic. */
  static final List<Rule> TABLE =
      List.of(
          open("GET /livez"),
          open("GET /readyz"),
          open("GET /actuator/health/liveness"),
          open("GET /actuator/health/readiness"),
          open("GET /v2/health/live"),
          open("GET /v2/health/ready"),
          open("GET /"),
          open("GET /console"),
          open("GET /console/{*path}"),
          anyCaller("GET /openapi.yaml"),
          anyCaller("GET /ops"),
          anyCaller("GET /ops/{op}"),
          anyCaller("GET /ops/{op}/ptx"),
          needs(Scope.OPS_RUN, "POST /ops/{op}"),
          needs(Scope.OPS_RUN, "POST /pipelines/run"),
          needs(Scope.TENSORS_READ, "GET /models"),
          needs(Scope.TENSORS_READ, "GET /models/{name}"),
          needs(Scope.TENSORS_WRITE, "PUT /models/{name}"),
          needs(Scope.TENSORS_WRITE, "PUT /models/{name}/default"),
          needs(Scope.TENSORS_WRITE, "GET /models/{name}/copy"),
          needs(Scope.TENSORS_WRITE, "PUT /models/{name}/copy"),
          needs(Scope.TENSORS_WRITE, "DELETE /models/{name}"),
          needs(Scope.OPS_RUN, "POST /models/{name}/run"),
          needs(Scope.OPS_RUN, "POST /models/{name}/generate"),
          needs(Scope.OPS_RUN, "GET /models/{name}/sessions"),
          needs(Scope.OPS_RUN, "POST /models/{name}/sessions"),
          needs(Scope.OPS_RUN, "GET /models/{name}/sessions/{session}"),
          needs(Scope.OPS_RUN, "DELETE /models/{name}/sessions/{session}"),
          needs(Scope.OPS_RUN, "POST /models/{name}/sessions/{session}/fork"),
          needs(Scope.TENSORS_READ, "GET /tensors"),
          needs(Scope.TENSORS_WRITE, "POST /tensors"),
          needs(Scope.TENSORS_WRITE, "DELETE /tensors"),
          needs(Scope.TENSORS_READ, "GET /tensors/{handle}"),
          needs(Scope.TENSORS_WRITE, "PUT /tensors/{handle}"),
          needs(Scope.TENSORS_WRITE, "PUT /tensors/{handle}/copy"),
          needs(Scope.TENSORS_WRITE, "PATCH /tensors/{handle}"),
          needs(Scope.TENSORS_WRITE, "DELETE /tensors/{handle}"),
          needs(Scope.TENSORS_READ, "GET /tensors/{handle}/data"),
          needs(Scope.TENSORS_WRITE, "PUT /tensors/{handle}/data"),
          anyCaller("GET /v2"),
          anyCaller("GET /v2/models"),
          anyCaller("POST /v2/repository/index"),
          needs(Scope.METRICS, "GET /v2/models/stats"),
          anyCaller("GET /v2/models/{op}"),
          anyCaller("GET /v2/models/{op}/ready"),
          anyCaller("GET /v2/models/{op}/config"),
          needs(Scope.METRICS, "GET /v2/models/{op}/stats"),
          needs(Scope.OPS_RUN, "POST /v2/models/{op}/infer"),
          anyCaller("GET /v2/models/{op}/versions/{version}"),
          anyCaller("GET /v2/models/{op}/versions/{version}/ready"),
          anyCaller("GET /v2/models/{op}/versions/{version}/config"),
          needs(Scope.METRICS, "GET /v2/models/{op}/versions/{version}/stats"),
          needs(Scope.OPS_RUN, "POST /v2/models/{op}/versions/{version}/infer"),
          needs(Scope.METRICS, "GET /devices"),
          needs(Scope.METRICS, "GET /metrics"),
          needs(Scope.METRICS, "GET /recent"),
          needs(Scope.METRICS, "GET /actuator/health"),
          needs(Scope.METRICS, "GET /actuator/health/{*path}"),
          needs(Scope.METRICS, "GET /actuator/info"),
          needs(Scope.METRICS, "GET /actuator/prometheus"),
          open("grpc.health.v1.Health/Check"),
          open("grpc.health.v1.Health/Watch"),
          open("inference.GRPCInferenceService/ServerLive"),
          open("inference.GRPCInferenceService/ServerReady"),
          anyCaller("grpc.health.v1.Health/List"),
          anyCaller("grpc.reflection.v1.ServerReflection/ServerReflectionInfo"),
          anyCaller("grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"),
          anyCaller("athanor.v1.Ops/List"),
          anyCaller("athanor.v1.Ops/Describe"),
          needs(Scope.OPS_RUN, "athanor.v1.Ops/Run"),
          needs(Scope.OPS_RUN, "athanor.v1.Ops/RunStream"),
          needs(Scope.OPS_RUN, "athanor.v1.Ops/RunPipeline"),
          needs(Scope.TENSORS_WRITE, "athanor.v1.Tensors/Put"),
          needs(Scope.TENSORS_READ, "athanor.v1.Tensors/Get"),
          needs(Scope.TENSORS_READ, "athanor.v1.Tensors/Describe"),
          needs(Scope.TENSORS_READ, "athanor.v1.Tensors/List"),
          needs(Scope.TENSORS_WRITE, "athanor.v1.Tensors/Renew"),
          needs(Scope.TENSORS_WRITE, "athanor.v1.Tensors/Delete"),
          needs(Scope.TENSORS_READ, "athanor.v1.Models/List"),
          needs(Scope.TENSORS_READ, "athanor.v1.Models/Describe"),
          needs(Scope.TENSORS_WRITE, "athanor.v1.Models/Put"),
          needs(Scope.TENSORS_WRITE, "athanor.v1.Models/SetDefault"),
          needs(Scope.TENSORS_WRITE, "athanor.v1.Models/Delete"),
          needs(Scope.OPS_RUN, "athanor.v1.Models/Run"),
          needs(Scope.OPS_RUN, "athanor.v1.Models/Generate"),
          needs(Scope.OPS_RUN, "athanor.v1.Models/CreateSession"),
          needs(Scope.OPS_RUN, "athanor.v1.Models/DescribeSession"),
          needs(Scope.OPS_RUN, "athanor.v1.Models/ListSessions"),
          needs(Scope.OPS_RUN, "athanor.v1.Models/ForkSession"),
          needs(Scope.OPS_RUN, "athanor.v1.Models/DeleteSession"),
          anyCaller("inference.GRPCInferenceService/ServerMetadata"),
          anyCaller("inference.GRPCInferenceService/ModelReady"),
          anyCaller("inference.GRPCInferenceService/ModelMetadata"),
          anyCaller("inference.GRPCInferenceService/ModelConfig"),
          anyCaller("inference.GRPCInferenceService/RepositoryIndex"),
          needs(Scope.METRICS, "inference.GRPCInferenceService/ModelStatistics"),
          needs(Scope.OPS_RUN, "inference.GRPCInferenceService/ModelInfer"),
          needs(Scope.OPS_RUN, "inference.GRPCInferenceService/ModelStreamInfer"));

  /** The result of a rule lookup. */
  public sealed interface Match {
    /** A matching rule. */
    record Ruled(Rule rule) implements Match {}

    /** A known path with other methods. */
    record OtherMethod(Set<String> allowed) implements Match {}

    /** An unknown path. */
    record Unknown() implements Match {}
  }

  private record Route(String method, PathPattern path, Rule rule) {}

  private final Map<String, Rule> rpcs;

  /** The routes by the first segment of their paths, the most specific ones first. */
  private final Map<String, List<Route>> routes;

  /**
   * @param unauthenticatedManagement whether actuator endpoints need no authentication
   */
  public Rules(boolean unauthenticatedManagement) {
    rpcs =
        TABLE.stream()
            .filter(rule -> !rule.operation().contains(" "))
            .collect(Collectors.toMap(Rule::operation, rule -> rule));
    routes =
        TABLE.stream()
            .filter(rule -> rule.operation().contains(" "))
            .map(rule ->
                unauthenticatedManagement && rule.operation().contains(" /actuator/")
                    ? open(rule.operation())
                    : rule)
            .map(Rules::route)
            .sorted(Comparator.comparing(Route::path, PathPattern.SPECIFICITY_COMPARATOR))
            .collect(
                Collectors.groupingBy(
                    route -> firstSegment(PathContainer.parsePath(route.path.getPatternString()))));
  }

  private static String firstSegment(PathContainer path) {
    return path.elements().stream()
        .filter(PathSegment.class::isInstance)
        .map(segment -> ((PathSegment) segment).valueToMatch())
        .findFirst()
        .orElse("");
  }

  private static Route route(Rule rule) {
    var text = rule.operation();
    int space = text.indexOf(' ');
    return new Route(
        text.substring(0, space),
        PathPatternParser.defaultInstance.parse(text.substring(space + 1)),
        rule);
  }

  /**
   * Returns the rule of an RPC by its full name, such as {@code athanor.v1.Ops/Run}; without a
   * rule, access is denied.
   */
  public Optional<Rule> rpc(String fullName) {
    return Optional.ofNullable(rpcs.get(fullName));
  }

  /**
   * Returns the rule of a route. HEAD uses the rule of GET; OPTIONS is allowed for every known
   * path.
   *
   * @param path the path of the request, percent-encoded and without the query
   */
  public Match route(String method, String path) {
    var parsed = PathContainer.parsePath(path);
    var there =
        routes.getOrDefault(firstSegment(parsed), List.of()).stream()
            .filter(route -> route.path.matches(parsed))
            .toList();
    var wanted = method.equals("HEAD") ? "GET" : method;
    var own = there.stream().filter(route -> route.method.equals(wanted)).findFirst();
    if (own.isPresent()) {
      return new Match.Ruled(own.get().rule);
    }
    if (there.isEmpty()) {
      return new Match.Unknown();
    }
    if (method.equals("OPTIONS")) {
      return new Match.Ruled(
          there.stream().allMatch(route -> route.rule.open()) ? open(path) : anyCaller(path));
    }
    var allowed =
        new TreeSet<>(
            there.stream()
                .flatMap(route ->
                    route.method.equals("GET") ? Stream.of("GET", "HEAD") : Stream.of(route.method))
                .toList());
    allowed.add("OPTIONS");
    return new Match.OtherMethod(allowed);
  }
}
