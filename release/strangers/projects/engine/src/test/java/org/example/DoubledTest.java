package org.example;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class DoubledTest {

  @Test
  void runsInANamedModule() {
    assertTrue(Doubled.class.getModule().isNamed());
    float[] x = {1, 2, 3};
    Doubled.run(x);
    assertArrayEquals(new float[] {2, 4, 6}, x);
  }
}
