/** Authentication and authorization, shared by all protocols. */
@NullMarked
package dev.athanor.service.security;

import org.jspecify.annotations.NullMarked;
