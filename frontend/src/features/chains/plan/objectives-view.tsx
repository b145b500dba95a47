import type { ClassForecast, Plan } from '@orrery/contract';
import { useChainTitle } from '../../../shared/api/chains.js';
import { quantityText } from '../../../shared/format/quantity.js';
import { edgesOfClass } from '../../../shared/plan/plan-text.js';
import { Predictions } from '../../../shared/plan/predictions.js';
import { Panel } from '../../../shared/ui/page-header.js';
import { EmptyState } from '../../../shared/ui/states.js';
import { ownFirst } from './own-first.js';
import classes from './plan.module.css';

interface ObjectivesProps {
  readonly plan: Plan;
  readonly pipelineId: string;
}

/** What each objective is expected to be, by which model, and what each traffic class is expected to see. */
export function Objectives({ plan, pipelineId }: ObjectivesProps) {
  return (
    <div className={classes.groups}>
      <Panel title="Objectives, predicted" flush>
        <Predictions slos={ownFirst(plan.slos, pipelineId)} />
      </Panel>
      <Panel title="Traffic classes, predicted" flush>
        <TrafficClasses plan={plan} pipelineId={pipelineId} />
      </Panel>
    </div>
  );
}

function TrafficClasses({ plan, pipelineId }: ObjectivesProps) {
  const titleOf = useChainTitle();
  if (plan.classes.length === 0) return <EmptyState title="No traffic class to predict" />;
  return (
    <table className="table" aria-label="Traffic classes">
      <thead>
        <tr>
          <th>Path</th>
          <th className="number">Rate</th>
          <th className="number">Mean</th>
          <th className="number">p99</th>
          <th className="number" title="No placement on this hardware is faster: no queue, no hop">
            Least possible
          </th>
          <th className="number">Carries at most</th>
          <th>First full</th>
          <th>Way of a flow</th>
        </tr>
      </thead>
      <tbody>
        {ownFirst(plan.classes, pipelineId).map((each) => (
          <tr key={each.id}>
            <td className={classes.words}>
              <PathChips nodes={each.nodes} />
              <div className="muted">
                {titleOf(each.pipeline_id)} <code>{edgesOfClass(each.id)}</code>
              </div>
            </td>
            <td className="number">{quantityText('bps', each.rate_bps)}</td>
            <td className="number">{quantityText('us', each.mean_us)}</td>
            <td className="number">{quantityText('us', each.p99_us)}</td>
            <td className="number">{quantityText('us', each.least_us)}</td>
            <td className="number">{quantityText('bps', each.throughput_bps)}</td>
            <td>{each.bottleneck}</td>
            <td className={classes.words}>
              <Way forecast={each} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** NFs in the order in which packets pass them. */
export function PathChips({ nodes }: { readonly nodes: readonly string[] }) {
  if (nodes.length === 0) return <span className="muted">no NF</span>;
  return (
    <ol className={classes.path}>
      {nodes.map((node) => (
        <li key={node}>{node}</li>
      ))}
    </ol>
  );
}

function Way({ forecast: { way } }: { readonly forecast: ClassForecast }) {
  if (!way) return <span className="muted">none found</span>;
  const reached = way.latency_us <= way.bound_us * 1.000001;
  return (
    <>
      <span className={classes.wayLine}>
        {quantityText('us', way.latency_us)}
        <span className="muted">{reached ? 'the shortest' : `bound ${quantityText('us', way.bound_us)}`}</span>
      </span>
      <code className={classes.wayInstances}>{way.instances.join(' → ')}</code>
    </>
  );
}
