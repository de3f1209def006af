/** Resident tensors over REST: uploads, downloads, descriptions and names. */
@NullMarked
package dev.athanor.service.rest.tensors;

import org.jspecify.annotations.NullMarked;
