package dev.athanor.service.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.ops.DType;
import dev.athanor.ops.TensorType;
import dev.athanor.service.failure.Failure;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SafetensorsTest {

  private static final long LIMIT = 1 << 20;

  private static byte[] file(String header, int data) {
    var text = header.getBytes(StandardCharsets.UTF_8);
    return ByteBuffer.allocate(8 + text.length + data)
        .order(ByteOrder.LITTLE_ENDIAN)
        .putLong(text.length)
        .put(text)
        .array();
  }

  private static Safetensors open(byte[] file) throws IOException {
    return Safetensors.open(ByteSource.of(new ByteArrayInputStream(file)), LIMIT, "body");
  }

  @Test
  void roundTripsEveryDtypeExceptBlocks() throws IOException {
    var types = new LinkedHashMap<String, TensorType>();
    for (var dtype : DType.values()) {
      if (dtype.isBlock()) {
        var blocks = TensorType.of(dtype, dtype.blockElements());
        assertThat(Safetensors.header(Map.of("x", blocks), Map.of())).isEmpty();
      } else {
        types.put("of " + dtype.text(), TensorType.of(dtype, 2, 3));
      }
    }
    types.put("scalar", TensorType.of(DType.F32));
    var bytes = new ByteArrayOutputStream();
    bytes.writeBytes(Safetensors.header(types, Map.of("kernel", "k\"1")).orElseThrow());
    assertThat(bytes.size() % 8).as("data is aligned").isZero();
    var random = new Random(1);
    var data = new ArrayList<byte[]>();
    for (var type : types.values()) {
      var content = new byte[(int) type.bytes()];
      if (type.dtype() != DType.BOOL) {
        random.nextBytes(content);
      }
      data.add(content);
      bytes.writeBytes(content);
    }
    var read = open(bytes.toByteArray());
    assertThat(read.types()).containsExactlyEntriesOf(types);
    var tensors = List.copyOf(read.read(HostAllocator.HEAP).values());
    for (int i = 0; i < data.size(); i++) {
      assertThat(tensors.get(i).data().toArray(ValueLayout.JAVA_BYTE)).isEqualTo(data.get(i));
    }
  }

  /**
   * The file is as the reference implementation writes it: sorted by alignment, padded with spaces.
   */
  @Test
  void returnsTensorsInTheOrderOfTheData() throws IOException {
    var text =
        "{\"__metadata__\":{\"format\":\"pt\"},\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[4,7]},"
            + "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}     ";
    var bytes = file(text, 7);
    bytes[bytes.length - 1] = 9;
    var tensors = open(bytes).read(HostAllocator.HEAP);
    assertThat(tensors.keySet()).containsExactly("b", "a");
    assertThat(tensors.values().iterator().next().type()).isEqualTo(TensorType.of(DType.F32, 1));
    assertThat(List.copyOf(tensors.values()).getLast().get(2)).isEqualTo(9);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          {"a":T[0,8]}}                         | 7 | f32[2] needs 8 bytes of data, got 7
          {"a":T[0,8]}}                         | 9 | unexpected bytes after the data of the last tensor
          {"a":T[0,7]}}                         | 8 | body.a.data_offsets are [0, 7], but f32[2] needs 8 bytes
          {"a":T[8,0]}}                         | 8 | body.a.data_offsets are [8, 0], but f32[2] needs 8 bytes
          {"a":T[-8,0]}}                        | 8 | body.a.data_offsets are [-8, 0], but f32[2] needs 8 bytes
          {"a":T[4,12]}}                        | 12 | the data of "a" begins at byte 4, but the preceding data ends at 0; gaps and overlaps are not allowed
          {"a":T[0,8]},"b":T[9,17]}}            | 17 | the data of "b" begins at byte 9, but the preceding data ends at 8; gaps and overlaps are not allowed
          {"a":T[0,8]},"b":T[4,12]}}            | 12 | the data of "b" begins at byte 4, but the preceding data ends at 8; gaps and overlaps are not allowed
          {"a":T[0,8]},"b":T[0,8]}}             | 8 | the data of "b" begins at byte 0, but the preceding data ends at 8; gaps and overlaps are not allowed
          {"a":T[9223372036854775800,9223372036854775807]}} | 8 | body.a.data_offsets are [9223372036854775800, 9223372036854775807], but f32[2] needs 8 bytes
          {"a":T[0,99999999999999999999]}}      | 8 | body.a.data_offsets must be a list of at most 2 integers
          {"a":T[0,8,16]}}                      | 8 | body.a.data_offsets must be a list of at most 2 integers
          {"a":T[0]}}                           | 8 | body.a must have dtype, shape and two data_offsets
          {"a":T[0,8],"x":1}}                   | 8 | body.a.x is unknown; known keys are dtype, shape, data_offsets
          {"a":{"dtype":"F32","shape":[2]}}     | 8 | body.a must have dtype, shape and two data_offsets
          {"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}} | 8 | body.a.shape is [-2]; every extent must be at least 0
          {"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8]}} | 8 | body.a.shape is [4294967296, 4294967296], which exceeds 2^63 bytes
          {"a":{"dtype":"F32","shape":"2","data_offsets":[0,8]}} | 8 | body.a.shape must be a list of at most 16 integers
          {"a":{"dtype":"F4","shape":[2],"data_offsets":[0,1]}} | 1 | body.a.dtype is "F4"; supported safetensors dtypes are F64, F32, F16, BF16, F8_E4M3, F8_E5M2, I64, I32, I16, I8, U8, U32, BOOL
          {"a":{"dtype":"F32","shape":[1000000],"data_offsets":[0,4000000]}} | 8 | the safetensors file has 4000000 bytes of data; the limit is 1048576 bytes
          {"a":{"dtype":"BOOL","shape":[1],"data_offsets":[0,1]},"b":1} | 1 | body.b must be an object, got a number
          {"__metadata__":{"a":1}}              | 0 | body.__metadata__.a must be a string, got a number
          {"a":T[0,8]}} {}                      | 8 | unexpected text after the end of the JSON object
           {}                                   | 0 | the safetensors header has 0 bytes; it must have 2 to 1048576
          [1]                                   | 0 | the safetensors header must begin with {
          """)
  void rejectsInvalidFilesWithAMessage(String header, int data, String message) {
    var text = message.contains("0 bytes; it") ? "" : header;
    var bytes =
        file(text.replace("T[", "{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":["), data);
    assertThatThrownBy(() -> open(bytes).read(HostAllocator.HEAP))
        .isInstanceOf(Failure.class)
        .hasMessage(message);
  }

  @Test
  void rejectsDuplicateNames() {
    var one = "\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[%d,%d]}";
    var bytes = file("{" + one.formatted(0, 1) + "," + one.formatted(1, 2) + "}", 2);
    assertThatThrownBy(() -> open(bytes))
        .hasMessageStartingWith("the safetensors header is not valid JSON at line 1, column ")
        .hasMessageContaining("duplicate key \"a\"");
  }

  @ParameterizedTest
  @CsvSource({
    "1048577, 1048577",
    "104857601, 104857601",
    "-1, 18446744073709551615",
    "-9223372036854775808, 9223372036854775808"
  })
  void rejectsLongHeadersBeforeReading(long length, String unsigned) {
    var start = ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putLong(length).array();
    // reading the header would report a truncated file instead
    assertThatThrownBy(() -> open(start))
        .hasMessage(
            "the safetensors header has %s bytes; it must have 2 to 1048576".formatted(unsigned));
  }

  @Test
  void rejectsTruncatedFiles() {
    assertThatThrownBy(() -> open(new byte[7]))
        .hasMessage("not a safetensors file: it has fewer than 8 bytes");
    var bytes = file("{}", 0);
    bytes[0] = 100;
    assertThatThrownBy(() -> open(bytes))
        .hasMessage("the safetensors header has 100 bytes, but the file ends after 2 of them");
  }
}
