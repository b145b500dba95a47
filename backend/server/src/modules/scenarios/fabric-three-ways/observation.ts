import type { CaptureStatus } from '@orrery/contract';

export interface Count {
  readonly packets: number;
  readonly bytes: number;
}

/** What one driver did with the capture. */
export interface Observation {
  readonly driver: string;
  readonly sent: number;
  /** What tells frames apart in a capture: protocol, ports and length. */
  readonly arrived: readonly string[];
  /** Of rules of the switches, by rule and switch. */
  readonly rules: ReadonlyMap<string, Count>;
  /** Into and out of NFs. */
  readonly nfs: ReadonlyMap<string, Count>;
}

export const signatureOf = ({ protocol, src_port, dst_port, length }: CaptureStatus['packets'][number]): string =>
  `${protocol} ${src_port} > ${dst_port}, ${length} bytes`;

/** How many frames arrived with one and not with the other. */
export function framesApart(one: Observation, other: Observation): number {
  const left = new Map<string, number>();
  for (const each of one.arrived) left.set(each, (left.get(each) ?? 0) + 1);
  for (const each of other.arrived) left.set(each, (left.get(each) ?? 0) - 1);
  return [...left.values()].reduce((sum, count) => sum + Math.abs(count), 0);
}

/** Rules and NFs that did not count the same; one that only one of them has did not. */
export function countersApart(one: Observation, other: Observation): string[] {
  return (['rules', 'nfs'] as const).flatMap((kind) => {
    const names = new Set([...one[kind].keys(), ...other[kind].keys()]);
    return [...names].filter((name) => textOf(one[kind].get(name)) !== textOf(other[kind].get(name)));
  });
}

const textOf = (count: Count | undefined) => (count ? `${count.packets} ${count.bytes}` : '');

/** What was counted since. A counter that began anew counts from there. */
export function since(now: ReadonlyMap<string, Count>, before: ReadonlyMap<string, Count>): Map<string, Count> {
  return new Map(
    [...now].map(([name, { packets, bytes }]) => {
      const was = before.get(name);
      const goesOn = was !== undefined && was.packets <= packets && was.bytes <= bytes;
      return [name, goesOn ? { packets: packets - was.packets, bytes: bytes - was.bytes } : { packets, bytes }];
    }),
  );
}

export function total(counts: ReadonlyMap<string, Count>): Count {
  return [...counts.values()].reduce(
    (sum, { packets, bytes }) => ({ packets: sum.packets + packets, bytes: sum.bytes + bytes }),
    { packets: 0, bytes: 0 },
  );
}
