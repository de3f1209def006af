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

/** Uploads and downloads of resident tensors. */
public final class Transfers {

  /** The kind of a transfer, for cost estimates. */
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

  /** Returns the estimated time of a copy between host and device, in nanoseconds. */
  public static long cost(long bytes) {
    return 10_000 + bytes / 10; // 10 GB/s
  }

  /**
   * Creates a resident tensor. Elements are uploaded while they arrive.
   *
   * @param charge the quota charge for the tensor's size; released on failure
   * @throws IOException if the elements cannot be read
   */
  public TensorInfo create(
      Elements elements, Charge charge, TensorOptions options, RequestContext context)
      throws IOException {
    var type = elements.type();
    DeviceRuntime runtime;
    try {
      runtime = placement.ofTensor(context.tenant(), type.bytes(), options.device());
    } catch (RuntimeException e) {
      charge.close();
      throw e;
    }
    return upload(
        elements, new TensorUpload.New(runtime.memory(), type, charge, options), () -> {}, context);
  }

  /**
   * Replaces the contents of a tensor after all of them have arrived.
   *
   * @param matches whether a version may be replaced
   * @throws Failure.Refused with {@code version-mismatch} if the version does not match, or {@code
   *     shape-mismatch} if the new contents have another type
   * @throws IOException if the elements cannot be read
   */
  public TensorInfo replace(
      String handle, Elements contents, LongPredicate matches, RequestContext context)
      throws IOException {
    var tensors = store.of(context.tenant());
    tensors.requireWritable(handle, "handle");
    var pin = tensors.pin(handle, "handle");
    if (!pin.type().equals(contents.type())) {
      pin.close();
      throw new Failure.Refused(
          Code.SHAPE_MISMATCH,
          "the tensor has type %s, but the new contents have type %s; they must be equal"
              .formatted(pin.type(), contents.type()));
    }
    var memory = placement.at(pin.storage()).memory();
    return upload(
        contents,
        new TensorUpload.Replacing(memory, pin),
        () -> {
          streams.locks().lock(pin, Access.WRITE, context);
          if (!matches.test(pin.version())) {
            throw mismatch(pin.version());
          }
        },
        context);
  }

  /** Returns the failure of a request whose {@code If-Match} does not match the version. */
  public static Failure mismatch(long version) {
    return new Failure.Refused(
        Code.VERSION_MISMATCH,
        "If-Match",
        "If-Match does not match the current version %d of the tensor; read the tensor again"
            .formatted(version));
  }

  /** Uploads all elements; {@code beforeLast} runs before the last piece is submitted. */
  private TensorInfo upload(
      Elements elements, TensorUpload upload, Runnable beforeLast, RequestContext context)
      throws IOException {
    try (upload) {
      do {
        long at = elements.at();
        var piece = upload.memory().stage(elements.left());
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
        var job = new UploadJob(upload.hold(), piece, filled, at, elements.left() == 0);
        streams.run(job, context);
      } while (elements.left() > 0);
      return upload.info();
    }
  }

  /**
   * Uploads one piece.
   *
   * @param filled the part of the piece that contains data
   * @param at the byte offset within the tensor
   */
  private record UploadJob(
      TensorUpload upload, Piece piece, MemorySegment filled, long at, boolean isLast)
      implements Job {
    @Override
    public int device() {
      return upload.memory().number();
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
    public boolean isContinuation() {
      return at > 0;
    }

    @Override
    public boolean isTransfer() {
      return true;
    }

    @Override
    public void run(Stream stream) {
      upload.accept(stream, filled, at, isLast);
      stream.synchronize();
    }

    @Override
    public void commit(Stream stream) {
      if (isLast) {
        upload.finish(stream, filled, at);
      }
    }

    @Override
    public void close() {
      piece.close();
      upload.close();
    }
  }

  /**
   * Opens a tensor for reading at its current version. Later writes do not wait for the reader;
   * they preserve the old contents first (copy-on-write).
   */
  public Reader open(String handle, RequestContext context) {
    var pin = store.of(context.tenant()).pin(handle, "handle");
    var first = pin.again();
    try {
      streams.locks().lock(first, Access.READ, context);
      return new Reader(pin, first, context);
    } catch (RuntimeException e) {
      first.close();
      pin.close();
      throw e;
    }
  }

  /** A consistent reader of one version of a tensor. */
  public final class Reader implements AutoCloseable {
    private final Pin pin;
    private final Snapshot snapshot;
    private final RequestContext context;

    /** The locked pin for the first piece, so that a tensor read in one piece is never copied. */
    private @Nullable Pin first;

    private Reader(Pin pin, Pin first, RequestContext context) {
      this.pin = pin;
      this.first = first;
      this.context = context;
      snapshot = first.snapshot();
    }

    /** Returns the description of the version that is read. */
    public TensorInfo info() {
      return snapshot.info();
    }

    /** Reads a range in pieces of the device's staging memory. */
    public ReadAhead pieces(long offset, long length) {
      return new ReadAhead(this, this::beginPiece, offset, length);
    }

    /** Reads a range in heap chunks, which need not be closed. */
    public ReadAhead chunks(long offset, long length, int chunkBytes) {
      return new ReadAhead(
          this, (at, left) -> begin(at, (int) Math.min(left, chunkBytes)), offset, length);
    }

    /**
     * Starts reading some bytes without waiting for them, except for a write in progress.
     *
     * @throws Failure.Refused with {@code handle-in-use} if the tensor was overwritten meanwhile
     *     and the old version could not be preserved for lack of memory or quota
     */
    private PendingPiece begin(long offset, int length) {
      return begin(offset, new Piece(MemorySegment.ofArray(new byte[length]), () -> {}));
    }

    /**
     * Starts reading at most {@code length} bytes into one piece of staging memory.
     *
     * @throws Failure as for {@link #begin(long, int)}
     */
    private PendingPiece beginPiece(long offset, long length) {
      return begin(offset, placement.at(pin.storage()).memory().stage(length));
    }

    private PendingPiece begin(long offset, Piece piece) {
      boolean isContinuation = first == null;
      DownloadJob job;
      try {
        // own references, since the read may outlive its client
        job = new DownloadJob(locked(), snapshot.again(), offset, piece, isContinuation);
      } catch (RuntimeException e) {
        piece.close();
        throw e;
      }
      return new PendingPiece(piece, streams.start(job, context));
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
     * Reads at most {@code length} bytes into a piece, which the caller must close.
     *
     * @throws Failure as for {@link #begin(long, int)}
     */
    public Piece readPiece(long offset, long length) {
      return beginPiece(offset, length).await();
    }

    /** Returns a pin that is locked unless the version has been preserved. */
    private Pin locked() {
      var held = first;
      first = null;
      if (held != null) {
        return held;
      }
      held = pin.again();
      try {
        if (snapshot.copy() == null) {
          streams.locks().lock(held, Access.READ, context);
        }
        if (snapshot.copy() == null && held.version() != info().version()) {
          throw new Failure.Refused(
              Code.HANDLE_IN_USE,
              "the tensor was overwritten while it was read, and memory or quota did not suffice to preserve the old version; read it again");
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

  /** A piece that is being read. It must be awaited or closed. */
  static final class PendingPiece implements AutoCloseable {
    private final Piece piece;
    private final StreamPool.Submitted job;
    private boolean isOver;

    private PendingPiece(Piece piece, StreamPool.Submitted job) {
      this.piece = piece;
      this.job = job;
    }

    /** Returns the number of bytes of the piece. */
    long length() {
      return piece.bytes().byteSize();
    }

    /**
     * Waits for the piece, which the caller must close.
     *
     * @throws Failure if it cannot be read
     */
    Piece await() {
      isOver = true; // a failed job releases its piece itself
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

  private static final class DownloadJob implements Job {
    private final Pin pin;
    private final Snapshot snapshot;
    private final Buffer source;
    private final long offset;
    private final Piece target;
    private final boolean isContinuation;
    private boolean isRead;

    DownloadJob(Pin pin, Snapshot snapshot, long offset, Piece target, boolean isContinuation) {
      this.pin = pin;
      this.snapshot = snapshot;
      this.offset = offset;
      this.target = target;
      this.isContinuation = isContinuation;
      var copy = snapshot.copy();
      source = copy == null ? pin.tensor().buffer() : copy;
    }

    @Override
    public int device() {
      return pin.storage().number();
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
    public boolean isContinuation() {
      return isContinuation;
    }

    @Override
    public boolean isTransfer() {
      return true;
    }

    @Override
    public void run(Stream stream) {
      stream.download(source, offset, target.bytes());
      stream.synchronize();
    }

    /** Passes ownership of the piece to the waiting client. */
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
