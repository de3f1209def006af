package dev.athanor.testing;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.zip.GZIPInputStream;
import java.util.zip.ZipInputStream;

/**
 * Models of ONNX with inputs and expected outputs. Each has the files {@code model}, messages of
 * tensors {@code input…} and {@code output…}, and {@code tolerance}, a relative and an absolute
 * number.
 */
public final class OnnxFiles {

  private OnnxFiles() {}

  /**
   * Returns the files of the tests of single nodes of the onnx package, except large ones. {@code
   * tests/onnx_cases.py} of the Python client writes them.
   */
  public static Map<String, Map<String, byte[]>> nodes() {
    return read("onnx-nodes.zip.gz");
  }

  /**
   * Returns the files of small models with random weights. {@code export_models.py} of the module
   * onnx writes them.
   */
  public static Map<String, Map<String, byte[]>> models() {
    return read("onnx-models.zip.gz");
  }

  static Map<String, Map<String, byte[]>> read(String file) {
    var tests = new LinkedHashMap<String, Map<String, byte[]>>();
    var packed = Objects.requireNonNull(OnnxFiles.class.getResourceAsStream(file));
    try (var zip = new ZipInputStream(new GZIPInputStream(packed))) {
      for (var entry = zip.getNextEntry(); entry != null; entry = zip.getNextEntry()) {
        int slash = entry.getName().indexOf('/');
        tests
            .computeIfAbsent(entry.getName().substring(0, slash), _ -> new LinkedHashMap<>())
            .put(entry.getName().substring(slash + 1), zip.readAllBytes());
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return tests;
  }
}
