import type { SwitchRuleState } from '@orrery/contract';

const KINDS: Readonly<Record<NonNullable<SwitchRuleState['kind']>, string>> = {
  classify: 'classification',
  hop: 'hop',
  mirror: 'mirror',
  return: 'return traffic',
  guard: 'fail closed',
  fragment: 'dropped fragments',
};

/** What a rule is for. */
export const kindText = ({ kind }: Pick<SwitchRuleState, 'kind'>): string =>
  kind === null ? 'forwarding' : KINDS[kind];
