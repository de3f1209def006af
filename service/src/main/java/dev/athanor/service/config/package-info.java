/** How the application is put together and configured. */
@NullMarked
package dev.athanor.service.config;

import org.jspecify.annotations.NullMarked;
