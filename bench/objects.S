/* SPDX-License-Identifier: MIT */
/*
 * The stress programs' ELF objects as data: an array of struct stress_object (stress.h): name,
 * bytes, their count, and whether the benchmark calls it or only loads it. And bench map's object,
 * from map_elf to map_elf_end.
 */
	.section .note.GNU-stack, "", %progbits

	.macro object name, called
	.section .rodata
	.balign 8
.Lelf_\name:
	.incbin "\name\().bpf.elf"
.Lend_\name:
	.section .rodata.str1.1, "aMS", %progbits, 1
.Lname_\name:
	.asciz "\name"
	.section .data.rel.ro, "aw", %progbits
	.quad .Lname_\name, .Lelf_\name, .Lend_\name - .Lelf_\name, \called
	.endm

	.section .data.rel.ro, "aw", %progbits
	.balign 8
	.globl stress_objects
	.hidden stress_objects
stress_objects:
	object count, 1
	object proto, 1
	object ports, 0
	object cpu, 1
	object hist, 1
	object acl, 0
	object flow, 1
	object dns, 0

	.section .rodata
	.balign 8
	.globl map_elf, map_elf_end
	.hidden map_elf, map_elf_end
map_elf:
	.incbin "map.bpf.elf"
map_elf_end:
