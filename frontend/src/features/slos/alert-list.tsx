import type { SloAlert } from '@orrery/contract';
import { Link } from 'react-router';
import { useChainTitle } from '../../shared/api/chains.js';
import { clockText } from '../../shared/format/time.js';
import { LastKnown } from '../../shared/ui/last-known.js';
import { RelativeTime } from '../../shared/ui/relative-time.js';
import { StatusBadge } from '../../shared/ui/status-badge.js';
import { Acknowledge } from './acknowledge.js';
import { ruleText } from './budget.js';
import { CauseLink, ChangeLink } from './cause-link.js';
import classes from './slos.module.css';

interface AlertListProps {
  readonly label: string;
  readonly alerts: readonly SloAlert[];
  /** Names chain and objective, with a link to it. */
  readonly named?: boolean;
}

/** Alerts in the order of the API: open ones first, of these the worst. */
export function AlertList({ label, alerts, named = false }: AlertListProps) {
  const titleOf = useChainTitle();
  return (
    <ul className={classes.alerts} aria-label={label}>
      {alerts.map((alert) => (
        <li key={alert.id}>
          <div className={classes.alertHead}>
            <StatusBadge
              state={alert.state === 'open' ? alert.rule.severity : 'resolved'}
              status={alert.state === 'open' ? undefined : 'idle'}
              label={alert.state === 'open' ? 'burns too fast' : 'resolved'}
            />
            {named && (
              <Link to={`/slos?slo=${encodeURIComponent(`${alert.chain_id}/${alert.slo_id}`)}`}>
                {titleOf(alert.chain_id)}: {alert.slo_id}
              </Link>
            )}
            <span className="muted">
              <LastKnown word="">
                {ruleText(alert)}, <RelativeTime t_ms={alert.fired_ms} />
              </LastKnown>
            </span>
            {alert.state === 'open' && <Acknowledge alert={alert} />}
          </div>
          <div>
            <CauseLink alert={alert} />
            {alert.place && <span className="muted"> Where: {alert.place.what}.</span>}
          </div>
          {alert.reactions.length > 0 && (
            <details>
              <summary className="muted">Done about it: {alert.reactions.length}</summary>
              <ul className={classes.reactions} aria-label={`Done about ${alert.slo_id}`}>
                {alert.reactions.map((change) => (
                  <li key={`${change.id} ${change.at_ms}`}>
                    <span className="tabular muted">{clockText(change.at_ms)}</span>{' '}
                    <ChangeLink change={change} chainId={alert.chain_id} />
                  </li>
                ))}
              </ul>
            </details>
          )}
        </li>
      ))}
    </ul>
  );
}
