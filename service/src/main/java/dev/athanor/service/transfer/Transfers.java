package dev.athanor.service.transfer;

import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Stream;
import dev.athanor.service.codec.Elements;
import dev.athanor.service.device.DeviceRuntime;
import dev.athanor.service.device.Piece;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.stream.Job;
import dev.athanor.service.stream.RequestContext;
import dev.athanor.service.stream.StreamPool;
import dev.athanor.service.tensor.Pin;
import dev.athanor.service.tensor.Pin.Access;
import dev.athanor.service.tensor.Snapshot;
import dev.athanor.service.tensor.TenantTensors.Charge;
import dev.athanor.service.tensor.TensorInfo;
import dev.athanor.service.tensor.TensorOptions;
import dev.athanor.service.tensor.TensorStore;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
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
  public static long cost(long bytes) {
    return 10_000 + bytes / 10; // 10 GB/s
  }

  /**
   * Makes a tensor resident. Its elements go up as they come.
   *
   * @param charge its share of the quota, of the right size; given back when this fails
   * @throws IOException when they cannot be read
   */
  public TensorInfo create(
      Elements elements, Charge charge, TensorOptions options, RequestContext terms)
      throws IOException {
    var type = elements.type();
    DeviceRuntime place;
    try {
      place = placement.ofTensor(terms.tenant(), type.bytes(), options.device());
    } catch (RuntimeException e) {
      charge.close();
      throw e;
    }
    return bring(
        elements, new TensorUpload.New(place.memory(), type, charge, options), () -> {}, terms);
  }

  /**
   * Replaces the contents of a tensor, once all of them have come.
   *
   * @param matches whether the version is one that may be replaced
   * @throws Failure.Refused with {@code version-mismatch} when it may not, or {@code
   *     shape-mismatch} when the new contents have another type
   * @throws IOException when they cannot be read
   */
  public TensorInfo replace(
      String handle, Elements contents, LongPredicate matches, RequestContext terms)
      throws IOException {
    var tensors = store.of(terms.tenant());
    tensors.requireWritable(handle, "handle");
    var pin = tensors.pin(handle, "handle");
    if (!pin.type().equals(contents.type())) {
      pin.close();
      throw new Failure.Refused(
          Code.SHAPE_MISMATCH,
          "the tensor is %s, the new contents are %s; they must be equal"
              .formatted(pin.type(), contents.type()));
    }
    var memory = placement.at(pin.home()).memory();
    return bring(
        contents,
        new TensorUpload.Replacing(memory, pin),
        () -> {
          streams.locks().lock(pin, Access.WRITE, terms);
          if (!matches.test(pin.version())) {
            throw mismatch(pin.version());
          }
        },
        terms);
  }

  /** Returns the failure of a request whose {@code If-Match} does not match the version. */
  public static Failure mismatch(long version) {
    return new Failure.Refused(
        Code.VERSION_MISMATCH,
        "If-Match",
        "If-Match does not match version %d of the tensor; read the tensor again"
            .formatted(version));
  }

  /** Has the elements go up; {@code beforeLast} is done when the last have come. */
  private TensorInfo bring(
      Elements elements, TensorUpload incoming, Runnable beforeLast, RequestContext terms)
      throws IOException {
    try (incoming) {
      while (elements.left() > 0) {
        long at = elements.at();
        var piece = incoming.memory().stage(elements.left());
        MemorySegment filled;
        try {
          filled = elements.read(piece.bytes());
          if (elements.left() == 0) {
            beforeLast.run();
          }
        } catch (IOException | RuntimeException | Error e) {
          piece.close();
          throw e;
        }
        var job = new Bring(incoming.hold(), piece, filled, at, elements.left() == 0);
        streams.run(job, terms);
      }
      return incoming.info();
    }
  }

  /**
   * Brings a piece to the device.
   *
   * @param filled what the client has sent
   * @param at where in the tensor it begins, in bytes
   */
  private record Bring(
      TensorUpload incoming, Piece piece, MemorySegment filled, long at, boolean isLast)
      implements Job {
    @Override
    public int device() {
      return incoming.memory().number();
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
      return filled.byteSize();
    }

    @Override
    public boolean goesOn() {
      return at > 0;
    }

    @Override
    public void run(Stream stream) {
      incoming.take(stream, filled, at, isLast);
      stream.synchronize();
    }

    @Override
    public void commit(Stream stream) {
      if (isLast) {
        incoming.finish(stream, filled, at);
      }
    }

    @Override
    public void close() {
      piece.close();
      incoming.close();
    }
  }

  /**
   * Reads a tensor piece by piece, all of the version that it has now: writes do not wait for the
   * reader, they copy that version first.
   */
  public Reader open(String handle, RequestContext terms) {
    var pin = store.of(terms.tenant()).pin(handle, "handle");
    var first = pin.again();
    try {
      streams.locks().lock(first, Access.READ, terms);
      return new Reader(pin, first, terms);
    } catch (RuntimeException e) {
      first.close();
      pin.close();
      throw e;
    }
  }

  /** A tensor that is being read; close it. */
  public final class Reader implements AutoCloseable {
    private final Pin pin;
    private final Snapshot snapshot;
    private final RequestContext terms;

    /** The lock for the first piece: a tensor that is read at once is never copied. */
    private @Nullable Pin first;

    private Reader(Pin pin, Pin first, RequestContext terms) {
      this.pin = pin;
      this.first = first;
      this.terms = terms;
      snapshot = first.snapshot();
    }

    /** What is read, at the version that is read. */
    public TensorInfo info() {
      return snapshot.info();
    }

    /** Reads a part, at least 1 byte, in pieces as it suits the device. */
    public ReadAhead pieces(long offset, long length) {
      return new ReadAhead(this, this::beginPiece, offset, length);
    }

    /** Reads a part, at least 1 byte, in chunks of the heap, which need not be closed. */
    public ReadAhead chunks(long offset, long length, int chunkBytes) {
      return new ReadAhead(
          this, (at, left) -> begin(at, (int) Math.min(left, chunkBytes)), offset, length);
    }

    /**
     * Begins to read some bytes, and waits for nothing but a write that is under way: so a client
     * can be sent a piece while the next one comes.
     *
     * @throws Failure.Refused with {@code handle-in-use} when the tensor was overwritten since the
     *     reader was opened and there was no memory or no quota for a copy of the old version
     */
    private Reading begin(long offset, int length) {
      return begin(offset, new Piece(MemorySegment.ofArray(new byte[length]), () -> {}));
    }

    /**
     * Begins to read as many bytes as there are, up to a length, and as it suits the device to hand
     * over at once.
     *
     * @throws Failure as for {@link #begin(long, int)}
     */
    private Reading beginPiece(long offset, long length) {
      return begin(offset, placement.at(pin.home()).memory().stage(length));
    }

    private Reading begin(long offset, Piece piece) {
      boolean goesOn = first == null;
      Read job;
      try {
        // holds of its own: the read may outlive its client
        job = new Read(locked(), snapshot.again(), offset, piece, goesOn);
      } catch (RuntimeException e) {
        piece.close();
        throw e;
      }
      return new Reading(piece, streams.start(job, terms));
    }

    /**
     * Reads some bytes.
     *
     * @throws Failure as for {@link #begin(long, int)}
     */
    public MemorySegment read(long offset, int length) {
      return begin(offset, length).await().bytes();
    }

    /**
     * Reads a piece; see {@link #beginPiece}. It is the caller's until it closes it.
     *
     * @throws Failure as for {@link #begin(long, int)}
     */
    public Piece readPiece(long offset, long length) {
      return beginPiece(offset, length).await();
    }

    /** A pin that is locked, unless the version was copied. */
    private Pin locked() {
      var held = first;
      first = null;
      if (held != null) {
        return held;
      }
      held = pin.again();
      try {
        if (snapshot.copy() == null) {
          streams.locks().lock(held, Access.READ, terms);
        }
        if (snapshot.copy() == null && held.version() != info().version()) {
          throw new Failure.Refused(
              Code.HANDLE_IN_USE,
              "the tensor was overwritten while it was read, and there was no memory for a copy of"
                  + " the old version; read it again");
        }
        return held;
      } catch (RuntimeException e) {
        held.close();
        throw e;
      }
    }

    @Override
    public void close() {
      if (first != null) {
        first.close();
      }
      snapshot.close();
      pin.close();
    }
  }

  /** A piece on its way from the device; close it if nobody waits for it. */
  static final class Reading implements AutoCloseable {
    private final Piece piece;
    private final StreamPool.Submitted job;
    private boolean isOver;

    private Reading(Piece piece, StreamPool.Submitted job) {
      this.piece = piece;
      this.job = job;
    }

    /** How many bytes there will be. */
    long length() {
      return piece.bytes().byteSize();
    }

    /**
     * Waits for the piece, which is the caller's then.
     *
     * @throws Failure when it cannot be read
     */
    Piece await() {
      isOver = true; // a job that fails gives its piece back itself
      job.await();
      return piece;
    }

    @Override
    public void close() {
      if (!isOver) {
        isOver = true;
        if (job.cancel()) {
          piece.close();
        }
      }
    }
  }

  private static final class Read implements Job {
    private final Pin pin;
    private final Snapshot snapshot;
    private final Buffer source;
    private final long offset;
    private final Piece target;
    private final boolean goesOn;
    private boolean isRead;

    Read(Pin pin, Snapshot snapshot, long offset, Piece target, boolean goesOn) {
      this.pin = pin;
      this.snapshot = snapshot;
      this.offset = offset;
      this.target = target;
      this.goesOn = goesOn;
      var copy = snapshot.copy();
      source = copy == null ? pin.tensor().buffer() : copy;
    }

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
      return target.bytes().byteSize();
    }

    @Override
    public boolean goesOn() {
      return goesOn;
    }

    @Override
    public void run(Stream stream) {
      stream.download(source, offset, target.bytes());
      stream.synchronize();
    }

    /** Somebody waits for it, who has the target now. */
    @Override
    public void commit(Stream stream) {
      isRead = true;
    }

    @Override
    public void close() {
      snapshot.close();
      pin.close();
      if (!isRead) {
        target.close();
      }
    }
  }
}
