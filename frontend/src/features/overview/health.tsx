import { Link } from 'react-router';
import { chainPath, useChainTitle } from '../../shared/api/chains.js';
import {
  useDeployments,
  useHealth,
  useNfInstances,
  useNodes,
  useOutOfService,
  useServiceRequestCounts,
  useSloAlerts,
  useTwin,
} from '../../shared/api/queries.js';
import { shownState } from '../../shared/chain/nf-state.js';
import { useCut } from '../../shared/stream/hooks.js';
import { useSloRows } from '../../shared/stream/slo-rows.js';
import { LastKnown } from '../../shared/ui/last-known.js';
import { StatusBadge } from '../../shared/ui/status-badge.js';
import classes from './overview.module.css';
import { agentsText, openAlerts, systemState, troublesOf } from './system-state.js';

function useTroubles() {
  const { data: health } = useHealth();
  const { data: instances = [] } = useNfInstances();
  const { data: deployments = [] } = useDeployments();
  const { rows: slos } = useSloRows();
  const { data: requests } = useServiceRequestCounts();
  return troublesOf({ health, instances, deployments, slos, requests }, useChainTitle());
}

export function HealthStrip() {
  const health = useHealth();
  const troubles = useTroubles();
  const deployments = useDeployments();
  const instances = useNfInstances();
  const nodes = useNodes();
  const { data: out = [] } = useOutOfService();
  const twin = useTwin();
  const { query: slos, rows } = useSloRows();
  const running = instances.data?.filter(({ state }) => state === 'running').length;
  const stateOf = new Map(deployments.data?.map(({ chain_id, state }) => [chain_id, state]));
  const suffering =
    instances.data?.filter(({ chain_id, state }) => shownState(state, stateOf.get(chain_id)) === 'degraded').length ??
    0;
  const met = rows.filter(({ state }) => state === 'met').length;
  const violated = rows.some(({ state }) => state === 'violated');
  const phase = twin.data?.state?.phase ?? twin.data?.daemon;
  return (
    <dl className={`panel ${classes.strip}`}>
      <div>
        <dt>System</dt>
        <dd>{health.data ? <StatusBadge state={systemState(health.data, troubles)} /> : '–'}</dd>
      </div>
      <div>
        <dt>Chains</dt>
        <dd>
          <Link to="/chains">
            <LastKnown>{deployments.data?.length ?? '–'} deployed</LastKnown>
          </Link>
        </dd>
      </div>
      <div>
        <dt>NF instances</dt>
        <dd className="tabular">
          {instances.data ? (
            <LastKnown>
              {`${running} of ${instances.data.length} running`}
              {suffering > 0 && `, ${suffering} in degraded chains`}
            </LastKnown>
          ) : (
            '–'
          )}
        </dd>
      </div>
      <div>
        <dt>Agents</dt>
        <dd className="tabular">{nodes.data ? <LastKnown>{agentsText(nodes.data, out)}</LastKnown> : '–'}</dd>
      </div>
      <div>
        <dt>SLOs</dt>
        <dd>
          <Link to="/slos">
            {rows.length === 0 ? (
              slos.data ? (
                'none'
              ) : (
                '–'
              )
            ) : (
              <StatusBadge
                state={violated ? 'violated' : 'met'}
                status={violated ? 'failed' : met === rows.length ? 'healthy' : 'stale'}
                label={`${met} of ${rows.length} met`}
              />
            )}
          </Link>
        </dd>
      </div>
      <div>
        <dt>Twin</dt>
        <dd>
          <Link to="/twin">{phase ? <StatusBadge state={phase} label={phase.replace('-', ' ')} /> : '–'}</Link>
        </dd>
      </div>
    </dl>
  );
}

export function Troubles() {
  const troubles = useTroubles();
  const cut = useCut();
  if (troubles.length === 0) return null;
  return (
    <ul className={classes.troubles} aria-label="Problems">
      {troubles.map(
        ({ key, name, status, says = status, detail, chain_id, path = chain_id && chainPath(chain_id) }) => (
          <li key={key} data-status={cut ? 'stale' : status}>
            {path === null ? (
              <StatusBadge state={status} label={`${name} ${says}`} />
            ) : (
              <Link to={path}>
                <StatusBadge state={status} label={`${name} ${says}`} />
              </Link>
            )}{' '}
            <span>{detail}</span>
          </li>
        ),
      )}
    </ul>
  );
}

export function Alerts() {
  const { data = [] } = useSloAlerts();
  const cut = useCut();
  const alerts = openAlerts(data, useChainTitle());
  if (alerts.length === 0) return null;
  return (
    <ul className={classes.troubles} aria-label="Open alerts">
      {alerts.map(({ key, text, path }) => (
        <li key={key} data-status={cut ? 'stale' : 'degraded'}>
          <Link to={path}>
            <StatusBadge state="warning" label="alert" />
          </Link>{' '}
          <span>{text}</span>
        </li>
      ))}
    </ul>
  );
}
