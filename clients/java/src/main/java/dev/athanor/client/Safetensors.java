package dev.athanor.client;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Files in the safetensors format: header length, JSON header, and the bytes of the tensors. */
public final class Safetensors {

  private static final JsonMapper JSON = new JsonMapper();
  private static final String METADATA = "__metadata__";
  private static final int ALIGNMENT = 8;

  private Safetensors() {}

  /** A tensor's entry in the header. {@code begin} counts from the end of the header. */
  private record Entry(String name, DType dtype, List<Long> shape, long begin, long bytes) {}

  /**
   * Maps the tensors of a file, by name. The file may have any size, each tensor at most 2 GiB.
   *
   * @throws IOException if the file cannot be read, or is no valid safetensors file
   */
  public static Map<String, HostTensor> read(Path file) throws IOException {
    try (var channel = FileChannel.open(file)) {
      long front = Math.min(channel.size(), Integer.MAX_VALUE);
      var bytes = channel.map(FileChannel.MapMode.READ_ONLY, 0, front);
      var header = header(bytes);
      long values = bytes.position();
      var tensors = new LinkedHashMap<String, HostTensor>();
      for (var entry : entries(header, channel.size() - values)) {
        var data =
            channel.map(FileChannel.MapMode.READ_ONLY, values + entry.begin(), entry.bytes());
        tensors.put(entry.name(), HostTensor.wrap(entry.dtype(), entry.shape(), data));
      }
      return tensors;
    } catch (Failures.MalformedAnswer | JacksonException | IllegalArgumentException e) {
      throw new IOException(
          "%s is not a valid safetensors file: %s".formatted(file, e.getMessage()), e);
    }
  }

  /**
   * Writes tensors to a file, in the order of the map.
   *
   * @throws IllegalArgumentException if safetensors has no such dtype: block formats such as q4_k
   */
  public static void write(Path file, Map<String, HostTensor> tensors) throws IOException {
    tensors.forEach((name, tensor) -> {
      if (!canHold(tensor)) {
        throw new IllegalArgumentException(
            "Tensor %s is %s, but safetensors files have no dtype %s."
                .formatted(name, tensor, tensor.dtype().text()));
      }
    });
    try (var channel =
        FileChannel.open(
            file,
            StandardOpenOption.CREATE,
            StandardOpenOption.TRUNCATE_EXISTING,
            StandardOpenOption.WRITE)) {
      for (var piece : encode(tensors)) {
        while (piece.hasRemaining()) {
          channel.write(piece);
        }
      }
    }
  }

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
    for (var entry : entries(header, values.capacity())) {
      var data = values.slice((int) entry.begin(), (int) entry.bytes());
      tensors.put(entry.name(), HostTensor.wrap(entry.dtype(), entry.shape(), data));
    }
    return tensors;
  }

  /**
   * Returns the entries of a header.
   *
   * @param available the number of bytes after the header
   */
  private static List<Entry> entries(JsonNode header, long available) {
    var entries = new ArrayList<Entry>();
    for (var property : header.properties()) {
      if (property.getKey().equals(METADATA)) {
        continue;
      }
      var description = property.getValue();
      var shape = new ArrayList<Long>();
      description.path("shape").forEach(extent -> shape.add(extent.asLong()));
      var offsets = description.path("data_offsets");
      long begin = offsets.path(0).asLong();
      long end = offsets.path(1).asLong();
      if (begin < 0 || end < begin || end > available) {
        throw new Failures.MalformedAnswer("a tensor is outside the safetensors file");
      }
      var dtype = DType.ofSafetensors(description.path("dtype").asString());
      entries.add(new Entry(property.getKey(), dtype, shape, begin, end - begin));
    }
    return entries;
  }
}
