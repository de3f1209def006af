package dev.athanor.service;

import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;

/** The application, for tests in other packages. */
@Configuration(proxyBeanMethods = false)
@Import(Athanor.Service.class)
public class TestService {}
