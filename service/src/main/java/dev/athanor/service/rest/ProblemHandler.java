package dev.athanor.service.rest;

import dev.athanor.service.failure.Failure;
import dev.athanor.service.run.DeviceHealth;
import jakarta.servlet.RequestDispatcher;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.io.UncheckedIOException;
import org.apache.tomcat.util.http.InvalidParameterException;
import org.springframework.boot.webmvc.error.ErrorController;
import org.springframework.http.converter.HttpMessageNotWritableException;
import org.springframework.security.web.firewall.RequestRejectedException;
import org.springframework.web.ErrorResponse;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.bind.annotation.RestControllerAdvice;

/** Answers whatever is thrown with a problem, and whatever the container refuses on its own. */
@RestControllerAdvice
@RestController
class ProblemHandler implements ErrorController {

  @ExceptionHandler
  void failure(Failure failure, HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    write(failure, request, response);
    Connections.readRest(request, response);
  }

  private static void write(
      Failure failure, HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    if (response.isCommitted()) {
      throw failure; // too late to say so but by breaking the answer off
    }
    Problems.write(request, response, failure);
  }

  /** The client has gone, or its body broke off: there is nobody to answer. */
  @ExceptionHandler
  void gone(IOException lost) throws IOException {
    throw lost;
  }

  @ExceptionHandler
  void gone(UncheckedIOException lost) throws IOException {
    throw lost.getCause();
  }

  /** Headers and parameters are looked at late, and only then found to be broken or a trick. */
  @ExceptionHandler({RequestRejectedException.class, InvalidParameterException.class})
  void malformed(HttpServletRequest request, HttpServletResponse response) throws IOException {
    write(Problems.of(400), request, response);
  }

  /** No form of the answer is what Accept asks for, such as JSON in UTF-16. */
  @ExceptionHandler
  void unwritable(
      HttpMessageNotWritableException fault,
      HttpServletRequest request,
      HttpServletResponse response)
      throws IOException {
    if (fault.getCause() == null) {
      write(Problems.of(406), request, response);
    } else {
      write(DeviceHealth.internal(fault), request, response);
    }
  }

  @ExceptionHandler
  void other(Exception fault, HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    if (fault instanceof ErrorResponse refusal && refusal.getStatusCode().is4xxClientError()) {
      refusal
          .getHeaders()
          .forEach((name, values) -> values.forEach(v -> response.addHeader(name, v)));
      write(Problems.of(refusal.getStatusCode().value()), request, response);
    } else {
      var runtime =
          fault instanceof RuntimeException e ? e : new IllegalStateException("checked", fault);
      write(DeviceHealth.internal(runtime), request, response);
    }
  }

  /** Where the container sends what was refused before Spring saw it. */
  @RequestMapping("${server.error.path:/error}")
  void error(HttpServletRequest request, HttpServletResponse response) throws IOException {
    var status = request.getAttribute(RequestDispatcher.ERROR_STATUS_CODE);
    if (status instanceof Integer code && code >= 500) {
      var thrown = request.getAttribute(RequestDispatcher.ERROR_EXCEPTION);
      write(
          DeviceHealth.internal(
              thrown instanceof RuntimeException e
                  ? e
                  : new IllegalStateException("status " + code)),
          request,
          response);
    } else {
      write(Problems.of(status instanceof Integer code ? code : 404), request, response);
    }
  }
}
