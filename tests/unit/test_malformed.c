/* SPDX-License-Identifier: MIT */
/*
 * test_malformed.c - objects that no compiler wrote: each is loaded or refused, and nothing
 * else happens; what is loaded is never run
 *
 * Truncations at every length, every header and table byte flipped, random damage by a fixed
 * seed, and files made wrong on purpose. Sanitizers and libelf's own care decide.
 */
#include "object_fixture.h"

#include <elf.h>
#include <errno.h>

/* One bit, and all: near and far from what was there. */
static const uint8_t flips[] = {0x01, 0xff};

static const struct pp_bpf_opts *quiet_options(void)
{
	static struct pp_bpf_opts opts;

	opts = object_options();
	/* Machine code comes after all that this is about, and would cost most of the time. */
	opts.flags = PP_BPF_NO_JIT;
	return &opts;
}

/* From an exactly sized buffer, so that reading past the end is seen. */
static int try(const uint8_t *bytes, size_t size)
{
	uint8_t *exact = malloc(size ? size : 1);
	struct pp_bpf_object *object;
	int err;

	assert_non_null(exact);
	memcpy(exact, bytes, size);
	err = pp_bpf_open_mem(exact, size, quiet_options(), &object);
	free(exact);
	if (err)
		return err;
	err = pp_bpf_load(object);
	pp_bpf_close(object);
	return err;
}

static Elf64_Ehdr header_of(const struct file *file)
{
	Elf64_Ehdr header;

	memcpy(&header, file->bytes, sizeof(header));
	return header;
}

static size_t section_at(const struct file *file, unsigned int number)
{
	return header_of(file).e_shoff + number * sizeof(Elf64_Shdr);
}

static Elf64_Shdr get_section(const struct file *file, unsigned int number)
{
	Elf64_Shdr section;

	memcpy(&section, file->bytes + section_at(file, number), sizeof(section));
	return section;
}

static void set_section(struct file *file, unsigned int number, const Elf64_Shdr *section)
{
	memcpy(file->bytes + section_at(file, number), section, sizeof(*section));
}

static unsigned int find_section(const struct file *file, const char *name)
{
	const Elf64_Ehdr header = header_of(file);
	const Elf64_Shdr strings = get_section(file, header.e_shstrndx);

	for (unsigned int i = 1; i < header.e_shnum; i++) {
		const char *at = (const char *)file->bytes + strings.sh_offset;

		if (!strcmp(at + get_section(file, i).sh_name, name))
			return i;
	}
	fail_msg("no section %s", name);
	return 0;
}

static void flip_range(const struct file *file, size_t from, size_t size)
{
	for (size_t i = from; i < from + size; i++) {
		const uint8_t kept = file->bytes[i];

		for (size_t j = 0; j < sizeof(flips); j++) {
			file->bytes[i] = kept ^ flips[j];
			(void)try(file->bytes, file->size);
		}
		file->bytes[i] = kept;
	}
}

static void flip_section(const struct file *file, const char *name)
{
	const Elf64_Shdr section = get_section(file, find_section(file, name));

	flip_range(file, section.sh_offset, section.sh_size);
}

static void truncated_files_are_refused(void **state)
{
	struct file file = object_file("whole");

	(void)state;
	for (size_t size = 0; size < file.size; size += size < 4096 ? 1 : 7)
		assert_int_equal(try(file.bytes, size), -ENOEXEC);
	assert_int_equal(try(file.bytes, file.size), 0);
	free(file.bytes);
}

static void flipped_headers_do_no_harm(void **state)
{
	struct file file = object_file("whole");

	(void)state;
	flip_range(&file, 0, sizeof(Elf64_Ehdr));
	flip_range(&file, section_at(&file, 0), header_of(&file).e_shnum * sizeof(Elf64_Shdr));
	free(file.bytes);
}

static void flipped_tables_do_no_harm(void **state)
{
	struct file file = object_file("whole");

	(void)state;
	flip_section(&file, ".symtab");
	flip_section(&file, ".strtab");
	flip_section(&file, ".relxdp");
	flip_section(&file, ".rel.text");
	flip_section(&file, ".rel.data");
	flip_section(&file, ".rel.rodata");
	flip_section(&file, "xdp");
	free(file.bytes);
}

static void flipped_btf_does_no_harm(void **state)
{
	struct file file = object_file("whole");

	(void)state;
	flip_section(&file, ".BTF");
	free(file.bytes);
}

static void flipped_legacy_maps_do_no_harm(void **state)
{
	struct file file = object_file("plain");

	(void)state;
	flip_section(&file, "maps");
	flip_section(&file, ".symtab");
	flip_section(&file, ".reltc");
	free(file.bytes);
}

static uint32_t next_random(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

/* One to eight places of a few bytes each, of any value or of ones that matter. */
static void damage(uint8_t *bytes, size_t size, uint32_t *random)
{
	static const uint8_t special[] = {0, 1, 0x7f, 0x80, 0xff, 0xfe, 8, 0x18, 0x85};
	unsigned int places = 1 + next_random(random) % 8;

	for (unsigned int i = 0; i < places; i++) {
		size_t at = next_random(random) % size;
		unsigned int count = 1 + next_random(random) % 8;

		for (; count && at < size; count--, at++) {
			uint32_t value = next_random(random);

			bytes[at] =
				value & 0x100 ? (uint8_t)value : special[value % sizeof(special)];
		}
	}
}

static void random_damage_does_no_harm(void **state)
{
	static const char *const names[] = {"whole", "plain", "many", "host"};
	uint32_t random = 0x9e3779b9;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct file file = object_file(names[i]);
		uint8_t *copy = malloc(file.size);

		assert_non_null(copy);
		for (int round = 0; round < 2000; round++) {
			memcpy(copy, file.bytes, file.size);
			damage(copy, file.size, &random);
			(void)try(copy, file.size);
		}
		free(copy);
		free(file.bytes);
	}
}

/* Each makes one thing wrong in "whole", or right again in an unusual way. */
typedef void (*spoil_fn)(struct file *file);

static Elf64_Sym *symbol(struct file *file, const char *name, Elf64_Sym *copy)
{
	const Elf64_Shdr table = get_section(file, find_section(file, ".symtab"));
	const Elf64_Shdr strings = get_section(file, table.sh_link);

	for (size_t at = 0; at < table.sh_size; at += sizeof(*copy)) {
		uint8_t *bytes = file->bytes + table.sh_offset + at;

		memcpy(copy, bytes, sizeof(*copy));
		if (!strcmp((char *)file->bytes + strings.sh_offset + copy->st_name, name))
			return (Elf64_Sym *)(void *)bytes;
	}
	fail_msg("no symbol %s", name);
	return NULL;
}

static void resize_symbol(struct file *file, const char *name, uint64_t value, uint64_t size)
{
	Elf64_Sym copy;
	void *at = symbol(file, name, &copy);

	copy.st_value += value;
	copy.st_size += size;
	memcpy(at, &copy, sizeof(copy));
}

static void gap(struct file *file)
{
	resize_symbol(file, "count", 0, (uint64_t)-8);
}

static void overlap(struct file *file)
{
	resize_symbol(file, "count", 0, 8);
}

static void odd_size(struct file *file)
{
	resize_symbol(file, "count", 0, 4);
}

static void late_start(struct file *file)
{
	resize_symbol(file, "count", 8, (uint64_t)-8);
}

static void outside(struct file *file)
{
	resize_symbol(file, "neighbour", 0, 8);
}

static void far_outside(struct file *file)
{
	resize_symbol(file, "neighbour", (uint64_t)-8, 0x100);
}

static void wrapping(struct file *file)
{
	resize_symbol(file, "neighbour", (uint64_t)-1 << 32, 0);
}

static void edit(struct file *file, const char *name, void (*change)(Elf64_Shdr *section))
{
	unsigned int number = find_section(file, name);
	Elf64_Shdr section = get_section(file, number);

	change(&section);
	set_section(file, number, &section);
}

static void make_huge(Elf64_Shdr *section)
{
	section->sh_size = UINT64_MAX - 7;
}

static void make_long(Elf64_Shdr *section)
{
	section->sh_size += 0x100000;
}

static void make_far(Elf64_Shdr *section)
{
	section->sh_offset = UINT64_MAX - 15;
}

static void make_odd(Elf64_Shdr *section)
{
	section->sh_size -= 4;
}

static void make_link(Elf64_Shdr *section)
{
	section->sh_link = 1000;
}

static void make_info(Elf64_Shdr *section)
{
	section->sh_info = 1000;
}

static void make_rela(Elf64_Shdr *section)
{
	section->sh_type = SHT_RELA;
}

static void huge_code(struct file *file)
{
	edit(file, "xdp", make_huge);
}

static void long_code(struct file *file)
{
	edit(file, "xdp", make_long);
}

static void far_code(struct file *file)
{
	edit(file, "xdp", make_far);
}

static void odd_code(struct file *file)
{
	edit(file, "xdp", make_odd);
}

static void huge_bss(struct file *file)
{
	edit(file, ".bss", make_huge);
}

static void huge_symbols(struct file *file)
{
	edit(file, ".symtab", make_huge);
}

static void odd_symbols(struct file *file)
{
	edit(file, ".symtab", make_odd);
}

static void unlinked_symbols(struct file *file)
{
	edit(file, ".symtab", make_link);
}

static void odd_relocations(struct file *file)
{
	edit(file, ".relxdp", make_odd);
}

static void unlinked_relocations(struct file *file)
{
	edit(file, ".relxdp", make_link);
}

static void targetless_relocations(struct file *file)
{
	edit(file, ".relxdp", make_info);
}

static void relocations_with_addends(struct file *file)
{
	edit(file, ".relxdp", make_rela);
}

static void far_btf(struct file *file)
{
	edit(file, ".BTF", make_far);
}

static void wrong_machine(struct file *file)
{
	file->bytes[offsetof(Elf64_Ehdr, e_machine)] = EM_X86_64;
}

static void executable(struct file *file)
{
	file->bytes[offsetof(Elf64_Ehdr, e_type)] = ET_EXEC;
}

static void big_endian(struct file *file)
{
	file->bytes[EI_DATA] = ELFDATA2MSB;
}

static void many_headers(struct file *file)
{
	memset(file->bytes + offsetof(Elf64_Ehdr, e_shnum), 0xfe, 2);
}

/* The count moves into the first header; 2^40 sections there would be. */
static void more_headers(struct file *file)
{
	Elf64_Shdr first = get_section(file, 0);

	first.sh_size = (uint64_t)1 << 40;
	set_section(file, 0, &first);
	memset(file->bytes + offsetof(Elf64_Ehdr, e_shnum), 0, 2);
}

static void no_names(struct file *file)
{
	memset(file->bytes + offsetof(Elf64_Ehdr, e_shstrndx), 0x70, 2);
}

/* Every code section claims the whole file: more code than there are bytes. */
static void overlapping_code(struct file *file)
{
	static const char *const names[] = {"xdp", ".text", "full", "tp/misc"};

	for (size_t i = 0; i < 4; i++) {
		unsigned int number = find_section(file, names[i]);
		Elf64_Shdr section = get_section(file, number);

		section.sh_offset = 0;
		section.sh_size = file->size & ~(size_t)7;
		set_section(file, number, &section);
	}
}

static void set_relocation(struct file *file, const char *table, uint64_t offset, uint64_t info)
{
	const Elf64_Shdr section = get_section(file, find_section(file, table));
	const Elf64_Rel reloc = {offset, info};

	memcpy(file->bytes + section.sh_offset, &reloc, sizeof(reloc));
}

static void relocation_outside(struct file *file)
{
	set_relocation(file, ".relxdp", 0x10000, ELF64_R_INFO(1, 1));
}

static void relocation_between_slots(struct file *file)
{
	set_relocation(file, ".relxdp", 4, ELF64_R_INFO(1, 1));
}

static void relocation_by_no_symbol(struct file *file)
{
	set_relocation(file, ".relxdp", 0, ELF64_R_INFO(100000, 1));
}

static void relocation_of_unknown_type(struct file *file)
{
	set_relocation(file, ".relxdp", 0, ELF64_R_INFO(1, 77));
}

static void relocation_of_no_load(struct file *file)
{
	set_relocation(file, ".relxdp", 0, ELF64_R_INFO(1, 10));
}

static void relocation_of_data_end(struct file *file)
{
	const Elf64_Shdr data = get_section(file, find_section(file, ".data"));

	set_relocation(file, ".rel.data", data.sh_size - 4, ELF64_R_INFO(1, 2));
}

static const struct wrong {
	const char *name;
	spoil_fn spoil;
	const char *word; /* that the reason must have */
} wrongs[] = {
	{"gap", gap, "'xdp'"},
	{"overlap", overlap, "'xdp'"},
	{"odd size", odd_size, "'xdp'"},
	{"late start", late_start, "'count'"},
	{"outside", outside, "'neighbour'"},
	{"far outside", far_outside, "'neighbour'"},
	{"wrapping", wrapping, "'neighbour'"},
	{"huge code", huge_code, "outside the file"},
	{"long code", long_code, "outside the file"},
	{"far code", far_code, "outside the file"},
	{"odd code", odd_code, NULL},
	{"huge bss", huge_bss, "'.bss'"},
	{"huge symbols", huge_symbols, "outside the file"},
	{"odd symbols", odd_symbols, "'.symtab'"},
	{"unlinked symbols", unlinked_symbols, "'.symtab'"},
	{"odd relocations", odd_relocations, "'.relxdp'"},
	{"unlinked relocations", unlinked_relocations, "'.relxdp'"},
	{"targetless relocations", targetless_relocations, "'.relxdp'"},
	{"far BTF", far_btf, "outside the file"},
	{"wrong machine", wrong_machine, "machine 62"},
	{"executable", executable, "type 2"},
	{"big-endian", big_endian, NULL},
	{"many headers", many_headers, NULL},
	{"more headers", more_headers, NULL},
	{"no names", no_names, "names"},
	{"overlapping code", overlapping_code, NULL},
	{"relocation outside", relocation_outside, "'.relxdp' +0x0"},
	{"relocation between slots", relocation_between_slots, "'xdp' +0x4"},
	{"relocation by no symbol", relocation_by_no_symbol, "symbol 100000"},
	{"relocation of unknown type", relocation_of_unknown_type, "relocation 77"},
	{"relocation of no load", relocation_of_no_load, "not at a call"},
	{"relocation of data end", relocation_of_data_end, "'.data'"},
};

static void wrong_files_are_refused_with_a_reason(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(wrongs) / sizeof(wrongs[0]); i++) {
		struct file file = object_file("whole");
		int err;

		wrongs[i].spoil(&file);
		err = try(file.bytes, file.size);
		if (err != -ENOEXEC || !last_reason[0] ||
		    (wrongs[i].word && !strstr(last_reason, wrongs[i].word)))
			fail_msg("%s: error %d: '%s'", wrongs[i].name, err, last_reason);
		free(file.bytes);
	}
}

static void relocations_with_addends_are_not_supported(void **state)
{
	struct file file = object_file("whole");

	(void)state;
	relocations_with_addends(&file);
	assert_int_equal(try(file.bytes, file.size), -ENOTSUP);
	free(file.bytes);
}

/* Counts that do not fit the header's 16 bits are in the first section header: legal. */
static void extended_numbering_is_understood(void **state)
{
	struct file file = object_file("whole");
	const Elf64_Ehdr header = header_of(&file);
	Elf64_Shdr first = get_section(&file, 0);
	static const uint16_t none = 0, extended = SHN_XINDEX;

	(void)state;
	first.sh_size = header.e_shnum;
	first.sh_link = header.e_shstrndx;
	set_section(&file, 0, &first);
	memcpy(file.bytes + offsetof(Elf64_Ehdr, e_shnum), &none, sizeof(none));
	memcpy(file.bytes + offsetof(Elf64_Ehdr, e_shstrndx), &extended, sizeof(extended));
	assert_int_equal(try(file.bytes, file.size), 0);
	free(file.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(truncated_files_are_refused),
		cmocka_unit_test(flipped_headers_do_no_harm),
		cmocka_unit_test(flipped_tables_do_no_harm),
		cmocka_unit_test(flipped_btf_does_no_harm),
		cmocka_unit_test(flipped_legacy_maps_do_no_harm),
		cmocka_unit_test(random_damage_does_no_harm),
		cmocka_unit_test(wrong_files_are_refused_with_a_reason),
		cmocka_unit_test(relocations_with_addends_are_not_supported),
		cmocka_unit_test(extended_numbering_is_understood),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
