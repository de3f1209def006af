package dev.athanor.ops.run;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.ops.Plan;
import java.lang.reflect.Method;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

class ForwardingPlanTest {

  @Test
  void forwardsEveryMethodOfPlan() {
    // A default method of Plan that ForwardingPlan does not forward is lost in decorators.
    var forwarded =
        Arrays.stream(ForwardingPlan.class.getDeclaredMethods())
            .filter(Method::isDefault)
            .map(ForwardingPlanTest::signature);
    // the coverage agent adds a synthetic method
    var declared =
        Arrays.stream(Plan.class.getDeclaredMethods()).filter(method -> !method.isSynthetic());
    assertThat(declared.map(ForwardingPlanTest::signature))
        .isNotEmpty()
        .isSubsetOf(forwarded.toList());
  }

  private static String signature(Method method) {
    return method.getName() + Arrays.toString(method.getParameterTypes());
  }
}
