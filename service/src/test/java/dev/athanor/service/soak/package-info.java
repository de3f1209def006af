/** Tests of a service in a separate process under overload. */
@NullMarked
package dev.athanor.service.soak;

import org.jspecify.annotations.NullMarked;
