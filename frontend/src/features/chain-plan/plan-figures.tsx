import { nfInstances, type Plan } from '@orrery/contract';
import { quantityText } from '../../shared/format/quantity.js';
import { useEmulatedBoards } from '../../shared/plan/emulated-boards.js';
import { chainsOnBoards, coresText, gapText, objectivesMet } from '../../shared/plan/plan-text.js';
import classes from './plan.module.css';
import type { Proven } from './quality.js';

export function PlanFigures({ plan, proven }: { readonly plan: Plan; readonly proven: readonly Proven[] }) {
  const { cost } = plan;
  const placement = proven.find(({ answer }) => answer.part === 'placement')?.answer;
  const bound = Math.max(cost.lower_bound_bps, placement?.unit === 'bps' ? placement.bound : 0);
  const gap = placement?.gap ?? (cost.cross_traffic_bps > 0 ? 1 - bound / cost.cross_traffic_bps : 0);
  const slowest = plan.classes.reduce<Plan['classes'][number] | null>(
    (most, each) => (most && most.p99_us >= each.p99_us ? most : each),
    null,
  );
  const { met, all } = objectivesMet(plan);
  const asReal = chainsOnBoards(plan, useEmulatedBoards());
  const onRealBoards = plan.slos.some(({ met, chain_id }) => met && asReal.has(chain_id));
  const slowestPath = slowest?.nodes.join(' → ') ?? 'no traffic class';
  const servers = new Set(nfInstances(plan.graph).map(({ server }) => server)).size;
  return (
    <dl className={classes.cost} aria-label="Figures of the plan">
      <div>
        <dt>Between servers</dt>
        <dd>{quantityText('bps', cost.cross_traffic_bps)}</dd>
        <dd className="muted">
          bound {quantityText('bps', bound)}
          {gap > 0 ? `, gap ≤ ${gapText(gap)}` : ', reached'}
        </dd>
      </div>
      <div>
        <dt>Cores</dt>
        <dd>{coresText(cost.cores_used)}</dd>
        <dd className="muted">of {cost.cores_available}</dd>
      </div>
      <div>
        <dt>Instances</dt>
        <dd>{nfInstances(plan.graph).length}</dd>
        <dd className="muted">on {servers === 1 ? 'one server' : `${servers} servers`}</dd>
      </div>
      <div>
        <dt>Worst p99, predicted</dt>
        <dd>{slowest ? quantityText('us', slowest.p99_us) : '–'}</dd>
        <dd className="muted" title={slowestPath}>
          {slowest && asReal.has(slowest.chain_id) ? `on a real board: ${slowestPath}` : slowestPath}
        </dd>
      </div>
      <div data-bad={met < all || undefined}>
        <dt>Objectives met, predicted</dt>
        <dd>{all === 0 ? '–' : `${met} of ${all}`}</dd>
        <dd
          className="muted"
          title={
            onRealBoards ? 'The boards are emulated: they are slower than the real ones that are predicted' : undefined
          }
        >
          {all === 0 ? 'none is set' : met === all ? 'every one' : `${all - met} will be missed`}
          {onRealBoards && ', on real boards'}
        </dd>
      </div>
    </dl>
  );
}
