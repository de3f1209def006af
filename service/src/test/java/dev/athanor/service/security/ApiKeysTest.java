package dev.athanor.service.security;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.service.failure.Failure;
import dev.athanor.service.tensor.Tenant;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

/** Tests API keys and the file of their hashes. */
@ExtendWith(OutputCaptureExtension.class)
class ApiKeysTest {

  private static final String HASH = "sha256:" + "0123456789abcdef".repeat(4);
  private static final Set<Scope> SCOPES = Set.of(Scope.TENSORS_WRITE, Scope.OPS_RUN);

  @TempDir private Path folder;

  private static ApiKey.NewKey make(String tenant) {
    return ApiKey.create(new Tenant(tenant), SCOPES, new SecureRandom());
  }

  private static Credentials with(String key) {
    return new Credentials(List.of(), List.of(key), List.of(), "192.0.2.1");
  }

  private Path file(String... lines) throws IOException {
    return Files.write(folder.resolve("keys"), List.of(lines));
  }

  @Test
  void lineIdentifiesTheKeyWithoutContainingIt() throws IOException {
    var made = make("lab");
    assertThat(made.key()).matches("ath_[0-9a-f]{8}_[A-Za-z0-9_-]{43}");
    assertThat(made.line())
        .matches("[0-9a-f]{8}  lab  ops:run,tensors:write  sha256:[0-9a-f]{64}")
        .doesNotContain(made.key().substring(13));
    var caller =
        new ApiKeys(file("# keys", "", "  " + make("other").line(), made.line()))
            .identify(with(made.key()));
    assertThat(caller)
        .isEqualTo(new Caller(made.key().substring(4, 12), new Tenant("lab"), SCOPES));
  }

  @Test
  void keysAreUnique() {
    var keys = new HashSet<String>();
    for (int i = 0; i < 1000; i++) {
      keys.add(make("lab").key().substring(13));
    }
    assertThat(keys).hasSize(1000);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          0a1b2c3d lab ops:run                   | 3 fields; a key has four: NAME TENANT SCOPES sha256:HASH
          0a1b2c3d lab ops:run, metrics HASH     | 5 fields; a key has four: NAME TENANT SCOPES sha256:HASH
          alice lab ops:run HASH                 | a name must have 8 hexadecimal digits
          0a1b2c3d a/b ops:run HASH              | a tenant's name must have 1 to 64 letters, digits, dots, hyphens and underscores
          0a1b2c3d lab ops:walk HASH             | scopes must be a comma-separated list of ops:run,tensors:read,tensors:write,metrics,priority,admin
          0a1b2c3d lab ops:run ath_secret        | a hash must be sha256: followed by 64 hexadecimal digits
          0a1b2c3d lab ops:run HASHf             | a hash must be sha256: followed by 64 hexadecimal digits
          00000000 lab ops:run HASH              | duplicate name
          """)
  void reportsTheLineOfInvalidFilesWithoutTheirContents(String line, String message)
      throws IOException {
    var file = file("00000000 lab admin " + HASH, "", line.replace("HASH", HASH));
    assertThatThrownBy(() -> new ApiKeys(file))
        .isInstanceOf(SecurityMisconfigured.class)
        .hasMessage(
            "athanor.security.api-keys.file is %s, which is invalid at line 3: %s"
                .formatted(file, message))
        .hasNoCause();
  }

  @Test
  void reportsAMissingFile() {
    var file = folder.resolve("none");
    assertThatThrownBy(() -> new ApiKeys(file))
        .isInstanceOf(SecurityMisconfigured.class)
        .hasMessage(
            "athanor.security.api-keys.file is %s, which cannot be read; create keys with \"athanor api-key create\""
                .formatted(file));
  }

  @Test
  void reloadsTheFileCompletelyOrNotAtAll(CapturedOutput output) throws IOException {
    var first = make("lab");
    var second = make("lab");
    var file = file(first.line());
    var keys = new ApiKeys(file);
    Files.delete(file);
    keys.refresh();
    keys.refresh();
    assertThat(keys.identify(with(first.key())).tenant().name()).isEqualTo("lab");
    assertThat(output).containsOnlyOnce("cannot be read; the previous 1 API keys stay valid");

    file(second.line(), first.line() + " x");
    keys.refresh();
    keys.refresh();
    assertThat(keys.identify(with(first.key())).tenant().name()).isEqualTo("lab");
    assertThatThrownBy(() -> keys.identify(with(second.key())))
        .isInstanceOf(Failure.class)
        .hasMessage("Unknown API key.");
    assertThat(output).containsOnlyOnce("is invalid at line 2: 5 fields");

    file(second.line());
    keys.refresh();
    assertThat(keys.identify(with(second.key())).tenant().name()).isEqualTo("lab");
    assertThatThrownBy(() -> keys.identify(with(first.key()))).isInstanceOf(Failure.class);

    file();
    keys.refresh();
    assertThatThrownBy(() -> keys.identify(with(second.key()))).isInstanceOf(Failure.class);
    assertThat(output)
        .contains("0 API keys from")
        .doesNotContain(first.key().substring(13), second.key().substring(13));
  }
}
