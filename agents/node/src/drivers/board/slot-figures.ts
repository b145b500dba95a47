import { type BoardSample, type InstanceSample, SLOT_DROPS } from '@orrery/contract';

export type SlotSample = BoardSample['slots'][number];
type CountOf = Exclude<keyof SlotSample, 'slot'>;

/** Figures of one instance in a slot at a switch, which no engine sees, from the counters of its slot. */
export class SlotFigures {
  /** What the slot had counted before; null: not read yet. */
  private origin: SlotSample | null = null;

  of(instance_id: string, now: SlotSample, queue_depth: number): InstanceSample {
    const origin = this.origin ?? now;
    this.origin = origin;
    const since = (name: CountOf) => Math.max(0, now[name] - origin[name]);
    const [lost, noHop] = [since('lost'), since('no_hop')];
    return {
      instance_id,
      packets_in: since('frames_in') + since('bypassed') + lost,
      packets_out: Math.max(0, since('frames_out') + since('bypassed') - noHop),
      bytes_in: since('bytes_in'),
      bytes_out: since('bytes_out'),
      drops: {
        ...(lost > 0 && { [SLOT_DROPS.dropped]: lost }),
        ...(noHop > 0 && { [SLOT_DROPS.noHop]: noHop }),
      },
      cpu_share: 0,
      latency_ns: [],
      queue_depth,
    };
  }
}
