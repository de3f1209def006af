package dev.athanor.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.TilePartition;
import dev.athanor.engine.author.TilePartition.Offset;
import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Type;
import java.lang.foreign.MemorySegment;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TilePartitionTest {

  /** Whole and partial rounds, segments, rows of several rounds, and threads without a piece. */
  @ParameterizedTest
  @CsvSource({
    "32,  8, 16, 4, 16",
    "32, 11, 16, 2, 16",
    "32,  3, 16, 4, 16",
    "64,  5, 64, 8, 32",
    "32,  7, 64, 1, 64",
    "32,  2, 96, 1, 96",
    "32,  1,  8, 2,  8",
    "64,  9, 24, 4,  8"
  })
  void threadsHaveEachElementOnce(int threads, int rows, int columns, int elements, int segment) {
    var partition = new TilePartition(threads, rows, columns, elements, segment);
    var kernel =
        KernelBuilder.build(
            "test",
            threads,
            k -> {
              var out = k.pointer("out", Type.F32);
              partition.each(
                  k,
                  k.thread(),
                  (row, column) -> {
                    for (int i = 0; i < elements; i++) {
                      var index = row.times(columns).plus(column).plus(i);
                      out.store(index, out.load(index).widen().plus(k.real(Type.F32, 1)));
                    }
                  });
            });
    var counts = new float[rows * columns];
    // the sanitizer reports an element of two threads as a race
    try (var device = new EmulatedDevice(EmulatorOptions.DEFAULT.withSanitize(Sanitize.FULL));
        var stream = device.openStream();
        Buffer out = device.allocate((long) Float.BYTES * counts.length)) {
      stream.upload(MemorySegment.ofArray(counts), out, 0);
      stream.launch(
          new Launch(
              device.load(Module.of(kernel), kernel.name()),
              Dim3.of(1),
              Dim3.of(threads),
              0,
              List.of(new Argument.Pointer(out, 0))));
      stream.download(out, 0, MemorySegment.ofArray(counts));
      stream.synchronize();
    }
    assertThat(counts).containsOnly(1);
  }

  @Test
  void listsOffsetsRowByRow() {
    var partition = new TilePartition(4, 4, 8, 2, 4);
    assertThat(partition.segments()).isEqualTo(2);
    assertThat(partition.rowsAtOnce()).isEqualTo(2);
    assertThat(partition.offsets())
        .containsExactly(new Offset(0, 0), new Offset(0, 4), new Offset(2, 0), new Offset(2, 4));
  }
}
