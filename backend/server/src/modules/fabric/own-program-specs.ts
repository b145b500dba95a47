import type { Infrastructure, SwitchPort, SwitchSpec } from '@orrery/contract';
import type { SwitchPrograms } from '../../ports/switch-programs.js';

/** What switches with P4 programs of their own must hold: nothing of the fabric. */
export function ownProgramSpecs(
  infrastructure: Infrastructure,
  programs: Pick<SwitchPrograms, 'assignmentOf'>,
): [string, Omit<SwitchSpec, 'generation'>][] {
  return infrastructure.switches.flatMap(({ id, program }) => {
    if (program === undefined) return [];
    const ports = portsOf(id, infrastructure);
    return [[id, { ports, entries: [], groups: [], program: programs.assignmentOf(id, program) }]];
  });
}

function portsOf(id: string, { servers, hosts, links }: Infrastructure): SwitchPort[] {
  const [ofServers, ofHosts] = [servers, hosts].map((nodes) => new Set(nodes.map((node) => node.id)));
  const roleOf = (node: string) => (ofServers!.has(node) ? 'server' : ofHosts!.has(node) ? 'host' : 'switch');
  return links.flatMap(({ a, b }) =>
    [
      { near: a, far: b },
      { near: b, far: a },
    ].flatMap(({ near, far }) =>
      near.node === id ? [{ name: near.port, role: roleOf(far.node), neighbour: far.node } as const] : [],
    ),
  );
}
