import type { Plan } from '@orrery/contract';
import type { Question } from '../ui/confirm-dialog.js';

type Asked = Omit<Question, 'run'>;

/**
 * What the operator is asked before a plan is deployed that moves running instances, loses flow state or interrupts chains
 * that it was not asked to change; `null`: it does none of these.
 */
export function deployQuestion(
  plan: Pick<Plan, 'diff' | 'migrations' | 'problems' | 'steps'> & {
    readonly request: Pick<Plan['request'], 'chains' | 'remove'>;
  },
  titleOf: (chainId: string) => string,
): Asked | null {
  const losses = lossesText(plan);
  const moves = movesText(plan, losses !== null);
  const named = new Set([...plan.request.chains.map(({ chain_id }) => chain_id), ...plan.request.remove]);
  const others = [...new Set(plan.steps.flatMap(({ interrupts }) => interrupts))].filter((id) => !named.has(id));
  const interrupts = others.length === 0 ? null : `Packets of ${listed(others.map(titleOf))} may be lost or delayed.`;
  const texts = [moves, losses, interrupts].filter((text) => text !== null);
  if (texts.length === 0) return null;
  return { ...headingOf(moves !== null, losses !== null), message: texts.join(' ') };
}

function headingOf(moves: boolean, loses: boolean): Pick<Asked, 'title' | 'confirm'> {
  if (moves) return { title: 'Move what runs?', confirm: 'Move and deploy' };
  if (loses) return { title: 'Lose flow state?', confirm: 'Deploy without it' };
  return { title: 'Interrupt other chains?', confirm: 'Interrupt and deploy' };
}

function lossesText({ problems }: Pick<Plan, 'problems'>): string | null {
  const losses = problems.flatMap(({ code, message }) => (code === 'flow-state-lost' ? [message] : []));
  return losses.length === 0 ? null : `Flow state does not follow its flows: ${listed(losses)}.`;
}

function movesText({ diff, migrations }: Pick<Plan, 'diff' | 'migrations'>, losesState: boolean): string | null {
  const count = diff.moved.length;
  if (count === 0) return null;
  const withState = migrations.filter(({ to }) => diff.moved.includes(to)).length;
  const what = count === 1 ? 'One running instance moves' : `${count} running instances move`;
  const state =
    withState === 0
      ? `${losesState ? 'None of their flow state goes with them' : 'No flow state is lost: there is none'}.`
      : 'Both run until traffic has gone over, and flow state is copied; packets may be lost or delayed meanwhile.';
  return `${what} to another core or server: ${listed(diff.moved)}. ${state}`;
}

function listed(names: readonly string[]): string {
  return names.slice(0, 3).join(', ') + (names.length > 3 ? ` and ${names.length - 3} more` : '');
}
