/* SPDX-License-Identifier: MIT */
/* asm_match.h - between the files of the tests' assembler: one statement, matched */
#ifndef CASES_ASM_MATCH_H
#define CASES_ASM_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A name in the program text. */
struct span {
	const char *at;
	size_t len;
};

/* A statement being matched; a failed match leaves nothing of it behind. */
struct stmt {
	const char *at; /* what is left of the text */
	unsigned int have;
	uint8_t code, dst, src;
	int32_t off;
	int64_t imm;
	struct span label; /* target to be resolved into off or, if wide, imm */
	bool wide;
	const char *problem; /* a value that does not fit: an error if the rest matches */
};

/* stmt_match - match a whole statement, without blanks at its ends; then see st->problem */
bool stmt_match(struct stmt *st, const char *text);

/* For what is not an instruction: advance st->at over blanks, a name, a number. */
void stmt_blanks(struct stmt *st);
bool stmt_name(struct stmt *st, struct span *name);
bool stmt_number(struct stmt *st, int64_t min, int64_t max, int64_t *value);

#endif
