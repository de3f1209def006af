package dev.athanor.service.rest;

import static org.assertj.core.api.Assertions.assertThat;

import io.restassured.builder.RequestSpecBuilder;
import io.restassured.config.EncoderConfig;
import io.restassured.config.RestAssuredConfig;
import io.restassured.filter.Filter;
import io.restassured.filter.FilterContext;
import io.restassured.response.Response;
import io.restassured.specification.FilterableRequestSpecification;
import io.restassured.specification.FilterableResponseSpecification;
import io.restassured.specification.RequestSpecification;
import java.net.URI;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.type.TypeReference;
import tools.jackson.databind.json.JsonMapper;

/** Checks every response that a test receives against openapi.yaml. */
final class OpenApiFilter implements Filter {

  private static final JsonMapper JSON = JsonMapper.builder().build();

  static final OpenApi DOCUMENT = new OpenApi();

  /** Operations and statuses that tests have received. */
  static final Set<String> SEEN = ConcurrentHashMap.newKeySet();

  /** Returns a request specification for a local service that checks all responses. */
  static RequestSpecification client(int port) {
    var encoding =
        EncoderConfig.encoderConfig().appendDefaultContentCharsetToContentTypeIfUndefined(false);
    return new RequestSpecBuilder()
        .setBaseUri("http://127.0.0.1")
        .setPort(port)
        .addFilter(new OpenApiFilter())
        .setConfig(RestAssuredConfig.config().encoderConfig(encoding))
        .build();
  }

  @Override
  public Response filter(
      FilterableRequestSpecification request,
      FilterableResponseSpecification specification,
      FilterContext context) {
    var response = context.next(request, specification);
    var path = URI.create(request.getURI()).getPath();
    var template = DOCUMENT.template(path);
    if (template.isPresent() && !response.contentType().startsWith("text/html")) {
      var name = request.getMethod() + " " + template.get();
      var operation = DOCUMENT.operations().get(name);
      if (operation != null) {
        check(name, operation, response);
      } else {
        assertThat(response.statusCode()).as(name).isIn(405, 401, 204, 200);
      }
    }
    return response;
  }

  /** Returns the JSON object of a response. */
  static Map<String, @Nullable Object> json(Response response) {
    return JSON.readValue(response.asByteArray(), new TypeReference<>() {});
  }

  private static void check(String name, Map<?, ?> operation, Response response) {
    var status = Integer.toString(response.statusCode());
    var responses = OpenApi.map(operation.get("responses"));
    assertThat(responses.containsKey(status))
        .as("%s returns %s, which openapi.yaml does not document", name, status)
        .isTrue();
    SEEN.add(name + " " + status);
    var content = DOCUMENT.resolve(responses.get(status)).get("content");
    if (content == null || name.startsWith("HEAD ")) {
      return;
    }
    var type = response.contentType().replaceAll(";.*", "");
    assertThat(OpenApi.map(content).containsKey(type))
        .as("%s returns %s as %s, which openapi.yaml does not document", name, status, type)
        .isTrue();
    var schema = OpenApi.map(OpenApi.map(content).get(type)).get("schema");
    if (schema != null && type.endsWith("json")) {
      assertThat(
              DOCUMENT.violations(
                  schema, JSON.readValue(response.asByteArray(), Object.class), name))
          .as("%s %s", name, status)
          .isEmpty();
    }
  }
}
