import type { Plan } from '@orrery/contract';
import type { Question } from '../ui/confirm-dialog.js';

type Asked = Omit<Question, 'run'>;

/**
 * What the operator is asked before a plan is deployed that moves running instances or interrupts chains that it was not
 * asked to change; `null`: it does neither.
 */
export function deployQuestion(
  plan: Pick<Plan, 'diff' | 'migrations' | 'steps'> & { readonly request: Pick<Plan['request'], 'chains' | 'remove'> },
  titleOf: (chainId: string) => string,
): Asked | null {
  const moves = movesText(plan);
  const named = new Set([...plan.request.chains.map(({ chain_id }) => chain_id), ...plan.request.remove]);
  const others = [...new Set(plan.steps.flatMap(({ interrupts }) => interrupts))].filter((id) => !named.has(id));
  const interrupts = others.length === 0 ? null : `Packets of ${listed(others.map(titleOf))} may be lost or delayed.`;
  if (moves === null && interrupts === null) return null;
  return {
    title: moves === null ? 'Interrupt other chains?' : 'Move what runs?',
    message: [moves, interrupts].filter((text) => text !== null).join(' '),
    confirm: moves === null ? 'Interrupt and deploy' : 'Move and deploy',
  };
}

function movesText({ diff, migrations }: Pick<Plan, 'diff' | 'migrations'>): string | null {
  const count = diff.moved.length;
  if (count === 0) return null;
  const withState = migrations.filter(({ to }) => diff.moved.includes(to)).length;
  const what = count === 1 ? 'One running instance moves' : `${count} running instances move`;
  const state =
    withState === 0
      ? 'No flow state is lost: there is none.'
      : 'Both run until traffic has gone over, and flow state is copied; packets may be lost or delayed meanwhile.';
  return `${what} to another core or server: ${listed(diff.moved)}. ${state}`;
}

function listed(names: readonly string[]): string {
  return names.slice(0, 3).join(', ') + (names.length > 3 ? ` and ${names.length - 3} more` : '');
}
