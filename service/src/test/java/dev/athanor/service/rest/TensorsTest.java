package dev.athanor.service.rest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.hamcrest.Matchers.contains;
import static org.hamcrest.Matchers.equalTo;
import static org.hamcrest.Matchers.matchesPattern;
import static org.hamcrest.Matchers.not;
import static org.hamcrest.Matchers.nullValue;

import dev.athanor.service.run.TestOps;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests resident tensors. */
class TensorsTest extends RestTest {

  private static final String UNKNOWN = "t_00000000000000000000000000000000_test";

  @AfterEach
  void memoryIsZeroedBeforeReuse() {
    assertThat(device.wasFreedDirty()).isFalse();
  }

  private static byte[] npy(String header, byte[] data) {
    var text = header + "\n";
    return ByteBuffer.allocate(10 + text.length() + data.length)
        .order(ByteOrder.LITTLE_ENDIAN)
        .put(new byte[] {(byte) 0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0})
        .putShort((short) text.length())
        .put(text.getBytes(StandardCharsets.ISO_8859_1))
        .put(data)
        .array();
  }

  /** Shell scripts do not need to parse JSON. */
  @Test
  void returnsTheHandleAsText() {
    var answer =
        given()
            .accept("text/plain")
            .contentType("application/json")
            .body("{\"dtype\": \"f32\", \"shape\": [2], \"data\": [1, 2]}")
            .post("/tensors")
            .then()
            .statusCode(201)
            .contentType("text/plain")
            .extract();
    var handle = answer.asString().strip();
    assertThat(answer.asString()).isEqualTo(handle + "\n");
    assertThat(answer.header("Location")).isEqualTo("/tensors/" + handle);
    given().get("/tensors/" + handle).then().statusCode(200);
    given().delete("/tensors/" + handle).then().statusCode(204);
  }

  @Test
  void createsDescribesAndDeletesATensor() {
    var created =
        json("{\"dtype\": \"f32\", \"shape\": [2, 2], \"data\": [[1, 2], [3, 4]]}")
            .queryParam("name", "weights")
            .queryParam("scope", "job7")
            .queryParam("ttlSeconds", 600)
            .post("/tensors")
            .then()
            .statusCode(201)
            .header("Location", matchesPattern("/tensors/t_[0-9a-f]{32}_test"))
            .header("ETag", "\"1\"")
            .body("name", equalTo("weights"))
            .body("scope", equalTo("job7"))
            .body("dtype", equalTo("f32"))
            .body("shape", contains(2, 2))
            .body("bytes", equalTo(16))
            .body("device", equalTo("fake:0"))
            .body("version", equalTo(1))
            .body("createdAt", equalTo(clock.instant().toString()))
            .body("expiresAt", equalTo(clock.instant().plusSeconds(600).toString()))
            .extract();
    var path = created.header("Location");
    given().get(path).then().statusCode(200).body("handle", equalTo(created.path("handle")));
    given()
        .head(path)
        .then()
        .statusCode(200)
        .header("Athanor-Dtype", "f32")
        .header("Athanor-Shape", "2,2")
        .header("Athanor-Bytes", "16");
    given().delete(path).then().statusCode(204);
    given().delete(path).then().statusCode(204);
    problem(
        given().get(path),
        404,
        "unknown-handle",
        "handle",
        "Unknown tensor " + created.path("handle"));
    problem(
        given().delete("/tensors/" + UNKNOWN),
        404,
        "unknown-handle",
        "handle",
        "Unknown tensor " + UNKNOWN);
  }

  @Test
  void returnsContentsInEveryFormat() {
    var data = "/tensors/" + tensor(1, -0.5f, 3) + "/data";
    assertThat(given().get(data).then().statusCode(200).extract().asByteArray())
        .isEqualTo(f32Bytes(1, -0.5f, 3));
    given()
        .accept("application/json")
        .get(data)
        .then()
        .header("Vary", "Accept")
        .body("dtype", equalTo("f32"))
        .body("shape", contains(3))
        .body("data", contains(1.0f, -0.5f, 3.0f));
    var npy = given().accept("application/x-npy").get(data).then().statusCode(200).extract();
    var bytes = npy.asByteArray();
    assertThat(npy.header("Content-Length")).isEqualTo("" + bytes.length);
    assertThat(bytes).hasSize(128 + 12); // the data begins at a multiple of 64
    assertThat(new String(bytes, 10, 118, StandardCharsets.US_ASCII).strip())
        .isEqualTo("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }");
    // and back again
    given()
        .contentType("application/x-npy")
        .body(bytes)
        .post("/tensors")
        .then()
        .statusCode(201)
        .body("shape", contains(3));
    given()
        .accept("application/x-npy;q=0.5, application/octet-stream;q=0.1, */*;q=0")
        .head(data)
        .then()
        .contentType("application/x-npy")
        .header("Content-Length", "" + bytes.length)
        .header("Athanor-Dtype", "f32");
    problem(
        given().accept("text/html").get(data),
        406,
        "not-acceptable",
        "Accept",
        "Accept is text/html; it must be one of application/octet-stream, application/x-npy,"
            + " application/x-safetensors, application/json");
  }

  @Test
  void readsNpyInBothByteOrdersAndFortranOrder() {
    var big = ByteBuffer.allocate(24);
    for (int i = 1; i <= 6; i++) {
      big.putFloat(i);
    }
    var handle =
        given()
            .contentType("application/x-npy")
            .body(npy("{'descr': '>f4', 'fortran_order': True, 'shape': (2, 3), }", big.array()))
            .post("/tensors")
            .then()
            .statusCode(201)
            .extract()
            .<String>path("handle");
    given()
        .accept("application/json")
        .get("/tensors/" + handle + "/data")
        .then()
        .body("data", contains(1f, 3f, 5f, 2f, 4f, 6f));
  }

  @Test
  void rejectsInvalidNpy() {
    problem(
        given().contentType("application/x-npy").body(new byte[] {1, 2}).post("/tensors"),
        400,
        "invalid-tensor",
        "body",
        "the body is not an npy file: it does not begin with \\x93NUMPY");
    problem(
        given()
            .contentType("application/x-npy")
            .body(npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", new byte[8]))
            .post("/tensors"),
        400,
        "unsupported-dtype",
        "body.dtype",
        "the npy type \"|O\" is not supported; supported are f8, f4, f2, i8, i4, i2, i1, u1, u4, b1, in either byte order; npy has no bf16");
    problem(
        given()
            .contentType("application/x-npy")
            .body(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", new byte[8]))
            .post("/tensors"),
        400,
        "invalid-tensor",
        "body",
        "f32[3] needs 12 bytes of data, got 8");
    problem(
        given()
            .contentType("application/x-npy")
            .body(npy("{'descr': __import__('os'), 'shape': (3,), }", new byte[8]))
            .post("/tensors"),
        400,
        "invalid-tensor",
        "body",
        "the npy header must have exactly the keys descr, fortran_order and shape: {'descr':"
            + " __import__('os'), 'shape': (3,), }");
  }

  @Test
  void rejectsBf16AsNpy() {
    var handle =
        json("{\"dtype\": \"bf16\", \"shape\": [1], \"data\": [1]}")
            .post("/tensors")
            .then()
            .statusCode(201)
            .extract()
            .<String>path("handle");
    problem(
        given().accept("application/x-npy").get("/tensors/" + handle + "/data"),
        406,
        "not-acceptable",
        "Accept",
        "bf16 has no npy type; application/octet-stream and application/json have it");
  }

  @Test
  void transfersBlocksAsBytes() {
    var bytes = new byte[2 * 18];
    new java.util.Random(1).nextBytes(bytes);
    var handle =
        given()
            .contentType("application/octet-stream")
            .body(bytes)
            .post("/tensors?dtype=q4_0&shape=2,32")
            .then()
            .statusCode(201)
            .body("bytes", equalTo(36))
            .extract()
            .<String>path("handle");
    var data = "/tensors/" + handle + "/data";
    assertThat(given().accept("application/octet-stream").get(data).asByteArray()).isEqualTo(bytes);
    problem(
        given().accept("application/json").get(data),
        406,
        "not-acceptable",
        "Accept",
        "q4_0 is a block format, which JSON numbers cannot represent; request application/octet-stream");
    problem(
        given().accept("application/x-npy").get(data),
        406,
        "not-acceptable",
        "Accept",
        "q4_0 has no npy type; application/octet-stream has it");
  }

  @Test
  void supportsRanges() {
    var data = "/tensors/" + tensor(1, 2, 3) + "/data";
    var all = f32Bytes(1, 2, 3);
    var part = given().header("Range", "bytes=4-7").get(data).then().statusCode(206);
    part.header("Content-Range", "bytes 4-7/12").header("Content-Length", "4");
    assertThat(part.extract().asByteArray()).isEqualTo(java.util.Arrays.copyOfRange(all, 4, 8));
    given()
        .header("Range", "bytes=-4")
        .get(data)
        .then()
        .statusCode(206)
        .header("Content-Range", "bytes 8-11/12");
    problem(
            given().header("Range", "bytes=12-").get(data),
            416,
            "range-not-satisfiable",
            "Range",
            "Range is bytes=12-, but the tensor has 12 bytes")
        .header("Content-Range", "bytes */12");
    for (var ignored : new String[] {"bytes=0-0,1-1", "bytes=5-2", "lines=1-2", "bytes=a-b"}) {
      given().header("Range", ignored).get(data).then().statusCode(200);
    }
    given()
        .header("Range", "bytes=0-0")
        .header("If-Range", "\"9\"")
        .get(data)
        .then()
        .statusCode(200);
    given()
        .header("Range", "bytes=0-0")
        .header("If-Range", "\"1\"")
        .get(data)
        .then()
        .statusCode(206);
    given().header("If-None-Match", "W/\"1\"").get(data).then().statusCode(304);
  }

  /** Every change obeys the preconditions of RFC 9110. */
  @Test
  void changesObeyPreconditions() {
    var path = "/tensors/" + tensor(1, 2);
    var mismatch =
        "If-Match does not match the current version 1 of the tensor; read the tensor again";
    problem(
        json("{\"ttlSeconds\": 60}").header("If-Match", "\"2\"").patch(path),
        412,
        "version-mismatch",
        "If-Match",
        mismatch);
    problem(
        given().header("If-Match", "\"2\"").delete(path),
        412,
        "version-mismatch",
        "If-Match",
        mismatch);
    problem(
        given().header("If-Match", "\"2\"").get(path),
        412,
        "version-mismatch",
        "If-Match",
        mismatch);
    for (var none : List.of("*", "\"1\"", "W/\"1\"", "\"7\", \"1-npy\"")) {
      problem(
          given()
              .contentType("application/octet-stream")
              .header("If-None-Match", none)
              .body(f32Bytes(3, 4))
              .put(path + "/data"),
          412,
          "version-mismatch",
          "If-None-Match",
          "If-None-Match matches the current version 1 of the tensor, so it is not changed");
    }
    given().header("If-None-Match", "*").delete(path).then().statusCode(412);
    json("{\"ttlSeconds\": 60}").header("If-Match", "\"1\"").patch(path).then().statusCode(200);
    given()
        .contentType("application/octet-stream")
        .header("If-None-Match", "\"7\"")
        .body(f32Bytes(3, 4))
        .put(path + "/data")
        .then()
        .statusCode(200);
    given().header("If-Match", "\"2\"").delete(path).then().statusCode(204);
    problem(
        given().header("If-Match", "*").delete(path),
        412,
        "version-mismatch",
        "If-Match",
        "If-Match is given, but the tensor does not exist");
    given().delete(path).then().statusCode(204);
  }

  @Test
  void descriptionIsNotSentAgain() {
    var path = "/tensors/" + tensor(1, 2);
    given()
        .header("If-None-Match", "\"1\"")
        .get(path)
        .then()
        .statusCode(304)
        .header("ETag", "\"1\"");
    given().header("If-None-Match", "\"1\"").head(path).then().statusCode(304);
    given().header("If-None-Match", "\"2\"").get(path).then().statusCode(200);
  }

  /** Headers that {@code numpy.load} accepts, as other libraries write them. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "{\"descr\": \"<f4\", \"fortran_order\": False, \"shape\": (2,)}",
        "{'descr': '=f4', 'fortran_order': False, 'shape': (2,)}",
        "{'descr': 'f4', 'fortran_order': False, 'shape': (2,)}"
      })
  void readsOtherFormsOfNpyHeaders(String header) {
    var path =
        given()
            .contentType("application/x-npy")
            .body(npy(header, f32Bytes(1, 2)))
            .post("/tensors")
            .then()
            .statusCode(201)
            .extract()
            .header("Location");
    assertThat(
            given()
                .accept("application/octet-stream")
                .get(path + "/data")
                .then()
                .extract()
                .asByteArray())
        .isEqualTo(f32Bytes(1, 2));
  }

  /** Equal ETags would imply equal bytes. */
  @Test
  void everyFormatHasItsOwnETag() {
    var path = "/tensors/" + tensor(1, 2) + "/data";
    var tags =
        Map.of(
            "application/octet-stream", "\"1\"",
            "application/x-npy", "\"1-npy\"",
            "application/x-safetensors", "\"1-safetensors\"",
            "application/json", "\"1-json\"");
    tags.forEach((form, tag) -> {
      given().accept(form).get(path).then().statusCode(200).header("ETag", tag);
      given().accept(form).head(path).then().statusCode(200).header("ETag", tag);
      given().accept(form).header("If-Match", tag).get(path).then().statusCode(200);
      tags.values()
          .forEach(other -> {
            var answer = given().accept(form).header("If-None-Match", other).get(path).then();
            answer.statusCode(other.equals(tag) ? 304 : 200);
            answer.header("ETag", tag).header("Vary", "Accept");
          });
    });
    problem(
        given().header("If-Match", "\"2-npy\"").get(path),
        412,
        "version-mismatch",
        "If-Match",
        "If-Match does not match the current version 1 of the tensor; read the tensor again");
    given()
        .contentType("application/octet-stream")
        .header("If-Match", "\"1-json\"")
        .body(f32Bytes(3, 4))
        .put(path)
        .then()
        .statusCode(200)
        .header("ETag", "\"2\"");
  }

  /** A plain GET never fails with a version mismatch; a GET with If-Match does. */
  @Test
  void readersAndWritersDoNotDisturbEachOther() throws Exception {
    var path = "/tensors/" + tensor(1, 1) + "/data";
    try (var clients = Executors.newVirtualThreadPerTaskExecutor()) {
      var writers =
          IntStream.range(0, 2)
              .mapToObj(_ ->
                  clients.submit(() -> {
                    for (int i = 0; i < 15; i++) {
                      given()
                          .contentType("application/octet-stream")
                          .body(f32Bytes(i, i))
                          .put(path)
                          .then()
                          .statusCode(200);
                    }
                  }))
              .toList();
      while (!writers.stream().allMatch(Future::isDone)) {
        var got = given().accept("application/octet-stream").get(path).then().statusCode(200);
        var bytes = got.extract().asByteArray();
        assertThat(Arrays.copyOf(bytes, 4)).isEqualTo(Arrays.copyOfRange(bytes, 4, 8));
      }
      for (var writer : writers) {
        writer.get();
      }
    }
    given().header("If-Match", "\"31\"").get(path).then().statusCode(200);
    problem(
        given().header("If-Match", "\"30\"").get(path),
        412,
        "version-mismatch",
        "If-Match",
        "If-Match does not match the current version 31 of the tensor; read the tensor again");
  }

  @Test
  void replacesContentsIfTheVersionMatches() {
    var path = "/tensors/" + tensor(1, 2);
    given()
        .contentType("application/octet-stream")
        .header("If-Match", "\"1\"")
        .body(f32Bytes(3, 4))
        .put(path + "/data")
        .then()
        .statusCode(200)
        .header("ETag", "\"2\"")
        .body("version", equalTo(2));
    problem(
        given()
            .contentType("application/octet-stream")
            .header("If-Match", "\"1\"")
            .body(f32Bytes(5, 6))
            .put(path + "/data"),
        412,
        "version-mismatch",
        "If-Match",
        "If-Match does not match the current version 2 of the tensor; read the tensor again");
    problem(
        json("{\"dtype\": \"f32\", \"shape\": [1, 2], \"data\": [1, 2]}").put(path + "/data"),
        400,
        "shape-mismatch",
        null,
        "the tensor has type f32[2], but the new contents have type f32[1, 2]; they must be equal");
    problem(
        given().contentType("application/octet-stream").body(f32Bytes(1)).put(path + "/data"),
        400,
        "invalid-tensor",
        "body",
        "f32[2] needs 8 bytes of data, got 4");
    given()
        .accept("application/json")
        .get(path + "/data")
        .then()
        .header("ETag", "\"2-json\"")
        .body("data", contains(3f, 4f));
  }

  @Test
  void leasesExpireAndAreRenewed() {
    var kept = "/tensors/" + tensor(1);
    var used = "/tensors/" + tensor(2);
    var unlimited = "/tensors/" + tensor(3);
    json("{\"ttlSeconds\": 0}")
        .patch(unlimited)
        .then()
        .statusCode(200)
        .body("expiresAt", nullValue());
    json("{\"ttlSeconds\": 7200}").patch(kept).then().statusCode(200);
    clock.advance(Duration.ofMinutes(50));
    given().get(used + "/data").then().statusCode(200);
    clock.advance(Duration.ofMinutes(20));
    given().get(used).then().statusCode(200);
    clock.advance(Duration.ofMinutes(45));
    problem(
        given().get(used),
        410,
        "expired-handle",
        "handle",
        "the lease of %s has expired and its contents are freed; create the tensor again"
            .formatted(used.substring(9)));
    given().get(kept).then().statusCode(200);
    clock.advance(Duration.ofMinutes(11));
    given().get(used).then().statusCode(404);
    clock.advance(Duration.ofDays(3650));
    given().get(unlimited).then().statusCode(200);
    given().get(kept).then().statusCode(404);
    given().delete(unlimited).then().statusCode(204);
    problem(
        json("{\"ttlSeconds\": -1}").patch(unlimited),
        400,
        "invalid-attribute",
        "ttlSeconds",
        "ttlSeconds is -1; it must be an integer 0 to 315360000");
    problem(
        json("{\"ttlSeconds\": \"5\"}").patch(unlimited),
        400,
        "invalid-attribute",
        "ttlSeconds",
        "ttlSeconds is \"5\"; it must be an integer 0 to 315360000");
    problem(
        json("{\"ttlSeconds\": null}").patch(unlimited),
        400,
        "invalid-attribute",
        "ttlSeconds",
        "ttlSeconds is null; it must be an integer 0 to 315360000");
    problem(
        json("{\"ttl\": 1}").patch(unlimited),
        400,
        "unknown-field",
        "ttl",
        "ttl is unknown; known keys are ttlSeconds");
  }

  @Test
  void listsNewestFirstInPages() {
    var handles = new String[] {scoped("page"), scoped("page"), scoped("page")};
    var first =
        given()
            .queryParam("scope", "page")
            .queryParam("limit", 2)
            .get("/tensors")
            .then()
            .statusCode(200)
            .body("tensors.handle", contains(handles[2], handles[1]))
            .extract();
    given().delete("/tensors/" + handles[1]).then().statusCode(204);
    given()
        .queryParam("scope", "page")
        .queryParam("after", first.<String>path("next"))
        .get("/tensors")
        .then()
        .body("tensors.handle", contains(handles[0]))
        .body("next", nullValue());
    given().queryParam("scope", "page").delete("/tensors").then().statusCode(204);
    given().queryParam("scope", "page").get("/tensors").then().body("tensors.size()", equalTo(0));
    problem(
        given().queryParam("limit", 0).get("/tensors"),
        400,
        "invalid-attribute",
        "limit",
        "limit is \"0\"; it must be an integer 1 to 1000");
    problem(
        given().queryParam("page", 2).get("/tensors"),
        400,
        "unknown-field",
        "page",
        "Unknown query parameter \"page\"; known parameters are limit, after, scope");
    problem(
        given().delete("/tensors"),
        400,
        "invalid-attribute",
        "scope",
        "scope is missing; DELETE /tensors?scope=… takes one");
  }

  @Test
  void reportsTheReplicaOfForeignHandles() {
    var elsewhere = "t_00000000000000000000000000000000_other";
    var detail = elsewhere + " belongs to replica other; send the request there";
    for (var answer :
        List.of(
            given().get("/tensors/" + elsewhere),
            given().get("/tensors/" + elsewhere + "/data"),
            given().delete("/tensors/" + elsewhere),
            json("{\"ttlSeconds\": 1}").patch("/tensors/" + elsewhere))) {
      problem(answer, 421, "wrong-replica", "handle", detail).body("replica", equalTo("other"));
    }
    problem(
        given().queryParam("after", elsewhere).get("/tensors"),
        421,
        "wrong-replica",
        "after",
        detail);
    problem(
            json("{\"inputs\": {\"x\": {\"handle\": \"%s\"}}}".formatted(elsewhere))
                .post("/ops/identity"),
            421,
            "wrong-replica",
            "inputs.x.handle",
            detail)
        .body("op", equalTo("identity"));
  }

  @Test
  void downloadsLargeTensors() {
    var bytes = new byte[(9 << 20) + 5];
    new java.util.Random(3).nextBytes(bytes);
    var data =
        octets(bytes, bytes.length).then().statusCode(201).extract().header("Location") + "/data";
    assertThat(given().get(data).asByteArray()).isEqualTo(bytes);
    var part = given().header("Range", "bytes=4194303-8388608").get(data).then().statusCode(206);
    assertThat(part.extract().asByteArray())
        .isEqualTo(java.util.Arrays.copyOfRange(bytes, 4_194_303, 8_388_609));
    given().queryParam("scope", "big").delete("/tensors").then().statusCode(204);
  }

  private String scoped(String scope) {
    return json("{\"dtype\": \"u8\", \"shape\": [], \"data\": 7}")
        .queryParam("scope", scope)
        .post("/tensors")
        .then()
        .statusCode(201)
        .body("shape.size()", equalTo(0))
        .extract()
        .path("handle");
  }

  @Test
  void creationIsIdempotentWithAKey() {
    var body = "{\"dtype\": \"f32\", \"shape\": [1], \"data\": [1]}";
    var first = createWithKey("k1", body).then().statusCode(201).extract().<String>path("handle");
    createWithKey("k1", body).then().statusCode(201).body("handle", equalTo(first));
    problem(
        createWithKey("k1", body.replace("[1]}", "[2]}")),
        422,
        "idempotency-key-reused",
        "Idempotency-Key",
        "this Idempotency-Key was used for a different request; use a new key for each request");
    createWithKey("k2", "{}").then().statusCode(400);
    createWithKey("k2", body).then().statusCode(201);
    given().delete("/tensors/" + first).then().statusCode(204);
    createWithKey("k1", body).then().statusCode(201).body("handle", not(equalTo(first)));
  }

  private io.restassured.response.Response createWithKey(String key, String body) {
    return json(body).header("Idempotency-Key", key).post("/tensors");
  }

  @Test
  void deletionWaitsForJobsThatUseTheTensor() {
    TestOps.Identity.AT_GATE.set(0);
    var x = tensor(1, 2);
    int buffers = settledBuffers();
    var running =
        CompletableFuture.supplyAsync(
            () ->
                json("{\"inputs\": {\"x\": {\"handle\": \"%s\"}}, \"attributes\": {\"gate\": true}}"
                        .formatted(x))
                    .post("/ops/identity"),
            Executors.newVirtualThreadPerTaskExecutor());
    await().until(() -> TestOps.Identity.AT_GATE.get() == 1);
    try {
      given().delete("/tensors/" + x).then().statusCode(204);
      given().get("/tensors/" + x).then().statusCode(404);
      assertThat(device.openBuffers())
          .as("the output, and x until the job ends")
          .isEqualTo(buffers + 1);
    } finally {
      TestOps.Identity.GATE.release();
    }
    running.join().then().statusCode(200).body("outputs.y.data", contains(1f, 2f));
    await().until(() -> device.openBuffers() == buffers - 1);
  }

  private io.restassured.response.Response octets(byte[] body, long extent) {
    return given()
        .contentType("application/octet-stream")
        .queryParam("dtype", "u8")
        .queryParam("shape", extent)
        .queryParam("scope", "big")
        .body(body)
        .post("/tensors");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "..%2f..%2fetc",
        "t_..%2e",
        "%00",
        "t_1;x=y",
        "t_' OR 1=1",
        "..%5c..",
        "%252e%252e"
      })
  void rejectsInvalidHandles(String handle) {
    int status =
        given()
            .urlEncodingEnabled(false)
            .get("/tensors/" + handle.replace(" ", "%20"))
            .statusCode();
    assertThat(status).isIn(400, 404);
  }
}
