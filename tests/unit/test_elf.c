/* SPDX-License-Identifier: MIT */
/*
 * test_elf.c - objects that clang does not write: more sections than 16 bits count, sections
 * without symbols, and no symbols at all
 *
 * Files are put together here: contents first, then the section headers.
 */
#include "object_fixture.h"

#include <elf.h>
#include <errno.h>

#define CONTENTS 4096 /* bytes after the header for all contents */
#define MANY 0xff20   /* sections: more than SHN_LORESERVE */

enum { STRINGS = 1, SYMBOLS, EXTENDED, FIRST_FREE };

/* r0 = 42; exit */
static const uint8_t code[] = {0xb7, 0, 0, 0, 42, 0, 0, 0, 0x95, 0, 0, 0, 0, 0, 0, 0};

static const char strings[] = "\0far\0prog\0.text\0a\033[2J\nb";
enum { NAME_FAR = 1, NAME_PROG = 5, NAME_TEXT = 10, NAME_WILD = 16 };

struct builder {
	struct file file;
	size_t used;
	uint32_t nsections;
};

static struct builder new_file(uint32_t nsections)
{
	struct builder builder = {.used = sizeof(Elf64_Ehdr), .nsections = nsections};
	Elf64_Ehdr header = {
		.e_type = ET_REL,
		.e_machine = EM_BPF,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(header),
		.e_shoff = CONTENTS,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = nsections < SHN_LORESERVE ? (uint16_t)nsections : 0,
		.e_shstrndx = STRINGS,
	};

	memcpy(header.e_ident, ELFMAG, SELFMAG);
	header.e_ident[EI_CLASS] = ELFCLASS64;
	header.e_ident[EI_DATA] = ELFDATA2LSB;
	header.e_ident[EI_VERSION] = EV_CURRENT;
	builder.file.size = CONTENTS + nsections * sizeof(Elf64_Shdr);
	builder.file.bytes = calloc(1, builder.file.size);
	assert_non_null(builder.file.bytes);
	memcpy(builder.file.bytes, &header, sizeof(header));
	return builder;
}

static void put_section(struct builder *builder, uint32_t number, Elf64_Shdr section,
			const void *contents)
{
	section.sh_offset = builder->used;
	if (contents)
		memcpy(builder->file.bytes + builder->used, contents, section.sh_size);
	memcpy(builder->file.bytes + CONTENTS + number * sizeof(section), &section,
	       sizeof(section));
	builder->used += (section.sh_size + 7) & ~(size_t)7;
	assert_true(builder->used <= CONTENTS);
}

static void put_strings(struct builder *builder)
{
	put_section(builder, STRINGS,
		    (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_size = sizeof(strings)}, strings);
}

static void put_code(struct builder *builder, uint32_t number, uint32_t name)
{
	put_section(builder, number,
		    (Elf64_Shdr){.sh_name = name,
				 .sh_type = SHT_PROGBITS,
				 .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
				 .sh_size = sizeof(code)},
		    code);
}

/* One function, "prog", in section @number. */
static void put_symbols(struct builder *builder, uint32_t number)
{
	const Elf64_Sym symbols[2] = {
		[1] = {.st_name = NAME_PROG,
		       .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
		       .st_shndx = number < SHN_LORESERVE ? (uint16_t)number : SHN_XINDEX,
		       .st_size = sizeof(code)},
	};
	const uint32_t extended[2] = {0, number};

	put_section(builder, SYMBOLS,
		    (Elf64_Shdr){.sh_type = SHT_SYMTAB,
				 .sh_link = STRINGS,
				 .sh_size = sizeof(symbols),
				 .sh_entsize = sizeof(symbols[0])},
		    symbols);
	put_section(builder, EXTENDED,
		    (Elf64_Shdr){.sh_type = SHT_SYMTAB_SHNDX,
				 .sh_link = SYMBOLS,
				 .sh_size = sizeof(extended)},
		    extended);
}

/* Open, load and run: the only program must be @name in @section, and give 42. */
static void check(struct builder *builder, const char *name, const char *section)
{
	const struct pp_bpf_opts opts = object_options();
	struct pp_bpf_object *object;
	int err = pp_bpf_open_mem(builder->file.bytes, builder->file.size, &opts, &object);

	free(builder->file.bytes);
	if (err)
		fail_msg("error %d: %s", err, last_reason);
	object_load(object);
	assert_string_equal(pp_bpf_prog_name(pp_bpf_prog_next(object, NULL)), name);
	assert_string_equal(pp_bpf_prog_section(pp_bpf_prog_next(object, NULL)), section);
	assert_null(pp_bpf_prog_next(object, pp_bpf_prog_next(object, NULL)));
	assert_int_equal(object_run(object, name, NULL, 0), 42);
	pp_bpf_close(object);
}

static void more_than_65280_sections(void **state)
{
	const Elf64_Shdr count = {.sh_size = MANY}; /* where the header has no room for it */
	struct builder builder = new_file(MANY);

	(void)state;
	memcpy(builder.file.bytes + CONTENTS, &count, sizeof(count));
	put_strings(&builder);
	put_symbols(&builder, MANY - 1);
	for (uint32_t i = FIRST_FREE; i < MANY - 1; i++)
		put_section(&builder, i, (Elf64_Shdr){.sh_type = SHT_PROGBITS}, NULL);
	put_code(&builder, MANY - 1, NAME_FAR);
	check(&builder, "prog", "far");
}

static void code_without_symbols_is_a_function(void **state)
{
	struct builder builder = new_file(SYMBOLS + 1);

	(void)state;
	put_strings(&builder);
	put_code(&builder, SYMBOLS, NAME_FAR);
	check(&builder, "far", "far");
	builder = new_file(SYMBOLS + 1);
	put_strings(&builder);
	put_code(&builder, SYMBOLS, NAME_TEXT);
	check(&builder, ".text", ".text");
}

static void text_beside_a_program_is_no_program(void **state)
{
	struct builder builder = new_file(FIRST_FREE + 2);

	(void)state;
	put_strings(&builder);
	put_symbols(&builder, FIRST_FREE + 1);
	put_code(&builder, FIRST_FREE, NAME_TEXT);
	put_code(&builder, FIRST_FREE + 1, NAME_FAR);
	check(&builder, "prog", "far");
}

static void files_without_code_are_refused(void **state)
{
	const struct pp_bpf_opts opts = object_options();
	struct builder builder = new_file(SYMBOLS);
	struct pp_bpf_object *object;

	(void)state;
	put_strings(&builder);
	assert_int_equal(pp_bpf_open_mem(builder.file.bytes, builder.file.size, &opts, &object),
			 -ENOEXEC);
	assert_non_null(strstr(last_reason, "no code"));
	free(builder.file.bytes);
}

/* A file with "far" of two instructions and "prog" of @size bytes from @value on: the reason. */
static const char *refuse_functions(uint64_t value, uint64_t size)
{
	const struct pp_bpf_opts opts = object_options();
	const unsigned char info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
	const Elf64_Sym symbols[3] = {
		[1] = {.st_name = NAME_PROG,
		       .st_info = info,
		       .st_shndx = FIRST_FREE,
		       .st_value = value,
		       .st_size = size},
		[2] = {.st_name = NAME_FAR, .st_info = info, .st_shndx = FIRST_FREE, .st_size = 16},
	};
	const uint8_t twice[2][sizeof(code)] = {{0x95}};
	struct builder builder = new_file(FIRST_FREE + 1);
	struct pp_bpf_object *object;

	put_strings(&builder);
	put_section(&builder, SYMBOLS,
		    (Elf64_Shdr){.sh_type = SHT_SYMTAB,
				 .sh_link = STRINGS,
				 .sh_size = sizeof(symbols),
				 .sh_entsize = sizeof(symbols[0])},
		    symbols);
	put_section(&builder, FIRST_FREE,
		    (Elf64_Shdr){.sh_name = NAME_TEXT,
				 .sh_type = SHT_PROGBITS,
				 .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
				 .sh_size = sizeof(twice)},
		    twice);
	assert_int_equal(pp_bpf_open_mem(builder.file.bytes, builder.file.size, &opts, &object),
			 -ENOEXEC);
	free(builder.file.bytes);
	return last_reason;
}

static void functions_that_do_not_tile_are_refused(void **state)
{
	(void)state;
	assert_non_null(strstr(refuse_functions(8, 24), "'prog' of 0x18 bytes overlaps"));
	assert_non_null(strstr(refuse_functions(8, 8), "'prog' of 0x8 bytes overlaps"));
	assert_non_null(strstr(refuse_functions(0, 8), "overlaps the one before"));
	assert_non_null(strstr(refuse_functions(0, 32), "overlaps the one before"));
	assert_non_null(strstr(refuse_functions(24, 8), "code without a function before it"));
	assert_non_null(strstr(refuse_functions(16, 12), "not made of whole instructions"));
	assert_non_null(strstr(refuse_functions(16, 0), "not made of whole instructions"));
	assert_non_null(strstr(refuse_functions(16, 8), "+0x18: code without a function"));
	assert_non_null(strstr(refuse_functions(0, 16), "+0x10: code without a function"));
}

/* Names come from files and paths as they are; whoever logs to a terminal must not obey them. */
static void reasons_are_one_line_without_control_characters(void **state)
{
	struct pp_bpf_opts opts = object_options();
	struct builder builder = new_file(SYMBOLS + 1);
	struct pp_bpf_object *object;

	(void)state;
	put_strings(&builder);
	put_section(&builder, SYMBOLS,
		    (Elf64_Shdr){.sh_name = NAME_WILD,
				 .sh_type = SHT_PROGBITS,
				 .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
				 .sh_size = 8},
		    "\xff\0\0\0\0\0\0\0");
	opts.name = "x\ty\177";
	assert_int_equal(pp_bpf_open_mem(builder.file.bytes, builder.file.size, &opts, &object), 0);
	assert_int_equal(pp_bpf_load(object), -EINVAL);
	assert_string_equal(last_reason, "x?y?: section 'a?[2J?b' +0x0, insn 0 (opcode 0xff): "
					 "no such opcode");
	pp_bpf_close(object);
	assert_int_equal(pp_bpf_open_file("/nowhere/\n", &opts, &object), -ENOENT);
	assert_null(strchr(last_reason, '\n'));
	free(builder.file.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(more_than_65280_sections),
		cmocka_unit_test(code_without_symbols_is_a_function),
		cmocka_unit_test(text_beside_a_program_is_no_program),
		cmocka_unit_test(files_without_code_are_refused),
		cmocka_unit_test(functions_that_do_not_tile_are_refused),
		cmocka_unit_test(reasons_are_one_line_without_control_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
