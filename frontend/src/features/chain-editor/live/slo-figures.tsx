import type { SloStatus } from '@orrery/contract';
import { causeText } from '../../../shared/chain/class-objective-text.js';
import { useDerived, useEditorContext } from '../../../shared/chain-draft/context.js';
import { carriedText, errorText, predictionText } from '../../../shared/format/prediction.js';
import { quantityOfUnit } from '../../../shared/format/quantity.js';
import { REAL_BOARD, useOnEmulatedBoard } from '../../../shared/plan/emulated-boards.js';
import { useSloRows } from '../../../shared/stream/slo-rows.js';
import { MeasuredText } from '../../../shared/ui/rate-text.js';
import { StatusBadge } from '../../../shared/ui/status-badge.js';
import classes from './slo-figures.module.css';

/** Latest status of an objective. */
function useSloStatus(chainId: string, sloId: string): SloStatus | undefined {
  const { rows } = useSloRows();
  return rows.find((each) => each.chain_id === chainId && each.slo_id === sloId);
}

/** Predicted next to measured, with the prediction error; nothing while the chain is not deployed. */
export function SloFigures({ sloId }: { readonly sloId: string }) {
  const { chain } = useEditorContext();
  return chain.deployed_version === null ? null : <Figures chainId={chain.id} sloId={sloId} />;
}

function Figures({ chainId, sloId }: { readonly chainId: string; readonly sloId: string }) {
  const deployed = useDerived((derived) => derived.deployed);
  const status = useSloStatus(chainId, sloId);
  const isOnEmulatedBoard = useOnEmulatedBoard()(chainId);
  if (!status) return null;
  const quantity = quantityOfUnit(status.unit);
  const { error } = status;
  const carried = carriedText(status);
  return (
    <dl className={classes.figures}>
      <div>
        <dt>State</dt>
        <dd>
          <StatusBadge state={status.state} />
        </dd>
      </div>
      <div>
        <dt>Measured</dt>
        <dd>
          <MeasuredText quantity={quantity} value={status.measured} stale={status.state === 'stale'} />
        </dd>
      </div>
      <div>
        <dt>{status.kind === 'throughput' ? 'Can carry' : 'Predicted'}</dt>
        <dd>
          {predictionText(status)}
          {isOnEmulatedBoard && <span className="muted"> {REAL_BOARD}</span>}
          {error !== null && <span className="muted tabular"> (measured {errorText(error)})</span>}
        </dd>
      </div>
      {status.cause && (
        <div>
          <dt>Because</dt>
          <dd>{causeText(status.cause, deployed ?? undefined)}</dd>
        </div>
      )}
      {carried && (
        <div>
          <dt>Carried</dt>
          <dd>{carried}</dd>
        </div>
      )}
    </dl>
  );
}
