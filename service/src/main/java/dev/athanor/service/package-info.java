/** The application. */
@NullMarked
package dev.athanor.service;

import org.jspecify.annotations.NullMarked;
