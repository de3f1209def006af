package dev.athanor.service.rest;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.hamcrest.Matchers.equalTo;
import static org.hamcrest.Matchers.notNullValue;
import static org.hamcrest.Matchers.nullValue;
import static org.hamcrest.Matchers.startsWith;

import dev.athanor.api.v1.DescribeRequest;
import dev.athanor.api.v1.TensorsGrpc;
import dev.athanor.service.security.ApiKey;
import dev.athanor.service.security.Callers;
import dev.athanor.service.security.Scope;
import dev.athanor.service.tensor.Tenant;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.MetadataUtils;
import io.restassured.response.Response;
import io.restassured.specification.RequestSpecification;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.boot.test.web.server.LocalManagementPort;
import org.springframework.grpc.server.lifecycle.GrpcServerLifecycle;
import org.springframework.test.context.DynamicPropertyRegistry;
import org.springframework.test.context.DynamicPropertySource;
import org.springframework.test.context.TestPropertySource;

/** Tests the mode api-key: authentication, authorization, and the isolation of tenants. */
@TestPropertySource(
    properties = {
      "athanor.security.mode=api-key",
      "athanor.quota.tenants.dave.max-bytes=65536",
      "athanor.quota.tenants.dave.max-count=3",
      "athanor.security.api-keys.refresh=PT1H", // tests call refresh()
      "management.server.port=0"
    })
@ExtendWith(OutputCaptureExtension.class)
class ApiKeyTest extends RestTest {

  private static final SecureRandom RANDOM = new SecureRandom();
  private static final ApiKey.NewKey ALICE = key("alice", "ops:run,tensors:read,tensors:write");
  private static final ApiKey.NewKey BOB = key("bob", "ops:run,tensors:read,tensors:write");
  private static final ApiKey.NewKey DAVE = key("dave", "tensors:write");
  private static final ApiKey.NewKey URGENT = key("alice", "ops:run,priority");
  private static final ApiKey.NewKey SCRAPER = key("bob", "metrics");
  private static final ApiKey.NewKey READER = key("alice", "tensors:read");
  private static final ApiKey.NewKey ADMIN = key("carol", "admin");

  private static final String X = "{\"dtype\": \"f32\", \"shape\": [2], \"data\": [1, 2]}";

  /** A handle that never existed. */
  private static final String MADE_UP = "t_0123456789abcdef0123456789abcdef_test";

  @TempDir private static Path folder;
  private static Path file = Path.of("");
  @LocalManagementPort private int managementPort;
  @Autowired private Callers callers;
  @Autowired private GrpcServerLifecycle grpc;

  private static ApiKey.NewKey key(String tenant, String scopes) {
    return ApiKey.create(new Tenant(tenant), Scope.list(scopes), RANDOM);
  }

  @DynamicPropertySource
  static void keys(DynamicPropertyRegistry properties) throws IOException {
    file = folder.resolve("keys");
    write(ALICE, BOB, DAVE, URGENT, SCRAPER, READER, ADMIN);
    properties.add("athanor.security.api-keys.file", file::toString);
  }

  private static void write(ApiKey.NewKey... keys) throws IOException {
    Files.write(file, List.of(keys).stream().map(ApiKey.NewKey::line).toList());
  }

  private RequestSpecification as(ApiKey.NewKey caller) {
    return given().header("X-API-Key", caller.key());
  }

  private RequestSpecification as(ApiKey.NewKey caller, String body) {
    return as(caller).contentType("application/json").body(body.getBytes(ISO_8859_1));
  }

  private String tensor(ApiKey.NewKey caller, String query) {
    return as(caller, X).post("/tensors" + query).then().statusCode(201).extract().path("handle");
  }

  @ParameterizedTest
  @CsvSource({
    "GET, /ops",
    "GET, /ops/identity",
    "GET, /ops/nothing",
    "POST, /ops/identity",
    "POST, /ops/nothing",
    "GET, /tensors",
    "POST, /tensors",
    "DELETE, /tensors?scope=a",
    "GET, /tensors/" + MADE_UP,
    "GET, /tensors/" + MADE_UP + "/data",
    "PATCH, /ops",
    "PUT, /tensors/" + MADE_UP + "/data",
    "DELETE, /tensors/" + MADE_UP,
    "GET, /openapi.yaml",
    "GET, /nothing",
    "OPTIONS, /ops",
    "GET, /error",
    "GET, /invocations",
    "GET, /ping"
  })
  void rejectsAllRequestsWithoutAKeyAlike(String method, String path) {
    problem(
            given().contentType("application/json").body("{}").request(method, path),
            401,
            "unauthenticated",
            null,
            "API key required; send it as Authorization: Bearer … or X-API-Key")
        .header("WWW-Authenticate", "Bearer realm=\"athanor\"")
        .header("X-Content-Type-Options", "nosniff")
        .header("Set-Cookie", nullValue());
  }

  @ParameterizedTest
  @ValueSource(strings = {"/livez", "/readyz"})
  void probesNeedNoKey(String path) {
    given().get(path).then().statusCode(200);
    given().header("X-API-Key", "wrong").get(path).then().statusCode(200);
  }

  @Test
  void acceptsTheKeyInEitherHeader() {
    as(ALICE).get("/ops").then().statusCode(200).header("Set-Cookie", nullValue());
    given().header("Authorization", "Bearer " + ALICE.key()).get("/ops").then().statusCode(200);
    given().header("Authorization", "bearer " + ALICE.key()).get("/ops").then().statusCode(200);
  }

  private void expectUnauthenticated(RequestSpecification request, String detail) {
    problem(request.get("/ops"), 401, "unauthenticated", null, detail)
        .header("WWW-Authenticate", "Bearer realm=\"athanor\", error=\"invalid_token\"");
  }

  @Test
  void rejectsWrongKeys() {
    var unknown = "Unknown API key.";
    var own = ALICE.key();
    expectUnauthenticated(given().header("X-API-Key", "x"), unknown);
    expectUnauthenticated(given().header("X-API-Key", own + "x"), unknown);
    expectUnauthenticated(given().header("X-API-Key", own.substring(0, own.length() - 1)), unknown);
    expectUnauthenticated(
        given().header("X-API-Key", own.toUpperCase(java.util.Locale.ROOT)), unknown);
    // the name of one key and the secret of another
    expectUnauthenticated(
        given().header("X-API-Key", own.substring(0, 13) + BOB.key().substring(13)), unknown);
    expectUnauthenticated(given().header("X-API-Key", key("alice", "admin").key()), unknown);
    // the hash in the file is not a key
    expectUnauthenticated(
        given().header("X-API-Key", ALICE.line().replaceAll(".*sha256:", "")), unknown);
    var form = "Authorization must be given once, as Bearer followed by a token";
    expectUnauthenticated(given().header("Authorization", own), form);
    expectUnauthenticated(given().header("Authorization", "Basic " + own), form);
    expectUnauthenticated(given().header("Authorization", "Bearer " + own + " x"), form);
    var one = "give one API key, in Authorization or in X-API-Key";
    expectUnauthenticated(as(ALICE).header("Authorization", "Bearer " + own), one);
    expectUnauthenticated(as(ALICE).header("X-API-Key", BOB.key()), one);
  }

  @Test
  void rejectsKeysInTheQueryAndNeverLogsKeys(CapturedOutput output) throws IOException {
    given().get("/ops?api_key=" + ALICE.key()).then().statusCode(401);
    as(ALICE)
        .get("/ops?api_key=" + ALICE.key())
        .then()
        .statusCode(400)
        .body("field", equalTo("api_key"));
    given().header("X-API-Key", ALICE.key() + "\u00e9").get("/ops").then().statusCode(401);
    for (var special : List.of("\u0001", "\"", "|", "\u00e9", " ")) {
      raw("GET /o" + special + "ps?k=" + ALICE.key() + " HTTP/1.1");
      raw("GET /ops HTTP/1.1", "X-API" + special + "-Key: " + ALICE.key());
      raw("GET /ops HTTP/1.1", "X-API-Key: " + ALICE.key() + special);
      raw("GET /ops HTTP/1.1", "Cookie: a=" + special + ALICE.key());
      raw("GET /ops?" + ALICE.key() + "%zz=%zz HTTP/1.1", "X-API-Key: " + ALICE.key());
    }
    callers.refresh();
    assertThat(output.getAll()).doesNotContain(ALICE.key().substring(13));
  }

  @ParameterizedTest
  @CsvSource({
    "POST, /tensors, tensors:write",
    "DELETE, /tensors?scope=a, tensors:write",
    "PUT, /tensors/" + MADE_UP + "/data, tensors:write",
    "PATCH, /tensors/" + MADE_UP + ", tensors:write",
    "DELETE, /tensors/" + MADE_UP + ", tensors:write",
    "POST, /ops/identity, ops:run",
    "POST, /ops/nothing, ops:run"
  })
  void missingScopesAreForbiddenWhetherTheTargetExistsOrNot(
      String method, String path, String scope) {
    problem(
            as(READER, "{}").request(method, path),
            403,
            "forbidden",
            null,
            "This request needs the scope %s; the API key has tensors:read.".formatted(scope))
        .header(
            "WWW-Authenticate",
            "Bearer realm=\"athanor\", error=\"insufficient_scope\", scope=\"%s\""
                .formatted(scope));
  }

  @Test
  void higherPrioritiesNeedTheScope() {
    var inputs = "{\"inputs\": {\"x\": " + X + "}}";
    for (var priority : List.of("1", "2")) {
      problem(
          as(ALICE, inputs).header("X-Priority", priority).post("/ops/identity"),
          403,
          "forbidden",
          "X-Priority",
          "X-Priority is %s; a priority higher than 3 requires the scope \"priority\", which the caller lacks"
              .formatted(priority));
      as(URGENT, inputs)
          .header("X-Priority", priority)
          .post("/ops/identity")
          .then()
          .statusCode(200);
      as(ADMIN, inputs).header("X-Priority", priority).post("/ops/identity").then().statusCode(200);
    }
    for (var priority : List.of("3", "4", "5")) {
      as(ALICE, inputs).header("X-Priority", priority).post("/ops/identity").then().statusCode(200);
    }
    problem(
        as(ALICE, "{\"inputs\": [], \"parameters\": {\"priority\": 1}}")
            .post("/v2/models/identity/infer"),
        403,
        "forbidden",
        "parameters.priority",
        "parameters.priority is 1; a priority higher than 3 requires the scope \"priority\", which the caller lacks");
  }

  @Test
  void openApiDocumentHasTheSchemesOfTheMode() {
    var document = new OpenApi(as(ALICE).get("/openapi.yaml").then().extract().asString());
    var components = OpenApi.map(document.root().get("components"));
    assertThat(OpenApi.map(components.get("securitySchemes")).keySet())
        .isEqualTo(Set.of("bearer", "apiKey"));
    assertThat(document.root().get("security"))
        .isEqualTo(List.of(Map.of("bearer", List.of()), Map.of("apiKey", List.of())));
  }

  /** Dave has separate quotas. */
  @Test
  void quotasDifferByTenant() {
    var body = new byte[80_000];
    assertThat(raw(ALICE, body).statusCode()).isEqualTo(201);
    problem(
        raw(DAVE, body),
        429,
        "quota-exceeded",
        null,
        "Quota exceeded by a tensor of 80000 bytes: 0 of 65536 bytes and 0 of 3 tensors are in use. Delete tensors or let their leases end.");
  }

  private Response raw(ApiKey.NewKey caller, byte[] body) {
    return as(caller)
        .contentType("application/octet-stream")
        .body(body)
        .post("/tensors?dtype=f32&shape=20000");
  }

  @Test
  void grantedScopesAllowRequests() {
    as(READER).get("/tensors").then().statusCode(200);
    as(READER).head("/tensors/" + tensor(ALICE, "")).then().statusCode(200);
    as(SCRAPER).get("/tensors").then().statusCode(403);
    as(SCRAPER).get("/ops").then().statusCode(200);
    tensor(ADMIN, "");
    as(ADMIN).get("/tensors").then().statusCode(200);
  }

  /** Checks that Bob's response for the handle equals the one for a handle that never existed. */
  private void sameAsUnknown(String handle, String method, String path, String body) {
    var real = bob(handle, method, path, body);
    assertThat(real.statusCode()).isEqualTo(404);
    same(real, bob(MADE_UP, method, path, body), handle);
  }

  private Response bob(String handle, String method, String path, String body) {
    return as(BOB, body.replace("HANDLE", handle)).request(method, path.replace("HANDLE", handle));
  }

  private static void same(Response real, Response unknown, String own) {
    assertThat(real.statusCode()).isEqualTo(unknown.statusCode());
    assertThat(untraced(real).replace(own, MADE_UP)).isEqualTo(untraced(unknown));
    assertThat(headers(real)).isEqualTo(headers(unknown));
  }

  /** Removes the trace ID, which differs for each request. */
  private static String untraced(Response response) {
    return response.asString().replaceFirst(",\"traceId\":\"[0-9a-f]{32}\"", "");
  }

  private static List<String> headers(Response response) {
    return response.headers().asList().stream()
        .filter(header -> !header.getName().matches("Date|traceresponse"))
        .map(Object::toString)
        .toList();
  }

  @Test
  void handlesOfOtherTenantsAreUnknown() {
    var live = tensor(ALICE, "?scope=job&name=n");
    var deleted = tensor(ALICE, "");
    as(ALICE).delete("/tensors/" + deleted).then().statusCode(204);
    var expired = tensor(ALICE, "?ttlSeconds=5");
    clock.advance(Duration.ofSeconds(6));
    as(ALICE).get("/tensors/" + expired).then().statusCode(410);
    for (var handle : List.of(live, deleted, expired)) {
      sameAsUnknown(handle, "GET", "/tensors/HANDLE", "");
      sameAsUnknown(handle, "HEAD", "/tensors/HANDLE", "");
      sameAsUnknown(handle, "GET", "/tensors/HANDLE/data", "");
      sameAsUnknown(handle, "HEAD", "/tensors/HANDLE/data", "");
      sameAsUnknown(handle, "DELETE", "/tensors/HANDLE", "");
      sameAsUnknown(handle, "PUT", "/tensors/HANDLE/data", X);
      sameAsUnknown(handle, "PATCH", "/tensors/HANDLE", "{\"ttlSeconds\": 1}");
      sameAsUnknown(handle, "GET", "/tensors?after=HANDLE", "");
      sameAsUnknown(
          handle, "POST", "/ops/identity", "{\"inputs\": {\"x\": {\"handle\": \"HANDLE\"}}}");
      sameAsUnknown(
          handle,
          "POST",
          "/ops/identity",
          "{\"inputs\": {\"x\": " + X + "}, \"outputs\": {\"y\": {\"into\": \"HANDLE\"}}}");
    }
    as(BOB).delete("/tensors?scope=job").then().statusCode(204);
    as(BOB).get("/tensors?scope=job").then().body("tensors", equalTo(List.of()));
    as(ALICE).get("/tensors/" + live).then().statusCode(200).body("version", equalTo(1));
    as(READER).get("/tensors/" + live).then().statusCode(200);
  }

  @Test
  void idempotencyKeysBelongToTenants() {
    var mine = as(ALICE, X).header("Idempotency-Key", "same").post("/tensors");
    var theirs =
        as(BOB, X.replace("2]}", "3]}")).header("Idempotency-Key", "same").post("/tensors");
    assertThat(mine.statusCode()).isEqualTo(201);
    assertThat(theirs.statusCode()).isEqualTo(201);
    String handle = mine.path("handle");
    assertThat(theirs.<String>path("handle")).isNotEqualTo(handle);
    var again = as(ALICE, X).header("Idempotency-Key", "same").post("/tensors");
    assertThat(again.<String>path("handle")).isEqualTo(handle);
  }

  /** Returns the gRPC status of describing a handle, with metadata. */
  private Status.Code describe(String handle, String... header) {
    var metadata = new Metadata();
    for (int i = 0; i < header.length; i += 2) {
      metadata.put(Metadata.Key.of(header[i], Metadata.ASCII_STRING_MARSHALLER), header[i + 1]);
    }
    var channel =
        Grpc.newChannelBuilderForAddress(
                "127.0.0.1", grpc.getPort(), InsecureChannelCredentials.create())
            .intercept(MetadataUtils.newAttachHeadersInterceptor(metadata))
            .build();
    try {
      TensorsGrpc.newBlockingStub(channel)
          .describe(DescribeRequest.newBuilder().setHandle(handle).build());
      return Status.Code.OK;
    } catch (StatusRuntimeException e) {
      return e.getStatus().getCode();
    } finally {
      channel.shutdownNow();
    }
  }

  @Test
  void grpcUsesTheSameKeysAndIsolation() {
    var handle = tensor(ALICE, "");
    assertThat(describe(handle, "x-api-key", ALICE.key())).isEqualTo(Status.Code.OK);
    assertThat(describe(handle, "authorization", "Bearer " + READER.key()))
        .isEqualTo(Status.Code.OK);
    assertThat(describe(handle, "x-api-key", BOB.key())).isEqualTo(Status.Code.NOT_FOUND);
    assertThat(describe(handle, "x-api-key", SCRAPER.key()))
        .isEqualTo(Status.Code.PERMISSION_DENIED);
    assertThat(describe(handle)).isEqualTo(Status.Code.UNAUTHENTICATED);
    assertThat(describe(handle, "x-api-key", ALICE.key() + "x"))
        .isEqualTo(Status.Code.UNAUTHENTICATED);
  }

  private static int status(int port, String path, ApiKey.NewKey... caller) {
    var request = io.restassured.RestAssured.given().baseUri("http://127.0.0.1").port(port);
    for (var each : caller) {
      request.header("X-API-Key", each.key());
    }
    return request.get(path).statusCode();
  }

  @Test
  void managementPortHasItsOwnRules() {
    for (var path : List.of("/actuator/prometheus", "/actuator/info", "/actuator/health")) {
      assertThat(status(managementPort, path)).as(path).isEqualTo(401);
      assertThat(status(managementPort, path, ALICE)).as(path).isEqualTo(403);
      assertThat(status(managementPort, path, SCRAPER)).as(path).isEqualTo(200);
      assertThat(status(port, path, SCRAPER)).as(path).isEqualTo(404);
    }
    assertThat(status(managementPort, "/actuator/health/liveness")).isEqualTo(200);
    // it listens on the address of REST, and not on all addresses
    assertThatThrownBy(() -> new Socket("127.0.0.2", managementPort).close())
        .isInstanceOf(IOException.class);
    for (var path : List.of("/actuator/env", "/actuator/heapdump", "/actuator", "/ops")) {
      assertThat(status(managementPort, path)).as(path).isEqualTo(401);
      assertThat(status(managementPort, path, ADMIN)).as(path).isEqualTo(404);
    }
  }

  /** The console reads them there, from its own origin. */
  @Test
  void metricsAreAlsoOnThePortOfTheApi() {
    given().get("/metrics").then().statusCode(401);
    as(ALICE).get("/metrics").then().statusCode(403);
    as(ALICE, "{\"inputs\": {\"x\": " + X + "}}").post("/ops/identity").then().statusCode(200);
    var page =
        as(SCRAPER)
            .get("/metrics")
            .then()
            .statusCode(200)
            .header("Content-Type", startsWith("text/plain;version=0.0.4"))
            .extract()
            .asString();
    assertThat(page).contains("athanor_op_seconds_bucket{").contains("jvm_memory_used_bytes{");
    problem(
        as(SCRAPER).get("/metrics?name=x"),
        400,
        "unknown-field",
        "name",
        "Unknown query parameter \"name\"; this path has none");
  }

  /** The scope metrics covers all tenants, but messages may quote requests. */
  @Test
  void hidesMessagesOfOtherTenants() {
    as(ALICE).get("/recent").then().statusCode(403);
    as(BOB, "{\"inputs\": {}}").post("/ops/identity").then().statusCode(400);
    as(ALICE, "{\"inputs\": {}}").post("/ops/identity").then().statusCode(400);
    as(SCRAPER)
        .get("/recent")
        .then()
        .statusCode(200)
        .body("failures[0].code", equalTo("missing-input"))
        .body("failures[0].detail", nullValue())
        .body("failures[0].traceId", nullValue())
        .body("failures[1].code", equalTo("missing-input"))
        .body("failures[1].detail", startsWith("input \"x\""))
        .body("failures[1].traceId", notNullValue());
  }

  @Test
  void reloadsTheFileOfKeysUnlessItIsInvalid() throws IOException {
    var late = key("alice", "tensors:read");
    try {
      as(late).get("/ops").then().statusCode(401);
      write(ALICE, late);
      callers.refresh();
      as(late).get("/ops").then().statusCode(200);
      as(BOB).get("/ops").then().statusCode(401);
      Files.writeString(file, late.line() + "\nbroken " + BOB.line());
      callers.refresh();
      as(ALICE).get("/ops").then().statusCode(200);
      as(BOB).get("/ops").then().statusCode(401);
    } finally {
      write(ALICE, BOB, DAVE, URGENT, SCRAPER, READER, ADMIN);
      callers.refresh();
    }
    as(BOB).get("/ops").then().statusCode(200);
    as(late).get("/ops").then().statusCode(401);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "GET //ops",
        "GET /./ops",
        "GET /livez/../ops",
        "GET /livez/..;/ops",
        "GET /livez;/../ops",
        "GET /ops;jsessionid=1",
        "GET /ops/",
        "GET /OPS",
        "GET /%6fps",
        "GET /%2e/ops",
        "GET /livez%2f..%2fops",
        "GET /livez/%2e%2e/ops",
        "GET /livez%00/ops",
        "GET /livez/ops",
        "GET /ops%20",
        "GET /ops.json",
        "GET /livez%3f/ops",
        "GET /livez/..%5cops",
        "HEAD /ops",
        "OPTIONS /ops",
        "TRACE /ops",
        "CONNECT /ops",
        "GETS /ops",
        "get /ops",
        "GET http://127.0.0.1/ops",
        "GET /actuator/../ops",
        "POST /livez",
        "GET /readyz/tensors"
      })
  void malformedPathsDoNotBypassTheRules(String line) throws IOException {
    assertThat(raw(line + " HTTP/1.1"))
        .as(line)
        .matches("(?s)HTTP/1\\.1 (400|401|404|405|501) .*")
        .doesNotContain("identity", "TRACE /ops", "Exception");
  }

  @Test
  void doesNotReadBodiesOfUnauthenticatedCallers() throws IOException {
    for (var type : List.of("application/json", "application/x-www-form-urlencoded")) {
      for (var line :
          List.of("POST /tensors", "PUT /tensors/" + MADE_UP + "/data", "DELETE /tensors")) {
        // there would be no response if the service waited for the body
        var answer = head(line + " HTTP/1.1", "Content-Type: " + type, "Content-Length: 100000000");
        assertThat(answer).startsWith("HTTP/1.1 401 ").contains("Connection: close");
      }
    }
  }

  private String raw(String line, String... headers) throws IOException {
    try (var socket = send(line, headers)) {
      return new String(socket.getInputStream().readAllBytes(), ISO_8859_1);
    }
  }

  /**
   * Returns the head of the response. The connection may stay open while the service discards the
   * body.
   */
  private String head(String line, String... headers) throws IOException {
    try (var socket = send(line, headers)) {
      var in = new BufferedReader(new InputStreamReader(socket.getInputStream(), ISO_8859_1));
      var head = new StringBuilder();
      for (var next = in.readLine(); next != null && !next.isEmpty(); next = in.readLine()) {
        head.append(next).append('\n');
      }
      return head.toString();
    }
  }

  private Socket send(String line, String... headers) throws IOException {
    var socket = new Socket(InetAddress.getLoopbackAddress(), port);
    var text = String.join("\r\n", headers);
    socket
        .getOutputStream()
        .write(
            "%s\r\nHost: localhost\r\nConnection: close\r\n%s\r\n"
                .formatted(line, text.isEmpty() ? "" : text + "\r\n")
                .getBytes(ISO_8859_1));
    return socket;
  }
}
