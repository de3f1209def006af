package dev.athanor.cli.load;

import dev.athanor.client.HostTensor;
import dev.athanor.client.Tensor;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import tools.jackson.databind.JsonNode;

/**
 * Transfers resident f32 tensors as JSON arrays.
 *
 * @param upload whether tensors are sent to the service
 * @param count elements per tensor
 */
record JsonTransfer(String text, boolean upload, int count, long seed) implements Scenario {

  @Override
  public long bytes() {
    return (long) count * Float.BYTES;
  }

  @Override
  public Ready prepare(Target target, int slots) {
    var random = new SplittableRandom(seed);
    var numbers = new float[count];
    for (int i = 0; i < count; i++) {
      numbers[i] = (float) random.nextGaussian();
    }
    var contents = HostTensor.of(numbers);
    // an upload must change the tensor
    var first = upload ? HostTensor.of(new float[count]) : contents;
    var body =
        upload
            ? "{\"dtype\":\"f32\",\"shape\":[%d],\"data\":%s}"
                .formatted(count, Arrays.toString(numbers).replace(" ", ""))
                .getBytes(StandardCharsets.UTF_8)
            : null;
    var tensors = new ArrayList<Tensor>();
    var requests = new ArrayList<JsonRequest>();
    for (int slot = 0; slot < slots; slot++) {
      var tensor = target.http().upload(first);
      tensors.add(tensor);
      var path = "/tensors/%s/data".formatted(tensor.handle());
      requests.add(target.json(upload ? "PUT" : "GET", path, body));
    }
    return new PreparedTransfer(upload, numbers, contents, tensors, requests);
  }

  /**
   * The prepared requests.
   *
   * @param requests one per slot
   */
  @SuppressWarnings("ArrayRecordComponent") // read only, never compared
  private record PreparedTransfer(
      boolean upload,
      float[] numbers,
      HostTensor contents,
      List<Tensor> tensors,
      List<JsonRequest> requests)
      implements Ready {

    @Override
    public Response send(int slot, boolean check) throws RequestFailure, InterruptedException {
      return requests.get(slot).send(check, answer -> upload || isCorrect(answer.path("data")));
    }

    private boolean isCorrect(JsonNode data) {
      boolean same = data.size() == numbers.length;
      for (int i = 0; same && i < numbers.length; i++) {
        same = data.get(i).floatValue() == numbers[i];
      }
      return same;
    }

    @Override
    public boolean residentTensorsAreCorrect() {
      return Transfer.allHold(tensors, contents);
    }
  }
}
