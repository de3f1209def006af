package dev.athanor.client;

import java.lang.ref.Cleaner;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * A tensor on the device. The client renews its lease while it is open; closing deletes it.
 * Thread-safe.
 */
public final class Tensor implements Operand, AutoCloseable {

  private static final Cleaner CLEANER = Cleaner.create();

  private final Session session;
  private final TensorInfo info;
  private final @Nullable Resident resident;
  private final Cleaner.@Nullable Cleanable cleanable;
  private volatile long version;

  /**
   * @param resident null if the client does not own the tensor
   */
  Tensor(Session session, TensorInfo info, @Nullable Resident resident) {
    this.session = session;
    this.info = info;
    this.resident = resident;
    version = info.version();
    cleanable = resident == null ? null : CLEANER.register(this, resident::leaked);
  }

  /**
   * Returns the handle, which identifies the tensor for all clients of the tenant.
   *
   * @throws IllegalStateException if the tensor is closed
   */
  public String handle() {
    if (resident != null && resident.isReleased()) {
      throw new IllegalStateException("Tensor %s is closed.".formatted(info.handle()));
    }
    return info.handle();
  }

  /** Returns the element type. */
  public DType dtype() {
    return info.dtype();
  }

  /** Returns the extents, outermost first; empty for a scalar. */
  public List<Long> shape() {
    return info.shape();
  }

  /** Returns the size of the values in bytes. */
  public long byteSize() {
    return info.bytes();
  }

  /** Returns the version known to this client. Every in-place write increments it. */
  public long version() {
    return version;
  }

  /** Records an in-place write. */
  void written(long newVersion) {
    version = Math.max(version, newVersion);
  }

  /**
   * Copies the values to the host.
   *
   * @throws IllegalStateException if they have more than 2 GiB; see {@link #download(long,
   *     ByteBuffer)}
   */
  public HostTensor download() {
    return Futures.await(downloadAsync());
  }

  /** Copies the values to the host without blocking. */
  public CompletableFuture<HostTensor> downloadAsync() {
    if (byteSize() > Integer.MAX_VALUE - 8) {
      throw new IllegalStateException(
          "The tensor has %d bytes, more than a buffer holds; download it in parts."
              .formatted(byteSize()));
    }
    if (byteSize() == 0) { // nothing to read, but the tensor must exist
      var known = Futures.keeping(this, session.describe(handle()));
      return Futures.map(known, info -> HostTensor.wrap(dtype(), shape(), ByteBuffer.allocate(0)));
    }
    var data = ByteBuffer.allocate((int) byteSize());
    return Futures.map(downloadAsync(0, data), done -> HostTensor.wrap(dtype(), shape(), data));
  }

  /**
   * Copies bytes to the host, as many as {@code target} has remaining, without changing its
   * position.
   *
   * @param offset the offset of the first byte
   */
  public void download(long offset, ByteBuffer target) {
    Futures.await(downloadAsync(offset, target));
  }

  /**
   * Copies bytes to the host without blocking; see {@link #download(long, ByteBuffer)}.
   *
   * @return the buffer
   */
  public CompletableFuture<ByteBuffer> downloadAsync(long offset, ByteBuffer target) {
    if (!target.hasRemaining() || offset < 0 || offset + target.remaining() > byteSize()) {
      throw new IllegalArgumentException(
          "The range of %d bytes from %d is empty or not within the tensor's %d bytes."
              .formatted(target.remaining(), offset, byteSize()));
    }
    return Futures.keeping(this, session.read(handle(), offset, target));
  }

  /** Overwrites the tensor with values of the same dtype and shape. */
  public void update(HostTensor values) {
    Futures.await(updateAsync(values, null));
  }

  /**
   * Overwrites the tensor if it has the expected version.
   *
   * @throws AthanorException with code {@code version-mismatch} if it has another
   */
  public void update(HostTensor values, long expectedVersion) {
    Futures.await(updateAsync(values, expectedVersion));
  }

  /**
   * Overwrites the tensor without blocking.
   *
   * @param expectedVersion null for any version
   * @return this tensor
   */
  public CompletableFuture<Tensor> updateAsync(HostTensor values, @Nullable Long expectedVersion) {
    if (values.dtype() != dtype() || !values.shape().equals(shape())) {
      throw new IllegalArgumentException(
          "The values are %s, but the tensor is %s%s.".formatted(values, dtype().text(), shape()));
    }
    return Futures.map(
        Futures.keeping(this, session.replace(handle(), values, expectedVersion)),
        written -> {
          written(written.version());
          return this;
        });
  }

  /** Returns a current description. */
  public TensorInfo describe() {
    return Futures.await(Futures.keeping(this, session.describe(handle())));
  }

  /** Sets the remaining lease in whole seconds; zero removes the lease. */
  public TensorInfo renew(Duration lease) {
    return Futures.await(Futures.keeping(this, session.renew(handle(), lease)));
  }

  @Override
  public Operand reshape(long... shape) {
    return TensorView.reshaped(this, Operand.reshaped(shape(), shape));
  }

  /**
   * Returns some elements as another tensor, without a copy on the device if they are dense and
   * start at a multiple of 16 bytes.
   *
   * @param offset the index of the first element
   * @param strides the distance of elements along each dimension; none for dense elements
   */
  public Operand view(long[] shape, long offset, long... strides) {
    return TensorView.part(this, shape, offset, strides);
  }

  /**
   * Deletes the tensor, even if this client does not own it. Calls that use it finish first.
   *
   * @throws AthanorException if the service cannot be reached
   */
  public void delete() {
    if (resident == null) {
      Futures.await(session.delete(info.handle()));
    } else {
      Futures.await(resident.free());
    }
  }

  /**
   * Leaves the tensor on the service: closing this object or the client no longer deletes it, and
   * its lease is no longer renewed. Set the lease with {@link #renew} before.
   *
   * @return the handle
   */
  public String detach() {
    var handle = handle();
    if (resident != null) {
      resident.release();
    }
    return handle;
  }

  /** Deletes the tensor if this client owns it. Failures are logged; the lease then expires. */
  @Override
  public void close() {
    if (resident != null && cleanable != null) {
      Resident.awaitQuietly(List.of(resident.free()));
      cleanable.clean();
    }
  }

  /** Returns handle, dtype and shape, such as {@code t_…: f32[2, 3]}. */
  @Override
  public String toString() {
    return info.handle() + ": " + dtype().text() + shape();
  }
}
