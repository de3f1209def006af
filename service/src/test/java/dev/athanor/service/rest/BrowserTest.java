package dev.athanor.service.rest;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static org.assertj.core.api.Assertions.assertThat;

import com.microsoft.playwright.Browser;
import com.microsoft.playwright.BrowserType;
import com.microsoft.playwright.Locator;
import com.microsoft.playwright.Page;
import com.microsoft.playwright.Playwright;
import com.microsoft.playwright.assertions.PlaywrightAssertions;
import com.microsoft.playwright.options.AriaRole;
import com.microsoft.playwright.options.ColorScheme;
import dev.athanor.service.AthanorApplication;
import dev.athanor.testing.Programs;
import dev.athanor.testing.TestTier;
import io.restassured.RestAssured;
import java.net.URI;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.web.server.LocalServerPort;

/**
 * Base class of tests of the console in Chromium, with the unmodified service. {@code
 * -Dathanor.screenshots=true} updates the pictures in docs/console.
 */
@SpringBootTest(
    classes = AthanorApplication.class,
    properties = "athanor.device=emulator",
    webEnvironment = SpringBootTest.WebEnvironment.RANDOM_PORT)
@Tag(TestTier.THOROUGH_TAG)
abstract class BrowserTest {

  private static final Path PICTURES = Path.of("../docs/console");

  /** Ends a wait for what never comes; a busy machine needs a small part of it. */
  private static final int MAX_WAIT_MILLIS = 300_000;

  static final boolean SCREENSHOTS = Boolean.getBoolean("athanor.screenshots");

  private static @Nullable Playwright playwright;
  private static @Nullable Browser browser;

  @LocalServerPort int port;

  @SuppressWarnings("NullAway.Init") // before each test
  Page page;

  /** Errors of the page and requests to other hosts; must be empty after each test. */
  final List<String> faults = new CopyOnWriteArrayList<>();

  @BeforeAll
  static void start() {
    var chromium =
        Programs.require(
            Stream.of("chromium", "chromium-browser", "google-chrome")
                .flatMap(name -> Programs.find(name).stream())
                .findFirst(),
            "Chromium",
            "apt-get install chromium");
    PlaywrightAssertions.setDefaultAssertionTimeout(MAX_WAIT_MILLIS);
    playwright =
        Playwright.create(
            new Playwright.CreateOptions().setEnv(Map.of("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1")));
    browser =
        playwright
            .chromium()
            .launch(
                new BrowserType.LaunchOptions()
                    .setExecutablePath(chromium)
                    .setTimeout(MAX_WAIT_MILLIS)
                    .setArgs(
                        List.of(
                            "--no-sandbox",
                            "--disable-gpu",
                            "--disable-quic",
                            "--no-first-run",
                            "--disable-background-networking",
                            "--disable-component-update",
                            "--disable-sync")));
  }

  @AfterAll
  static void stop() {
    if (playwright != null) {
      playwright.close();
    }
  }

  /** Deletes tensors of other tests, which the form would offer. */
  @BeforeEach
  void open() {
    var tensors = "http://127.0.0.1:%d/tensors".formatted(port);
    RestAssured.get(tensors + "?limit=1000")
        .<List<String>>path("tensors.handle")
        .forEach(handle -> RestAssured.delete(tensors + "/" + handle).then().statusCode(204));
    open(1280, 900, ColorScheme.LIGHT);
  }

  void open(int width, int height, ColorScheme colors) {
    page =
        Objects.requireNonNull(browser)
            .newPage(
                new Browser.NewPageOptions().setViewportSize(width, height).setColorScheme(colors));
    page.setDefaultTimeout(MAX_WAIT_MILLIS);
    page.onConsoleMessage(message -> {
      if (List.of("error", "warning").contains(message.type())) {
        faults.add(message.text());
      }
    });
    page.onPageError(faults::add);
    page.onRequest(request -> {
      var to = URI.create(request.url());
      if (to.getPort() != port || !to.getHost().equals("127.0.0.1")) {
        faults.add("a request to " + to);
      }
    });
    page.navigate(url("/console/"));
    assertThat(page.locator("#state")).hasText("emulator:0 ready");
  }

  @AfterEach
  void close() {
    page.close();
    assertThat(faults).isEmpty();
  }

  String url(String path) {
    return "http://127.0.0.1:" + port + path;
  }

  void view(String name) {
    page.getByRole(AriaRole.NAVIGATION)
        .getByRole(AriaRole.LINK, new Locator.GetByRoleOptions().setName(name))
        .click();
  }

  Locator button(String name) {
    return page.getByRole(
        AriaRole.BUTTON, new Page.GetByRoleOptions().setName(name).setExact(true));
  }

  Locator input(String name) {
    return page.locator("[data-field='inputs.%s']".formatted(name));
  }

  void type(String input, String shape, String numbers) {
    var fields = input(input);
    fields.locator("[data-role=source]").selectOption("typed");
    fields.locator("[data-role=shape]").fill(shape);
    fields.locator("[data-role=numbers]").fill(numbers);
  }

  void choose(String op) {
    view("Run");
    page.locator("#op").selectOption(op);
  }

  void picture(String name) {
    if (SCREENSHOTS) {
      page.evaluate("() => scrollTo(0, 0)");
      page.screenshot(new Page.ScreenshotOptions().setPath(PICTURES.resolve(name + ".png")));
    }
  }
}
