/** PTX text: lexer, parser, declarations and constant expressions. */
@NullMarked
package dev.athanor.engine.ptx.text;

import org.jspecify.annotations.NullMarked;
