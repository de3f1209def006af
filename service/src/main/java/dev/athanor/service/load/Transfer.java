package dev.athanor.service.load;

import dev.athanor.ops.DType;
import dev.athanor.ops.TensorType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.http.HttpRequest;
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
 * @param json whether they travel as a list of numbers
 */
record Transfer(String text, boolean in, boolean json, TensorType type, long seed)
    implements Scenario {

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
    var body = !in ? null : new Body(json ? jsonText(raw) : raw);
    var handles = new ArrayList<String>();
    var requests = new ArrayList<HttpRequest>();
    for (int slot = 0; slot < slots; slot++) {
      var handle = resident.put(type, first);
      handles.add(handle);
      requests.add(
          client.request(
              in ? "PUT" : "GET",
              Resident.path(handle),
              json ? "application/json" : "application/octet-stream",
              body));
    }
    return new Moving(resident, handles, requests, raw);
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
    private final List<HttpRequest> requests;
    private final byte[] raw;

    Moving(Resident resident, List<String> handles, List<HttpRequest> requests, byte[] raw) {
      this.resident = resident;
      this.handles = handles;
      this.requests = requests;
      this.raw = raw;
    }

    @Override
    public HttpRequest request(int slot) {
      return requests.get(slot);
    }

    @Override
    public boolean right(byte[] body) {
      return in || (json ? sameNumbers(body) : Arrays.equals(body, raw));
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
