package dev.athanor.cli.load;

import dev.athanor.client.DType;
import dev.athanor.client.HostTensor;
import dev.athanor.client.Tensor;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;

/**
 * Moves the bytes of resident tensors.
 *
 * @param in whether they go to the service
 * @param size of a tensor
 */
record Transfer(String text, boolean in, boolean grpc, int size, long seed) implements Scenario {

  @Override
  public long bytes() {
    return size;
  }

  @Override
  public Ready prepare(Target target, int slots) {
    var random = new byte[size];
    new SplittableRandom(seed).nextBytes(random);
    // outside of the heap, so that the socket takes it without a copy
    var contents = HostTensor.of(DType.U8, ByteBuffer.allocateDirect(size).put(random).flip());
    // what is put must not be there already
    var first = in ? HostTensor.of(DType.U8, new byte[size]) : contents;
    var held = new ArrayList<Tensor>();
    var measured = new ArrayList<Tensor>();
    for (int slot = 0; slot < slots; slot++) {
      var tensor = target.http().upload(first);
      held.add(tensor);
      measured.add(grpc ? target.grpc().attach(tensor.handle()) : tensor);
    }
    return new Moving(in, contents, held, measured, ByteBuffer.allocate(in ? 0 : size));
  }

  /**
   * Requests of transfers.
   *
   * @param held the tensors, looked at over HTTP in the end
   * @param measured the same, by slot, by the client that is measured
   * @param unread takes what is not checked, from all slots
   */
  private record Moving(
      boolean in, HostTensor contents, List<Tensor> held, List<Tensor> measured, ByteBuffer unread)
      implements Ready {

    @Override
    public Answer send(int slot, boolean check) {
      if (in) {
        measured.get(slot).update(contents);
        return new Answer(Map.of(), () -> true);
      }
      var read = check ? ByteBuffer.allocate(unread.capacity()) : unread;
      measured.get(slot).download(0, read);
      return new Answer(Map.of(), () -> read.equals(contents.buffer()));
    }

    @Override
    public boolean left() {
      return holdAll(held, contents);
    }
  }

  /** Whether all tensors hold these contents. */
  static boolean holdAll(List<Tensor> tensors, HostTensor contents) {
    return tensors.stream()
        .allMatch(tensor -> tensor.download().buffer().equals(contents.buffer()));
  }
}
