package dev.athanor.service.rest;

import dev.athanor.service.codec.DeviceView;
import dev.athanor.service.codec.Json;
import dev.athanor.service.device.DeviceHealth;
import dev.athanor.service.device.DeviceRuntime;
import dev.athanor.service.device.DeviceRuntimes;
import dev.athanor.service.rest.http.Requests;
import dev.athanor.service.rest.tensors.Media;
import dev.athanor.service.stream.StreamPool;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.List;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/** What the service runs on. */
@RestController
class DeviceController {

  private final DeviceRuntimes places;
  private final DeviceHealth health;
  private final StreamPool streams;

  DeviceController(DeviceRuntimes places, DeviceHealth health, StreamPool streams) {
    this.places = places;
    this.health = health;
    this.streams = streams;
  }

  @GetMapping("/devices")
  void list(HttpServletRequest request, HttpServletResponse response) throws IOException {
    Requests.checkQuery(request, List.of());
    Media.ofAnswer(request, Media.JSON);
    response.setContentType(Media.JSON.text());
    Json.writeValue(
        response.getOutputStream(),
        new DeviceView.Devices(places.all().stream().map(this::view).toList()));
  }

  private DeviceView view(DeviceRuntime place) {
    var capability = place.device().capability();
    var memory = place.device().memory();
    return new DeviceView(
        capability.id(),
        capability.name(),
        capability.target().toString(),
        capability.driver(),
        capability.multiprocessors(),
        place.memory().isLost() ? "lost" : health.isReady() ? "ready" : "not-ready",
        new DeviceView.Memory(memory.used(), memory.pooled(), memory.free()),
        streams.waiting(place.number()),
        streams.perDevice(),
        streams.busy(place.number()));
  }
}
