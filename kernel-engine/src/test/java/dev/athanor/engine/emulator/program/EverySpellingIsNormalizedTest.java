package dev.athanor.engine.emulator.program;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.Version;
import dev.athanor.engine.ptx.table.TableWalk;
import java.util.HashSet;
import org.junit.jupiter.api.Test;

/** Both normalizations accept every instruction of the table. */
class EverySpellingIsNormalizedTest {

  private static final Kernel ALL =
      TableWalk.module(new Version(9, 0), Target.of("sm_90a")).kernels().getFirst();

  @Test
  void normalizesOperands() {
    assertThat(Normalizer.normal(ALL, new HashSet<>()).instructions().count())
        .isGreaterThanOrEqualTo(ALL.instructions().count());
  }

  @Test
  void canonicalizesNans() {
    assertThat(CanonicalNans.in(ALL, new HashSet<>()).instructions().count())
        .isGreaterThan(ALL.instructions().count());
  }
}
