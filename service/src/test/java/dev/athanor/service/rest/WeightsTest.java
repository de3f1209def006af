package dev.athanor.service.rest;

import static org.hamcrest.Matchers.contains;
import static org.hamcrest.Matchers.equalTo;
import static org.hamcrest.Matchers.nullValue;

import dev.athanor.ops.DType;
import dev.athanor.ops.TensorType;
import dev.athanor.service.AthanorApplication;
import dev.athanor.service.codec.GgufFile;
import dev.athanor.service.codec.Safetensors;
import dev.athanor.testing.TestTier;
import io.restassured.RestAssured;
import io.restassured.builder.RequestSpecBuilder;
import io.restassured.specification.RequestSpecification;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.web.server.LocalServerPort;
import org.springframework.test.context.DynamicPropertyRegistry;
import org.springframework.test.context.DynamicPropertySource;

/** Tests calls with weights that the service has loaded at startup. */
@SpringBootTest(
    classes = AthanorApplication.class,
    properties = {"athanor.device=emulator", "athanor.tuning.cache=none.json"},
    webEnvironment = SpringBootTest.WebEnvironment.RANDOM_PORT)
@Tag(TestTier.THOROUGH_TAG)
class WeightsTest {

  @TempDir private static Path folder;
  @LocalServerPort private int port;

  @DynamicPropertySource
  static void weights(DynamicPropertyRegistry properties) throws IOException {
    var header =
        Safetensors.header(Map.of("dense.weight", TensorType.of(DType.F32, 2, 2)), Map.of())
            .orElseThrow();
    var dense = ByteBuffer.allocate(header.length + 16).order(ByteOrder.LITTLE_ENDIAN).put(header);
    dense.putFloat(5).putFloat(6).putFloat(7).putFloat(8);
    Files.write(folder.resolve("a.safetensors"), dense.array());

    // two rows of one block each: the f16 scales 0.5 and -1, and 32 quants
    var blocks = ByteBuffer.allocate(68).order(ByteOrder.LITTLE_ENDIAN);
    for (int row = 0; row < 2; row++) {
      blocks.putShort(Float.floatToFloat16(row == 0 ? 0.5f : -1));
      for (int i = 0; i < 32; i++) {
        blocks.put((byte) i);
      }
    }
    var file = new GgufFile(1, 0).tensor("blk.0.attn_q.weight", 8, 0, 32, 2);
    Files.write(folder.resolve("b.gguf"), file.with(blocks.array()));
    properties.add("athanor.weights", folder::toString);
  }

  private RequestSpecification given() {
    return RestAssured.given()
        .spec(new RequestSpecBuilder().setBaseUri("http://127.0.0.1").setPort(port).build());
  }

  @Test
  void multipliesWeightsOfASafetensorsFile() {
    given()
        .contentType("application/json")
        .body(
            """
            {"inputs": {"a": {"dtype": "f32", "shape": [2, 2], "data": [1, 2, 3, 4]},
                        "b": {"handle": "dense.weight"}}}
            """)
        .post("/ops/matmul")
        .then()
        .statusCode(200)
        .body("outputs.c.data", contains(19f, 22f, 43f, 50f));
  }

  /** The sum of 0 to 31 is 496. */
  @Test
  void multipliesBlocksOfAGgufFile() {
    given()
        .contentType("application/json")
        .body(
            """
            {"inputs": {"a": {"dtype": "f32", "shape": [1, 32], "data": %s},
                        "w": {"handle": "blk.0.attn_q.weight"}}}
            """
                .formatted(Collections.nCopies(32, 1)))
        .post("/ops/matmul-gguf")
        .then()
        .statusCode(200)
        .body("outputs.c.data", contains(248f, -496f));
  }

  @Test
  void describesThemAsNamedTensors() {
    given()
        .get("/tensors/blk.0.attn_q.weight")
        .then()
        .statusCode(200)
        .body("name", equalTo("blk.0.attn_q.weight"))
        .body("dtype", equalTo("q8_0"))
        .body("shape", contains(2, 32))
        .body("expiresAt", nullValue());
  }

  @Test
  void isReadyThereafter() {
    given().get("/readyz").then().statusCode(200);
  }
}
