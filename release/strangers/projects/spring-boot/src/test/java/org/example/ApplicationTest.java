package org.example;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.client.Athanor;
import dev.athanor.client.HostTensor;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;

@SpringBootTest(properties = "athanor.client.url=${athanor.url}")
class ApplicationTest {

  @Autowired Athanor athanor;

  @Test
  void adds() {
    var x = HostTensor.of(new float[] {1, 2}, 2);
    assertThat(athanor.inline().add(x, x).toFloats()).containsExactly(2, 4);
  }
}
