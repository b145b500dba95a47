import type { InstanceSpec, NodeSpec } from '@orrery/contract';
import type { Ends } from '../drivers/engine/places.js';
import type { HostedView } from '../drivers/nf-driver.js';
import { type Failure, noChange, type Step } from './steps.js';

/** What one driver runs outside the engine. */
export interface HostWorld {
  kind: InstanceSpec['driver'];
  instances: ReadonlyMap<string, HostedView>;
}

/** A driver whose instances need nothing else. */
export interface HostedWorld extends HostWorld {
  digest(instance: InstanceSpec): string;
}

const wantedOf = ({ kind }: HostWorld, spec: NodeSpec) => spec.instances.filter(({ driver }) => driver === kind);

/** Instances outside the engine that can receive packets. */
export function endsOf(spec: NodeSpec, hosts: readonly HostWorld[]): Ends {
  return new Map(
    hosts.flatMap((host) =>
      wantedOf(host, spec).flatMap(({ id }) => {
        const ends = host.instances.get(id)?.ends;
        return ends ? [[id, ends] as const] : [];
      }),
    ),
  );
}

export function deploySteps(spec: NodeSpec, host: HostedWorld): Step[] {
  const { kind, instances, digest } = host;
  const changed = wantedOf(host, spec).filter((instance) => instances.get(instance.id)?.digest !== digest(instance));
  if (changed.length === 0) return [];
  const deploy = changed.filter(({ id }) => !instances.has(id));
  const configure = changed.filter(({ id }) => instances.has(id));
  const reason = changed.map(({ id }) => id).join(', ');
  return [{ kind: 'realize', driver: kind, change: { ...noChange, deploy, configure }, reason }];
}

/** What runs but is not desired. */
export function leavingOf(spec: NodeSpec, host: HostWorld): [string, HostedView][] {
  const wanted = new Set(wantedOf(host, spec).map(({ id }) => id));
  return [...host.instances].filter(([id]) => !wanted.has(id));
}

/** What is already being removed needs no further step. */
export function destructSteps(spec: NodeSpec, host: HostedWorld): Step[] {
  const destruct = leavingOf(spec, host).flatMap(([id, { state }]) => (state === 'stopping' ? [] : [id]));
  if (destruct.length === 0) return [];
  return [{ kind: 'realize', driver: host.kind, change: { ...noChange, destruct }, reason: 'no longer desired' }];
}

/** The first instance that its host will never accept as specified. */
export function refusedByHost(
  spec: NodeSpec,
  hosts: readonly HostWorld[],
): Pick<Failure, 'message' | 'instance_id'> | null {
  for (const host of hosts)
    for (const { id } of wantedOf(host, spec)) {
      const found = host.instances.get(id);
      if (found?.state === 'failed' && found.permanent) return { message: found.detail ?? 'refused', instance_id: id };
    }
  return null;
}
