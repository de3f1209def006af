package dev.athanor.service.rest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.equalTo;
import static org.hamcrest.Matchers.hasItem;

import dev.athanor.service.AthanorApplication;
import io.restassured.RestAssured;
import io.restassured.builder.RequestSpecBuilder;
import io.restassured.specification.RequestSpecification;
import java.io.IOException;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.web.server.LocalServerPort;
import org.springframework.test.context.DynamicPropertyRegistry;
import org.springframework.test.context.DynamicPropertySource;

/** An op from a jar that was built apart is called as if it were one of ours. */
@SpringBootTest(
    classes = AthanorApplication.class,
    properties = {"athanor.device=emulator", "athanor.tuning.cache=none.json"},
    webEnvironment = SpringBootTest.WebEnvironment.RANDOM_PORT)
class PluginTest {

  private static final Path SOURCES = Path.of("src/test/plugin");
  private static final String SERVICE = "META-INF/services/dev.athanor.ops.OpProvider";

  @TempDir private static Path folder;
  @LocalServerPort private int port;

  @DynamicPropertySource
  static void plugins(DynamicPropertyRegistry properties) throws IOException {
    var classes = Files.createDirectories(folder.resolve("classes"));
    var compiler = ToolProvider.getSystemJavaCompiler();
    var said = new StringWriter();
    boolean compiled =
        compiler
            .getTask(
                said,
                null,
                null,
                List.of("-d", classes.toString(), "-proc:none"),
                null,
                compiler
                    .getStandardFileManager(null, null, StandardCharsets.UTF_8)
                    .getJavaFileObjects(SOURCES.resolve("com/example/Clamp.java")))
            .call();
    assertThat(compiled).as(said.toString()).isTrue();
    var plugins = Files.createDirectories(folder.resolve("plugins"));
    try (var jar = new JarOutputStream(Files.newOutputStream(plugins.resolve("clamp-1.0.jar")));
        var files = Files.walk(classes)) {
      for (var file : files.filter(Files::isRegularFile).toList()) {
        jar.putNextEntry(new JarEntry(classes.relativize(file).toString()));
        Files.copy(file, jar);
      }
      jar.putNextEntry(new JarEntry(SERVICE));
      jar.write("com.example.Clamp$Provider\n".getBytes(StandardCharsets.UTF_8));
    }
    properties.add("athanor.plugins", plugins::toString);
  }

  private RequestSpecification given() {
    return RestAssured.given()
        .spec(new RequestSpecBuilder().setBaseUri("http://127.0.0.1").setPort(port).build());
  }

  @Test
  void itRuns() {
    given()
        .contentType("application/json")
        .body(
            """
            {"inputs": {"x": {"dtype": "f32", "shape": [4], "data": [-2, 0.5, 3, "NaN"]}},
             "attributes": {"low": -1}}
            """)
        .post("/ops/clamp")
        .then()
        .statusCode(200)
        .body("kernel", equalTo("clamp_f32"))
        .body("outputs.y.data", equalTo(List.of(-1.0f, 0.5f, 1.0f, -1.0f)));
  }

  @Test
  void itIsDescribedAmongOurs() {
    given()
        .get("/ops")
        .then()
        .statusCode(200)
        .body("ops.name", hasItem("clamp"))
        .body("ops.name", hasItem("matmul"));
    assertThat(given().get("/openapi.yaml").asString())
        .contains("/ops/clamp:", "y = min(max(x, low), high)");
  }

  @Test
  void itsRefusalsAreAnswered() {
    given()
        .contentType("application/json")
        .body(
            """
            {"inputs": {"x": {"dtype": "f32", "shape": [1], "data": [0]}}, "attributes": {"low": 2}}
            """)
        .post("/ops/clamp")
        .then()
        .statusCode(400)
        .body("type", equalTo("urn:athanor:problem:invalid-attribute"))
        .body("detail", equalTo("low is 2.0 and high is 1.0; low must not be above high"));
  }
}
