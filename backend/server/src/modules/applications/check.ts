import {
  type AnyApplicationKind,
  type ApplicationDefinition,
  applicationKind,
  type FieldError,
  type Infrastructure,
  IpAddress,
  type NodeKind,
} from '@orrery/contract';

/** Checks beyond the schema: node and destination exist, the kind can run there, and its ports are free. */
export function applicationErrors(
  definition: ApplicationDefinition,
  others: readonly ApplicationDefinition[],
  infrastructure: Infrastructure,
): FieldError[] {
  const kind = applicationKind(definition.kind);
  return [
    ...placeErrors(definition, kind, infrastructure),
    ...destinationErrors(definition, infrastructure),
    ...portErrors(definition, kind, others),
  ];
}

function placeErrors({ node }: ApplicationDefinition, kind: AnyApplicationKind, all: Infrastructure): FieldError[] {
  const at = (detail: string, code: string) => [{ pointer: '/node', detail, code }];
  const there = nodeKind(node, all);
  if (!there) return at(`there is no host or server "${node}"`, 'unknown-node');
  if (!kind.runs_on.includes(there))
    return at(`${node} is a ${there}; ${kind.title} runs on: ${kind.runs_on.join(', ')}`, 'wrong-node');
  if (there === 'host' && all.hosts.some(({ id, origin }) => id === node && origin === 'live'))
    return at(`${node} is a real host, which runs no agent`, 'wrong-node');
  return [];
}

function nodeKind(node: string, { hosts, servers }: Infrastructure): NodeKind | null {
  if (hosts.some(({ id }) => id === node)) return 'host';
  return servers.some(({ id }) => id === node) ? 'server' : null;
}

function destinationErrors(definition: ApplicationDefinition, infrastructure: Infrastructure): FieldError[] {
  const { config, node } = definition;
  if (!('to' in config) || isAddress(config.to)) return [];
  const at = (field: string, detail: string, code: string) => [{ pointer: `/config/${field}`, detail, code }];
  if (config.to === node) return at('to', 'is the node itself', 'self-loop');
  if (!nodeKind(config.to, infrastructure))
    return at('to', `there is no host or server "${config.to}"`, 'unknown-node');
  if (addressOf(definition, infrastructure) === null)
    return at('family', `${config.to} has no ${config.family === 'ipv6' ? 'IPv6' : 'IPv4'} address`, 'no-address');
  return [];
}

function portErrors(
  definition: ApplicationDefinition,
  kind: AnyApplicationKind,
  others: readonly ApplicationDefinition[],
) {
  if (!definition.enabled) return [];
  const rivals = others.filter(({ id, node, enabled }) => enabled && node === definition.node && id !== definition.id);
  const taken = new Map(
    rivals.flatMap((other) =>
      applicationKind(other.kind)
        .listens(other.config)
        .map(({ protocol, port }) => [`${protocol} ${port}`, other.id] as const),
    ),
  );
  const errors = new Map<string, FieldError>();
  for (const { protocol, port, pointer } of kind.listens(definition.config)) {
    const other = taken.get(`${protocol} ${port}`);
    if (other === undefined) continue;
    const detail = `${protocol.toUpperCase()} port ${port} of ${definition.node} is used by ${other}`;
    errors.set(pointer, { pointer, detail, code: 'port-in-use' });
  }
  return [...errors.values()];
}

/** The address that the application sends to; null: it has no destination, or the destination lacks the address family. */
export function addressOf({ config }: ApplicationDefinition, { hosts, servers }: Infrastructure): string | null {
  if (!('to' in config)) return null;
  if (isAddress(config.to)) return config.to;
  const addresses = [...hosts, ...servers].find(({ id }) => id === config.to)?.addresses ?? [];
  return addresses.find(({ address }) => address.includes(':') === (config.family === 'ipv6'))?.address ?? null;
}

function isAddress(to: string): boolean {
  return IpAddress.safeParse(to).success;
}
