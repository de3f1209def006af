package org.example;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.athanor.client.Athanor;
import dev.athanor.client.AthanorException;
import dev.athanor.client.HostTensor;
import dev.athanor.client.ops.Activation;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ClientTest {

  @ParameterizedTest
  @ValueSource(strings = {"athanor.url", "athanor.grpc"})
  void multiplies(String url) {
    var x = HostTensor.of(new float[] {3, -4}, 1, 2);
    try (var athanor = Athanor.connect(System.getProperty(url));
        var weights = athanor.upload(HostTensor.of(new float[] {1, 0, 0, 1}, 2, 2))) {
      var y = athanor.inline().matmul(x, weights, o -> o.activation(Activation.RELU));
      assertArrayEquals(new float[] {3, 0}, y.toFloats());

      var failure = assertThrows(AthanorException.class, () -> athanor.matmul(x, x));
      assertEquals("shape-mismatch", failure.code());
    }
  }
}
