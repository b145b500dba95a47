import { DIRECT_ATTRIBUTES, type SwitchAbilities } from '@orrery/contract';
import { z } from 'zod';
import { exact, masked } from '../match-kinds.js';
import type { SwitchDriverKind } from '../switch-driver.js';
import { HASHED_KEYS } from './flow-text.js';
import { Ofctl } from './ofctl.js';
import { OvsSwitch } from './ovs-switch.js';

/** Entries for which a specification fits in a message of the server and is installed well within the time for a call. */
export const OVS_ENTRIES = 16_384;

const ABILITIES: SwitchAbilities = {
  match: {
    'eth.src': masked,
    'eth.dst': masked,
    'eth.type': exact,
    'ip.src': masked,
    'ip.dst': masked,
    'ip.proto': masked,
    'ip.fragment': exact,
    'ip.later': exact,
    'port.src': masked,
    'port.dst': masked,
    from_host: exact,
    flow_id: masked,
    split: exact,
    nfs: exact,
  },
  groups: { select: [...DIRECT_ATTRIBUTES], all: true, fast_failover: false },
  hashes: HASHED_KEYS,
  keep_flows: true,
  ipv6: true,
  meters: true,
  mirror: true,
  rewrite: ['eth.src', 'eth.dst', 'ttl'],
  table_entries: {},
  entries: OVS_ENTRIES,
};

const Config = z.strictObject({
  bridge: z.string().regex(/^[^\s/]{1,15}$/, 'must be the name of a bridge'),
  run_dir: z.string().startsWith('/').default('/run/openvswitch').describe('where Open vSwitch has its sockets'),
  ports: z.record(z.string(), z.string()).default({}).describe('interface by port; absent: of the same name'),
});

/** A bridge of Open vSwitch on this machine, kernel or userspace datapath alike. */
export const switchOvs: SwitchDriverKind<typeof Config> = {
  kind: 'ovs',
  config: Config,
  abilities: ABILITIES,
  make: ({ bridge, run_dir, ports }) => new OvsSwitch(new Ofctl(bridge, run_dir), new Map(Object.entries(ports))),
};
