package dev.athanor.service.model;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.service.codec.ByteSource;
import dev.athanor.service.codec.HostAllocator;
import dev.athanor.service.failure.Failure;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import org.junit.jupiter.api.Test;

class ModelUploadTest {

  private static Incoming read(int bytes, long limit) throws IOException {
    var body = ByteSource.of(new ByteArrayInputStream(new byte[bytes]));
    var files = new Incoming.InMemory(HostAllocator.HEAP);
    new ModelUpload(body, ModelUpload.Format.ONNX, limit, ExtentRanges.ANY, "").read(files);
    return files;
  }

  @Test
  void limitsTheSizeOfAFile() throws IOException {
    assertThat(read(100, 100).files().all()).containsOnlyKeys("model.onnx");
    assertThatThrownBy(() -> read(101, 100))
        .isInstanceOfSatisfying(
            Failure.Refused.class, e -> assertThat(e.code()).isEqualTo(Failure.Code.TOO_LARGE))
        .hasMessage("the file exceeds the limit of 100 bytes");
  }
}
