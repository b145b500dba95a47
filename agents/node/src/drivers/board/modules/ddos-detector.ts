import { z } from 'zod';
import { word } from '../fields.js';
import { BOARD_MODULES } from '../registers.js';
import { addressText } from './addresses.js';
import { readConfig } from './config.js';
import type { ModuleAdapter, ModuleSession, SlotAccess } from './module-adapter.js';
import { stateRows } from './state-rows.js';

const { registers, events } = BOARD_MODULES.nf_ddos_detector;
const { OPTIONS, WINDOW_MS, MINIMUM, DEVIATIONS, WINDOWS, COUNTERS, SUM, THRESHOLD, FLAGGED } = registers;
const COUNTER_PLACES = 1024;

const DdosConfig = z.strictObject({
  window_ms: z.int().min(1).max(60_000).default(1000),
  deviations: z.number().min(0.25).max(16).multipleOf(0.25).default(3),
  minimum: z.int().min(1).max(65_535).default(32),
  drop: z.boolean().default(false),
});

const Word32 = z.int().min(0).max(0xffffffff);
/** In the format of the software NF: [dst, count, 1 when a destination is flagged, flagged dst]. */
const DdosState = z.strictObject({
  window_age_ms: z.number().min(0).optional(),
  counters: z.array(z.tuple([Word32, z.int().min(0).max(65_535), z.int().min(0).max(1), Word32])).max(COUNTER_PLACES),
});

class DdosSession implements ModuleSession {
  constructor(private readonly slot: SlotAccess) {}

  event(words: readonly number[]): void {
    const [type, address, syns, mean] = words as [number, number, number, number];
    const flagged = type === events.flagged.type;
    if (!flagged && type !== events.cleared.type) return;
    const dst = addressText(address);
    const { instance_id } = this.slot;
    this.slot.alert((emit, suppressed) => {
      const data = { dst, syns, mean, suppressed };
      if (flagged) emit('ddos.flagged', instance_id, `SYN flood towards ${dst}`, data);
      else emit('ddos.cleared', instance_id, `SYN flood towards ${dst} is over`, data);
    });
  }

  async state(limit: number): Promise<Record<string, unknown>> {
    const read = [WINDOWS, COUNTERS, SUM, THRESHOLD, FLAGGED].map(({ address }) => address);
    const [windows, active_counters, sum, threshold, flagged] = await this.slot.readRegisters(read);
    const { counters } = await this.exportState();
    const top = [...counters].sort((a, b) => b[1] - a[1]).slice(0, limit);
    const rows = top.map(([dst, syns, is, who]) => ({ dst: addressText(dst), syns, flagged: is === 1 && who === dst }));
    return { windows, active_counters, sum, threshold, flagged, counters: rows };
  }

  async exportState(): Promise<z.infer<typeof DdosState>> {
    const entries = await this.slot.exportTable(COUNTER_PLACES);
    const counters = entries.map(([dst, count, options, flagged]): [number, number, number, number] => [
      dst!,
      count!,
      options! & 1,
      flagged!,
    ]);
    return { counters: counters.filter(([, count, flagged]) => count > 0 || flagged === 1) };
  }

  /** Adds to what was counted here; the current window continues. */
  async importState(state: Record<string, unknown>): Promise<void> {
    const { counters } = stateRows(DdosState, state);
    await this.slot.importTable(counters.map(([dst, count, is, who]) => [dst, count, is, who, 0, 0, 0, 0]));
  }
}

export const ddosDetector: ModuleAdapter = {
  nf: 'ddos-detector',
  attribute: { name: 'verdict', values: ['normal', 'attack'] },
  configure(config) {
    const { window_ms, deviations, minimum, drop } = readConfig(DdosConfig, config);
    return [
      [OPTIONS.address, word(OPTIONS, { DROP: Number(drop) })],
      [WINDOW_MS.address, word(WINDOW_MS, { MS: window_ms })],
      [MINIMUM.address, word(MINIMUM, { COUNT: minimum })],
      [DEVIATIONS.address, word(DEVIATIONS, { QUARTERS: deviations * 4 })],
    ];
  },
  begin: async (slot) => new DdosSession(slot),
};
