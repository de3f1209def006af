package dev.athanor.service.rest;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static org.assertj.core.api.Assertions.assertThat;

import com.microsoft.playwright.Locator;
import com.microsoft.playwright.Route;
import com.microsoft.playwright.options.AriaRole;
import dev.athanor.testing.TestTier;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** Tests the console without data, with errors, and without a responding service. */
class ConsoleStatesTest extends BrowserTest {

  private static final String LOST =
      "The service is not responding. This page shows its last state and retries every second.";

  private Locator shape(String input) {
    return input(input).locator("[data-role=shape]");
  }

  private void answer(String path, int status, String body) {
    page.route(
        "**" + path,
        route ->
            route.fulfill(
                new Route.FulfillOptions()
                    .setStatus(status)
                    .setContentType(status == 200 ? "text/plain" : "application/problem+json")
                    .setBody(body)));
  }

  @Test
  void explainsHowToCreateTheFirstTensor() {
    view("Tensors");

    var empty = page.locator("#tensors .empty");
    assertThat(empty).containsText("No tensors yet. Run an op and keep its output on the device");
    assertThat(empty.locator("pre")).containsText("curl " + url("/tensors"));
    assertThat(page.locator("#resident")).isHidden();
    empty.getByRole(AriaRole.LINK).click();
    assertThat(page.locator("#run")).isVisible();
    assertThat(page.locator("#result")).containsText("No result yet. Press Run");
  }

  @Test
  void linksToTheFormBeforeTheFirstRun() {
    answer(
        "/metrics",
        200,
        """
        athanor_op_seconds_count{device="d",dtype="f32",op="matmul",phase="total"} 1
        athanor_op_seconds_bucket{device="d",dtype="f32",op="matmul",phase="total",le="+Inf"} 1
        """); // the self-test
    page.reload();

    var notice = page.locator("#notice");
    assertThat(notice).containsText("No op has run yet. Run one or POST to /ops/{op}");
    assertThat(page.locator("#ops")).isHidden();
    notice.getByText("Run one").click();
    assertThat(page.locator("#run")).isVisible();
  }

  @Test
  void explainsUnreadableMetrics() {
    answer("/metrics", 500, "{\"detail\": \"broken\"}");
    page.reload();

    assertThat(page.locator("#notice .error"))
        .hasText("Cannot read the metrics: broken Try GET /metrics with the same credentials.");
    assertThat(page.locator(".device h3")).isVisible();
    faults.removeIf(fault -> fault.contains("the server responded with a status of 500"));
  }

  /** Tenants rarely have this scope. The console hides the devices instead of showing errors. */
  @Test
  void explainsTheMissingScopeMetrics() {
    var requested = new CopyOnWriteArrayList<String>();
    page.onRequest(request -> requested.add(request.url()));
    answer(
        "/devices",
        403,
        "{\"detail\": \"This request needs the scope metrics; the token has ops:run.\"}");
    page.reload();

    assertThat(page.locator("#notice"))
        .containsText(
            "This request needs the scope metrics; the token has ops:run. The overview is empty without it.");
    assertThat(page.locator("#state")).hasText("ready");
    assertThat(page.locator("#ops")).isHidden();
    assertThat(page.locator(".device:visible")).hasCount(0);
    choose("relu");
    button("Run relu").click();
    assertThat(page.locator("#kernel")).isVisible();
    page.waitForRequest("**/readyz", () -> {});
    page.waitForRequest("**/readyz", () -> {});
    // not requested again every second
    assertThat(requested.stream().filter(url -> url.endsWith("/devices"))).hasSize(1);
    faults.removeIf(fault -> fault.contains("the server responded with a status of 403"));
  }

  @Test
  void disablesThePageWhileTheServiceDoesNotRespond() {
    choose("matmul");
    shape("a").fill("8, 8");
    page.route("**/*", Route::abort);

    assertThat(page.locator("#lost")).hasText(LOST);
    assertThat(page.locator("main")).hasAttribute("inert", "");
    assertThat(page.locator("main")).hasCSS("filter", "grayscale(1)");
    assertThat(page.locator("#state")).hasText("not connected");
    assertThat(page.locator(".error:visible")).hasCount(0);
    for (var view : List.of("Tensors", "Overview", "Run")) {
      view(view);
      assertThat(page.locator(".error:visible")).hasCount(0);
      assertThat(page.locator("#lost")).isVisible();
    }

    page.unroute("**/*");

    assertThat(page.locator("#lost")).isHidden();
    assertThat(page.locator("#state")).hasText("emulator:0 ready");
    assertThat(shape("a")).hasValue("8, 8");
    button("Run matmul").click();
    assertThat(page.locator("#kernel")).isVisible();
    faults.removeIf(fault -> fault.contains("net::ERR_FAILED"));
  }

  /** A proxy responds instead of the service. */
  @Test
  void treatsProxyErrorsAsAMissingService() {
    page.route(
        "**/*",
        route ->
            route.fulfill(
                new Route.FulfillOptions()
                    .setStatus(502)
                    .setContentType("text/html")
                    .setBody("<html>Bad Gateway</html>")));

    assertThat(page.locator("#lost")).hasText(LOST);

    page.unroute("**/*");
    assertThat(page.locator("#lost")).isHidden();
    faults.removeIf(fault -> fault.contains("the server responded with a status of 502"));
  }

  @Test
  void showsErrorsAtInvalidShapes() {
    var sent = new CopyOnWriteArrayList<String>();
    page.onRequest(request -> {
      if (request.method().equals("POST")) {
        sent.add(request.url());
      }
    });
    choose("matmul");
    expectShapeError(
        "8, zero", "“zero” is not an extent. A shape is positive integers separated by commas");
    expectShapeError("8,,8", "“” is not an extent.");
    expectShapeError("0, 8", "“0” is not an extent.");
    expectShapeError("8.5, 8", "“8.5” is not an extent.");
    expectShapeError("8", "[8] has 1 dimension; […a, M, K] needs at least 2.");
    expectShapeError(
        "100000, 100000", "[100000, 100000] has 10000000000 elements; this page generates");
    shape("a").fill("8, 8");
    assertThat(page.locator("#run .error")).hasCount(0);
    assertThat(page.locator("#run [aria-invalid]")).hasCount(0);

    type("a", "2, 2", "1 2 3");
    assertThat(input("a").locator(".error")).hasText("[2, 2] has 4 elements; got 3 numbers.");
    assertThat(button("Run matmul")).isDisabled();
    type("a", "2, 2", "1 2 3 4");
    assertThat(input("a").locator(".error")).hasCount(0);

    for (var size : List.of("0", "-1", "3.5", "")) {
      page.locator("[data-size=K]").fill(size);
      assertThat(page.locator(".sizes .field:has([data-size=K]) + .error"))
          .hasText(
              "K must be a positive integer%s.".formatted(size.isEmpty() ? "" : "; got " + size));
      assertThat(button("Run matmul")).isDisabled();
    }
    page.locator("[data-size=K]").fill("16");
    assertThat(page.locator(".sizes .error")).hasCount(0);
    assertThat(button("Run matmul")).isEnabled();
    assertThat(sent).isEmpty();
  }

  private void expectShapeError(String shape, String message) {
    shape("a").fill(shape);
    assertThat(input("a").locator(".field + .error")).containsText(message);
    assertThat(shape("a")).hasAttribute("aria-invalid", "true");
    assertThat(button("Run matmul")).isDisabled();
  }

  @Test
  void anErrorClearsTheResult() {
    choose("matmul");
    button("Run matmul").click();
    assertThat(page.locator("#kernel")).isVisible();
    shape("b").fill("4, 8");
    button("Run matmul").click();
    assertThat(page.locator("#run .error")).isVisible();
    assertThat(page.locator("#result")).hasText(Pattern.compile("No result yet.*"));
    faults.removeIf(fault -> fault.contains("the server responded with a status of 400"));
  }

  @Test
  void ptxPageHasAnExampleForEachOp() {
    view("PTX");
    assertThat(page.locator("#ptx-op")).hasValue("matmul");
    assertThat(page.locator("#ptx-problem")).hasValue("a=f32[8,8] b=f32[8,8]");
    assertThat(page.locator("#listing .kernel h3").first())
        .hasText(Pattern.compile("matmul_f32_.*"));
    var ops = page.locator("#ptx-op option").allTextContents();
    assertThat(ops).hasSizeGreaterThanOrEqualTo(40);
    var few = List.of("matmul", "softmax", "attention", "cast");
    for (var op : TestTier.current() == TestTier.SWEEP ? ops : few) {
      page.locator("#ptx-op").selectOption(op);
      assertThat(page.locator("#listing details summary, #listing .error").first()).isVisible();
      assertThat(page.locator("#listing .error").allTextContents()).as(op).isEmpty();
    }
  }

  @Test
  void showsErrorsAtInvalidShapesOfTheProblem() {
    view("PTX");
    assertThat(page.locator("#listing .kernel").first()).isVisible();
    var sent = new CopyOnWriteArrayList<String>();
    page.onRequest(request -> sent.add(request.url()));
    var error = page.locator("#ptx form .error");

    page.locator("#ptx-problem").fill("a=f32[8,0] b=f32[8,8]");
    assertThat(error).containsText("“0” is not an extent.");
    page.locator("#ptx-problem").fill("a=f32[8] b=f32[8,8]");
    assertThat(error).hasText("a: [8] has 1 dimension; […a, M, K] needs at least 2.");
    button("Show").click();
    assertThat(error).hasCount(1);
    assertThat(sent).noneMatch(url -> url.contains("/ptx?"));

    page.locator("#ptx-problem").fill("a=f32[8,8] b=f32[8,8]");
    assertThat(error).hasCount(0);
  }
}
