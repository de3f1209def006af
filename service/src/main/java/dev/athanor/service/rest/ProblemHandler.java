package dev.athanor.service.rest;

import dev.athanor.service.device.DeviceHealth;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.forward.Forwarding;
import dev.athanor.service.http.Connections;
import dev.athanor.service.http.Problems;
import jakarta.servlet.RequestDispatcher;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.webmvc.error.ErrorController;
import org.springframework.web.ErrorResponse;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.bind.annotation.RestControllerAdvice;

/** Converts exceptions, and errors that the container reports, into problem responses. */
@RestControllerAdvice
@RestController
class ProblemHandler implements ErrorController {

  private static final Logger LOG = LoggerFactory.getLogger(ProblemHandler.class);

  private final ObjectProvider<Forwarding> forwarding;

  ProblemHandler(ObjectProvider<Forwarding> forwarding) {
    this.forwarding = forwarding;
  }

  /** Forwards a request for another replica's tensors if forwarding is configured. */
  @ExceptionHandler
  void wrongReplica(
      Failure.WrongReplica failure, HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    forward(
        failure, configured -> configured.answer(failure, request, response), request, response);
  }

  /** A replica that has the tensor answers where that is configured. */
  @ExceptionHandler
  void unknownName(
      Failure.UnknownName failure, HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    forward(
        failure, configured -> configured.answer(failure, request, response), request, response);
  }

  /** Has another replica answer. */
  private interface Answer {
    void by(Forwarding configured) throws IOException;
  }

  private void forward(
      Failure failure, Answer answer, HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    var configured = forwarding.getIfAvailable();
    if (configured == null) {
      write(failure, request, response);
      return;
    }
    try {
      answer.by(configured);
    } catch (Failure e) {
      write(e, request, response);
    } catch (IOException e) {
      lost(e, request, response);
    }
  }

  @ExceptionHandler
  void failure(Failure failure, HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    write(failure, request, response);
  }

  private static void write(
      Failure failure, HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    if (response.isCommitted()) {
      LOG.debug("Response aborted: {}", failure.getMessage());
      Connections.abortResponse();
    } else {
      Problems.write(request, response, failure);
    }
  }

  /**
   * Handles a lost connection or an incomplete body. If the container has detected it and the
   * client is still connected, the container dispatches the request to {@link #error}.
   */
  private void lost(Exception lost, HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    if (Problems.isDisconnection(lost)) {
      LOG.debug("Request aborted by the client: {}", lost.toString());
      Connections.abortResponse();
    } else {
      write(internal(lost), request, response);
    }
  }

  private static Failure internal(Exception fault) {
    return DeviceHealth.internal(
        fault instanceof RuntimeException e ? e : new IllegalStateException("checked", fault));
  }

  @ExceptionHandler
  void other(Exception fault, HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    var failure = Problems.ofClient(fault);
    if (failure.isEmpty() || Problems.isDisconnection(fault)) {
      lost(fault, request, response);
      return;
    }
    if (fault instanceof ErrorResponse refusal) {
      refusal
          .getHeaders()
          .forEach((name, values) -> values.forEach(v -> response.addHeader(name, v)));
    }
    write(failure.get(), request, response);
  }

  /** Handles the container's error dispatch: rejected requests and incomplete bodies. */
  @RequestMapping("${server.error.path:/error}")
  void error(HttpServletRequest request, HttpServletResponse response) throws IOException {
    Connections.abandonBody();
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
