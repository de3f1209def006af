package dev.athanor.service.rest;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_16BE;
import static java.nio.charset.StandardCharsets.UTF_16LE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

/** Tests hostile requests: each is rejected with a message, without leaks. */
@ExtendWith(OutputCaptureExtension.class)
class HostileTest extends RestTest {

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          {"dtype": "f32", "shape": [1000000000], "data": [1]} | invalid-tensor | data | f32[1000000000] needs 1000000000 numbers, got 1
          {"dtype": "f32", "shape": [1000000000], "base64": "AAAA"} | invalid-tensor | base64 | f32[1000000000] needs 4000000000 bytes of data, got 3
          {"dtype": "f32", "shape": [-1], "data": [1]} | invalid-tensor | shape | shape is [-1]; every extent must be at least 0
          {"dtype": "f32", "shape": [4294967296, 4294967296], "data": [1]} | invalid-tensor | shape | shape is [4294967296, 4294967296], which exceeds 2^63 bytes
          {"dtype": "f64", "shape": [4611686018427387904, 2], "data": [1]} | invalid-tensor | shape | shape is [4611686018427387904, 2], which exceeds 2^63 bytes
          {"dtype": "f32", "shape": [99999999999999999999], "data": [1]} | invalid-tensor | shape[0] | shape[0] must be an integer of at least 1, got 99999999999999999999
          {"dtype": "f32", "shape": [1.0], "data": [1]} | invalid-tensor | shape[0] | shape[0] must be an integer of at least 1, got 1.0
          {"dtype": "f32", "shape": "2,3", "data": [1]} | invalid-tensor | shape | shape must be a list of integers, got a string
          {"dtype": "f32", "shape": [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1], "data": [1]} | invalid-tensor | shape | shape has more than 16 dimensions
          {"dtype": "F32", "shape": [1], "data": [1]} | unsupported-dtype | dtype | dtype is "F32"; it must be one of f64, f32, f16, bf16, e4m3, e5m2, i64, i32, i16, i8, u8, u32, bool, q4_0, q4_1, q5_0, q8_0, q4_k, q5_k, q6_k, iq4_nl, iq4_xs, mxfp4, nf4
          {"dtype": "f32", "shape": [1], "data": [1e39]} | invalid-tensor | data[0] | data[0] is 1e39, which does not fit f32
          {"dtype": "f64", "shape": [1], "data": [1e400]} | invalid-tensor | data[0] | data[0] is 1e400, which does not fit f64
          {"dtype": "f16", "shape": [1], "data": [65520]} | invalid-tensor | data[0] | data[0] is 65520, which does not fit f16
          {"dtype": "u8", "shape": [2], "data": [255, 256]} | invalid-tensor | data[1] | data[1] is 256, which does not fit u8
          {"dtype": "i8", "shape": [2, 1], "data": [[1], [-129]]} | invalid-tensor | data[1][0] | data[1][0] is -129, which does not fit i8
          {"dtype": "i64", "shape": [1], "data": [9223372036854775808]} | invalid-tensor | data[0] | data[0] is 9223372036854775808, which does not fit i64
          {"dtype": "i32", "shape": [1], "data": [1.5]} | invalid-tensor | data[0] | data[0] is 1.5, which does not fit i32
          {"dtype": "i32", "shape": [1], "data": ["NaN"]} | invalid-tensor | data[0] | data[0] is "NaN", which does not fit i32
          {"dtype": "f32", "shape": [1], "data": ["nan"]} | invalid-tensor | data[0] | data[0] is "nan"; only "NaN", "Infinity" and "-Infinity" are strings
          {"dtype": "f32", "shape": [1], "data": [null]} | invalid-tensor | data[0] | data[0] is null, which does not fit f32
          {"dtype": "f32", "shape": [1], "data": [true]} | invalid-tensor | data[0] | data[0] is true, which does not fit f32
          {"dtype": "f32", "shape": [1], "data": [{}]} | invalid-tensor | data[0] | data[0] is an object, which does not fit f32
          {"data": [1, 256], "dtype": "u8", "shape": [2]} | invalid-tensor | data[1] | data[1] is 256, which does not fit u8
          {"dtype": "f32", "shape": [2, 2], "data": [[1, 2], [3]]} | invalid-tensor | data[1] | data is ragged: its lists of depth 2 have different lengths
          {"dtype": "f32", "shape": [2, 2], "data": [[1, 2, 3, 4]]} | invalid-tensor | data | data is nested as [1, 4], but the shape is [2, 2]
          {"dtype": "f32", "shape": [1], "data": 1} | invalid-tensor | data | data must be a list of numbers
          {"dtype": "f32", "shape": [1], "data": {}} | invalid-tensor | data | data must be a list of numbers, got an object
          {"dtype": "f32", "shape": [1], "base64": "!!!!"} | invalid-tensor | base64 | base64 is not valid base64 (RFC 4648, with padding)
          {"dtype": "bool", "shape": [1], "base64": "Ag=="} | invalid-tensor | base64 | byte 0 of a bool tensor is 2; it must be 0 or 1
          {"dtype": "f32", "shape": [1]} | invalid-tensor | | the tensor must have data, base64 or a handle, and only one of them
          {"dtype": "f32", "data": [1]} | invalid-tensor | shape | the tensor has no shape
          {"handle": "t_1", "dtype": "f32"} | invalid-tensor | | the tensor has a handle together with dtype or data; a handle allows only shape, offset and strides
          {"dtype": "f32", "shape": [1], "data": [1], "offset": 0} | invalid-tensor | | the tensor has an offset but no handle; give the elements in order
          {"dtype": "f32", "shape": [1], "data": [1], "strides": [1]} | invalid-tensor | | the tensor has strides but no handle; give the elements in order
          {"handle": "t_1"} | invalid-tensor | handle | an upload needs dtype, shape and data or base64, not the handle of a resident tensor
          {"dtype": "f32", "shape": [1], "data": [1]} {} | malformed-body | | unexpected text after the end of the JSON object
          [1] | malformed-body | | the body must be a JSON object, got a list
          """)
  void rejectsInvalidTensors(String body, String code, String field, String detail) {
    problem(json(body).post("/tensors"), 400, code, field, detail);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          {"dtype": "f32", "dtype": "f32"}          | duplicate key "dtype"
          {"dtype": "f32", "shape": [1], "data": [1 | the text ends too early
          {"dtype": "f32", "shape": [1], "data": [NaN]} | NaN is not a JSON number; write "NaN", "Infinity" or "-Infinity" as a string
          {"dtype": "f32", "shape": [1], "data": [-Infinity]} | -Infinity is not a JSON number; write "NaN", "Infinity" or "-Infinity" as a string
          {"dtype": "f32" /* hi */}                 | unexpected character /; JSON has no comments
          {"dtype": "f32", "shape": [1], "data": [01]} | a number must not have leading zeros
          {"dtype": "f32", "shape": [1], "data": [+1]} | unexpected character +; numbers must not have a plus sign
          {"dtype": "f32", "shape": [1], "data": [1.]} | unexpected character ]
          {"dtype": nil}                            | unexpected token nil
          {"dtype" "f32"}                           | unexpected character "
          {"dtype": "\\q"}                            | a string has an unknown escape
          {"dtype": "	"}                            | a control character is not escaped
          {'dtype': 1}                              | unexpected character '; strings need double quotes
          """)
  void rejectsInvalidJson(String body, String reason) {
    var detail =
        json(body).post("/tensors").then().statusCode(400).extract().<String>path("detail");
    assertThat(detail)
        .matches("the body is not valid JSON at line 1, column \\d+: .*")
        .endsWith(": " + reason);
  }

  @Test
  void rejectsUnpairedSurrogatesInNames() {
    json("{\"inputs\": {\"\\ud800\": 1}}")
        .post("/ops/identity")
        .then()
        .statusCode(400)
        .body("type", org.hamcrest.Matchers.equalTo("urn:athanor:problem:malformed-body"));
    problem(
        json("{\"steps\": [{\"op\": \"identity\", \"inputs\": {\"x\": \"x\"}, \"outputs\": {\"y\": \"\\udc00\"}}],"
                + " \"inputs\": {\"x\": {\"dtype\": \"f32\", \"shape\": [1], \"data\": [1]}}}")
            .post("/pipelines/run"),
        400,
        "invalid-attribute",
        "steps[0].outputs.y",
        "steps[0].outputs.y has the name \"?\"; a name must have 1 to 128 printable characters and must not look like a handle");
  }

  @Test
  void rejectsTextThatIsNotUtf8() {
    var body = "{\"dtype\": \"f32\", \"x\u00ff\": 1}".getBytes(ISO_8859_1);
    given()
        .contentType("application/json")
        .body(body)
        .post("/tensors")
        .then()
        .statusCode(400)
        .body("type", org.hamcrest.Matchers.equalTo("urn:athanor:problem:malformed-body"));
  }

  /**
   * Tests overlong forms of {@code x}, an unpaired surrogate, a truncated character, and UTF-16.
   */
  @ParameterizedTest
  @ValueSource(strings = {"c1b8", "e081b8", "f08081b8", "eda080", "e282", "00780000"})
  void rejectsInvalidUtf8AnywhereInTheBody(String bytes) {
    var bad = new String(HexFormat.of().parseHex(bytes), ISO_8859_1);
    for (var text :
        List.of(
            "{\"inputs\": {\"" + bad + "\": {\"handle\": \"t_1\"}}}",
            "{\"inputs\": {\"x\": {\"handle\": \"" + bad + "\"}}}",
            "{\"attributes\": {\"mode\": \"" + bad + "\"}}")) {
      given()
          .contentType("application/json")
          .body(text.getBytes(ISO_8859_1))
          .post("/ops/identity")
          .then()
          .statusCode(400)
          .body("type", org.hamcrest.Matchers.equalTo("urn:athanor:problem:malformed-body"))
          .body(
              "detail",
              org.hamcrest.Matchers.matchesPattern(
                  "the body is not UTF-8 text at byte \\d+; send JSON in UTF-8"));
    }
  }

  @Test
  void rejectsUtf16() {
    for (var charset : List.of(UTF_16BE, UTF_16LE)) {
      given()
          .contentType("application/json")
          .body("{\"dtype\": \"f32\", \"shape\": [1], \"data\": [1]}".getBytes(charset))
          .post("/tensors")
          .then()
          .statusCode(400)
          .body("type", org.hamcrest.Matchers.equalTo("urn:athanor:problem:malformed-body"));
    }
  }

  /**
   * Tests characters that reorder or hide text: bidi controls, zero-width spaces, line separators.
   */
  @ParameterizedTest
  @ValueSource(ints = {0x202E, 0x2066, 0x200F, 0x061C, 0x200B, 0xFEFF, 0x2028, 0x85})
  void rejectsInvisibleCharactersInNames(int character) {
    var name = "a" + Character.toString(character) + "b";
    for (var parameter : List.of("name", "scope")) {
      problem(
          json("{\"dtype\": \"f32\", \"shape\": [1], \"data\": [1]}")
              .queryParam(parameter, name)
              .post("/tensors"),
          400,
          "invalid-attribute",
          parameter,
          parameter + " is \"a?b\"; it must have 1 to 128 printable characters");
    }
    problem(
        given().queryParam("scope", name).get("/tensors"),
        400,
        "invalid-attribute",
        "scope",
        "scope is \"a?b\"; it must have 1 to 128 printable characters");
    problem(
        json("{\"steps\": [{\"op\": \"identity\", \"inputs\": {\"x\": \"x\"}, \"outputs\": {\"y\": \""
                + name
                + "\"}}],"
                + " \"inputs\": {\"x\": {\"dtype\": \"f32\", \"shape\": [1], \"data\": [1]}}}")
            .post("/pipelines/run"),
        400,
        "invalid-attribute",
        "steps[0].outputs.y",
        "steps[0].outputs.y has the name \"a?b\"; a name must have 1 to 128 printable characters and must not look like a handle");
  }

  @Test
  void acceptsNamesInAnyScriptAndCountsCharacters() {
    var name = "\u0646\u0627\u0645 \u200c" + "\ud83d\ude00".repeat(120);
    json("{\"dtype\": \"f32\", \"shape\": [1], \"data\": [1]}")
        .queryParam("name", name)
        .post("/tensors")
        .then()
        .statusCode(201)
        .body("name", org.hamcrest.Matchers.equalTo(name));
  }

  /** {@code Long.parseLong} accepts a plus sign and the digits of every script. */
  @ParameterizedTest
  @ValueSource(strings = {"+1", "\u0661", "\uff11", "1_0", "0x1", "1.0", "1e0", "\u20031"})
  void integersAreAsciiDigits(String number) {
    problem(
        given()
            .contentType("application/octet-stream")
            .body(new byte[4])
            .queryParam("shape", number)
            .post("/tensors?dtype=f32"),
        400,
        "invalid-tensor",
        "shape",
        "shape is \"" + number + "\"; it must be comma-separated extents, such as 2,3");
    problem(
        given().queryParam("limit", number).get("/tensors"),
        400,
        "invalid-attribute",
        "limit",
        "limit is \"" + number + "\"; it must be an integer 1 to 1000");
    if (number.chars().allMatch(c -> c < 0x80)) {
      problem(
          given().header("X-Deadline-Ms", number).get("/tensors/" + tensor(1) + "/data"),
          400,
          "invalid-attribute",
          "X-Deadline-Ms",
          "X-Deadline-Ms is \"" + number + "\"; it must be an integer of at least 1");
    }
  }

  @Test
  void rejectsManyKeysAtTheFirst() {
    var keys = new StringBuilder("{\"inputs\": {");
    for (int i = 0; i < 100_000; i++) {
      keys.append("\"k").append(i).append("\": 1, ");
    }
    problem(
        json(keys + "\"x\": 1}}").post("/ops/identity"),
        400,
        "unknown-field",
        "inputs.k0",
        "inputs.k0 is unknown; known keys are x");
  }

  @Test
  void limitsNesting() {
    var deep = "[".repeat(100_000);
    problem(
        json("{\"dtype\": \"f32\", \"shape\": [1], \"data\": " + deep).post("/tensors"),
        400,
        "invalid-tensor",
        "data",
        "data is nested deeper than 16 lists");
    problem(
        json("{\"data\": " + deep).post("/tensors"),
        400,
        "invalid-tensor",
        "data",
        "data is nested deeper than 16 lists");
  }

  /** Error messages quote at most a line of too long values. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "{\"dtype\": \"f64\", \"shape\": [1], \"data\": [LONG]}",
        "{\"dtype\": \"i64\", \"shape\": [1], \"data\": [-LONG]}",
        "{\"dtype\": \"f64\", \"shape\": [1], \"data\": [1e-LONG]}",
        "{\"dtype\": \"f64\", \"shape\": [LONG], \"data\": [1]}",
        "{\"dtype\": \"LONG\", \"shape\": [1], \"data\": [1]}",
        "{\"dtype\": \"f64\", \"shape\": [1], \"data\": [\"LONG\"]}",
        "{\"LONG\": 1}",
        "{\"handle\": \"LONG\"}"
      })
  void shortensQuotedValues(String body) {
    for (int length : new int[] {1100, 100_000}) {
      var detail =
          json(body.replace("LONG", "9".repeat(length)))
              .post("/tensors")
              .then()
              .statusCode(400)
              .extract()
              .<String>path("detail");
      assertThat(detail).hasSizeLessThan(400);
    }
  }

  @Test
  void ignoresManyRanges() {
    var handle = tensor(1, 2, 3, 4);
    var ranges = new StringBuilder("bytes=0-");
    for (int i = 0; i < 1000; i++) {
      ranges.append(",5-").append(i % 10);
    }
    var all =
        given()
            .header("Range", ranges.toString())
            .accept("application/octet-stream")
            .get("/tensors/" + handle + "/data")
            .then()
            .statusCode(200)
            .extract()
            .asByteArray();
    assertThat(all).hasSize(16);
  }

  @Test
  void checksTheShapeInTheQuery() {
    problem(
        given()
            .contentType("application/octet-stream")
            .body(new byte[4])
            .post("/tensors?dtype=f32&shape=1000000000"),
        400,
        "invalid-tensor",
        "body",
        "f32[1000000000] needs 4000000000 bytes of data, got 4");
    problem(
        given()
            .contentType("application/octet-stream")
            .body(new byte[4])
            .post("/tensors?dtype=f32&shape=1,,2"),
        400,
        "invalid-tensor",
        "shape",
        "shape is \"1,,2\"; it must be comma-separated extents, such as 2,3");
    problem(
        given()
            .contentType("application/octet-stream")
            .body(new byte[4])
            .post("/tensors?dtype=f32"),
        400,
        "invalid-tensor",
        "shape",
        "application/octet-stream needs ?dtype=f32&shape=2,3; shape is missing");
    problem(
        given()
            .contentType("application/octet-stream")
            .body(new byte[1])
            .post("/tensors?dtype=u8&shape=1&name=a&name=b"),
        400,
        "invalid-attribute",
        "name",
        "the query parameter name is given 2 times; give it once");
  }

  @Test
  void rejectsTooLargeBodiesBeforeReading() throws IOException {
    // only the headers are sent
    var answer = raw(head("POST /tensors HTTP/1.1", JSON, "Content-Length: 99999999999"));
    assertThat(answer)
        .startsWith("HTTP/1.1 413 ")
        .contains("urn:athanor:problem:too-large")
        .contains("the body has 99999999999 bytes; the limit is 33554432 bytes");
  }

  @Test
  void rejectsTooLargeBodiesWithoutALength() throws IOException {
    var chunk = "8000\r\n" + " ".repeat(0x8000) + "\r\n";
    var answer =
        raw(
            head("POST /tensors HTTP/1.1", JSON, "Transfer-Encoding: chunked")
                + chunk.repeat(1025));
    assertThat(answer)
        .startsWith("HTTP/1.1 413 ")
        .contains("the body has more bytes; the limit is 33554432 bytes");
  }

  @ParameterizedTest
  @CsvSource({
    "'GET /tensors/..%2f..%2fetc HTTP/1.1', 400",
    "'GET /tensors/\\..\\x HTTP/1.1', 400",
    "'GET /nothing HTTP/1.1', 404",
    "'GET /error HTTP/1.1', 404",
    "'POST /livez2 HTTP/1.1', 404",
    "'PATCH /ops HTTP/1.1', 405",
    "'GET /ops/%00 HTTP/1.1', 400",
    "'GET /ops?%zz=%zz HTTP/1.1', 400",
    "'GET //ops HTTP/1.1', 400",
    "'GET /ops;x=1 HTTP/1.1', 400"
  })
  void reportsErrorsOfTheContainerAsProblems(String line, int status) throws IOException {
    var answer = raw(head(line));
    assertThat(answer)
        .startsWith("HTTP/1.1 " + status + " ")
        .contains("Content-Type: application/problem+json", "urn:athanor:problem:", "\"error\":")
        .doesNotContain("Exception", "Tomcat", "<html");
  }

  @Test
  void limitsHeaders() throws IOException {
    var answer = raw(head("GET /ops HTTP/1.1", "X-Long: " + "a".repeat(20_000)));
    assertThat(answer).startsWith("HTTP/1.1 400 ").contains("urn:athanor:problem:");
    var both =
        raw(head("POST /tensors HTTP/1.1", JSON, "Content-Length: 5", "Content-Length: 6") + "{}");
    assertThat(both).startsWith("HTTP/1.1 400 ");
  }

  @Test
  void clientTextCannotForgeHeadersOrEscapes() {
    problem(
        given().urlEncodingEnabled(false).get("/ops/a%0d%0aX-Evil:%201"),
        400,
        "malformed-body",
        null,
        "the request is malformed");
    problem(
        given().urlEncodingEnabled(false).get("/ops/a%07%1b%5b31m"),
        404,
        "unknown-op",
        null,
        "Unknown op \"a??[31m\". GET /ops lists all ops.");
  }

  @Test
  void logTextCannotForgeEntriesOrEscapes(CapturedOutput output) {
    var forged = "2026-01-01T00:00:00.000Z ERROR x : forged";
    LoggerFactory.getLogger("probe")
        .error(
            "one {}",
            "two\r\n" + forged + "\u001b[31m\u0085\u2028\u202e",
            new IllegalStateException(
                "three\n" + forged + "\u001b]0;", new RuntimeException("four\r" + forged)));
    var lines = output.getOut().lines().filter(line -> !line.startsWith("\tat ")).toList();
    assertThat(lines)
        .filteredOn(line -> line.contains("forged"))
        .hasSize(3)
        .noneMatch(line -> line.startsWith("2026-01-01"))
        .anyMatch(line -> line.endsWith(": one two??" + forged + "?[31m???"))
        .anyMatch(line -> line.endsWith("IllegalStateException: three " + forged + "?]0;"))
        .anyMatch(line -> line.endsWith("RuntimeException: four " + forged));
  }

  @ParameterizedTest
  @ValueSource(strings = {"multipart/form-data; boundary=x", "application/x-www-form-urlencoded"})
  void rejectsFormsWithoutReadingThem(String type) throws IOException {
    // there would be no response if the service waited for the body
    for (var line : List.of("POST /tensors", "POST /ops/identity", "PATCH /tensors/x")) {
      assertThat(
              raw(head(line + " HTTP/1.1", "Content-Type: " + type, "Content-Length: 100000000")))
          .as(line)
          .startsWith("HTTP/1.1 415 ");
    }
  }

  @Test
  void acceptsManyTinyChunks() throws IOException {
    var answer =
        raw(
            head("POST /tensors HTTP/1.1", JSON, "Transfer-Encoding: chunked")
                + "1\r\n \r\n".repeat(200_000)
                + "0\r\n\r\n");
    assertThat(answer).startsWith("HTTP/1.1 400 ").contains("urn:athanor:problem:malformed-body");
  }

  /** Each header alone would be valid. */
  @ParameterizedTest
  @CsvSource({
    "GET /livez HTTP/1.1, Content-Length: 5, Transfer-Encoding: chunked",
    "GET /livez HTTP/1.1, Transfer-Encoding: chunked, Content-Length: 5",
    "POST /livez HTTP/1.1, Transfer-Encoding: chunked, Content-Length: 0",
    "GET /livez HTTP/1.0, Transfer-Encoding: chunked, Connection: keep-alive"
  })
  void rejectsALengthTogetherWithChunks(String line, String one, String other) throws IOException {
    var answer =
        raw(
            String.join("\r\n", line, "Host: localhost", one, other)
                + "\r\n\r\n0\r\n\r\nGET /tensors HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assertThat(answer)
        .startsWith("HTTP/1.1 400 ")
        .containsOnlyOnce("HTTP/1.1 ")
        .contains("Connection: close", "urn:athanor:problem:malformed-body");
  }

  /** Stack traces of client errors would fill disks. */
  @Test
  void doesNotLogClientErrors(CapturedOutput output) throws IOException {
    var chunked = head("POST /ops/identity HTTP/1.1", JSON, "Transfer-Encoding: chunked");
    assertThat(raw(head("GET /livez HTTP/1.1", "Transfer-Encoding: chunked") + "zz\r\n"))
        .startsWith("HTTP/1.1 400 ")
        .contains("urn:athanor:problem:malformed-body");
    assertThat(raw(chunked + "zz\r\n{}")).startsWith("HTTP/1.1 400 ");
    assertThat(raw(chunked + "5\r\n{\"inp")).startsWith("HTTP/1.1 400 ");
    assertThat(raw(head("POST /ops/nothing HTTP/1.1", JSON, "Content-Length: 9") + "{"))
        .startsWith("HTTP/1.1 404 ");
    assertThat(raw(chunked.replace("identity", "nothing") + "zz\r\n{}"))
        .startsWith("HTTP/1.1 404 ");
    assertThat(raw("GET / HTTP/1.1\r\nno header\r\n\r\n")).startsWith("HTTP/1.1 400 ");
    assertThat(raw(head("GET /nowhere HTTP/1.1", "X: x"))).startsWith("HTTP/1.1 404 ");
    var bytes = "Content-Type: application/octet-stream";
    assertThat(
            raw(
                head("POST /tensors?dtype=u8&shape=4 HTTP/1.1", bytes, "Content-Length: 64")
                    + "a".repeat(64)))
        .startsWith("HTTP/1.1 400 ");
    var handle = tensor(new float[1 << 20]);
    for (var line :
        List.of(
            "GET /tensors/" + handle + "/data HTTP/1.1",
            "PUT /tensors/" + handle + "/data HTTP/1.1",
            "POST /tensors HTTP/1.1",
            "POST /ops/identity HTTP/1.1",
            "POST /v2/models/identity/infer HTTP/1.1",
            "GET /livez HTTP/1.1")) {
      sendAndReset(
          head(line, line.startsWith("GET") ? "X: x" : JSON + "\r\nContent-Length: 4000") + "{");
    }
    given().get("/livez").then().statusCode(200);
    given().delete("/tensors/" + handle).then().statusCode(204);
    await()
        .during(Duration.ofMillis(200))
        .untilAsserted(() -> assertThat(output.getAll()).doesNotContain("\tat ", "ERROR", "WARN"));
  }

  /** Sends a request and resets the connection. */
  private void sendAndReset(String request) throws IOException {
    try (var socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      socket.getOutputStream().write(request.getBytes(ISO_8859_1));
      socket.setSoLinger(true, 0);
    }
  }

  private static final String JSON = "Content-Type: application/json";

  private static String head(String line, String... headers) {
    return String.join(
            "\r\n", line, "Host: localhost", "Connection: close", String.join("\r\n", headers))
        + (headers.length == 0 ? "\r\n" : "\r\n\r\n");
  }

  private String raw(String request) throws IOException {
    try (var socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      var out = socket.getOutputStream();
      try {
        out.write(request.getBytes(ISO_8859_1));
        out.flush();
        socket.shutdownOutput();
      } catch (IOException e) {
        assertThat(e)
            .as("the server closed before all was sent")
            .hasMessageMatching(".*(pipe|reset).*");
      }
      return new String(socket.getInputStream().readAllBytes(), ISO_8859_1);
    }
  }
}
