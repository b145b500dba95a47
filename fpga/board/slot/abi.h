/* SPDX-License-Identifier: Apache-2.0 */
/** The interface of a slot module's shared object: the slot boundary of fpga/README.md, cycle by cycle. */
#ifndef ORRERY_BOARD_SLOT_ABI_H
#define ORRERY_BOARD_SLOT_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { NF_SLOT_ABI = 1 };

/* Levels that the shell drives; a flag is 0 or 1. */
struct nf_slot_in {
  uint64_t s_tdata;
  uint32_t csr_wdata;
  uint16_t csr_addr;
  uint8_t rst;
  uint8_t tick_us;
  uint8_t s_tkeep;
  uint8_t s_tvalid;
  uint8_t s_tlast;
  uint8_t s_tuser;
  uint8_t m_tready;
  uint8_t csr_write;
  uint8_t csr_read;
};

/* Levels that the module drives. */
struct nf_slot_out {
  uint64_t m_tdata;
  uint32_t csr_rdata;
  uint16_t m_tuser;
  uint8_t s_tready;
  uint8_t m_tkeep;
  uint8_t m_tvalid;
  uint8_t m_tlast;
  uint8_t csr_ack;
  uint8_t busy;
};

/** One cycle is settle(), with the inputs of this cycle, then edge(). Outputs are those before the rising edge. */
struct nf_slot_vt {
  uint32_t abi;   /* NF_SLOT_ABI */
  uint32_t timed; /* 1: the module counts tick_us */
  const char* name;
  uint8_t uuid[16]; /* of the module's sources */
  void* (*create)(void);
  void (*destroy)(void*);
  void (*settle)(void*, const struct nf_slot_in*, struct nf_slot_out*);
  void (*edge)(void*);
  /** Timed modules only: the number of ticks that would only count microseconds, and a function to skip that many. */
  uint32_t (*idle_ticks)(void*);
  void (*skip_ticks)(void*, uint32_t);
};

/* The only symbol that a module exports. */
const struct nf_slot_vt* nf_slot_get(void);

#ifdef __cplusplus
}
#endif

#endif
