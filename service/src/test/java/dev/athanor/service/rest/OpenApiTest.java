package dev.athanor.service.rest;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.ops.DType;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.security.Rules;
import dev.athanor.service.security.Rules.Match;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.web.bind.annotation.RequestMethod;
import org.springframework.web.servlet.mvc.method.annotation.RequestMappingHandlerMapping;
import org.yaml.snakeyaml.Yaml;
import tools.jackson.databind.json.JsonMapper;

/** Compares openapi.yaml with the routes, error codes and dtypes. */
class OpenApiTest extends RestTest {

  private static final OpenApi DOCUMENT = OpenApiFilter.DOCUMENT;

  @Autowired
  @Qualifier("requestMappingHandlerMapping")
  RequestMappingHandlerMapping mapping;

  @Test
  void isServed() {
    var text = given().get("/openapi.yaml").then().statusCode(200).extract().asString();
    assertThat(OpenApi.map(new Yaml().load(text)).get("openapi")).isEqualTo("3.1.0");
  }

  @Test
  void documentsExactlyTheRoutes() {
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
  void everyOpHasItsOwnPath() {
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
            "request/inputs: required property 'x' not found",
            "request/inputs: property 'z' is not defined in the schema and the schema does not allow additional properties",
            "request/attributes/gate: integer found, boolean expected",
            "request/attributes/mode: does not have a value in the enumeration [\"a\", \"b\"]");
  }

  @Test
  void operationsDocumentTheirScopes() {
    document("bearer", "apiKey")
        .operations()
        .forEach((name, operation) -> {
          List<?> scopes =
              switch (name) {
                case String s when s.matches("POST /(ops/.*|pipelines/run|models/.*|.*/infer)") ->
                    List.of("ops:run");
                case String s when s.matches("[A-Z]+ /models/.*/sessions.*") -> List.of("ops:run");
                case String s
                    when s.matches("(GET|HEAD) /(tensors|models).*") && !s.endsWith("/copy") ->
                    List.of("tensors:read");
                case String s when s.matches("[A-Z]+ /(tensors|models).*") ->
                    List.of("tensors:write");
                case String s
                    when s.matches("GET /(devices|metrics|recent|actuator/.*|v2/.*/stats)") ->
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
                .isEqualTo(List.of(Map.of("bearer", scopes), Map.of("apiKey", scopes)));
          }
        });
  }

  private static OpenApi document(String... schemes) {
    return new OpenApi(OpenApiDocument.of(List.of(), new Rules(false), List.of(schemes)));
  }

  /** Schemes of other modes are removed from the document. */
  @Test
  void hasTheSecuritySchemesInForce() {
    var certificate = document("certificate").root();
    assertThat(certificate.get("security")).isEqualTo(List.of(Map.of("certificate", List.of())));
    assertThat(schemes(certificate)).isEqualTo(Set.of("certificate"));
    for (var mode : List.of("bearer", "apiKey")) {
      assertThat(schemes(document(mode).root())).isEqualTo(Set.of(mode));
    }
  }

  private static Set<?> schemes(Map<?, ?> document) {
    return OpenApi.map(OpenApi.map(document.get("components")).get("securitySchemes")).keySet();
  }

  /** This test runs in the mode none. */
  @Test
  void hasNoSecurityWithoutAuthentication() {
    var text = given().get("/openapi.yaml").then().statusCode(200).extract().asString();
    var served = new OpenApi(text);
    assertThat(served.root().containsKey("security")).isFalse();
    assertThat(OpenApi.map(served.root().get("components")).containsKey("securitySchemes"))
        .isFalse();
    served
        .operations()
        .forEach(
            (name, operation) -> assertThat(operation.containsKey("security")).as(name).isFalse());
  }

  /** Checks the errors that depend on the caller and on memory. */
  @Test
  void operationsDocumentTheirErrors() {
    var rules = new Rules(false);
    DOCUMENT
        .operations()
        .forEach((name, operation) -> {
          int space = name.indexOf(' ');
          var match = rules.route(name.substring(0, space), name.substring(space + 1));
          assertThat(match).as(name).isInstanceOf(Match.Ruled.class);
          var rule = ((Match.Ruled) match).rule();
          var statuses = OpenApi.map(operation.get("responses")).keySet();
          assertThat(statuses.contains("401")).as(name + " 401").isEqualTo(!rule.open());
          assertThat(statuses.contains("403")).as(name + " 403").isEqualTo(rule.scope() != null);
          boolean needsMemory =
              name.matches("POST /(ops/\\{op}|pipelines/run|models/.*|tensors|v2/.*/infer)")
                  || name.matches("PUT /(tensors/\\{handle}|models/\\{name}(/copy)?)")
                  || name.matches("(GET|PUT) /tensors/\\{handle}/data");
          assertThat(statuses.contains("507")).as(name + " 507").isEqualTo(needsMemory);
          if (needsMemory) {
            assertThat(statuses.contains("429")).as(name + " 429").isTrue();
          }
        });
  }

  /** Tests the validation that all other tests use. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          {"type": "urn:athanor:problem:internal", "title": "a", "status": 500, "detail": "a"} | at: required property 'error' not found
          {"type": "urn:athanor:problem:none", "title": "a", "status": 500, "detail": "a", "error": "a"} | at/type: does not have a value in the enumeration
          {"type": "urn:athanor:problem:internal", "title": 5, "status": 500, "detail": "a", "error": "a"} | at/title: integer found, string expected
          {"type": "urn:athanor:problem:internal", "title": "a", "status": 500.5, "detail": "a", "error": "a"} | at/status: number found, integer expected
          {"type": "urn:athanor:problem:internal", "title": "a", "status": 500, "detail": "a", "error": "a", "x": 1} | at: property 'x' is not defined in the schema
          {"type": "urn:athanor:problem:internal", "title": "a", "status": 500, "detail": "a", "error": "a", "step": -1} | at/step: must have a minimum value of 0
          {"type": "urn:athanor:problem:internal", "title": "a", "status": 500, "detail": "a", "error": "a", "traceId": "z"} | at/traceId: does not match the regex pattern
          [1] | at: array found, object expected
          """)
  void validationFindsInvalidResponses(String answer, String violation) {
    var problem = Map.of("$ref", "#/components/schemas/Problem");
    assertThat(
            DOCUMENT.violations(problem, JsonMapper.shared().readValue(answer, Object.class), "at"))
        .anyMatch(found -> found.startsWith(violation));
  }

  @Test
  void operationsHaveUniqueIdsAndReferencesResolve() {
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
  void documentsEveryCodeAndDtype() {
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
