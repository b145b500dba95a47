import type { SloStatus } from '@orrery/contract';
import { useEditorContext } from '../../../shared/chain-draft/context.js';
import { quantityOfUnit } from '../../../shared/format/quantity.js';
import { useSloRows } from '../../../shared/stream/slo-rows.js';
import { RateText } from '../../../shared/ui/rate-text.js';
import { StatusBadge } from '../../../shared/ui/status-badge.js';
import classes from './slo-figures.module.css';

/** Latest status of an objective. */
function useSloStatus(chainId: string, sloId: string): SloStatus | undefined {
  const { rows } = useSloRows();
  return rows.find((each) => each.chain_id === chainId && each.slo_id === sloId);
}

/** A prediction that is further off was made for other traffic than is sent. */
const LARGEST_ERROR = 10;

/** Predicted next to measured, with the prediction error; nothing while the chain is not deployed. */
export function SloFigures({ sloId }: { readonly sloId: string }) {
  const { chain } = useEditorContext();
  const status = useSloStatus(chain.id, sloId);
  if (!status || chain.deployed_version === null) return null;
  const quantity = quantityOfUnit(status.unit);
  const error =
    status.measured !== null && status.predicted !== null && status.measured > 0
      ? (status.predicted - status.measured) / status.measured
      : null;
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
          <RateText quantity={quantity} value={status.measured} stale={status.state === 'stale'} />
        </dd>
      </div>
      <div>
        <dt>Predicted</dt>
        <dd>
          <RateText quantity={quantity} value={status.predicted} />
          {error !== null && error < LARGEST_ERROR && (
            <span className="muted tabular"> ({`${error > 0 ? '+' : '−'}${Math.abs(error * 100).toFixed(0)} %`})</span>
          )}
        </dd>
      </div>
    </dl>
  );
}
