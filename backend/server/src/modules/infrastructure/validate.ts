import type { FieldError, Infrastructure } from '@orrery/contract';
import { addressErrors } from './validate-addresses.js';
import { boardLinkErrors, portsOf } from './validate-board-links.js';

/** Checks beyond the schema: ids are unique, links join existing, free ports, and boards at switches have theirs. */
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

  const beside = new Set<string>();
  infrastructure.boards.forEach((board, index) => {
    const { id, attached } = board;
    if (attached === 'switch') {
      const ports = new Set(portsOf(board));
      addNode(`/boards/${index}`, id, ports, ports.size);
    } else beside.add(id);
    if (!infrastructure.servers.some((server) => server.id === board.server))
      report(`/boards/${index}/server`, `there is no server "${board.server}"`, 'unknown-node');
    if (id === 'container') report(`/boards/${index}/id`, 'is reserved for instances in containers', 'reserved');
    const first = infrastructure.boards.findIndex((other) => other.id === id);
    if (first !== index && attached !== 'switch')
      report(`/boards/${index}/id`, `"${id}" is used twice`, 'duplicate-id');
  });

  const hung = new Set(infrastructure.boards.flatMap(({ id, attached }) => (attached === 'switch' ? [id] : [])));
  const links = new Set<string>();
  const used = new Set<string>();
  infrastructure.links.forEach((link, index) => {
    if (links.has(link.id)) report(`/links/${index}/id`, `"${link.id}" is used twice`, 'duplicate-id');
    links.add(link.id);
    if (link.jitter_us > link.delay_us)
      report(`/links/${index}/jitter_us`, `exceeds the delay of ${link.delay_us} µs`, 'out-of-range');
    if (link.a.node === link.b.node)
      report(`/links/${index}/b/node`, 'a link must join two different nodes', 'self-loop');
    for (const end of ['a', 'b'] as const) {
      const { node: id, port } = link[end];
      const pointer = `/links/${index}/${end}`;
      const node = nodes.get(id);
      if (!node && beside.has(id)) {
        report(`${pointer}/node`, `${id} is attached to its server, so it has no link`, 'attached-to-server');
      } else if (!node) {
        report(`${pointer}/node`, `there is no node "${id}"`, 'unknown-node');
      } else if (node.ports && !node.ports.has(port)) {
        const what = hung.has(id) ? `port "${port}": its ports are ${[...node.ports].join(', ')}` : `NIC "${port}"`;
        report(`${pointer}/port`, `${id} has no ${what}`, 'unknown-port');
      } else if (used.has(`${id} ${port}`)) {
        report(`${pointer}/port`, `port "${port}" of ${id} already has a link`, 'port-in-use');
      } else {
        used.add(`${id} ${port}`);
        if (--node.free < 0) report(`${pointer}/node`, `${id} has no free port`, 'no-port-left');
      }
    }
  });
  return [...errors, ...boardLinkErrors(infrastructure), ...addressErrors(infrastructure)];
}
