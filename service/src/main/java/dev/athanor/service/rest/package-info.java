/** The REST interface: a thin layer over run and tensor that knows no kernels. */
@NullMarked
package dev.athanor.service.rest;

import org.jspecify.annotations.NullMarked;
