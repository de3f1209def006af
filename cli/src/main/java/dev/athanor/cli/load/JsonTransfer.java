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
 * Moves the contents of resident f32 tensors as lists of numbers.
 *
 * @param in whether they go to the service
 * @param count of the numbers of a tensor
 */
record JsonTransfer(String text, boolean in, int count, long seed) implements Scenario {

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
    // what is put must not be there already
    var first = in ? HostTensor.of(new float[count]) : contents;
    var body =
        in
            ? "{\"dtype\":\"f32\",\"shape\":[%d],\"data\":%s}"
                .formatted(count, Arrays.toString(numbers).replace(" ", ""))
                .getBytes(StandardCharsets.UTF_8)
            : null;
    var held = new ArrayList<Tensor>();
    var requests = new ArrayList<JsonRequest>();
    for (int slot = 0; slot < slots; slot++) {
      var tensor = target.http().upload(first);
      held.add(tensor);
      var path = "/tensors/%s/data".formatted(tensor.handle());
      requests.add(target.json(in ? "PUT" : "GET", path, body));
    }
    return new Moving(in, numbers, contents, held, requests);
  }

  /**
   * Requests of transfers.
   *
   * @param requests by slot
   */
  @SuppressWarnings("ArrayRecordComponent") // read only, never compared
  private record Moving(
      boolean in,
      float[] numbers,
      HostTensor contents,
      List<Tensor> held,
      List<JsonRequest> requests)
      implements Ready {

    @Override
    public Answer send(int slot, boolean check) throws Refused, InterruptedException {
      return requests.get(slot).send(check, answer -> in || isRight(answer.path("data")));
    }

    private boolean isRight(JsonNode data) {
      boolean same = data.size() == numbers.length;
      for (int i = 0; same && i < numbers.length; i++) {
        same = data.get(i).floatValue() == numbers[i];
      }
      return same;
    }

    @Override
    public boolean left() {
      return Transfer.holdAll(held, contents);
    }
  }
}
