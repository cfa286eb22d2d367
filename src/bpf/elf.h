/* SPDX-License-Identifier: MIT */
/*
 * elf.h - an eBPF object file as tables: sections, symbols, relocations
 *
 * Everything that is handed out lies inside the file: contents within the bytes, names
 * terminated, symbols within their sections. A file that is otherwise is refused.
 */
#ifndef BPF_ELF_H
#define BPF_ELF_H

#include <stddef.h>
#include <stdint.h>

#include "base/log.h"

/* The section of a symbol that has none, and is not undefined: absolute and such, common. */
#define ELF_NOWHERE UINT32_MAX
#define ELF_COMMON (UINT32_MAX - 1)

/* @data: @size bytes, or NULL where the file has none (SHT_NOBITS, SHT_NULL) */
struct elf_section {
	const char *name;
	const uint8_t *data;
	uint64_t size, flags, align, entry_size;
	uint32_t type, link, info;
};

/* @section: its number, 0 for an undefined symbol, or ELF_*; @bind, @type: STB_, STT_ */
struct elf_symbol {
	const char *name;
	uint64_t value, size;
	uint32_t section;
	uint8_t bind, type;
};

struct elf_reloc {
	uint64_t offset;
	uint32_t type, symbol;
};

struct elf {
	uint8_t *bytes; /* our copy of the file */
	size_t size;
	struct elf_section *sections;
	struct elf_symbol *symbols;
	uint32_t nsections, nsymbols;
	uint32_t symtab; /* its section, or 0 */
};

/*
 * elf_init - read an object file
 * @bytes: copied
 *
 * Return: 0, -ENOEXEC (not eBPF, or malformed; log: section and offset), -ENOMEM.
 */
int elf_init(struct elf *elf, const void *bytes, size_t size, const struct log *log);
void elf_fini(struct elf *elf);

/* elf_find - number of the first section called @name, or 0 */
uint32_t elf_find(const struct elf *elf, const char *name);

/*
 * elf_relocs - check a section of type SHT_REL: its table, and each entry's offset and symbol
 * Return: the number of entries, or -ENOEXEC.
 */
int64_t elf_relocs(const struct elf *elf, uint32_t section, const struct log *log);

/* elf_reloc_at - entry @i of a section that elf_relocs() passed */
struct elf_reloc elf_reloc_at(const struct elf *elf, uint32_t section, uint64_t i);

#endif
