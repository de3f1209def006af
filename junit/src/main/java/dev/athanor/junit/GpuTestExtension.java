package dev.athanor.junit;

import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.extension.Extension;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.TestTemplateInvocationContext;
import org.junit.jupiter.api.extension.TestTemplateInvocationContextProvider;
import org.junit.platform.commons.support.AnnotationSupport;

/** Provides the invocations of {@link GpuTest} methods. */
final class GpuTestExtension implements TestTemplateInvocationContextProvider {

  @Override
  public boolean supportsTestTemplate(ExtensionContext context) {
    return AnnotationSupport.isAnnotated(context.getTestMethod(), GpuTest.class);
  }

  @Override
  public Stream<TestTemplateInvocationContext> provideTestTemplateInvocationContexts(
      ExtensionContext context) {
    SarifLog.of(context); // a run without findings writes a file, too
    var annotation =
        AnnotationSupport.findAnnotation(context.getTestMethod(), GpuTest.class).orElseThrow();
    return Configuration.of(annotation, TestNames.of(context)).stream().map(Invocation::new);
  }

  private record Invocation(Configuration configuration) implements TestTemplateInvocationContext {
    @Override
    public String getDisplayName(int index) {
      return "[%d] %s".formatted(index, configuration.name());
    }

    @Override
    public List<Extension> getAdditionalExtensions() {
      return List.of(new DeviceExtension(configuration), new FindingsExtension(configuration));
    }
  }
}
