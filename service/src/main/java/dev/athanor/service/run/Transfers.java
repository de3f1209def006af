package dev.athanor.service.run;

import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Stream;
import dev.athanor.ops.HostTensor;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.tensor.Pin;
import dev.athanor.service.tensor.Pin.Access;
import dev.athanor.service.tensor.TenantTensors.Charge;
import dev.athanor.service.tensor.TensorInfo;
import dev.athanor.service.tensor.TensorOptions;
import dev.athanor.service.tensor.TensorStore;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.function.LongPredicate;
import org.jspecify.annotations.Nullable;

/** Moves the contents of resident tensors between client and device. */
public final class Transfers {

  /** The kinds of transfers, for estimates. */
  private enum Direction {
    UPLOAD,
    DOWNLOAD
  }

  private final Placement placement;
  private final TensorStore store;
  private final StreamPool streams;

  public Transfers(Placement placement, TensorStore store, StreamPool streams) {
    this.placement = placement;
    this.store = store;
    this.streams = streams;
  }

  /** How long a copy between host and device takes, by the estimate, in nanoseconds. */
  static long cost(long bytes) {
    return 10_000 + bytes / 10; // 10 GB/s
  }

  /**
   * Makes a tensor resident.
   *
   * @param charge its share of the quota, of the right size; given back when this fails
   */
  public TensorInfo create(HostTensor tensor, Charge charge, TensorOptions options, Terms terms) {
    Place place;
    try {
      place = placement.ofTensor(terms.tenant(), tensor.type().bytes(), options.device());
    } catch (RuntimeException e) {
      charge.close();
      throw e;
    }
    var job = new Create(tensor, charge, options, place.memory());
    streams.run(job, terms);
    return Objects.requireNonNull(job.info);
  }

  private static final class Create implements Job {
    private final HostTensor tensor;
    private final Charge charge;
    private final TensorOptions options;
    private final DeviceMemory memory;
    private @Nullable Buffer buffer;
    private @Nullable TensorInfo info;

    Create(HostTensor tensor, Charge charge, TensorOptions options, DeviceMemory memory) {
      this.tensor = tensor;
      this.charge = charge;
      this.options = options;
      this.memory = memory;
    }

    @Override
    public int device() {
      return memory.number();
    }

    @Override
    public Object kind() {
      return Direction.UPLOAD;
    }

    @Override
    public long cost() {
      return Transfers.cost(hostBytes());
    }

    @Override
    public long hostBytes() {
      return tensor.type().bytes();
    }

    @Override
    public void run(Stream stream) {
      var allocated = memory.allocate(tensor.type().bytes());
      buffer = allocated;
      stream.upload(tensor.data(), allocated, 0);
      stream.synchronize();
    }

    @Override
    public void commit(Stream stream) {
      info = charge.add(tensor.type(), memory, Objects.requireNonNull(buffer), options);
    }

    @Override
    public void close() {
      if (info == null) {
        charge.close();
        if (buffer != null) {
          memory.free(buffer);
        }
      }
    }
  }

  /**
   * Replaces the contents of a tensor.
   *
   * @param matches whether the version is one that may be replaced
   * @throws Failure.Refused with {@code version-mismatch} when it may not, or {@code
   *     shape-mismatch} when the new contents have another type
   */
  public TensorInfo replace(
      String handle, HostTensor contents, LongPredicate matches, Terms terms) {
    var pin = store.of(terms.tenant()).pin(handle, "handle");
    var job = new Replace(pin, contents);
    try {
      if (!pin.type().equals(contents.type())) {
        throw new Failure.Refused(
            Code.SHAPE_MISMATCH,
            "the tensor is %s, the new contents are %s; they must be equal"
                .formatted(pin.type(), contents.type()));
      }
      pin.lock(Access.WRITE, terms.deadline());
      if (!matches.test(pin.version())) {
        throw new Failure.Refused(
            Code.VERSION_MISMATCH,
            "If-Match",
            "the tensor is at version %d, which If-Match does not name; read it again"
                .formatted(pin.version()));
      }
    } catch (RuntimeException e) {
      job.close();
      throw e;
    }
    streams.run(job, terms);
    return Objects.requireNonNull(job.info);
  }

  /** Writes in the commit, so that a call that is too late changes nothing. */
  private static final class Replace implements Job {
    private final Pin pin;
    private final HostTensor contents;
    private boolean touched;
    private @Nullable TensorInfo info;

    Replace(Pin pin, HostTensor contents) {
      this.pin = pin;
      this.contents = contents;
    }

    @Override
    public int device() {
      return pin.home().number();
    }

    @Override
    public Object kind() {
      return Direction.UPLOAD;
    }

    @Override
    public long cost() {
      return Transfers.cost(hostBytes());
    }

    @Override
    public long hostBytes() {
      return contents.type().bytes();
    }

    @Override
    public void run(Stream stream) {
      // nothing that could be taken back
    }

    @Override
    public void commit(Stream stream) {
      touched = true;
      stream.upload(contents.data(), pin.tensor().buffer(), 0);
      stream.synchronize();
      info = pin.written();
    }

    @Override
    public void close() {
      if (touched && info == null) {
        pin.written(); // nobody knows what a copy that failed has left there
      }
      pin.close();
    }
  }

  /** Reads a tensor piece by piece, all of one version. */
  public Reader open(String handle, Terms terms) {
    return new Reader(store.of(terms.tenant()).pin(handle, "handle"), terms);
  }

  /** A tensor that is being read; close it. */
  public final class Reader implements AutoCloseable {
    private final Pin pin;
    private final TensorInfo info;
    private final Terms terms;

    private Reader(Pin pin, Terms terms) {
      this.pin = pin;
      this.terms = terms;
      this.info = pin.info();
    }

    /** What is read, at the version that is read. */
    public TensorInfo info() {
      return info;
    }

    /**
     * Reads some bytes.
     *
     * @throws Failure.Refused with {@code version-mismatch} when the tensor was written since the
     *     reader was opened
     */
    public MemorySegment read(long offset, int length) {
      return read(offset, MemorySegment.ofArray(new byte[length]));
    }

    /**
     * Reads as many bytes as {@code target} has, which belongs to the read until this returns, and
     * for good when it fails.
     *
     * @return the target
     * @throws Failure.Refused as for {@link #read(long, int)}
     */
    public MemorySegment read(long offset, MemorySegment target) {
      // a pin of its own: the read may outlive its client
      var job = new Read(pin.again(), offset, target);
      try {
        job.pin.lock(Access.READ, terms.deadline());
        if (job.pin.version() != info.version()) {
          throw new Failure.Refused(
              Code.VERSION_MISMATCH,
              "the tensor was written while it was being read; read it again");
        }
      } catch (RuntimeException e) {
        job.close();
        throw e;
      }
      streams.run(job, terms);
      return job.target;
    }

    @Override
    public void close() {
      pin.close();
    }
  }

  private record Read(Pin pin, long offset, MemorySegment target) implements Job {
    @Override
    public int device() {
      return pin.home().number();
    }

    @Override
    public Object kind() {
      return Direction.DOWNLOAD;
    }

    @Override
    public long cost() {
      return Transfers.cost(hostBytes());
    }

    @Override
    public long hostBytes() {
      return target.byteSize();
    }

    @Override
    public void run(Stream stream) {
      stream.download(pin.tensor().buffer(), offset, target);
      stream.synchronize();
    }

    @Override
    public void close() {
      pin.close();
    }
  }
}
