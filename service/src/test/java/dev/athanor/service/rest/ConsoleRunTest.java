package dev.athanor.service.rest;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.microsoft.playwright.Locator;
import com.microsoft.playwright.Route;
import com.microsoft.playwright.options.FilePayload;
import dev.athanor.testing.Programs;
import io.restassured.RestAssured;
import io.restassured.path.json.JsonPath;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the links of the run form, its code for clients, and uploads of files. */
class ConsoleRunTest extends BrowserTest {

  private void link(String link) {
    page.navigate(url("/console/#run/" + link));
    assertThat(page.locator("#run .primary")).hasText("Run " + link.replaceFirst("[?].*", ""));
  }

  private void expectLink(String link) {
    page.waitForURL(url -> url.equals(url("/console/#run/" + link)));
  }

  private Locator size(String name) {
    return page.locator("[data-size=%s]".formatted(name));
  }

  private Locator attribute(String name) {
    return page.locator("[data-attribute=%s]".formatted(name));
  }

  // -- attributes

  @Test
  void sendsOnlyAttributesThatWereSet() {
    choose("cast");
    attribute("to").selectOption("e4m3");
    assertThat(attributesSent("cast")).isEqualTo("{\"to\":\"e4m3\"}");
    attribute("saturate").selectOption("false");
    assertThat(attributesSent("cast")).isEqualTo("{\"to\":\"e4m3\",\"saturate\":false}");
    attribute("saturate").selectOption("–");
    assertThat(attributesSent("cast")).isEqualTo("{\"to\":\"e4m3\"}");
  }

  private String attributesSent(String op) {
    var request = page.waitForRequest("**/ops/" + op, () -> button("Run " + op).click());
    assertThat(page.locator("#kernel")).isVisible();
    return request
        .postData()
        .replaceFirst("(?s).*\"attributes\": ", "")
        .replaceFirst("(?s),\n.*", "");
  }

  // -- links

  @Test
  void fillsTheFormFromALink() {
    link("matmul?m=64&k=32&transposeB=true&activation=relu&bias=f16&a=f16[2,64,32]");
    assertThat(size("M")).hasValue("64");
    assertThat(size("K")).hasValue("32");
    assertThat(attribute("transposeB")).isChecked();
    assertThat(attribute("activation")).hasValue("relu");
    assertThat(input("a").locator("[data-role=shape]")).hasValue("2, 64, 32");
    assertThat(input("a").locator("[data-role=dtype]")).hasValue("f16");
    assertThat(input("b").locator("[data-role=shape]")).hasValue("32, 8");
    assertThat(input("bias").getByLabel("Include this input")).isChecked();
    expectLink("matmul?M=64&K=32&transposeB=true&activation=relu&a=f16[2,64,32]&bias=f16");
    assertThat(page.locator("#run .error")).hasCount(0);

    page.reload();
    assertThat(size("M")).hasValue("64");
    link("dequantize?scale=none&x=q4_0[1,32]");
    button("Run dequantize").click();
    assertThat(page.locator("#kernel")).hasText(Pattern.compile("dequantize_q4_0.*"));
  }

  @Test
  void holdsTheFormInTheLink() {
    choose("matmul");
    expectLink("matmul");
    size("N").fill("16");
    attribute("alpha").fill("0.5");
    expectLink("matmul?N=16&alpha=0.5");
    page.locator("#op").selectOption("softmax");
    expectLink("softmax");
    size("N").fill("4");
    view("Tensors");
    view("Run");
    expectLink("softmax?N=4");

    page.locator("#op").selectOption("relu");
    expectLink("relu");
    back();
    expectLink("softmax?N=4");
    assertThat(page.locator("#op")).hasValue("softmax");
    assertThat(size("N")).hasValue("4");
    assertThat(page.locator("nav a[aria-current]")).hasText("Run");
  }

  private void back() {
    page.evaluate("() => setTimeout(() => history.back())");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          nothing?M=1                | The service has no op nothing.
          matmul?M=0                 | M must be a positive integer; got 0.
          matmul?M=many              | M must be a positive integer; got many.
          matmul?transposeA=yes      | transposeA must be true or false; got yes.
          matmul?activation=arc      | activation must be one of none, relu, gelu, gelu-tanh, silu; got arc.
          matmul?size=3              | matmul has no parameter size; it has M, K, N, transposeA, transposeB, alpha, activation, outDtype, precision, a, b, bias.
          softmax?x=i64              | x must be a handle t_…, one of f64, f32, f16, bf16, which a shape may follow, such as f32[8,8]; got i64.
          relu?x=f32[2,zero]         | “zero” is not an extent. A shape is positive integers separated by commas, such as 8, 16.
          """)
  void explainsWrongLinks(String link, String message) {
    page.navigate(url("/console/#run/" + link));
    assertThat(page.locator("#run .error")).hasText(message);
  }

  @Test
  void explainsAHandleThatIsGone() {
    link("relu?x=t_0123456789abcdef_0000");
    button("Run relu").click();
    assertThat(input("x").locator(".error"))
        .hasText(
            "No matching resident tensor. Keep an output of a run on the device, or choose another source.");
    assertThat(input("x").locator("[data-role=tensor] option"))
        .hasText("t_01234567… is not available");
  }

  // -- code

  private String copy(String language) {
    page.context().grantPermissions(List.of("clipboard-read", "clipboard-write"));
    button("Copy as " + language).click();
    assertThat(page.locator(".request [role=status]")).hasText("Copied as " + language + ".");
    var code = page.locator(".request pre").textContent();
    assertThat(page.evaluate("() => navigator.clipboard.readText()")).isEqualTo(code);
    return code;
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "matmul?transposeB=true&bias=f32",
        "cast?to=bf16",
        "gather",
        "softmax-dropout",
        "dequantize?x=q6_k[2,256]&scale=none"
      })
  void copiesACommandThatSendsWhatRunSends(String link) throws Exception {
    Programs.require("curl", "apt-get install curl");
    link(link);
    var op = link.replaceFirst("[?].*", "");
    var command = copy("curl");
    var request = page.waitForRequest("**/ops/" + op, () -> button("Run " + op).click());
    assertThat(page.locator("#kernel")).isVisible();
    assertThat(command).contains("<<'JSON'\n" + request.postData() + "\nJSON\n");
    assertThat(JsonPath.from(bash(command)).getString("kernel"))
        .isEqualTo(page.locator("#kernel").textContent());
  }

  private static String bash(String command) throws IOException, InterruptedException {
    var process =
        new ProcessBuilder(Programs.require("bash", "apt-get install bash").toString(), "-s")
            .redirectError(ProcessBuilder.Redirect.DISCARD)
            .start();
    try (var in = process.outputWriter(UTF_8)) {
      in.write(command);
    }
    var output = new String(process.getInputStream().readAllBytes(), UTF_8);
    assertThat(process.waitFor()).isZero();
    return output;
  }

  @Test
  void copiesPython() {
    link("matmul?transposeB=true&alpha=2&bias=bf16");
    type("b", "2, 2", "1 -Infinity NaN 2.5");
    input("a").locator("[data-role=source]").selectOption("zeros");
    assertThat(copy("Python"))
        .isEqualTo(
            """
            import athanor
            import ml_dtypes
            import numpy as np

            rng = np.random.default_rng(3)
            with athanor.connect("%s") as client:
                outputs = client.compute(
                    "matmul",
                    {
                        "a": np.zeros((8, 8), np.float32),
                        "b": np.array([1, -np.inf, np.nan, 2.5], np.float32).reshape((2, 2)),
                        "bias": rng.uniform(-1, 1, (8,)).astype(ml_dtypes.bfloat16),
                    },
                    {"transposeB": True, "alpha": 2.0},
                )
                for name, output in outputs.items():
                    print(name, output)
            """
                .formatted(url("")));

    link("gather?index=i32[]");
    page.locator("[data-output=y]").selectOption("handle");
    assertThat(copy("Python"))
        .contains("\"index\": rng.integers(0, 1, (), np.int32, endpoint=True),")
        .contains("        outputs=[\"y\"],\n    )\n")
        .contains("outputs = client.run(\n");

    link("dequantize?x=q6_k[2,256]&scale=none");
    assertThat(copy("Python"))
        .contains(
            """
                        "x": client.upload(
                            np.hstack([rng.integers(0, 256, (2, 208), np.uint8), np.tile(np.uint8([0, 36]), (2, 1))]),
                            dtype="q6_k", shape=(2, 256),
                        ),
            """);
  }

  @Test
  void copiesJava() {
    link("matmul?transposeB=true&alpha=2&bias=f16");
    type("b", "2, 2", "1 -Infinity NaN 2.5");
    assertThat(copy("Java"))
        .isEqualTo(
            """
            import dev.athanor.client.Athanor;
            import dev.athanor.client.HostTensor;
            import dev.athanor.client.OpCall;
            import dev.athanor.client.Tensor;
            import java.util.Random;

            public class Example {

              public static void main(String[] args) {
                var random = new Random(1);
                try (var athanor = Athanor.connect("%s")) {
                  var call =
                      OpCall.of("matmul")
                          .input("a", HostTensor.of(floats(random.doubles(64, -1, 1).toArray()), 8, 8))
                          .input("b", HostTensor.of(floats(1.0, Double.NEGATIVE_INFINITY, Double.NaN, 2.5), 2, 2))
                          .input("bias", cast(athanor, HostTensor.of(floats(random.doubles(8, -1, 1).toArray()), 8), "f16"))
                          .attribute("transposeB", true)
                          .attribute("alpha", 2.0);
                  var outputs = athanor.inline().run(call);
                  outputs.forEach((name, output) -> System.out.println(name + " " + output));
                }
              }

              private static float[] floats(double... values) {
                var floats = new float[values.length];
                for (int i = 0; i < values.length; i++) {
                  floats[i] = (float) values[i];
                }
                return floats;
              }

              /** Converts to a dtype that Java lacks, on the device. */
              private static Tensor cast(Athanor athanor, HostTensor values, String dtype) {
                var call = OpCall.of("cast").input("x", values).attribute("to", dtype).output("y");
                return athanor.run(call).get("y");
              }
            }
            """
                .formatted(url("")));

    link("cast?to=f64&x=u32");
    type("x", "2", "7 4000000000");
    page.locator("[data-output=y]").selectOption("handle");
    assertThat(copy("Java"))
        .contains(
            """
                          .input("x", HostTensor.of(DType.U32, new int[] {7, (int) 4000000000L}, 2))
                          .attribute("to", "f64")
                          .output("y");
                  var outputs = athanor.run(call);
            """);
    link("gather?index=i64[]");
    assertThat(copy("Java")).contains("HostTensor.of(random.longs(1, 0, 2).toArray()).reshape())");
  }

  @Test
  void codeNamesTheKeyWithoutShowingIt() {
    page.route(
        "**/devices",
        route -> {
          if (route.request().headerValue("Authorization") == null) {
            route.fulfill(new Route.FulfillOptions().setStatus(401).setBody("{}"));
          } else {
            route.resume();
          }
        });
    page.getByLabel("API key or token").fill("secret");
    button("Use").click();
    assertThat(page.locator("#state")).hasText("emulator:0 ready");
    link("relu");
    assertThat(copy("curl"))
        .contains("-H \"Authorization: Bearer $ATHANOR_KEY\" \\\n")
        .doesNotContain("secret");
    assertThat(copy("Python"))
        .contains("import os\n", "api_key=os.environ[\"ATHANOR_KEY\"]) as client:")
        .doesNotContain("secret");
    assertThat(copy("Java"))
        .contains(".bearerToken(() -> System.getenv(\"ATHANOR_KEY\"))")
        .doesNotContain("secret");
    faults.removeIf(fault -> fault.contains("the server responded with a status of 401"));
  }

  @Test
  void hidesCodeOfAnEarlierForm() {
    link("relu");
    copy("curl");
    input("x").locator("[data-role=shape]").fill("3");
    assertThat(page.locator(".request")).isHidden();
    input("x").locator("[data-role=shape]").fill("none");
    assertThat(button("Copy as curl")).isDisabled();
  }

  // -- files

  private static FilePayload file(String name, String header, float... values) {
    var bytes =
        ByteBuffer.allocate(header.length() + 4 * values.length).order(ByteOrder.LITTLE_ENDIAN);
    bytes.put(header.getBytes(ISO_8859_1));
    for (float value : values) {
      bytes.putFloat(value);
    }
    return new FilePayload(name, "application/octet-stream", bytes.array());
  }

  private static FilePayload safetensors(String name, float... values) {
    var header =
        "{\"w\":{\"dtype\":\"F32\",\"shape\":[%d],\"data_offsets\":[0,%d]}}"
            .formatted(values.length, 4 * values.length);
    return file(name, (char) header.length() + "\0".repeat(7) + header, values);
  }

  @Test
  void uploadsFilesAsInputs() {
    link("relu");
    var file = input("x").locator("[data-role=file]");
    input("x").locator("[data-role=source]").selectOption("file");
    button("Run relu").click();
    assertThat(input("x").locator(".error")).hasText("Choose an npy or safetensors file.");

    var header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }";
    var npy = "\u0093NUMPY\u0001\0" + (char) (header.length() + 1) + "\0" + header + "\n";
    file.setInputFiles(file("w.npy", npy, 1, -2, 3, -4));
    assertThat(input("x").locator("[role=status]"))
        .hasText(
            Pattern.compile("w\\.npy · f32 \\[2, 2] · 16 B · expires in \\d+ min unless used"));
    assertThat(input("x").locator(".error")).hasCount(0);
    button("Run relu").click();
    assertThat(page.locator("#result table.values td.number"))
        .hasText(new String[] {"1", "0", "3", "0"});

    var found = RestAssured.get(url("/tensors")).jsonPath();
    assertThat(found.getList("tensors.name")).isEqualTo(List.of("w.npy"));
    var handle = found.getString("tensors[0].handle");
    expectLink("relu?x=" + handle);
    assertThat(copy("Python")).contains("\"x\": client.tensor(\"" + handle + "\"),");
    assertThat(copy("Java")).contains(".input(\"x\", athanor.attach(\"" + handle + "\"))");

    file.setInputFiles(safetensors("w.safetensors", 5, -5));
    assertThat(input("x").locator("[role=status]"))
        .hasText(Pattern.compile("w\\.safetensors · f32 \\[2].*"));
    button("Run relu").click();
    assertThat(page.locator("#result table.values td.number")).hasText(new String[] {"5", "0"});
  }

  @Test
  void showsRejectedFilesAtTheirField() {
    link("relu");
    var file = input("x").locator("[data-role=file]");
    input("x").locator("[data-role=source]").selectOption("file");
    file.setInputFiles(file("notes.npy", "notes"));
    assertThat(input("x").locator(".error"))
        .hasText("the body is not an npy file: it does not begin with \\x93NUMPY");
    assertThat(file).hasAttribute("aria-invalid", "true");
    assertThat(button("Run relu")).isDisabled();
    file.setInputFiles(safetensors("w.safetensors", 1));
    assertThat(input("x").locator(".error")).hasCount(0);
    assertThat(button("Run relu")).isEnabled();
    faults.removeIf(fault -> fault.contains("the server responded with a status of 400"));
  }
}
