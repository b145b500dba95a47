import type { Plan } from '@orrery/contract';
import { useChainTitle } from '../api/chains.js';
import { quantityText } from '../format/quantity.js';
import { EmptyState } from '../ui/states.js';
import { StatusBadge } from '../ui/status-badge.js';
import classes from './plan-parts.module.css';

/** What each objective is expected to be, by which model. */
export function Predictions({ slos }: { readonly slos: Plan['slos'] }) {
  const titleOf = useChainTitle();
  if (slos.length === 0)
    return <EmptyState title="No objectives to predict">Add one in the chain’s settings.</EmptyState>;
  return (
    <table className="table" aria-label="Predicted objectives">
      <thead>
        <tr>
          <th>Chain</th>
          <th>Objective</th>
          <th>Prediction</th>
          <th className="number">Target</th>
          <th className="number">Predicted</th>
          <th className="number" title="What the best placement on this hardware could reach">
            Attainable
          </th>
          <th>Model</th>
        </tr>
      </thead>
      <tbody>
        {slos.map((slo) => {
          const sign = slo.kind === 'latency' ? '≤' : '≥';
          return (
            <tr key={`${slo.pipeline_id}${slo.slo_id}`}>
              <td>{titleOf(slo.pipeline_id)}</td>
              <td className={classes.objective}>{slo.slo_id}</td>
              <td>
                <StatusBadge state={slo.met ? 'met' : 'violated'} label={slo.met ? 'will be met' : 'will be missed'} />
              </td>
              <td className="number">
                {sign} {quantityText(slo.unit, slo.target)}
              </td>
              <td className="number">{quantityText(slo.unit, slo.predicted)}</td>
              <td className="number">{quantityText(slo.unit, slo.attainable)}</td>
              <td className={classes.model}>{slo.model}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}
