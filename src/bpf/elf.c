/* SPDX-License-Identifier: MIT */
/*
 * elf.c - the object file reader
 *
 * libelf finds the section headers (extended numbering included); contents, symbols and
 * relocations are then read from our copy of the bytes, after checks against its size, so
 * that no hostile count or offset reaches past it. Files are little-endian, as every host
 * that has a JIT is; tables are copied out entry by entry, for they may be unaligned.
 */
#include "bpf/elf.h"

#include <errno.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static int check_header(Elf *handle, const struct log *log)
{
	const Elf64_Ehdr *header = elf_kind(handle) == ELF_K_ELF ? elf64_getehdr(handle) : NULL;

	if (!header)
		return log_error(log, -ENOEXEC, "not a 64-bit ELF file");
	if (header->e_ident[EI_DATA] != ELFDATA2LSB)
		return log_error(log, -ENOEXEC, "a big-endian ELF file");
	if (header->e_machine != EM_BPF)
		return log_error(log, -ENOEXEC, "ELF machine %u, not eBPF (%u)", header->e_machine,
				 EM_BPF);
	if (header->e_type != ET_REL)
		return log_error(log, -ENOEXEC, "ELF type %u, not a relocatable object",
				 header->e_type);
	if (header->e_shoff && header->e_shentsize != sizeof(Elf64_Shdr))
		return log_error(log, -ENOEXEC, "section headers of %u bytes", header->e_shentsize);
	return 0;
}

static int take_section(struct elf *elf, Elf *handle, uint32_t i, const struct log *log)
{
	struct elf_section *section = &elf->sections[i];
	GElf_Shdr header; /* a copy: headers may be unaligned */

	if (!gelf_getshdr(elf_getscn(handle, i), &header))
		return log_error(log, -ENOEXEC, "section %u: no header", i);
	*section = (struct elf_section){
		.name = "",
		.size = header.sh_size,
		.flags = header.sh_flags,
		.align = header.sh_addralign,
		.entry_size = header.sh_entsize,
		.type = header.sh_type,
		.link = header.sh_link,
		.info = header.sh_info,
	};
	if (header.sh_type == SHT_NULL || header.sh_type == SHT_NOBITS)
		return 0;
	if (header.sh_offset > elf->size || header.sh_size > elf->size - header.sh_offset)
		return log_error(log, -ENOEXEC,
				 "section %u: bytes 0x%" PRIx64 " +0x%" PRIx64
				 " lie outside the file of 0x%zx",
				 i, header.sh_offset, header.sh_size, elf->size);
	section->data = elf->bytes + header.sh_offset;
	return 0;
}

static bool is_strings(const struct elf *elf, size_t section)
{
	const struct elf_section *strings;

	if (section >= elf->nsections)
		return false;
	strings = &elf->sections[section];
	return strings->type == SHT_STRTAB && strings->size && !strings->data[strings->size - 1];
}

/* A string of a table that is_strings() passed, or NULL. */
static const char *string_at(const struct elf *elf, size_t section, uint32_t at)
{
	const struct elf_section *strings = &elf->sections[section];

	return at < strings->size ? (const char *)strings->data + at : NULL;
}

static int name_sections(struct elf *elf, Elf *handle, const struct log *log)
{
	size_t strings;

	if (elf_getshdrstrndx(handle, &strings) || !is_strings(elf, strings))
		return log_error(log, -ENOEXEC, "no valid table of section names");
	for (uint32_t i = 1; i < elf->nsections; i++) {
		GElf_Shdr header;

		if (!gelf_getshdr(elf_getscn(handle, i), &header))
			return log_error(log, -ENOEXEC, "section %u: no header", i);
		elf->sections[i].name = string_at(elf, strings, header.sh_name);
		if (!elf->sections[i].name)
			return log_error(log, -ENOEXEC, "section %u: name at 0x%x of %" PRIu64, i,
					 header.sh_name, elf->sections[strings].size);
	}
	return 0;
}

static int take_sections(struct elf *elf, Elf *handle, const struct log *log)
{
	size_t count;
	int err;

	if (elf_getshdrnum(handle, &count) || !count)
		return log_error(log, -ENOEXEC, "no section headers");
	if (count > elf->size / sizeof(Elf64_Shdr))
		return log_error(log, -ENOEXEC, "%zu section headers in a file of %zu bytes", count,
				 elf->size);
	elf->sections = calloc(count, sizeof(*elf->sections));
	if (!elf->sections)
		return -ENOMEM;
	elf->nsections = (uint32_t)count;
	for (uint32_t i = 0; i < elf->nsections; i++) {
		err = take_section(elf, handle, i, log);
		if (err)
			return err;
	}
	return name_sections(elf, handle, log);
}

static uint32_t find_type(const struct elf *elf, uint32_t type, uint32_t link)
{
	for (uint32_t i = 1; i < elf->nsections; i++) {
		if (elf->sections[i].type == type && (!link || elf->sections[i].link == link))
			return i;
	}
	return 0;
}

/* Section numbers that do not fit a symbol's 16 bits are in a table of their own. */
static uint32_t extended_section(const struct elf *elf, uint32_t table, uint32_t symbol)
{
	const struct elf_section *section = &elf->sections[table];
	uint32_t number;

	if (!table || symbol >= section->size / sizeof(number))
		return ELF_NOWHERE;
	memcpy(&number, section->data + (size_t)symbol * sizeof(number), sizeof(number));
	return number;
}

static bool symbol_fits(const struct elf *elf, const struct elf_symbol *symbol)
{
	uint64_t size;

	if (symbol->section == SHN_UNDEF || symbol->section >= ELF_COMMON)
		return true;
	if (symbol->section >= elf->nsections)
		return false;
	size = elf->sections[symbol->section].size;
	return symbol->value <= size && symbol->size <= size - symbol->value;
}

static int take_symbol(struct elf *elf, uint32_t i, uint32_t extended, const struct log *log)
{
	const struct elf_section *table = &elf->sections[elf->symtab];
	struct elf_symbol *symbol = &elf->symbols[i];
	Elf64_Sym raw;

	memcpy(&raw, table->data + i * sizeof(raw), sizeof(raw));
	*symbol = (struct elf_symbol){
		.name = string_at(elf, table->link, raw.st_name),
		.value = raw.st_value,
		.size = raw.st_size,
		.section = raw.st_shndx,
		.bind = ELF64_ST_BIND(raw.st_info),
		.type = ELF64_ST_TYPE(raw.st_info),
	};
	if (raw.st_shndx == SHN_XINDEX)
		symbol->section = extended_section(elf, extended, i);
	else if (raw.st_shndx >= SHN_LORESERVE)
		symbol->section = raw.st_shndx == SHN_COMMON ? ELF_COMMON : ELF_NOWHERE;
	if (symbol->name && symbol_fits(elf, symbol))
		return 0;
	return log_error(log, -ENOEXEC,
			 "section '%s' +0x%zx: symbol %u ('%s') lies outside its table or section",
			 table->name, i * sizeof(raw), i, symbol->name ? symbol->name : "?");
}

static int take_symbols(struct elf *elf, const struct log *log)
{
	const struct elf_section *table;
	uint32_t extended;
	uint64_t count;
	int err;

	elf->symtab = find_type(elf, SHT_SYMTAB, 0);
	if (!elf->symtab)
		return 0;
	table = &elf->sections[elf->symtab];
	count = table->size / sizeof(Elf64_Sym);
	if (table->size % sizeof(Elf64_Sym) || count > UINT32_MAX || !is_strings(elf, table->link))
		return log_error(log, -ENOEXEC, "section '%s': malformed symbol table",
				 table->name);
	elf->symbols = calloc(count ? count : 1, sizeof(*elf->symbols));
	if (!elf->symbols)
		return -ENOMEM;
	elf->nsymbols = (uint32_t)count;
	extended = find_type(elf, SHT_SYMTAB_SHNDX, elf->symtab);
	for (uint32_t i = 0; i < elf->nsymbols; i++) {
		err = take_symbol(elf, i, extended, log);
		if (err)
			return err;
	}
	return 0;
}

static int take_tables(struct elf *elf, const struct log *log)
{
	Elf *handle = elf_memory((char *)elf->bytes, elf->size);
	int err;

	if (!handle)
		return log_error(log, -ENOEXEC, "not an ELF file: %s", elf_errmsg(-1));
	err = check_header(handle, log);
	if (!err)
		err = take_sections(elf, handle, log);
	if (!err)
		err = take_symbols(elf, log);
	elf_end(handle);
	return err;
}

int elf_init(struct elf *elf, const void *bytes, size_t size, const struct log *log)
{
	int err;

	*elf = (struct elf){.size = size};
	if (size < sizeof(Elf64_Ehdr))
		return log_error(log, -ENOEXEC, "not an ELF file: %zu bytes", size);
	if (elf_version(EV_CURRENT) == EV_NONE)
		return log_error(log, -ENOTSUP, "libelf: %s", elf_errmsg(-1));
	elf->bytes = malloc(size);
	if (!elf->bytes)
		return -ENOMEM;
	memcpy(elf->bytes, bytes, size);
	err = take_tables(elf, log);
	if (err)
		elf_fini(elf);
	return err;
}

void elf_fini(struct elf *elf)
{
	free(elf->symbols);
	free(elf->sections);
	free(elf->bytes);
	*elf = (struct elf){0};
}

uint32_t elf_find(const struct elf *elf, const char *name)
{
	for (uint32_t i = 1; i < elf->nsections; i++) {
		if (!strcmp(elf->sections[i].name, name))
			return i;
	}
	return 0;
}

struct elf_reloc elf_reloc_at(const struct elf *elf, uint32_t section, uint64_t i)
{
	Elf64_Rel raw;

	memcpy(&raw, elf->sections[section].data + i * sizeof(raw), sizeof(raw));
	return (struct elf_reloc){
		.offset = raw.r_offset,
		.type = (uint32_t)ELF64_R_TYPE(raw.r_info),
		.symbol = (uint32_t)ELF64_R_SYM(raw.r_info),
	};
}

int64_t elf_relocs(const struct elf *elf, uint32_t section, const struct log *log)
{
	const struct elf_section *table = &elf->sections[section];
	uint64_t count = table->size / sizeof(Elf64_Rel);

	if (table->size % sizeof(Elf64_Rel) || table->link != elf->symtab || !elf->symtab ||
	    table->info >= elf->nsections)
		return log_error(log, -ENOEXEC, "section '%s': malformed relocation table",
				 table->name);
	for (uint64_t i = 0; i < count; i++) {
		struct elf_reloc reloc = elf_reloc_at(elf, section, i);

		if (reloc.symbol >= elf->nsymbols ||
		    reloc.offset >= elf->sections[table->info].size)
			return log_error(log, -ENOEXEC,
					 "section '%s' +0x%" PRIx64 ": relocation of +0x%" PRIx64
					 " by symbol %u: out of range",
					 table->name, i * sizeof(Elf64_Rel), reloc.offset,
					 reloc.symbol);
	}
	return (int64_t)count;
}
