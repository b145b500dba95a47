import type { PlannedChain } from '@orrery/contract';
import type { PlanInput } from '@orrery/planner';
import type { KeptValues, Shared, SharedValues } from '../../platform/worker-thread/shared-values.js';

/** What is planned, without how the work is limited. */
export type Planned = Omit<PlanInput, 'budget' | 'memo'>;

/** What most plans have in common. */
const COMMON = ['descriptors', 'infrastructure', 'calibration', 'base', 'abilities', 'switches'] as const;
type Common = (typeof COMMON)[number];

/** An input on its way to the thread, without what it has already. */
export interface SentInput {
  readonly rest: Omit<Planned, Common | 'chains'>;
  readonly common: readonly (readonly [field: Common, value: Shared<object>])[];
  /** A number: the chain at this place in the base plan. */
  readonly chains: readonly (number | PlannedChain)[];
}

export function sentInput({ chains, ...input }: Planned, shared: SharedValues): SentInput {
  const places = new Map(input.base?.chains.map((chain, place) => [chain, place]));
  const {
    descriptors: _1,
    infrastructure: _2,
    calibration: _3,
    base: _4,
    abilities: _5,
    switches: _6,
    ...rest
  } = input;
  return {
    rest,
    common: COMMON.flatMap((field) => {
      const value = input[field];
      if (!value) return [];
      // A plan never changes, and is large: it goes by its id.
      const name = field === 'base' ? input.base?.id : undefined;
      return [[field, shared.share(field, value, name)] as const];
    }),
    chains: chains.map((chain) => places.get(chain) ?? chain),
  };
}

/** What is the same as in an earlier job is the very object that it was there. Throws `NotKept`. */
export function receivedInput({ rest, common, chains }: SentInput, kept: KeptValues): Planned {
  const values = Object.fromEntries(common.map(([field, value]) => [field, kept.take(field, value)]));
  const input = { base: null, ...rest, ...values } as Omit<Planned, 'chains'>;
  return {
    ...input,
    chains: chains.map((chain) => (typeof chain === 'number' ? input.base!.chains[chain]! : chain)),
  };
}
