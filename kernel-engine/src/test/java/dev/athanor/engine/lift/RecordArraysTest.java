package dev.athanor.engine.lift;

import static dev.athanor.engine.lift.Gpu.threadIdxX;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.athanor.engine.analysis.Assemblers;
import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import dev.athanor.engine.lift.ir.RecordLayout;
import java.lang.reflect.Array;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Arrays of records as parameters of kernels. */
@SuppressWarnings({"NullAway", "ReferenceEquality"}) // what launches refuse, and objects that stay
class RecordArraysTest {
  private static final int N = 32;
  private static final EmulatedDevice DEVICE =
      new EmulatedDevice(EmulatorOptions.DEFAULT.withSanitize(Sanitize.FULL));

  @AfterAll
  static void close() {
    DEVICE.close();
  }

  enum Phase {
    SOLID,
    LIQUID,
    GAS
  }

  record Float4(float x, float y, float z, float w) {}

  record Complex(float re, float im) {
    Complex times(Complex other) {
      return new Complex(re * other.re - im * other.im, re * other.im + im * other.re);
    }
  }

  record Double2(double x, double y) {}

  record Short4(short a, short b, short c, short d) {}

  record Mixed(byte tag, double value, short n, boolean flag, char letter) {}

  record Triple(float x, float y, float z) {}

  record Particle(byte kind, Mixed state, Triple position, Phase phase, long id) {
    Particle {
      position = new Triple(position.x, position.y, position.z);
    }
  }

  @GpuKernel(blockSize = N)
  static void rotate(Float4[] in, Float4[] out) {
    int i = threadIdxX();
    var p = in[i];
    out[i] = new Float4(p.w(), p.x() * 2, p.y() - p.z(), i);
  }

  @GpuKernel(blockSize = N)
  static void square(Complex[] a, Complex[] b) {
    int i = threadIdxX();
    b[i] = a[i].times(a[a.length - 1 - i]);
  }

  @GpuKernel(blockSize = N)
  static void swap(Double2[] a, Double2[] b) {
    int i = threadIdxX();
    b[i] = new Double2(a[i].y(), a[i].x() / 3);
  }

  @GpuKernel(blockSize = N)
  static void shorts(Short4[] a, Short4[] b) {
    var p = a[threadIdxX()];
    b[threadIdxX()] = new Short4(p.d, p.c, p.b, (short) (p.a * 30_000));
  }

  @GpuKernel(blockSize = N)
  static void mixed(Mixed[] a, Mixed[] b) {
    int i = threadIdxX();
    var p = a[i];
    b[i] =
        p.flag && i % 3 != 0
            ? new Mixed((byte) (p.tag + 100), -p.value, (short) (p.n * 7), i > 16, p.letter)
            : p;
  }

  @GpuKernel(blockSize = N)
  static void triples(Triple[] a, Triple[] b) {
    int i = threadIdxX();
    float sum = 0;
    for (int k = 0; k < 4; k++) {
      sum += a[(i + k) % a.length].y();
    }
    b[i] = new Triple(sum, a[i].z, a[i].x);
  }

  private static Particle moved(Particle p, int i) {
    var phase = p.phase() == Phase.SOLID ? Phase.values()[i % 3] : Phase.GAS;
    return new Particle(
        (byte) i,
        p.state(),
        new Triple(p.position().z(), i, p.position().x()),
        phase,
        p.id() << 20);
  }

  @GpuKernel(blockSize = N)
  static void particles(Particle[] a, Particle[] b) {
    int i = threadIdxX();
    b[i] = moved(a[i], i);
  }

  private static Object element(Class<?> type, int i) {
    return switch (type.getSimpleName()) {
      case "Float4" -> new Float4(i, -i / 3f, Float.NaN, 1e30f * i);
      case "Complex" -> new Complex(i - 16, 1f / (i + 1));
      case "Double2" -> new Double2(i / 7.0, -0.0);
      case "Short4" -> new Short4((short) i, (short) -i, (short) (i * 2000), Short.MIN_VALUE);
      case "Mixed" ->
          new Mixed((byte) (i * 9), i / 3.0, (short) (-i * 999), i % 2 == 0, (char) (65_535 - i));
      case "Triple" -> new Triple(i, i * 0.1f, -i);
      case "Particle" ->
          new Particle(
              (byte) -i,
              (Mixed) element(Mixed.class, i),
              (Triple) element(Triple.class, i),
              Phase.values()[i % 3],
              i * 1_000_000_007L);
      default -> throw new IllegalArgumentException(type.getName());
    };
  }

  private static Object[] elements(Class<?> type, int from) {
    var array = (Object[]) Array.newInstance(type, N);
    for (int i = 0; i < N; i++) {
      array[i] = element(type, from + i);
    }
    return array;
  }

  private static long count(JavaKernel kernel, String pattern) {
    return Pattern.compile(pattern).matcher(kernel.module(false).toString()).results().count();
  }

  @ParameterizedTest
  @ValueSource(strings = {"rotate", "square", "swap", "shorts", "mixed", "triples", "particles"})
  void aKernelGivesWhatPlainJavaGives(String name) {
    var kernel = Kernels.of(RecordArraysTest.class, name);
    var type = kernel.method().getParameterTypes()[0].getComponentType();
    var expected = elements(type, 100);
    kernel.inJava().launch(1, elements(type, 0), expected);
    for (var each :
        List.of(
            kernel.on(DEVICE).checked(true),
            kernel.on(DEVICE).checked(false),
            kernel.debugged().on(DEVICE))) {
      var in = elements(type, 0);
      var before = in.clone();
      var out = elements(type, 100);
      each.launch(1, in, out);
      assertThat(out).isEqualTo(expected);
      assertThat(IntStream.range(0, N).allMatch(i -> in[i] == before[i])).isTrue();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"rotate", "shorts", "mixed", "triples", "particles"})
  void assemblersAcceptTheKernels(String name) {
    var module = Kernels.of(RecordArraysTest.class, name).module(true);
    var assembled = Assemblers.any().assemble(module.toString(), module.target());
    assertThat(assembled.cubin()).isNotEmpty();
  }

  @Test
  void equalComponentsAreOneVector() {
    assertThat(count(Kernels.of(RecordArraysTest::rotate), "ld\\.global\\.nc\\.v4\\.f32 ")).isOne();
    assertThat(count(Kernels.of(RecordArraysTest::rotate), "st\\.global\\.v4\\.f32 ")).isOne();
    assertThat(count(Kernels.of(RecordArraysTest::square), "ld\\.global\\.nc\\.v2\\.f32 "))
        .isEqualTo(2);
    assertThat(count(Kernels.of(RecordArraysTest::square), "st\\.global\\.v2\\.f32 ")).isOne();
    assertThat(count(Kernels.of(RecordArraysTest::swap), "ld\\.global\\.nc\\.v2\\.f64 ")).isOne();
    assertThat(count(Kernels.of(RecordArraysTest::swap), "st\\.global\\.v2\\.f64 ")).isOne();
    assertThat(count(Kernels.of(RecordArraysTest::shorts), "ld\\.global\\.nc\\.v4\\.s16 ")).isOne();
    assertThat(count(Kernels.of(RecordArraysTest::shorts), "st\\.global\\.v4\\.s16 ")).isOne();
  }

  @Test
  void aRecordOfTwelveBytesIsNotAligned() {
    var kernel = Kernels.of(RecordArraysTest::triples);
    assertThat(count(kernel, "\\.v[24]\\.")).isZero();
    assertThat(count(kernel, "mul\\.wide\\.s32 .*, 12;")).isPositive();
  }

  @GpuKernel(blockSize = N)
  static void second(Float4[] points, float[] out) {
    out[threadIdxX()] = points[threadIdxX()].y() + points.length;
  }

  @Test
  void onlyTheComponentsInUseAreLoaded() {
    var kernel = Kernels.of(RecordArraysTest::second);
    assertThat(count(kernel, "ld\\.global")).isOne();
    assertThat(count(kernel, "ld\\.global\\.nc\\.f32 .*\\+4\\];")).isOne();
    var out = new float[N];
    var points = elements(Float4.class, 0);
    kernel.on(DEVICE).launch(1, points, out);
    assertThat(out[6]).isEqualTo(-2f + N);
  }

  @Test
  void theLayoutIsThatOfAStruct() {
    var mixed = RecordLayout.of(Mixed.class).orElseThrow();
    assertThat(mixed.leaves())
        .extracting(RecordLayout.Leaf::offset)
        .containsExactly(0, 8, 16, 18, 20);
    assertThat(mixed.bytes()).isEqualTo(24);
    assertThat(mixed.alignment()).isEqualTo(8);
    var particle = RecordLayout.of(Particle.class).orElseThrow();
    assertThat(particle.leaves())
        .extracting(RecordLayout.Leaf::path)
        .startsWith("kind", "state.tag", "state.value")
        .endsWith("position.z", "phase", "id");
    assertThat(particle.leaves())
        .extracting(RecordLayout.Leaf::offset)
        .containsExactly(0, 8, 16, 24, 26, 28, 32, 36, 40, 44, 48);
    assertThat(particle.bytes()).isEqualTo(56);
    assertThat(RecordLayout.of(Triple.class).orElseThrow().bytes()).isEqualTo(12);
  }

  @GpuKernel(blockSize = N)
  static void sums(Complex[] a, int n, float[] out) {
    int i = threadIdxX();
    if (i < n) {
      out[i] = a[i].re() + a[i].im();
    }
  }

  @GpuKernel(blockSize = N)
  static void writes(Complex[] a, int n) {
    int i = threadIdxX();
    if (i < n) {
      a[i] = new Complex(i, i);
    }
  }

  @Test
  void boundsAreCheckedOnceForEachElement() {
    var kernel = Kernels.of(RecordArraysTest::writes);
    assertThat(Pattern.compile("setp\\.hs").matcher(kernel.module(true).toString()).results())
        .hasSize(1);
    var a = new Complex[] {new Complex(3, 4), new Complex(5, 6)};
    assertThatExceptionOfType(CheckFailedException.class)
        .isThrownBy(() -> kernel.on(DEVICE).launch(1, a, 3))
        .withMessageContaining("index 2 is out of bounds for `a`, which has 2 elements");
    assertThatExceptionOfType(CheckFailedException.class)
        .isThrownBy(
            () -> Kernels.of(RecordArraysTest::sums).on(DEVICE).launch(1, a, 3, new float[N]))
        .withMessageContaining("index 2 is out of bounds for `a`, which has 2 elements");
  }

  @Test
  void elementsThatDidNotChangeKeepTheirObjects() {
    var a = new Complex[N];
    for (int i = 0; i < N; i++) {
      a[i] = new Complex(i % 2 == 0 ? i : -1, i);
    }
    var before = a.clone();
    Kernels.of(RecordArraysTest::writes).on(DEVICE).launch(1, a, N - 2);
    for (int i = 0; i < N; i++) {
      assertThat(a[i] == before[i]).as("%d", i).isEqualTo(i % 2 == 0 || i >= N - 2);
      assertThat(a[i]).isEqualTo(i < N - 2 ? new Complex(i, i) : before[i]);
    }
  }

  @Test
  void arraysStayOnTheDevice() {
    var kernel = Kernels.of(RecordArraysTest::writes).on(DEVICE);
    try (var stream = KernelStream.open(DEVICE);
        var a = DeviceArray.copyOf(DEVICE, new Complex[] {new Complex(7, 8), new Complex(9, 1)});
        var empty = DeviceArray.copyOf(DEVICE, new Complex[0]);
        var other = DeviceArray.allocate(DEVICE, Float4[].class, 2)) {
      assertThat(a.toArray()).containsExactly(new Complex(7, 8), new Complex(9, 1));
      kernel.launchAsync(stream, 1, a, 1);
      kernel.launchAsync(stream, 1, empty, 0);
      assertThat(a.toArray()).containsExactly(new Complex(0, 0), new Complex(9, 1));
      assertThat(empty.toArray()).isEmpty();
      var host = new Complex[] {new Complex(0, 0), null};
      var first = host[0];
      a.copyTo(host);
      assertThat(host[0]).isSameAs(first);
      assertThat(host[1]).isEqualTo(new Complex(9, 1));
      try (Buffer buffer = DEVICE.allocate(16)) {
        kernel.launch(1, buffer, 2);
      }
      assertThatIllegalArgumentException()
          .isThrownBy(() -> kernel.launch(1, other, 1))
          .withMessage(
              "`a` is Complex[], a DeviceArray<Complex[]> or a Buffer,"
                  + " got DeviceArray<Float4[]> of length 2");
    }
  }

  @Test
  void otherArraysAreRefused() {
    var kernel = Kernels.of(RecordArraysTest::writes).on(DEVICE);
    refuse(kernel, new Float4[1], "`a` is Complex[], a DeviceArray<Complex[]> or a Buffer, got ");
    refuse(kernel, null, "`a` is Complex[], a DeviceArray<Complex[]> or a Buffer, got null");
    refuse(
        kernel,
        new Complex[] {new Complex(1, 2), null, null},
        "element 1 of Complex[3] is null; a kernel needs a record in each element");
    var a = (Complex[]) elements(Complex.class, 0);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Kernels.of(RecordArraysTest::square).on(DEVICE).launch(1, a, a))
        .withMessage(
            "`a` and `b` are the same memory, and square writes `b`; pass different arrays");
    var inner = (Particle[]) elements(Particle.class, 0);
    inner[2] = new Particle((byte) 1, null, new Triple(1, 2, 3), Phase.GAS, 0);
    assertThatIllegalArgumentException()
        .isThrownBy(() ->
            Kernels.of(RecordArraysTest::particles)
                .on(DEVICE)
                .launch(1, inner, elements(Particle.class, 0)))
        .withMessage("Particle.state is null; a kernel needs a value");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> DeviceArray.allocate(DEVICE, String[].class, 1))
        .withMessage(
            "a device array has elements of a primitive type or records of these; got String[]");
  }

  private static void refuse(DeviceKernel kernel, Object array, String sentence) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> kernel.launch(1, array, 1))
        .withMessageStartingWith(sentence);
  }

  record Aged(Phase phase) {}

  @Test
  void anOrdinalWithoutAConstantIsRefused() {
    try (var a = DeviceArray.copyOf(DEVICE, new Aged[] {new Aged(Phase.GAS)});
        var stream = DEVICE.openStream()) {
      stream.fill(a.buffer(), 0, 4, (byte) 1);
      stream.synchronize();
      assertThatIllegalStateException()
          .isThrownBy(a::toArray)
          .withMessage("Phase has no constant with the ordinal 16843009");
    }
  }

  private static <T> T at(T[] array, int index) {
    return array[index];
  }

  private static <T> void set(T[] array, int index, T value) {
    array[index] = value;
  }

  @GpuKernel(blockSize = N)
  static void generic(Triple[] a, Triple[] b) {
    int i = threadIdxX();
    set(i % 2 == 0 ? a : b, i, at(a, (i & ~1) + 1));
  }

  @Test
  void genericMethodsTakeArraysOfRecords() {
    var kernel = Kernels.of(RecordArraysTest::generic);
    var a = (Triple[]) elements(Triple.class, 0);
    var b = (Triple[]) elements(Triple.class, 100);
    kernel.on(DEVICE).launch(1, a, b);
    for (int i = 0; i < N; i++) {
      assertThat(a[i]).isEqualTo(element(Triple.class, i | 1));
      assertThat(b[i]).isEqualTo(element(Triple.class, i % 2 == 0 ? 100 + i : i));
    }
  }

  @Test
  void aLambdaUsesArraysOfRecords() {
    var a = (Complex[]) elements(Complex.class, 0);
    var expected = a[3].times(a[3]);
    Kernels.forEach(DEVICE, N, i -> a[i] = a[i].times(a[i]));
    assertThat(a[3]).isEqualTo(expected);
  }
}
