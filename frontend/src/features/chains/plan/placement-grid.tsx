import type { Instance, Plan, ServerNode } from '@orrery/contract';
import { quantityText } from '../../../shared/format/quantity.js';
import { EmulatedMark } from '../../../shared/ui/emulated-mark.js';
import { NfIcon } from '../../../shared/ui/nf-icon.js';
import { useEditorContext } from '../editor/context.js';
import classes from './plan.module.css';
import { coresText } from './plan-parts.js';

interface PlacementGridProps {
  readonly plan: Plan;
  readonly servers: readonly ServerNode[];
  /** Its instances are set off from those of the other chains. */
  readonly pipelineId: string;
}

/** Servers with their cores and what stands on each, and the edges that must cross the switch between them. */
export function PlacementGrid({ plan, servers, pipelineId }: PlacementGridProps) {
  const known = servers.length > 0 ? servers : serversOf(plan);
  const cut = plan.edges.filter((edge) => edge.crosses_switch);
  return (
    <>
      <div className={classes.servers}>
        {known.map((server) => {
          const here = plan.instances.filter((instance) => instance.server === server.id);
          const used = here.reduce((sum, instance) => sum + instance.core_share, 0);
          return (
            <section key={server.id} className={classes.server} aria-label={server.title ?? server.id}>
              <header>
                <strong>{server.title ?? server.id}</strong>
                <EmulatedMark origin={server.origin} />
                <span className="muted tabular">
                  {coresText(used)} of {server.cores} cores
                </span>
              </header>
              {Array.from({ length: server.cores }, (_, core) => (
                <Core
                  // biome-ignore lint/suspicious/noArrayIndexKey: a core is its number
                  key={core}
                  core={core}
                  instances={here.filter((instance) => instance.core === core)}
                  pipelineId={pipelineId}
                />
              ))}
            </section>
          );
        })}
      </div>
      <h3 className={classes.subtitle}>
        {cut.length === 0
          ? 'No edge crosses the switch between servers'
          : cut.length === 1
            ? 'One edge crosses the switch'
            : `${cut.length} edges cross the switch`}
      </h3>
      {cut.length > 0 && (
        <table className="table" aria-label="Edges that cross the switch">
          <thead>
            <tr>
              <th>From</th>
              <th>To</th>
              <th className="number">Rate</th>
              <th className="number">Hop</th>
            </tr>
          </thead>
          <tbody>
            {cut.map((edge) => (
              <tr key={edge.id}>
                <td>{edge.from ?? 'ingress'}</td>
                <td>{edge.to ?? 'egress'}</td>
                <td className="number">{quantityText('bps', edge.rate_bps)}</td>
                <td className="number">{edge.hop ?? ''}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}

interface CoreProps {
  readonly core: number;
  readonly instances: readonly Instance[];
  readonly pipelineId: string;
}

function Core({ core, instances, pipelineId }: CoreProps) {
  const { descriptors } = useEditorContext();
  const share = instances.reduce((sum, instance) => sum + instance.core_share, 0);
  return (
    <div className={classes.core}>
      <span className={classes.coreName}>core {core}</span>
      <div className={classes.chips}>
        {instances.map((instance) => (
          <span
            key={instance.id}
            className={classes.chip}
            data-other={instance.pipeline_id !== pipelineId || undefined}
            title={`${instance.id}: ${quantityText('bps', instance.load_bps)}, ${quantityText('share', instance.core_share)} of the core`}
          >
            <NfIcon icon={descriptors.find((each) => each.id === instance.nf)?.icon} size={13} />
            {instance.pipeline_id === pipelineId ? instance.node_id : instance.id}
            {instance.ordinal > 0 ? ` ${instance.ordinal + 1}` : ''}
          </span>
        ))}
      </div>
      <span className={classes.bar2} role="img" aria-label={`${(share * 100).toFixed(0)} % of the core`}>
        <span style={{ width: `${Math.min(100, share * 100)}%` }} data-full={share > 0.9 || undefined} />
      </span>
    </div>
  );
}

/** Where the infrastructure is not known, the servers that the plan names. */
function serversOf(plan: Plan): ServerNode[] {
  const ids = [...new Set(plan.instances.map((instance) => instance.server))];
  return ids.map((id) => ({
    id,
    origin: 'live',
    cores: Math.max(...plan.instances.filter((each) => each.server === id).map((each) => each.core)) + 1,
    ghz: 1,
    memory_bytes: 0,
    nics: [],
  }));
}
