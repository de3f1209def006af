/** Who calls, and what they may do: the same for every protocol. */
@NullMarked
package dev.athanor.service.security;

import org.jspecify.annotations.NullMarked;
