package dev.athanor.cli.load;

import dev.athanor.ops.DType;
import dev.athanor.ops.TensorType;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.json.JsonMapper;

/**
 * Moves the contents of resident tensors.
 *
 * @param in whether they go to the service
 */
record Transfer(String text, boolean in, Form form, TensorType type, long seed)
    implements Scenario {

  /** How they travel. */
  enum Form {
    /** The body is the bytes. */
    RAW,
    /** The body is a list of numbers. */
    JSON,
    /** A stream of messages. */
    GRPC
  }

  private static final JsonMapper JSON = new JsonMapper();
  private static final ValueLayout.OfFloat FLOAT =
      ValueLayout.JAVA_FLOAT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

  @Override
  public long bytes() {
    return type.bytes();
  }

  @Override
  public Ready prepare(Client client, Resident resident, int slots) throws InterruptedException {
    var random = new SplittableRandom(seed);
    var raw = new byte[Math.toIntExact(type.bytes())];
    if (type.dtype() == DType.F32) {
      var floats = MemorySegment.ofArray(raw);
      for (long i = 0; i < raw.length / Float.BYTES; i++) {
        floats.setAtIndex(FLOAT, i, (float) random.nextGaussian());
      }
    } else {
      random.nextBytes(raw);
    }
    // what is put must not be there already
    var first = new Body(in ? new byte[raw.length] : raw);
    var handles = new ArrayList<String>();
    for (int slot = 0; slot < slots; slot++) {
      handles.add(resident.put(type, first));
    }
    return new Moving(
        resident,
        handles,
        form == Form.GRPC ? messages(client.grpc(), handles, raw) : bodies(client, handles, raw),
        raw);
  }

  private List<Request> bodies(Client client, List<String> handles, byte[] raw) {
    boolean json = form == Form.JSON;
    var body = !in ? null : new Body(json ? jsonText(raw) : raw);
    var media = json ? "application/json" : "application/octet-stream";
    var requests = new ArrayList<Request>();
    for (var handle : handles) {
      var request = client.request(in ? "PUT" : "GET", Resident.path(handle), media, body);
      requests.add(keep -> client.send(request, keep));
    }
    return requests;
  }

  private List<Request> messages(GrpcClient client, List<String> handles, byte[] raw) {
    var requests = new ArrayList<Request>();
    for (var handle : handles) {
      if (in) {
        var messages = GrpcClient.replacing(handle, type, raw);
        requests.add(_ -> client.put(messages));
      } else {
        requests.add(keep -> client.get(handle, keep));
      }
    }
    return requests;
  }

  /** A request that can be sent many times. */
  @FunctionalInterface
  private interface Request {
    Client.Answer send(boolean keep) throws IOException, InterruptedException;
  }

  private byte[] jsonText(byte[] raw) {
    var text = new StringBuilder("{\"dtype\":\"f32\",\"shape\":" + type.shape() + ",\"data\":[");
    var floats = MemorySegment.ofArray(raw);
    for (long i = 0; i < raw.length / Float.BYTES; i++) {
      text.append(i == 0 ? "" : ",").append(floats.getAtIndex(FLOAT, i));
    }
    return text.append("]}").toString().getBytes(StandardCharsets.UTF_8);
  }

  private final class Moving implements Ready {
    private final Resident resident;
    private final List<String> handles;
    private final List<Request> requests;
    private final byte[] raw;

    Moving(Resident resident, List<String> handles, List<Request> requests, byte[] raw) {
      this.resident = resident;
      this.handles = handles;
      this.requests = requests;
      this.raw = raw;
    }

    @Override
    public Client.Answer send(int slot, boolean keep) throws IOException, InterruptedException {
      return requests.get(slot).send(keep);
    }

    @Override
    public boolean right(byte[] body) {
      return in || (form == Form.JSON ? sameNumbers(body) : Arrays.equals(body, raw));
    }

    private boolean sameNumbers(byte[] body) {
      try {
        var data = JSON.readTree(body).path("data");
        var floats = MemorySegment.ofArray(raw);
        boolean same = data.size() == raw.length / Float.BYTES;
        for (int i = 0; same && i < data.size(); i++) {
          same = data.get(i).floatValue() == floats.getAtIndex(FLOAT, i);
        }
        return same;
      } catch (JacksonException e) {
        return false;
      }
    }

    @Override
    public boolean left() throws InterruptedException {
      boolean same = true;
      for (var handle : handles) {
        same &= resident.holds(handle, raw);
      }
      return same;
    }
  }
}
