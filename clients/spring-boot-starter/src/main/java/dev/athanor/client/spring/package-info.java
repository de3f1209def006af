/** Configures the Athanor client in a Spring Boot application. */
@NullMarked
package dev.athanor.client.spring;

import org.jspecify.annotations.NullMarked;
