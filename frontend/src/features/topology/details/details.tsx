import type { NodeStatus, Plan } from '@orrery/contract';
import { BrokenName } from '../../../shared/ui/broken-name.js';
import { DetailPanel } from '../../../shared/ui/detail-panel.js';
import { EmptyState, LoadingRows } from '../../../shared/ui/states.js';
import { StatusBadge } from '../../../shared/ui/status-badge.js';
import type { Target } from '../frame.js';
import { boardOf, chipOf, nodeOf, type Scene } from '../model.js';
import classes from '../topology.module.css';
import type { Troubles } from '../troubles.js';
import { BoardDetail } from './board-detail.js';
import { HostDetail } from './host-detail.js';
import { InstanceDetail } from './instance-detail.js';
import { JointDetail } from './joint-detail.js';
import { LinkDetail } from './link-detail.js';
import { ServerDetail } from './server-detail.js';
import { SwitchDetail } from './switch-detail.js';

interface DetailsProps {
  readonly target: Target;
  readonly scene: Scene;
  readonly troubles: Troubles;
  /** Null: still being read. */
  readonly nodes: readonly NodeStatus[] | null;
  /** Those by which chains run. */
  readonly plans: readonly Plan[];
  /** What runs is still being read. */
  readonly isPending: boolean;
  readonly onSelect: (target: Target | null) => void;
}

/** Everything about the selected element, with its charts. */
export function Details({ target, scene, troubles, nodes, plans, isPending, onSelect }: DetailsProps) {
  const close = () => onSelect(null);
  const node = target.kind === 'node' ? scene.nodes.get(target.id) : undefined;
  const link = target.kind === 'link' ? scene.links.get(target.id) : undefined;
  const chip = target.kind === 'nf' ? chipOf(scene, target.id) : undefined;
  const board = target.kind === 'board' ? boardOf(scene, target.id) : undefined;
  const joint = target.kind === 'joint' ? scene.joints.get(target.id) : undefined;
  const status = nodes?.find(({ id }) => id === node?.id);
  const title = node?.title ?? board?.title ?? target.id;
  return (
    <DetailPanel title={<BrokenName name={title} />} label={`Details of ${title}`} onClose={close}>
      <TroubleNote target={target} scene={scene} troubles={troubles} />
      {link ? (
        <LinkDetail link={link} />
      ) : chip ? (
        <InstanceDetail chip={chip} plans={plans} />
      ) : joint ? (
        <JointDetail joint={joint} scene={scene} onSelect={onSelect} />
      ) : board ? (
        <BoardDetail board={board} />
      ) : node?.kind === 'board' ? (
        <BoardDetail board={node.boards[0]!} />
      ) : nodes === null && (node?.kind === 'server' || node?.kind === 'switch') ? (
        <LoadingRows rows={8} />
      ) : node?.kind === 'server' ? (
        <ServerDetail node={node} status={status} scene={scene} onSelect={onSelect} />
      ) : node?.kind === 'switch' ? (
        <SwitchDetail node={node} status={status} scene={scene} onSelect={onSelect} />
      ) : node ? (
        <HostDetail node={node} scene={scene} onSelect={onSelect} />
      ) : isPending ? (
        <LoadingRows rows={4} />
      ) : (
        <EmptyState title={`“${target.id}” does not exist`}>
          {target.kind === 'nf'
            ? 'No such NF runs in this network.'
            : target.kind === 'joint'
              ? 'No such mirror, merge, split or queue runs in this network.'
              : `This network has no such ${target.kind}.`}{' '}
          It was removed, or the address is wrong.
        </EmptyState>
      )}
    </DetailPanel>
  );
}

/** What is the matter with an element, or with the node that it stands on. */
function TroubleNote({ target, scene, troubles }: Pick<DetailsProps, 'target' | 'scene' | 'troubles'>) {
  if (target.kind === 'link') return null;
  const home = nodeOf(scene, target.kind, target.id) ?? target.id;
  const ids = [...new Set([target.id, home])].filter((id) => troubles.has(id));
  return ids.map((id) => {
    const { text, status } = troubles.get(id)!;
    const of = id === target.id ? '' : `${scene.nodes.get(id)?.title ?? id}: `;
    return (
      <p key={id} className={classes.trouble} role="status">
        <StatusBadge state="trouble" status={status} label={`${of}${text}`} />
      </p>
    );
  });
}
