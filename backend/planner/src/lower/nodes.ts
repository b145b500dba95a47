import { FABRIC_GATEWAY_MAC, type NodeSpec } from '@orrery/contract';
import type { ChainOnServer, LoweredChain, LoweringInput } from './input.js';
import { coreSchedulers } from './schedulers.js';
import { serverMac } from './server-mac.js';

type Spec = Omit<NodeSpec, 'generation'>;

/** Desired state of every server, without generation (E2 3.4.2). */
export function nodeSpecs(input: LoweringInput, chains: readonly LoweredChain[]): Record<string, Spec> {
  const schedulers = coreSchedulers(input);
  const here = new Map<string, ChainOnServer[]>(input.infrastructure.servers.map(({ id }) => [id, []]));
  for (const { servers } of chains) for (const [id, chain] of servers) here.get(id)?.push(chain);
  return Object.fromEntries(
    input.infrastructure.servers.map(({ id, nics }): [string, Spec] => {
      const own = here.get(id)!;
      const modules = own.flatMap((chain) => chain.modules);
      return [
        id,
        {
          nic: { iface: nics[0]!.name, mac: serverMac(id) },
          gateway_mac: FABRIC_GATEWAY_MAC,
          instances: own.flatMap(({ instances }) => instances),
          ...(modules.length > 0 ? { modules } : {}),
          ...(schedulers.has(id) ? { schedulers: schedulers.get(id)! } : {}),
          hops: [...own.flatMap(({ hops }) => hops), ...own.flatMap(({ queueHops }) => queueHops)],
          exits: own.flatMap(({ exits }) => exits),
        },
      ];
    }),
  );
}
