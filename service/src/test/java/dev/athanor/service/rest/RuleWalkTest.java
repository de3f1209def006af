package dev.athanor.service.rest;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.service.security.Rule;
import dev.athanor.service.security.Rules;
import dev.athanor.service.security.Rules.Match;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.web.bind.annotation.RequestMethod;
import org.springframework.web.servlet.mvc.method.RequestMappingInfoHandlerMapping;

/** Checks that every route of the application has a rule. */
class RuleWalkTest extends RestTest {

  @Autowired List<RequestMappingInfoHandlerMapping> mappings;
  @Autowired Rules rules;

  /** Returns all mappings, including Actuator's, such as {@code GET /tensors/x}. */
  private Set<String> routes() {
    var routes = new TreeSet<String>();
    for (var mapping : mappings) {
      mapping
          .getHandlerMethods()
          .keySet()
          .forEach(info -> {
            var methods = info.getMethodsCondition().getMethods();
            for (var method : methods.isEmpty() ? Set.of(RequestMethod.values()) : methods) {
              info.getPatternValues()
                  .forEach(
                      path -> routes.add(method + " " + path.replaceAll("\\{[^}]*}|\\*\\*", "x")));
            }
          });
    }
    return routes;
  }

  @Test
  void everyMappingHasARule() {
    assertThat(routes())
        .hasSizeGreaterThan(20)
        .contains("POST /ops/x", "GET /actuator/prometheus", "GET /readyz", "DELETE /tensors/x");
    for (var route : routes()) {
      int space = route.indexOf(' ');
      var match = rules.route(route.substring(0, space), route.substring(space + 1));
      if (route.endsWith(" /error")) { // used only by the container
        assertThat(match).as(route).isInstanceOf(Match.Unknown.class);
      } else {
        assertThat(match).as(route).isInstanceOf(Match.Ruled.class);
      }
    }
  }

  @Test
  void onlyTheIndexAndProbesNeedNoAuthentication() {
    assertThat(
            routes().stream()
                .filter(route -> {
                  int space = route.indexOf(' ');
                  return rules.route(route.substring(0, space), route.substring(space + 1))
                          instanceof Match.Ruled(Rule rule)
                      && rule.open();
                }))
        .allMatch(route -> route.matches("GET /(livez|readyz|v2/health/(live|ready))?"));
  }

  @Test
  void pathsWithoutARuleAreNotServed() {
    problem(
        given().get("/nothing"),
        404,
        "not-found",
        null,
        "No such endpoint. See GET /openapi.yaml.");
    given().patch("/ops").then().statusCode(405).header("Allow", "GET, HEAD, OPTIONS");
    given().get("/actuator/env").then().statusCode(404);
    given().get("/actuator/heapdump").then().statusCode(404);
    given().get("/actuator").then().statusCode(404);
  }
}
