package dev.athanor.client;

import com.google.protobuf.ByteString;
import com.google.protobuf.Timestamp;
import com.google.protobuf.UnsafeByteOperations;
import dev.athanor.api.v1.AttributeValue;
import dev.athanor.api.v1.InputTensor;
import dev.athanor.api.v1.IntegerList;
import dev.athanor.api.v1.Model;
import dev.athanor.api.v1.NumberList;
import dev.athanor.api.v1.OutputTarget;
import dev.athanor.api.v1.OutputTensor;
import dev.athanor.api.v1.PipelineStep;
import dev.athanor.api.v1.RunModelRequest;
import dev.athanor.api.v1.RunPipelineRequest;
import dev.athanor.api.v1.RunRequest;
import dev.athanor.api.v1.TensorData;
import dev.athanor.api.v1.TensorList;
import dev.athanor.api.v1.View;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Messages of requests and responses. Values are not copied. */
final class Protos {

  private Protos() {}

  static RunRequest run(
      OpCall call, Map<String, Transport.Target> targets, @Nullable String idempotencyKey) {
    var request = RunRequest.newBuilder().setOp(call.op());
    call.inputs().forEach((name, operand) -> request.putInputs(name, input(operand)));
    call.attributes().forEach((name, value) -> request.putAttributes(name, attribute(value)));
    targets.forEach((name, target) -> request.putOutputs(name, target(target)));
    if (idempotencyKey != null) {
      request.setIdempotencyKey(idempotencyKey);
    }
    return request.build();
  }

  static RunPipelineRequest pipeline(Transport.Program program, @Nullable String idempotencyKey) {
    var request = RunPipelineRequest.newBuilder();
    program.inputs().forEach((name, operand) -> request.putInputs(name, input(operand)));
    for (var step : program.steps()) {
      var message = PipelineStep.newBuilder().setOp(step.op()).putAllOutputs(step.outputs());
      step.inputs()
          .forEach((name, source) -> {
            message.putInputs(name, source.name());
            if (source.view() != null) {
              message.putViews(name, view(source.view()));
            }
          });
      step.attributes().forEach((name, value) -> message.putAttributes(name, attribute(value)));
      request.addSteps(message);
    }
    program.outputs().forEach((name, target) -> request.putOutputs(name, target(target)));
    if (idempotencyKey != null) {
      request.setIdempotencyKey(idempotencyKey);
    }
    return request.build();
  }

  static RunModelRequest model(
      String name,
      @Nullable String session,
      Map<String, Operand> inputs,
      Map<String, Transport.Target> targets) {
    var request = RunModelRequest.newBuilder().setName(name);
    if (session != null) {
      request.setSession(session);
    }
    inputs.forEach((input, operand) -> request.putInputs(input, input(operand)));
    targets.forEach((output, target) -> request.putOutputs(output, target(target)));
    return request.build();
  }

  static ModelInfo model(Model model) {
    return new ModelInfo(
        model.getName(),
        model.getVersion(),
        instant(model.getCreatedAt()),
        model.getInputsList().stream()
            .map(input ->
                new ModelInfo.Input(input.getName(), input.getDtype(), input.getShapeList()))
            .toList(),
        model.getOutputsList());
  }

  static SessionInfo session(dev.athanor.api.v1.Session session) {
    return new SessionInfo(
        session.getSession(),
        session.getModel(),
        session.getVersion(),
        Math.toIntExact(session.getLength()),
        session.getBytes(),
        session.hasExpiresAt() ? Optional.of(instant(session.getExpiresAt())) : Optional.empty());
  }

  static dev.athanor.api.v1.GenerateRequest generate(String model, GenerateRequest request) {
    var message = dev.athanor.api.v1.GenerateRequest.newBuilder().setModel(model);
    request
        .members()
        .forEach((name, value) -> {
          switch (name) {
            case "tokens" -> message.addAllTokens(integers(value));
            case "stop" -> message.addAllStop(integers(value));
            case "session" -> message.setSession((String) value);
            case "maxTokens" -> message.setMaxTokens(((Number) value).longValue());
            case "seed" -> message.setSeed((Long) value);
            case "temperature" -> message.setTemperature((Double) value);
            case "topK" -> message.setTopK((Long) value);
            case "topP" -> message.setTopP((Double) value);
            case "minP" -> message.setMinP((Double) value);
            default -> throw new IllegalStateException(name);
          }
        });
    return message.build();
  }

  private static List<Long> integers(Object values) {
    return ((List<?>) values).stream().map(Long.class::cast).toList();
  }

  static Timing timing(dev.athanor.api.v1.Timing timing) {
    return new Timing(
        Timing.micros(timing.getPrepareMicros()),
        Timing.micros(timing.getQueueMicros()),
        Timing.micros(timing.getUploadMicros()),
        Timing.micros(timing.getKernelMicros()),
        Timing.micros(timing.getDownloadMicros()),
        Timing.micros(timing.getTotalMicros()));
  }

  private static InputTensor input(Operand operand) {
    var input = InputTensor.newBuilder();
    if (operand instanceof HostTensor values) {
      return input
          .setInline(
              TensorData.newBuilder()
                  .setDtype(values.dtype().text())
                  .addAllShape(values.shape())
                  .setData(UnsafeByteOperations.unsafeWrap(values.buffer())))
          .build();
    }
    if (operand instanceof TensorView view) {
      input.addAllShape(view.shape()).addAllStrides(view.strides());
      if (view.offset() != null) {
        input.setOffset(view.offset());
      }
    }
    return input.setHandle(Session.handle(operand)).build();
  }

  private static View view(TensorView view) {
    var message = View.newBuilder().addAllShape(view.shape()).addAllStrides(view.strides());
    if (view.offset() != null) {
      message.setOffset(view.offset());
    }
    return message.build();
  }

  private static AttributeValue attribute(Object value) {
    var attribute = AttributeValue.newBuilder();
    if (value instanceof Boolean flag) {
      attribute.setFlag(flag);
    } else if (value instanceof Long integer) {
      attribute.setInteger(integer);
    } else if (value instanceof Double number) {
      attribute.setNumber(number);
    } else if (value instanceof List<?> list) {
      setList(attribute, list.stream().map(Number.class::cast).toList());
    } else {
      attribute.setText(value.toString());
    }
    return attribute.build();
  }

  private static void setList(AttributeValue.Builder attribute, List<Number> values) {
    if (values.stream().allMatch(value -> value instanceof Long || value instanceof Integer)) {
      var integers = values.stream().map(Number::longValue).toList();
      attribute.setIntegers(IntegerList.newBuilder().addAllValues(integers));
    } else {
      var numbers = values.stream().map(Number::doubleValue).toList();
      attribute.setNumbers(NumberList.newBuilder().addAllValues(numbers));
    }
  }

  private static OutputTarget target(Transport.Target target) {
    return target.handle() == null
        ? OutputTarget.newBuilder().setKeep(!target.inline()).build()
        : OutputTarget.newBuilder().setInto(target.handle()).build();
  }

  static Map<String, Transport.Output> outputs(Map<String, OutputTensor> answer) {
    var outputs = new LinkedHashMap<String, Transport.Output>();
    answer.forEach((name, output) ->
        outputs.put(
            name,
            output.hasResident()
                ? new Transport.Output(null, tensor(output.getResident()))
                : new Transport.Output(values(output.getInline()), null)));
    return outputs;
  }

  private static HostTensor values(TensorData tensor) {
    ByteString data = tensor.getData();
    return HostTensor.wrap(
        DType.of(tensor.getDtype()), tensor.getShapeList(), data.asReadOnlyByteBuffer());
  }

  static TensorInfo tensor(dev.athanor.api.v1.Tensor tensor) {
    return new TensorInfo(
        tensor.getHandle(),
        tensor.hasName() ? Optional.of(tensor.getName()) : Optional.empty(),
        tensor.getReplicasList(),
        tensor.hasScope() ? Optional.of(tensor.getScope()) : Optional.empty(),
        DType.of(tensor.getDtype()),
        tensor.getShapeList(),
        tensor.getBytes(),
        tensor.getDevice(),
        tensor.getVersion(),
        tensor.hasCreatedAt() ? Optional.of(instant(tensor.getCreatedAt())) : Optional.empty(),
        tensor.hasExpiresAt() ? Optional.of(instant(tensor.getExpiresAt())) : Optional.empty());
  }

  private static Instant instant(Timestamp time) {
    return Instant.ofEpochSecond(time.getSeconds(), time.getNanos());
  }

  static OpDescription op(dev.athanor.api.v1.OpDescription op) {
    return new OpDescription(
        op.getName(),
        op.getSummary(),
        op.getInputsList().stream()
            .map(i ->
                new OpDescription.Input(
                    i.getName(),
                    i.hasList() ? list(i.getList()) : null,
                    emptyToNull(i.getAliasesList()),
                    i.getShape(),
                    List.copyOf(i.getDtypesList()),
                    i.getOptional(),
                    i.getMeaning()))
            .toList(),
        op.getAttributesList().stream()
            .map(a ->
                new OpDescription.Attribute(
                    a.getName(),
                    a.getType(),
                    a.hasDefaultValue() ? value(a.getDefaultValue()) : null,
                    emptyToNull(a.getChoicesList()),
                    a.hasMinimum() ? a.getMinimum() : null,
                    a.hasMaximum() ? a.getMaximum() : null,
                    a.getMeaning()))
            .toList(),
        op.getOutputsList().stream()
            .map(o ->
                new OpDescription.Output(
                    o.getName(),
                    o.hasList() ? list(o.getList()) : null,
                    o.getShape(),
                    o.getDtype(),
                    o.getOptional(),
                    o.getMeaning()))
            .toList(),
        op.getFormula(),
        op.getFlops());
  }

  private static OpDescription.TensorList list(TensorList list) {
    return new OpDescription.TensorList(list.getName(), list.getCount());
  }

  private static @Nullable List<String> emptyToNull(List<String> texts) {
    return texts.isEmpty() ? null : List.copyOf(texts);
  }

  private static Object value(AttributeValue value) {
    return switch (value.getValueCase()) {
      case FLAG -> value.getFlag();
      case INTEGER -> value.getInteger();
      case NUMBER -> value.getNumber();
      case INTEGERS -> value.getIntegers().getValuesList();
      case NUMBERS -> value.getNumbers().getValuesList();
      case TEXT, VALUE_NOT_SET -> value.getText();
    };
  }
}
