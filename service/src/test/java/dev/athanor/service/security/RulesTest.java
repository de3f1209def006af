package dev.athanor.service.security;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.service.failure.Failure;
import dev.athanor.service.security.Rules.Match;
import dev.athanor.service.tensor.Tenant;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.security.oauth2.jwt.JwtException;

/** Tests the table of rules and its documentation. */
class RulesTest {

  private static final Rules RULES = new Rules(false);

  @ParameterizedTest
  @CsvSource({
    "GET, /tensors/t_1, GET /tensors/{handle}",
    "HEAD, /tensors/t_1/data, GET /tensors/{handle}/data",
    "POST, /ops/mat%6dul, POST /ops/{op}",
    "GET, /%6fps, GET /ops",
    "GET, /v2/models/stats, GET /v2/models/stats",
    "GET, /v2/models/stat, GET /v2/models/{op}",
    "GET, /actuator/health/liveness, GET /actuator/health/liveness",
    "GET, /actuator/health/device, GET /actuator/health/{*path}",
    "GET, /actuator/health/a/b, GET /actuator/health/{*path}"
  })
  void findsTheRuleOfARoute(String method, String path, String operation) {
    assertThat(RULES.route(method, path))
        .isInstanceOfSatisfying(
            Match.Ruled.class, match -> assertThat(match.rule().operation()).isEqualTo(operation));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "/ops/",
        "/OPS",
        "/ops/a/b",
        "/ops%2fa/b",
        "/tensors/a/data/",
        "/livez/",
        "/tensors//data",
        "/actuator",
        "/actuator/env",
        "/error",
        "*",
        "/ops.json",
        "/v2/"
      })
  void unknownPathsHaveNoRule(String path) {
    assertThat(RULES.route("GET", path)).isEqualTo(new Match.Unknown());
  }

  @Test
  void reportsAllowedMethods() {
    assertThat(RULES.route("DELETE", "/ops/x"))
        .isEqualTo(new Match.OtherMethod(Set.of("GET", "HEAD", "OPTIONS", "POST")));
    assertThat(RULES.route("TRACE", "/livez"))
        .isEqualTo(new Match.OtherMethod(Set.of("GET", "HEAD", "OPTIONS")));
    assertThat(RULES.route("OPTIONS", "/livez")).isEqualTo(new Match.Ruled(Rule.open("/livez")));
    assertThat(RULES.route("OPTIONS", "/tensors"))
        .isEqualTo(new Match.Ruled(Rule.anyCaller("/tensors")));
  }

  @Test
  void findsRpcsByFullName() {
    assertThat(RULES.rpc("athanor.v1.Tensors/Put"))
        .hasValue(Rule.needs(Scope.TENSORS_WRITE, "athanor.v1.Tensors/Put"));
    assertThat(RULES.rpc("grpc.health.v1.Health/Check")).hasValueSatisfying(Rule::open);
    assertThat(RULES.rpc("athanor.v1.Tensors/Drop")).isEmpty();
    assertThat(RULES.rpc("GET /ops")).isEmpty();
  }

  @Test
  void scopesAdmitTheirRulesAndAdminAdmitsAll() {
    for (var rule : Rules.TABLE) {
      for (var scope : Scope.values()) {
        var caller = new Caller("x", new Tenant("lab"), Set.of(scope));
        assertThat(rule.admits(caller))
            .as("%s with %s", rule.operation(), scope)
            .isEqualTo(rule.scope() == null || rule.scope() == scope || scope == Scope.ADMIN);
      }
    }
    assertThat(Rules.TABLE).extracting(Rule::operation).doesNotHaveDuplicates();
  }

  @Test
  void documentationHasTheTable() throws IOException {
    var operations =
        Rules.TABLE.stream()
            .collect(
                Collectors.groupingBy(
                    rule ->
                        rule.open()
                            ? "nothing"
                            : rule.scope() == null ? "any caller" : "`" + rule.scope().text() + "`",
                    LinkedHashMap::new,
                    Collectors.mapping(
                        rule -> "`" + rule.operation() + "`", Collectors.joining(", "))));
    var table =
        operations.entrySet().stream()
            .map(row -> "| %s | %s |".formatted(row.getKey(), row.getValue()))
            .toList();
    assertThat(Files.readAllLines(Path.of("../docs/security.md")))
        .filteredOn(line -> line.matches("\\| [^|]+ \\| `([A-Z]+ /|[a-z0-9.]+\\.[A-Z]\\w*/).*"))
        .isEqualTo(table);
  }

  @Test
  void unavailableIdentityProviderIsNotAnErrorOfTheCaller() {
    var callers =
        new JwtCallers(
            _ -> {
              throw new JwtException("http://inside.example is down");
            },
            new SecuritySettings.Jwt("tenant", "scope"));
    assertThatThrownBy(() ->
            callers.identify(
                new Credentials(List.of("Bearer x"), List.of(), List.of(), "192.0.2.1")))
        .isInstanceOf(Failure.Busy.class)
        .hasMessage(
            "The token cannot be checked: the identity provider does not answer. Retry after 5 s.");
  }
}
