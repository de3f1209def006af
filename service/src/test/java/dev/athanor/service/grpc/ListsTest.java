package dev.athanor.service.grpc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.api.inference.InferParameter;
import dev.athanor.api.inference.ModelConfigRequest;
import dev.athanor.api.inference.ModelInferRequest;
import dev.athanor.api.inference.ModelInferRequest.InferInputTensor;
import dev.athanor.api.inference.ModelInferResponse.InferOutputTensor;
import dev.athanor.api.inference.ModelInput;
import dev.athanor.api.v1.AttributeValue;
import dev.athanor.api.v1.DescribeOpRequest;
import dev.athanor.api.v1.IntegerList;
import dev.athanor.api.v1.NumberList;
import dev.athanor.api.v1.OpAttribute;
import dev.athanor.api.v1.OpDescription;
import dev.athanor.api.v1.OutputTarget;
import dev.athanor.api.v1.PipelineStep;
import dev.athanor.api.v1.RunPipelineRequest;
import dev.athanor.api.v1.RunRequest;
import dev.athanor.api.v1.TensorList;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.service.codec.AttributeValues;
import io.grpc.Status;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Tests attributes that are lists or texts, and ops with lists of inputs or outputs. */
class ListsTest extends GrpcTest {

  private static AttributeValue text(String value) {
    return AttributeValue.newBuilder().setText(value).build();
  }

  private static AttributeValue integers(Long... values) {
    return AttributeValue.newBuilder()
        .setIntegers(IntegerList.newBuilder().addAllValues(List.of(values)))
        .build();
  }

  private static AttributeValue numbers(Double... values) {
    return AttributeValue.newBuilder()
        .setNumbers(NumberList.newBuilder().addAllValues(List.of(values)))
        .build();
  }

  private OpDescription describe(String op) {
    return ops().describe(DescribeOpRequest.newBuilder().setOp(op).build()).getOp();
  }

  @Test
  void describesLists() {
    var join = describe("join");
    assertThat(join.getInputsCount()).isEqualTo(1);
    assertThat(join.getInputs(0).getName()).isEqualTo("x0");
    assertThat(join.getInputs(0).getList())
        .isEqualTo(TensorList.newBuilder().setName("x").setCount(4).build());
    assertThat(join.getOutputs(0).hasList()).isFalse();
    assertThat(join.getAttributes(0).getType()).isEqualTo("text");
    var split = describe("split");
    assertThat(split.getInputs(0).hasList()).isFalse();
    assertThat(split.getOutputsCount()).isEqualTo(1);
    assertThat(split.getOutputs(0).getList())
        .isEqualTo(TensorList.newBuilder().setName("y").setCount(4).build());
    assertThat(split.getAttributesList().stream().map(OpAttribute::getType))
        .containsExactly("integers", "numbers");
  }

  private static Attribute with(Attribute attribute, String defaultValue) {
    return new Attribute(
        attribute.name(),
        attribute.type(),
        false,
        defaultValue,
        List.of(),
        attribute.least(),
        attribute.greatest(),
        attribute.meaning());
  }

  @Test
  void describesDefaultsOfLists() {
    var op =
        new dev.athanor.ops.OpDescription(
            "op",
            "",
            List.of(),
            List.of(
                with(Attribute.integers("axes", ""), "0,2"),
                with(Attribute.numbers("scales", ""), "0.5, 2"),
                with(Attribute.text("mode", ""), "x")),
            List.of(),
            "",
            "");
    assertThat(Messages.op(op).getAttributesList().stream().map(OpAttribute::getDefaultValue))
        .containsExactly(integers(0L, 2L), numbers(0.5, 2.0), text("x"));
  }

  @Test
  void runsWithLists() {
    var order = "x1" + " x0".repeat(40);
    var joined =
        ops()
            .run(
                RunRequest.newBuilder()
                    .setOp("join")
                    .putInputs("x", input(1))
                    .putInputs("x1", input(2, 3))
                    .putAttributes("order", text(order))
                    .build());
    assertThat(joined.getOutputsOrThrow("y").getInline().getShapeList()).containsExactly(42L);

    var split =
        ops()
            .run(
                RunRequest.newBuilder()
                    .setOp("split")
                    .putInputs("x", input(4, 5, 6))
                    .putAttributes("sizes", integers(2L, 1L))
                    .putAttributes("factors", numbers(0.5, 2.0))
                    .putOutputs("y1", OutputTarget.newBuilder().setKeep(true).build())
                    .build());
    assertThat(split.getKernel()).isEqualTo("split[0.5, 2.0]");
    assertThat(split.getOutputsMap()).containsOnlyKeys("y0", "y1");
    assertThat(split.getOutputsOrThrow("y0").getInline()).isEqualTo(data(4, 5));
    assertThat(split.getOutputsOrThrow("y1").getResident().getBytes()).isEqualTo(4);
  }

  @Test
  void pipelinesHaveLists() {
    var answer =
        ops()
            .runPipeline(
                RunPipelineRequest.newBuilder()
                    .putInputs("in", input(4, 5, 6))
                    .addSteps(
                        PipelineStep.newBuilder()
                            .setOp("split")
                            .putInputs("x", "in")
                            .putAttributes("sizes", integers(1L, 2L))
                            .putOutputs("y0", "a")
                            .putOutputs("y1", "b"))
                    .addSteps(
                        PipelineStep.newBuilder()
                            .setOp("join")
                            .putInputs("x0", "a")
                            .putInputs("x1", "b")
                            .putAttributes("order", text("x1 x0"))
                            .putOutputs("y", "all"))
                    .build());
    assertThat(answer.getOutputsOrThrow("all").getInline()).isEqualTo(data(5, 6, 4));
  }

  private void rejects(RunRequest.Builder request, String code, String field, String message) {
    refusal(() -> ops().run(request.build()))
        .is(Status.Code.INVALID_ARGUMENT, code, field, message);
  }

  @Test
  void reportsInvalidFields() {
    var join = RunRequest.newBuilder().setOp("join").putInputs("x0", input(1));
    rejects(
        join.clone().putInputs("x2", input(1)).putAttributes("order", text("x0")),
        "missing-input",
        "inputs.x1",
        "input \"x1\" is missing but \"x2\" is given; the inputs of a list have consecutive numbers");
    rejects(
        join.clone().putInputs("x4", input(1)),
        "unknown-field",
        "inputs.x4",
        "inputs.x4 is unknown; known keys are x0 … x3");
    rejects(
        join.clone().putAttributes("order", integers(0L)),
        "invalid-attribute",
        "attributes.order",
        "attribute \"order\" must be a text, got [0]");
    rejects(
        join.clone().putAttributes("order", text("x".repeat(AttributeValues.MAX_CHARACTERS + 1))),
        "invalid-attribute",
        "attributes.order",
        "attributes.order has 65537 characters; the limit is 65536");
    rejects(
        RunRequest.newBuilder()
            .setOp("split")
            .putInputs("x", input(1))
            .putAttributes("sizes", numbers(0.5)),
        "invalid-attribute",
        "attributes.sizes",
        "attribute \"sizes\" must be from 1 to 100, got [0.5]");
    rejects(
        RunRequest.newBuilder()
            .setOp("split")
            .putInputs("x", input(1))
            .putOutputs("y4", OutputTarget.getDefaultInstance()),
        "unknown-field",
        "outputs.y4",
        "outputs.y4 is unknown; known keys are y0 … y3");
  }

  private static InferInputTensor tensor(String name, long extent) {
    return InferInputTensor.newBuilder().setName(name).setDatatype("FP32").addShape(extent).build();
  }

  private static InferParameter parameter(String value) {
    return InferParameter.newBuilder().setStringParam(value).build();
  }

  /** The messages of the protocol have no lists, so parameters are text. */
  @Test
  void infersWithLists() {
    var joined =
        inference()
            .modelInfer(
                ModelInferRequest.newBuilder()
                    .setModelName("join")
                    .addInputs(tensor("x0", 1))
                    .addInputs(tensor("x1", 2))
                    .addRawInputContents(bytes(1))
                    .addRawInputContents(bytes(2, 3))
                    .putParameters("order", parameter("x1" + " x0".repeat(40)))
                    .build());
    assertThat(joined.getOutputs(0).getShapeList()).containsExactly(42L);
    var split =
        inference()
            .modelInfer(
                ModelInferRequest.newBuilder()
                    .setModelName("split")
                    .addInputs(tensor("x", 3))
                    .addRawInputContents(bytes(4, 5, 6))
                    .putParameters("sizes", parameter("2, 1"))
                    .putParameters("factors", parameter("0.5"))
                    .build());
    assertThat(split.getOutputsList().stream().map(InferOutputTensor::getName))
        .containsExactly("y0", "y1");
    assertThat(split.getRawOutputContents(1)).isEqualTo(bytes(6));
    assertThat(split.getParametersOrThrow("kernel").getStringParam()).isEqualTo("split[0.5]");
    var config =
        inference()
            .modelConfig(ModelConfigRequest.newBuilder().setName("join").build())
            .getConfig();
    assertThat(config.getInputList().stream().map(ModelInput::getName))
        .containsExactly("x0", "x1", "x2", "x3");
    assertThat(config.getInputList().stream().map(ModelInput::getOptional))
        .containsExactly(false, true, true, true);
  }
}
