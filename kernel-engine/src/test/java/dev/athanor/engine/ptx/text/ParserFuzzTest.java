package dev.athanor.engine.ptx.text;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.ptx.Samples;
import dev.athanor.testing.TestTier;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The parser accepts or rejects any text, without other failures. */
class ParserFuzzTest {

  private static final int TEXTS = TestTier.choose(300, 10_000, 200_000);

  private static final String[] SPLINTERS = {
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "<",
    "/*",
    "//",
    "\"",
    "-",
    "!",
    "@",
    "::",
    "%",
    ".",
    "|",
    "=",
    "99999999999999999999",
    "0x",
    "0f",
    "2147483648",
    "-1",
    "{{{{{{{{",
    ".reg .b32 %r<2147483647>;",
    ".align 3",
    ".section x {",
    ".loc 1 2 3",
    ".func",
    "call",
    "_",
    "generic(",
    "\0",
    "é",
  };

  @Test
  void damagedSamplesAreParsedOrRejected() {
    long seed = TestTier.seed();
    System.out.println("ParserFuzzTest seed " + seed);
    var random = new Random(seed);
    var names = Samples.names();
    int read = 0;
    int refused = 0;
    for (int i = 0; i < TEXTS; i++) {
      var text = damage(Samples.text(names.get(random.nextInt(names.size()))), random);
      try {
        var module = Parser.parse(text, "fuzz.ptx", Samples::anyInstruction);
        assertThat(module.toString()).isNotEmpty();
        read++;
      } catch (PtxSyntaxException e) {
        assertThat(e.source().line()).isPositive();
        refused++;
      }
      try {
        Parser.parse(text, "fuzz.ptx");
      } catch (PtxSyntaxException e) {
        assertThat(e.getMessage()).startsWith("fuzz.ptx:");
      }
    }
    assertThat(read).as("texts that were read").isPositive();
    assertThat(refused).as("texts that were refused").isPositive();
  }

  private static String damage(String sample, Random random) {
    var text = new StringBuilder(sample);
    for (int i = random.nextInt(4); i >= 0 && !text.isEmpty(); i--) {
      int at = random.nextInt(text.length());
      int to = Math.min(text.length(), at + 1 + random.nextInt(12));
      switch (random.nextInt(6)) {
        case 0 -> text.setCharAt(at, (char) (text.charAt(at) ^ (1 << random.nextInt(8))));
        case 1 -> text.delete(at, to);
        case 2 -> text.insert(at, text.substring(at, to));
        case 3 -> text.insert(at, SPLINTERS[random.nextInt(SPLINTERS.length)]);
        case 4 -> text.setLength(Math.max(1, at));
        default -> text.replace(at, to, SPLINTERS[random.nextInt(SPLINTERS.length)]);
      }
    }
    return text.toString();
  }

  @Test
  @Tag(TestTier.THOROUGH_TAG)
  void deepNestingAndLongTokensAreHandled() {
    int many = 200_000;
    var head = ".version 9.0\n.target sm_90\n.address_size 64\n";
    var body = head + ".visible .entry k()\n{\n.reg .b32 %r<4>; .reg .pred %p<2>;\n";
    for (var text :
        new String[] {
          body + "{".repeat(many),
          body + "mov.u32 %r0, " + "-".repeat(many) + "1;",
          body + "mov.u32 %r0, " + "(".repeat(many) + "1;",
          body + "mov.b64 %r0, " + "{".repeat(many),
          body + "mov.b64 %r0, " + "!".repeat(many),
          body + "mov.u32 %r0, " + "1".repeat(many) + ";",
          body + "mov.u32 %r" + "1".repeat(many) + ", 0;",
          body + "ld" + "::a".repeat(many) + " %r0;",
          body + "ld" + ".a".repeat(many) + " %r0;",
          body + "@".repeat(many),
          head + ".global .b8 x[2] = " + "{".repeat(many),
          head + ".global .b8 x[2][1000000000] = {{1},{2}};",
          head + ".global .b8 x[1000000000][1000000000];",
          head + ".section .debug { " + "{".repeat(many),
          head + "/*" + "*".repeat(many),
        }) {
      try {
        Parser.parse(text, "deep.ptx");
        assertThat(text).as("a text that is not right was read").isEmpty();
      } catch (PtxSyntaxException e) {
        assertThat(e.source().line()).isPositive();
      }
    }
  }
}
