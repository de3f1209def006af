package dev.athanor.service.rest;

import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Objects;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.io.support.PropertiesLoaderUtils;
import org.springframework.http.CacheControl;
import org.springframework.web.servlet.HandlerInterceptor;
import org.springframework.web.servlet.config.annotation.InterceptorRegistry;
import org.springframework.web.servlet.config.annotation.ResourceHandlerRegistry;
import org.springframework.web.servlet.config.annotation.ViewControllerRegistry;
import org.springframework.web.servlet.config.annotation.WebMvcConfigurer;

/** Serves the console: static files that use only the public API, and Swagger UI. */
@Configuration(proxyBeanMethods = false)
class ConsoleConfiguration implements WebMvcConfigurer {

  static final String POLICY =
      "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'";

  /** Swagger UI's WebJar has other files, too. */
  private static final String SWAGGER_UI =
      "/console/swagger-ui/{file:swagger-ui(?:-bundle[.]js|[.]css)}";

  @Override
  public void addResourceHandlers(ResourceHandlerRegistry registry) {
    var version = swaggerUiVersion();
    registry
        .addResourceHandler(SWAGGER_UI)
        .addResourceLocations("classpath:/META-INF/resources/webjars/swagger-ui/" + version + "/")
        .setUseLastModified(false)
        .setEtagGenerator(_ -> version)
        .setCacheControl(CacheControl.noCache());
    registry
        .addResourceHandler("/console/**")
        .addResourceLocations("classpath:/console/")
        // reproducible builds give all files the same date
        .setUseLastModified(false)
        .setCacheControl(CacheControl.noCache());
  }

  /** Returns the version of the WebJar, which is part of its paths. */
  private static String swaggerUiVersion() {
    try {
      var properties =
          PropertiesLoaderUtils.loadAllProperties(
              "META-INF/maven/org.webjars/swagger-ui/pom.properties");
      return Objects.requireNonNull(properties.getProperty("version"));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public void addViewControllers(ViewControllerRegistry registry) {
    registry.addRedirectViewController("/console", "/console/");
    registry.addViewController("/console/").setViewName("forward:/console/index.html");
  }

  @Override
  public void addInterceptors(InterceptorRegistry registry) {
    registry.addInterceptor(new Policy()).addPathPatterns("/console/**");
  }

  /** Replaces the strict content security policy of API responses. */
  private static final class Policy implements HandlerInterceptor {
    @Override
    public boolean preHandle(
        HttpServletRequest request, HttpServletResponse response, Object handler) {
      response.setHeader("Content-Security-Policy", POLICY);
      return true;
    }
  }
}
