package dev.athanor.engine.layout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.HashSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SwizzleTest {

  @ParameterizedTest
  @ValueSource(ints = {16, 32, 64, 128, 256, 384, 512})
  void eightRowsAtOneChunkLieInDifferentBanks(int rowBytes) {
    var swizzle = Swizzle.of(rowBytes);
    for (int chunk = 0; chunk < rowBytes / Swizzle.CHUNK; chunk++) {
      for (int first = 0; first < 64; first += 8) {
        var banks = new HashSet<Integer>();
        for (int row = first; row < first + 8; row++) {
          banks.add((row * rowBytes / Swizzle.CHUNK + swizzle.place(row, chunk)) % 8);
        }
        assertThat(banks).as("rows %d to %d at chunk %d", first, first + 7, chunk).hasSize(8);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {16, 32, 64, 128, 256, 384, 512})
  void everyRowKeepsItsChunksAndBeginsAgainAfterThePeriod(int rowBytes) {
    var swizzle = Swizzle.of(rowBytes);
    int chunks = rowBytes / Swizzle.CHUNK;
    for (int row = 0; row < 32; row++) {
      var places = new HashSet<Integer>();
      for (int chunk = 0; chunk < chunks; chunk++) {
        places.add(swizzle.place(row, chunk));
        assertThat(swizzle.place(row, chunk)).isBetween(0, chunks - 1);
        assertThat(swizzle.place(row + swizzle.period(), chunk))
            .isEqualTo(swizzle.place(row, chunk));
      }
      assertThat(places).hasSize(chunks);
    }
  }

  @Test
  void refusesRowsThatDoNotFillTheBanks() {
    assertThatThrownBy(() -> Swizzle.of(80))
        .hasMessage(
            "rows of 80 bytes cannot be swizzled; their length is 16, 32, 64 or a multiple of 128");
  }
}
