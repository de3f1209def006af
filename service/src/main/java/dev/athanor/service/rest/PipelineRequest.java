package dev.athanor.service.rest;

import dev.athanor.ops.Catalogue;
import dev.athanor.service.codec.DecodeBudget;
import dev.athanor.service.codec.Json;
import dev.athanor.service.codec.TensorWriter.Encoding;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.pipeline.StepReader;
import dev.athanor.service.run.Call;
import dev.athanor.service.run.Call.Target;
import dev.athanor.service.run.Pipeline;
import dev.athanor.service.stream.RequestContext;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;

/**
 * A request to run a pipeline, in JSON.
 *
 * @param encodings the encodings of outputs
 */
record PipelineRequest(Pipeline pipeline, Map<String, Encoding> encodings) {

  private static final List<String> KEYS = List.of("inputs", "steps", "outputs");

  /**
   * Reads the body of {@code POST /pipelines/run}.
   *
   * @param limit maximum size of a tensor in bytes
   */
  static PipelineRequest read(
      Catalogue catalogue, InputStream body, long limit, RequestContext context)
      throws IOException {
    var budget = new DecodeBudget(context.memory(), limit);
    return Json.read(body, parser -> new Reader(catalogue, parser, budget).read(context));
  }

  private static final class Reader {
    private final Catalogue catalogue;
    private final JsonParser parser;
    private final DecodeBudget budget;
    private final Map<String, Call.Input> inputs = new LinkedHashMap<>();
    private final List<Pipeline.Step> steps = new ArrayList<>();
    private final Map<String, Target> outputs = new LinkedHashMap<>();
    private final Map<String, Encoding> encodings = new HashMap<>();

    Reader(Catalogue catalogue, JsonParser parser, DecodeBudget budget) {
      this.catalogue = catalogue;
      this.parser = parser;
      this.budget = budget;
    }

    PipelineRequest read(RequestContext context) {
      while (parser.nextToken() != JsonToken.END_OBJECT) {
        var key = parser.currentName();
        parser.nextToken();
        switch (key) {
          case "inputs" ->
              Json.members(
                  parser,
                  "inputs",
                  Code.INVALID_TENSOR,
                  name -> inputs.put(name, RequestJson.input(parser, "inputs." + name, budget)));
          case "steps" -> steps.addAll(StepReader.read(catalogue, parser));
          case "outputs" -> Json.members(parser, "outputs", Code.INVALID_ATTRIBUTE, this::output);
          default -> throw Json.unknown("", key, KEYS);
        }
      }
      return new PipelineRequest(new Pipeline(inputs, steps, outputs, context), encodings);
    }

    private void output(String name) {
      var output = RequestJson.output(parser, "outputs." + name);
      outputs.put(name, output.target());
      encodings.put(name, output.encoding());
    }
  }
}
