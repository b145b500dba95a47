import { Button } from '@mantine/core';
import { IconHierarchy2, IconServer } from '@tabler/icons-react';
import { Link } from 'react-router';
import { chainPath, useChainTitle } from '../../shared/api/chains.js';
import { useDeployments, useHealth, useNfInstances, useNodes, useTwin } from '../../shared/api/queries.js';
import { TimeSeriesChart } from '../../shared/charts/time-series-chart.js';
import { useSeededSamples } from '../../shared/stream/seed.js';
import { useSloRows } from '../../shared/stream/slo-rows.js';
import { EmulatedMark } from '../../shared/ui/emulated-mark.js';
import { PageBody, PageHeader, Panel } from '../../shared/ui/page-header.js';
import { LiveRate } from '../../shared/ui/rate-text.js';
import { Sparkline } from '../../shared/ui/sparkline.js';
import { EmptyState, QueryBoundary } from '../../shared/ui/states.js';
import { StatusBadge } from '../../shared/ui/status-badge.js';
import classes from './overview.module.css';
import { RecentEvents } from './recent-events.js';
import { systemState, troublesOf } from './system-state.js';

/** More lines than this cannot be told apart in one chart. */
const CHART_CHAINS = 6;

function useTroubles() {
  const { data: health } = useHealth();
  const { data: instances = [] } = useNfInstances();
  const { data: deployments = [] } = useDeployments();
  return troublesOf(health, instances, deployments, useChainTitle());
}

function HealthStrip() {
  const health = useHealth();
  const troubles = useTroubles();
  const deployments = useDeployments();
  const instances = useNfInstances();
  const nodes = useNodes();
  const twin = useTwin();
  const { rows } = useSloRows();
  const running = instances.data?.filter(({ state }) => state === 'running').length;
  const connected = nodes.data?.filter(({ state }) => state === 'connected').length;
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
          <Link to="/chains">{deployments.data?.length ?? '–'} deployed</Link>
        </dd>
      </div>
      <div>
        <dt>NF instances</dt>
        <dd className="tabular">{instances.data ? `${running} of ${instances.data.length} running` : '–'}</dd>
      </div>
      <div>
        <dt>Servers</dt>
        <dd className="tabular">{nodes.data ? `${connected} of ${nodes.data.length} connected` : '–'}</dd>
      </div>
      <div>
        <dt>SLOs</dt>
        <dd>
          <Link to="/slos">
            {rows.length === 0 ? (
              'none'
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

function Troubles() {
  const troubles = useTroubles();
  if (troubles.length === 0) return null;
  return (
    <ul className={classes.troubles} aria-label="What is not well">
      {troubles.map(({ name, status, detail }) => (
        <li key={name} data-status={status}>
          <StatusBadge state={status} label={name} /> <span>{detail}</span>
        </li>
      ))}
    </ul>
  );
}

function Chains() {
  const query = useDeployments();
  const instances = useNfInstances();
  const { rows } = useSloRows();
  const titleOf = useChainTitle();
  const items = query.data ?? [];
  useSeededSamples(items.length > 0 ? ['pipeline/'] : []);
  return (
    <Panel title="Running chains" flush>
      <QueryBoundary query={query} rows={3}>
        {items.length === 0 ? (
          <EmptyState
            icon={IconHierarchy2}
            title="No chain is deployed"
            action={
              <Button component={Link} to="/chains">
                Draw a chain
              </Button>
            }
          >
            Draw network functions, connect them, and deploy: packets flow in seconds.
          </EmptyState>
        ) : (
          <table className="table">
            <thead>
              <tr>
                <th scope="col">Chain</th>
                <th scope="col">State</th>
                <th scope="col">Last 30 s</th>
                <th scope="col" className="number">
                  Throughput
                </th>
                <th scope="col" className="number">
                  Packets
                </th>
                <th scope="col" className="number">
                  p50
                </th>
                <th scope="col" className="number">
                  p99
                </th>
                <th scope="col">SLOs</th>
                <th scope="col">Origin</th>
              </tr>
            </thead>
            <tbody>
              {items.map(({ pipeline_id: id, state, version }) => {
                const slos = rows.filter((slo) => slo.pipeline_id === id);
                const bad = slos.filter((slo) => slo.state === 'violated').length;
                const emulated = instances.data?.some(
                  ({ pipeline_id, origin }) => pipeline_id === id && origin === 'twin',
                );
                return (
                  <tr key={id}>
                    <td className={classes.chain}>
                      <Link to={chainPath(id)}>{titleOf(id)}</Link> <span className="muted">v{version}</span>
                    </td>
                    <td>
                      <StatusBadge state={state} />
                    </td>
                    <td>
                      <Sparkline sampleKey={`pipeline/${id}/bps`} quantity="bps" label={`${titleOf(id)}, throughput`} />
                    </td>
                    <td className="number">
                      <LiveRate sampleKey={`pipeline/${id}/bps`} quantity="bps" />
                    </td>
                    <td className="number">
                      <LiveRate sampleKey={`pipeline/${id}/pps`} quantity="pps" />
                    </td>
                    <td className="number">
                      <LiveRate sampleKey={`pipeline/${id}/latency_p50_us`} quantity="us" />
                    </td>
                    <td className="number">
                      <LiveRate sampleKey={`pipeline/${id}/latency_p99_us`} quantity="us" />
                    </td>
                    <td>
                      {slos.length === 0 ? (
                        <span className="muted">none</span>
                      ) : bad > 0 ? (
                        <StatusBadge state="violated" label={`${bad} violated`} />
                      ) : slos.every((slo) => slo.state === 'met') ? (
                        <StatusBadge state="met" />
                      ) : (
                        <StatusBadge state="no-data" status="stale" />
                      )}
                    </td>
                    <td>{emulated ? <EmulatedMark /> : <span className="muted">live</span>}</td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        )}
      </QueryBoundary>
    </Panel>
  );
}

function Throughput() {
  const { data } = useDeployments();
  const instances = useNfInstances();
  const titleOf = useChainTitle();
  if (!data || data.length === 0) return null;
  const shown = data.slice(0, CHART_CHAINS);
  return (
    <Panel>
      <TimeSeriesChart
        title="Throughput of the chains"
        quantity="bps"
        windowS={300}
        height={160}
        emulated={instances.data?.some(({ origin }) => origin === 'twin')}
        series={shown.map(({ pipeline_id: id }) => ({ key: `pipeline/${id}/bps`, label: titleOf(id) }))}
        note={data.length > shown.length ? `The first ${shown.length} of ${data.length} chains.` : undefined}
      />
    </Panel>
  );
}

function Servers() {
  const query = useNodes();
  const items = query.data ?? [];
  useSeededSamples(items.length > 0 ? ['node/'] : []);
  return (
    <Panel title="Servers" flush>
      <QueryBoundary query={query} rows={3}>
        {items.length === 0 ? (
          <EmptyState icon={IconServer} title="No server is known">
            Servers come with the infrastructure; their agents connect by themselves.
          </EmptyState>
        ) : (
          <table className="table">
            <thead>
              <tr>
                <th scope="col">Server</th>
                <th scope="col">Agent</th>
                <th scope="col">Engine</th>
                <th scope="col">CPU, last 30 s</th>
                <th scope="col" className="number">
                  CPU
                </th>
              </tr>
            </thead>
            <tbody>
              {items.map(({ id, origin, state, engine }) => (
                <tr key={id}>
                  <td className={classes.server}>
                    <Link to={`/topology?node=${encodeURIComponent(id)}`}>{id}</Link> <EmulatedMark origin={origin} />
                  </td>
                  <td>
                    <StatusBadge state={state} />
                  </td>
                  <td>
                    <StatusBadge state={engine} />
                  </td>
                  <td>
                    <Sparkline sampleKey={`node/${id}/cpu`} quantity="share" label={`${id}, engine CPU`} />
                  </td>
                  <td className="number">
                    <LiveRate sampleKey={`node/${id}/cpu`} quantity="share" />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </QueryBoundary>
    </Panel>
  );
}

export function Component() {
  return (
    <>
      <PageHeader title="Overview" />
      <PageBody>
        <div>
          <HealthStrip />
          <Troubles />
        </div>
        <Chains />
        <Throughput />
        <div className={classes.columns}>
          <Servers />
          <RecentEvents />
        </div>
      </PageBody>
    </>
  );
}
