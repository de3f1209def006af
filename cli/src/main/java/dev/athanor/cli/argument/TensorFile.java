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
import java.util.Optional;

/** Tensor files: npy, safetensors or raw bytes. */
public final class TensorFile {

  private static final String NPY = ".npy";
  private static final String SAFETENSORS = ".safetensors";
  private static final long PIECE = 1 << 20;

  private TensorFile() {}

  /**
   * Reads an npy file or the only tensor of a safetensors file.
   *
   * @throws dev.athanor.service.failure.Failure if it is not such a file
   * @throws IllegalArgumentException if it is a safetensors file of several tensors
   */
  public static HostTensor read(Path file) throws IOException {
    if (isSafetensors(file)) {
      var tensors = readSafetensors(file).values();
      if (tensors.size() != 1) {
        throw new IllegalArgumentException(
            "%s has %d tensors, expected one".formatted(file, tensors.size()));
      }
      return tensors.iterator().next();
    }
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

  /**
   * Writes an npy or a safetensors file if the name ends in {@code .npy} or {@code .safetensors},
   * else raw bytes. A safetensors file and its tensor have the same name.
   */
  public static void write(Path file, HostTensor tensor) throws IOException {
    try (var out = new BufferedOutputStream(Files.newOutputStream(file))) {
      out.write(header(file, tensor.type()).orElseThrow());
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
   * @throws IllegalArgumentException if the format of the file does not support the dtype
   */
  public static void check(Path file, TensorType type) {
    if (header(file, type).isEmpty()) {
      var format = isNpy(file) ? "npy" : "safetensors";
      throw new IllegalArgumentException(
          "%s files do not support %s; without the extension .%1$s, %s is written as raw bytes"
              .formatted(format, type.dtype().text(), file));
    }
  }

  /** Returns the bytes before the elements; empty if the format does not support the dtype. */
  private static Optional<byte[]> header(Path file, TensorType type) {
    if (isNpy(file)) {
      return Npy.header(type);
    }
    if (isSafetensors(file)) {
      var name = String.valueOf(file.getFileName());
      var tensor = name.substring(0, name.length() - SAFETENSORS.length());
      return Safetensors.header(Map.of(tensor, type), Map.of());
    }
    return Optional.of(new byte[0]);
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
    return file.toString().endsWith(SAFETENSORS);
  }

  private static boolean isNpy(Path file) {
    return file.toString().endsWith(NPY);
  }
}
