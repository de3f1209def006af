package dev.athanor.service.rest;

import static org.hamcrest.Matchers.contains;
import static org.hamcrest.Matchers.equalTo;

import dev.athanor.service.AthanorApplication;
import dev.athanor.service.model.SmallModels;
import dev.athanor.testing.TestTier;
import io.restassured.RestAssured;
import io.restassured.specification.RequestSpecification;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.SpringApplication;
import org.springframework.context.ConfigurableApplicationContext;

/** Tests that a service has its models again when it is ready after a restart. */
@Tag(TestTier.THOROUGH_TAG)
class StoredModelRestartTest {

  @TempDir private Path folder;

  private ConfigurableApplicationContext start() {
    return SpringApplication.run(
        AthanorApplication.class,
        "--server.port=0",
        "--spring.grpc.server.port=0",
        "--athanor.device=emulator",
        "--athanor.models.dir=" + folder);
  }

  private static RequestSpecification given(ConfigurableApplicationContext context) {
    var port = context.getEnvironment().getRequiredProperty("local.server.port", Integer.class);
    return RestAssured.given().spec(OpenApiFilter.client(port));
  }

  @Test
  void runsModelsAfterARestart() {
    try (var context = start()) {
      for (int weight = 1; weight <= 2; weight++) {
        given(context)
            .contentType("application/onnx")
            .body(SmallModels.model(SmallModels.adding(weight)))
            .put("/models/adder?extents=rows:1-2")
            .then()
            .statusCode(201);
      }
      given(context)
          .contentType("application/json")
          .body("{\"version\": 1}")
          .put("/models/adder/default")
          .then()
          .statusCode(200);
    }
    try (var context = start()) {
      given(context).get("/readyz").then().statusCode(200);
      given(context)
          .get("/models/adder")
          .then()
          .body("version", equalTo(1))
          .body("versions", contains(1, 2))
          .body("extents.rows.max", equalTo(2));
      given(context)
          .contentType("application/json")
          .body(StoredModelsTest.call(1, ""))
          .post("/models/adder/run")
          .then()
          .statusCode(200)
          .body("outputs.y.data[3]", equalTo(1f));
      given(context).delete("/models/adder").then().statusCode(204);
    }
  }

  @Test
  void keepsGraphsAndHowTheirCallsShareRuns() {
    var graph =
        """
        {"inputs": {"x": {"dtype": "f32", "shape": ["rows", 12]}},
         "steps": [{"op": "map", "inputs": {"x0": "x"}, "attributes": {"expression": "x0 + 1"}, "outputs": {"y": "m"}}],
         "outputs": {"y": "m"}}\
        """;
    try (var context = start()) {
      given(context)
          .contentType("application/json")
          .body(graph)
          .put("/models/graph?extents=rows:1-4&batch=rows")
          .then()
          .statusCode(201);
    }
    try (var context = start()) {
      given(context).get("/models/graph").then().body("batch", equalTo("rows"));
      given(context)
          .contentType("application/json")
          .body(StoredModelsTest.call(1, ""))
          .post("/models/graph/run")
          .then()
          .statusCode(200)
          .body("outputs.y.data[3]", equalTo(1f));
    }
  }
}
