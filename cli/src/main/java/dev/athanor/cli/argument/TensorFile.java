package dev.athanor.cli.argument;

import dev.athanor.ops.HostTensor;
import dev.athanor.ops.TensorType;
import dev.athanor.service.codec.ByteSource;
import dev.athanor.service.codec.DecodeBudget;
import dev.athanor.service.codec.Npy;
import dev.athanor.service.codec.Safetensors;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/** Tensor files: npy, safetensors or raw bytes. */
public final class TensorFile {

  private static final String NPY = ".npy";
  private static final long PIECE = 1 << 20;

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

  /**
   * Maps the tensors of a safetensors file, by name.
   *
   * @throws dev.athanor.service.failure.Failure if it is not a safetensors file
   */
  public static Map<String, HostTensor> readSafetensors(Path file) throws IOException {
    try (var channel = FileChannel.open(file)) {
      return Safetensors.read(
          channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size(), Arena.ofAuto()));
    }
  }

  /** Writes an npy file if the name ends in {@code .npy}, else raw bytes. */
  public static void write(Path file, HostTensor tensor) throws IOException {
    try (var out = new BufferedOutputStream(Files.newOutputStream(file))) {
      if (isNpy(file)) {
        out.write(Npy.header(tensor.type()).orElseThrow());
      }
      long size = tensor.data().byteSize();
      for (long at = 0; at < size; at += PIECE) {
        var piece = tensor.data().asSlice(at, Math.min(PIECE, size - at));
        out.write(piece.toArray(ValueLayout.JAVA_BYTE));
      }
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

  /** Returns whether the name of a file ends in {@code .safetensors}. */
  public static boolean isSafetensors(Path file) {
    return file.toString().endsWith(".safetensors");
  }

  private static boolean isNpy(Path file) {
    return file.toString().endsWith(NPY);
  }
}
