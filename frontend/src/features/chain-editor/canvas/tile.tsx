import type { Chain, ChainNode, NfInstance } from '@orrery/contract';
import { sampleKey } from '@orrery/contract/sample-keys';
import { IconAlertTriangleFilled, IconLogin2, IconLogout2 } from '@tabler/icons-react';
import { Handle, type NodeProps, Position } from '@xyflow/react';
import { memo } from 'react';
import { nodeLabel, nodeOf } from '../../../editor-model/graph.js';
import { shownState } from '../../../shared/chain/nf-state.js';
import { useDerived, useDescriptor, useEditor, useEditorContext } from '../../../shared/chain-draft/context.js';
import { spotText } from '../../../shared/format/form.js';
import { useCut } from '../../../shared/stream/hooks.js';
import { NfIcon } from '../../../shared/ui/nf-icon.js';
import { Sparkline } from '../../../shared/ui/sparkline.js';
import { SummedRate } from '../live/summed-rate.js';
import classes from './tile.module.css';

const NONE: readonly never[] = [];

const ICONS = { ingress: IconLogin2, egress: IconLogout2 };

/** A node of the chain: kind, place, traffic and health. */
export const Tile = memo(function Tile({ id, selected }: NodeProps) {
  const { readOnly, chain } = useEditorContext();
  const found = useDerived(({ problems, untouched }) => (untouched ? NONE : (problems.byNode.get(id) ?? NONE)));
  const instances = useDerived((derived) => derived.placed.get(id) ?? NONE);
  const change = useDerived(
    ({ differences }) => differences.find((each) => each.part === 'node' && each.id === id)?.change,
  );
  const node = useEditor((state) => nodeOf(state.definition, id));
  const cut = useCut();
  const verdict = useEditor((state) => state.connecting?.verdicts.get(id) ?? null);
  if (!node) return null;
  return (
    <div
      className={classes.tile}
      data-kind={node.kind}
      data-selected={selected || undefined}
      data-health={healthOf(instances, chain.deployment_state, cut)}
      data-emulated={instances.some((each) => each.origin === 'twin') || undefined}
      data-problem={worst(found)}
      data-refused={verdict?.ok === false || undefined}
      data-change={change}
    >
      {node.kind !== 'ingress' && (
        <Handle
          type="target"
          position={Position.Left}
          className={classes.handle}
          isConnectable={!readOnly}
          role="button"
          tabIndex={-1}
          aria-label={`Input of ${nodeLabel(node)}`}
        />
      )}
      {node.kind === 'nf' ? <NfBody node={node} instances={instances} /> : <EndBody node={node} />}
      {node.kind !== 'egress' && (
        <Handle
          type="source"
          position={Position.Right}
          className={classes.handle}
          isConnectable={!readOnly}
          role="button"
          tabIndex={-1}
          aria-label={`Output of ${nodeLabel(node)}`}
        />
      )}
      {change && change !== 'removed' && (
        <span className={classes.change}>{change === 'added' ? 'new' : 'changed'}</span>
      )}
      {found.length > 0 && (
        <span
          className={classes.problem}
          data-severity={worst(found)}
          role="img"
          aria-label={`${found.length} ${found.length === 1 ? 'problem' : 'problems'}: ${found.map((each) => each.message).join(' ')}`}
          title={found.map((each) => each.message).join('\n')}
        >
          <IconAlertTriangleFilled size={12} aria-hidden />
          {found.length}
        </span>
      )}
      {verdict?.ok === false && <span className={classes.reason}>{verdict.reason}</span>}
    </div>
  );
});

function NfBody({
  node,
  instances,
}: {
  readonly node: Extract<ChainNode, { kind: 'nf' }>;
  readonly instances: readonly NfInstance[];
}) {
  const descriptor = useDescriptor(node.nf);
  const first = instances[0];
  const kind = descriptor?.title ?? node.nf;
  return (
    <>
      <div className={classes.head}>
        <NfIcon icon={descriptor?.icon} size={16} />
        <span className={classes.title}>{node.title ?? kind}</span>
        {instances.length > 1 && (
          <span className={classes.count} title={`${instances.length} instances`}>
            ×{instances.length}
          </span>
        )}
      </div>
      <div className={classes.sub}>
        <span className={classes.place} title={`${kind}, ${node.id}`}>
          {first ? placeOf(instances) : node.title && node.title !== kind ? kind : node.id}
        </span>
      </div>
      <div className={classes.live}>
        {first ? (
          <>
            <Sparkline
              sampleKey={sampleKey('instance', first.id, 'pps')}
              quantity="pps"
              label={`${nodeLabel(node)}, packets per second`}
              width={84}
              height={18}
            />
            <SummedRate keys={instances.map((each) => sampleKey('instance', each.id, 'pps'))} quantity="pps" />
          </>
        ) : (
          <span className={classes.idle}>
            {descriptor?.attributes.length
              ? `tags ${descriptor.attributes.map((each) => each.name).join(', ')}`
              : 'not deployed'}
          </span>
        )}
      </div>
    </>
  );
}

function EndBody({ node }: { readonly node: ChainNode }) {
  const hosts = useEditor((state) => state.definition.traffic_class.from);
  const Icon = node.kind === 'ingress' ? ICONS.ingress : ICONS.egress;
  return (
    <>
      <div className={classes.head}>
        <Icon size={16} stroke={1.6} />
        <span className={classes.title}>{node.title ?? (node.kind === 'ingress' ? 'Ingress' : 'Egress')}</span>
      </div>
      <div className={classes.sub}>
        <span className={classes.hosts}>{node.kind === 'ingress' ? `from ${hosts.join(', ')}` : 'to destination'}</span>
      </div>
    </>
  );
}

function placeOf(instances: readonly NfInstance[]): string {
  const servers = [...new Set(instances.map((each) => each.server))];
  if (servers.length > 1) return `${servers.length} servers`;
  const [one] = instances;
  return instances.length === 1 && one ? `${one.server} · ${spotText(one)}` : (servers[0] ?? '');
}

type TileHealth = 'none' | 'healthy' | 'degraded' | 'working' | 'failed' | 'stale';

/** Worst state of the instances; `none` when nothing is deployed, `stale` while the browser is cut off. */
export function healthOf(instances: readonly NfInstance[], chain: Chain['deployment_state'], cut: boolean): TileHealth {
  if (instances.length === 0) return 'none';
  if (cut) return 'stale';
  const states = instances.map((each) => shownState(each.state, chain));
  if (states.includes('failed')) return 'failed';
  if (states.includes('unknown')) return 'stale';
  if (states.includes('degraded')) return 'degraded';
  return states.every((state) => state === 'running') ? 'healthy' : 'working';
}

function worst(problems: readonly { severity: 'error' | 'warning' }[]): 'error' | 'warning' | undefined {
  if (problems.some((each) => each.severity === 'error')) return 'error';
  return problems.length > 0 ? 'warning' : undefined;
}
