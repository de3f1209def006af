package dev.athanor.service.tensor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.athanor.ops.DType;
import dev.athanor.ops.TensorType;
import dev.athanor.service.TestClock;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.tensor.NamedTensors.Copy;
import dev.athanor.service.tensor.TensorStoreModelTest.Memory;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the names of one replica. */
class NamesTest {

  private final TestClock clock = new TestClock();
  private final TensorStore store =
      new TensorStore(
          new Handles("test-1"),
          new TensorSettings(1000, 10, Duration.ofHours(1), 0, Duration.ofMinutes(10)),
          clock);
  private final TenantTensors lab = store.of(new Tenant("lab"));
  private final NamedTensors named = lab.named();

  private TensorInfo add(TenantTensors tensors, Memory memory) {
    return tensors
        .charge(memory.bytes)
        .add(
            TensorType.of(DType.U8, memory.bytes),
            TensorStoreModelTest.DEVICE,
            memory,
            TensorOptions.NONE);
  }

  private TensorInfo put(TenantTensors tensors, String name, Memory memory, long version) {
    return tensors.named().put(name, add(tensors, memory).handle(), copy(version), _ -> {});
  }

  private static Copy copy(long version) {
    return new Copy(version, List.of("1", "2"), Duration.ZERO);
  }

  @ParameterizedTest
  @ValueSource(strings = {"w", "0", "model-7.layer_3.weight", "T_x", "handle"})
  void acceptsValidNames(String text) {
    assertThat(Names.isName(text)).isTrue();
    assertThat(Names.check(text)).isEqualTo(text);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        ".",
        "..",
        "-",
        "_w",
        "t_",
        "t_0123456789abcdef0123456789abcdef_1",
        "a/b",
        "é"
      })
  void rejectsInvalidNames(String text) {
    assertThat(Names.isName(text)).isFalse();
    assertThat(Names.isName("w".repeat(128))).isTrue();
    assertThat(Names.isName("w".repeat(129))).isFalse();
  }

  @Test
  void findsATensorByName() {
    var info = put(lab, "w", new Memory(10), 7);

    assertThat(lab.describe("w")).isEqualTo(info);
    assertThat(info.name()).isEqualTo("w");
    assertThat(info.replicas()).containsExactly("1", "2");
    assertThat(info.version()).isEqualTo(7);
    assertThat(info.expiresAt()).isNull();
    assertThat(named.version("w")).hasValue(7);
    assertThat(named.version("v")).isEmpty();
  }

  @Test
  void tenantsHaveSeparateNames() {
    var other = store.of(new Tenant("other"));
    put(lab, "w", new Memory(10), 7);
    put(other, "w", new Memory(20), 3);

    assertThat(lab.describe("w").type().bytes()).isEqualTo(10);
    assertThat(other.describe("w").type().bytes()).isEqualTo(20);
    assertThat(other.named().remove("w", Long.MAX_VALUE)).isTrue();
    assertThat(lab.describe("w").version()).isEqualTo(7);
  }

  /** A reader of the old tensor can finish. */
  @Test
  void freesAReplacedTensorAfterItsLastReader() {
    var old = new Memory(10);
    put(lab, "w", old, 1);
    var reader = lab.pin("w", "handle");

    put(lab, "w", new Memory(20), 2);

    assertThat(lab.describe("w").type().bytes()).isEqualTo(20);
    assertThat(reader.type().bytes()).isEqualTo(10);
    assertThat(old.freed).isFalse();
    reader.close();
    assertThat(old.freed).isTrue();
    assertThat(store.count()).isEqualTo(1);
  }

  @Test
  void greaterVersionWins() {
    put(lab, "w", new Memory(10), 5);
    var late = add(lab, new Memory(20));

    for (long version : new long[] {4, 5}) {
      assertThatExceptionOfType(Failure.Refused.class)
          .isThrownBy(() -> named.put("w", late.handle(), copy(version), _ -> {}))
          .withMessage(
              "a newer tensor was stored under the name w meanwhile, version 5; send the request again to replace it")
          .satisfies(e -> assertThat(e.code()).isEqualTo(Code.VERSION_MISMATCH));
    }
    assertThat(named.remove("w", 5)).isFalse();
    assertThat(named.remove("w", 6)).isTrue();
    assertThat(named.version("w")).isEmpty();
  }

  @Test
  void versionsGrowWithTheClockAndDifferBetweenReplicas() {
    long first = named.nextVersion("w", 0);
    assertThat(named.nextVersion("w", 1)).isEqualTo(first + 1);
    put(lab, "w", new Memory(10), first + 1);
    assertThat(named.nextVersion("w", 0)).isGreaterThan(first + 1);
    clock.advance(Duration.ofMillis(1));
    assertThat(named.nextVersion("v", 255)).isEqualTo(first + 256 + 255);
    assertThat(first).isBetween(1L, NamedTensors.GREATEST_VERSION);
  }

  @Test
  void preconditionsSeeTheReplacedVersion() {
    put(lab, "w", new Memory(10), 5);
    var next = add(lab, new Memory(20));

    assertThatExceptionOfType(IllegalStateException.class)
        .isThrownBy(() ->
            named.put(
                "w",
                next.handle(),
                copy(6),
                current -> {
                  assertThat(current).isEqualTo(OptionalLong.of(5));
                  throw new IllegalStateException("no");
                }));
    assertThat(named.version("w")).hasValue(5);
  }

  @Test
  void nameIsRemovedWithItsTensor() {
    var info = put(lab, "w", new Memory(10), 5);
    lab.delete(info.handle());
    assertThat(named.version("w")).isEmpty();
    assertThatExceptionOfType(Failure.UnknownName.class)
        .isThrownBy(() -> lab.pin("w", "inputs.x.handle"))
        .withMessage(
            "no tensor is stored under the name w; PUT /tensors/w stores one, and handles look like t_…");

    var leased = add(lab, new Memory(10));
    named.put("w", leased.handle(), new Copy(6, List.of("1"), Duration.ofMinutes(1)), _ -> {});
    clock.advance(Duration.ofMinutes(1));
    assertThat(named.version("w")).isEmpty();
  }

  @Test
  void namedTensorsAreImmutable() {
    var info = put(lab, "w", new Memory(10), 5);
    for (var handle : List.of("w", info.handle())) {
      assertThatExceptionOfType(Failure.Refused.class)
          .isThrownBy(() -> lab.requireWritable(handle, "handle"))
          .withMessage(
              "%s is stored under the name w, so its contents do not change; PUT /tensors/w replaces it"
                  .formatted(handle));
    }
    assertThatExceptionOfType(Failure.Refused.class)
        .isThrownBy(() -> lab.delete("w"))
        .withMessage(
            "handle is the name w, which may have copies on other replicas; DELETE /tensors/w deletes them all");
  }
}
