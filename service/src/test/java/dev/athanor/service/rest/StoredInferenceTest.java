package dev.athanor.service.rest;

import static dev.athanor.service.model.SmallModels.WIDTH;
import static dev.athanor.service.model.SmallModels.adding;
import static dev.athanor.service.model.SmallModels.model;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.hamcrest.Matchers.contains;
import static org.hamcrest.Matchers.equalTo;
import static org.hamcrest.Matchers.hasItem;
import static org.hamcrest.Matchers.hasItems;
import static org.hamcrest.Matchers.not;

import com.google.protobuf.ByteString;
import dev.athanor.api.inference.GRPCInferenceServiceGrpc;
import dev.athanor.api.inference.InferParameter;
import dev.athanor.api.inference.ModelConfigRequest;
import dev.athanor.api.inference.ModelInferRequest;
import dev.athanor.api.inference.ModelInferRequest.InferInputTensor;
import dev.athanor.api.inference.ModelInferRequest.InferRequestedOutputTensor;
import dev.athanor.api.inference.ModelInferResponse;
import dev.athanor.api.inference.ModelMetadataRequest;
import dev.athanor.api.inference.ModelReadyRequest;
import dev.athanor.api.inference.ModelStatisticsRequest;
import dev.athanor.api.inference.ModelStreamInferResponse;
import dev.athanor.api.inference.RepositoryIndexRequest;
import dev.athanor.service.AthanorApplication;
import dev.athanor.service.security.ApiKey;
import dev.athanor.service.security.Scope;
import dev.athanor.service.tensor.Tenant;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.AbstractStub;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.StreamObserver;
import io.restassured.RestAssured;
import io.restassured.path.json.JsonPath;
import io.restassured.response.Response;
import io.restassured.specification.RequestSpecification;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.web.server.LocalServerPort;
import org.springframework.grpc.server.lifecycle.GrpcServerLifecycle;
import org.springframework.test.context.DynamicPropertyRegistry;
import org.springframework.test.context.DynamicPropertySource;

/** Tests stored models in the Open Inference Protocol, over REST and gRPC. */
@SpringBootTest(
    classes = AthanorApplication.class,
    properties = {"athanor.device=emulator:0", "athanor.security.mode=api-key"},
    webEnvironment = SpringBootTest.WebEnvironment.RANDOM_PORT)
class StoredInferenceTest {

  private static final String HEADER = "Inference-Header-Content-Length";
  private static final ApiKey.NewKey OWNER = key("owner");
  private static final ApiKey.NewKey OTHER = key("other");
  private static final Metadata.Key<String> API_KEY =
      Metadata.Key.of("x-api-key", Metadata.ASCII_STRING_MARSHALLER);

  @TempDir private static Path folder;
  @LocalServerPort int port;
  @Autowired private GrpcServerLifecycle grpc;
  private String version = "";

  private static ApiKey.NewKey key(String tenant) {
    return ApiKey.create(
        new Tenant(tenant),
        Scope.list("ops:run,tensors:read,tensors:write,metrics"),
        new SecureRandom());
  }

  @DynamicPropertySource
  static void keys(DynamicPropertyRegistry properties) throws IOException {
    var file = folder.resolve("keys");
    Files.write(file, List.of(OWNER.line(), OTHER.line()));
    properties.add("athanor.security.api-keys.file", file::toString);
  }

  @BeforeEach
  void store() {
    int stored =
        as(OWNER)
            .contentType("application/onnx")
            .body(model(adding(1)))
            .put("/models/adder")
            .then()
            .statusCode(201)
            .extract()
            .path("version");
    version = Integer.toString(stored);
  }

  @AfterEach
  void delete() {
    as(OWNER).delete("/models/adder").then().statusCode(204);
  }

  private RequestSpecification as(ApiKey.NewKey caller) {
    return RestAssured.given().spec(OpenApiFilter.client(port)).header("X-API-Key", caller.key());
  }

  private Response infer(String json) {
    return as(OWNER).contentType("application/json").body(json).post("/v2/models/adder/infer");
  }

  /** Returns a request with one row of ones, with more members. */
  private static String ones(String members) {
    var data = IntStream.range(0, WIDTH).mapToObj(_ -> "1").collect(Collectors.joining(","));
    return "{\"inputs\": [{\"name\": \"x\", \"datatype\": \"FP32\", \"shape\": [1, %d], \"data\": [%s]}]%s}"
        .formatted(WIDTH, data, members);
  }

  private void problem(Response response, int status, String code, String message) {
    response
        .then()
        .statusCode(status)
        .body("type", equalTo("urn:athanor:problem:" + code))
        .body("detail", equalTo(message));
  }

  @Test
  void describesStoredModels() {
    as(OWNER).get("/v2/models").then().body("models", hasItems("adder", "matmul"));
    as(OWNER)
        .post("/v2/repository/index")
        .then()
        .body("find { it.name == 'adder' }.version", equalTo(version));
    for (var path : List.of("/v2/models/adder", "/v2/models/adder/versions/" + version)) {
      as(OWNER)
          .get(path)
          .then()
          .statusCode(200)
          .body("name", equalTo("adder"))
          .body("versions", contains(version))
          .body("inputs.name", contains("x"))
          .body("inputs.datatype", contains("FP32"))
          .body("inputs.shape", contains(contains(-1, WIDTH)))
          .body("outputs.name", contains("y", "t"))
          .body("outputs.shape[0]", contains(-1, WIDTH))
          .body("properties.'inputs.x.shape'", equalTo("[rows, 12]"));
      as(OWNER).get(path + "/ready").then().statusCode(200).body("ready", equalTo(true));
      as(OWNER)
          .get(path + "/config")
          .then()
          .statusCode(200)
          .body("input.data_type", contains("TYPE_FP32"))
          .body("input.dims", contains(contains(-1, WIDTH)))
          .body("output.name", contains("y", "t"));
    }
  }

  /** The order of perf_analyzer's and tritonclient's requests. */
  @Test
  void exchangesBytesAndCountsInferences() {
    var counts = as(OWNER).get("/v2/models/adder/stats").then().statusCode(200);
    counts.body("model_stats[0].version", equalTo(version));
    counts.body("model_stats[0].inference_count", equalTo(0));
    var json =
        "{\"inputs\": [{\"name\": \"x\", \"datatype\": \"FP32\", \"shape\": [1, %d], \"parameters\": {\"binary_data_size\": %d}}],"
                .formatted(WIDTH, 4 * WIDTH)
            + " \"outputs\": [{\"name\": \"y\", \"parameters\": {\"binary_data\": true}}]}";
    var body = ByteBuffer.allocate(json.length() + 4 * WIDTH).order(ByteOrder.LITTLE_ENDIAN);
    body.put(json.getBytes(UTF_8));
    for (int i = 0; i < WIDTH; i++) {
      body.putFloat(i - 3);
    }
    var response =
        as(OWNER)
            .noContentType()
            .header(HEADER, json.length())
            .body(body.array())
            .post("/v2/models/adder/versions/" + version + "/infer");
    response.then().statusCode(200);
    int header = Integer.parseInt(response.header(HEADER));
    var bytes = response.asByteArray();
    var described = JsonPath.from(new String(bytes, 0, header, UTF_8));
    assertThat(described.getString("model_name")).isEqualTo("adder");
    assertThat(described.getString("model_version")).isEqualTo(version);
    assertThat(described.getList("outputs.name")).containsExactly("y");
    var y = ByteBuffer.wrap(bytes, header, bytes.length - header).slice();
    assertThat(y.order(ByteOrder.LITTLE_ENDIAN).getFloat(4 * 5)).isEqualTo(3);
    infer("{\"inputs\": []}").then().statusCode(400);
    var stats = as(OWNER).get("/v2/models/adder/stats").then();
    stats.body("model_stats[0].inference_count", equalTo(1));
    stats.body("model_stats[0].inference_stats.fail.count", equalTo(1));
    as(OWNER).get("/v2/models/stats").then().body("model_stats.name", hasItems("adder", "matmul"));
    store();
    as(OWNER)
        .get("/v2/models/adder/stats")
        .then()
        .body("model_stats[0].version", equalTo(version))
        .body("model_stats[0].inference_count", equalTo(0));
  }

  @Test
  void acceptsAndReturnsHandles() {
    String handle =
        infer(ones(", \"outputs\": [{\"name\": \"y\", \"parameters\": {\"tensor_store\": true}}]"))
            .then()
            .statusCode(200)
            .body("outputs[0].shape", contains(1, WIDTH))
            .extract()
            .path("outputs[0].parameters.tensor_handle");
    infer(
            "{\"inputs\": [{\"name\": \"x\", \"parameters\": {\"tensor_handle\": \"%s\"}}]}"
                .formatted(handle))
        .then()
        .statusCode(200)
        .body("outputs.name", contains("y", "t"))
        .body("outputs[0].data[2]", equalTo(3f))
        .body("outputs[1].shape", contains(WIDTH, 1));
    as(OWNER).delete("/tensors/" + handle).then().statusCode(204);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "/ready", "/config", "/stats"})
  void otherTenantsHaveNoSuchModel(String of) {
    problem(
        as(OTHER).get("/v2/models/adder" + of),
        404,
        "unknown-op",
        "Unknown model \"adder\". GET /v2/models lists all models.");
    problem(
        as(OWNER).get("/v2/models/adder/versions/0" + of),
        404,
        "unknown-op",
        "adder has no version \"0\"; its only version is " + version);
  }

  @Test
  void otherTenantsNeitherListNorRunIt() {
    as(OTHER).get("/v2/models").then().body("models", not(hasItem("adder")));
    as(OTHER).get("/v2/models/stats").then().body("model_stats.name", not(hasItem("adder")));
    problem(
        as(OTHER).contentType("application/json").body(ones("")).post("/v2/models/adder/infer"),
        404,
        "unknown-op",
        "Unknown model \"adder\". GET /v2/models lists all models.");
  }

  @Test
  void refusesUnknownNamesAndParameters() {
    infer(ones(", \"parameters\": {\"timeout\": 60000000, \"sequence_id\": 3, \"priority\": 0}"))
        .then()
        .statusCode(200);
    problem(
        infer(ones(", \"parameters\": {\"alpha\": 1}")),
        400,
        "unknown-field",
        "parameters.alpha is unknown; known parameters are deadline_ms, priority, timeout");
    problem(
        infer(ones("").replace("\"x\"", "\"q\"")),
        400,
        "unknown-field",
        "inputs.q is unknown; the inputs are x");
    problem(
        infer(ones(", \"outputs\": [{\"name\": \"q\"}]")),
        400,
        "unknown-field",
        "outputs.q is unknown; the outputs are y, t");
    problem(
        infer(ones(", \"model_version\": \"0\"")),
        400,
        "invalid-attribute",
        "model_version is \"0\"; it must be \"%s\" as in the path, or absent".formatted(version));
    problem(
        infer("{\"inputs\": []}"),
        400,
        "shape-mismatch",
        "the inputs of the model are [x f32[rows, 12]], got []");
  }

  @Test
  void countsRequestsAsPipelines() {
    infer(ones("")).then().statusCode(200);
    assertThat(as(OWNER).get("/actuator/prometheus").asString())
        .contains("op=\"pipeline\"")
        .doesNotContain("\"adder\"");
  }

  // -- gRPC

  private <S extends AbstractStub<S>> S as(ApiKey.NewKey caller, S stub) {
    var metadata = new Metadata();
    metadata.put(API_KEY, caller.key());
    return stub.withInterceptors(MetadataUtils.newAttachHeadersInterceptor(metadata));
  }

  private ManagedChannel connect() {
    return Grpc.newChannelBuilderForAddress(
            "127.0.0.1", grpc.getPort(), InsecureChannelCredentials.create())
        .build();
  }

  private static ModelInferRequest.Builder request(String model) {
    var x = ByteBuffer.allocate(4 * WIDTH).order(ByteOrder.LITTLE_ENDIAN);
    x.putFloat(0, 4);
    return ModelInferRequest.newBuilder()
        .setModelName(model)
        .setId("7")
        .addInputs(
            InferInputTensor.newBuilder()
                .setName("x")
                .setDatatype("FP32")
                .addShape(1)
                .addShape(WIDTH))
        .addRawInputContents(ByteString.copyFrom(x));
  }

  private static InferRequestedOutputTensor y(boolean store) {
    return InferRequestedOutputTensor.newBuilder()
        .setName("y")
        .putParameters("tensor_store", InferParameter.newBuilder().setBoolParam(store).build())
        .build();
  }

  private static float first(ModelInferResponse response) {
    return response
        .getRawOutputContents(0)
        .asReadOnlyByteBuffer()
        .order(ByteOrder.LITTLE_ENDIAN)
        .getFloat();
  }

  @Test
  void servesGrpcClients() {
    var channel = connect();
    try {
      var owner = as(OWNER, GRPCInferenceServiceGrpc.newBlockingStub(channel));
      var other = as(OTHER, GRPCInferenceServiceGrpc.newBlockingStub(channel));
      var metadata =
          owner.modelMetadata(ModelMetadataRequest.newBuilder().setName("adder").build());
      assertThat(metadata.getVersionsList()).containsExactly(version);
      assertThat(metadata.getInputs(0).getShapeList()).containsExactly(-1L, (long) WIDTH);
      var config = owner.modelConfig(ModelConfigRequest.newBuilder().setName("adder").build());
      assertThat(config.getConfig().getOutputList()).extracting("name").containsExactly("y", "t");
      assertThat(
              owner.modelReady(ModelReadyRequest.newBuilder().setName("adder").build()).getReady())
          .isTrue();
      assertThat(owner.repositoryIndex(RepositoryIndexRequest.getDefaultInstance()).getModelsList())
          .extracting("name")
          .contains("adder", "matmul");
      assertThat(other.repositoryIndex(RepositoryIndexRequest.getDefaultInstance()).getModelsList())
          .extracting("name")
          .contains("matmul")
          .doesNotContain("adder");

      var answer = owner.modelInfer(request("adder").setModelVersion(version).build());
      assertThat(answer.getModelVersion()).isEqualTo(version);
      assertThat(answer.getId()).isEqualTo("7");
      assertThat(answer.getOutputsList()).extracting("name").containsExactly("y", "t");
      assertThat(first(answer)).isEqualTo(5);
      var kept = owner.modelInfer(request("adder").addOutputs(y(true)).build());
      assertThat(kept.getRawOutputContentsCount()).isZero();
      assertThat(kept.getOutputs(0).getParametersOrThrow("tensor_handle").getStringParam())
          .startsWith("t_");

      var statistics =
          owner.modelStatistics(ModelStatisticsRequest.newBuilder().setName("adder").build());
      assertThat(statistics.getModelStats(0).getVersion()).isEqualTo(version);
      assertThat(statistics.getModelStats(0).getInferenceCount()).isEqualTo(2);
      assertThatThrownBy(() -> other.modelInfer(request("adder").build()))
          .isInstanceOf(StatusRuntimeException.class)
          .hasMessage("NOT_FOUND: Unknown model \"adder\". GET /v2/models lists all models.");
    } finally {
      channel.shutdownNow();
    }
  }

  /** Requests to ops and stored models see what earlier ones of the stream wrote. */
  @Test
  void streamsRunInOrder() throws Exception {
    String handle =
        infer(ones(", \"outputs\": [{\"name\": \"y\", \"parameters\": {\"tensor_store\": true}}]"))
            .then()
            .extract()
            .path("outputs[0].parameters.tensor_handle");
    var resident = InferParameter.newBuilder().setStringParam(handle).build();
    var input =
        InferInputTensor.newBuilder().setName("x").putParameters("tensor_handle", resident).build();
    var into =
        InferRequestedOutputTensor.newBuilder()
            .setName("y")
            .putParameters("tensor_handle", resident)
            .build();
    var channel = connect();
    var answers = new ArrayList<ModelStreamInferResponse>();
    var done = new CompletableFuture<List<ModelStreamInferResponse>>();
    try {
      var requests =
          as(OWNER, GRPCInferenceServiceGrpc.newStub(channel))
              .modelStreamInfer(
                  new StreamObserver<>() {
                    @Override
                    public void onNext(ModelStreamInferResponse answer) {
                      answers.add(answer);
                    }

                    @Override
                    public void onError(Throwable thrown) {
                      done.completeExceptionally(thrown);
                    }

                    @Override
                    public void onCompleted() {
                      done.complete(answers);
                    }
                  });
      var add =
          ModelInferRequest.newBuilder().setModelName("adder").addInputs(input).addOutputs(into);
      requests.onNext(add.build());
      requests.onNext(add.build());
      requests.onNext(ModelInferRequest.newBuilder().setModelName("relu").addInputs(input).build());
      requests.onNext(request("nope").build());
      requests.onCompleted();
      var all = done.get();
      assertThat(all).hasSize(4);
      assertThat(first(all.get(2).getInferResponse())).isEqualTo(4);
      assertThat(all.get(3).getErrorMessage())
          .isEqualTo("Unknown model \"nope\". GET /v2/models lists all models.");
    } finally {
      channel.shutdownNow();
    }
    as(OWNER).delete("/tensors/" + handle).then().statusCode(204);
  }
}
