import type { Plan } from '@orrery/contract';
import { useChainTitle } from '../api/chains.js';
import { quantityText } from '../format/quantity.js';
import { EmptyState } from '../ui/states.js';
import { StatusBadge } from '../ui/status-badge.js';
import classes from './plan-parts.module.css';

type Slo = Plan['slos'][number];

interface PredictionsProps {
  readonly slos: readonly Slo[];
  /** What the plan that runs predicts of the same; absent: not to be compared. */
  readonly before?: readonly Slo[];
}

/** What each objective is expected to be, by which model. */
export function Predictions({ slos, before }: PredictionsProps) {
  const titleOf = useChainTitle();
  if (slos.length === 0)
    return <EmptyState title="No objectives to predict">Add one in the chain’s settings.</EmptyState>;
  return (
    <div className={classes.predictions}>
      <table className="table" aria-label="Predicted objectives">
        <thead>
          <tr>
            <th scope="col">Chain</th>
            <th scope="col">Objective</th>
            <th scope="col">Prediction</th>
            <th scope="col" className="number">
              Target
            </th>
            {before && (
              <th scope="col" className="number">
                So far
              </th>
            )}
            <th scope="col" className="number">
              Predicted
            </th>
            <th scope="col" className="number" title="What the best placement on this hardware could reach">
              Attainable
            </th>
            <th scope="col">Model</th>
          </tr>
        </thead>
        <tbody>
          {slos.map((slo) => (
            <tr key={`${slo.pipeline_id}${slo.slo_id}`}>
              <td className={classes.objectiveChain}>{titleOf(slo.pipeline_id)}</td>
              <td data-label="Objective" className={classes.objective}>
                {slo.slo_id}
              </td>
              <td data-label="Prediction">
                <StatusBadge state={slo.met ? 'met' : 'violated'} label={slo.met ? 'will be met' : 'will be missed'} />
              </td>
              <td data-label="Target" className="number">
                {slo.kind === 'latency' ? '≤' : '≥'} {quantityText(slo.unit, slo.target)}
              </td>
              {before && (
                <td data-label="So far" className="number">
                  {quantityText(slo.unit, before.find((each) => isSame(each, slo))?.predicted)}
                </td>
              )}
              <td data-label="Predicted" className="number">
                {quantityText(slo.unit, slo.predicted)}
              </td>
              <td data-label="Attainable" className="number">
                {quantityText(slo.unit, slo.attainable)}
              </td>
              <td data-label="Model" className={classes.model}>
                {slo.model}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const isSame = (a: Slo, b: Slo) => a.pipeline_id === b.pipeline_id && a.slo_id === b.slo_id;
