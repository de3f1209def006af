package dev.athanor.service.grpc;

import com.google.protobuf.ByteString;
import com.google.protobuf.Descriptors.FieldDescriptor;
import dev.athanor.api.inference.InferParameter;
import dev.athanor.api.inference.InferTensorContents;
import dev.athanor.api.inference.ModelInferRequest;
import dev.athanor.api.inference.ModelInferRequest.InferInputTensor;
import dev.athanor.api.inference.ModelInferResponse;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.TensorType;
import dev.athanor.service.codec.Tensors;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.openinference.Datatypes;
import dev.athanor.service.openinference.Inference;
import dev.athanor.service.openinference.InferenceRequest;
import dev.athanor.service.openinference.ServedModel;
import dev.athanor.service.run.Result;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Collections;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/** Converts requests and responses of the Open Inference Protocol from and to messages. */
final class InferenceMessages {

  /** All dtypes, since outputs are sent as raw bytes. */
  private static final Set<DType> ENCODABLE =
      Collections.unmodifiableSet(EnumSet.allOf(DType.class));

  private InferenceMessages() {}

  // -- requests

  static InferenceRequest request(ServedModel model, ModelInferRequest message) {
    var raw = message.getRawInputContentsList().iterator();
    boolean isRaw = raw.hasNext();
    var inputs = new LinkedHashMap<String, InferenceRequest.Input>();
    for (var input : message.getInputsList()) {
      var name = InferenceRequest.inputName(model, input.getName(), inputs.keySet());
      inputs.put(name, input(name, input, isRaw, raw));
    }
    if (raw.hasNext()) {
      throw invalid(
          "raw_input_contents",
          "raw_input_contents has %d entries, but %d inputs need one"
              .formatted(
                  message.getRawInputContentsCount(),
                  inputs.values().stream()
                      .filter(input -> input instanceof InferenceRequest.Input.Data)
                      .count()));
    }
    var outputs = new LinkedHashMap<String, InferenceRequest.Output>();
    for (var output : message.getOutputsList()) {
      var name = InferenceRequest.outputName(model, output.getName(), outputs.keySet());
      var field = "outputs." + name;
      var parameters = parameters(output.getParametersMap(), field + ".parameters");
      // ignored, since outputs are always raw
      InferenceRequest.takeFlag(parameters, InferenceRequest.BINARY_DATA, field + ".parameters");
      outputs.put(
          name,
          new InferenceRequest.Output(
              name, InferenceRequest.destination(parameters, field, ENCODABLE)));
    }
    var parameters = parameters(message.getParametersMap(), "parameters");
    InferenceRequest.takeFlag(parameters, InferenceRequest.BINARY_DATA_OUTPUT, "parameters");
    return new InferenceRequest(
        parameters, List.copyOf(inputs.values()), List.copyOf(outputs.values()), ENCODABLE);
  }

  private static Map<String, Object> parameters(Map<String, InferParameter> given, String field) {
    var parameters = new HashMap<String, Object>();
    given.forEach((name, parameter) ->
        parameters.put(
            name,
            switch (parameter.getParameterChoiceCase()) {
              case BOOL_PARAM -> parameter.getBoolParam();
              case INT64_PARAM -> parameter.getInt64Param();
              case STRING_PARAM -> parameter.getStringParam();
              case DOUBLE_PARAM -> parameter.getDoubleParam();
              case UINT64_PARAM -> unsigned(parameter.getUint64Param());
              case PARAMETERCHOICE_NOT_SET -> {
                var path = field + "." + Tensors.excerpt(name);
                throw new Failure.Refused(
                    Code.INVALID_ATTRIBUTE,
                    path,
                    "%s is empty; it must be a bool, an integer, a double or a string"
                        .formatted(path));
              }
            }));
    return parameters;
  }

  private static Number unsigned(long bits) {
    if (bits >= 0) {
      return bits;
    }
    return new BigInteger(Long.toUnsignedString(bits));
  }

  private static InferenceRequest.Input input(
      String name, InferInputTensor input, boolean isRaw, Iterator<ByteString> raw) {
    var field = "inputs." + name;
    var parameters = parameters(input.getParametersMap(), field + ".parameters");
    var size = InferenceRequest.takeSize(parameters, field);
    var handle = InferenceRequest.handle(parameters, field);
    if (handle != null) {
      if (input.hasContents() || size != null) {
        throw InferenceRequest.handleAndData(field);
      }
      return new InferenceRequest.Input.Handle(
          name,
          handle,
          input.getDatatype().isEmpty()
              ? null
              : Datatypes.of(input.getDatatype(), field + ".datatype"),
          InferenceRequest.view(
              parameters, input.getShapeCount() == 0 ? null : input.getShapeList(), field));
    }
    if (isRaw && input.hasContents()) {
      throw invalid(
          field,
          "%s has contents, but the request has raw_input_contents; give only one"
              .formatted(field));
    }
    var type = type(input, field);
    if (size != null) {
      InferenceRequest.checkSize(size, type, field);
    }
    return new InferenceRequest.Input.Data(
        name, isRaw ? raw(type, raw, field) : numbers(type, input, field));
  }

  private static TensorType type(InferInputTensor input, String field) {
    return Tensors.type(
        Datatypes.of(input.getDatatype(), field + ".datatype"),
        input.getShapeList(),
        field + ".shape");
  }

  private static HostTensor raw(TensorType type, Iterator<ByteString> raw, String field) {
    if (!raw.hasNext()) {
      throw invalid(
          "raw_input_contents",
          "raw_input_contents has no entry for %s; every input without a tensor_handle needs one"
              .formatted(field));
    }
    return Messages.tensor(type, raw.next(), field);
  }

  /** Reads elements from the typed contents. */
  private static HostTensor numbers(TensorType type, InferInputTensor input, String field) {
    var contents = input.getContents();
    var given = contents.getAllFields().keySet();
    if (given.size() > 1) {
      throw invalid(
          field,
          "%s has several lists of contents, %s; give only one"
              .formatted(
                  field,
                  given.stream()
                      .map(FieldDescriptor::getName)
                      .collect(Collectors.joining(" and "))));
    }
    return switch (type.dtype()) {
      case BOOL ->
          numbers(
              type,
              contents.getBoolContentsList(),
              "bool_contents",
              field,
              (out, value) -> out.put((byte) (value ? 1 : 0)));
      case I8 -> integers(type, contents, field, (out, value) -> out.put((byte) value));
      case I16 -> integers(type, contents, field, (out, value) -> out.putShort((short) value));
      case I32 -> integers(type, contents, field, ByteBuffer::putInt);
      case I64 ->
          numbers(
              type, contents.getInt64ContentsList(), "int64_contents", field, ByteBuffer::putLong);
      case U8 ->
          numbers(
              type,
              contents.getUintContentsList(),
              "uint_contents",
              field,
              (out, value) -> {
                check(value, Integer.compareUnsigned(value, 255) <= 0, type, field);
                out.put(value.byteValue());
              });
      case U32 ->
          numbers(type, contents.getUintContentsList(), "uint_contents", field, ByteBuffer::putInt);
      case F32 ->
          numbers(
              type, contents.getFp32ContentsList(), "fp32_contents", field, ByteBuffer::putFloat);
      case F64 ->
          numbers(
              type, contents.getFp64ContentsList(), "fp64_contents", field, ByteBuffer::putDouble);
      case F16,
          BF16,
          E4M3,
          E5M2,
          Q4_0,
          Q4_1,
          Q5_0,
          Q8_0,
          Q4_K,
          Q5_K,
          Q6_K,
          IQ4_NL,
          IQ4_XS,
          MXFP4,
          NF4 ->
          throw Datatypes.rawOnly(type.dtype(), field);
    };
  }

  private interface Write<T> {
    void write(ByteBuffer out, T value);
  }

  private interface WriteInt {
    void write(ByteBuffer out, int value);
  }

  private static HostTensor integers(
      TensorType type, InferTensorContents contents, String field, WriteInt write) {
    int bits = 8 * type.dtype().bytes();
    return numbers(
        type,
        contents.getIntContentsList(),
        "int_contents",
        field,
        (out, value) -> {
          check(value, value << (32 - bits) >> (32 - bits) == value, type, field);
          write.write(out, value);
        });
  }

  private static void check(int value, boolean fits, TensorType type, String field) {
    if (!fits) {
      throw invalid(
          field,
          "%s contains %d, which is out of range for %s"
              .formatted(field, value, Datatypes.name(type.dtype())));
    }
  }

  private static <T> HostTensor numbers(
      TensorType type, List<T> values, String list, String field, Write<T> write) {
    if (values.size() != type.shape().elements()) {
      throw invalid(
          field,
          "%s must have %d numbers in %s, got %d"
              .formatted(field, type.shape().elements(), list, values.size()));
    }
    var tensor = HostTensor.zeros(type);
    var out = tensor.data().asByteBuffer().order(ByteOrder.LITTLE_ENDIAN);
    for (var value : values) {
      write.write(out, value);
    }
    return tensor;
  }

  private static Failure invalid(String field, String message) {
    return new Failure.Refused(Code.INVALID_TENSOR, field, message);
  }

  // -- responses

  static ModelInferResponse response(ModelInferRequest request, Inference inference) {
    var response =
        ModelInferResponse.newBuilder()
            .setModelName(inference.model().name())
            .setModelVersion(inference.model().version())
            .setId(request.getId());
    inference.parameters().forEach((name, value) -> response.putParameters(name, parameter(value)));
    inference
        .result()
        .outputs()
        .forEach((name, output) -> {
          switch (output) {
            case Result.Output.Inline(var tensor) -> {
              response.addOutputs(output(name, tensor.type()));
              response.addRawOutputContents(Messages.bytes(tensor.data()));
            }
            case Result.Output.Resident(var info) ->
                response.addOutputs(
                    output(name, info.type())
                        .putParameters(InferenceRequest.TENSOR_HANDLE, parameter(info.handle())));
          }
        });
    return response.build();
  }

  private static ModelInferResponse.InferOutputTensor.Builder output(String name, TensorType type) {
    return ModelInferResponse.InferOutputTensor.newBuilder()
        .setName(name)
        .setDatatype(Datatypes.name(type.dtype()))
        .addAllShape(type.shape().extents());
  }

  private static InferParameter parameter(Object value) {
    var parameter = InferParameter.newBuilder();
    return switch (value) {
      case Boolean flag -> parameter.setBoolParam(flag).build();
      case Long integer -> parameter.setInt64Param(integer).build();
      case Double number -> parameter.setDoubleParam(number).build();
      default -> parameter.setStringParam(value.toString()).build();
    };
  }
}
