package dev.athanor.service.rest;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.ops.DType;
import dev.athanor.service.failure.Failure;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.web.bind.annotation.RequestMethod;
import org.springframework.web.servlet.mvc.method.annotation.RequestMappingHandlerMapping;
import org.yaml.snakeyaml.Yaml;

/** openapi.yaml against the routes, the codes and the dtypes that there are. */
class OpenApiTest extends RestTest {

  private static final OpenApi DOCUMENT = OpenApiFilter.DOCUMENT;

  @Autowired
  @Qualifier("requestMappingHandlerMapping")
  RequestMappingHandlerMapping mapping;

  @Test
  void itIsServed() {
    var text = given().get("/openapi.yaml").then().statusCode(200).extract().asString();
    assertThat(OpenApi.map(new Yaml().load(text)).get("openapi")).isEqualTo("3.1.0");
  }

  @Test
  void itHasEveryRouteAndNoOther() {
    var routes = new TreeSet<String>();
    mapping
        .getHandlerMethods()
        .forEach((info, method) -> {
          if (method.getBeanType().getName().startsWith("dev.athanor")) {
            for (RequestMethod verb : info.getMethodsCondition().getMethods()) {
              info.getPatternValues().forEach(path -> routes.add(verb + " " + path));
            }
          }
        });
    var documented = new TreeSet<>(DOCUMENT.operations().keySet());
    documented.removeIf(
        operation -> operation.matches("GET /(livez|readyz|actuator/.*)")); // Spring's
    assertThat(documented).isEqualTo(routes);
    for (var path : List.of("/livez", "/readyz", "/actuator/health", "/actuator/info")) {
      given().get(path).then().statusCode(200);
    }
  }

  @Test
  void everyOpHasAPathOfItsOwn() {
    var served =
        new OpenApi(given().get("/openapi.yaml").then().statusCode(200).extract().asString());
    var operations = served.operations();
    assertThat(operations.keySet())
        .containsAll(DOCUMENT.operations().keySet())
        .contains("POST /ops/identity", "GET /ops/identity", "POST /ops/concat");
    assertThat(operations.values().stream().map(each -> each.get("operationId")))
        .doesNotHaveDuplicates();
    var run = OpenApi.map(operations.get("POST /ops/identity"));
    assertThat(run.get("description")).isEqualTo("y = x");
    var schema =
        OpenApi.map(
                OpenApi.map(OpenApi.map(OpenApi.map(run.get("requestBody")).get("content")))
                    .get("application/json"))
            .get("schema");
    var tensor = Map.of("handle", "t_1");
    assertThat(
            served.violations(
                schema,
                Map.of(
                    "inputs", Map.of("x", tensor),
                    "attributes", Map.of("gate", true, "factor", 2.5, "mode", "a"),
                    "outputs", Map.of("y", Map.of("as", "handle"))),
                "request"))
        .isEmpty();
    assertThat(
            served.violations(
                schema,
                Map.of(
                    "inputs", Map.of("z", tensor),
                    "attributes", Map.of("gate", 1, "mode", "c")),
                "request"))
        .containsExactlyInAnyOrder(
            "request.inputs lacks x",
            "request.inputs has z, which is not described",
            "request.attributes.gate is no [boolean]: 1",
            "request.attributes.mode is none of [a, b]: c");
  }

  @Test
  void operationsSayWhichScopeTheyNeed() {
    var served = new OpenApi(given().get("/openapi.yaml").then().extract().asString());
    served
        .operations()
        .forEach((name, operation) -> {
          List<?> scopes =
              switch (name) {
                case String s when s.matches("POST /(ops/.*|pipelines/run|.*/infer)") ->
                    List.of("ops:run");
                case String s when s.matches("(GET|HEAD) /tensors.*") -> List.of("tensors:read");
                case String s when s.contains(" /tensors") -> List.of("tensors:write");
                case String s when s.matches("GET /(devices|metrics|actuator/.*|v2/.*/stats)") ->
                    List.of("metrics");
                default -> List.of();
              };
          if (name.matches("GET /(livez|readyz|v2/health/(live|ready))?")) {
            assertThat(operation.get("security")).as(name).isEqualTo(List.of());
          } else if (scopes.isEmpty()) {
            assertThat(operation.containsKey("security")).as(name).isFalse();
          } else {
            assertThat(operation.get("security"))
                .as(name)
                .isEqualTo(
                    List.of(
                        Map.of("bearer", scopes),
                        Map.of("apiKey", scopes),
                        Map.of("certificate", scopes),
                        Map.of()));
          }
        });
  }

  @Test
  void operationsHaveIdsAndEveryReferenceLeadsSomewhere() {
    var ids = new TreeSet<>();
    DOCUMENT
        .operations()
        .forEach((name, operation) -> {
          assertThat(ids.add(operation.get("operationId"))).as(name).isTrue();
          OpenApi.map(operation.get("responses"))
              .forEach((status, response) ->
                  assertThat(DOCUMENT.resolve(response).containsKey("description"))
                      .as("%s %s", name, status)
                      .isTrue());
        });
  }

  @Test
  void itHasEveryCodeAndDtype() {
    var schemas =
        OpenApi.map(OpenApi.map(DOCUMENT.resolve(Map.of("$ref", "#/components"))).get("schemas"));
    var types =
        OpenApi.map(OpenApi.map(OpenApi.map(schemas.get("Problem")).get("properties")).get("type"));
    assertThat(types.get("enum"))
        .isEqualTo(
            Arrays.stream(Failure.Code.values())
                .map(code -> "urn:athanor:problem:" + code.text())
                .toList());
    assertThat(OpenApi.map(schemas.get("DType")).get("enum"))
        .isEqualTo(Arrays.stream(DType.values()).map(DType::text).toList());
  }
}
