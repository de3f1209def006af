package dev.athanor.ops;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Stream;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.ops.expression.ExpressionOps;
import dev.athanor.ops.run.HostRun;
import dev.athanor.testing.TestTier;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.SplittableRandom;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Placement of tensors in buffers: offsets, alignment, overlap, and in-place computation. */
class BindingsTest {

  private static final byte UNTOUCHED = 0x5A;
  private static final TensorType TYPE = TensorType.of(DType.F32, 10, 10);

  private final EmulatedDevice device = new EmulatedDevice();
  private final Stream stream = device.openStream();
  private final List<Buffer> buffers = new ArrayList<>();

  @AfterEach
  void close() {
    buffers.forEach(Buffer::close);
    stream.close();
    device.close();
  }

  private Buffer allocate(long bytes) {
    var buffer = device.allocate(bytes);
    buffers.add(buffer);
    stream.fill(buffer, 0, bytes, UNTOUCHED);
    return buffer;
  }

  /**
   * Tensors may start at an offset and end before the end of their buffer. The results are those of
   * tensors with separate buffers, and the bytes around an output do not change.
   */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "matmul | a=f32[33,20] b=f32[20,19]",
        "matmul | a=f16[64,64] b=f16[64,72]",
        "matmul-backward | grad=f16[33,24] a=f16[33,40] b=f16[40,24]",
        "attention | q=f16[19,64] k=f16[33,64] v=f16[33,64] withLse=true",
        "qkv-project-int8 | x=f16[17,48] wq=i8[48,18] wk=i8[48,34] wv=i8[48,34] scaleQ=f32[] scaleK=f32[] scaleV=f32[]",
        "softmax | x=f32[3,100]",
        "add | a=f16[5,64] b=f16[5,64]"
      })
  @Tag(TestTier.THOROUGH_TAG)
  void supportsTensorsWithinLargerBuffers(String name, String text) {
    int before = 48;
    int after = 1000;
    var problem = Problem.parse(Runner.op(name), text);
    var inputs = problem.draw(new SplittableRandom(1));
    for (var plan : problem.plans(device.capability())) {
      var kernels = new KernelCache(device);
      var given = new HashMap<String, DeviceTensor>();
      inputs.forEach((input, tensor) -> {
        var buffer = allocate(before + tensor.type().bytes() + after);
        stream.upload(tensor.data(), buffer, before);
        given.put(input, new DeviceTensor(tensor.type(), buffer, before));
      });
      var made = new HashMap<String, DeviceTensor>();
      plan.outputs()
          .forEach((output, type) ->
              made.put(
                  output, new DeviceTensor(type, allocate(before + type.bytes() + after), before)));
      var workspace =
          plan.workspaceBytes() == 0
              ? Optional.<Buffer>empty()
              : Optional.of(allocate(plan.workspaceBytes()));
      plan.enqueue(kernels, stream, new Bindings(given, made, workspace));
      var expected = HostRun.of(device, kernels, plan, inputs).outputs();
      made.forEach((output, tensor) -> {
        var bytes = new byte[(int) tensor.buffer().bytes()];
        stream.download(tensor.buffer(), 0, MemorySegment.ofArray(bytes));
        stream.synchronize();
        var expectedBytes = new byte[bytes.length];
        MemorySegment.ofArray(expectedBytes).fill(UNTOUCHED);
        MemorySegment.copy(
            Objects.requireNonNull(expected.get(output)).data(),
            ValueLayout.JAVA_BYTE,
            0,
            expectedBytes,
            before,
            (int) tensor.type().bytes());
        assertThat(bytes).as("%s of %s", output, plan.kernel()).isEqualTo(expectedBytes);
      });
    }
  }

  /** Runs every in-place op over each input that has the type of the output. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "relu | x=f16[1003]",
        "gelu | x=f32[1003] form=erf",
        "silu | x=bf16[7,129]",
        "tanh | x=f32[257]",
        "sigmoid | x=f16[257]",
        "swiglu | gate=f32[5,131] up=f32[5,131]",
        "geglu | gate=f16[5,131] up=f16[5,131]",
        "add | a=f32[3000] b=f32[3000]",
        "add | a=f16[5,64] b=f16[64]",
        "add | a=f32[1,7] b=f32[5,7]",
        "mul | a=f64[33,5] b=f64[33,1]",
        "scale | x=f16[1001] factor=0.5",
        "bias-activation | x=f32[9,33] bias=f32[33] activation=silu",
        "cast | x=f32[1001] to=f32",
        "activation-backward | x=f32[5,131] grad=f32[5,131] activation=silu",
        "copy | into=f32[40,3] x=f32[6,3] at=i64[]",
        "copy | into=f16[4,6,64] x=f16[4,1,64] offsets=0,2,0",
        "causal-convolution | x=f32[2,70,3] weight=f32[70,4] state=f32[2,70,3]",
        "causal-convolution | x=f16[2,70,2] weight=f16[70,11] state=f16[2,70,10]",
        "linear-attention | q=f32[2,4,3,4] k=f32[2,4,3,4] v=f32[2,4,3,4] beta=f32[2,4,3]"
            + " state=f32[2,3,4,4]",
        "linear-attention | q=f32[2,3,3,3] k=f32[2,3,3,3] v=f32[2,3,3,7] state=f32[2,3,3,7]"
      })
  void computesInPlace(String name, String text) {
    var problem = Problem.parse(Runner.op(name), text);
    var inputs = problem.draw(new SplittableRandom(1));
    for (var plan : problem.plans(device.capability())) {
      var kernels = new KernelCache(device);
      var expected = HostRun.of(device, kernels, plan, inputs).outputs();
      plan.outputs()
          .forEach((replacing, type) ->
              inputs.forEach((over, taken) -> {
                if (taken.type().equals(type) && problem.op().mayReplace(over)) {
                  var given = new HashMap<String, DeviceTensor>();
                  inputs.forEach((input, tensor) -> {
                    var buffer = allocate(tensor.type().bytes());
                    stream.upload(tensor.data(), buffer, 0);
                    given.put(input, new DeviceTensor(tensor.type(), buffer));
                  });
                  var made = new HashMap<String, DeviceTensor>();
                  plan.outputs()
                      .forEach((output, other) ->
                          made.put(
                              output,
                              output.equals(replacing)
                                  ? Objects.requireNonNull(given.get(over))
                                  : new DeviceTensor(other, allocate(other.bytes()))));
                  plan.enqueue(
                      kernels,
                      stream,
                      new Bindings(given, made, Optional.empty(), problem.op()::mayReplace));
                  made.forEach((output, tensor) -> {
                    var bytes = new byte[(int) tensor.type().bytes()];
                    stream.download(tensor.buffer(), 0, MemorySegment.ofArray(bytes));
                    stream.synchronize();
                    assertThat(bytes)
                        .as("%s of %s, %s over %s", output, plan.kernel(), replacing, over)
                        .isEqualTo(
                            Objects.requireNonNull(expected.get(output))
                                .data()
                                .toArray(ValueLayout.JAVA_BYTE));
                  });
                }
              }));
    }
  }

  /** Each output is in the place of the input that follows it in the list. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "adamw | y x nextM m nextV v | x=f32[1003] grad=f32[1003] m=f32[1003] v=f32[1003] step=3",
        "adamw | y x nextM m nextV v | x=bf16[33,40] grad=f32[33,40] m=f32[33,40] v=f32[33,40] clip=f32[] step=3",
        "swiglu-backward | dgate grad dup gate | grad=f16[1003] gate=f16[1003] up=f16[1003]"
      })
  void computesSeveralOutputsInPlace(String name, String places, String text) {
    var problem = Problem.parse(Runner.op(name), text);
    var inputs = problem.draw(new SplittableRandom(1));
    var plan = problem.plans(device.capability()).getFirst();
    var kernels = new KernelCache(device);
    var expected = HostRun.of(device, kernels, plan, inputs).outputs();
    var given = new HashMap<String, DeviceTensor>();
    inputs.forEach((input, tensor) -> {
      var buffer = allocate(tensor.type().bytes());
      stream.upload(tensor.data(), buffer, 0);
      given.put(input, new DeviceTensor(tensor.type(), buffer));
    });
    var made = new HashMap<String, DeviceTensor>();
    var words = places.split(" ", -1);
    for (int i = 0; i < words.length; i += 2) {
      made.put(words[i], Objects.requireNonNull(given.get(words[i + 1])));
    }
    plan.enqueue(
        kernels, stream, new Bindings(given, made, Optional.empty(), problem.op()::mayReplace));
    made.forEach((output, tensor) -> {
      var bytes = new byte[(int) tensor.type().bytes()];
      stream.download(tensor.buffer(), 0, MemorySegment.ofArray(bytes));
      stream.synchronize();
      assertThat(bytes)
          .as(output)
          .isEqualTo(
              Objects.requireNonNull(expected.get(output)).data().toArray(ValueLayout.JAVA_BYTE));
    });
  }

  @Test
  void onlyElementwiseOpsUpdatesAndCopiesWorkInPlace() {
    var expressions = ExpressionOps.all().stream().map(op -> op.description().name()).toList();
    assertThat(
            Catalogue.load().all().stream()
                .filter(op ->
                    op.description().inputs().stream().anyMatch(in -> op.mayReplace(in.name())))
                .map(op -> op.description().name())
                .filter(name -> !expressions.contains(name)))
        .containsExactlyInAnyOrder(
            "activation-backward",
            "adamw",
            "add",
            "bias-activation",
            "cache-append",
            "cast",
            "causal-convolution",
            "copy",
            "geglu",
            "geglu-backward",
            "gelu",
            "linear-attention",
            "mul",
            "relu",
            "scale",
            "sigmoid",
            "silu",
            "swiglu",
            "swiglu-backward",
            "tanh");
  }

  @Test
  void inPlaceOutputsMustCoincideWithAnInput() {
    var buffer = allocate(1000);
    var x = new DeviceTensor(TYPE, buffer, 16);
    var y = new DeviceTensor(TYPE, buffer, 0);
    assertThat(
            new Bindings(Map.of("x", x), Map.of("y", x), Optional.empty(), _ -> true).output("y"))
        .isEqualTo(x);
    assertRejected(
        () -> new Bindings(Map.of("x", x), Map.of("y", y), Optional.empty(), _ -> true),
        "output y overlaps input x; outputs must not share memory with other tensors");
    assertRejected(
        () -> new Bindings(Map.of("x", x), Map.of("y", x), Optional.empty()),
        "output y overlaps input x; outputs must not share memory with other tensors");
  }

  @Test
  void rejectsTensorsLargerThanTheirBuffer() {
    var buffer = allocate(400);
    assertThat(new DeviceTensor(TYPE, buffer).offset()).isZero();
    assertRejected(
        () -> new DeviceTensor(TYPE, allocate(399)),
        "f32[10, 10] takes 400 bytes, from byte 0 on the buffer has 399");
    assertRejected(
        () -> new DeviceTensor(TYPE, buffer, 16),
        "f32[10, 10] takes 400 bytes, from byte 16 on the buffer has 384");
  }

  /** Kernels use 16-byte accesses where extents allow it. */
  @Test
  void rejectsMisalignedTensors() {
    var buffer = allocate(1000);
    assertRejected(
        () -> new DeviceTensor(TYPE, buffer, 4),
        "a tensor must start at a multiple of 16 bytes, got offset 4");
    assertRejected(
        () -> new DeviceTensor(TYPE, buffer, -16),
        "a tensor must start at a multiple of 16 bytes, got offset -16");
  }

  @Test
  void outputsMustNotOverlapOtherTensors() {
    var buffer = allocate(1200);
    var first = new DeviceTensor(TYPE, buffer);
    var second = new DeviceTensor(TYPE, buffer, 400);
    var both = new DeviceTensor(TYPE, buffer, 208);
    var apart = new Bindings(Map.of("x", first), Map.of("y", second), Optional.empty());
    assertThat(apart.output("y")).isEqualTo(second);
    assertThat(new Bindings(Map.of("a", first, "b", both), Map.of(), Optional.empty()).inputs())
        .as("inputs may overlap")
        .hasSize(2);
    assertRejected(
        () -> new Bindings(Map.of("x", first), Map.of("y", both), Optional.empty()),
        "output y overlaps input x; outputs must not share memory with other tensors");
    assertRejected(
        () -> new Bindings(Map.of("x", first), Map.of("y", first), Optional.empty()),
        "output y overlaps input x; outputs must not share memory with other tensors");
    assertThatThrownBy(
            () -> new Bindings(Map.of(), Map.of("q", second, "k", second), Optional.empty()))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageMatching(
            "output ([qk]) overlaps output (?!\\1)[qk]; outputs must not share memory with other"
                + " tensors");
  }

  private static void assertRejected(Runnable creation, String message) {
    assertThatThrownBy(creation::run)
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(message);
  }
}
