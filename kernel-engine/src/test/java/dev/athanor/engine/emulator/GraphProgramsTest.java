package dev.athanor.engine.emulator;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.emulator.SampleRig.Way;
import dev.athanor.testing.TestTier;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Random;
import java.util.zip.CRC32;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** CUDA programs over graphs, with locks, and over words and bytes. */
@Tag(TestTier.THOROUGH_TAG)
class GraphProgramsTest {

  /** A directed graph in compressed sparse rows; some vertices have no edges. */
  private static final class Graph {
    private final int[] rows;
    private final int[] columns;

    private Graph(int[] rows, int[] columns) {
      this.rows = rows;
      this.columns = columns;
    }

    static Graph random(int vertices, long seed) {
      var random = new Random(seed);
      var rows = new int[vertices + 1];
      for (int v = 0; v < vertices; v++) {
        int degree = random.nextInt(4) == 0 ? 0 : v % 17 == 3 ? 50 : random.nextInt(4);
        rows[v + 1] = rows[v] + degree;
      }
      return new Graph(rows, random.ints(rows[vertices], 0, vertices).toArray());
    }

    int vertices() {
      return rows.length - 1;
    }
  }

  static List<Way> graphs() {
    return SampleRig.schedules("programs/graph.sm_80", "programs/graph.sm_90a");
  }

  @ParameterizedTest
  @MethodSource("graphs")
  void sparseMatrixVectorProduct(Way way) {
    var graph = Graph.random(45, 100);
    var values = SampleRig.randomFloats(graph.columns.length, 101);
    var x = SampleRig.randomFloats(graph.vertices(), 102);
    try (var rig = new SampleRig(way)) {
      var y = rig.buffer(new float[graph.vertices()]);
      rig.run(
          "spmv",
          Dim3.of(12),
          Dim3.of(128),
          0,
          rig.buffer(graph.rows),
          rig.buffer(graph.columns),
          rig.buffer(values),
          rig.buffer(x),
          y,
          graph.vertices());
      var results = rig.floats(y);
      for (int v = 0; v < graph.vertices(); v++) {
        double expected = 0;
        for (int e = graph.rows[v]; e < graph.rows[v + 1]; e++) {
          expected += (double) values[e] * x[graph.columns[e]];
        }
        assertThat((double) results[v]).as("row %d", v).isCloseTo(expected, within(1e-5));
      }
    }
  }

  @ParameterizedTest
  @MethodSource("graphs")
  void breadthFirstSearch(Way way) {
    var graph = Graph.random(120, 103);
    int start = 3;
    var expected = new int[graph.vertices()];
    Arrays.fill(expected, -1);
    expected[start] = 0;
    var open = new ArrayDeque<Integer>(List.of(start));
    while (!open.isEmpty()) {
      int v = open.poll();
      for (int e = graph.rows[v]; e < graph.rows[v + 1]; e++) {
        int w = graph.columns[e];
        if (expected[w] < 0) {
          expected[w] = expected[v] + 1;
          open.add(w);
        }
      }
    }
    try (var rig = new SampleRig(way)) {
      var first = new int[graph.vertices()];
      Arrays.fill(first, -1);
      first[start] = 0;
      var rows = rig.buffer(graph.rows);
      var columns = rig.buffer(graph.columns);
      var levels = rig.buffer(first);
      var frontier = rig.buffer(start);
      int size = 1;
      for (int level = 1; size > 0; level++) {
        var next = rig.buffer(new int[graph.vertices()]);
        var count = rig.buffer(0);
        rig.run(
            "bfs_level",
            Dim3.of((size + 31) / 32),
            Dim3.of(32),
            0,
            rows,
            columns,
            frontier,
            size,
            levels,
            level,
            next,
            count);
        frontier = next;
        size = rig.ints(count)[0];
      }
      assertThat(rig.ints(levels)).isEqualTo(expected).contains(-1, 0, 2);
    }
  }

  /** Threads read and modify the same trees concurrently. */
  @ParameterizedTest
  @MethodSource("graphs")
  void connectedComponents(Way way) {
    int n = 100;
    var edges = new Random(104).ints(140, 0, n).toArray();
    var expected = new int[n];
    Arrays.setAll(expected, v -> v);
    for (boolean changed = true; changed; ) {
      changed = false;
      for (int e = 0; e < edges.length; e += 2) {
        int low = Math.min(expected[edges[e]], expected[edges[e + 1]]);
        changed |= expected[edges[e]] != low || expected[edges[e + 1]] != low;
        expected[edges[e]] = low;
        expected[edges[e + 1]] = low;
      }
    }
    try (var rig = new SampleRig(way)) {
      var vertices = new int[n];
      Arrays.setAll(vertices, v -> v);
      var parent = rig.buffer(vertices);
      var labels = rig.buffer(new int[n]);
      rig.run("components_hook", Dim3.of(3), Dim3.of(32), 0, rig.buffer(edges), 70, parent);
      rig.run("components_flatten", Dim3.of(4), Dim3.of(32), 0, parent, labels, n);
      assertThat(rig.ints(labels)).isEqualTo(expected);
    }
  }

  @ParameterizedTest
  @MethodSource("graphs")
  void shortestPaths(Way way) {
    int n = 19;
    var distances = new Random(105).ints((long) n * n, 1, 100).toArray();
    for (int v = 0; v < n; v++) {
      distances[v * n + v] = 0;
    }
    var expected = distances.clone();
    for (int k = 0; k < n; k++) {
      for (int y = 0; y < n; y++) {
        for (int x = 0; x < n; x++) {
          expected[y * n + x] =
              Math.min(expected[y * n + x], expected[y * n + k] + expected[k * n + x]);
        }
      }
    }
    try (var rig = new SampleRig(way)) {
      var inOut = rig.buffer(distances);
      for (int k = 0; k < n; k++) {
        rig.run("floyd_warshall", new Dim3(2, 3, 1), new Dim3(16, 8, 1), 0, inOut, n, k);
      }
      assertThat(rig.ints(inOut)).isEqualTo(expected);
    }
  }

  @ParameterizedTest
  @MethodSource("graphs")
  void longestCommonSubsequence(Way way) {
    var a = letters(61, 106);
    var b = letters(47, 107);
    var lengths = new int[a.length + 1][b.length + 1];
    for (int i = 1; i <= a.length; i++) {
      for (int j = 1; j <= b.length; j++) {
        lengths[i][j] =
            a[i - 1] == b[j - 1]
                ? lengths[i - 1][j - 1] + 1
                : Math.max(lengths[i - 1][j], lengths[i][j - 1]);
      }
    }
    try (var rig = new SampleRig(way)) {
      var length = rig.buffer(0);
      rig.run(
          "common_subsequence",
          Dim3.of(1),
          Dim3.of(64),
          4 * 3 * (a.length + 1),
          rig.buffer(a),
          a.length,
          rig.buffer(b),
          b.length,
          length);
      assertThat(rig.ints(length)).containsExactly(lengths[a.length][b.length]);
    }
  }

  /** Lanes of a warp wait for locks that other lanes of it hold. */
  @ParameterizedTest
  @MethodSource("graphs")
  void bankAccountsWithLocks(Way way) {
    int accounts = 5;
    int n = 40;
    var moves = new Random(108).ints(3L * n, 0, accounts).toArray();
    var expected = new int[accounts];
    for (int i = 0; i < n; i++) {
      expected[moves[3 * i]] -= moves[3 * i + 2];
      expected[moves[3 * i + 1]] += moves[3 * i + 2];
    }
    try (var rig = new SampleRig(way)) {
      var balances = rig.buffer(new int[accounts]);
      rig.run(
          "transfers",
          Dim3.of(2),
          Dim3.of(32),
          0,
          rig.buffer(moves),
          n,
          rig.buffer(new int[accounts]),
          balances);
      assertThat(rig.ints(balances)).isEqualTo(expected);
    }
  }

  static List<Way> bytes() {
    return SampleRig.schedules("programs/bytes.sm_80", "programs/bytes.sm_90a");
  }

  @ParameterizedTest
  @MethodSource("bytes")
  void digests(Way way) throws NoSuchAlgorithmException {
    int n = 37;
    int length = 43;
    var messages = letters(n * length, 109);
    var expected = ByteBuffer.allocate(32 * n);
    for (int i = 0; i < n; i++) {
      var message = Arrays.copyOfRange(messages, i * length, (i + 1) * length);
      expected.put(MessageDigest.getInstance("SHA-256").digest(message));
    }
    var words = new int[8 * n];
    expected.flip().asIntBuffer().get(words);
    try (var rig = new SampleRig(way)) {
      var out = rig.buffer(new int[8 * n]);
      rig.run("sha256", Dim3.of(2), Dim3.of(32), 0, rig.buffer(messages), length, n, out);
      assertThat(rig.ints(out)).isEqualTo(words);
    }
  }

  @ParameterizedTest
  @MethodSource("bytes")
  void checksums(Way way) {
    int n = 50;
    int length = 29;
    var rows = letters(n * length, 110);
    var expected = new int[n];
    for (int i = 0; i < n; i++) {
      var crc = new CRC32();
      crc.update(rows, i * length, length);
      expected[i] = (int) crc.getValue();
    }
    try (var rig = new SampleRig(way)) {
      var out = rig.buffer(new int[n]);
      rig.run("crc32", Dim3.of(2), Dim3.of(32), 0, rig.buffer(rows), length, n, out);
      assertThat(rig.ints(out)).isEqualTo(expected);
    }
  }

  @ParameterizedTest
  @MethodSource("bytes")
  void base64(Way way) {
    var in = new byte[3 * 70];
    new Random(111).nextBytes(in);
    try (var rig = new SampleRig(way)) {
      var out = rig.buffer(new byte[4 * 70]);
      rig.run("base64", Dim3.of(3), Dim3.of(32), 0, rig.buffer(in), 70, out);
      assertThat(new String(rig.bytes(out), US_ASCII))
          .isEqualTo(Base64.getEncoder().encodeToString(in));
    }
  }

  @ParameterizedTest
  @MethodSource("bytes")
  void modularExponentiation(Way way) {
    int n = 20;
    long modulus = -59; // 2^64 - 59, the largest prime below 2^64
    var base = new Random(112).longs(n).toArray();
    var exponent = new Random(113).longs(n, 0, 1 << 20).toArray();
    var expected = new long[n];
    Arrays.setAll(
        expected,
        i ->
            unsigned(base[i])
                .modPow(BigInteger.valueOf(exponent[i]), unsigned(modulus))
                .longValue());
    try (var rig = new SampleRig(way)) {
      var out = rig.buffer(new long[n]);
      rig.run(
          "modular_power",
          Dim3.of(1),
          Dim3.of(32),
          0,
          rig.buffer(base),
          rig.buffer(exponent),
          modulus,
          out,
          n);
      assertThat(rig.longs(out)).isEqualTo(expected);
    }
  }

  private static BigInteger unsigned(long value) {
    return new BigInteger(Long.toUnsignedString(value));
  }

  @ParameterizedTest
  @MethodSource("bytes")
  void mandelbrot(Way way) {
    int width = 40;
    int height = 24;
    float scale = 0.07f;
    var expected = new byte[width * height];
    for (int i = 0; i < expected.length; i++) {
      float cx = Math.fma((float) (i % width - width / 2), scale, -0.5f);
      float cy = (i / width - height / 2) * scale;
      float x = 0;
      float y = 0;
      int steps = 0;
      for (; steps < 200 && x * x + y * y < 4; steps++) {
        float next = x * x - y * y + cx;
        y = 2 * x * y + cy;
        x = next;
      }
      expected[i] = (byte) steps;
    }
    try (var rig = new SampleRig(way)) {
      var out = rig.buffer(new byte[expected.length]);
      rig.run("mandelbrot", new Dim3(3, 3, 1), new Dim3(16, 8, 1), 0, out, width, height, scale);
      assertThat(rig.bytes(out)).isEqualTo(expected).contains((byte) 200, (byte) 1);
    }
  }

  private static byte[] letters(int n, long seed) {
    var letters = new byte[n];
    var random = new Random(seed);
    for (int i = 0; i < n; i++) {
      letters[i] = (byte) ('a' + random.nextInt(6));
    }
    return letters;
  }
}
