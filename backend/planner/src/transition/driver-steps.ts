import { type DriverChange, type Infrastructure, type PlanStep, SWITCH_DRIVER_TITLES } from '@orrery/contract';
import { chainsOver, type Running } from '../lower/switch/chains-over.js';

/** Phases before any packet is steered anew: by then the switches still run what they ran. */
const BEFORE: readonly PlanStep['kind'][] = ['prepare-node', 'extend-fabric'];

/**
 * The steps with one for each switch that gets another driver, just before packets are steered: the rules that a switch holds from
 * then on are lowered to the abilities of its new driver, and what they lead to is there.
 */
export function withDriverSteps(
  steps: readonly PlanStep[],
  drivers: readonly DriverChange[],
  base: Running | null,
  infrastructure: Infrastructure,
): PlanStep[] {
  const changes = drivers.map(
    ({ switch: id, from, to }): Omit<PlanStep, 'ordinal'> => ({
      kind: 'change-driver',
      subject: id,
      summary: `${id} changes from ${SWITCH_DRIVER_TITLES[from]} to ${SWITCH_DRIVER_TITLES[to]}: it carries nothing until its rules are written anew`,
      interrupts: base ? chainsOver(infrastructure, id, base) : [],
    }),
  );
  const before = steps.filter(({ kind }) => BEFORE.includes(kind));
  return [...before, ...changes, ...steps.slice(before.length)].map((step, ordinal) => ({ ...step, ordinal }));
}
