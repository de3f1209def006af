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

/** Tensor files: {@code .npy} or raw bytes. */
public final class TensorFile {

  private static final String NPY = ".npy";

  private TensorFile() {}

  /**
   * Reads an npy file.
   *
   * @throws dev.athanor.service.failure.Failure if it is not an npy file
   */
  public static HostTensor read(Path file) throws IOException {
    try (var in = new BufferedInputStream(Files.newInputStream(file))) {
      return Npy.open(ByteSource.of(in), DecodeBudget.onHeap(Integer.MAX_VALUE), file.toString())
          .toTensor();
    }
  }

  /**
   * Reads raw bytes.
   *
   * @throws IllegalArgumentException if the file's size does not match the type
   */
  public static HostTensor read(Path file, TensorType type) throws IOException {
    long size = Files.size(file);
    if (size != type.bytes()) {
      throw new IllegalArgumentException(
          "%s requires %d bytes, %s has %d".formatted(type, type.bytes(), file, size));
    }
    return new HostTensor(type, MemorySegment.ofArray(Files.readAllBytes(file)));
  }

  /** Writes an npy file if the name ends in {@code .npy}, else raw bytes. */
  public static void write(Path file, HostTensor tensor) throws IOException {
    try (var out = new BufferedOutputStream(Files.newOutputStream(file))) {
      if (isNpy(file)) {
        out.write(Npy.header(tensor.type()).orElseThrow());
      }
      out.write(tensor.data().toArray(ValueLayout.JAVA_BYTE));
    }
  }

  /**
   * Checks that a file can hold a tensor of the given type.
   *
   * @throws IllegalArgumentException if the file is npy, which does not support the dtype
   */
  public static void check(Path file, TensorType type) {
    if (isNpy(file) && Npy.header(type).isEmpty()) {
      throw new IllegalArgumentException(
          "npy files do not support %s; without the extension .npy, %s is written as raw bytes"
              .formatted(type.dtype().text(), file));
    }
  }

  /**
   * Returns the file if it can be written.
   *
   * @throws IllegalArgumentException if it cannot be written
   */
  public static Path writable(Path file) {
    var folder = file.toAbsolutePath().getParent();
    if (folder == null || !Files.isWritable(Files.exists(file) ? file : folder)) {
      throw new IllegalArgumentException("cannot write %s".formatted(file));
    }
    return file;
  }

  private static boolean isNpy(Path file) {
    return file.toString().endsWith(NPY);
  }
}
