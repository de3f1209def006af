package dev.athanor.service.grpc;

import dev.athanor.api.v1.AttributeValue;
import dev.athanor.api.v1.DescribeOpRequest;
import dev.athanor.api.v1.DescribeOpResponse;
import dev.athanor.api.v1.InputTensor;
import dev.athanor.api.v1.ListOpsRequest;
import dev.athanor.api.v1.ListOpsResponse;
import dev.athanor.api.v1.OpsGrpc;
import dev.athanor.api.v1.OutputTarget;
import dev.athanor.api.v1.OutputTensor;
import dev.athanor.api.v1.RunRequest;
import dev.athanor.api.v1.RunResponse;
import dev.athanor.engine.device.Device;
import dev.athanor.ops.Catalogue;
import dev.athanor.ops.Op;
import dev.athanor.ops.OpDescription;
import dev.athanor.service.codec.Json;
import dev.athanor.service.codec.Tensors;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.metrics.Metrics;
import dev.athanor.service.run.Call;
import dev.athanor.service.run.Call.Destination;
import dev.athanor.service.run.OpRunner;
import dev.athanor.service.run.Result;
import io.grpc.stub.StreamObserver;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.springframework.grpc.server.service.GrpcService;

/** The catalogue, and calls of its ops. */
@GrpcService
class OpsService extends OpsGrpc.OpsImplBase {

  private final Catalogue catalogue;
  private final OpRunner runner;
  private final Metrics metrics;
  private final String device;

  OpsService(Catalogue catalogue, OpRunner runner, Metrics metrics, Device device) {
    this.catalogue = catalogue;
    this.runner = runner;
    this.metrics = metrics;
    this.device = device.capability().id();
  }

  @Override
  public void list(ListOpsRequest request, StreamObserver<ListOpsResponse> answer) {
    Requests.answer(
        answer,
        () ->
            ListOpsResponse.newBuilder()
                .addAllOps(
                    catalogue.all().stream().map(op -> Messages.op(op.description())).toList())
                .build());
  }

  @Override
  public void describe(DescribeOpRequest request, StreamObserver<DescribeOpResponse> answer) {
    Requests.answer(
        answer,
        () ->
            DescribeOpResponse.newBuilder()
                .setOp(Messages.op(find(request.getOp()).description()))
                .build());
  }

  @Override
  public void run(RunRequest request, StreamObserver<RunResponse> answer) {
    var label = catalogue.find(request.getOp()).isPresent() ? request.getOp() : "unknown";
    Requests.answer(answer, () -> metrics.counted(label, () -> run(request)));
  }

  private RunResponse run(RunRequest request) {
    var op = find(request.getOp());
    var result = runner.run(call(op, request));
    var answer =
        RunResponse.newBuilder()
            .setOp(op.description().name())
            .setDevice(device)
            .setKernel(result.kernel())
            .setTiming(Messages.timing(result.timing()));
    result.outputs().forEach((name, output) -> answer.putOutputs(name, output(output)));
    return answer.build();
  }

  private OutputTensor output(Result.Output output) {
    var message = OutputTensor.newBuilder();
    return switch (output) {
      case Result.Output.Inline(var tensor) -> message.setInline(Messages.tensor(tensor)).build();
      case Result.Output.Resident(var info) ->
          message.setResident(Messages.tensor(info, device)).build();
    };
  }

  private Op find(String name) {
    return catalogue
        .find(name)
        .orElseThrow(() ->
            new Failure.Refused(
                Code.UNKNOWN_OP,
                "op",
                "there is no op \"%s\"; athanor.v1.Ops/List lists them"
                    .formatted(Tensors.excerpt(name))));
  }

  private static Call call(Op op, RunRequest request) {
    var description = op.description();
    var inputs = new HashMap<String, Call.Input>();
    request
        .getInputsMap()
        .forEach((name, input) -> {
          check(
              "inputs",
              name,
              description.inputs().stream().map(OpDescription.Input::name).toList());
          inputs.put(name, input(input, "inputs." + name));
        });
    var outputs = new HashMap<String, Call.Target>();
    request
        .getOutputsMap()
        .forEach((name, target) -> {
          check(
              "outputs",
              name,
              description.outputs().stream().map(OpDescription.Output::name).toList());
          outputs.put(name, target(target, "outputs." + name));
        });
    return new Call(
        op,
        inputs,
        attributes(description, request.getAttributesMap()),
        outputs,
        Requests.terms());
  }

  private static void check(String path, String name, List<String> known) {
    if (!known.contains(name)) {
      throw Json.unknown(path, name, known);
    }
  }

  private static Call.Input input(InputTensor input, String field) {
    return switch (input.getSourceCase()) {
      case INLINE -> new Call.Input.Inline(Messages.tensor(input.getInline(), field + ".inline"));
      case HANDLE -> new Call.Input.Resident(input.getHandle());
      case SOURCE_NOT_SET ->
          throw new Failure.Refused(
              Code.INVALID_TENSOR,
              field,
              "%s is empty; it must be inline or a handle".formatted(field));
    };
  }

  private static Map<String, Object> attributes(
      OpDescription op, Map<String, AttributeValue> given) {
    var names = op.attributes().stream().map(OpDescription.Attribute::name).toList();
    var attributes = new HashMap<String, Object>();
    given.forEach((name, value) -> {
      check("attributes", name, names);
      attributes.put(
          name,
          switch (value.getValueCase()) {
            case FLAG -> value.getFlag();
            case INTEGER -> value.getInteger();
            case NUMBER -> value.getNumber();
            case TEXT -> Tensors.excerpt(value.getText());
            case VALUE_NOT_SET ->
                throw new Failure.Refused(
                    Code.INVALID_ATTRIBUTE,
                    "attributes." + name,
                    "attributes.%s is empty; it must be a flag, an integer, a number or a text"
                        .formatted(name));
          });
    });
    return attributes;
  }

  private static Call.Target target(OutputTarget target, String field) {
    var destination =
        switch (target.getDestinationCase()) {
          case KEEP -> target.getKeep() ? new Destination.Keep() : new Destination.Inline();
          case INTO -> new Destination.Into(target.getInto());
          case DESTINATION_NOT_SET -> new Destination.Inline();
        };
    return new Call.Target(
        destination, target.hasDtype() ? Tensors.dtype(target.getDtype(), field + ".dtype") : null);
  }
}
