import type { FieldError, Infrastructure } from '@orrery/contract';
import { addressErrors } from './validate-addresses.js';

/** Checks beyond the schema: ids are unique, and links join existing, free ports. */
export function infrastructureErrors(infrastructure: Infrastructure): FieldError[] {
  const errors: FieldError[] = [];
  const nodes = new Map<string, { ports: ReadonlySet<string> | null; free: number }>();
  const report = (pointer: string, detail: string, code: string) => errors.push({ pointer, detail, code });
  const addNode = (pointer: string, id: string, ports: ReadonlySet<string> | null, free: number) => {
    if (nodes.has(id)) report(`${pointer}/id`, `"${id}" is used twice`, 'duplicate-id');
    nodes.set(id, { ports, free });
  };

  infrastructure.servers.forEach((server, index) => {
    const names = new Set(server.nics.map(({ name }) => name));
    addNode(`/servers/${index}`, server.id, names, names.size);
    server.nics.forEach(({ name }, at) => {
      if (server.nics.findIndex((other) => other.name === name) !== at)
        report(`/servers/${index}/nics/${at}/name`, `"${name}" is used twice`, 'duplicate-id');
    });
  });
  infrastructure.switches.forEach((node, index) => {
    addNode(`/switches/${index}`, node.id, null, node.ports);
  });
  infrastructure.hosts.forEach((host, index) => {
    addNode(`/hosts/${index}`, host.id, null, Number.POSITIVE_INFINITY);
    const first = infrastructure.hosts.findIndex(({ mac }) => mac === host.mac);
    if (first !== index)
      report(`/hosts/${index}/mac`, `is also used by ${infrastructure.hosts[first]!.id}`, 'duplicate-id');
  });

  infrastructure.boards.forEach(({ id }, index) => {
    if (id === 'container') report(`/boards/${index}/id`, 'is reserved for instances in containers', 'reserved');
    if (infrastructure.boards.findIndex((other) => other.id === id) !== index)
      report(`/boards/${index}/id`, `"${id}" is used twice`, 'duplicate-id');
  });

  const links = new Set<string>();
  const used = new Set<string>();
  infrastructure.links.forEach((link, index) => {
    if (links.has(link.id)) report(`/links/${index}/id`, `"${link.id}" is used twice`, 'duplicate-id');
    links.add(link.id);
    if (link.jitter_us > link.delay_us)
      report(`/links/${index}/jitter_us`, `exceeds the delay of ${link.delay_us} us`, 'out-of-range');
    if (link.a.node === link.b.node)
      report(`/links/${index}/b/node`, 'a link must join two different nodes', 'self-loop');
    for (const end of ['a', 'b'] as const) {
      const { node: id, port } = link[end];
      const pointer = `/links/${index}/${end}`;
      const node = nodes.get(id);
      if (!node) {
        report(`${pointer}/node`, `there is no node "${id}"`, 'unknown-node');
      } else if (node.ports && !node.ports.has(port)) {
        report(`${pointer}/port`, `${id} has no NIC "${port}"`, 'unknown-port');
      } else if (used.has(`${id} ${port}`)) {
        report(`${pointer}/port`, `port "${port}" of ${id} already has a link`, 'port-in-use');
      } else {
        used.add(`${id} ${port}`);
        if (--node.free < 0) report(`${pointer}/node`, `${id} has no free port`, 'no-port-left');
      }
    }
  });
  return [...errors, ...addressErrors(infrastructure)];
}
