import type { Slo } from '@orrery/contract';
import { type Quantity, quantityText } from '../../../shared/format/quantity.js';
import { RateText } from '../../../shared/ui/rate-text.js';
import { EmptyState } from '../../../shared/ui/states.js';
import { StatusBadge } from '../../../shared/ui/status-badge.js';
import { useDerived, useEditorContext } from '../editor/context.js';
import classes from './live-panel.module.css';
import { useSloStatus } from './slo-figures.js';

/** Objectives of the deployed version: target, prediction and measurement side by side. */
export function SloTable() {
  const { pipeline } = useEditorContext();
  const deployed = useDerived((derived) => derived.deployed);
  const slos = deployed?.slos ?? [];
  return (
    <div className={classes.slos}>
      {slos.length === 0 ? (
        <EmptyState title="No objectives">Add one in the chain’s settings.</EmptyState>
      ) : (
        <table className="table" aria-label="Objectives">
          <thead>
            <tr>
              <th>Objective</th>
              <th>State</th>
              <th className="number">Target</th>
              <th className="number">Predicted</th>
              <th className="number">Measured</th>
            </tr>
          </thead>
          <tbody>
            {slos.map((slo) => (
              <SloRow key={slo.id} pipelineId={pipeline.id} slo={slo} />
            ))}
          </tbody>
        </table>
      )}
    </div>
  );
}

function SloRow({ pipelineId, slo }: { readonly pipelineId: string; readonly slo: Slo }) {
  const status = useSloStatus(pipelineId, slo.id);
  const [quantity, sign, target, title]: [Quantity, string, number, string] =
    slo.kind === 'latency'
      ? ['us', '≤', slo.max_us, `Latency p${slo.percentile}`]
      : ['bps', '≥', slo.min_bps, 'Throughput'];
  return (
    <tr data-slo={slo.id}>
      <td title={slo.id}>{title}</td>
      <td>
        <StatusBadge state={status?.state ?? 'no-data'} status={status ? undefined : 'stale'} />
      </td>
      <td className="number">
        {sign} {quantityText(quantity, target)}
      </td>
      <td className="number">
        <RateText quantity={quantity} value={status?.predicted} />
      </td>
      <td className="number" title={status ? `on ${status.packets} packets in ${status.window_s} s` : undefined}>
        <RateText quantity={quantity} value={status?.measured} stale={status?.state === 'stale'} />
      </td>
    </tr>
  );
}
