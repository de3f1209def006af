package dev.athanor.service.forward;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.springframework.mock.web.MockHttpServletRequest;

/** Tests the memory of copied request bodies. */
class ReplayableRequestTest {

  private final AtomicLong budget = new AtomicLong(100);

  private ReplayableRequest request(int bytes, long limit) {
    var request = new MockHttpServletRequest();
    request.setContent(new byte[bytes]);
    return new ReplayableRequest(request, limit, budget);
  }

  private static int copied(ReplayableRequest request) throws Exception {
    var copy = request.copied();
    return copy == null ? -1 : copy.readAllBytes().length;
  }

  @Test
  void copiesReturnTheirMemory() throws Exception {
    try (var request = request(60, 80)) {
      request.getInputStream().readAllBytes();

      assertThat(copied(request)).isEqualTo(60);
      assertThat(budget).hasValue(40);
    }
    assertThat(budget).hasValue(100);
  }

  @Test
  void bodiesOverTheLimitAreReadWithoutACopy() throws Exception {
    try (var request = request(81, 80)) {
      assertThat(request.getInputStream().readAllBytes()).hasSize(81);

      assertThat(copied(request)).isEqualTo(-1);
      assertThat(budget).hasValue(100);
    }
  }

  @Test
  void allCopiesTogetherStayWithinTheBudget() throws Exception {
    try (var first = request(60, 80);
        var second = request(60, 80)) {
      first.getInputStream().readAllBytes();
      assertThat(second.getInputStream().readAllBytes()).hasSize(60);

      assertThat(copied(first)).isEqualTo(60);
      assertThat(copied(second)).isEqualTo(-1);
      assertThat(budget).hasValue(40);
    }
    assertThat(budget).hasValue(100);
    try (var later = request(60, 80)) {
      later.getInputStream().readAllBytes();
      assertThat(copied(later)).isEqualTo(60);
    }
  }
}
