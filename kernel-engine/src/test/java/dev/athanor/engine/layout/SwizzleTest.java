package dev.athanor.engine.layout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.HashSet;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class SwizzleTest {

  /** Returns the position of a chunk in its row, with the swizzle repeated beyond its extents. */
  private static int place(LinearLayout swizzle, int row, int chunk) {
    var space = swizzle.inputs();
    int chunks = space.extent(Axis.BYTE) / Swizzle.CHUNK;
    int image =
        swizzle.apply(
            Axis.BYTE,
            Map.of(
                Axis.BYTE, chunk % chunks * Swizzle.CHUNK, Axis.ROW, row % space.extent(Axis.ROW)));
    return image / Swizzle.CHUNK + chunk / chunks * chunks;
  }

  @Test
  void rowsOf128BytesAreSwizzledByTheirNumber() {
    for (int row = 0; row < 8; row++) {
      for (int chunk = 0; chunk < 8; chunk++) {
        assertThat(place(Swizzle.of(128), row, chunk)).isEqualTo(row ^ chunk);
        assertThat(place(Swizzle.of(256), row, chunk)).isEqualTo(row ^ chunk);
        assertThat(place(Swizzle.of(64), row, chunk % 4)).isEqualTo(row / 2 ^ chunk % 4);
        assertThat(place(Swizzle.of(128, 32), row, chunk)).isEqualTo(row % 4 * 2 ^ chunk);
        assertThat(place(Swizzle.NONE, row, chunk)).isEqualTo(chunk);
      }
    }
  }

  @Test
  void runsStayContiguous() {
    assertThat(Swizzle.of(128).contiguous(Axis.BYTE, Axis.BYTE)).isEqualTo(16);
    assertThat(Swizzle.of(256, 32).contiguous(Axis.BYTE, Axis.BYTE)).isEqualTo(32);
    assertThat(Swizzle.of(64, 64).contiguous(Axis.BYTE, Axis.BYTE)).isEqualTo(64);
  }

  @ParameterizedTest
  @ValueSource(ints = {16, 32, 64, 128, 256, 384, 512})
  void eightRowsOfAChunkAvoidConflicts(int rowBytes) {
    var swizzle = Swizzle.of(rowBytes);
    for (int chunk = 0; chunk < rowBytes / Swizzle.CHUNK; chunk++) {
      for (int first = 0; first < 64; first += 8) {
        var banks = new HashSet<Integer>();
        for (int row = first; row < first + 8; row++) {
          banks.add((row * rowBytes / Swizzle.CHUNK + place(swizzle, row, chunk)) % 8);
        }
        assertThat(banks).as("rows %d to %d at chunk %d", first, first + 7, chunk).hasSize(8);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {16, 32, 64, 128, 256, 384, 512})
  void rowsArePermutedPeriodically(int rowBytes) {
    var swizzle = Swizzle.of(rowBytes);
    int chunks = rowBytes / Swizzle.CHUNK;
    for (int row = 0; row < 32; row++) {
      var places = new HashSet<Integer>();
      for (int chunk = 0; chunk < chunks; chunk++) {
        places.add(place(swizzle, row, chunk));
        assertThat(place(swizzle, row, chunk)).isBetween(0, chunks - 1);
        assertThat(place(swizzle, row + swizzle.inputs().extent(Axis.ROW), chunk))
            .isEqualTo(place(swizzle, row, chunk));
      }
      assertThat(places).hasSize(chunks);
    }
  }

  /** 128 bytes of runs, each in another row. */
  @ParameterizedTest
  @CsvSource({"64, 32", "128, 32", "128, 64", "256, 32", "256, 64", "512, 32"})
  void rowsOfARunAvoidConflicts(int rowBytes, int runBytes) {
    var swizzle = Swizzle.of(rowBytes, runBytes);
    int run = runBytes / Swizzle.CHUNK;
    int rows = 8 / run;
    for (int chunk = 0; chunk < rowBytes / Swizzle.CHUNK; chunk += run) {
      for (int first = 0; first < 64; first += rows) {
        var banks = new HashSet<Integer>();
        for (int row = first; row < first + rows; row++) {
          for (int i = 0; i < run; i++) {
            int place = place(swizzle, row, chunk + i);
            assertThat(place / run)
                .as("a run stays whole")
                .isEqualTo(place(swizzle, row, chunk) / run);
            assertThat(place).isBetween(0, rowBytes / Swizzle.CHUNK - 1);
            banks.add((row * rowBytes / Swizzle.CHUNK + place) % 8);
          }
        }
        assertThat(banks).as("rows from %d at chunk %d", first, chunk).hasSize(8);
      }
    }
  }

  @Test
  void rejectsInvalidRuns() {
    assertThatThrownBy(() -> Swizzle.of(64, 128))
        .hasMessage(
            "runs of 128 bytes cannot be swizzled; use a power of two from 16 to the row length 64");
  }

  @Test
  void rejectsInvalidRowLengths() {
    assertThatThrownBy(() -> Swizzle.of(80))
        .hasMessage(
            "rows of 80 bytes cannot be swizzled; use 16, 32, 64 or a multiple of 128 bytes");
  }
}
