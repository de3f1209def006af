package dev.athanor.cli.load;

import dev.athanor.ops.HostTensor;
import dev.athanor.ops.TensorType;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** Tensors that a scenario keeps on the service. */
public final class Resident {

  private static final Pattern HANDLE = Pattern.compile("\"handle\" ?: ?\"([^\"]+)\"");

  private final Client client;
  private final List<String> handles = new ArrayList<>();

  Resident(Client client) {
    this.client = client;
  }

  /** Puts a tensor there; answers its handle. */
  String put(HostTensor tensor) throws InterruptedException {
    var bytes = tensor.data().toArray(ValueLayout.JAVA_BYTE);
    return put(tensor.type(), new Body(bytes));
  }

  String put(TensorType type, Body body) throws InterruptedException {
    var path =
        "/tensors?dtype=%s&shape=%s"
            .formatted(
                type.dtype().text(),
                type.shape().extents().stream()
                    .map(String::valueOf)
                    .collect(Collectors.joining(",")));
    var answer = client.expect(client.request("POST", path, "application/octet-stream", body));
    return adopt(answer);
  }

  /** Takes over the first handle that an answer names. */
  String adopt(byte[] answer) {
    var text = new String(answer, StandardCharsets.UTF_8);
    var found = HANDLE.matcher(text);
    if (!found.find()) {
      throw new LoadException("an answer has no handle: " + text);
    }
    handles.add(found.group(1));
    return found.group(1);
  }

  byte[] contents(String handle) throws InterruptedException {
    return client.expect(client.request("GET", path(handle), "application/octet-stream", null));
  }

  boolean holds(String handle, byte[] expected) throws InterruptedException {
    return Arrays.equals(contents(handle), expected);
  }

  static String path(String handle) {
    return "/tensors/" + handle + "/data";
  }

  void delete() throws InterruptedException {
    client.delete(handles);
  }
}
