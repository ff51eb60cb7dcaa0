/* The nodes of a state graph, and lists of next steps: arrays of a `Space` (_space.pyx) that compiled walks share. */
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    int64_t first : 40, by : 24;
    int32_t parent, menu;
} WingspanNode;

typedef struct {
    int32_t task, act : 29, target : 3;
} WingspanMove;

typedef struct {
    uint32_t begin : 31;  /* the first of its moves; its end is the beginning of the next one */
    uint32_t plain : 1;   /* whether a node that has it need not be examined */
} WingspanMenu;

/* Lists of moves, each kept once. Behind the last one there may be one that is not complete. */
typedef struct {
    WingspanMove *move;
    WingspanMenu *menu;
    int32_t *slots;  /* menus by hash; -1 if there is none */
    int32_t count;
    uint32_t room, room_moves, size;  /* of menus, of moves, of slots */
} WingspanMenus;

static inline uint32_t wingspan_menu_slot(const WingspanMenus *menus, const WingspanMove *moves, uint32_t count) {
    uint64_t hash = count, word;
    for (uint32_t k = 0; k < count; k++) {
        memcpy(&word, moves + k, sizeof word);
        hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 32;
    }
    uint32_t slot = (uint32_t)hash & (menus->size - 1);
    for (; menus->slots[slot] >= 0; slot = (slot + 1) & (menus->size - 1)) {
        const WingspanMenu *menu = menus->menu + menus->slots[slot];
        if ((uint32_t)(menu[1].begin - menu[0].begin) == count &&
            !memcmp(menus->move + menu[0].begin, moves, count * sizeof *moves))
            break;
    }
    return slot;
}

/* The number of the menu with these moves; -1 if there is none. */
static inline int32_t wingspan_find_menu(const WingspanMenus *menus, const WingspanMove *moves, uint32_t count) {
    return menus->slots[wingspan_menu_slot(menus, moves, count)];
}

/* Complete the list behind the last menu: its number, or that of a menu with the same moves; -1 without memory. */
static inline int32_t wingspan_complete_menu(WingspanMenus *menus) {
    int32_t number = menus->count;
    if (4 * ((uint32_t)number + 1) > 3 * menus->size) {
        int32_t *slots = (int32_t *)malloc(2 * (size_t)menus->size * sizeof *slots);
        if (!slots) return -1;
        free(menus->slots);
        menus->slots = slots, menus->size *= 2;
        memset(slots, -1, menus->size * sizeof *slots);
        for (int32_t m = 0; m < number; m++) {
            const WingspanMenu *menu = menus->menu + m;
            slots[wingspan_menu_slot(menus, menus->move + menu[0].begin, menu[1].begin - menu[0].begin)] = m;
        }
    }
    if ((uint32_t)number + 2 >= menus->room) {
        WingspanMenu *more = (WingspanMenu *)realloc(menus->menu, 2 * (size_t)menus->room * sizeof *more);
        if (!more) return -1;
        menus->menu = more, menus->room *= 2;
    }
    WingspanMenu *menu = menus->menu + number;
    uint32_t slot = wingspan_menu_slot(menus, menus->move + menu[0].begin, menu[1].begin - menu[0].begin);
    if (menus->slots[slot] >= 0) {
        menu[1].begin = menu[0].begin;
        return menus->slots[slot];
    }
    menus->slots[slot] = number;
    menu[0].plain = 0;
    menu[2].begin = menu[1].begin;
    menus->count++;
    return number;
}
