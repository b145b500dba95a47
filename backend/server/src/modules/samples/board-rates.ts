import { type BoardSample, type NodeSamples, type SampleMetric, sampleKey } from '@orrery/contract';

type Slot = BoardSample['slots'][number];

/** Turns the counters of a node's boards into samples of boards and slots. */
export class BoardRates {
  private readonly before = new Map<string, { readonly clock_ms: number; readonly slots: ReadonlyMap<number, Slot> }>();

  /**
   * A board has no rates on its first sample, and none while it gives none; the next rates are over that time too, so
   * that what was lost in it is seen.
   */
  take({ clock_ms, boards }: Pick<NodeSamples, 'clock_ms' | 'boards'>): [key: string, value: number][] {
    const out: [string, number][] = [];
    for (const { board, slowdown, cpu_share, slots } of boards) {
      if (slowdown !== null) out.push([sampleKey('board', board, 'slowdown'), slowdown]);
      if (cpu_share !== null) out.push([sampleKey('board', board, 'cpu'), cpu_share]);
      const past = this.before.get(board);
      const seconds = past ? (clock_ms - past.clock_ms) / 1000 : 0;
      for (const now of slots) {
        const was = past?.slots.get(now.slot);
        if (!was || seconds <= 0 || now.frames_in < was.frames_in) continue;
        const put = (metric: SampleMetric<'slot'>, growth: number) =>
          out.push([sampleKey('slot', { board, slot: now.slot }, metric), growth / seconds]);
        put('pps', now.frames_in - was.frames_in);
        put('bps', 8 * (now.bytes_in - was.bytes_in));
        put('lost_pps', Math.max(0, now.lost - was.lost));
        put('no_hop_pps', Math.max(0, now.no_hop - was.no_hop));
      }
    }
    for (const { board, slots } of boards)
      this.before.set(board, { clock_ms, slots: new Map(slots.map((slot) => [slot.slot, slot])) });
    return out;
  }
}
