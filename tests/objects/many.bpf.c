/* SPDX-License-Identifier: MIT */
/* many - 40 sections with one program each; all call one function and count in one variable */
typedef unsigned int u32;
typedef unsigned long long u64;

u64 calls;

static __attribute__((noinline)) u64 next(u64 x)
{
	return calls += x;
}

#define PROG(n)                                                                                    \
	__attribute__((section("sec" #n))) u64 prog##n(void *data, u64 len)                        \
	{                                                                                          \
		return next(n) * 100 + n;                                                          \
	}
#define TEN(n)                                                                                     \
	PROG(n##0)                                                                                 \
	PROG(n##1)                                                                                 \
	PROG(n##2) PROG(n##3) PROG(n##4) PROG(n##5) PROG(n##6) PROG(n##7) PROG(n##8) PROG(n##9)

/* 10 .. 49: no number is octal */
TEN(1)
TEN(2)
TEN(3)
TEN(4)
