package dev.athanor.client;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The body of a request that stores a model.
 *
 * @param bytes the size; negative if unknown
 */
record ModelFile(String contentType, long bytes, Opener opener) {

  static final String ONNX = "application/onnx";
  static final String ZIP = "application/zip";

  /** Opens the body at its first byte. */
  interface Opener {
    InputStream open() throws IOException;
  }

  static ModelFile of(byte[] onnx) {
    return new ModelFile(ONNX, onnx.length, () -> new ByteArrayInputStream(onnx));
  }

  /** Returns a folder as a zip, a file that ends in {@code .zip}, or an ONNX file. */
  static ModelFile of(Path path) {
    if (Files.isDirectory(path)) {
      return new ModelFile(ZIP, -1, () -> new ZippedFolder(path));
    }
    if (!Files.isReadable(path)) {
      throw new IllegalArgumentException("Cannot read file or folder %s.".formatted(path));
    }
    try {
      var type = path.toString().endsWith(".zip") ? ZIP : ONNX;
      return new ModelFile(type, Files.size(path), () -> Files.newInputStream(path));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  InputStream open() {
    try {
      return opener.open();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
