package dev.athanor.ops.linear;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.ops.OpException;
import dev.athanor.ops.Shape;
import dev.athanor.testing.TestTier;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class BatchTest {

  @Test
  void matchingDimensionsNeedOneLoop() {
    assertThat(Batch.of(Shape.of(4, 3, 2), Shape.of(4, 3, 2)).loops())
        .containsExactly(new Batch.Loop(24, 1, 1));
  }

  @Test
  void missingDimensionsAreBroadcast() {
    assertThat(Batch.of(Shape.of(), Shape.of(4, 3)).loops())
        .containsExactly(new Batch.Loop(12, 0, 1));
    assertThat(Batch.of(Shape.of(5, 1), Shape.of(1, 3)).loops())
        .containsExactly(new Batch.Loop(5, 1, 0), new Batch.Loop(3, 0, 1));
    assertThat(Batch.of(Shape.of(), Shape.of()).starts()).containsExactly(new Batch.Start(0, 0, 0));
  }

  @Test
  void oneLaunchCoversTwoLoops() {
    assertThat(Batch.of(Shape.of(5, 1), Shape.of(1, 3)).starts())
        .containsExactly(new Batch.Start(0, 0, 0));
    assertThat(Batch.of(Shape.of(2, 1, 4), Shape.of(1, 3, 4)).starts())
        .containsExactly(new Batch.Start(0, 0, 0), new Batch.Start(4, 0, 12));
  }

  @Test
  void mergesProductsThatShareB() {
    var batch = Batch.of(Shape.of(2, 5, 4), Shape.of(2, 1, 1)).withoutInner();
    assertThat(batch.loops()).containsExactly(new Batch.Loop(2, 1, 1));
    assertThat(batch.shape()).isEqualTo(Shape.of(2));
    assertThatThrownBy(() -> Batch.of(Shape.of(), Shape.of(4)).withoutInner())
        .isInstanceOf(IllegalStateException.class)
        .hasMessage("the matrices of a are not consecutive in Loop[count=4, strideA=0, strideB=1]");
  }

  @Test
  void rejectsOtherDimensions() {
    assertThatThrownBy(() -> Batch.of(Shape.of(2, 3), Shape.of(4, 3)))
        .isInstanceOf(OpException.ShapeMismatch.class)
        .hasMessage(
            "the leading dimensions [2, 3] of a and [4, 3] of b cannot be broadcast; each pair must be equal or contain a 1");
  }

  /** Walks the loops and compares with the definition of broadcasting, index by index. */
  @Test
  void visitsTheRightMatricesInOrder() {
    long seed = TestTier.seed();
    var random = new Random(seed);
    for (int n = 0; n < 500; n++) {
      int rank = random.nextInt(5);
      var a = new long[rank];
      var b = new long[rank];
      for (int i = 0; i < rank; i++) {
        long extent = 1L + random.nextInt(3);
        a[i] = random.nextInt(3) == 0 ? 1 : extent;
        b[i] = random.nextInt(3) == 0 ? 1 : extent;
      }
      var batch = Batch.of(Shape.of(a), Shape.of(b));
      var visited = new ArrayList<List<Long>>();
      var inner = batch.inner();
      var outer = batch.outer();
      for (var start : batch.starts()) {
        for (long o = 0; o < outer.count(); o++) {
          for (long i = 0; i < inner.count(); i++) {
            assertThat(start.c() + o * inner.count() + i).isEqualTo(visited.size());
            long atA = start.a() + o * outer.strideA() + i * inner.strideA();
            long atB = start.b() + o * outer.strideB() + i * inner.strideB();
            assertThat(batch.matrices(visited.size()))
                .isEqualTo(new Batch.Start(atA, atB, visited.size()));
            visited.add(List.of(atA, atB));
          }
        }
      }
      var expected = new ArrayList<List<Long>>();
      for (long c = 0; c < batch.shape().elements(); c++) {
        long rest = c;
        long atA = 0;
        long atB = 0;
        long strideA = 1;
        long strideB = 1;
        for (int i = rank - 1; i >= 0; i--) {
          long index = rest % Math.max(a[i], b[i]);
          rest /= Math.max(a[i], b[i]);
          atA += a[i] == 1 ? 0 : index * strideA;
          atB += b[i] == 1 ? 0 : index * strideB;
          strideA *= a[i];
          strideB *= b[i];
        }
        expected.add(List.of(atA, atB));
      }
      assertThat(visited)
          .as("seed %d, a %s, b %s", seed, Shape.of(a), Shape.of(b))
          .isEqualTo(expected);
    }
  }
}
