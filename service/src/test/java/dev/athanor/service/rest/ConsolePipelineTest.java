package dev.athanor.service.rest;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static org.assertj.core.api.Assertions.assertThat;

import com.microsoft.playwright.Locator;
import com.microsoft.playwright.options.AriaRole;
import io.restassured.RestAssured;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Tests the editor of pipelines. */
class ConsolePipelineTest extends BrowserTest {

  private static final String NO_OUTPUT = "Choose an output of an earlier step, or another source.";

  @BeforeEach
  void show() {
    view("Pipeline");
    assertThat(page.locator(".step")).hasCount(2);
  }

  private Locator step(int number) {
    return page.locator(".step").nth(number - 1);
  }

  private Locator input(int step, String name) {
    return step(step).locator("[data-field='inputs.%s']".formatted(name));
  }

  private Locator output(int step, String name) {
    return step(step).locator("[data-field='outputs.%s']".formatted(name));
  }

  private void choose(int step, String op) {
    step(step).locator("[data-role=op]").selectOption(op);
  }

  private void type(int step, String name, String shape, String numbers) {
    input(step, name).locator("[data-role=source]").selectOption("typed");
    input(step, name).locator("[data-role=shape]").fill(shape);
    input(step, name).locator("[data-role=numbers]").fill(numbers);
  }

  private void run() {
    button("Run pipeline").click();
  }

  private Locator times() {
    return page.locator(".step-times tbody tr");
  }

  private Locator values() {
    return page.locator("#pipeline-result table.values td.number");
  }

  @Test
  void runsTheExampleAndShowsTimesOfItsSteps() {
    run();
    assertThat(times()).hasCount(2);
    assertThat(times().locator("th")).hasText(new String[] {"1 matmul", "2 softmax"});
    assertThat(times().first().locator("code")).hasText(Pattern.compile("matmul_f32_.*"));
    assertThat(times().first().locator(".number")).hasText(Pattern.compile("[\\d.]+ (µs|ms|s)"));
    assertThat(page.locator(".step-times .bar span[style='width: 100%;']")).hasCount(1);
    assertThat(page.locator("#pipeline-result h3")).hasText("y2 f32 [8, 8]");
    assertThat(page.locator("#pipeline .error")).hasCount(0);
    picture("pipeline");
  }

  @Test
  void addsMovesAndRemovesSteps() {
    choose(1, "relu");
    choose(2, "scale");
    step(2).locator("summary").click();
    step(2).locator("[data-attribute=factor]").fill("-1");
    type(1, "x", "3", "1 -2 3");
    button("Add step").click();
    assertThat(step(3).locator("[data-role=op]")).isFocused();
    assertThat(step(3).locator("[data-role=step] option:checked")).hasText("y2, step 2 scale");
    run();
    assertThat(values()).hasText(new String[] {"0", "0", "0"});

    button("Move step 2 up").click();
    assertThat(page.locator("#pipeline [role=status]").first())
        .hasText("scale is now step 1 of 3.");
    assertThat(button("Move step 1 down")).isFocused();
    assertThat(input(1, "x").locator(".error")).hasText(NO_OUTPUT);
    assertThat(button("Run pipeline")).isDisabled();
    button("Move step 1 down").click();
    assertThat(page.locator("#pipeline .error")).hasCount(0);
    assertThat(step(2).locator("[data-role=step] option:checked")).hasText("y1, step 1 relu");

    output(1, "y").locator("[data-name]").fill("positive");
    assertThat(step(2).locator("[data-role=step] option:checked")).hasText("positive, step 1 relu");
    button("Remove step 2").click();
    assertThat(page.locator(".step")).hasCount(2);
    assertThat(input(2, "x").locator(".error")).hasText(NO_OUTPUT);
    input(2, "x").locator("[data-role=step]").selectOption("positive, step 1 relu");
    run();
    assertThat(values()).hasText(new String[] {"1", "0", "3"});
  }

  @Test
  void readsResidentTensorsAndKeepsOutputs() {
    RestAssured.given()
        .contentType("application/json")
        .body("{\"dtype\": \"f32\", \"shape\": [2, 2], \"data\": [1, 2, 3, 4]}")
        .post(url("/tensors?name=weights"))
        .then()
        .statusCode(201);
    view("Tensors");
    view("Pipeline");
    type(1, "a", "2, 2", "1 0 0 1");
    input(1, "b").locator("[data-role=source]").selectOption("resident");
    assertThat(input(1, "b").locator("[data-role=tensor] option:checked"))
        .hasText("weights · f32 [2, 2]");
    choose(2, "relu");
    output(1, "c").locator("[data-output]").selectOption("handle");
    run();
    assertThat(page.locator("#pipeline-result h3"))
        .hasText(new String[] {"c1 f32 [2, 2]", "y2 f32 [2, 2]"});
    assertThat(values()).hasText(new String[] {"1", "2", "3", "4"});
    assertThat(page.locator("#pipeline-result section").first())
        .containsText("Kept on the device as t_");
    assertThat(RestAssured.get(url("/tensors")).<List<String>>path("tensors.handle")).hasSize(2);
  }

  @Test
  void showsErrorsAtTheirStepsAndFields() {
    input(1, "b").locator("[data-role=shape]").fill("4, 8");
    run();
    assertThat(page.locator("#pipeline .error"))
        .hasText("b [4, 8] has K = 4 but a [8, 8] has K = 8; they must be equal");
    assertThat(step(1).locator("[aria-invalid]")).hasCount(1);

    input(1, "b").locator("[data-role=shape]").fill("8, 8");
    assertThat(page.locator("#pipeline .error")).hasCount(0);
    output(2, "y").locator("[data-name]").fill("c1");
    run();
    assertThat(output(2, "y").locator(".error"))
        .hasText(
            "steps[1].outputs.y is \"c1\", which is already defined; names must be unique within the pipeline");

    output(2, "y").locator("[data-name]").fill("y");
    choose(2, "layer-norm");
    assertThat(input(2, "x").locator("[data-role=step] option:checked"))
        .hasText("c1, step 1 matmul");
    input(2, "gamma").getByLabel("Include this input").check();
    input(2, "gamma").locator("[data-role=shape]").fill("4");
    run();
    assertThat(input(2, "gamma").locator(".error")).hasCount(1);

    input(2, "gamma").locator("[data-role=source]").selectOption("typed");
    run();
    assertThat(input(2, "gamma").locator(".error")).hasText("[4] has 4 elements; got 0 numbers.");
    step(2).locator("summary").click();
    step(2).locator("[data-attribute=epsilon]").fill("-1");
    assertThat(step(2).locator("[data-field='attributes.epsilon'] .error"))
        .containsText("epsilon must be a number, at least");
    assertThat(button("Run pipeline")).isDisabled();
    faults.removeIf(fault -> fault.contains("the server responded with a status of 400"));
  }

  @Test
  void supportsAssistiveTechnology() {
    assertThat(
            page.getByRole(AriaRole.LISTITEM)
                .filter(new Locator.FilterOptions().setHas(page.locator("h3"))))
        .hasCount(2);
    assertThat(button("Move step 1 up")).isDisabled();
    assertThat(button("Move step 2 down")).isDisabled();
    var unlabeled =
        page.evaluate(
            """
            () => [...document.querySelectorAll('input, select, textarea')]
              .filter(each => !each.labels.length && !each.ariaLabel).map(each => each.outerHTML)
            """);
    assertThat(unlabeled).isEqualTo(List.of());
    button("Remove step 2").click();
    button("Remove step 1").click();
    assertThat(button("Add step")).isFocused();
    assertThat(button("Run pipeline")).isDisabled();
  }
}
