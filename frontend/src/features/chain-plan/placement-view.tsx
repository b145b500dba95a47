import { type Infrastructure, nfInstances, type Plan, type ServerNode } from '@orrery/contract';
import { useState } from 'react';
import type { PlanAddress } from './address.js';
import type { CoreModule } from './core-module.js';
import { CutPanel } from './cut-panel.js';
import { InstanceReasons } from './instance-reasons.js';
import { Offloads } from './offloads.js';
import classes from './placement.module.css';
import { ServerCard } from './server-card.js';
import { SwitchTables } from './switch-tables.js';

/** With more servers than this, only those in use are drawn. */
const DRAWN_SERVERS = 12;

interface PlacementProps {
  readonly plan: Plan;
  readonly infrastructure: Infrastructure | null;
  /** Its instances are set off from those of the other chains. */
  readonly chainId: string;
  readonly address: PlanAddress;
}

/** Servers with the instances on each core and slot, the reasons for each place, and the traffic between servers. */
export function PlacementView({ plan, infrastructure, chainId, address }: PlacementProps) {
  const known = infrastructure?.servers.length ? infrastructure.servers : serversOf(plan);
  const boards = infrastructure?.boards ?? [];
  const isBusy = ({ id }: ServerNode) =>
    nfInstances(plan.graph).some(({ server }) => server === id) || boards.some(({ server }) => server === id);
  const busy = known.length <= DRAWN_SERVERS ? known : known.filter(isBusy);
  const idle = known.filter((server) => !busy.includes(server));
  const [pointed, setPointed] = useState<string | null>(null);
  const selected = address.selected('nf');
  const shown = nfInstances(plan.graph).find(({ id }) => id === (pointed ?? selected));
  const select = (id: string) => address.select('nf', id === selected ? null : id);
  return (
    <div className={classes.groups}>
      <div className={classes.split}>
        <div className={classes.servers}>
          {busy.map((server) => (
            <ServerCard
              key={server.id}
              server={server}
              boards={boards.filter((board) => board.server === server.id)}
              instances={nfInstances(plan.graph).filter((instance) => instance.server === server.id)}
              modules={modulesOn(plan, server.id)}
              chainId={chainId}
              selected={selected}
              onSelect={select}
              onPoint={setPointed}
            />
          ))}
          {idle.length > 0 && (
            <p className="muted">
              {idle.length === 1 ? 'One server stays' : `${idle.length} servers stay`} empty:{' '}
              {idle.map((server) => server.title ?? server.id).join(', ')}
            </p>
          )}
        </div>
        <InstanceReasons plan={plan} instance={shown} fixed={pointed === null && selected !== ''} />
      </div>
      <CutPanel plan={plan} servers={known} />
      <SwitchTables tables={plan.tables} />
      <Offloads plan={plan} />
    </div>
  );
}

function modulesOn({ graph }: Plan, server: string): readonly CoreModule[] {
  return graph.nodes
    .filter((node) => node.kind !== 'nf' && node.kind !== 'exit')
    .filter((node) => node.server === server);
}

/** Fallback without the infrastructure: the servers in the plan. */
function serversOf(plan: Plan): ServerNode[] {
  const ids = [...new Set(nfInstances(plan.graph).map((instance) => instance.server))];
  return ids.map((id) => ({
    id,
    origin: 'live',
    cores:
      Math.max(
        ...nfInstances(plan.graph)
          .filter((each) => each.server === id)
          .map((each) => each.core),
      ) + 1,
    ghz: 1,
    memory_bytes: 0,
    nics: [],
    addresses: [],
  }));
}
