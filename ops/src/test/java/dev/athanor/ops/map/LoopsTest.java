package dev.athanor.ops.map;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.ops.Shape;
import dev.athanor.ops.map.Loops.Loop;
import java.util.List;
import org.junit.jupiter.api.Test;

class LoopsTest {

  private static List<Loop> loops(Shape result, Shape... operands) {
    return Loops.broadcast(result, List.of(operands)).loops();
  }

  @Test
  void denseOperandsNeedOneLoop() {
    assertThat(loops(Shape.of(2, 3, 4), Shape.of(2, 3, 4), Shape.of(2, 3, 4)))
        .containsExactly(new Loop(24, List.of(1L, 1L)));
    assertThat(loops(Shape.of(2, 3, 4), Shape.of(2, 3, 4), Shape.of()))
        .containsExactly(new Loop(24, List.of(1L, 0L)));
    assertThat(loops(Shape.of(), Shape.of())).containsExactly(new Loop(1, List.of(1L)));
  }

  @Test
  void broadcastOperandsNeedSeveralLoops() {
    assertThat(loops(Shape.of(2, 3, 4), Shape.of(2, 3, 4), Shape.of(4)))
        .containsExactly(new Loop(6, List.of(4L, 0L)), new Loop(4, List.of(1L, 1L)));
    assertThat(loops(Shape.of(2, 3, 4), Shape.of(2, 3, 1), Shape.of(4)))
        .containsExactly(new Loop(6, List.of(1L, 0L)), new Loop(4, List.of(0L, 1L)));
  }

  @Test
  void partsCoverAllElementsInOrder() {
    var loops = Loops.broadcast(Shape.of(5, 6, 8), List.of(Shape.of(5, 1, 8), Shape.of(6, 1)));
    for (long most : new long[] {1, 8, 30, 50, 100, 1000}) {
      long next = 0;
      for (var part : loops.parts(most)) {
        assertThat(part.first()).isEqualTo(next);
        assertThat(part.loops().elements()).isBetween(1L, most);
        next += part.loops().elements();
      }
      assertThat(next).isEqualTo(240);
    }
  }

  @Test
  void splitsHugeTensors() {
    var shape = Shape.of(3, 1L << 31);
    var parts = Loops.broadcast(shape, List.of(shape)).parts(ElementwiseSteps.MOST);
    assertThat(parts).hasSize(6);
    assertThat(parts.getLast().first()).isEqualTo(5L << 30);
    assertThat(parts.getLast().starts()).containsExactly(5L << 30);
  }
}
