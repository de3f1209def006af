package dev.athanor.client;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** The safetensors format: header length, JSON header, and the bytes of the tensors. */
final class Safetensors {

  private static final JsonMapper JSON = new JsonMapper();
  private static final String METADATA = "__metadata__";
  private static final int ALIGNMENT = 8;

  private Safetensors() {}

  static boolean canHold(HostTensor tensor) {
    return tensor.dtype().safetensors().isPresent();
  }

  /** Returns the pieces of a file; the values are not copied. */
  static List<ByteBuffer> encode(Map<String, HostTensor> tensors) {
    var header = JSON.createObjectNode();
    var pieces = new ArrayList<ByteBuffer>();
    long offset = 0;
    for (var entry : tensors.entrySet()) {
      var tensor = entry.getValue();
      var description = header.putObject(entry.getKey());
      description.put("dtype", tensor.dtype().safetensors().orElseThrow());
      var shape = description.putArray("shape");
      tensor.shape().forEach(shape::add);
      description.putArray("data_offsets").add(offset).add(offset + tensor.byteSize());
      offset += tensor.byteSize();
      pieces.add(tensor.buffer());
    }
    var text = JSON.writeValueAsBytes(header);
    int length = (text.length + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    var front = ByteBuffer.allocate(Long.BYTES + length).order(ByteOrder.LITTLE_ENDIAN);
    front.putLong(length).put(text);
    while (front.hasRemaining()) {
      front.put((byte) ' ');
    }
    pieces.add(0, front.flip());
    return pieces;
  }

  /** Reads the header, after which the values begin. */
  private static JsonNode header(ByteBuffer bytes) {
    bytes.order(ByteOrder.LITTLE_ENDIAN);
    long length = bytes.remaining() < Long.BYTES ? -1 : bytes.getLong();
    if (length < 0 || length > bytes.remaining()) {
      throw new Failures.MalformedAnswer("the safetensors header is incomplete");
    }
    var text = new byte[(int) length];
    bytes.get(text);
    return JSON.readTree(new String(text, StandardCharsets.UTF_8));
  }

  /** Returns the device and kernel in the metadata of a file. */
  static Execution execution(ByteBuffer file) {
    return Json.execution(header(file.slice()).path(METADATA));
  }

  /** Returns the tensors of a file as views of its bytes. */
  static Map<String, HostTensor> decode(ByteBuffer file) {
    var bytes = file.slice();
    var header = header(bytes);
    var values = bytes.slice();
    var tensors = new LinkedHashMap<String, HostTensor>();
    for (var entry : header.properties()) {
      if (entry.getKey().equals(METADATA)) {
        continue;
      }
      var description = entry.getValue();
      var shape = new ArrayList<Long>();
      description.path("shape").forEach(extent -> shape.add(extent.asLong()));
      var offsets = description.path("data_offsets");
      long begin = offsets.path(0).asLong();
      long end = offsets.path(1).asLong();
      if (begin < 0 || end < begin || end > values.capacity()) {
        throw new Failures.MalformedAnswer("a tensor is outside the safetensors file");
      }
      var dtype = DType.ofSafetensors(description.path("dtype").asString());
      var data = values.slice((int) begin, (int) (end - begin));
      tensors.put(entry.getKey(), HostTensor.wrap(dtype, shape, data));
    }
    return tensors;
  }
}
