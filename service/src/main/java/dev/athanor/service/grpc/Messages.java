package dev.athanor.service.grpc;

import com.google.protobuf.ByteString;
import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.Duration;
import com.google.protobuf.Message;
import com.google.protobuf.Timestamp;
import com.google.protobuf.UnsafeByteOperations;
import dev.athanor.api.v1.AttributeValue;
import dev.athanor.api.v1.IntegerList;
import dev.athanor.api.v1.NumberList;
import dev.athanor.api.v1.OpAttribute;
import dev.athanor.api.v1.OpInput;
import dev.athanor.api.v1.OpOutput;
import dev.athanor.api.v1.OutputCondition;
import dev.athanor.api.v1.OutputTensor;
import dev.athanor.api.v1.Tensor;
import dev.athanor.api.v1.TensorData;
import dev.athanor.api.v1.TensorList;
import dev.athanor.api.v1.Timing;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.TensorType;
import dev.athanor.service.codec.OpView;
import dev.athanor.service.codec.Tensors;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.run.Result;
import dev.athanor.service.tensor.TensorInfo;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.security.DigestOutputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Instant;
import java.util.HexFormat;
import java.util.List;

/** Converts tensors and descriptions from and to messages without copying elements. */
final class Messages {

  private Messages() {}

  /**
   * Checks a dtype and a shape.
   *
   * @param field their path in the request
   */
  static TensorType type(String dtype, List<Long> shape, String field) {
    return Tensors.type(Tensors.dtype(dtype, field + ".dtype"), shape, field + ".shape");
  }

  /** Wraps bytes as a tensor. */
  static HostTensor tensor(TensorType type, ByteString data, String field) {
    return Tensors.checked(type, MemorySegment.ofBuffer(data.asReadOnlyByteBuffer()), field);
  }

  static HostTensor tensor(TensorData message, String field) {
    return tensor(
        type(message.getDtype(), message.getShapeList(), field),
        message.getData(),
        field + ".data");
  }

  /** Wraps elements without a copy; they must not change afterwards. */
  static ByteString bytes(MemorySegment data) {
    return UnsafeByteOperations.unsafeWrap(data.asByteBuffer());
  }

  static TensorData tensor(HostTensor tensor) {
    return TensorData.newBuilder()
        .setDtype(tensor.type().dtype().text())
        .addAllShape(tensor.type().shape().extents())
        .setData(bytes(tensor.data()))
        .build();
  }

  static Tensor tensor(TensorInfo info) {
    var message =
        Tensor.newBuilder()
            .setHandle(info.handle())
            .setDtype(info.type().dtype().text())
            .addAllShape(info.type().shape().extents())
            .setBytes(info.type().bytes())
            .setDevice(info.device())
            .setVersion(info.version())
            .setCreatedAt(time(info.createdAt()));
    if (info.name() != null) {
      message.setName(info.name());
    }
    if (info.scope() != null) {
      message.setScope(info.scope());
    }
    if (info.replicas() != null) {
      message.addAllReplicas(info.replicas());
    }
    if (info.expiresAt() != null) {
      message.setExpiresAt(time(info.expiresAt()));
    }
    return message.build();
  }

  /**
   * Returns a lease in whole seconds.
   *
   * @param field its path in the request
   * @throws Failure.Refused with {@code invalid-attribute} if it is no integer or out of range
   */
  static java.time.Duration lease(Duration lease, String field) {
    if (lease.getNanos() != 0
        || lease.getSeconds() < 0
        || lease.getSeconds() > Tensors.LONGEST_LEASE_SECONDS) {
      throw new Failure.Refused(
          Code.INVALID_ATTRIBUTE,
          field,
          "%s is %s s; it must be an integer 0 to %d"
              .formatted(
                  field,
                  lease.getNanos() == 0
                      ? lease.getSeconds()
                      : "%d + %d/10^9".formatted(lease.getSeconds(), lease.getNanos()),
                  Tensors.LONGEST_LEASE_SECONDS));
    }
    return java.time.Duration.ofSeconds(lease.getSeconds());
  }

  /** Returns the SHA-256 of a message in hexadecimal, the same for equal messages. */
  static String sha256(Message message) {
    try {
      var digest = MessageDigest.getInstance("SHA-256");
      var out =
          CodedOutputStream.newInstance(
              new DigestOutputStream(OutputStream.nullOutputStream(), digest));
      out.useDeterministicSerialization();
      message.writeTo(out);
      out.flush();
      return HexFormat.of().formatHex(digest.digest());
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java has SHA-256", e);
    } catch (IOException e) {
      throw new UncheckedIOException(e); // the stream discards what is written
    }
  }

  static Timestamp time(Instant instant) {
    return Timestamp.newBuilder()
        .setSeconds(instant.getEpochSecond())
        .setNanos(instant.getNano())
        .build();
  }

  static OutputTensor output(Result.Output output) {
    var message = OutputTensor.newBuilder();
    return switch (output) {
      case Result.Output.Inline(var tensor) -> message.setInline(tensor(tensor)).build();
      case Result.Output.Resident(var info) -> message.setResident(tensor(info)).build();
    };
  }

  static Timing timing(Result.Timing timing) {
    return Timing.newBuilder()
        .setPrepareMicros(timing.prepare())
        .setQueueMicros(timing.queue())
        .setUploadMicros(timing.upload())
        .setKernelMicros(timing.kernel())
        .setDownloadMicros(timing.download())
        .setTotalMicros(timing.total())
        .build();
  }

  static dev.athanor.api.v1.OpDescription op(OpDescription description) {
    var op = OpView.of(description);
    return dev.athanor.api.v1.OpDescription.newBuilder()
        .setName(op.name())
        .setSummary(op.summary())
        .addAllInputs(op.inputs().stream().map(Messages::input).toList())
        .addAllAttributes(op.attributes().stream().map(Messages::attribute).toList())
        .addAllOutputs(op.outputs().stream().map(Messages::output).toList())
        .setFormula(op.formula())
        .setFlops(op.flops())
        .build();
  }

  private static OpInput input(OpView.Input input) {
    var message =
        OpInput.newBuilder()
            .setName(input.name())
            .setShape(input.shape())
            .addAllDtypes(input.dtypes())
            .setOptional(input.optional())
            .setMeaning(input.meaning())
            .addAllAliases(input.aliases());
    if (input.list() != null) {
      message.setList(list(input.list()));
    }
    return message.build();
  }

  private static TensorList list(OpView.TensorList list) {
    return TensorList.newBuilder().setName(list.name()).setCount(list.count()).build();
  }

  private static OpOutput output(OpView.Output output) {
    var message =
        OpOutput.newBuilder()
            .setName(output.name())
            .setShape(output.shape())
            .setDtype(output.dtype())
            .setOptional(output.optional())
            .setMeaning(output.meaning());
    if (output.list() != null) {
      message.setList(list(output.list()));
    }
    if (output.when() != null) {
      message.setWhen(
          OutputCondition.newBuilder()
              .setAttribute(output.when().attribute())
              .setValue(value(output.when().value())));
    }
    return message.build();
  }

  private static OpAttribute attribute(OpView.Attribute attribute) {
    var message =
        OpAttribute.newBuilder()
            .setName(attribute.name())
            .setType(attribute.type())
            .setRequired(attribute.required())
            .addAllChoices(attribute.choices())
            .setMeaning(attribute.meaning());
    if (attribute.defaultValue() != null) {
      message.setDefaultValue(value(attribute.defaultValue()));
    }
    if (attribute.minimum() != null) {
      message.setMinimum(attribute.minimum().doubleValue());
    }
    if (attribute.maximum() != null) {
      message.setMaximum(attribute.maximum().doubleValue());
    }
    return message.build();
  }

  private static AttributeValue value(Object value) {
    var message = AttributeValue.newBuilder();
    return switch (value) {
      case Boolean flag -> message.setFlag(flag).build();
      case Long integer -> message.setInteger(integer).build();
      case Double number -> message.setNumber(number).build();
      case List<?> list when list.getFirst() instanceof Long ->
          message
              .setIntegers(
                  IntegerList.newBuilder()
                      .addAllValues(list.stream().map(Long.class::cast).toList()))
              .build();
      case List<?> list ->
          message
              .setNumbers(
                  NumberList.newBuilder()
                      .addAllValues(list.stream().map(Double.class::cast).toList()))
              .build();
      default -> message.setText(value.toString()).build();
    };
  }
}
