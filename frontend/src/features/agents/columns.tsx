import type { JoinToken, ListedPart, NodeStatus, OutOfService } from '@orrery/contract';
import { ServiceActions, ServiceMark, serviceOf } from '../../shared/service/service.js';
import type { Column } from '../../shared/table/column.js';
import { EmulatedMark } from '../../shared/ui/emulated-mark.js';
import { LastKnown } from '../../shared/ui/last-known.js';
import { RelativeTime } from '../../shared/ui/relative-time.js';
import { StatusBadge } from '../../shared/ui/status-badge.js';
import { SubjectLink } from '../../shared/ui/subject-link.js';
import { AgentActions } from './agent-actions.js';
import classes from './agents.module.css';

/** Why what left a server could not go back. */
function returnOf(part: OutOfService | undefined): string | null {
  return part?.return_refused ? `What left it cannot return: ${part.return_refused}` : null;
}

interface AgentTable {
  /** Whether the user may admit and revoke agents. */
  readonly may: boolean;
  /** Which links of a node are down. */
  readonly downLinks: (id: string) => string | null;
  readonly onToken: (token: JoinToken) => void;
  /** What is out of service. */
  readonly partOf: (id: string) => ListedPart | undefined;
  readonly mayDrain: boolean;
  readonly onDrain: (node: string) => void;
}

export function agentColumns({
  may,
  downLinks,
  onToken,
  partOf,
  mayDrain,
  onDrain,
}: AgentTable): readonly Column<NodeStatus>[] {
  return [
    {
      id: 'node',
      title: 'Agent of',
      value: ({ id }) => id,
      cell: ({ id, origin }) => (
        <span className={classes.node}>
          <SubjectLink subject={id} />
          <EmulatedMark origin={origin} />
        </span>
      ),
    },
    { id: 'kind', title: 'Kind', value: ({ kind }) => kind },
    {
      id: 'state',
      title: 'State',
      value: ({ state }) => state.replace('-', ' '),
      cell: ({ state }) => (
        <StatusBadge
          state={state}
          status={state === 'never-seen' ? 'idle' : undefined}
          label={state.replace('-', ' ')}
        />
      ),
    },
    {
      id: 'service',
      title: 'Service',
      value: ({ id, kind }) => (kind === 'server' ? serviceOf(partOf(id)) : null),
      cell: ({ id, kind }) => (kind === 'server' ? <ServiceMark part={partOf(id)} /> : null),
    },
    {
      id: 'last-seen',
      title: 'Last seen',
      value: ({ last_seen_ms }) => last_seen_ms,
      cell: ({ state, last_seen_ms }) => {
        if (state === 'connected') return <LastKnown>now</LastKnown>;
        return last_seen_ms === null ? <span className="muted">never</span> : <RelativeTime t_ms={last_seen_ms} />;
      },
    },
    { id: 'version', title: 'Version', value: ({ version }) => version },
    {
      id: 'detail',
      title: 'Detail',
      className: classes.detail,
      value: ({ id, detail }) => detail ?? partOf(id)?.maintenance?.reason ?? returnOf(partOf(id)) ?? downLinks(id),
    },
    {
      id: 'actions',
      title: 'Actions',
      untitled: true,
      cell: (node) => (
        <span className={classes.actions}>
          {node.kind === 'server' && (
            <ServiceActions id={node.id} part={partOf(node.id)} may={mayDrain} onDrain={onDrain} />
          )}
          <AgentActions node={node} may={may} onToken={onToken} />
        </span>
      ),
    },
  ];
}
