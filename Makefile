# moeplan: plan, check and probe MoE training on GPU clusters.
CC ?= gcc
OBJ ?= build/release
CFLAGS ?= -O2 -g
CFLAGS_ALL = -std=c11 -D_POSIX_C_SOURCE=200809L -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes \
	-Wmissing-prototypes -Wpointer-arith -Wwrite-strings -Wvla -Wformat=2 -Wundef -I. -Isrc $(CFLAGS)
LDLIBS = -lglpk -lyaml -lcjson -lm

LIB_SRC = $(wildcard src/base/*.c src/model/*.c planner/*.c)
CMD_SRC = $(wildcard src/cmd/*.c)
LIB_OBJ = $(LIB_SRC:%.c=$(OBJ)/%.o)
CMD_OBJ = $(CMD_SRC:%.c=$(OBJ)/%.o)

all: moeplan

moeplan: $(CMD_OBJ) $(OBJ)/libmoeplan.a
	$(CC) $(CFLAGS_ALL) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(OBJ)/libmoeplan.a: $(LIB_OBJ)
	rm -f $@
	$(AR) rcs $@ $^

$(OBJ)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) -MMD -MP -c -o $@ $<

-include $(LIB_OBJ:.o=.d) $(CMD_OBJ:.o=.d)

clean:
	rm -rf build moeplan

.PHONY: all clean
