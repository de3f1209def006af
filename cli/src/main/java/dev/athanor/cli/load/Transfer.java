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
 * Transfers resident tensors as bytes.
 *
 * @param upload whether tensors are sent to the service
 * @param size bytes per tensor
 */
record Transfer(String text, boolean upload, boolean grpc, int size, long seed)
    implements Scenario {

  @Override
  public long bytes() {
    return size;
  }

  @Override
  public Ready prepare(Target target, int slots) {
    var random = new byte[size];
    new SplittableRandom(seed).nextBytes(random);
    // off-heap, so that the socket needs no copy
    var contents = HostTensor.of(DType.U8, ByteBuffer.allocateDirect(size).put(random).flip());
    // an upload must change the tensor
    var first = upload ? HostTensor.of(DType.U8, new byte[size]) : contents;
    var tensors = new ArrayList<Tensor>();
    var measured = new ArrayList<Tensor>();
    for (int slot = 0; slot < slots; slot++) {
      var tensor = target.http().upload(first);
      tensors.add(tensor);
      measured.add(grpc ? target.grpc().attach(tensor.handle()) : tensor);
    }
    return new PreparedTransfer(
        upload, contents, tensors, measured, ByteBuffer.allocate(upload ? 0 : size));
  }

  /**
   * The prepared tensors.
   *
   * @param tensors the tensors, which are checked over HTTP after the measurement
   * @param measured the same tensors by slot, bound to the measured client
   * @param unread the destination of unchecked downloads of all slots
   */
  private record PreparedTransfer(
      boolean upload,
      HostTensor contents,
      List<Tensor> tensors,
      List<Tensor> measured,
      ByteBuffer unread)
      implements Ready {

    @Override
    public Response send(int slot, boolean check) {
      if (upload) {
        measured.get(slot).update(contents);
        return new Response(Map.of(), () -> true);
      }
      var read = check ? ByteBuffer.allocate(unread.capacity()) : unread;
      measured.get(slot).download(0, read);
      return new Response(Map.of(), () -> read.equals(contents.buffer()));
    }

    @Override
    public boolean residentTensorsAreCorrect() {
      return allHold(tensors, contents);
    }
  }

  /** Returns whether all tensors have these contents. */
  static boolean allHold(List<Tensor> tensors, HostTensor contents) {
    return tensors.stream()
        .allMatch(tensor -> tensor.download().buffer().equals(contents.buffer()));
  }
}
