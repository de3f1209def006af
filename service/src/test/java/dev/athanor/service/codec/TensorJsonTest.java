package dev.athanor.service.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.TensorType;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Tests that every dtype round-trips through JSON, base64 and npy without changing a bit. */
class TensorJsonTest {

  private static final long LIMIT = 1 << 20;

  private static HostTensor read(String json) throws IOException {
    InputStream in = new ByteArrayInputStream(json.getBytes(StandardCharsets.UTF_8));
    var source = Json.read(in, parser -> TensorJson.read(parser, "", DecodeBudget.onHeap(LIMIT)));
    return ((TensorJson.Source.Inline) source).tensor();
  }

  private static String write(HostTensor tensor, TensorWriter.Encoding encoding) {
    var text = new ByteArrayOutputStream();
    try (var out = Json.write(text)) {
      out.writeStartObject();
      TensorWriter.writeMembers(out, tensor, encoding);
      out.writeEndObject();
    }
    return text.toString(StandardCharsets.UTF_8);
  }

  /** Returns random bits, which are all valid elements; bools are 0 or 1. */
  private static HostTensor random(DType dtype) {
    var tensor = HostTensor.zeros(TensorType.of(dtype, 7, 11, 13L * dtype.blockElements()));
    var bytes = new byte[(int) tensor.type().bytes()];
    new Random(dtype.bytes()).nextBytes(bytes);
    if (dtype == DType.BOOL) {
      for (int i = 0; i < bytes.length; i++) {
        bytes[i] &= 1;
      }
    }
    tensor.data().copyFrom(MemorySegment.ofArray(bytes));
    if (dtype.isFloat()) {
      // text has only one NaN
      for (long i = 0; i < tensor.type().shape().elements(); i++) {
        if (Double.isNaN(tensor.get(i))) {
          dtype.write(tensor.data(), i, Double.NaN);
        }
      }
    }
    return tensor;
  }

  private static void assertSame(HostTensor actual, HostTensor expected) {
    assertThat(actual.type()).isEqualTo(expected.type());
    assertThat(actual.data().mismatch(expected.data())).isEqualTo(-1);
  }

  @ParameterizedTest
  @EnumSource
  void roundTripsAllValues(DType dtype) throws IOException {
    var tensor = random(dtype);
    assertSame(read(write(tensor, TensorWriter.Encoding.JSON)), tensor);
    assertSame(read(write(tensor, TensorWriter.Encoding.BASE64)), tensor);
  }

  @ParameterizedTest
  @EnumSource(
      mode = EnumSource.Mode.EXCLUDE,
      names = {
        "BF16", "E4M3", "E5M2", "Q4_0", "Q4_1", "Q5_0", "Q8_0", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL",
        "IQ4_XS", "MXFP4", "NF4"
      })
  void roundTripsNpy(DType dtype) throws IOException {
    var tensor = random(dtype);
    var file = new ByteArrayOutputStream();
    file.write(Npy.header(tensor.type()).orElseThrow());
    file.write(tensor.data().toArray(ValueLayout.JAVA_BYTE));
    assertSame(
        Npy.open(
                ByteSource.of(new ByteArrayInputStream(file.toByteArray())),
                DecodeBudget.onHeap(LIMIT),
                "body")
            .toTensor(),
        tensor);
  }

  @Test
  void rejectsBlocksAsNumbers() throws IOException {
    var zeros = write(random(DType.Q4_0), TensorWriter.Encoding.JSON);
    assertThat(zeros).contains("\"base64\"").doesNotContain("\"data\"");
    for (var text :
        List.of(
            "{\"dtype\":\"q4_0\",\"shape\":[32],\"data\":[1]}",
            "{\"data\":[1],\"dtype\":\"q4_0\",\"shape\":[32]}")) {
      assertThatThrownBy(() -> read(text))
          .hasMessage(
              "q4_0 is a block format and cannot be sent as numbers; send its bytes as base64");
    }
    assertThatThrownBy(() -> read("{\"dtype\":\"q4_k\",\"shape\":[2,128],\"base64\":\"\"}"))
        .hasMessage(
            "shape: q4_k is stored in blocks of 256 elements, and the last dimension must be a"
                + " multiple of the block size, got shape [2, 128]");
  }

  @Test
  void acceptsAnyKeyOrderNestingAndSpelling() throws IOException {
    var expected = HostTensor.of(TensorType.of(DType.I64, 2, 2), 1, 2, 3, 4);
    assertSame(read("{\"dtype\":\"i64\",\"shape\":[2,2],\"data\":[1,2,3,4]}"), expected);
    assertSame(read("{\"data\":[[1,2.0],[3e0,4]],\"shape\":[2,2],\"dtype\":\"i64\"}"), expected);
  }

  @Test
  void roundsNumbersOnce() throws IOException {
    // just above halfway between two floats; converted through double, it would be exactly halfway
    // and round down
    var text = "1.00000005960464477539062500000001";
    assertThat(read("{\"dtype\":\"f32\",\"shape\":[],\"data\":%s}".formatted(text)).get(0))
        .isEqualTo(Float.parseFloat(text));
    assertThat((double) (float) Double.parseDouble(text)).isNotEqualTo(Float.parseFloat(text));
    var whole = read("{\"dtype\":\"i64\",\"shape\":[],\"data\":9007199254740993}");
    assertThat(DType.I64.readLong(whole.data(), 0)).isEqualTo(9007199254740993L);
  }
}
