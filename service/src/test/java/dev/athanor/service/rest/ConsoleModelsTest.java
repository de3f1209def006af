package dev.athanor.service.rest;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;

import com.microsoft.playwright.Locator;
import com.microsoft.playwright.options.FilePayload;
import dev.athanor.service.model.SmallModels;
import io.restassured.RestAssured;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Tests the view of stored models. */
class ConsoleModelsTest extends BrowserTest {

  private static final String WHOLE = "1,".repeat(SmallModels.WIDTH - 1) + "1";

  @AfterEach
  void deleteModels() {
    for (var name : new String[] {"adder", "small"}) {
      RestAssured.delete(url("/models/" + name));
    }
  }

  private Locator row(String name) {
    return page.locator("#models-list tbody tr")
        .filter(new Locator.FilterOptions().setHasText(name));
  }

  @Test
  void storesRunsAndDeletesModels() {
    view("Models");
    assertThat(page.locator("#models .empty")).isVisible();
    button("Store").click();
    assertThat(page.locator("#models .error")).containsText("takes a file, and a name");
    page.locator("#model-name").fill("adder");
    var file = SmallModels.model(SmallModels.adding(2));
    page.locator("#model-file")
        .setInputFiles(new FilePayload("adder.onnx", "application/octet-stream", file));
    button("Store").click();
    assertThat(row("adder")).containsText("x f32 [rows, 12]");
    assertThat(row("adder")).containsText("48 B");
    row("adder").getByText("Use").click();
    page.locator("#model-request")
        .fill(
            "{\"inputs\": {\"x\": {\"dtype\": \"f32\", \"shape\": [1, 12], \"data\": [%s]}}}"
                .formatted(WHOLE));
    button("Run").click();
    assertThat(page.locator("#model-result table.values td.number").first()).hasText("3");
    assertThat(page.locator("#model-generated")).isHidden();
    page.locator("#model-request").fill("{}");
    button("Run").click();
    assertThat(page.locator("#model-result .error")).containsText("the inputs of the model are");
    faults.removeIf(fault -> fault.contains("the server responded with a status of 400"));
    row("adder").getByText("Delete").click();
    assertThat(page.locator("#models .empty")).isVisible();
  }

  @Test
  void generatesTokens() throws Exception {
    RestAssured.given()
        .contentType("application/zip")
        .body(SmallModels.decoder())
        .put(url("/models/small"))
        .then()
        .statusCode(201);
    view("Models");
    row("small").getByText("Use").click();
    page.locator("#model-most").fill("4");
    button("Generate").click();
    assertThat(page.locator("#model-generated")).hasText(Pattern.compile("(\\d+ ?){4}"));
    page.locator("#model-tokens").fill("");
    button("Generate").click();
    assertThat(page.locator("#model-generated .error")).containsText("tokens is missing");
    faults.removeIf(fault -> fault.contains("the server responded with a status of 400"));
  }
}
