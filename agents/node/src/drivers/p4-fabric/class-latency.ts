import { createHash } from 'node:crypto';
import type { SwitchSpec } from '@orrery/contract';
import type { Entity } from '../p4runtime/messages.js';
import type { P4Info } from '../p4runtime/p4-info.js';
import type { LatencyCounts, LatencyStep } from '../switch-driver.js';
import type { FabricEntry } from './fabric-entries.js';

/** `STAMPED_CLASSES` and `LATENCY_STEPS` of the program. */
const MOST_CLASSES = 64;
const LATENCY_STEPS = 32;
/** Where the second step begins is half an octave above. */
const FIRST_US = 16;
const LAST_US = (1n << 48n) - 1n;

/** Where a step begins. */
function stepUs(step: number): number {
  return step === 0 ? 0 : Math.round(FIRST_US * 2 ** (step / 2));
}

/** The geometric middle. The first step is told by its end, the last one by its beginning. */
function aboutUs(step: number): number {
  const [from, to] = [stepUs(step), stepUs(step + 1)];
  if (step === 0) return to;
  return step + 1 === LATENCY_STEPS ? from : Math.round(Math.sqrt(from * to));
}

/**
 * Numbers of the classes whose packets are stamped, by rule: the first of them where there are too many. A class keeps the number
 * that it had `before`, since its packets are counted there.
 */
export function stampedClasses(
  { entries }: SwitchSpec,
  before: ReadonlyMap<string, number> = new Map(),
): ReadonlyMap<string, number> {
  const all = [...new Set(entries.flatMap((entry) => (isOfClass(entry) ? [entry.rule_id!] : [])))].sort();
  const rules = all.slice(0, MOST_CLASSES);
  const numbers = new Map(rules.flatMap((rule) => (before.has(rule) ? [[rule, before.get(rule)!]] : [])));
  const taken = new Set(numbers.values());
  for (const rule of rules) {
    if (numbers.has(rule)) continue;
    let number = digestOf(rule) % MOST_CLASSES;
    while (taken.has(number)) number = (number + 1) % MOST_CLASSES;
    taken.add(number);
    numbers.set(rule, number);
  }
  return numbers;
}

/** What makes `fabric.p4` stamp the packets of classes. `steered`: what it has for the specification. */
export function stampEntries(
  { entries }: SwitchSpec,
  steered: readonly FabricEntry[],
  classes: ReadonlyMap<string, number>,
): FabricEntry[] {
  const stamps = steered.flatMap(({ table, index, priority, key }): FabricEntry[] => {
    const entry = index === null ? undefined : entries[index];
    const number = entry && isOfClass(entry) ? classes.get(entry.rule_id!) : undefined;
    if (table !== 'steer' || number === undefined) return [];
    return [{ table: 'stamps', priority, key, action: 'stamp', params: { number: BigInt(number) }, index: null }];
  });
  return stamps.length === 0 ? [] : [...stamps, ...steps()];
}

/** Of each class how many stamped packets took how long, by step. */
export function latencyQueries(classes: ReadonlyMap<string, number>, info: P4Info): Entity[] {
  const counterId = info.counters.get('latencies')?.id;
  if (counterId === undefined) throw new Error('the program has no counters latencies');
  return [...classes.values()].flatMap((number) =>
    Array.from({ length: LATENCY_STEPS }, (_, step): Entity => {
      return { counterEntry: { counterId, index: { index: String(number * LATENCY_STEPS + step) } } };
    }),
  );
}

/** By rule, of the answers to these queries. */
export function latenciesOf(
  entities: readonly Entity[],
  classes: ReadonlyMap<string, number>,
): ReadonlyMap<string, LatencyCounts> {
  const cells = new Map(
    entities.flatMap(({ counterEntry }) =>
      counterEntry
        ? [[Number(counterEntry.index?.index ?? 0), Number(counterEntry.data?.packetCount ?? 0)] as const]
        : [],
    ),
  );
  const ofClass = (number: number) =>
    Array.from({ length: LATENCY_STEPS }, (_, step): LatencyStep => {
      return { about_us: aboutUs(step), packets: cells.get(number * LATENCY_STEPS + step) ?? 0 };
    });
  return new Map([...classes].map(([rule, place]) => [rule, { place, steps: ofClass(place) }]));
}

function steps(): FabricEntry[] {
  return Array.from({ length: LATENCY_STEPS }, (_, step): FabricEntry => {
    const hi = step + 1 === LATENCY_STEPS ? LAST_US : BigInt(stepUs(step + 1) - 1);
    const us = { lo: BigInt(stepUs(step)), hi };
    return { table: 'steps', priority: 1, key: { us }, action: 'step', params: { number: BigInt(step) }, index: null };
  });
}

/** Whether it leads packets of a class into their chain. */
function isOfClass({ table, rule_id, actions }: SwitchSpec['entries'][number]): boolean {
  return (
    table === 'steer' &&
    rule_id !== null &&
    !actions.some(({ do: what }) => what === 'drop' || what === 'decrement-ttl')
  );
}

const digestOf = (rule: string) => createHash('sha256').update(rule).digest().readUInt32BE();
