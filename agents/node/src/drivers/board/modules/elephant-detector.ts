import { z } from 'zod';
import { BOARD_MODULES } from '../registers.js';
import { addressText } from './addresses.js';
import { readConfig } from './config.js';
import {
  AgeMs,
  idleSeconds,
  keyOf,
  keyWords,
  MOST_IDLE_S,
  readRows,
  TABLE_FLOWS,
  TableFlows,
  Word16,
  Word32,
  youngestFirst,
} from './flows.js';
import type { ModuleAdapter, ModuleSession, SlotAccess } from './module-adapter.js';

const { registers, events } = BOARD_MODULES.nf_elephant_detector;
const { THRESHOLD_BYTES, WINDOW_MS, IDLE_TIMEOUT_S, ELEPHANTS } = registers;
const MOST_32 = 0xffffffff;

const ElephantConfig = z.strictObject({
  threshold_bytes: z.int().min(1).max(MOST_32).default(1_048_576),
  window_ms: z.int().min(1).max(60_000).default(1000),
  idle_timeout_s: z.int().min(1).max(MOST_IDLE_S, `a board keeps a flow for at most ${MOST_IDLE_S} s`).default(60),
  max_flows: TableFlows,
});

/** [src, dst, src port, dst port, proto, bytes in its window, 1 for an elephant, ms since its window began, idle ms] */
const Row = z.tuple([
  Word32,
  Word32,
  Word16,
  Word16,
  z.int().min(0).max(255),
  z.number().min(0),
  z.int().min(0).max(1),
  AgeMs,
  AgeMs,
]);

class ElephantSession implements ModuleSession {
  constructor(private readonly slot: SlotAccess) {}

  event([type, ...words]: readonly number[]): void {
    if (type !== events.elephant.type) return;
    const flow = flowText(keyOf(words));
    const data = { ...flow, window_bytes: words[4]!, window_ms: words[5]! };
    const message = `Elephant flow from ${flow.src} to ${flow.dst}: ${data.window_bytes} bytes in ${data.window_ms} ms`;
    this.slot.alert((emit, suppressed) =>
      emit('elephant.found', this.slot.instance_id, message, { ...data, suppressed }),
    );
  }

  async state(limit: number): Promise<Record<string, unknown>> {
    const [elephants_found] = await this.slot.readRegisters([ELEPHANTS.address]);
    const { flows } = await this.exportState();
    const elephants = flows.filter((row) => row[6] === 1).length;
    const top = [...flows].sort((a, b) => b[6] - a[6] || b[5] - a[5]).slice(0, limit);
    const rows = top.map((row) => ({
      ...flowText(row),
      size: row[6] === 1 ? 'elephant' : 'mouse',
      window_bytes: row[5],
      last_seen_ms: Date.now() - row[8],
    }));
    return { flow_count: flows.length, max_flows: TABLE_FLOWS, elephants, elephants_found, flows: rows };
  }

  async exportState(): Promise<{ flows: z.infer<typeof Row>[] }> {
    const entries = await this.slot.exportTable(TABLE_FLOWS);
    const flows = entries.map((entry): z.infer<typeof Row> => {
      const [bytes, window_ms, elephant, idle_s] = entry.slice(4) as [number, number, number, number];
      return [...keyOf(entry), bytes, elephant & 1, window_ms, idle_s * 1000];
    });
    return { flows: youngestFirst(flows) };
  }

  async importState(state: Record<string, unknown>): Promise<void> {
    const entries = youngestFirst(readRows(Row, state)).map((row) => {
      const [bytes, elephant, window_ms, idle_ms] = row.slice(5) as [number, number, number, number];
      return [
        ...keyWords(row),
        Math.min(bytes, MOST_32),
        Math.min(Math.round(window_ms), MOST_32),
        elephant,
        idleSeconds(idle_ms),
      ];
    });
    await this.slot.importTable(entries);
  }
}

function flowText([src, dst, src_port, dst_port, proto]: readonly number[]) {
  return { src: addressText(src!), dst: addressText(dst!), proto: proto!, src_port: src_port!, dst_port: dst_port! };
}

export const elephantDetector: ModuleAdapter = {
  nf: 'elephant-detector',
  attribute: { name: 'size', values: ['mouse', 'elephant'] },
  configure(config) {
    const { threshold_bytes, window_ms, idle_timeout_s } = readConfig(ElephantConfig, config);
    return [
      [THRESHOLD_BYTES.address, threshold_bytes],
      [WINDOW_MS.address, window_ms],
      [IDLE_TIMEOUT_S.address, idle_timeout_s],
    ];
  },
  begin: async (slot) => new ElephantSession(slot),
};
