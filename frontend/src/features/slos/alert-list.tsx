import type { SloAlert } from '@orrery/contract';
import { Link } from 'react-router';
import { deletedChain, useChainTitle } from '../../shared/api/chains.js';
import { dateTimeText } from '../../shared/format/time.js';
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
  /** Objectives are named; these by what they ask for, with a link (`<chain id>/<objective id>`). Absent: they are not. */
  readonly running?: ReadonlyMap<string, string>;
}

/** Why an alert is over. */
const RESOLUTIONS: Readonly<Record<NonNullable<SloAlert['resolution']>, string>> = {
  calm: 'the budget burns no more',
  changed: 'the objective was changed, or other rules watch it',
  removed: 'the objective was removed',
  undeployed: 'the chain was undeployed',
};

/** Alerts, in the order that they come in. */
export function AlertList({ label, alerts, running }: AlertListProps) {
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
            {running && <ObjectiveName alert={alert} running={running} />}
            <span className="muted">
              <LastKnown word="">
                {ruleText(alert)}, <RelativeTime t_ms={alert.fired_ms} />
              </LastKnown>
            </span>
            {(alert.state === 'open' || alert.acknowledged) && <Acknowledge alert={alert} />}
          </div>
          {alert.resolved_ms !== null && (
            <div>
              Resolved {dateTimeText(alert.resolved_ms)}
              {alert.resolution && `: ${RESOLUTIONS[alert.resolution]}`}.
            </div>
          )}
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
                    <span className="tabular muted">{dateTimeText(change.at_ms)}</span>{' '}
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

interface ObjectiveNameProps {
  readonly alert: SloAlert;
  readonly running: ReadonlyMap<string, string>;
}

function ObjectiveName({ alert: { chain_id, slo_id }, running }: ObjectiveNameProps) {
  const titleOf = useChainTitle(deletedChain, [chain_id]);
  const key = `${chain_id}/${slo_id}`;
  const name = `${titleOf(chain_id)}: ${running.get(key) ?? slo_id}`;
  return running.has(key) ? <Link to={`/slos?slo=${encodeURIComponent(key)}`}>{name}</Link> : <span>{name}</span>;
}
