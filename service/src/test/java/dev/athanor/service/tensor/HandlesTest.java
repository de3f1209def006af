package dev.athanor.service.tensor;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class HandlesTest {

  @ParameterizedTest
  @CsvSource({
    "test, test",
    "kiln-athanor-6d5f8b7c9-x2x4z, x2x4z",
    "kiln-athanor-0, 0",
    "lab.kiln-athanor-12, 12",
  })
  void idIsTheEndOfTheReplicaName(String replica, String id) {
    var handles = new Handles(replica);

    var handle = handles.next();

    assertThat(handle).endsWith("_" + id);
    assertThat(Handles.isHandle(handle)).isTrue();
    assertThat(handles.otherReplica(handle)).isEmpty();
  }

  @Test
  void identifiesHandlesOfOtherPods() {
    var one = new Handles("kiln-athanor-6d5f8b7c9-x2x4z");
    var other = new Handles("kiln-athanor-6d5f8b7c9-k8s7q");

    assertThat(one.otherReplica(other.next())).contains("k8s7q");
    assertThat(other.otherReplica(one.next())).contains("x2x4z");
  }

  @Test
  void withoutAReplicaNameAllHandlesAreLocal() {
    assertThat(new Handles("").otherReplica(new Handles("kiln-0").next())).isEmpty();
  }
}
