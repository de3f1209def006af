package dev.athanor.service.rest;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.containsString;

import com.microsoft.playwright.Locator;
import com.microsoft.playwright.Route;
import com.microsoft.playwright.options.AriaRole;
import com.microsoft.playwright.options.ColorScheme;
import io.restassured.RestAssured;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the views of the console. */
class ConsoleTest extends BrowserTest {

  @Test
  void opensAllViewsUnderAStrictPolicy() {
    var answer =
        RestAssured.given().redirects().follow(false).get(url("/console")).then().statusCode(302);
    assertThat(answer.extract().header("Location")).endsWith("/console/");
    RestAssured.get(url("/console/"))
        .then()
        .statusCode(200)
        .header("Content-Security-Policy", ConsoleConfiguration.POLICY)
        .header("X-Content-Type-Options", "nosniff")
        .header("Cache-Control", containsString("no-cache"));
    RestAssured.get(url("/console/none.js")).then().statusCode(404);
    assertThat(page.locator(".device h3")).hasText(Pattern.compile("emulator:0 · .+"));
    for (var view : List.of("Run", "Pipeline", "Models", "Tensors", "PTX", "API", "Overview")) {
      view(view);
      assertThat(page.locator("main > section:visible")).hasCount(1);
      assertThat(page.locator("nav a[aria-current]")).hasText(view);
    }
  }

  @Test
  void showsAProductAsNumbersAndColors() {
    choose("matmul");
    var numbers = IntStream.range(0, 64).mapToObj(String::valueOf).collect(Collectors.joining(" "));
    var twice =
        IntStream.range(0, 64)
            .mapToObj(i -> i % 9 == 0 ? "2" : "0")
            .collect(Collectors.joining(","));
    type("a", "8, 8", numbers);
    type("b", "8, 8", twice);
    button("Run matmul").click();
    assertThat(page.locator("#kernel")).hasText(Pattern.compile("matmul_f32_.*"));
    var cells = page.locator("#result table.values td.number").allTextContents();
    assertThat(cells)
        .isEqualTo(IntStream.range(0, 64).mapToObj(i -> String.valueOf(2 * i)).toList());
    assertThat(page.locator("#result .legend")).containsText("min 0, max 126");
    assertThat(page.locator("#result .timing dt"))
        .hasText(new String[] {"prepare", "queue", "upload", "kernel", "download", "total"});
    assertThat(colors(List.of(List.of(0, 0), List.of(7, 7))))
        .isEqualTo(List.of("68,1,84", "253,231,37"));
    page.locator("#result .heatmap").focus();
    page.keyboard().press("ArrowDown");
    page.keyboard().press("ArrowRight");
    assertThat(page.locator("#result .readout")).hasText("[1, 1] = 18");
  }

  /** Returns red, green and blue of points of the heatmap. */
  private Object colors(List<List<Integer>> points) {
    return page.evaluate(
        """
        (points) => {
          const canvas = document.querySelector('#result .heatmap');
          const {data, width} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
          return points.map(([x, y]) => data.slice(4 * (y * width + x), 4 * (y * width + x) + 3).join(','));
        }
        """,
        points);
  }

  @Test
  void marksNaNAndInfinity() {
    choose("relu");
    type("x", "2, 2", "[[1, -2.5], [NaN, Infinity]]");
    button("Run relu").click();
    assertThat(page.locator("#result .legend .swatch"))
        .hasText(new String[] {"1 NaN", "1 infinite"});
    assertThat(colors(List.of(List.of(0, 1), List.of(1, 1))))
        .isEqualTo(List.of("255,0,200", "0,0,0"));
    assertThat(page.locator("#result table.values td.number"))
        .hasText(new String[] {"1", "0", "NaN", "Infinity"});
  }

  @Test
  void showsErrorsAtTheirFields() {
    choose("matmul");
    input("b").locator("[data-role=shape]").fill("4, 8");
    button("Run matmul").click();
    var error = page.locator("#run fieldset > .error");
    assertThat(error).containsText("[8, 8]");
    assertThat(error).containsText("[4, 8]");
    assertThat(page.locator("#run [aria-invalid]")).hasCount(1);

    type("a", "8, 8", "1 2 three");
    assertThat(input("a").locator(".error")).containsText("“three” is not a number");
    assertThat(input("b").locator(".error")).hasCount(0);
    assertThat(button("Run matmul")).isDisabled();

    choose("softmax");
    page.locator("[data-attribute=scale]").fill("-1e39");
    assertThat(page.locator("[data-field='attributes.scale'] .error"))
        .hasText("scale must be a number, at least 1e-30 and at most 1e+30; got -1e39.");
    assertThat(button("Run softmax")).isDisabled();
    page.locator("[data-attribute=scale]").fill("2");
    button("Run softmax").click();
    assertThat(page.locator("#kernel")).isVisible();
    faults.removeIf(fault -> fault.contains("the server responded with a status of 400"));
  }

  @Test
  void listsUsesPreviewsRenewsAndDeletesTensors() {
    choose("relu");
    type("x", "2, 2", "1 -2 3 -4");
    page.locator("[data-output=y]").selectOption("handle");
    button("Run relu").click();
    var handle =
        page.locator("#result section code").filter(new Locator.FilterOptions().setHasText("t_"));
    assertThat(handle).hasText(Pattern.compile("t_.*"));

    input("x").locator("[data-role=source]").selectOption("resident");
    page.locator("[data-output=y]").selectOption("inline");
    button("Run relu").click();
    assertThat(page.locator("#result table.values td.number"))
        .hasText(new String[] {"1", "0", "3", "0"});

    view("Tensors");
    var row = page.locator("#resident tbody tr").first();
    assertThat(row.locator("td").first()).hasText("f32");
    assertThat(row).containsText("[2, 2]");
    assertThat(row).containsText("16 B");
    row.getByText("Preview").click();
    assertThat(page.locator("#preview table.values td.number"))
        .hasText(new String[] {"1", "0", "3", "0"});
    page.locator("#lease").fill("0");
    row.getByText("Renew").click();
    assertThat(row).containsText("never");
    var wave =
        RestAssured.given()
            .contentType("application/json")
            .body(wave(32, 48))
            .post(url("/tensors?name=wave&ttlSeconds=600"))
            .then()
            .statusCode(201)
            .extract()
            .<String>path("handle");
    var named = page.locator("[data-handle='%s']".formatted(wave));
    assertThat(named).containsText("in 10 min");
    named.getByText("Preview").click();
    assertThat(page.locator("#preview h3")).hasText("wave f32 [32, 48]");
    picture("tensors");
    RestAssured.delete(url("/tensors/" + wave)).then().statusCode(204);
    assertThat(named).hasCount(0);
    var id = row.getAttribute("data-handle");
    row.getByText("Delete").click();
    row.getByText("Confirm").click();
    assertThat(page.locator("[data-handle='%s']".formatted(id))).hasCount(0);
    RestAssured.get(url("/tensors/" + id)).then().statusCode(404);
  }

  @Test
  void showsThePtxOfARunWithItsSourceLines() {
    choose("matmul");
    button("Run matmul").click();
    var kernel = page.locator("#kernel").textContent();
    picture("run");
    button("Show PTX of this run").click();
    assertThat(page.locator("#ptx-problem")).hasValue("a=f32[8,8] b=f32[8,8]");
    assertThat(page.locator("#listing .kernel h3").first()).hasText(kernel);
    assertThat(page.locator("#listing .kernel dl").first()).containsText("live registers");
    var line =
        page.locator(".ptx tbody tr").filter(new Locator.FilterOptions().setHasText("fma.rn.f32"));
    assertThat(line.first().locator(".source")).hasText(Pattern.compile("\\w+\\.java:\\d+"));
    var source = line.first().getAttribute("data-source");
    line.first().click();
    var java = page.locator(".beside .listing").first();
    assertThat(java.locator(".marked")).hasCount(1);
    assertThat(java.locator(".marked")).hasAttribute("data-source", source);
    assertThat(java.locator(".marked .code")).hasText(Pattern.compile(".*\\S.*"));
    java.locator("table").press("Escape");
    assertThat(page.locator(".ptx .marked")).hasCount(0);
    java.locator("table").press("ArrowDown");
    var first = java.locator("[data-source]").first();
    assertThat(first).hasClass(Pattern.compile(".*marked.*"));
    assertThat(page.locator(".beside .listing").nth(1).locator(".marked").first())
        .hasAttribute("data-source", first.getAttribute("data-source"));
    java.locator("[data-source='%s']".formatted(source)).click();
    assertThat(page.locator(".beside .listing").nth(1).locator(".marked").first())
        .containsText("fma.rn.f32");
    if (SCREENSHOTS) {
      page.setViewportSize(1180, 640); // pictures of text are large
    }
    picture("ptx");
    button("Assemble").first().click();
    assertThat(page.locator(".assembled").first())
        .hasText(Pattern.compile(".*registers.*FFMA.*|.*no assembler.*|.*newer CUDA toolkit.*"));

    page.locator("#ptx-problem").fill("a=f32[8,8] b=f32[4,8]");
    button("Show").click();
    assertThat(page.locator("#listing .error")).containsText("[4, 8]");
    faults.removeIf(fault -> fault.contains("the server responded with a status of 400"));
  }

  /** All of it comes from the service, since the page is new. */
  @Test
  void overviewShowsWhatHappenedBeforeItWasOpened() {
    int earlier = calls("sigmoid");
    call("sigmoid", "{\"x\": {\"dtype\": \"f32\", \"shape\": [2], \"data\": [0, 1]}}");
    RestAssured.given()
        .contentType("application/json")
        .header("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00")
        .body("{\"inputs\": {}}")
        .post(url("/ops/sigmoid"))
        .then()
        .statusCode(400);
    if (SCREENSHOTS) {
      traffic();
    }
    page.reload();

    var row =
        page.locator("#ops tbody tr")
            .filter(new Locator.FilterOptions().setHasText(Pattern.compile("^\\s*sigmoid")));
    assertThat(row.locator("td").first()).hasText(String.valueOf(earlier + 2));
    assertThat(row.locator("td").nth(2)).hasText(Pattern.compile("[\\d.]+ (µs|ms|s)"));
    assertThat(row.locator(".bar"))
        .hasAttribute("aria-label", Pattern.compile("prepare .*, kernel .+, download .*"));
    assertThat(page.locator("#ops tbody td:nth-child(2)").allTextContents()).doesNotContain("0");
    assertThat(page.locator("#slowest tbody tr").first().locator(".bar .kernel")).hasCount(1);
    assertThat(page.locator("#errors tbody tr").filter(named("missing-input")))
        .containsText("sigmoid");
    assertThat(page.locator("#failures tbody tr").first().locator("td"))
        .hasText(
            new String[] {
              "sigmoid",
              "missing-input",
              "input \"x\" […] is missing; the inputs of sigmoid are x",
              "4bf92f3577b34da6a3ce929d0e0e4736"
            });
    assertThat(page.locator("#total-requests")).hasText(Pattern.compile("[1-9][\\d,]*"));
    assertThat(page.locator("#total-errors")).hasText(Pattern.compile("[1-9][\\d,]*"));
    assertThat(page.locator("#chart-memory svg"))
        .hasAttribute("aria-label", Pattern.compile("used: last .*B; pooled: last .*B"));
    assertThat(page.locator("#chart-load .line.series0")).hasAttribute("d", Pattern.compile("M.*"));
    picture("overview");

    call("sigmoid", "{\"x\": {\"dtype\": \"f32\", \"shape\": [2], \"data\": [0, 1]}}");
    assertThat(row.locator("td").first()).hasText(String.valueOf(earlier + 3));
  }

  private static Locator.FilterOptions named(String name) {
    return new Locator.FilterOptions().setHasText(name);
  }

  /** Returns how often an op was called. */
  private int calls(String op) {
    return Pattern.compile(
            "athanor_op_requests_total\\{.*" + Pattern.quote("op=\"" + op + "\"") + ".*} (\\d+)")
        .matcher(RestAssured.get(url("/actuator/prometheus")).asString())
        .results()
        .mapToInt(match -> Integer.parseInt(match.group(1)))
        .sum();
  }

  @Test
  void headerNamesTheVersionAndOpensDocuments() {
    assertThat(page.locator("#version"))
        .hasText(RestAssured.get(url("/v2")).<String>path("version"));
    for (var link : List.of("OpenAPI", "Metrics")) {
      var opened = page.waitForPopup(() -> page.locator("#links").getByText(link).click());
      assertThat(opened.locator("pre"))
          .containsText(link.equals("OpenAPI") ? "openapi: 3.1.0" : "athanor_ready");
      opened.close();
    }
  }

  private void call(String op, String inputs) {
    RestAssured.given()
        .contentType("application/json")
        .body("{\"inputs\": %s}".formatted(inputs))
        .post(url("/ops/" + op))
        .then()
        .statusCode(200);
  }

  /** Runs calls of several sizes for a minute, for the picture. */
  private void traffic() {
    for (int i = 0; i < 60; i++) {
      for (int rows = 1; rows <= 1 + i % 7; rows++) {
        call("softmax", "{\"x\": %s}".formatted(wave(8 * rows, 16)));
      }
      call(
          "matmul", "{\"a\": %1$s, \"b\": %1$s}".formatted(wave(16 + i % 5 * 12, 16 + i % 5 * 12)));
      page.waitForTimeout(1000);
    }
  }

  private static String wave(int rows, int columns) {
    return "{\"dtype\": \"f32\", \"shape\": [%d, %d], \"data\": [%s]}"
        .formatted(
            rows,
            columns,
            IntStream.range(0, rows * columns)
                .mapToObj(i ->
                    String.format(
                        Locale.ROOT,
                        "%.4f",
                        Math.sin(Math.floorDiv(i, columns) / 5.0) * Math.cos(i % columns / 4.0)))
                .collect(Collectors.joining(",")));
  }

  /** Of six calls of two dtypes, four take up to 1 ms and two up to 10 ms. */
  @Test
  void computesQuantiles() {
    var found =
        page.evaluate(
            """
            async () => {
              const {counts, gauge, parse, quantile, total} = await import('./metrics.js');
              const text = ['f16', 'f32'].flatMap((dtype) => ['0.001', '0.01', '+Inf'].map((le, i) =>
                `athanor_op_seconds_bucket{device="d",dtype="${dtype}",op="o",phase="total",le="${le}"} ${[2, 3, 3][i]}.0`)
                .concat(`athanor_op_seconds_count{device="d",dtype="${dtype}",op="o",phase="total"} 3`))
                .concat('athanor_op_requests_total{device="d",op="o",outcome="ok"} 6.0', 'athanor_op_requests_total{device="d",op="o",outcome="internal"} 0.0',
                  'athanor_tensors{device="d"} 2.0', 'athanor_tensors{device="e"} 3.0', 'athanor_tensors_other 9.0').join('\\n');
              const histogram = total(parse(text), 'o', 'total');
              const micros = (q) => Math.round(quantile(histogram, q) * 1e6);
              return [histogram.count, micros(0.5), micros(5 / 6), quantile(total(parse(text), '', 'kernel'), 0.5),
                gauge(text, 'athanor_tensors'), JSON.stringify(counts(text))];
            }
            """);
    assertThat(found)
        .asString()
        .isEqualTo("[6, 750, 5500, null, 5, [{\"op\":\"o\",\"outcome\":\"ok\",\"count\":6}]]");
  }

  @Test
  void runsEveryOpWithItsDefaults() {
    view("Run");
    var ops = page.locator("#op option").allTextContents();
    assertThat(ops).hasSizeGreaterThan(30);
    for (var op : ops) {
      page.locator("#op").selectOption(op);
      assertThat(page.locator("#kernel")).hasCount(0);
      assertThat(button("Run " + op)).isEnabled();
      button("Run " + op).click();
      assertThat(page.locator("#kernel, #run .error").first()).isVisible();
      assertThat(page.locator("#run .error").allTextContents()).as(op).isEmpty();
    }
  }

  /** Block formats are sent as base64, with finite scales. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "q4_0", "q4_1", "q5_0", "q8_0", "q4_k", "q5_k", "q6_k", "iq4_nl", "iq4_xs", "mxfp4", "nf4"
      })
  void dequantizesRandomBlocks(String dtype) {
    choose("dequantize");
    input("x").locator("[data-role=dtype]").selectOption(dtype);
    input("x").locator("[data-role=shape]").fill("2, 100");
    assertThat(input("x").locator(".error"))
        .containsText("The last extent of " + dtype + " must be a multiple of ");
    input("x").locator("[data-role=shape]").fill("2, 256");
    page.getByLabel("Include this input").first().uncheck();
    button("Run dequantize").click();
    assertThat(page.locator("#result .legend")).containsText("max ");
    assertThat(page.locator("#result .swatch.nan, #result .swatch.infinite")).hasCount(0);
  }

  @Test
  void asksForAKeyAndKeepsItOnlyInMemory() {
    page.route(
        "**/devices",
        route -> {
          if ("Bearer secret".equals(route.request().headerValue("Authorization"))) {
            route.resume();
          } else {
            route.fulfill(
                new Route.FulfillOptions()
                    .setStatus(401)
                    .setContentType("application/problem+json")
                    .setBody("{\"detail\": \"a key is needed\"}"));
          }
        });
    assertThat(page.locator("#state")).hasText("a key is needed");
    page.getByLabel("API key or token").fill("secret");
    button("Use").click();
    assertThat(page.locator("#state")).hasText("emulator:0 ready");
    assertThat(page.locator("#access")).isHidden();
    assertThat(
            page.evaluate(
                "() => localStorage.length + sessionStorage.length + document.cookie.length"))
        .isEqualTo(0);
    faults.removeIf(fault -> fault.contains("the server responded with a status of 401"));
  }

  /** Swagger UI calls the service by the address of the page. */
  @Test
  void apiPageRunsAnOperation() {
    view("API");
    page.locator(".opblock-tag[data-tag=tensors]").click();
    var list = page.locator("#operations-tensors-listTensors");
    list.locator(".opblock-summary-control").click();
    list.locator(".try-out__btn").click();
    list.locator(".execute").click();
    assertThat(list.locator(".live-responses-table tbody .response-col_status"))
        .containsText("200");
    assertThat(list.locator(".curl-command")).containsText(url("/tensors"));
    RestAssured.get(url("/console/swagger-ui/index.html")).then().statusCode(404);
    var styles = RestAssured.get(url("/console/swagger-ui/swagger-ui.css"));
    styles.then().statusCode(200).header("Content-Security-Policy", ConsoleConfiguration.POLICY);
    RestAssured.given()
        .header("If-None-Match", styles.header("ETag"))
        .get(url("/console/swagger-ui/swagger-ui.css"))
        .then()
        .statusCode(304);
    view("Overview");
    assertThat(page.locator("#overview")).isVisible();
  }

  /** The key of the console is valid here, too, and lives as long as the page. */
  @Test
  void apiPageUsesTheKeyOfTheConsole() {
    page.route(
        "**/openapi.yaml",
        route -> {
          if ("Bearer secret".equals(route.request().headerValue("Authorization"))) {
            route.fulfill(
                new Route.FulfillOptions()
                    .setContentType("application/yaml")
                    .setBody(
                        """
                        openapi: 3.1.0
                        info: {title: Test, version: "1"}
                        security: [{bearer: []}]
                        paths: {/ops: {get: {operationId: ops, tags: [all], responses: {}}}}
                        components: {securitySchemes: {bearer: {type: http, scheme: bearer}}}
                        """));
          } else {
            route.fulfill(
                new Route.FulfillOptions()
                    .setStatus(401)
                    .setContentType("application/problem+json")
                    .setBody("{\"detail\": \"Unknown API key.\"}"));
          }
        });
    view("API");
    assertThat(page.locator("#api .error")).hasText("Unknown API key.");
    page.getByLabel("API key or token").fill("secret");
    button("Use").click();
    page.locator(".opblock-tag").click();
    page.locator(".opblock-summary-control").click();
    page.locator(".try-out__btn").click();
    var request = page.waitForRequest("**/ops", () -> page.locator(".execute").click());
    assertThat(request.headerValue("Authorization")).isEqualTo("Bearer secret");
    assertThat(page.evaluate("() => localStorage.length + sessionStorage.length")).isEqualTo(0);
    faults.removeIf(fault -> fault.contains("the server responded with a status of 401"));
  }

  @Test
  void fitsAPhoneInDarkMode() {
    call("sigmoid", "{\"x\": {\"dtype\": \"f32\", \"shape\": [2], \"data\": [0, 1]}}");
    page.close();
    open(360, 740, ColorScheme.DARK);
    assertThat(page.getByRole(AriaRole.ROW).filter(named("sigmoid")).first()).isVisible();
    assertThat(
            page.evaluate(
                """
                () => [...document.querySelectorAll('.cells :is(td, tbody th), .panel')]
                  .filter(each => each.getBoundingClientRect().right > innerWidth).map(each => each.outerHTML)
                """))
        .isEqualTo(List.of());
    for (var view : List.of("Overview", "Run", "Pipeline", "Tensors", "PTX", "API")) {
      view(view);
      assertThat(page.evaluate("() => document.documentElement.scrollWidth <= innerWidth"))
          .as(view)
          .isEqualTo(true);
    }
    assertThat(page.evaluate("() => getComputedStyle(document.body).backgroundColor"))
        .isEqualTo("rgb(15, 18, 22)");
    choose("matmul");
    button("Run matmul").click();
    assertThat(page.locator("#result .heatmap")).isVisible();
    picture("narrow");
  }

  @Test
  void supportsTheKeyboard() {
    page.keyboard().press("Tab");
    assertThat(page.locator(".skip")).isFocused();
    page.keyboard().press("Enter");
    assertThat(page.locator("#main")).isFocused();
    view("Run");
    var unlabeled =
        page.evaluate(
            """
            () => [...document.querySelectorAll('input, select, textarea')]
              .filter(each => !each.labels.length && !each.ariaLabel).map(each => each.outerHTML)
            """);
    assertThat(unlabeled).isEqualTo(List.of());
  }
}
