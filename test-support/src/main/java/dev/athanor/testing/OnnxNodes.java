package dev.athanor.testing;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.zip.GZIPInputStream;
import java.util.zip.ZipInputStream;

/**
 * The tests of single nodes of the onnx package, except large ones. {@code tests/onnx_cases.py} of
 * the Python client writes their file.
 */
public final class OnnxNodes {

  private OnnxNodes() {}

  /**
   * Returns the files of each test: {@code model}, messages of tensors {@code input…} and {@code
   * output…}, and {@code tolerance}, a relative and an absolute number.
   */
  public static Map<String, Map<String, byte[]>> read() {
    var tests = new LinkedHashMap<String, Map<String, byte[]>>();
    var packed = Objects.requireNonNull(OnnxNodes.class.getResourceAsStream("onnx-nodes.zip.gz"));
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
