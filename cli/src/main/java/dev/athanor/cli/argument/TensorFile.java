package dev.athanor.cli.argument;

import dev.athanor.ops.HostTensor;
import dev.athanor.ops.TensorType;
import dev.athanor.service.codec.ByteSource;
import dev.athanor.service.codec.DecodeBudget;
import dev.athanor.service.codec.Npy;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;

/** Tensors in files: {@code .npy}, or the bare bytes of the elements. */
public final class TensorFile {

  private static final String NPY = ".npy";

  private TensorFile() {}

  /**
   * Reads an npy file.
   *
   * @throws dev.athanor.service.failure.Failure when it is none
   */
  public static HostTensor read(Path file) throws IOException {
    try (var in = new BufferedInputStream(Files.newInputStream(file))) {
      return Npy.open(ByteSource.of(in), DecodeBudget.onHeap(Integer.MAX_VALUE), file.toString())
          .toTensor();
    }
  }

  /**
   * Reads bare bytes.
   *
   * @throws IllegalArgumentException when there are more or fewer than the type takes
   */
  public static HostTensor read(Path file, TensorType type) throws IOException {
    long size = Files.size(file);
    if (size != type.bytes()) {
      throw new IllegalArgumentException(
          "%s takes %d bytes, %s has %d".formatted(type, type.bytes(), file, size));
    }
    return new HostTensor(type, MemorySegment.ofArray(Files.readAllBytes(file)));
  }

  /** Writes an npy file where the name ends so, else bare bytes. */
  public static void write(Path file, HostTensor tensor) throws IOException {
    try (var out = new BufferedOutputStream(Files.newOutputStream(file))) {
      if (isNpy(file)) {
        out.write(Npy.header(tensor.type()).orElseThrow());
      }
      out.write(tensor.data().toArray(ValueLayout.JAVA_BYTE));
    }
  }

  /**
   * Checks, before there is anything to write, that it can be.
   *
   * @throws IllegalArgumentException when npy has no such dtype
   */
  public static void check(Path file, TensorType type) {
    if (isNpy(file) && Npy.header(type).isEmpty()) {
      throw new IllegalArgumentException(
          "npy files hold no %s; under another name than %s its bytes are written"
              .formatted(type.dtype().text(), file));
    }
  }

  /**
   * A file that can be written.
   *
   * @throws IllegalArgumentException when it cannot
   */
  public static Path writable(Path file) {
    var folder = file.toAbsolutePath().getParent();
    if (folder == null || !Files.isWritable(Files.exists(file) ? file : folder)) {
      throw new IllegalArgumentException("%s cannot be written".formatted(file));
    }
    return file;
  }

  private static boolean isNpy(Path file) {
    return file.toString().endsWith(NPY);
  }
}
