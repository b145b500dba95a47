import { Port } from '@orrery/contract';
import { z } from 'zod';
import { allOf, at, word } from '../fields.js';
import { BOARD_MODULES, COMMON_REGISTERS } from '../registers.js';
import { addressText } from './addresses.js';
import { readConfig } from './config.js';
import type { ModuleAdapter, ModuleSession, SlotAccess } from './module-adapter.js';

const { registers, events } = BOARD_MODULES.nf_sqli_detector;

const SqliConfig = z.strictObject({
  ports: z.array(Port.min(1)).min(1).max(registers.PORT.count).default([80]),
  drop: z.boolean().default(false),
  inspect: z.literal('packets', 'a board searches single packets only').default('packets'),
  max_streams: z.unknown().optional(),
});

class SqliSession implements ModuleSession {
  constructor(private readonly slot: SlotAccess) {}

  event(words: readonly number[]): void {
    const [type, source, destination, ports, patterns, payload_bytes] = words as number[];
    if (type !== events.attack.type) return;
    const data = {
      src: addressText(source!),
      dst: addressText(destination!),
      src_port: ports! >>> 16,
      dst_port: ports! & 0xffff,
      patterns: numbersOf(patterns!),
      payload_bytes: payload_bytes!,
    };
    const message = `SQL injection from ${data.src} to ${data.dst}:${data.dst_port}`;
    this.slot.alert((emit, suppressed) => emit('sqli.alert', this.slot.instance_id, message, { ...data, suppressed }));
  }

  async state(limit: number): Promise<Record<string, unknown>> {
    const [passed, alert_count, ...hits] = await this.slot.readRegisters([
      COMMON_REGISTERS.FRAMES_OUT.address,
      registers.ATTACKS.address,
      ...allOf(registers.PATTERN_PACKETS),
    ]);
    const patterns = hits.map((packets, pattern) => ({ pattern, packets })).filter(({ packets }) => packets > 0);
    return { passed, alert_count, patterns: patterns.slice(0, limit) };
  }
}

/** Indices of the bits that are set, lowest first. */
const numbersOf = (mask: number) => Array.from({ length: 32 }, (_, bit) => bit).filter((bit) => (mask >>> bit) & 1);

export const sqliDetector: ModuleAdapter = {
  nf: 'sqli-detector',
  attribute: { name: 'verdict', values: ['clean', 'attack'] },
  configure(config) {
    const { ports, drop } = readConfig(SqliConfig, config);
    return [
      [registers.OPTIONS.address, word(registers.OPTIONS, { DROP: Number(drop) })],
      ...allOf(registers.PORT).map((_, i) => [at(registers.PORT, i), ports[i] ?? 0] as const),
    ];
  },
  begin: async (slot) => new SqliSession(slot),
};
