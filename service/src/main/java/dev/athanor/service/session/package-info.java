/** Sessions: the state of models between calls, and the generation of tokens. */
@NullMarked
package dev.athanor.service.session;

import org.jspecify.annotations.NullMarked;
