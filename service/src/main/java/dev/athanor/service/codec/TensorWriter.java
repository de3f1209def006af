package dev.athanor.service.codec;

import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.TensorType;
import java.lang.foreign.MemorySegment;
import tools.jackson.core.Base64Variants;
import tools.jackson.core.JsonGenerator;
import tools.jackson.databind.util.ByteBufferBackedInputStream;

/** Writes tensors as JSON. */
public final class TensorWriter {

  private TensorWriter() {}

  /** The encoding of data in a response. */
  public enum Encoding {
    JSON,
    BASE64
  }

  /** Writes the members of a tensor's object. */
  public static void writeMembers(JsonGenerator out, HostTensor tensor, Encoding encoding) {
    writeType(out, tensor.type());
    // block formats have no individual elements
    switch (tensor.type().dtype().isBlock() ? Encoding.BASE64 : encoding) {
      case JSON -> {
        out.writeName("data");
        out.writeStartArray();
        writeElements(out, tensor.type().dtype(), tensor.data());
        out.writeEndArray();
      }
      case BASE64 -> {
        out.writeName("base64");
        var bytes = tensor.data().asByteBuffer();
        out.writeBinary(
            Base64Variants.MIME_NO_LINEFEEDS,
            new ByteBufferBackedInputStream(bytes),
            bytes.remaining());
      }
    }
  }

  /** Writes the dtype and shape. */
  public static void writeType(JsonGenerator out, TensorType type) {
    out.writeStringProperty("dtype", type.dtype().text());
    out.writeName("shape");
    out.writeStartArray();
    type.shape().extents().forEach(out::writeNumber);
    out.writeEndArray();
  }

  /** Writes elements as list items, each as the shortest decimal that parses to the same number. */
  public static void writeElements(JsonGenerator out, DType dtype, MemorySegment data) {
    long count = data.byteSize() / dtype.bytes();
    for (long i = 0; i < count; i++) {
      if (dtype == DType.BOOL) {
        out.writeBoolean(dtype.readLong(data, i) != 0);
      } else if (!dtype.isFloat()) {
        out.writeNumber(dtype.readLong(data, i));
      } else {
        double value = dtype.read(data, i);
        if (!Double.isFinite(value)) {
          out.writeString(Double.toString(value));
        } else if (dtype == DType.F64) {
          out.writeNumber(value);
        } else {
          out.writeNumber((float) value);
        }
      }
    }
  }
}
