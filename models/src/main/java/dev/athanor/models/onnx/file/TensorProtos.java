package dev.athanor.models.onnx.file;

import dev.athanor.models.ModelException;
import dev.athanor.models.onnx.proto.TensorProto;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/** Reads the tensors of ONNX files. */
public final class TensorProtos {

  /** The dtypes by the numbers of {@code TensorProto.DataType}. */
  private static final Map<Integer, DType> DTYPES =
      Map.ofEntries(
          Map.entry(1, DType.F32),
          Map.entry(2, DType.U8),
          Map.entry(3, DType.I8),
          Map.entry(5, DType.I16),
          Map.entry(6, DType.I32),
          Map.entry(7, DType.I64),
          Map.entry(9, DType.BOOL),
          Map.entry(10, DType.F16),
          Map.entry(11, DType.F64),
          Map.entry(12, DType.U32),
          Map.entry(16, DType.BF16),
          Map.entry(17, DType.E4M3),
          Map.entry(19, DType.E5M2));

  private TensorProtos() {}

  /** Returns the dtype with a number of ONNX, unless no op supports it. */
  public static Optional<DType> dtype(long number) {
    return Optional.ofNullable(DTYPES.get((int) number)).filter(_ -> number == (int) number);
  }

  /**
   * Reads a tensor whose elements are in the message.
   *
   * @throws ModelException.Malformed if there are too few or too many elements
   */
  public static HostTensor read(TensorProto tensor) {
    return read(tensor, Map.of());
  }

  /**
   * Reads a tensor. Its elements are in the message, or in another file of the model's folder; they
   * are not copied if they are bytes.
   *
   * @param folder the files of the folder by their paths
   * @throws ModelException.Malformed if there are too few or too many elements, or the other file
   *     does not have them
   */
  public static HostTensor read(TensorProto tensor, Map<String, MemorySegment> folder) {
    var name = "tensor \"%s\"".formatted(tensor.getName());
    var dtype =
        dtype(tensor.getDataType())
            .orElseThrow(() ->
                new ModelException.Malformed(
                    "%s has the data type %d of ONNX, which no op supports"
                        .formatted(name, tensor.getDataType())));
    if (tensor.getDimsList().stream().anyMatch(extent -> extent < 0)) {
      throw new ModelException.Malformed(
          "%s has the shape %s; every extent must be at least 0"
              .formatted(name, tensor.getDimsList()));
    }
    TensorType type;
    try {
      type = new TensorType(dtype, new Shape(tensor.getDimsList()));
      type.bytes();
    } catch (ArithmeticException e) {
      throw new ModelException.Malformed(
          "%s has the shape %s, which is too large".formatted(name, tensor.getDimsList()));
    }
    if (tensor.getDataLocation() == TensorProto.DataLocation.EXTERNAL) {
      return external(name, tensor, type, folder);
    }
    if (tensor.hasRawData()) {
      requireSize(name, type, tensor.getRawData().size(), type.bytes(), "bytes");
      return new HostTensor(
          type, MemorySegment.ofBuffer(tensor.getRawData().asReadOnlyByteBuffer()));
    }
    return numbers(name, tensor, type);
  }

  private static HostTensor external(
      String name, TensorProto tensor, TensorType type, Map<String, MemorySegment> folder) {
    var where = new HashMap<String, String>();
    tensor.getExternalDataList().forEach(each -> where.put(each.getKey(), each.getValue()));
    var location = where.getOrDefault("location", "");
    var file = folder.get(location.startsWith("./") ? location.substring(2) : location);
    if (file == null) {
      throw new ModelException.Malformed(
          "%s is stored in the file \"%s\", which the model's folder does not have; store the folder as a zip"
              .formatted(name, location));
    }
    long length = number(name, where, "length", type.bytes());
    requireSize(name, type, length, type.bytes(), "bytes");
    long offset = number(name, where, "offset", 0);
    if (offset > file.byteSize() - length) {
      throw new ModelException.Malformed(
          "%s has %d bytes from byte %d of \"%s\", which ends after %d bytes"
              .formatted(name, length, offset, location, file.byteSize()));
    }
    return new HostTensor(type, file.asSlice(offset, length));
  }

  private static long number(
      String name, Map<String, String> where, String key, long defaultValue) {
    var text = where.get(key);
    if (text != null && !text.matches("\\d{1,18}")) {
      throw new ModelException.Malformed(
          "%s has the %s \"%s\" in its file; it must be a number of bytes"
              .formatted(name, key, text));
    }
    return text == null ? defaultValue : Long.parseLong(text);
  }

  private static HostTensor numbers(String name, TensorProto tensor, TensorType type) {
    int count =
        switch (type.dtype()) {
          case F32 -> tensor.getFloatDataCount();
          case F64 -> tensor.getDoubleDataCount();
          case I64 -> tensor.getInt64DataCount();
          case U32 -> tensor.getUint64DataCount();
          default -> tensor.getInt32DataCount();
        };
    requireSize(name, type, count, type.shape().elements(), "elements");
    var read = HostTensor.zeros(type);
    for (int i = 0; i < count; i++) {
      switch (type.dtype()) {
        case F32 -> type.dtype().write(read.data(), i, tensor.getFloatData(i));
        case F64 -> type.dtype().write(read.data(), i, tensor.getDoubleData(i));
        case I64 -> read.data().setAtIndex(Layouts.LONG, i, tensor.getInt64Data(i));
        case U32 -> type.dtype().write(read.data(), i, (double) tensor.getUint64Data(i));
        // bits of 16 and 8-bit floating-point numbers
        case F16, BF16 -> read.data().setAtIndex(Layouts.SHORT, i, (short) tensor.getInt32Data(i));
        case E4M3, E5M2 -> read.data().set(Layouts.BYTE, i, (byte) tensor.getInt32Data(i));
        default -> type.dtype().write(read.data(), i, tensor.getInt32Data(i));
      }
    }
    return read;
  }

  private static void requireSize(
      String name, TensorType type, long given, long expected, String unit) {
    if (given != expected) {
      throw new ModelException.Malformed(
          "%s is %s, which has %d %s; the file has %d"
              .formatted(name, type, expected, unit, given));
    }
  }
}
