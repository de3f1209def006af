package dev.athanor.service.rest;

import static dev.athanor.service.rest.RestTest.problem;
import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.service.AthanorApplication;
import io.restassured.RestAssured;
import io.restassured.response.Response;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Base64;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.web.server.LocalServerPort;
import tools.jackson.databind.json.JsonMapper;

/** The header {@code X-Row-Invariant} gives a row the same bits however many rows come with it. */
@SpringBootTest(
    classes = AthanorApplication.class,
    properties = "athanor.device=emulator",
    webEnvironment = SpringBootTest.WebEnvironment.RANDOM_PORT)
class RowInvarianceTest {

  private static final int DEPTH = 1024;
  private static final int COLUMNS = 8;
  private static final JsonMapper JSON = new JsonMapper();
  private static final float[] ROW = numbers(1);
  private static final float[] WEIGHTS = numbers(COLUMNS);

  @LocalServerPort int port;

  private static float[] numbers(int rows) {
    var random = new Random(rows);
    var numbers = new float[rows * DEPTH];
    for (int i = 0; i < numbers.length; i++) {
      numbers[i] = (float) random.nextGaussian();
    }
    return numbers;
  }

  private static Map<String, ?> tensor(int rows, float[] values) {
    var bytes = ByteBuffer.allocate(4 * rows * DEPTH).order(ByteOrder.LITTLE_ENDIAN);
    for (int i = 0; i < rows * DEPTH; i++) {
      bytes.putFloat(values[i % values.length]);
    }
    return Map.of(
        "dtype",
        "f32",
        "shape",
        new int[] {rows, DEPTH},
        "base64",
        Base64.getEncoder().encodeToString(bytes.array()));
  }

  /** Multiplies equal rows by the weights. */
  private Response product(int rows, String header) {
    var body =
        Map.of(
            "inputs", Map.of("a", tensor(rows, ROW), "b", tensor(COLUMNS, WEIGHTS)),
            "attributes", Map.of("transposeB", true),
            "outputs", Map.of("c", Map.of("encoding", "base64")));
    return RestAssured.given()
        .spec(OpenApiFilter.client(port))
        .contentType("application/json")
        .header("X-Row-Invariant", header)
        .body(JSON.writeValueAsString(body))
        .post("/ops/matmul");
  }

  private byte[] firstRow(int rows, boolean invariant) {
    var data =
        product(rows, Boolean.toString(invariant))
            .then()
            .statusCode(200)
            .extract()
            .<String>path("outputs.c.base64");
    return Arrays.copyOf(Base64.getDecoder().decode(data), 4 * COLUMNS);
  }

  @Test
  void aRowHasTheSameBitsWithAnyNumberOfRows() {
    var alone = firstRow(1, true);
    for (int rows : new int[] {2, 33, 130}) {
      assertThat(firstRow(rows, true)).as("%d rows", rows).isEqualTo(alone);
    }
    assertThat(firstRow(1, false)).as("a kernel for one row").isNotEqualTo(firstRow(33, false));
  }

  @Test
  void theHeaderIsAFlag() {
    problem(
        product(1, "yes"),
        400,
        "invalid-attribute",
        "X-Row-Invariant",
        "X-Row-Invariant is \"yes\"; it must be true or false");
  }
}
